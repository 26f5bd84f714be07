"""Choice among candidates: weights tuned to accuracy, calibrated probabilities, and the context of a sentence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dragoman.core.corpus import Corpus
from dragoman.core.feature_rows import FeatureRows, Weights
from dragoman.core.nbest import NBest
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.decision.rule import Rule
from dragoman.metrics.accuracy import Accuracy
from dragoman.model.language_model import LanguageModel
from dragoman.normalisation.candidate_lists import CandidateLists, NormalisedWord
from dragoman.normalisation.characters import SETTINGS
from dragoman.normalisation.examples import Examples
from dragoman.training.lm.kneser_ney import KneserNey, estimate_model
from dragoman.tuning.methods.method import Tuner
from dragoman.tuning.problems.problem import Problem, boxes, weight_ranges

#: Largest scale that turns scores into log-probabilities.
_LARGEST_SCALE = 100.0


@dataclass(frozen=True)
class CandidateScorer:
    """Weights of all features; `scale` times a candidate's score is its unnormalised log-probability."""

    weights: Weights
    scale: float = 1.0

    def log_probabilities(self, lists: CandidateLists) -> NDArray[np.float64]:
        """Return the log-probability of each candidate among those of its form."""
        # Feature by feature: a matrix product may sum in another order for the same candidate in another list.
        scores = np.zeros(len(lists.texts))
        for column, weight in zip(lists.features.T, self.weights.vector(lists.names).tolist(), strict=True):
            scores += weight * column
        return _log_softmax(self.scale * scores, lists.offsets)

    def order(
        self, lists: CandidateLists, rule: Rule | None = None, *, runtime: Runtime = Runtime()
    ) -> NDArray[np.int64]:
        """Return the rows of lists, the most probable of each form first; or the choice of a decision rule first."""
        scores = self.log_probabilities(lists)
        of_form = np.repeat(np.arange(len(lists.offsets) - 1), np.diff(lists.offsets))
        first = np.zeros(len(scores), bool)
        if rule is not None:
            decided = _decided(lists, scores, rule, runtime)
            first = np.array([decided[i] == text for i, text in zip(of_form.tolist(), lists.texts, strict=True)])
        return np.lexsort((-scores, ~first, of_form))


def tune_scorer(
    lists: CandidateLists,
    gold: Sequence[Counter[str]],
    start: Weights,
    tuner: Tuner,
    *,
    seed: int = 1,
    runtime: Runtime = Runtime(),
) -> CandidateScorer:
    """Tune weights to the accuracy of tokens; `gold` has the counts of the modern forms of each form.

    The tuner is any that takes n-best lists. Each form has one list, weighted by its tokens.
    """
    of_form = np.repeat(np.arange(len(gold)), np.diff(lists.offsets))
    right = np.array([gold[i][text] for i, text in zip(of_form.tolist(), lists.texts, strict=True)], np.float64)
    tokens = np.array([counts.total() for counts in gold], np.float64)
    names = [name for i, name in enumerate(lists.names) if np.ptp(lists.features[:, i]) > 0]
    used = lists.features[:, [lists.names.index(name) for name in names]]
    problem = Problem(
        sentences=lists.offsets,
        features=FeatureRows.from_dense(names, used),
        statistics=np.column_stack([right, tokens[of_form]]),
        scorer=Accuracy().scorer([Corpus.from_lines([""])]),
        ranges=boxes(names, weight_ranges(names)),
    )
    rng = np.random.default_rng(seed)
    optimum = tuner.optimise(problem, start.vector(names), rng=rng, runtime=runtime)
    found = optimum.weights / max(np.abs(optimum.weights).sum(), 1e-12)
    weights = Weights(dict(zip(names, found.tolist(), strict=True)))
    return CandidateScorer(weights, _calibrated(used @ found, right, lists.offsets))


def _decided(lists: CandidateLists, scores: NDArray[np.float64], rule: Rule, runtime: Runtime) -> list[str]:
    rule.check_kind("nbest")
    text = SETTINGS.preparation()
    nbest = NBest.of_texts([*text.target(lists.texts)], scores.tolist(), lists.offsets)
    return text.restore(rule.decide(nbest, runtime=runtime).lines())


