import math

import numpy as np
import pytest

from dragoman import kernels
from dragoman.training.align.hmm import updated_jumps
from dragoman.training.align.passes import Cooccurrence
from oracles import alignment as oracle
from oracles.bitexts import Pairs, random_bitext, reestimated, sentence_lists


def arrays(bitext, rng, max_jump):
    """The kernel's arguments for a bitext, with random parameters."""
    table = Cooccurrence.of(bitext.source, bitext.target)
    sizes = bitext.source.sentences.lengths * bitext.target.sentences.lengths
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
    cells = kernels.pair_cells(table.for_kernels(), offsets, 1)
    return table, cells, offsets, rng.random(len(table.pair_given)), rng.random(2 * max_jump + 3)


def blocks(offsets):
    """Bounds of blocks of sentence pairs, any will do."""
    return np.unique(np.linspace(0, len(offsets) - 1, 9).astype(np.int64))


def expected_counts(table, cells, offsets, probabilities, jumps, uniform, null, threads=1):
    """Counts as numbers, and the sums over all blocks."""
    counts, *sums = kernels.hmm_expected_counts(
        table.for_kernels(),
        kernels.UnsignedRows(values=cells, offsets=offsets),
        blocks(offsets),
        probabilities,
        jumps,
        uniform,
        null,
        2.0**48,
        threads,
        None,
    )
    return counts / 2.0**48, *(found.sum(axis=0) for found in sums)


def viterbi(table, cells, offsets, *rest, threads=1):
    rows = kernels.UnsignedRows(values=cells, offsets=offsets)
    return kernels.hmm_viterbi(table.for_kernels(), rows, blocks(offsets), *rest, threads, None)


@pytest.mark.parametrize(("uniform", "null", "max_jump"), [(0.2, 0.2, 1), (0.01, 0.0, 2), (1.0, 0.5, 1), (0.4, 0.1, 9)])
@pytest.mark.parametrize("seed", range(4))
def test_counts_are_those_of_all_alignments(uniform, null, max_jump, seed):
    rng = np.random.default_rng(seed)
    bitext = random_bitext(rng, rows=8, longest=4)
    table, cells, offsets, probabilities, jumps = arrays(bitext, rng, max_jump)
    counts, uses, chances, log_likelihood = expected_counts(table, cells, offsets, probabilities, jumps, uniform, null)
    pairs = Pairs(table)
    expected = oracle.Hmm(jumps.tolist(), uniform, null).expected_counts(
        sentence_lists(bitext.source, bitext.target), pairs.to_dict(probabilities)
    )
    np.testing.assert_allclose(counts, pairs.to_array(expected[0]), atol=1e-11)  # fixed point
    np.testing.assert_allclose(uses, expected[1], atol=1e-12)
    np.testing.assert_allclose(chances, expected[2], atol=1e-12)
    assert log_likelihood == pytest.approx(expected[3], rel=1e-12)


@pytest.mark.parametrize("null", [0.0, 0.3])
@pytest.mark.parametrize("seed", range(6))
def test_viterbi_finds_the_likeliest_of_all_alignments(null, seed):
    rng = np.random.default_rng(seed)
    bitext = random_bitext(rng, rows=8, longest=4)
    table, cells, offsets, probabilities, jumps = arrays(bitext, rng, 2)
    best = viterbi(table, cells, offsets, probabilities, jumps, 0.1, null).tolist()
    hmm, by_pair = oracle.Hmm(jumps.tolist(), 0.1, null), Pairs(table).to_dict(probabilities)
    for given, generated in sentence_lists(bitext.source, bitext.target):
        row, best = best[: len(generated)], best[len(generated) :]
        if not given:
            assert row == [-1] * len(generated)
            continue
        found = hmm.joint([None if i < 0 else i for i in row], given, generated, by_pair)
        everything = [hmm.joint(a, given, generated, by_pair) for a in hmm.alignments(given, generated)]
        assert found == pytest.approx(max(everything), rel=1e-12)
    assert best == []


@pytest.mark.parametrize("uniform", [1e-6, 0.2])
def test_log_likelihood_never_falls(uniform):
    rng = np.random.default_rng(5)
    bitext = random_bitext(rng, rows=40, longest=8, words=10)
    table, cells, offsets, probabilities, jumps = arrays(bitext, rng, 3)
    probabilities, before = table.uniform(), -math.inf
    for _ in range(12):
        counts, uses, chances, log_likelihood = expected_counts(
            table, cells, offsets, probabilities, jumps, uniform, 0.2
        )
        assert log_likelihood >= before - 1e-6
        before = log_likelihood
        jumps = updated_jumps(jumps, uses, chances)
        probabilities = reestimated(table, counts, None)


def test_any_number_of_threads_gives_the_same_bits():
    rng = np.random.default_rng(6)
    bitext = random_bitext(rng, rows=600, longest=12, words=30)
    arguments = arrays(bitext, rng, 5)
    results = [expected_counts(*arguments, 0.2, 0.2, threads) for threads in (1, 2, 3)]
    links = [viterbi(*arguments, 0.2, 0.2, threads=threads) for threads in (1, 2, 3)]
    for (counts, uses, chances, log_likelihood), best in zip(results[1:], links[1:], strict=True):
        np.testing.assert_array_equal(counts, results[0][0])
        np.testing.assert_array_equal(uses, results[0][1])
        np.testing.assert_array_equal(chances, results[0][2])
        assert log_likelihood == results[0][3]
        np.testing.assert_array_equal(best, links[0])


@pytest.mark.parametrize("value", [0.0, 1e-310, 1e-280])
def test_probabilities_that_vanish_still_give_numbers(value):
    rng = np.random.default_rng(8)
    bitext = random_bitext(rng, rows=20, longest=30)
    table, cells, offsets, probabilities, jumps = arrays(bitext, rng, 5)
    probabilities[:] = value
    counts, uses, chances, log_likelihood = expected_counts(table, cells, offsets, probabilities, jumps, 1e-6, 0.2)
    assert counts.sum() == pytest.approx(table.tokens)
    assert np.isfinite(uses).all()
    assert np.isfinite(chances).all()
    assert math.isfinite(log_likelihood)
    assert len(viterbi(table, cells, offsets, probabilities, jumps, 1e-6, 0.2))


def test_long_sentences_do_not_underflow():
    rng = np.random.default_rng(9)
    bitext = random_bitext(rng, rows=2, longest=400, words=50)
    table, cells, offsets, probabilities, jumps = arrays(bitext, rng, 5)
    counts, *_ = expected_counts(table, cells, offsets, probabilities * 1e-30, jumps, 0.2, 0.2)
    assert counts.sum() == pytest.approx(table.tokens)
