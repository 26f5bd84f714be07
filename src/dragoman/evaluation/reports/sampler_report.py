"""Diagnoses of the sampler as tables and as a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dragoman.core.files import PathLike
from dragoman.evaluation.figures.samplers import (
    draw_autocorrelation,
    draw_divergence,
    draw_divergences,
    draw_expectations,
    draw_ranked,
    draw_scores,
    draw_settling,
)
from dragoman.evaluation.reports.report import Report
from dragoman.evaluation.statistics.sampler_curves import SamplerCurves
from dragoman.sampling.diagnostics.diagnosis_results import (
    INDEPENDENT,
    ExpectationRow,
    MissingProportions,
    SentenceDiagnostics,
    Summary,
)


@dataclass(frozen=True)
class Table:
    """Rows under a title."""

    title: str
    columns: list[str]
    rows: list[list[object]]


def sentence_table(sentences: Sequence[SentenceDiagnostics]) -> Table:
    """Describe each sentence: the size of its space, the mixing of its chains, their final divergence."""
    rows = []
    for one in sentences:
        curves = [run.curves for run in one.runs]
        rows.append(
            [
                one.number,
                one.words,
                power_of_ten(one.log_derivations) if one.log_derivations is not None else "too large",
                power_of_ten(one.lattice_log_derivations),
                _number(one.derivation_entropy),
                _number(float(np.mean([c.derivations.entropy[-1] for c in curves]))),
                _number(float(np.mean([c.translations.entropy[-1] for c in curves]))),
                _last([c.derivations.divergence for c in curves]),
                _last([c.translations.divergence for c in curves]),
                f"{np.mean([run.effective_samples for run in one.runs]):,.0f}",
                _number(one.r_hat, 3),
                one.components,
            ]
        )
    columns = ["line", "words", "derivations", "in the lattice", "H(d) exact", "H(d)", "H(e)", "D(d)", "D(e)", "ESS"]
    return Table("Sentences", [*columns, "R-hat", "parts"], rows)


def divergence_table(summary: Summary) -> Table:
    """List mean divergences at each number of samples, for each starting point."""
    shown = [curve for curve in summary.curves if curve.derivation_divergence]
    rows: list[list[object]] = [
        [
            size,
            *(
                f"{divergence[place]:.3f}"
                for curve in shown
                for divergence in (curve.derivation_divergence, curve.translation_divergence)
            ),
        ]
        for place, size in enumerate(summary.sizes)
    ]
    columns = [f"{curve.name} {kind}" for curve in shown for kind in ("d", "e")]
    return Table("Sampler divergence of derivations (d) and translations (e), nats", ["samples", *columns], rows)


def chain_table(summary: Summary) -> Table:
    """Describe the chains of each starting point."""
    rows: list[list[object]] = [
        [
            run.initial,
            f"{run.effective_share:.1%}",
            _number(run.r_hat, 3),
            *("-" if share is None else f"{share:.1%}" for share in run.accepted.values()),
            *_missed(run.by_lattice),
            *_missed(run.by_nbest),
        ]
        for run in summary.runs
    ]
    missed = [f"{kind} outside {of}" for of in ("lattice", "n-best") for kind in ("samples", "derivations", "p")]
    moves = [f"accepted {move.replace('_', ' ')}" for move in (summary.runs[0].accepted if summary.runs else ())]
    return Table("Chains", ["initial", "effective samples", "largest R-hat", *moves, *missed], rows)


def expectation_table(summary: Summary) -> Table:
    """List expected features by evidence (table 7.1)."""
    return _by_feature("Expected features", summary, [(row, row.values) for row in summary.expectations])


def error_table(summary: Summary) -> Table:
    """List the mean absolute errors of expected features."""
    rows = [(row, row.errors) for row in summary.expectations if row.evidence != "exact"]
    return _by_feature("Mean absolute error of expected features", summary, rows)


def relative_error_table(summary: Summary) -> Table:
    """List the mean absolute errors relative to the mean absolute values."""
    rows = [(row, row.relative_errors) for row in summary.expectations if row.evidence != "exact"]
    return _by_feature("Mean absolute error relative to the mean absolute exact value", summary, rows)


def tables(sentences: Sequence[SentenceDiagnostics], summary: Summary) -> list[Table]:
    """Return the most important tables, without those that need exact numbers if there are none."""
    found = [sentence_table(sentences), chain_table(summary)]
    if summary.exact_sentences:
        found += [divergence_table(summary), expectation_table(summary), error_table(summary)]
    return found


def write_report(path: PathLike, sentences: Sequence[SentenceDiagnostics], summary: Summary, setting: str) -> None:
    """Write a page with all tables and figures; `setting` is a sentence about the options."""
    page = Report("Sampler diagnostics")
    page.paragraph(setting)
    if summary.exact_sentences:
        page.heading("Divergence from the exact distribution")
        page.figure(
            draw_divergence(summary),
            f"Mean over {summary.exact_sentences} sentences of Σ q ln(q/p) over the sampled items. Independent draws"
            + (" (grey)" if any(curve.name == INDEPENDENT for curve in summary.curves) else "")
            + " are above 0 too, more so for flat distributions: no sampler can do better.",
        )
        page.figure(draw_divergences(sentences), "Divergence of single sentences.")
        page.heading("Expected features")
        page.figure(draw_expectations(summary), "Mean difference of estimated and exact expectation, by evidence.")
    page.heading("Mixing")
    page.figure(draw_autocorrelation(sentences), "Mean over chains and sentences.")
    for table in [*tables(sentences, summary), *([relative_error_table(summary)] if summary.exact_sentences else [])]:
        page.heading(table.title)
        page.table(table.columns, table.rows)
    page.write(path)


def curve_table(curves: SamplerCurves, metric: str) -> Table:
    """List each rule's metric, the best score and the differences at each number of samples, by starting point."""
    first = curves.starts[0]
    rules, pairs = list(first.scores), list(first.differ)
    rows: list[list[object]] = [
        [
            start.initial,
            size,
            f"{start.best_score[i]:.2f}",
            *(f"{start.scores[rule][i]:.2f}" for rule in rules),
            *(f"{start.differ[pair][i]:.1%}" for pair in pairs),
        ]
        for start in curves.starts
        for i, size in enumerate(curves.sizes)
    ]
    columns = ["initial", "samples", "best score so far", *(f"{metric}, {rule}" for rule in rules)]
    return Table("By number of samples", [*columns, *(f"{a} ≠ {b}" for a, b in pairs)], rows)


