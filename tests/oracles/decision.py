"""Decision rules by their definitions, over a distribution given as a mapping from strings to probabilities."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from dragoman.core.corpus import BOS, EOS, Corpus, Vocab
from dragoman.core.feature_rows import FeatureRows
from dragoman.core.nbest import NBest
from dragoman.core.ragged import Ragged
from dragoman.core.samples import Samples
from dragoman.metrics.metric import Metric
from oracles.forest import Listed, ngram_counts

String = tuple[int, ...]
Distribution = Mapping[String, float]

VOCAB = Vocab.of([f"w{i}" for i in range(6)])


def crunched(rows: Sequence[tuple[String, float]], scale: float) -> dict[String, float]:
    """The distribution over strings of derivations with scores; strings in the order in which they come first."""
    weights: defaultdict[String, float] = defaultdict(float)
    top = max(score for _, score in rows)
    for words, score in rows:
        weights[words] += math.exp(scale * (score - top))
    total = math.fsum(weights.values())
    return {words: weight / total for words, weight in weights.items()}


def of_derivations(listed: Sequence[Listed], scale: float) -> dict[String, float]:
    return crunched([(d.words, d.score) for d in listed], scale)


def sbleu(hypothesis: String, reference: String, order: int = 4) -> float:
    """Sentence BLEU with one added to the counts of orders above 1 (Lin & Och 2004)."""
    ours, theirs = ngram_counts(hypothesis, order), ngram_counts(reference, order)
    logs = 0.0
    for n in range(1, order + 1):
        matches = sum(min(count, theirs[gram]) for gram, count in ours.items() if len(gram) == n)
        total = max(0, len(hypothesis) - n + 1)
        if n == 1 and matches == 0:
            return 0.0
        logs += math.log((matches + (n > 1)) / (total + (n > 1)))
    return 100 * math.exp(min(0.0, 1 - len(reference) / len(hypothesis)) + logs / order)


def metric_gain(metric: Metric, vocab: Vocab) -> Callable[[String, String], float]:
    """A metric's own score of one sentence, minus the error for error rates."""

    def gain(hypothesis: String, reference: String) -> float:
        ours, theirs = (Corpus(vocab, Ragged.of([words], np.int32)) for words in (hypothesis, reference))
        scorer = metric.scorer([theirs])
        score = float(scorer.sentence_scores(scorer.statistics(ours))[0])
        return score if metric.higher_is_better else -score

    return gain


def expected_gains(evidence: Distribution, gain: Callable[[String, String], float]) -> Callable[[String], float]:
    return lambda hypothesis: math.fsum(p * gain(hypothesis, reference) for reference, p in evidence.items())


def ngram_posteriors(evidence: Distribution, order: int) -> Counter[String]:
    found: Counter[String] = Counter()
    for words, p in evidence.items():
        for gram in ngram_counts(words, order):
            found[gram] += p  # type: ignore[assignment]
    return found


def expected_ngrams(evidence: Distribution, order: int) -> Counter[String]:
    found: Counter[String] = Counter()
    for words, p in evidence.items():
        for gram, count in ngram_counts(words, order).items():
            found[gram] += p * count  # type: ignore[assignment]
    return found


def linear_gains(evidence: Distribution, p: float, r: float, order: int) -> Callable[[String], float]:
    """Equation 2.21 of the thesis."""
    posteriors = ngram_posteriors(evidence, order)

    def gain(hypothesis: String) -> float:
        grams = ngram_counts(hypothesis, order).items()
        matches = (count * posteriors[gram] / (order * p * r ** (len(gram) - 1)) for gram, count in grams)
        return math.fsum(matches) - len(hypothesis)

    return gain


def consensus_gains(evidence: Distribution, order: int) -> Callable[[String], float]:
    """Equation 2.25 of the thesis, smoothed like SBLEU."""
    expected = expected_ngrams(evidence, order)
    wanted = math.fsum(p * len(words) for words, p in evidence.items())

    def gain(hypothesis: String) -> float:
        ours = ngram_counts(hypothesis, order)
        logs = 0.0
        for n in range(1, order + 1):
            matches = math.fsum(min(count, expected[gram]) for gram, count in ours.items() if len(gram) == n)
            total = max(0, len(hypothesis) - n + 1)
            if n == 1 and matches == 0:
                return 0.0
            logs += math.log((matches + (n > 1)) / (total + (n > 1)))
        return 100 * math.exp(min(0.0, 1 - wanted / len(hypothesis)) + logs / order)

    return gain


def variational_logs(evidence: Distribution, order: int) -> Callable[[String], float]:
    """Equations 2.17 and 2.18 of the thesis, for strings with boundaries."""

    def events(words: String) -> list[tuple[String, int]]:
        padded = (BOS,) * (order - 1) + words + (EOS,)
        return [(padded[i - order + 1 : i], padded[i]) for i in range(order - 1, len(padded))]

    joint: defaultdict[tuple[String, int], float] = defaultdict(float)
    history: defaultdict[String, float] = defaultdict(float)
    for words, p in evidence.items():
        for before, word in events(words):
            joint[before, word] += p
            history[before] += p
    return lambda hypothesis: math.fsum(
        math.log(joint[event] / history[event[0]]) if joint[event] > 0 else -math.inf for event in events(hypothesis)
    )


def random_rows(rng: np.random.Generator, size: int, longest: int = 9) -> list[tuple[String, float]]:
    """Hypotheses that resemble each other, with repeated strings, repeated words, equal scores and empty strings."""
    base = rng.integers(3, len(VOCAB), int(rng.integers(1, longest)))
    rows = []
    for _ in range(size):
        words = [int(w) if rng.random() < 0.8 else int(rng.integers(3, len(VOCAB))) for w in base if rng.random() < 0.9]
        rows.append((tuple(words) * (2 if rng.random() < 0.1 else 1), float(rng.integers(-6, 1)) / 2))
    return rows


def nbest_of(lists: Sequence[Sequence[tuple[String, float]]]) -> NBest:
    rows = [row for part in lists for row in part]
    return NBest(
        vocab=VOCAB,
        sentences=np.cumsum([0, *map(len, lists)], dtype=np.int64),
        hypotheses=Ragged.of([words for words, _ in rows], np.int32),
        scores=np.array([score for _, score in rows], np.float64),
        features=FeatureRows.zeros(len(rows)),
    )


def samples_of(lists: Sequence[Sequence[tuple[String, float]]], counts: np.ndarray) -> Samples:
    lists_ = nbest_of(lists)
    return Samples(
        vocab=VOCAB,
        sentences=lists_.sentences,
        hypotheses=lists_.hypotheses,
        scores=lists_.scores,
        features=lists_.features,
        segmentations=Ragged.of([[] for _ in lists_.scores], np.int32),
        counts=counts,
    )


def choice_shares(utilities: Sequence[Sequence[float]], probabilities: Sequence[float], draws: int) -> list[float]:
    """The probability of each choice (row) if the evidence is drawn anew: the sum over all ordered resamples."""
    shares = [0.0] * len(utilities)
    for drawn in itertools.product(range(len(probabilities)), repeat=draws):
        means = [math.fsum(row[j] for j in drawn) / draws for row in utilities]
        shares[means.index(max(means))] += math.prod(probabilities[j] for j in drawn)
    return shares
