"""Metrics by their definitions, slowly: loops over strings, and enumeration where the fast ones search."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

Words = Sequence[str]


def ngrams(words: Words, n: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))


def word_errors(hypothesis: Words, reference: Words) -> int:
    """Levenshtein distance by its recursive definition."""
    if not hypothesis or not reference:
        return len(hypothesis) + len(reference)
    return min(
        word_errors(hypothesis[1:], reference[1:]) + (hypothesis[0] != reference[0]),
        word_errors(hypothesis[1:], reference) + 1,
        word_errors(hypothesis, reference[1:]) + 1,
    )


def position_independent_errors(hypothesis: Words, reference: Words) -> int:
    """The fewest word errors over all orders of the hypothesis."""
    return min(word_errors(order, reference) for order in itertools.permutations(hypothesis))


def nist(hypotheses: Sequence[Words], references: Sequence[Sequence[Words]], order: int) -> float:
    """NIST of a corpus; references[s] are all those of sentence s."""
    counts: Counter[tuple[str, ...]] = Counter()
    for reference in itertools.chain.from_iterable(references):
        counts[()] += len(reference)
        for n in range(1, order + 1):
            counts += ngrams(reference, n)
    gain = 0.0
    for n in range(1, order + 1):
        information, total = 0.0, 0
        for hypothesis, alternatives in zip(hypotheses, references, strict=True):
            for gram, count in ngrams(hypothesis, n).items():
                total += count
                clipped = min(count, max(ngrams(reference, n)[gram] for reference in alternatives))
                information += clipped * math.log2(counts[gram[:-1]] / counts[gram]) if clipped else 0.0
        gain += information / total if total else 0.0
    length = sum(map(len, hypotheses))
    reference_length = sum(sum(map(len, alternatives)) / len(alternatives) for alternatives in references)
    if length == 0 or reference_length == 0:
        return gain
    ratio = min(1.0, length / reference_length)
    return gain * math.exp(math.log(0.5) / math.log(1.5) ** 2 * math.log(ratio) ** 2)


def _alignments(hypothesis: int, reference: int) -> Iterator[dict[int, int]]:
    """All one-to-one partial alignments."""
    for size in range(min(hypothesis, reference) + 1):
        for left in itertools.combinations(range(hypothesis), size):
            for right in itertools.permutations(range(reference), size):
                yield dict(zip(left, right, strict=True))


def meteor_matches(hypothesis: Words, reference: Words, stem: Callable[[str], str]) -> tuple[int, int, int]:
    """Exact matches, stem matches, chunks: of all alignments most exact, then most stem matches, then fewest chunks."""
    best = (0, 0, 0)
    for alignment in _alignments(len(hypothesis), len(reference)):
        pairs = [(hypothesis[i], reference[j]) for i, j in alignment.items()]
        if any(stem(ours) != stem(theirs) for ours, theirs in pairs):
            continue
        exact = sum(ours == theirs for ours, theirs in pairs)
        chunks = sum(alignment.get(i - 1, -2) + 1 != j for i, j in alignment.items())
        best = max(best, (exact, len(pairs) - exact, -chunks))
    return best[0], best[1], -best[2]
