"""`dragoman compare`: which system is better, and could it be chance?"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray
from rich.console import Group

from dragoman.cli.score import (
    Language,
    Metrics,
    PreparedBy,
    ReferenceFiles,
    Seed,
    Tokenise,
    preparation_of,
    print_signatures,
    read_hypotheses,
    tokeniser_asked_for,
)
from dragoman.cli.shell import terminal
from dragoman.cli.shell.flags import Json, command
from dragoman.cli.shell.machine import Machine
from dragoman.core.corpus import Corpus
from dragoman.core.errors import UsageError
from dragoman.core.runtime import Runtime
from dragoman.evaluation.statistics.comparison import Resampling, compare_systems
from dragoman.evaluation.statistics.intervals import full_signature, measure
from dragoman.evaluation.statistics.significance import Correction, draws_needed
from dragoman.metrics.looks import metrics_for
from dragoman.metrics.metric import Metric, Scorer
from dragoman.metrics.preparation import Tokenisation
from dragoman.metrics.references import read_references


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(
        app,
        "compare",
        examples=[
            "dragoman compare --reference test.en baseline.out mert.out pro.out",
            "dragoman compare --reference ref mert=m1.out,m2.out,m3.out pro=p1.out,p2.out,p3.out",
            "dragoman compare --reference test.en --metric ter --sample-size 300 --sample-size 1000 a.out b.out",
        ],
    )
    def compare(
        reference: ReferenceFiles,
        systems: Annotated[
            list[str], typer.Argument(help="Translations of each system: FILE, NAME=FILE or NAME=FILE,FILE,... (runs).")
        ],
        metric: Metrics = None,
        tokenise: Tokenise = None,
        language: Language = None,
        model: PreparedBy = None,
        resamples: Annotated[int, typer.Option(min=1, help="Resamples of the paired bootstrap.")] = 1000,
        trials: Annotated[int, typer.Option(min=0, help="Shuffles of approximate randomisation; 0: none.")] = 10_000,
        samples: Annotated[
            int, typer.Option(min=0, help="Test sets to draw for the share of conclusive ones; 0: none.")
        ] = 100,
        sample_size: Annotated[
            list[int] | None, typer.Option(min=1, help="Sentences of such a test set; repeatable. 300 by default.")
        ] = None,
        correction: Annotated[
            Correction, typer.Option(help="Correct p-values for the number of pairs, by Holm's method (1979).")
        ] = "none",
        seed: Seed = 0,
        as_json: Json = False,
        machine: Machine = Machine(),
    ) -> None:
        """Compare systems on one test set: are the differences larger than chance explains?

        For each pair: in which share of bootstrap resamples of the sentences the first system is better (Koehn 2004;
        0.95 counts as significant) and its one-sided p-value, the two-sided p-value of approximate randomisation, and
        how often a test set of 300 sentences would be conclusive, rightly or wrongly (`0.15/0.01`). The line at the
        end orders the systems: `>` is significantly better, `≥` better on this test set only, `=` the same
        sentence by sentence. For systems with several
        runs, scores are means, with the standard deviation over runs and over test sentences (Clark et al. 2011).

        Among many pairs some differ by chance: with --correction holm, p-values are those of Holm's step-down method
        for all pairs, and `>` goes by them.
        """
        how = Resampling(resamples, trials, samples, tuple(sample_size or [300]), seed, correction)
        labels = metric or ["bleu"]
        compare_files(
            systems,
            reference,
            labels,
            how,
            tokenise=tokeniser_asked_for(labels, tokenise, model),
            language=language,
            model=model,
            as_json=as_json,
            runtime=machine.runtime(),
        )


def compare_files(
    systems: Sequence[str],
    reference: Sequence[Path],
    metrics: Sequence[str],
    how: Resampling,
    *,
    tokenise: Tokenisation | None,
    language: str | None,
    model: Path | None,
    as_json: bool,
    runtime: Runtime,
) -> None:
    """Print a comparison of some systems by each metric."""
    if len(systems) < 2:
        raise UsageError(f"found {len(systems)} system; expected two or more to compare")
    _warn_of_few_draws(how, len(systems), runtime)
    prepared = preparation_of(model)
    references = read_references(reference, prepared, runtime=runtime)
    names, files = _parse_systems(systems)
    translations = [
        [(str(file), read_hypotheses(file, references, reference[0], prepared, runtime=runtime)) for file in runs]
        for runs in files
    ]
    texts = [found for runs in translations for _, found in runs]
    chosen = metrics_for(metrics, references, texts, tokenise=tokenise, language=language)
    reports = []
    for text, one in chosen.metrics.items():
        scorer, statistics = _statistics(one, references, translations, runtime)
        report = {"metric": text, **compare_systems(one, scorer, names, statistics, how)}
        signature = full_signature(one, len(references), how.resamples, how.seed, prepared=model is not None)
        note = {"note": chosen.notes[text]} if text in chosen.notes else {}
        reports.append({**report, "signature": signature, **note})
    if as_json:
        print(json.dumps(reports, indent=2, ensure_ascii=False))
    else:
        for report in reports:
            _print(report)


def _warn_of_few_draws(how: Resampling, systems: int, runtime: Runtime) -> None:
    pairs = systems * (systems - 1) // 2
    needed = draws_needed(pairs)
    for flag, draws in (("resamples", how.resamples), ("trials", how.trials)):
        if how.correction == "holm" and 0 < draws < needed:
            runtime.warn(
                f"with --{flag} {draws} no p-value of {pairs} pairs can be significant; take at least {needed:,}"
            )


def _parse_systems(texts: Sequence[str]) -> tuple[list[str], list[list[Path]]]:
    names, files = map(list, zip(*(_parse_system(text) for text in texts), strict=True))
    short = [Path(name).name for name in names]
    if len(set(short)) == len(short):
        return short, files
    if len(set(names)) < len(names):
        raise UsageError("two systems have the same name; expected different ones, as in NAME=FILE")
    return names, files


def _parse_system(text: str) -> tuple[str, list[Path]]:
    name, equals, files = text.partition("=")
    if not equals or Path(text).exists():
        return text, [Path(text)]
    runs = [Path(file) for file in files.split(",") if file]
    if not name or not runs:
        raise UsageError(f"found '{text}'; expected FILE, NAME=FILE or NAME=FILE,FILE,...")
    return name, runs


def _statistics(
    metric: Metric,
    references: Sequence[Corpus],
    systems: Sequence[Sequence[tuple[str, Corpus]]],
    runtime: Runtime,
) -> tuple[Scorer, list[NDArray[np.float64]]]:
    measured = [[measure(metric, metric.name, references, *run, runtime=runtime) for run in runs] for runs in systems]
    return measured[0][0].scorer, [np.stack([run.statistics for run in runs]) for runs in measured]


def _print(report: dict[str, Any]) -> None:
    console = terminal.output()
    console.print(_system_table(report))
    console.print()
    console.print(_pair_table(report))
    console.print()
    console.print(report["order"], style="bold", markup=False)
    print_signatures([report])


def _system_table(report: dict[str, Any]) -> Group:
    rows = [
        (
            row["system"],
            len(row["runs"]),
            f"{row['score']:.2f}",
            f"{row['sd_runs']:.2f}" if "sd_runs" in row else "-",
            f"{row['sd_sentences']:.2f}" if "sd_sentences" in row else "-",
        )
        for row in report["systems"]
    ]
    return terminal.table("Systems", ["system", "runs", report["metric"], "sd over runs", "sd over sentences"], rows)


def _pair_table(report: dict[str, Any]) -> Group:
    first = report["pairs"][0]
    corrected = "p_bootstrap_holm" in first
    tests = [f"{test}_holm" if corrected else test for test in ("p_bootstrap", "p_randomisation")]
    rows = [
        (
            pair["better"],
            pair["worse"],
            f"{pair['difference']:+.2f}",
            f"{pair['share_better']:.3f}",
            *(f"{pair[test]:.4f}" if test in pair else "-" for test in tests),
            *(_conclusive(*found) for found in pair["conclusive"].values()),
        )
        for pair in report["pairs"]
    ]
    columns = ["better", "worse", "difference", "share", "p boot", "p rand", *(f"at {s}" for s in first["conclusive"])]
    title = f"Pairs (p-values corrected by Holm's method for {len(rows)} pairs)" if corrected else "Pairs"
    return terminal.table(title, columns, rows)


def _conclusive(right: float, wrong: float) -> str:
    return f"{right:.2f}/{wrong:.2f}" if wrong else f"{right:.2f}"
