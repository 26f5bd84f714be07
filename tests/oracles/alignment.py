"""Word alignment models written down as plainly as can be: dictionaries, sums, and enumeration."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Sequence

Pair = tuple[int | None, int]  # a given word, or None for NULL, and a generated word
Sentences = Sequence[tuple[Sequence[int], Sequence[int]]]  # given words, generated words
Priors = Callable[[int, int, int], list[float]]  # j, m, n (j from 0): of NULL, then of each given position


def uniform_prior(j: int, m: int, n: int) -> list[float]:
    return [1 / (n + 1)] * (n + 1)


def diagonal_prior(null_probability: float, tension: float) -> Priors:
    def prior(j: int, m: int, n: int) -> list[float]:
        weights = [math.exp(-tension * abs(i / n - (j + 1) / m)) for i in range(1, n + 1)]
        return [null_probability, *((1 - null_probability) * weight / sum(weights) for weight in weights)]

    return prior


def expected_counts(
    sentences: Sentences, probabilities: dict[Pair, float], priors: Priors, *, as_fast_align: bool = False
) -> tuple[dict[Pair, float], float, float, list[float]]:
    """Counts of pairs, log likelihood, sum of the feature, and each generated token's share of having a link."""
    counts: dict[Pair, float] = defaultdict(float)
    log_likelihood = feature = 0.0
    linked: list[float] = []
    shift = 0 if as_fast_align else 1
    for given, generated in sentences:
        m, n = len(generated), len(given)
        if n == 0:
            linked += [0.0] * m
            continue
        for j, word in enumerate(generated):
            links = joint(given, word, probabilities, priors(j, m, n))
            log_likelihood += math.log(sum(links))
            linked.append(sum(links[1:]) / sum(links))
            for i, e in enumerate([None, *given]):
                counts[e, word] += links[i] / sum(links)
                feature -= abs(i / n - (j + shift) / m) * links[i] / sum(links) if i else 0.0
    return counts, log_likelihood, feature, linked


def joint(given: Sequence[int], word: int, probabilities: dict[Pair, float], prior: list[float]) -> list[float]:
    """The probability of the word together with each link it may have, NULL first."""
    return [prior[i] * probabilities[e, word] for i, e in enumerate([None, *given])]


def translation_probabilities(counts: dict[Pair, float], alpha: float | None) -> dict[Pair, float]:
    totals: dict[int | None, float] = defaultdict(float)
    for (e, _), count in counts.items():
        totals[e] += count + (alpha or 0.0)
    if alpha is None:
        return {(e, f): count / totals[e] if count else 0.0 for (e, f), count in counts.items()}
    return {(e, f): math.exp(digamma(count + alpha) - digamma(totals[e])) for (e, f), count in counts.items()}


def digamma(x: float) -> float:
    """Abramowitz & Stegun 6.3.5 and 6.3.18."""
    result = 0.0
    while x < 30:
        result -= 1 / x
        x += 1
    return result + math.log(x) - 1 / (2 * x) - 1 / (12 * x**2) + 1 / (120 * x**4) - 1 / (252 * x**6)


def linked_expectation(m: int, n: int, masses: Sequence[float], tension: float) -> float:
    """Sum over j of the feature under the prior, times how many words at j have a link."""
    total = 0.0
    for j, mass in enumerate(masses, start=1):
        weights = [math.exp(-tension * abs(i / n - j / m)) for i in range(1, n + 1)]
        total -= mass * sum(abs(i / n - j / m) * weight for i, weight in enumerate(weights, start=1)) / sum(weights)
    return total


def diagonal_expectation(m: int, n: int, tension: float) -> float:
    """Sum over j of the feature under the prior, with fast_align's normaliser, whose lengths are exchanged.

    Where j/n is so far beyond 1 that the diagonal passes the last position, that normaliser runs on for ever.
    """
    total = 0.0
    for j in range(1, m + 1):
        feature = sum(-abs(i / n - j / m) * math.exp(-tension * abs(i / n - j / m)) for i in range(1, n + 1))
        last = m if j * m // n <= m else j * m // n + math.ceil(50 * m / tension)
        total += feature / sum(math.exp(-tension * abs(i / m - j / n)) for i in range(1, last + 1))
    return total


class Hmm:
    """The hidden Markov model by enumeration of all alignments of a sentence pair."""

    def __init__(self, jumps: Sequence[float], uniform_share: float, null_probability: float):
        self.jumps = jumps
        self.uniform_share = uniform_share
        self.null_probability = null_probability

    def bucket(self, i: int, state: int) -> int:
        far = len(self.jumps) // 2
        return min(max(i - state, -far), far) + far

    def available(self, state: int, n: int) -> float:
        return sum(self.jumps[self.bucket(i, state)] for i in range(n))

    def jump_share(self, i: int, state: int, n: int) -> float:
        return (1 - self.uniform_share) * self.jumps[self.bucket(i, state)] / self.available(state, n)

    def joint(
        self, alignment: Sequence[int | None], given: Sequence[int], generated: Sequence[int], t: dict[Pair, float]
    ) -> float:
        probability, state, n = 1.0, -1, len(given)
        for position, word in zip(alignment, generated, strict=True):
            if position is None:
                probability *= self.null_probability * t[None, word]
            else:
                transition = self.uniform_share / n + self.jump_share(position, state, n)
                probability *= (1 - self.null_probability) * transition * t[given[position], word]
                state = position
        return probability

    def alignments(self, given: Sequence[int], generated: Sequence[int]) -> list[tuple[int | None, ...]]:
        if not given:
            return []
        return list(itertools.product([None, *range(len(given))], repeat=len(generated)))

    def expected_counts(
        self, sentences: Sentences, t: dict[Pair, float]
    ) -> tuple[dict[Pair, float], list[float], list[float], float]:
        counts: dict[Pair, float] = defaultdict(float)
        uses, chances = [0.0] * len(self.jumps), [0.0] * len(self.jumps)
        log_likelihood = 0.0
        for given, generated in sentences:
            alignments = self.alignments(given, generated)
            if not alignments:
                continue
            n = len(given)
            joints = [self.joint(a, given, generated, t) for a in alignments]
            log_likelihood += math.log(sum(joints))
            for alignment, joint in zip(alignments, joints, strict=True):
                posterior, state = joint / sum(joints), -1
                for position, word in zip(alignment, generated, strict=True):
                    counts[None if position is None else given[position], word] += posterior
                    if position is None:
                        continue
                    share = self.jump_share(position, state, n)
                    used = posterior * share / (share + self.uniform_share / n)
                    uses[self.bucket(position, state)] += used
                    for i in range(n):
                        chances[self.bucket(i, state)] += used / self.available(state, n)
                    state = position
        return counts, uses, chances, log_likelihood