def _calibrated(scores: NDArray[np.float64], right: NDArray[np.float64], offsets: NDArray[np.int64]) -> float:
    """Return the scale that maximises the probability of the correct forms of tokens."""
    from scipy.optimize import minimize_scalar  # takes long to load, and is needed for training only

    def loss(log_scale: float) -> float:
        return -float(right @ _log_softmax(np.exp(log_scale) * scores, offsets))

    found = minimize_scalar(loss, bounds=(-3.0, np.log(_LARGEST_SCALE)), method="bounded")
    return float(np.exp(found.x))


def _log_softmax(scores: NDArray[np.float64], offsets: NDArray[np.int64]) -> NDArray[np.float64]:
    sizes = np.diff(offsets)
    shifted = scores - np.repeat(np.maximum.reduceat(scores, offsets[:-1]), sizes)
    return np.asarray(shifted - np.repeat(np.log(np.add.reduceat(np.exp(shifted), offsets[:-1])), sizes))


#: The candidates of a word, with their log-probabilities.
Alternatives = Sequence[tuple[str, float]]

#: Weights of the language model to try on a development set.
CONTEXT_WEIGHTS = (0.0, 0.1, 0.2, 0.3, 0.5, 0.8)


@dataclass(frozen=True, eq=False)
class ContextModel:
    """A bigram model of modern words, and its weight beside the choice for single words."""

    bigrams: LanguageModel
    weight: float = 0.3

    @classmethod
    def of(cls, examples: Examples, weight: float = 0.3, *, runtime: Runtime = Runtime()) -> ContextModel:
        """Train on the modern side of examples, sentence by sentence."""
        # A form of two words is one token here: its space is replaced.
        words = [_token(example.modern) for example in examples.tokens]
        lines = [" ".join(words[begin:end]) for begin, end in pairwise(examples.bounds)]
        text = Corpus.from_lines(line for line in lines if line)
        return cls(estimate_model(text, KneserNey(order=2), runtime=runtime.quiet(warns=False)), weight)

    def choose(self, sentence: Sequence[NormalisedWord]) -> list[NormalisedWord]:
        """Put the forms first that are most probable together in a sentence."""
        path = self.best([one.log_probabilities() for one in sentence])
        return [one.preferring(place) for one, place in zip(sentence, path, strict=True)]

    def best(self, sentence: Sequence[Alternatives]) -> list[int]:
        """Return the most probable sequence of candidates (Viterbi): the place of each word's candidate in its list."""
        if not sentence:
            return []
        ids = [np.array([self.bigrams.vocab.id(_token(word)) for word, _ in options], np.int32) for options in sentence]
        own = [np.array([score for _, score in options]) for options in sentence]
        first = Ragged(ids[0], np.arange(len(ids[0]) + 1, dtype=np.int64))
        best = own[0] + self._weighted(self.bigrams.logprobs(first, eos=False))
        back: list[NDArray[np.intp]] = []
        for before, after, scores in zip(ids, ids[1:], own[1:], strict=False):
            pairs = np.stack([np.repeat(before, len(after)), np.tile(after, len(before))], axis=1)
            ragged = Ragged(pairs.reshape(-1), np.arange(0, pairs.size + 1, 2, dtype=np.int64))
            steps = self.bigrams.logprobs(ragged, bos=False, eos=False)[1::2].reshape(len(before), len(after))
            through = best[:, None] + self._weighted(steps)
            back.append(through.argmax(axis=0))
            best = through.max(axis=0) + scores
        path = [int(best.argmax())]
        for pointers in reversed(back):
            path.append(int(pointers[path[-1]]))
        return path[::-1]

    def _weighted(self, log10: NDArray[np.float32]) -> NDArray[np.float64]:
        return np.asarray(self.weight * np.log(10.0) * log10, np.float64)


def _token(word: str) -> str:
    return word.replace(" ", "▁")
