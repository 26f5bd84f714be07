"""Diagnoses of tiny models, whose exact numbers come from enumeration; and their averages."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest

from dragoman.core.errors import DataError, UsageError
from dragoman.core.progress import DragomanWarning
from dragoman.core.runtime import Runtime
from dragoman.features import BoundaryFeature
from dragoman.sampling.diagnostics.diagnosis import Diagnosis, diagnose
from dragoman.sampling.diagnostics.diagnosis_results import summarise
from dragoman.sampling.phrase.lattices import Lattice
from dragoman.sampling.schedule import Schedule
from dragoman.search.limits import SearchLimits
from dragoman.search.phrase.translator import PhraseTranslator
from oracles import phrase_space
from oracles.phrase_case import Case

OPTIONS = Diagnosis(samples=3000, temperature=1.5, nbest=5000)


@pytest.fixture(scope="module")
def case():
    """One with many derivations, several for some translations, and more than a narrow beam keeps."""
    return Case(22, longest=5)


@pytest.fixture(scope="module")
def narrow(case):
    return PhraseTranslator(
        case.model, case.translator.weights, limits=SearchLimits(pop_limit=20), space=case.space,
        features=case.batch.model.features_of(BoundaryFeature),
    )  # fmt: skip


@pytest.fixture(scope="module")
def diagnosed(case, narrow):
    (found,) = diagnose(narrow, [(7, case.sentence)], OPTIONS)
    return found


def exact(case):
    scores = np.array(list(case.scores.values())) / OPTIONS.temperature
    return np.exp(scores - np.logaddexp.reduce(scores))


def test_the_case_is_worth_looking_at(case, diagnosed):
    assert len(case.scores) > 100
    assert diagnosed.lattice_log_derivations < diagnosed.log_derivations - 1


def test_exact_numbers(case, diagnosed):
    p = exact(case)
    texts = defaultdict(float)
    for derivation, share in zip(case.derivations, p.tolist(), strict=True):
        texts[" ".join(word for option in derivation for word in option.words)] += share
    of_texts = np.array(list(texts.values()))
    assert diagnosed.exact
    assert diagnosed.log_derivations == pytest.approx(np.log(len(p)))
    assert diagnosed.derivation_entropy == pytest.approx(-(p * np.log(p)).sum())
    features = [phrase_space.features(case.model, derivation) for derivation in case.derivations]
    expected = [sum(p * [row[name] for row in features]) for name in diagnosed.features]
    assert diagnosed.expectations[0].evidence == "exact"
    assert diagnosed.expectations[0].values == pytest.approx(expected, abs=1e-6)
    for curves in (*(run.curves for run in diagnosed.runs), diagnosed.independent):
        # The mean of -ln p over samples estimates the entropy: its deviation is that of ln p over √samples.
        for curve, shares in ((curves.derivations, p), (curves.translations, of_texts)):
            entropy = -(shares * np.log(shares)).sum()
            deviation = np.sqrt((shares * (np.log(shares) + entropy) ** 2).sum() / 2000)
            assert curve.cross_entropy == pytest.approx(entropy, abs=4 * deviation)


def test_curves(diagnosed):
    assert diagnosed.sizes[0] == 100
    assert diagnosed.sizes[-1] == 6000
    for curves in (*(run.curves for run in diagnosed.runs), diagnosed.independent):
        for curve in (curves.derivations, curves.translations):
            assert curve.cross_entropy - curve.entropy[-1] == pytest.approx(curve.divergence[-1])
            assert curve.divergence[-1] < curve.divergence[0] / 4
            assert len(curve.entropy) == len(curve.divergence) == len(diagnosed.sizes)
        # What writes translations cannot add to the divergence.
        both = zip(curves.derivations.divergence, curves.translations.divergence, strict=True)
        assert all(translations <= derivations for derivations, translations in both)
    # Independent draws of few items: (items - 1) / 2n.
    distinct = diagnosed.independent.derivations.distinct
    assert diagnosed.independent.derivations.divergence[-1] == pytest.approx(distinct / 12_000, rel=0.5)


def test_chains(diagnosed):
    assert [run.initial for run in diagnosed.runs] == ["gloss", "random", "beam"]
    for run in diagnosed.runs:
        assert 500 < run.effective_samples < 30_000
        assert run.r_hat < 1.02
        assert run.autocorrelation[0] == pytest.approx(1)
        assert abs(run.autocorrelation[150]) < 0.1
        assert list(run.accepted) == ["merge_split", "reorder", "retranslate", "jump"]
        assert all(0 < share <= 1 for share in run.accepted.values())
    assert diagnosed.r_hat < 1.02


def test_what_is_missed(case, narrow, diagnosed):
    p = exact(case)
    found = case.batch.search(narrow.limits, case.limit, lattice=True)
    best = Lattice.of(case.batch, found).best(10**5)
    rows = [tuple(row.tolist()) for row in best.derivations]
    shares = dict(zip(case.scores, p.tolist(), strict=True))
    for run in diagnosed.runs:
        outside = 1 - sum(shares[row] for row in rows)
        assert run.by_lattice.probability == pytest.approx(outside, abs=1e-9)
        assert run.by_lattice.samples == pytest.approx(outside, abs=0.06)
        size = run.curves.derivations.distinct
        assert run.by_nbest.probability == pytest.approx(1 - sum(shares[row] for row in rows[:size]), abs=1e-9)
        assert run.by_nbest.samples == pytest.approx(run.by_nbest.probability, abs=0.06)
        assert run.by_lattice.samples <= run.by_nbest.samples
        assert run.by_lattice.derivations <= run.by_nbest.derivations <= 1


def test_expectations(diagnosed):
    rows = {(row.evidence, row.size): row for row in diagnosed.expectations}
    sizes = [200, 1000, 2000, 5000]
    ways = ["n-best", "samples, gloss", "samples, random", "samples, beam"]
    assert list(rows) == [("exact", None), ("lattice", None), *((way, size) for size in sizes for way in ways)]
    right = np.array(rows["exact", None].values)

    def error(evidence, size=None):
        return np.abs(np.array(rows[evidence, size].values) - right)

    for way in ways[1:]:
        assert error(way, 5000).sum() < error(way, 200).sum()
        assert (error(way, 5000) < 0.1 * (1 + np.abs(right))).all()
        assert error(way, 5000).sum() < error("lattice").sum()
    # The list holds all that the lattice does.
    assert rows["n-best", 5000].values == pytest.approx(rows["lattice", None].values)
    assert rows["n-best", 5000].log_derivations == pytest.approx(diagnosed.lattice_log_derivations)


def test_too_large_for_exact_numbers(case, narrow, diagnosed):
    (found,) = diagnose(narrow, [(7, case.sentence)], replace(OPTIONS, exhaustive_size=1))
    assert not found.exact
    assert found.log_derivations is found.derivation_entropy is found.independent is None
    assert found.expectations[0].evidence == "lattice"
    for one, other in zip(found.runs, diagnosed.runs, strict=True):
        assert one.curves.derivations.divergence is one.curves.translations.cross_entropy is None
        assert one.by_lattice.probability is None
        assert one.curves.derivations.entropy == other.curves.derivations.entropy
        assert one.effective_samples == other.effective_samples
        assert one.by_nbest.samples == other.by_nbest.samples


def test_seeds_and_threads(case, narrow, diagnosed):
    small = replace(OPTIONS, samples=200, initial="random")
    one, two, three = (
        next(
            diagnose(
                narrow.reweighted(narrow.weights, runtime=Runtime(threads=threads)),
                [(number, case.sentence)],
                small,
                seed=seed,
            )
        ).to_dict()
        for number, seed, threads in ((1, 5, 1), (1, 5, 2), (2, 5, 1))
    )
    assert one == two
    assert one["runs"] != three["runs"]
    # Chains that begin differently have random numbers of their own.
    assert diagnosed.runs[0].curves.derivations.entropy != diagnosed.runs[1].curves.derivations.entropy


def test_an_empty_line_has_one_derivation(narrow):
    (found,) = diagnose(narrow, [(1, "")], Diagnosis(samples=10))
    assert found.log_derivations == pytest.approx(0)
    assert found.r_hat == 1
    for run in found.runs:
        assert run.curves.translations.divergence == [0.0]
        assert run.by_nbest.samples == 0


def test_more_chains_than_samples(narrow):
    (found,) = diagnose(narrow, [(1, "f0 f1")], Diagnosis(samples=4, chains=300, initial="gloss"))
    assert found.sizes == [300, 900, 1200]
    assert [row.size for row in found.expectations if row.evidence == "samples, gloss"] == [1000]


def test_averages(case, narrow, diagnosed):
    other = Case(5).sentence
    (second,) = diagnose(narrow, [(8, other)], OPTIONS)
    (without,) = diagnose(narrow, [(9, other)], replace(OPTIONS, exhaustive_size=1))
    (short,) = diagnose(narrow, [(10, other)], replace(OPTIONS, samples=100))
    summary = summarise([diagnosed, second, without, short])
    assert (summary.sentences, summary.exact_sentences) == (4, 3)
    assert summary.sizes == diagnosed.sizes
    assert [curve.name for curve in summary.curves] == ["gloss", "random", "beam", "independent"]
    curves = [one.runs[1].curves for one in (diagnosed, second, without)]
    assert summary.curves[1].derivation_divergence == pytest.approx(
        np.mean([curve.derivations.divergence for curve in curves[:2]], axis=0)
    )
    assert summary.curves[1].translation_entropy == pytest.approx(
        np.mean([curve.translations.entropy for curve in curves], axis=0)
    )
    assert summary.runs[2].by_lattice.samples == pytest.approx(
        np.mean([one.runs[2].by_lattice.samples for one in (diagnosed, second, without, short)])
    )
    rows = {(row.evidence, row.size): row for row in summary.expectations}
    assert ("samples, beam", 200) in rows
    assert ("samples, beam", 5000) not in rows  # one of them has only 200
    assert not any(rows["exact", None].errors)
    column = summary.features.index("word_penalty")
    three = [
        {(row.evidence, row.size): row.values[column] for row in one.expectations} for one in (diagnosed, second, short)
    ]
    gaps = np.array([table["n-best", 200] - table["exact", None] for table in three])
    scale = np.abs([table["exact", None] for table in three]).mean()
    assert rows["n-best", 200].differences[column] == pytest.approx(gaps.mean())
    assert rows["n-best", 200].errors[column] == pytest.approx(np.abs(gaps).mean())
    assert rows["n-best", 200].relative_errors[column] == pytest.approx(np.abs(gaps).mean() / scale)


def test_time_that_runs_out(case, narrow):
    options = Diagnosis(samples=2_000_000, initial="gloss", burn_in=0, nbest=1, independent=False)
    with pytest.warns(DragomanWarning, match="the time was over"):
        (found,) = diagnose(narrow, [(1, case.sentence)], options, Schedule(max_seconds=0.05))
    assert 4 <= found.sizes[-1] < 4_000_000
    assert found.runs[0].curves.derivations.divergence[-1] < found.runs[0].curves.derivations.divergence[0]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"samples": 0}, "samples is 0; expected at least 4"),
        ({"chains": 0}, "chains is 0"),
        (
            {"initial": "gloss,best"},
            "initial has 'best'; expected some of gloss, monotone, random, random-decoding, beam",
        ),
        ({"initial": ""}, "initial has ''"),
        ({"initial": "beam, beam"}, "each only once"),
        ({"temperature": 0.0}, "temperature is 0.0; expected more than 0"),
    ],
)
def test_options_that_make_no_sense(settings, message):
    with pytest.raises(UsageError, match=message):
        Diagnosis(**settings)


def test_a_beam_that_gives_up(case):
    tight = PhraseTranslator(case.model, case.translator.weights, limits=SearchLimits(max_size=1), space=case.space)
    with pytest.raises(DataError, match="line 4 needs more than 1 hypotheses"):
        next(diagnose(tight, [(4, case.sentence)], replace(OPTIONS, samples=10)))
