"""Decision rules: evidence about sentences in, one translation of each out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from dragoman.core.corpus import Corpus, Vocab, common_vocab
from dragoman.core.display import html_table, pluralise, shorten
from dragoman.core.errors import UsageError
from dragoman.core.hypergraph import Hypergraph
from dragoman.core.nbest import NBest
from dragoman.core.options import Options
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.core.samples import Samples

#: Lists of hypotheses, samples, or a hypergraph for each sentence.
Evidence = NBest | Samples | Sequence[Hypergraph]
EvidenceKind = Literal["nbest", "hypergraph", "samples"]

_CALLED = {"nbest": "n-best lists", "hypergraph": "hypergraphs", "samples": "samples"}


@dataclass(frozen=True, eq=False)
class Decisions:
    """Translations chosen by a rule: words `translations[i]` of `vocab` for sentence `i`.

    `values[i]` is what the rule maximised: a score, a probability or an expected gain. A sentence without hypotheses
    has an empty translation and the value NaN.
    """

    vocab: Vocab
    translations: Ragged[np.int32]
    values: NDArray[np.float64]

    @classmethod
    def of_best(
        cls, vocab: Vocab, strings: Ragged[np.int32], values: NDArray[np.float64], sentences: NDArray[np.int64]
    ) -> Decisions:
        """Choose the string with the highest value of each sentence, the first among equals."""
        sizes = np.diff(sentences)
        order = np.lexsort((-values, np.repeat(np.arange(len(sizes)), sizes)))
        # An empty row follows the strings, for sentences that have none.
        rows = np.full(len(sizes), len(strings))
        rows[sizes > 0] = order[sentences[:-1][sizes > 0]]
        strings = Ragged(strings.values, np.append(strings.offsets, strings.offsets[-1]))
        return cls(vocab, strings.take(rows), np.append(values, np.nan)[rows])

    @classmethod
    def concatenate(cls, parts: Sequence[Decisions]) -> Decisions:
        """Concatenate the sentences of several."""
        vocab, ids = common_vocab([part.vocab for part in parts])
        rows = [
            Ragged(number[part.translations.values], part.translations.offsets)
            for part, number in zip(parts, ids, strict=True)
        ]
        return cls(vocab, Ragged.concatenate(rows), np.concatenate([part.values for part in parts]))

    def __len__(self) -> int:
        return len(self.translations)

    def __repr__(self) -> str:
        first = f", the first {shorten(self.vocab.text(self.translations[0]))!r}" if len(self) else ""
        return f"Decisions({pluralise(len(self), 'sentence')}{first})"

    def _repr_html_(self) -> str:
        """Show the first translations, for notebooks."""
        rows = [(self.vocab.text(self.translations[i]), float(self.values[i])) for i in range(min(len(self), 20))]
        more = f" of {len(self):,}" if len(self) > len(rows) else ""
        return html_table(["text", "value"], rows, f"{len(rows)}{more} decisions")

    @property
    def corpus(self) -> Corpus:
        """The translations as a corpus."""
        return Corpus(self.vocab, self.translations)

    def lines(self) -> list[str]:
        """The translations as text."""
        return self.corpus.lines()


@dataclass(frozen=True)
class Rule(Options, ABC):
    """A decision rule and its options. Decisions do not depend on the number of threads."""

    name: ClassVar[str]
    #: The kinds of evidence that it accepts, the most suitable first.
    takes: ClassVar[tuple[EvidenceKind, ...]]
    #: Whether n-best lists should have distinct strings, or derivations, so that equal strings add up.
    distinct_lists: ClassVar[bool] = True

    def decide(self, evidence: Evidence, *, runtime: Runtime = Runtime()) -> Decisions:
        """Choose a translation of each sentence."""
        self.check_kind(kind_of(evidence))
        found = self.choose(evidence, runtime=runtime)
        empty = int(np.isnan(found.values).sum())
        if empty:
            runtime.warn(f"{empty:,} of {len(found):,} sentences have no hypotheses; their translations are empty")
        return found

    def check_kind(self, kind: EvidenceKind) -> None:
        """Refuse a kind of evidence that the rule does not accept."""
        if kind not in self.takes:
            known = " or ".join(_CALLED[kind] for kind in self.takes)
            raise UsageError(f"{self.name} decides by {known}, not by {_CALLED[kind]}")

    @abstractmethod
    def choose(self, evidence: Evidence, *, runtime: Runtime = Runtime()) -> Decisions:
        """Choose a translation of each sentence by evidence of a kind that the rule accepts."""


def kind_of(evidence: Evidence) -> EvidenceKind:
    """Return the kind of some evidence."""
    return "nbest" if isinstance(evidence, NBest) else "samples" if isinstance(evidence, Samples) else "hypergraph"
