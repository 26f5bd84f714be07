"""Fisher's exact test with whole numbers, and co-occurrence counted sentence by sentence."""

from __future__ import annotations

from decimal import Decimal, localcontext
from math import comb


def negative_log_p(joint: int, source: int, target: int, sentences: int) -> float:
    """-log P(at least `joint` of the `source` sentences are among the `target` sentences), to 60 digits."""
    ways = sum(comb(source, k) * comb(sentences - source, target - k) for k in range(joint, min(source, target) + 1))
    with localcontext() as context:
        context.prec = 60
        return abs(float((Decimal(ways) / Decimal(comb(sentences, target))).ln()))


def holds(sentence: list[str], phrase: tuple[str, ...]) -> bool:
    return any(tuple(sentence[i : i + len(phrase)]) == phrase for i in range(len(sentence)))


def co_occurrence(source_lines, target_lines, source, target) -> tuple[int, int, int]:
    """Sentence pairs that hold both phrases, the source phrase, the target phrase."""
    left = [holds(line, source) for line in source_lines]
    right = [holds(line, target) for line in target_lines]
    return sum(a and b for a, b in zip(left, right, strict=True)), sum(left), sum(right)
