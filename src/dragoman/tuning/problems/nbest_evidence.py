"""N-best lists as evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dragoman.core.corpus import Corpus
from dragoman.core.errors import DataError
from dragoman.core.feature_rows import FeatureRows
from dragoman.core.files import output_folder
from dragoman.core.nbest import NBest
from dragoman.core.own_files import EVIDENCE
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.core.sound import check_numbers, check_offsets, check_range, typed_array
from dragoman.core.store import Arrays
from dragoman.core.vocab import Vocab
from dragoman.metrics.metric import Scorer
from dragoman.model.bundle import Model
from dragoman.model.parts import in_folder
from dragoman.search.spread import Portion
from dragoman.search.translator import Translator
from dragoman.tuning.problems.evidence import Decoded, load_evidence, save_evidence
from dragoman.tuning.problems.problem import Problem
from dragoman.tuning.problems.ranges import Ranges, boxes


@dataclass(frozen=True)
class DecodeLists:
    """Makes lists of so many hypotheses of a portion; with `pairs`, such that know the pairs of mixed tables."""

    size: int
    distinct: bool
    pairs: bool = False

    def __call__(self, translator: Translator, portion: Portion, runtime: Runtime) -> list[NBest]:
        """Search a portion."""
        parts = translator.searched(portion.lines, forests=True)
        return [
            part.pair_lists(self.size) if self.pairs else part.nbest(self.size, distinct=self.distinct)
            for part in parts
        ]


def lists_of_strings(model: Model) -> bool:
    """Whether lists have different strings unless somebody wants all derivations.

    One string has many derivations by rules: lists of these would show a tuner few translations.
    """
    return model.kind == "chart"


@dataclass(frozen=True, eq=False)
class DecodedLists(Decoded):
    """N-best lists, one a sentence; of several decodings each hypothesis once."""

    nbest: NBest

    def __len__(self) -> int:
        return len(self.nbest)

    @property
    def size(self) -> int:
        """The number of hypotheses."""
        return len(self.nbest.scores)

    @property
    def unit(self) -> str:
        """What `size` counts."""
        return "candidates"

    @property
    def names(self) -> Sequence[str]:
        """The names of the features that occur."""
        return self.nbest.features.names

    def first(self) -> Corpus:
        """The first hypothesis of each list."""
        return Corpus(self.nbest.vocab, self.nbest.hypotheses.take(self.nbest.sentences[:-1]))

    def after(self, earlier: DecodedLists) -> DecodedLists:
        """The earlier lists, and behind them what is new in these."""
        return DecodedLists(NBest.merge([earlier.nbest, self.nbest]))

    def problem(
        self, names: Sequence[str], ranges: Ranges, scorer: Scorer, *, sign: int = 1, runtime: Runtime = Runtime()
    ) -> Problem:
        """The problem of choosing the weights `names`; features with other names keep out of it."""
        nbest = self.nbest
        sentences = np.repeat(np.arange(len(nbest)), np.diff(nbest.sentences))
        return Problem(
            sentences=nbest.sentences,
            features=nbest.features.restricted(names),
            statistics=scorer.statistics(Corpus(nbest.vocab, nbest.hypotheses), sentences, runtime=runtime),
            scorer=scorer,
            ranges=boxes(names, ranges),
            sign=sign,
        )

    def save(self, folder: Path) -> None:
        """Write what tuning needs of the lists: words, scores and features; whole or not at all."""
        nbest = self.nbest
        with output_folder(folder, EVIDENCE) as partial:
            arrays: Arrays = {
                "sentences": nbest.sentences,
                "scores": nbest.scores,
                "words": nbest.hypotheses.values,
                "word_offsets": nbest.hypotheses.offsets,
            }
            save_evidence(partial, arrays, nbest.vocab, nbest.features)

    @classmethod
    def load(cls, folder: Path) -> DecodedLists:
        """Read what `save` wrote."""
        arrays, vocab, features = load_evidence(folder, "scores")
        return cls(in_folder(folder, _checked, arrays, vocab, features))


def _checked(arrays: Arrays, vocab: Vocab, features: FeatureRows) -> NBest:
    part = "n-best lists"
    scores = typed_array(arrays, "scores", np.float64, (None,), part)
    sentences = typed_array(arrays, "sentences", np.int64, (None,), part)
    words = typed_array(arrays, "words", np.int32, (None,), part)
    bounds = typed_array(arrays, "word_offsets", np.int64, (len(scores) + 1,), part)
    check_offsets("sentences", sentences, len(scores))
    check_offsets("word_offsets", bounds, len(words))
    check_range("words", words, 0, len(vocab))
    check_numbers("scores", scores)
    if np.any(np.diff(sentences) == 0):
        raise DataError("the array 'sentences' has a list without hypotheses", expected=part)
    return NBest(vocab, sentences, Ragged(words, bounds), scores, features)
