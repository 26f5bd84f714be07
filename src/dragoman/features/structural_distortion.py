"""Reordering of nonterminals, by the number of words that they cover."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dragoman.core.errors import DataError, UsageError
from dragoman.core.feature_rows import FeatureRows
from dragoman.core.options import option
from dragoman.core.runtime import Runtime
from dragoman.core.store import Arrays
from dragoman.model.corpus_grammar import CorpusGrammar
from dragoman.model.feature_types import HoleFeature, HoleRows, ModelParts, RulesInUse, need_links
from dragoman.model.grammar import Grammar
from dragoman.model.rule_scores import HOLE_SIZES, RuleExtraction, hole_counts

#: Names of the values of the coarse and the fine feature, after the prefix.
_LOG_P = "log_p"
_ORDERS = ("monotone", "reordered")
_SIZES = ("any", *(str(size) for size in range(1, HOLE_SIZES)), f"{HOLE_SIZES}+")


@dataclass(frozen=True)
class StructuralDistortion(HoleFeature):
    """`sd.reordered.3`: reordered nonterminals that cover three words (Chiang, Marton & Resnik 2008).

    A nonterminal of a rule is reordered if it crosses a word link of the rule (of those that it keeps, the most
    frequent ones) or its other nonterminal; otherwise it is `monotone`. Sizes are source words, `10+` is ten or more,
    and every nonterminal counts under `any` as well: 22 values. The coarse feature has one, `sd.log_p`, the sum of
    ln p(reordered or not | size), estimated from rules as they are found in the training text, with their counts there;
    nonterminals of one word count too, even if extraction has none, because decoding does.

    With `glue`, each part that glue joins counts as a monotone nonterminal of its size, because the paper looks at the
    nonterminals of "each grammar rule"; it does not say whether glue is meant. What was joined before, which begins
    with the sentence, does not count. Departure: rare sizes are smoothed by all sizes,
    p(r | s) = (c(r, s) + p(r)) / (c(s) + 1).
    """

    name = "structural-distortion"
    prefix = "sd"

    grain: Literal["coarse", "fine"] = option(
        "fine", "fine: a value per order and size; coarse: one ln p(order | size)"
    )
    sentences: int = option(10_000, "number of sentence pairs to estimate a coarse feature from; 0: all", minimum=0)
    glue: bool = option(False, "count the parts that glue joins as monotone nonterminals")

    def learn(self, parts: ModelParts, *, runtime: Runtime = Runtime()) -> Arrays:
        """Estimate a coarse feature from the counts of training, the text of rules on demand, or a given text."""
        need_links(self.name, parts)
        return {} if self.grain == "fine" else {_LOG_P: log_probabilities(self._counts(parts, runtime)).ravel()}

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of all values."""
        if self.grain == "coarse":
            return (f"{self.prefix}.{_LOG_P}",)
        return tuple(f"{self.prefix}.{order}.{size}" for order in _ORDERS for size in _SIZES)

    @cached_property
    def _rows(self) -> FeatureRows:
        """Return sums for two nonterminals: rows by the size of the first, of the second, and the order of both."""
        values = _fine_values() if self.grain == "fine" else self._coarse_values()
        sums = [
            values[rule & 1, first] + values[rule >> 1, second]
            for first in range(HOLE_SIZES + 1)
            for second in range(HOLE_SIZES + 1)
            for rule in range(4)
        ]
        return FeatureRows.from_dense(self.names, np.array(sums))

    def _coarse_values(self) -> NDArray[np.float64]:
        values = self.learnt.get(_LOG_P)
        if (
            values is None
            or values.dtype != np.float64
            or values.shape != (2 * HOLE_SIZES,)
            or not bool(np.all(np.isfinite(values.astype(np.float64))))
        ):
            raise DataError(f"the array '{_LOG_P}' is missing or of the wrong type", expected="logarithms")
        coarse = np.zeros((2, HOLE_SIZES + 1, 1))
        coarse[:, 1:, 0] = values.reshape(2, HOLE_SIZES)
        return coarse

    def check(self) -> None:
        """Refuse values that are not logarithms of probabilities."""
        _ = self._rows

    def __call__(self, rules: RulesInUse, /) -> HoleRows:
        """Return a row for each class (which of two nonterminals are reordered) and kind (the sizes of both)."""
        first, second = rules.reordered.T.astype(np.int64)
        sizes = np.minimum(rules.hole_sizes, HOLE_SIZES)
        kinds = sizes[:, 0] * (HOLE_SIZES + 1) + sizes[:, 1]
        # A part is the only nonterminal that counts, and monotone.
        parts = np.arange(1, HOLE_SIZES + 1, dtype=np.int64) * (HOLE_SIZES + 1) * 4 if self.glue else None
        return HoleRows(first + 2 * second, 4, kinds, self._rows, parts)

    def has(self, rest: str) -> bool:
        """Return True if `rest` names an order and a size."""
        return f"{self.prefix}.{rest}" in self.names

    def is_log_probability(self, rest: str) -> bool:
        """Return True for the coarse value; the fine ones are counts."""
        return rest == _LOG_P

    def _counts(self, parts: ModelParts, runtime: Runtime) -> NDArray[np.float64]:
        if parts.aligned is not None:
            return hole_counts(parts.aligned, RuleExtraction(), sentences=self.sentences, runtime=runtime)
        found = np.zeros((2, HOLE_SIZES))
        for grammar in parts.grammars.values():
            if isinstance(grammar, CorpusGrammar):
                found += hole_counts(grammar.text, grammar.options, sentences=self.sentences, runtime=runtime)
            elif isinstance(grammar, Grammar) and grammar.hole_counts is not None:
                found += grammar.hole_counts
        if not found.any():
            raise UsageError(
                f"a coarse {self.name} needs to know how often nonterminals are reordered in training, and this model "
                "does not; expected a parallel text with links: `source=`, `target=` and `alignment=`"
            )
        return found


def log_probabilities(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ln p(order | size) from counts with a row for each order and a column for each size."""
    order = (counts.sum(axis=1, keepdims=True) + 0.5) / (counts.sum() + 1)
    return np.asarray(np.log((counts + order) / (counts.sum(axis=0) + 1)), np.float64)


def _fine_values() -> NDArray[np.float64]:
    """Return what one nonterminal adds to each value, by its order and size; size 0 means that there is none."""
    values = np.zeros((2, HOLE_SIZES + 1, 2, HOLE_SIZES + 1))
    for order in range(2):
        for size in range(1, HOLE_SIZES + 1):
            values[order, size, order, [0, size]] = 1
    return values.reshape(2, HOLE_SIZES + 1, -1)
