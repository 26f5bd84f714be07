"""The page and the pictures of a diagnosis show the numbers that they should."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dragoman.evaluation.figures.samplers import (
    draw_autocorrelation,
    draw_divergence,
    draw_divergences,
    draw_expectations,
)
from dragoman.evaluation.reports.sampler_report import power_of_ten, tables, write_report
from dragoman.sampling.diagnostics.diagnosis import Diagnosis, diagnose
from dragoman.sampling.diagnostics.diagnosis_results import summarise
from oracles.phrase_case import Case


@pytest.fixture(scope="module")
def found():
    case = Case(22, longest=5)
    options = Diagnosis(samples=150, initial="gloss,beam", nbest=200)
    lines = [(4, case.sentence), (5, "f0 f1")]
    return [*diagnose(case.translator, lines, options)]


@pytest.fixture(scope="module")
def inexact(found):
    case = Case(22, longest=5)
    return [*diagnose(case.translator, [(4, case.sentence)], Diagnosis(samples=150, exhaustive_size=1))]


def test_divergence_is_drawn_over_the_number_of_samples(found):
    summary = summarise(found)
    (axes,) = draw_divergence(summary).axes
    drawn = {line.get_label(): line.get_xydata() for line in axes.get_lines()}
    ways = ["gloss", "beam", "independent"]
    assert list(drawn) == [f"{way}, {what}" for way in ways for what in ("derivations", "translations")]
    assert drawn["beam, translations"][:, 0].tolist() == summary.sizes == [100, 200, 300]
    assert drawn["beam, translations"][:, 1].tolist() == summary.curves[1].translation_divergence
    panels = draw_divergences(found).axes
    assert [panel.get_title() for panel in panels] == ["line 4 (5 words)", "line 5 (2 words)"]
    assert panels[1].get_lines()[2].get_ydata().tolist() == found[1].runs[1].curves.derivations.divergence


@pytest.mark.slow
def test_expectations_are_drawn_as_differences(found):
    summary = summarise(found)
    panels = draw_expectations(summary).axes
    titles = [panel.get_title() for panel in panels]
    assert "word_penalty" in titles
    assert set(titles) <= set(summary.features)
    (panel,) = draw_expectations(summary, ["word_penalty"]).axes
    drawn = {line.get_label(): line.get_ydata() for line in panel.get_lines()}
    rows = {row.evidence: row for row in summary.expectations}  # of one size each
    column = summary.features.index("word_penalty")
    assert drawn["n-best"] == rows["n-best"].differences[column]
    assert drawn["samples, beam"] == rows["samples, beam"].differences[column]
    assert [label.get_text() for label in panel.get_xticklabels()] == ["lattice", "200"]


def test_autocorrelation_is_the_mean(found):
    (axes,) = draw_autocorrelation(found).axes
    expected = np.mean([one.runs[0].autocorrelation[:50] for one in found], axis=0)
    assert axes.get_lines()[0].get_ydata() == pytest.approx(expected)


def test_tables(found, inexact):
    summary = summarise(found)
    shown = {table.title.split()[0]: table for table in tables(found, summary)}
    assert list(shown) == ["Sentences", "Chains", "Sampler", "Expected", "Mean"]
    for table in shown.values():
        assert {len(row) for row in table.rows} == {len(table.columns)}
    assert [row[0] for row in shown["Sentences"].rows] == [4, 5]
    assert shown["Sentences"].rows[0][2] == "288"  # derivations
    assert shown["Sampler"].rows[-1][:2] == [300, f"{summary.curves[0].derivation_divergence[-1]:.3f}"]
    assert [row[:2] for row in shown["Expected"].rows[-2:]] == [["samples, gloss", "200"], ["samples, beam", "200"]]
    assert [table.title for table in tables(inexact, summarise(inexact))] == ["Sentences", "Chains"]
    assert tables(inexact, summarise(inexact))[0].rows[0][2] == "too large"


@pytest.mark.slow
def test_pages(found, inexact, tmp_path):
    for name, sentences in (("exact", found), ("inexact", inexact)):
        write_report(tmp_path / name, sentences, summarise(sentences), "Two sentences <of> a test.")
    page = (tmp_path / "exact").read_text(encoding="utf-8")
    assert page.count("<svg") == 4
    assert page.count("<table>") == 6
    assert "Two sentences &lt;of&gt; a test." in page
    assert not any(mark in page for mark in ("src=", "<link", "<script "))  # one file is all
    page = (tmp_path / "inexact").read_text(encoding="utf-8")
    assert page.count("<svg") == 1
    assert "too large" in page


def test_chains_that_stand_still_are_shown(found):
    stuck = replace(found[0], r_hat=np.inf, runs=[replace(run, r_hat=np.inf) for run in found[0].runs])
    assert tables([stuck], summarise([stuck]))[0].rows[0][10] == "inf"


def test_powers_of_ten():
    assert power_of_ten(0.0) == "1"
    assert power_of_ten(np.log(999_999)) == "999,999"
    assert power_of_ten(70 * np.log(10)) == "10^70.0"
