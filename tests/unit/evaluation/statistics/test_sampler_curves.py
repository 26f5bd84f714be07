"""Decisions by the first samples, against rules applied to samples cut by hand."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from dragoman.core.corpus import Corpus, Vocab
from dragoman.core.errors import UsageError
from dragoman.core.feature_rows import FeatureRows
from dragoman.core.ragged import Ragged
from dragoman.core.samples import Samples
from dragoman.decision.max_derivation import MaxDerivation
from dragoman.decision.max_translation import MaxTranslation
from dragoman.evaluation.figures.samplers import draw_ranked, draw_scores, draw_settling
from dragoman.evaluation.reports.sampler_report import curve_table, settling_table
from dragoman.evaluation.statistics.sampler_curves import (
    MBR,
    CurveOptions,
    first_samples,
    leaders,
    modes,
    sampler_curves,
)
from dragoman.metrics.bleu import Bleu
from dragoman.sampling.schedule import Schedule
from oracles.phrase_case import Case


@pytest.mark.parametrize("seed", range(20))
def test_leaders_are_the_highest_so_far_and_the_lowest_among_equals(seed):
    rng = np.random.default_rng(seed)
    items = rng.integers(0, 6, 50)
    levels = rng.integers(0, 4, 6)
    expected = [min(set(items[:t].tolist()), key=lambda item: (-levels[item], item)) for t in range(1, len(items) + 1)]
    assert leaders(levels[items], items).tolist() == expected


@pytest.mark.parametrize("seed", range(20))
def test_modes_are_the_most_frequent_so_far(seed):
    items = np.random.default_rng(seed).integers(0, 4, 60)
    for t in range(1, len(items) + 1):
        counts = Counter(items[:t].tolist())
        assert modes(items)[t - 1] == min(counts, key=lambda item: (-counts[item], item))


def traced(rng, sentences=3, chains=2, length=40):
    """Samples of random strings over two words, in the order in which chains collected them."""
    vocab = Vocab.of()
    vocab, *_ = vocab.extend(b"a b\n")
    parts = []
    for _ in range(sentences):
        strings = [rng.integers(0, 2, rng.integers(1, 4)) for _ in range(8)]
        walk = rng.integers(0, 8, (chains, length))
        order = list(dict.fromkeys(walk.ravel().tolist()))
        place = {item: row for row, item in enumerate(order)}
        trace = np.vectorize(place.get)(walk).astype(np.int32)
        counts = np.stack([np.bincount(row, minlength=len(order)) for row in trace], axis=1)
        rows = Ragged.of([strings[item].tolist() for item in order], np.int32)
        parts.append(
            Samples(
                vocab, np.array([0, len(order)]), rows, rng.normal(size=len(order)), FeatureRows.zeros(len(order)),
                Ragged.of([[]] * len(order), np.int32), counts, trace[None],
            )
        )  # fmt: skip
    return Samples.concatenate(parts)


def test_first_samples_are_those_of_the_beginning_of_each_chain():
    samples = traced(np.random.default_rng(1))
    for size in (2, 10, 80):
        found = first_samples(samples, size)
        assert len(found) == 3
        assert found.counts.sum(axis=0).tolist() == [size // 2 * 3] * 2
        assert (found.counts.sum(axis=1) > 0).all()
        for s in range(3):
            own, whole = found.sentence(s), samples.sentence(s)
            expected = Counter(whole.line(row) for row in whole.trace[0, :, : size // 2].ravel().tolist())
            counted = Counter()
            for row in range(len(own.scores)):
                counted[own.line(row)] += int(own.counts[row].sum())
            assert counted == expected
    np.testing.assert_array_equal(first_samples(samples, 80).counts, samples.counts)


def test_decisions_over_time_are_those_of_the_rules():
    """The running modes at any time are what the rules choose by as many samples."""
    samples = traced(np.random.default_rng(2), sentences=1)
    trace = samples.trace[0].T.ravel()
    lines = Corpus(samples.vocab, samples.hypotheses).lines()
    strings = np.array([lines.index(line) for line in lines])
    levels = np.unique(samples.scores, return_inverse=True)[1]
    for size in range(2, 81, 2):
        first = first_samples(samples, size)
        frequent, best = (MaxDerivation(samples_by=by).decide(first).lines()[0] for by in ("frequency", "score"))
        assert lines[modes(trace)[size - 1]] == frequent
        assert lines[leaders(levels[trace], trace)[size - 1]] == best
        assert lines[modes(strings[trace])[size - 1]] == MaxTranslation().decide(first).lines()[0]


@pytest.fixture(scope="module")
def curves():
    case = Case(22, longest=5)
    scorer = Bleu().scorer([Corpus.from_lines(["a b c", "b a"])])
    options = CurveOptions(samples=300, chains=2, initial="beam,random", temperature=1.5, hypotheses=20, ranked=1)
    return case, sampler_curves(case.translator, [case.sentence] * 2, scorer, options, seed=3)


def test_curves_of_a_small_model(curves):
    case, found = curves
    assert found.sizes == [100, 200, 500, 600]
    assert [start.initial for start in found.starts] == ["beam", "random"]
    best = max(case.scores.values())
    for start in found.starts:
        assert (np.diff(start.best_score) >= 0).all()
        assert start.best_score[-1] <= best + 1e-9
        for rule, settled in start.settled.items():
            assert settled.shape == (2,)
            assert (settled >= 1).all()
            assert (settled <= 600).all()
            assert (np.diff(start.changes[rule]) >= 0).all()
        assert all(shares.min() >= 0 and shares.max() <= 1 for shares in start.differ.values())
    assert found.beam_score <= best + 1e-9


def test_exact_log_probabilities_by_sampled_rank(curves):
    case, found = curves
    scores = np.array(list(case.scores.values())) / 1.5
    p = np.sort(scores - np.logaddexp.reduce(scores))[::-1]
    (ranked,) = found.starts[0].ranked
    assert ranked.number == 1
    assert (np.diff(ranked.counts) <= 0).all()
    assert ranked.counts.sum() == 600
    np.testing.assert_allclose(ranked.best, p[: len(ranked.best)], rtol=0, atol=1e-9)
    assert np.isin(ranked.sampled.round(8), p.round(8)).all()
    # The most frequent derivations are among the most probable.
    assert ranked.sampled[:5].mean() > ranked.sampled.mean()


def test_reports(curves):
    _, found = curves
    assert len(draw_scores(found, "bleu").axes) == 2
    assert len(draw_settling(found).axes) == 3
    assert len(draw_ranked(found.starts[0]).axes) == 1
    assert len(curve_table(found, "bleu").rows) == 8
    assert len(settling_table(found).rows) == 8
    measures = {row["measure"] for row in found.rows()}
    assert {"best score so far", "score, mbr", "settled, max-translation", "changes, mbr"} <= measures


def test_options_are_checked():
    with pytest.raises(UsageError, match="initial has 'x'"):
        CurveOptions(initial="x")
    with pytest.raises(UsageError, match="expected each only once"):
        CurveOptions(initial="beam,beam")
    with pytest.raises(UsageError, match="max-seconds"):
        CurveOptions().sampling(Schedule(max_seconds=1.0), "beam")
    assert MBR not in CurveOptions(hypotheses=0).rules
