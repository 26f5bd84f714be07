"""Candidates for each form, from the model, from memorised forms and from similar words, with their features."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.corpus import Corpus
from dragoman.core.nbest import NBest
from dragoman.metrics.references import HypothesisReferenceIds
from dragoman.model.language_model import LanguageModel
from dragoman.normalisation.edit_costs import code_points, skeleton
from dragoman.normalisation.lexicon import Lexicon, Memory
from dragoman.search.translator import Translator

#: The features beside those of the model, in the order of their columns.
CANDIDATE_FEATURES = (
    "known",  # is a word of the modern list
    "compound",  # is not, but a compound of two of them
    "used",  # count as a modern form in the examples (logarithm)
    "memorised",  # count as the modern form of this form (logarithm)
    "share",  # relative frequency among the modern forms of this form
    "alike",  # if this form is not in the examples, count for forms with the same skeleton (logarithm)
    "same",  # equals the form
    "same.known",  # equals the form, and is a modern word
    "edits",  # edit distance
    "letters",  # log-probability of the changes of letters
    "outside",  # is not in the model's n-best list
    "near",  # is not, but a similar word of the modern list
)

_NONE: Counter[str] = Counter()

#: Forms that are translated together.
_BLOCK = 2000

#: Number of the model's candidates, beside the form, whose similar words are looked up; number of similar words kept.
_BASES, _NEAR = 3, 10


@dataclass(frozen=True, eq=False)
class CandidateLists:
    """Candidates of forms: those of form i are rows `offsets[i]` to `offsets[i + 1]` of `texts` and `features`."""

    offsets: NDArray[np.int64]
    texts: list[str]
    names: tuple[str, ...]
    features: NDArray[np.float64]

    @classmethod
    def concatenate(cls, parts: Sequence[CandidateLists]) -> CandidateLists:
        """Concatenate lists with the same features."""
        sizes = np.concatenate([np.diff(part.offsets) for part in parts])
        return cls(
            np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            [text for part in parts for text in part.texts],
            parts[0].names,
            np.concatenate([part.features for part in parts]),
        )


@dataclass(frozen=True, eq=False)
class CandidateGenerator:
    """Generator of candidates: a model of characters with its weights, memorised forms, and a list of words."""

    translator: Translator
    memory: Memory
    lexicon: Lexicon
    size: int = 40

    def lists(self, forms: Sequence[str]) -> Iterator[CandidateLists]:
        """Yield the candidates of forms, a block at a time."""
        for start in range(0, len(forms), _BLOCK):
            yield self._block(forms[start : start + _BLOCK])

    def _block(self, forms: Sequence[str]) -> CandidateLists:
        text = self.translator.model.preparation()
        parts = self.translator.search_batches(text.source(forms), forests=True)
        nbest = NBest.concatenate([part.nbest(self.size, distinct=True) for part in parts])
        names = tuple(self.translator.model.dense_features)
        own = nbest.features.restricted(names).dense()
        written = text.restore(nbest.texts())
        bounds = nbest.sentences.tolist()
        found = [self._candidates(form, written, *bounds[i : i + 2]) for i, form in enumerate(forms)]
        for i, near in self._near(forms, found):
            found[i].setdefault(near, (bounds[i], 1.0, 1.0))
        offsets = np.cumsum([0, *map(len, found)])
        texts = [candidate for candidates in found for candidate in candidates]
        of_form = np.repeat(np.arange(len(forms)), np.diff(offsets))
        rows = np.array([row for candidates in found for row, _, _ in candidates.values()])
        marks = np.array([marks for candidates in found for _, *marks in candidates.values()])
        extra = [row for form, candidates in zip(forms, found, strict=True) for row in self._features(form, candidates)]
        compared = HypothesisReferenceIds(code_points(texts), of_form, code_points(forms))
        edits = kernels.edit_distances(compared.for_kernels(), 1).astype(np.float64)
        letters = -self.memory.edit_costs.costs(forms, texts, of_form)
        columns = own[rows], np.array(extra, np.float64), np.stack([edits, letters], axis=1), marks
        features = np.concatenate(columns, axis=1)
        outside = np.flatnonzero(marks[:, 0])
        corpus = Corpus.from_lines(text.target([texts[row] for row in outside.tolist()]))
        for name, model in self.translator.model.language_models.items():
            features[outside, names.index(name)] = _scores(model, corpus)
        return CandidateLists(offsets, texts, (*names, *CANDIDATE_FEATURES), features)

    def _candidates(
        self, form: str, written: Sequence[str], begin: int, end: int
    ) -> dict[str, tuple[int, float, float]]:
        """Return the candidates of a form, each with its row in the model's list, or the last row, and two features."""
        found: dict[str, tuple[int, float, float]] = {}
        for row in range(begin, end):
            if written[row].strip():
                found.setdefault(written[row], (row, 0.0, 0.0))
        for candidate in (form, *sorted(self.memory.alike.get(skeleton(form), {}))):
            found.setdefault(candidate, (end - 1, 1.0, 0.0))
        return found

    def _near(self, forms: Sequence[str], found: Sequence[Mapping[str, object]]) -> Iterator[tuple[int, str]]:
        """Yield words of the list that are similar to forms without memory, or to the model's candidates for them."""
        new = [i for i, form in enumerate(forms) if form not in self.memory.counts]
        asked = [(i, base) for i in new for base in dict.fromkeys((forms[i], *[*found[i]][:_BASES]))]
        of_query, words = self.lexicon.similar.find([base for _, base in asked])
        pairs = np.unique(np.array([i for i, _ in asked], np.int64)[of_query] * len(self.lexicon.similar.words) + words)
        of_form, words = np.divmod(pairs, max(len(self.lexicon.similar.words), 1))
        texts = [self.lexicon.similar.words[word] for word in words.tolist()]
        costs = self.memory.edit_costs.costs(forms, texts, of_form)
        order = np.lexsort((words, costs, of_form))
        rank = np.arange(len(order)) - np.searchsorted(of_form, of_form)
        for place in order[rank < _NEAR].tolist():
            yield int(of_form[place]), texts[place]

    def _features(self, form: str, candidates: Iterable[str]) -> Iterator[tuple[float, ...]]:
        counts = self.memory.counts.get(form, _NONE)
        alike = _NONE if counts else self.memory.alike.get(skeleton(form), _NONE)
        for candidate in candidates:
            known = candidate in self.lexicon
            same = candidate == form
            yield (
                float(known),
                float(not known and self.lexicon.is_compound(candidate)),
                math.log1p(self.memory.modern[candidate]),
                math.log1p(counts[candidate]),
                self.memory.share(form, candidate),
                math.log1p(alike[candidate]),
                float(same),
                float(same and known),
            )


