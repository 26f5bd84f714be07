"""The kernels behind decision rules, against loops over strings."""

import numpy as np
import pytest

from dragoman import kernels
from dragoman.core.corpus import Corpus
from dragoman.core.ragged import Ragged
from dragoman.forest.batch import structure, texts
from dragoman.metrics.bleu import Bleu
from dragoman.metrics.chrf import Chrf
from oracles.decision import VOCAB, of_derivations, random_rows, sbleu
from oracles.forest import RandomHypergraphs, ngram_counts


def strings_of(rng, sizes):
    rows = [words for size in sizes for words, _ in random_rows(rng, size, longest=14)]
    return Ragged.of(rows, np.int32), np.cumsum([0, *sizes], dtype=np.int64)


def lists(strings, sentences):
    return kernels.StringLists(strings=strings.for_kernels(), sentences=sentences)


def expected(function, ours, theirs, weights, *arguments, **settings):
    return function(lists(*ours), lists(*theirs), weights, *arguments, **settings)


def matrices(function, gain, seed, *arguments):
    """Gains and expectations of the kernel and of a double loop."""
    rng = np.random.default_rng(seed)
    ours, theirs = strings_of(rng, [3, 0, 12, 5]), strings_of(rng, [4, 2, 9, 0])
    weights = rng.random(len(theirs[0]))
    found, cells = expected(function, ours, theirs, weights, *arguments, matrix=True)
    loop, sums = [], np.zeros(len(ours[0]))
    for s in range(4):
        for h in range(*ours[1][s : s + 2]):
            for e in range(*theirs[1][s : s + 2]):
                loop.append(gain(tuple(ours[0][h].tolist()), tuple(theirs[0][e].tolist())))
                sums[h] += weights[e] * loop[-1]
    np.testing.assert_allclose(cells, loop, rtol=1e-6)
    np.testing.assert_allclose(found, sums, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("order", [1, 2, 4, 5])
def test_expected_bleu_is_that_of_a_double_loop(order):
    for seed in range(30):
        matrices(kernels.expected_bleu, lambda h, e: sbleu(h, e, order), seed, order, 1.0)


def score(metric, hypothesis, reference):
    ours, theirs = (Corpus(VOCAB, Ragged.of([words], np.int32)) for words in (hypothesis, reference))
    scorer = metric.scorer([theirs])
    return float(scorer.sentence_scores(scorer.statistics(ours))[0])


def test_expected_bleu_with_another_addend():
    metric = Bleu(order=3, sentence_smoothing="add-k", smoothing_value=0.25)
    for seed in range(3):
        matrices(kernels.expected_bleu, lambda h, e: score(metric, h, e), seed, 3, 0.25)


@pytest.mark.parametrize(
    ("smoothing", "value", "unmatched", "decay"),
    [("exp", None, 0.5, 0.5), ("floor", None, 0.1, 1.0), ("floor", 0.3, 0.3, 1.0), ("none", None, 0.0, 1.0)],
)
@pytest.mark.parametrize("order", [1, 3, 4])
def test_expected_bleu_with_replaced_zeros(smoothing, value, unmatched, decay, order):
    metric = Bleu(order=order, sentence_smoothing=smoothing, smoothing_value=value)
    for seed in range(3):
        matrices(kernels.expected_bleu, lambda h, e: score(metric, h, e), seed, order, 0.0, unmatched, decay)


@pytest.mark.parametrize("order", [1, 4, 6])
def test_expected_chrf_is_that_of_the_metric_if_words_are_characters(order):
    letters = "".join(chr(ord("a") + i) for i in range(len(VOCAB)))

    def gain(hypothesis, reference):
        ours, theirs = ("".join(letters[w] for w in words) for words in (hypothesis, reference))
        scorer = Chrf(char_order=order).scorer([Corpus.from_lines([theirs])])
        return float(scorer.sentence_scores(scorer.statistics(Corpus.from_lines([ours])))[0])

    for seed in range(4):
        matrices(kernels.expected_chrf, gain, seed, order, 2.0)


def test_more_evidence_than_a_tile_and_threads():
    rng = np.random.default_rng(3)
    ours, theirs = strings_of(rng, [5, 4]), strings_of(rng, [2500, 1024])
    weights = rng.random(len(theirs[0]))
    found, cells = expected(kernels.expected_bleu, ours, theirs, weights, 4, 1.0, matrix=True)
    assert len(cells) == 5 * 2500 + 4 * 1024
    rows = [cells[h * 2500 : (h + 1) * 2500] for h in range(5)]
    np.testing.assert_allclose(found[:5], rows @ weights[:2500], rtol=1e-6)
    for h, e in ((0, 0), (1, 1023), (2, 1024), (4, 2499)):
        wanted = sbleu(tuple(ours[0][h].tolist()), tuple(theirs[0][e].tolist()))
        assert rows[h][e] == pytest.approx(wanted, rel=1e-6)
    again, nothing = expected(kernels.expected_bleu, ours, theirs, weights, 4, 1.0, threads=2)
    assert again.tobytes() == found.tobytes()
    assert len(nothing) == 0


def test_expected_counts_and_sums_over_ngrams():
    rng = np.random.default_rng(8)
    (strings, sentences), weights = strings_of(rng, [4, 0, 20]), rng.random(24)
    bounds, words, offsets, counts = kernels.list_ngrams(lists(strings, sentences), weights, 3, threads=2)
    table = Ragged(words, offsets)
    values = rng.random(len(counts)) * 2
    known = []
    for s in range(3):
        totals = {}
        for i in range(*sentences[s : s + 2]):
            for ngram, count in ngram_counts(tuple(strings[i].tolist()), 3).items():
                totals[ngram] = totals.get(ngram, 0.0) + weights[i] * count
        rows = range(*bounds[s : s + 2])
        assert {tuple(table[i].tolist()): counts[i] for i in rows} == pytest.approx(totals)
        known.append({tuple(table[i].tolist()): values[i] for i in rows})
    others, other_sentences = strings_of(rng, [3, 2, 6])
    for clipped in (False, True):
        missing = 0.0 if clipped else -7.0
        found = kernels.ngram_sums(lists(others, other_sentences), lists(table, bounds), values, 3, missing, clipped)
        for s in range(3):
            for i in range(*other_sentences[s : s + 2]):
                row = [0.0, 0.0, 0.0]
                for ngram, count in ngram_counts(tuple(others[i].tolist()), 3).items():
                    value = known[s].get(ngram)
                    each = missing * count if value is None else min(count, value) if clipped else value * count
                    row[len(ngram) - 1] += each
                np.testing.assert_allclose(found[i], row, rtol=1e-12)


def test_summed_strings_are_all_translations_best_first():
    for graph, listed in RandomHypergraphs(80, seed=21):
        arguments = [structure(graph), texts(graph), graph.root, 1_000_000]
        words, offsets, sums = kernels.forest_translations(*arguments, 1_000_000)
        total = np.logaddexp.reduce([d.score for d in listed])
        found = {tuple(row.tolist()): p for row, p in zip(Ragged(words, offsets), np.exp(sums - total), strict=True)}
        assert found == pytest.approx(of_derivations(listed, 1.0), rel=1e-10)
        assert (np.diff(sums) <= 0).all()
        with pytest.raises(kernels.LimitError, match="more strings"):
            kernels.forest_translations(*arguments, 0)
