"""Posterior distributions over translations, from evidence: distinct strings with probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.corpus import Corpus, Vocab
from dragoman.core.errors import DataError, UsageError
from dragoman.core.nbest import NBest
from dragoman.core.options import option
from dragoman.core.ragged import Ragged
from dragoman.core.samples import Samples
from dragoman.decision.rule import Rule

WeightsFrom = Literal["logprob", "score", "uniform"]


@dataclass(frozen=True, eq=False)
class Posterior:
    """Sentence `s` has the distinct strings `sentences[s]` to `sentences[s + 1]`, in the order of the evidence.

    String `i` has the probability `probabilities[i]`; `rows[i]` is its first row in the evidence. The evidence of
    sentence `s` has `sizes[s]` strings, equal ones included.
    """

    vocab: Vocab
    sentences: NDArray[np.int64]
    strings: Ragged[np.int32]
    probabilities: NDArray[np.float64]
    rows: NDArray[np.int64]
    sizes: NDArray[np.int64]

    @classmethod
    def of_nbest(cls, nbest: NBest, scale: float = 1.0, weights_from: WeightsFrom | None = None) -> Posterior:
        """Return probabilities proportional to exp(scale · score), added up for equal strings ("crunching").

        May & Knight (2006). `weights_from` selects the scores: see `hypothesis_scores`.
        """
        scores = scale * hypothesis_scores(nbest, weights_from)
        best = np.full(len(nbest), -np.inf)
        sentence = np.repeat(np.arange(len(nbest)), np.diff(nbest.sentences))
        np.maximum.at(best, sentence, scores)
        hopeless = np.flatnonzero((best == -np.inf) & (np.diff(nbest.sentences) > 0))
        if len(hopeless):
            raise DataError(f"all hypotheses of {nbest.called(int(hopeless[0]))} have probability 0")
        weights = np.exp(scores - best[sentence])
        return cls._of_weights(nbest.vocab, nbest.sentences, nbest.hypotheses, weights, np.diff(nbest.sentences))

    @classmethod
    def of_samples(cls, samples: Samples, scale: float = 1.0) -> Posterior:
        """Return relative frequencies of the samples of all chains."""
        if scale != 1.0:
            raise UsageError(f"scale is {scale:g}; samples have the scale at which they were drawn, so expected 1")
        counts = samples.counts.sum(axis=1).astype(np.float64)
        sentence = np.repeat(np.arange(len(samples.sentences) - 1), np.diff(samples.sentences))
        sizes = np.bincount(sentence, counts, minlength=len(samples.sentences) - 1).astype(np.int64)
        return cls._of_weights(samples.vocab, samples.sentences, samples.hypotheses, counts, sizes)

    @classmethod
    def _of_weights(
        cls,
        vocab: Vocab,
        sentences: NDArray[np.int64],
        strings: Ragged[np.int32],
        weights: NDArray[np.float64],
        sizes: NDArray[np.int64],
    ) -> Posterior:
        sentence = np.repeat(np.arange(len(sentences) - 1), np.diff(sentences))
        numbers = number_strings(sentences, strings)
        rows = np.unique(numbers, return_index=True)[1]
        totals = np.bincount(sentence, weights, minlength=len(sentences) - 1)
        masses = np.bincount(numbers, weights, minlength=len(rows)).astype(np.float64, copy=False)
        return cls(
            vocab=vocab,
            sentences=np.searchsorted(rows, sentences),
            strings=strings.take(rows),
            probabilities=masses / totals[sentence[rows]],
            rows=rows,
            sizes=sizes,
        )

    def __len__(self) -> int:
        return len(self.sentences) - 1

    @property
    def corpus(self) -> Corpus:
        """All strings, as a corpus."""
        return Corpus(self.vocab, self.strings)

    @property
    def sentence_numbers(self) -> NDArray[np.int64]:
        """The sentence of each string."""
        return np.repeat(np.arange(len(self)), np.diff(self.sentences))

    def part(self, first: int, end: int) -> Posterior:
        """Return the sentences from `first` to before `end`, with a vocabulary of their words only."""
        begin, stop = int(self.sentences[first]), int(self.sentences[end])
        text = self.corpus.take(np.arange(begin, stop)).compact()
        return Posterior(
            text.vocab,
            self.sentences[first : end + 1] - begin,
            text.sentences,
            self.probabilities[begin:stop],
            self.rows[begin:stop],
            self.sizes[first:end],
        )

    def top(self, count: int | None) -> Posterior:
        """Keep the most probable strings of each sentence, in their order and with their probabilities."""
        sizes = np.diff(self.sentences)
        if count is None or int(sizes.max(initial=0)) <= count:
            return self
        order = np.lexsort((-self.probabilities, self.sentence_numbers))
        ranks = np.arange(len(order)) - np.repeat(self.sentences[:-1], sizes)
        kept = np.sort(order[ranks < count])
        return Posterior(
            self.vocab,
            np.searchsorted(kept, self.sentences),
            self.strings.take(kept),
            self.probabilities[kept],
            self.rows[kept],
            self.sizes,
        )


def number_strings(sentences: NDArray[np.int64], strings: Ragged[np.int32]) -> NDArray[np.int32]:
    """Number the distinct strings of each sentence, in the order in which a `Posterior` has them, for each string."""
    sentence = np.repeat(np.arange(len(sentences) - 1, dtype=np.int32), np.diff(sentences))
    # The sentence's number is put in front, so that strings of different sentences differ.
    keys = np.insert(strings.values, strings.offsets[:-1], sentence)
    return kernels.intern_sequences(keys, strings.offsets + np.arange(len(strings.offsets)))[0]


def hypothesis_scores(nbest: NBest, weights_from: WeightsFrom | None = None) -> NDArray[np.float64]:
    """Return the log-weights of hypotheses: log-probabilities if all have one, else scores; or 0 (`uniform`)."""
    if weights_from == "uniform":
        return np.zeros(len(nbest.scores))
    known = nbest.logprobs is not None and not bool(np.isnan(nbest.logprobs).any())
    # Where some have a log-probability and none has a score, log-probabilities are what is missing.
    partly = nbest.logprobs is not None and bool(np.isnan(nbest.scores).all())
    use_logprobs = weights_from == "logprob" or (weights_from is None and (known or partly))
    values = nbest.logprobs if use_logprobs else nbest.scores
    if values is None:
        raise DataError("the hypotheses have no log-probabilities", expected="lists with logprob, or other weights")
    wrong = np.flatnonzero(np.isnan(values) | (values == np.inf))
    if len(wrong):
        called, place = "log-probability" if use_logprobs else "score", nbest.place_of(int(wrong[0]))
        missing = f"{len(wrong):,} of {len(values):,} hypotheses have no finite {called}, the first of them is {place}"
        raise DataError(missing, expected="a number for each hypothesis, or uniform weights")
    return values


@dataclass(frozen=True)
class PosteriorRule(Rule):
    """A rule that needs probabilities: options that turn model scores into a distribution."""

    scale: float = option(
        1.0, "sharpness of the distribution: probabilities are proportional to exp(scale * score)", maximum=1e6
    )
    weights_from: WeightsFrom | None = option(
        None, "n-best lists: take logprob (if all have one), score or uniform as weights"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.scale > 0:
            raise UsageError(f"scale is {self.scale:g}; expected more than 0")

    def posterior(self, evidence: NBest | Samples) -> Posterior:
        """Return the distribution over distinct strings at the rule's scale."""
        if isinstance(evidence, NBest):
            return Posterior.of_nbest(evidence, self.scale, self.weights_from)
        return Posterior.of_samples(evidence, self.scale)