def _scores(model: LanguageModel, corpus: Corpus) -> NDArray[np.float64]:
    """Return the log-probabilities of lines, ends included."""
    sentences = model.sentences(corpus)
    each = model.logprobs(sentences).astype(np.float64)
    return np.asarray(math.log(10) * np.add.reduceat(each, sentences.offsets[:-1] + np.arange(len(sentences))))


#: Less probable forms are ignored.
_IMPROBABLE = 1e-3


class NormalisedWord(NamedTuple):
    """A word's modern spelling, its probability, and the alternatives with theirs, the most probable first."""

    modern: str
    confidence: float
    alternatives: tuple[tuple[str, float], ...] = ()

    def log_probabilities(self) -> list[tuple[str, float]]:
        """Return all forms that are not improbable, with their log-probabilities."""
        forms = [(self.modern, self.confidence), *(one for one in self.alternatives if one[1] > _IMPROBABLE)]
        return [(form, math.log(max(sure, _IMPROBABLE))) for form, sure in forms]

    def preferring(self, place: int) -> NormalisedWord:
        """Return the same with the form at `place` first; 0 is the present one."""
        forms = [(self.modern, self.confidence), *self.alternatives]
        modern, sure = forms.pop(place)
        return NormalisedWord(modern, sure, tuple(forms))
