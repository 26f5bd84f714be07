"""Candidates for each form: what the model writes, what is memorised and what is near, with features to choose by."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.nbest import NBest
from dragoman.core.ragged import Ragged
from dragoman.normalisation.lexicon import Lexicon
from dragoman.normalisation.memory import Memory
from dragoman.search.translator import Translator

#: The features beside those of the model, in the order of their columns.
FEATURES = (
    "known",  # a word of the modern list
    "compound",  # not, but put together of two of them
    "used",  # how often the examples have it as a modern form
    "memorised",  # how often they have it for this form
    "share",  # the share of that
    "same",  # the form as it is
    "same.known",  # which is a modern word
    "edits",  # letters that differ
    "outside",  # not among what the model writes
    "near",  # but one letter from it
)

#: So many forms are looked at together.
_BLOCK = 2000

#: So many of the model's candidates have their neighbours looked up.
_BASES = 2


@dataclass(frozen=True, eq=False)
class Lists:
    """Candidates of forms: those of form i are rows `offsets[i]` to `offsets[i + 1]` of `texts` and `features`."""

    offsets: NDArray[np.int64]
    texts: list[str]
    names: tuple[str, ...]
    features: NDArray[np.float64]

    @classmethod
    def concatenate(cls, parts: Sequence[Lists]) -> Lists:
        """Put lists with the same features one after the other."""
        sizes = np.concatenate([np.diff(part.offsets) for part in parts])
        return cls(
            np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            [text for part in parts for text in part.texts],
            parts[0].names,
            np.concatenate([part.features for part in parts]),
        )


@dataclass(frozen=True, eq=False)
class Proposer:
    """What proposes candidates: a model of characters at its weights, memorised forms, and a list of words."""

    translator: Translator
    memory: Memory
    lexicon: Lexicon
    size: int = 40

    def lists(self, forms: Sequence[str]) -> Iterator[Lists]:
        """Yield the candidates of forms, a block at a time."""
        for start in range(0, len(forms), _BLOCK):
            yield self._block(forms[start : start + _BLOCK])

    def _block(self, forms: Sequence[str]) -> Lists:
        text = self.translator.model.preparation()
        parts = self.translator.searched(text.source(forms), forests=True)
        nbest = NBest.concatenate([part.nbest(self.size, distinct=True) for part in parts])
        names = tuple(self.translator.model.dense_features)
        own = nbest.features.restricted(names).dense()
        written = text.restore(nbest.texts())
        texts: list[str] = []
        rows: list[int] = []
        extra: list[tuple[float, ...]] = []
        offsets = [0]
        for i, form in enumerate(forms):
            begin, end = nbest.sentences[i : i + 2].tolist()
            for candidate, (row, outside, near) in self._candidates(form, written, begin, end).items():
                texts.append(candidate)
                rows.append(row)
                extra.append((*self._features(form, candidate), outside, near))
            offsets.append(len(texts))
        bounds = np.array(offsets, np.int64)
        features = np.concatenate([own[rows], np.array(extra, np.float64)], axis=1)
        features[:, len(names) + FEATURES.index("edits")] = _edits(forms, texts, bounds)
        return Lists(bounds, texts, (*names, *FEATURES), features)

    def _candidates(
        self, form: str, written: Sequence[str], begin: int, end: int
    ) -> dict[str, tuple[int, float, float]]:
        """For each candidate the row of the model's that it is or is most like, and whether it is outside or near."""
        found: dict[str, tuple[int, float, float]] = {}
        for row in range(begin, end):
            if written[row].strip():
                found.setdefault(written[row], (row, 0.0, 0.0))
        memorised: Mapping[str, int] = self.memory.counts.get(form, {})
        if not memorised and (not found or next(iter(found)) not in self.lexicon):
            for base, (row, _, _) in [*found.items()][:_BASES]:
                for neighbour in sorted(self.lexicon.neighbours(base)):
                    found.setdefault(neighbour, (row, 1.0, 1.0))
        for candidate in (form, *sorted(memorised)):
            found.setdefault(candidate, (end - 1, 1.0, 0.0))
        return found

    def _features(self, form: str, candidate: str) -> tuple[float, ...]:
        known = candidate in self.lexicon
        same = candidate == form
        counts = self.memory.counts.get(form)
        return (
            float(known),
            float(not known and self.lexicon.is_compound(candidate)),
            math.log1p(self.memory.modern[candidate]),
            0.0 if counts is None else math.log1p(counts[candidate]),
            self.memory.share(form, candidate),
            float(same),
            float(same and known),
            0.0,  # the edits of all are counted together
        )


def _edits(forms: Sequence[str], texts: Sequence[str], offsets: NDArray[np.int64]) -> NDArray[np.float64]:
    ours, theirs = _code_points(texts), _code_points(forms)
    of_form = np.repeat(np.arange(len(forms)), np.diff(offsets))
    found = kernels.edit_distances(ours.values, ours.offsets, of_form, theirs.values, theirs.offsets, 1)
    return found.astype(np.float64)


def _code_points(texts: Sequence[str]) -> Ragged[np.int32]:
    points = np.frombuffer("".join(texts).encode("utf-32-le"), np.int32)
    return Ragged(points, np.concatenate([[0], np.cumsum([len(text) for text in texts])]).astype(np.int64))
