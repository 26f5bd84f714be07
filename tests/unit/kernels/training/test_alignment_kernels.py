import math

import numpy as np
import pytest

from dragoman import kernels
from dragoman.core.corpus import Corpus
from dragoman.training.align.diagonal import Sizes
from dragoman.training.align.passes import Cooccurrence
from oracles import alignment as oracle
from oracles.bitexts import Pairs, random_bitext, reestimated, sentence_lists

MODELS = {
    "model 1": (0.0, None, oracle.uniform_prior),
    "diagonal": (0.08, 3.5, oracle.diagonal_prior(0.08, 3.5)),
    "tight diagonal": (0.3, 14.0, oracle.diagonal_prior(0.3, 14.0)),
    "loose diagonal without NULL": (0.0, 0.1, oracle.diagonal_prior(0.0, 0.1)),
}


def close(ours, theirs):
    np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("alpha", [None, 0.01, 2.0])
@pytest.mark.parametrize("seed", range(4))
def test_em_is_that_of_the_textbook(model, alpha, seed):
    as_fast_align = seed % 2 == 0
    null_probability, tension, prior = MODELS[model]
    bitext = random_bitext(np.random.default_rng(seed))
    table = Cooccurrence.of(bitext.source, bitext.target)
    sentences, pairs = sentence_lists(bitext.source, bitext.target), Pairs(table)
    ours = table.uniform()
    theirs = pairs.to_dict(ours)
    for _ in range(3):
        counts, log_likelihood, features, linked = kernels.expected_counts(
            table.for_kernels(), ours, null_probability, tension, 1, None, as_fast_align
        )
        expected, expected_likelihood, expected_feature, expected_linked = oracle.expected_counts(
            sentences, theirs, prior, as_fast_align=as_fast_align
        )
        close(counts, pairs.to_array(expected))
        close([log_likelihood, features.sum()], [expected_likelihood, expected_feature])
        close(linked, expected_linked)
        ours = reestimated(table, counts, alpha)
        theirs = oracle.translation_probabilities(expected, alpha)
        close(ours, pairs.to_array(theirs))


@pytest.mark.parametrize("model", MODELS)
def test_log_likelihood_of_plain_em_never_falls(model):
    null_probability, tension, _ = MODELS[model]
    bitext = random_bitext(np.random.default_rng(7), rows=40, longest=10, words=12)
    table = Cooccurrence.of(bitext.source, bitext.target)
    probabilities, before = table.uniform(), -math.inf
    for _ in range(15):
        counts, log_likelihood, *_ = kernels.expected_counts(
            table.for_kernels(), probabilities, null_probability, tension, 1, None
        )
        assert log_likelihood >= before - 1e-9
        before = log_likelihood
        probabilities = reestimated(table, counts, None)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("seed", range(4))
def test_links_are_the_likeliest(model, seed):
    null_probability, tension, prior = MODELS[model]
    rng = np.random.default_rng(seed)
    bitext = random_bitext(rng)
    table = Cooccurrence.of(bitext.source, bitext.target)
    probabilities = rng.random(len(table.pair_given))
    by_pair = Pairs(table).to_dict(probabilities)
    best = iter(
        kernels.likeliest_given(table.for_kernels(), probabilities, null_probability, tension, 1, None).tolist()
    )
    for given, generated in sentence_lists(bitext.source, bitext.target):
        for j, word in enumerate(generated):
            found = next(best)
            if not given:
                assert found == -1
                continue
            values = oracle.joint(given, word, by_pair, prior(j, len(generated), len(given)))
            assert values[found + 1] == pytest.approx(max(values), rel=1e-12)


def test_null_wins_ties_and_then_the_leftmost_word():
    bitext = Corpus.from_lines(["a a"]), Corpus.from_lines(["x"])
    table = Cooccurrence.of(*bitext)
    assert kernels.likeliest_given(table.for_kernels(), np.ones(2), 0.0, None, 1, None).tolist() == [-1]
    assert kernels.likeliest_given(table.for_kernels(), np.array([0.5, 1.0]), 0.0, None, 1, None).tolist() == [0]


def test_any_number_of_threads_gives_the_same_bits():
    bitext = random_bitext(np.random.default_rng(3), rows=500, longest=20, words=60)
    table = Cooccurrence.of(bitext.source, bitext.target)
    probabilities = np.random.default_rng(4).random(len(table.pair_given))
    results = [
        kernels.expected_counts(table.for_kernels(), probabilities, 0.08, 4.0, threads, None) for threads in (1, 2, 3)
    ]
    for counts, log_likelihood, features, linked in results[1:]:
        np.testing.assert_array_equal(counts, results[0][0])
        np.testing.assert_array_equal(linked, results[0][3])
        np.testing.assert_array_equal(features, results[0][2])
        assert log_likelihood == results[0][1]
    tables = [reestimated(table, results[0][0], 0.01, threads=threads) for threads in (1, 2, 3)]
    np.testing.assert_array_equal(tables[0], tables[1])
    np.testing.assert_array_equal(tables[0], tables[2])