def settling_table(curves: SamplerCurves) -> Table:
    """List after how many samples decisions change no more: quantiles over sentences, and the number of changes."""
    rows: list[list[object]] = [
        [
            start.initial,
            rule,
            *(f"{np.quantile(settled, share, method='higher'):,.0f}" for share in (0.5, 0.9, 1.0)),
            f"{start.changes[rule][-1]:.1f}",
        ]
        for start in curves.starts
        for rule, settled in start.settled.items()
    ]
    columns = ["initial", "rule", "half of the sentences", "90%", "all", "changes per sentence"]
    return Table("Samples after which decisions change no more", columns, rows)


def write_curves(path: PathLike, curves: SamplerCurves, metric: str, setting: str, signature: str) -> None:
    """Write a page with the curves of decisions by samples; `setting` is a sentence about the options."""
    page = Report("Decisions by number of samples")
    page.paragraph(setting)
    page.paragraph(signature)
    page.heading("Scores")
    page.figure(
        draw_scores(curves, metric),
        f"The score of the best derivation so far, a mean over sentences, and {metric} of the translations that each"
        " rule chooses by the first samples. Max-derivation is the most frequent derivation; best score is the one with"
        " the highest score.",
    )
    page.heading("When decisions settle")
    page.figure(
        draw_settling(curves),
        "Left: sentences whose translation does not change any more after a number of samples. Middle: mean number of"
        " changes. Right: sentences whose translations by two rules differ. MBR is decided at the marked numbers of"
        " samples only.",
    )
    for table in (curve_table(curves, metric), settling_table(curves)):
        page.heading(table.title)
        page.table(table.columns, table.rows)
    for start in curves.starts:
        if start.ranked:
            page.heading(f"Exact probabilities by sampled rank, from {start.initial}")
            page.figure(
                draw_ranked(start),
                "Each dot is a sampled derivation: its exact log-probability, by its rank among the samples. The line"
                " is that of the same number of derivations, the most probable ones. Dots below it show that samples"
                " reach derivations that no n-best list of this length has.",
            )
    page.write(path)


def power_of_ten(log_number: float) -> str:
    """Format a number for a table, given its natural logarithm.

    >>> power_of_ten(np.log(1234)), power_of_ten(161.2)
    ('1,234', '10^70.0')
    """
    return f"{round(np.exp(log_number)):,}" if log_number < np.log(1e6) else f"10^{log_number / np.log(10):.1f}"


def _by_feature(title: str, summary: Summary, rows: Sequence[tuple[ExpectationRow, Sequence[float | None]]]) -> Table:
    cells: list[list[object]] = [
        [
            row.evidence,
            power_of_ten(row.log_derivations) if row.size is None else f"{row.size:,}",
            *(_number(value, 3) for value in values),
        ]
        for row, values in rows
    ]
    return Table(title, ["evidence", "size", *summary.features], cells)


def _missed(missed: MissingProportions) -> list[str]:
    shares = (missed.samples, missed.derivations, missed.probability)
    return ["-" if share is None else f"{share:.1%}" for share in shares]


def _number(value: float | None, digits: int = 2) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def _last(curves: Sequence[Sequence[float] | None]) -> str:
    """Return the mean of the last values."""
    there = [curve[-1] for curve in curves if curve is not None]
    return _number(float(np.mean(there)) if there else None, 3)
