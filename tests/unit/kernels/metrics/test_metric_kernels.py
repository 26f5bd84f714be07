import random

import numpy as np
import pytest

from dragoman import kernels
from dragoman.core.ragged import Ragged
from dragoman.metrics.references import HypothesisReferenceIds
from oracles import metrics as oracle


def random_rows(rng: random.Random, count: int, longest: int, words: int) -> list[list[int]]:
    return [[rng.randrange(words) for _ in range(rng.randint(0, longest))] for _ in range(count)]


def weight(gram: tuple[int, ...]) -> float:
    return 1.0 + sum((place + 1) * word for place, word in enumerate(gram))


@pytest.mark.parametrize(("references", "order", "words"), [(1, 4, 3), (3, 2, 5), (2, 6, 2), (1, 1, 50)])
def test_clipped_ngrams(references: int, order: int, words: int) -> None:
    rng = random.Random(order)
    lines = random_rows(rng, 20 * references, 12, words)
    sentences = [rng.randrange(20) for _ in range(300)]
    hypotheses = [[word if word < words else -1 for word in row] for row in random_rows(rng, 300, 12, words + 1)]
    weights = [
        [weight(tuple(line[at : at + n])) if at + n <= len(line) else np.nan for n in range(1, order + 1)]
        for line in lines
        for at in range(len(line))
    ]
    expected = np.zeros((2, 300, order))
    for i, (sentence, hypothesis) in enumerate(zip(sentences, hypotheses, strict=True)):
        alternatives = lines[sentence * references : (sentence + 1) * references]
        for n in range(1, order + 1):
            for gram, count in oracle.ngrams(hypothesis, n).items():
                clipped = min(count, max(oracle.ngrams(line, n)[gram] for line in alternatives))
                expected[:, i, n - 1] += clipped, clipped * weight(gram)
    ours, theirs = Ragged.of(hypotheses, np.int32), Ragged.of(lines, np.int32)
    common = HypothesisReferenceIds(ours, np.array(sentences), theirs).for_kernels(), references
    for threads in (1, 2):
        assert np.array_equal(kernels.clipped_ngrams(*common, np.empty((0, order)), order, threads), expected[0])
        assert np.array_equal(kernels.clipped_ngrams(*common, np.array(weights), order, threads), expected[1])


def test_edits_with_shifts_are_never_more_than_without() -> None:
    rng = random.Random(2)
    hypotheses, references = random_rows(rng, 400, 15, 6), random_rows(rng, 400, 15, 6)
    ours, theirs = Ragged.of(hypotheses, np.int32), Ragged.of(references, np.int32)
    compared = HypothesisReferenceIds(ours, np.arange(400), theirs).for_kernels()
    plain, shifted = kernels.edit_distances(compared, 2), kernels.translation_edits(compared, 2)
    assert (shifted <= plain).all()
    assert (shifted < plain).any()
    assert np.array_equal(plain, kernels.edit_distances(compared))
    bags = [
        oracle.ngrams(ours, 1) & oracle.ngrams(theirs, 1) for ours, theirs in zip(hypotheses, references, strict=True)
    ]
    fewest = np.maximum(ours.lengths, theirs.lengths) - [sum(bag.values()) for bag in bags]
    assert (shifted >= fewest).all()


def test_one_long_line() -> None:
    rng = random.Random(3)
    line = [rng.randrange(5) for _ in range(3000)]
    ours = Ragged.of([line, [], line[:2]], np.int32)
    theirs = Ragged.of([line[1500:] + line[:1500], line, line], np.int32)
    compared = HypothesisReferenceIds(ours, np.arange(3), theirs).for_kernels()
    assert kernels.translation_edits(compared)[1:].tolist() == [3000, 2998]
    found = kernels.meteor_matches(compared, compared, 2)
    assert found[:, :2].tolist() == [[3000, 0], [0, 0], [2, 0]]