@pytest.mark.parametrize("tension", [0.1, 1.0, 4.0, 14.0])
def test_expectation_of_the_feature_is_that_of_fast_align(tension):
    sizes = [(1, 1), (1, 7), (7, 1), (3, 5), (5, 3), (10, 10), (20, 3), (2, 40)]
    frequencies = np.arange(1, len(sizes) + 1)
    generated, given = np.array(sizes).T.copy()
    expected = sum(k * oracle.diagonal_expectation(m, n, tension) for k, (m, n) in zip(frequencies, sizes, strict=True))
    for threads in (1, 2):
        found = kernels.diagonal_expectation(generated, given, frequencies, tension, threads)
        assert found == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("tension", [0.1, 4.0, 60.0])
def test_expectation_of_links_is_that_of_the_prior(tension):
    sizes = [(1, 1), (1, 7), (7, 1), (3, 5), (5, 3), (20, 3), (2, 40)]
    masses = [np.random.default_rng(m).random(m) for m, _ in sizes]
    generated, given = np.array(sizes).T.copy()
    expected = sum(oracle.linked_expectation(m, n, mass, tension) for (m, n), mass in zip(sizes, masses, strict=True))
    for threads in (1, 2):
        found = kernels.linked_expectation(generated, given, np.concatenate(masses), tension, threads)
        assert found == pytest.approx(expected, rel=1e-9)
    with pytest.raises(ValueError, match="a mass for each position"):
        kernels.linked_expectation(generated, given, np.ones(3), tension, 1)


def test_the_gradient_of_the_tension_is_that_of_the_likelihood():
    bitext = random_bitext(np.random.default_rng(5), rows=40, longest=9, words=12)
    table = Cooccurrence.of(bitext.source, bitext.target)
    probabilities = np.random.default_rng(6).random(len(table.pair_given))

    def expected(tension):
        return kernels.expected_counts(table.for_kernels(), probabilities, 0.08, tension, 1, None)

    _, _, features, linked = expected(4.0)
    feature = features.sum()
    sizes = Sizes.of(table)
    masses = sizes.masses(linked)
    assert masses.sum() == pytest.approx(linked.sum())
    found = feature - kernels.linked_expectation(sizes.generated, sizes.given, masses, 4.0, 1)
    assert found == pytest.approx((expected(4.0 + 1e-5)[1] - expected(4.0 - 1e-5)[1]) / 2e-5, rel=1e-6)


@pytest.mark.parametrize("length", [1, 2, 9, 2000])
def test_expectation_of_the_feature_is_the_derivative_of_log_z_when_lengths_are_equal(length):
    def log_z(tension):
        distance = np.abs(np.subtract.outer(np.arange(1, length + 1), np.arange(1, length + 1))) / length
        return np.log(np.exp(-tension * distance).sum(axis=0)).sum()

    one, size = np.ones(1, np.int64), np.array([length])
    numeric = (log_z(4.0 + 1e-5) - log_z(4.0 - 1e-5)) / 2e-5
    assert kernels.diagonal_expectation(size, size, one, 4.0, 1) == pytest.approx(numeric, rel=1e-6, abs=1e-7)


def test_the_longest_sentences_have_a_finite_expectation():
    longest, one = np.array([65_535]), np.ones(1, np.int64)
    for tension in (0.1, 14.0):
        mean = kernels.diagonal_expectation(longest, longest, one, tension, 1) / 65_535
        assert -1.0 < mean < 0.0


def test_probabilities_that_vanish_give_numbers_and_no_links():
    bitext = Corpus.from_lines(["a b", "c"]), Corpus.from_lines(["x", "y"])
    table = Cooccurrence.of(*bitext)
    vanished = np.where(np.arange(5) < 3, 1e-310, 0.5)
    counts, log_likelihood, *_ = kernels.expected_counts(table.for_kernels(), vanished, 0.08, 4.0, 1, None)
    assert counts.tolist()[:3] == [0.0, 0.0, 0.0]
    assert np.isfinite(counts).all()
    assert math.isfinite(log_likelihood)
    probabilities = reestimated(table, counts, None)
    assert probabilities[1:3].tolist() == [0.0, 0.0]  # of a and b, which have no counts at all


def test_a_long_sentence_pair_is_no_trouble():
    lines = [" ".join(str(i % 3000) for i in range(n)) for n in (65_535, 3, 300)]
    bitext = Corpus.from_lines(lines), Corpus.from_lines([lines[1], lines[0], lines[2]])
    table = Cooccurrence.of(*bitext)
    counts, log_likelihood, *_ = kernels.expected_counts(table.for_kernels(), table.uniform(), 0.08, 4.0, 2, None)
    assert counts.sum() == pytest.approx(65_535 + 3 + 300)
    assert math.isfinite(log_likelihood)
