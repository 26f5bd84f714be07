"""Comparisons of systems for the terminal, or as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Group

from dragoman.cli.shell import terminal
from dragoman.cli.shell.scored_texts import ScoredSystem, ScoredTexts
from dragoman.core.corpus import Corpus
from dragoman.core.errors import UsageError
from dragoman.core.runtime import Runtime
from dragoman.evaluation.statistics.comparison import Resampling, compare_systems, conclusive_text
from dragoman.evaluation.statistics.intervals import full_signature, measure
from dragoman.evaluation.statistics.significance import draws_needed
from dragoman.metrics.metric import Metric, Scorer
from dragoman.metrics.tokeniser_choice import ChosenMetrics


def check_comparison(systems: Sequence[str], how: Resampling, runtime: Runtime) -> None:
    """Refuse a single system, and warn of draws that are too few for so many pairs."""
    if len(systems) < 2:
        raise UsageError(f"found {len(systems)} system; expected two or more to compare")
    pairs = len(systems) * (len(systems) - 1) // 2
    needed = draws_needed(pairs)
    for flag, draws in (("resamples", how.resamples), ("trials", how.trials)):
        if how.correction == "holm" and 0 < draws < needed:
            runtime.warn(
                f"with --{flag} {draws} no p-value of {pairs} pairs can be significant; take at least {needed:,}"
            )


def print_comparison(
    texts: ScoredTexts,
    chosen: ChosenMetrics,
    how: Resampling,
    *,
    prepared: bool,
    as_json: bool,
    digits: int | None = None,
    runtime: Runtime,
) -> None:
    """Compare systems by each metric, and print tables or JSON."""
    reports = []
    for label, metric in chosen.metrics.items():
        scorer, statistics = _statistics(metric, texts.references, texts.systems, runtime)
        names = [system.name for system in texts.systems]
        report = {"metric": label, **compare_systems(metric, scorer, names, statistics, how)}
        signature = full_signature(metric, len(texts.references), how.resamples, how.seed, prepared=prepared)
        note = {"note": chosen.notes[label]} if label in chosen.notes else {}
        reports.append({**report, "signature": signature, **note})
    if as_json:
        print(json.dumps(reports, indent=2, ensure_ascii=False))
        return
    for report, metric in zip(reports, chosen.metrics.values(), strict=True):
        _print_tables(report, metric.digits if digits is None else digits)


def print_signatures(results: Sequence[Mapping[str, object]]) -> None:
    """Print the signatures of the scores in a table, and notes about tokenisers chosen by default."""
    console = terminal.output()
    for signature in dict.fromkeys(str(result["signature"]) for result in results):
        console.print(signature, style="dim", markup=False)
    for note in dict.fromkeys(str(result["note"]) for result in results if result.get("note")):
        console.print(note, style="dim", markup=False)


def _statistics(
    metric: Metric, references: Sequence[Corpus], systems: Sequence[ScoredSystem], runtime: Runtime
) -> tuple[Scorer, list[NDArray[np.float64]]]:
    measured = [
        [measure(metric, metric.name, references, *run, runtime=runtime) for run in system.runs] for system in systems
    ]
    return measured[0][0].scorer, [np.stack([run.statistics for run in runs]) for runs in measured]


def _print_tables(report: dict[str, Any], digits: int) -> None:
    console = terminal.output()
    console.print(_system_table(report, digits))
    console.print()
    console.print(_pair_table(report, digits))
    console.print()
    console.print(report["order"], style="bold", markup=False)
    print_signatures([report])


def _system_table(report: dict[str, Any], digits: int) -> Group:
    rows = [
        (
            row["system"],
            len(row["runs"]),
            f"{row['score']:.{digits}f}",
            f"{row['sd_runs']:.{digits}f}" if "sd_runs" in row else "-",
            f"{row['sd_sentences']:.{digits}f}" if "sd_sentences" in row else "-",
        )
        for row in report["systems"]
    ]
    return terminal.table("Systems", ["system", "runs", report["metric"], "sd over runs", "sd over sentences"], rows)


def _pair_table(report: dict[str, Any], digits: int) -> Group:
    first = report["pairs"][0]
    corrected = "p_bootstrap_holm" in first
    tests = [f"{test}_holm" if corrected else test for test in ("p_bootstrap", "p_randomisation")]
    rows = [
        (
            pair["better"],
            pair["worse"],
            f"{pair['difference']:+.{digits}f}",
            f"{pair['share_better']:.3f}",
            *(f"{pair[test]:.4f}" if test in pair else "-" for test in tests),
            *(conclusive_text(*found) for found in pair["conclusive"].values()),
        )
        for pair in report["pairs"]
    ]
    columns = ["better", "worse", "difference", "share", "p boot", "p rand", *(f"at {s}" for s in first["conclusive"])]
    title = f"Pairs (p-values corrected by Holm's method for {len(rows)} pairs)" if corrected else "Pairs"
    return terminal.table(title, columns, rows)
