"""`dragoman sample-curves`: how decisions and their scores depend on the number of samples."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.score import ReferenceFiles, print_signature
from dragoman.cli.shell import terminal
from dragoman.cli.shell.flags import (
    Flags,
    Force,
    Machine,
    ModelFolder,
    Prepared,
    SourceFile,
    Trees,
    WeightsFile,
    command,
    refuse_existing,
)
from dragoman.cli.shell.loading import load_translator
from dragoman.core.display import pluralise
from dragoman.core.errors import DataError
from dragoman.core.files import open_output, output_folder
from dragoman.evaluation.figures.svg import require_matplotlib
from dragoman.evaluation.statistics.intervals import full_signature
from dragoman.evaluation.statistics.sampler_curves import CurveOptions, SamplerCurves, sampler_curves
from dragoman.metrics.combined import parse_metric
from dragoman.metrics.references import ReferencedText
from dragoman.sampling.schedule import Schedule
from dragoman.search.limits import SearchLimits, SpaceLimits


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(
        app,
        "sample-curves",
        examples=[
            "dragoman sample-curves --model model --source dev.fr --reference dev.en --temperature 0.1 --out curves",
            "dragoman sample-curves --model model --source dev.fr --reference dev.en --initial beam,gloss,random "
            "--samples 50000 --hypotheses 0 --out curves",
        ],
    )
    def sample_curves(
        model: ModelFolder,
        source: SourceFile,
        reference: ReferenceFiles,
        out: Annotated[Path, typer.Option(help="Folder for `report.html` and `sample-curves.csv`.")],
        options: Annotated[CurveOptions, Flags("Curves")],
        schedule: Annotated[Schedule, Flags("Chains")],
        limits: Annotated[SearchLimits, Flags("Search (for beam starts, jumps and comparison)")],
        space: Annotated[SpaceLimits, Flags("Search space (default: the model's settings)")],
        weights: WeightsFile = None,
        trees: Trees = None,
        metric: Annotated[str, typer.Option(help="Metric of the translations; see `dragoman score --help`.")] = "bleu",
        prepared: Prepared = False,
        seed: Annotated[int, typer.Option(min=0, help="Random seed.")] = 1,
        force: Force = False,
        machine: Machine = Machine(),
    ) -> None:
        """Decide by growing numbers of samples, and report how scores and decisions depend on their number.

        Reports for each starting point: the best model score so far, and the metric of the translations that
        max-derivation, max-translation and MBR choose by the first samples; after how many samples decisions change no
        more; how often the rules differ; and for short sentences, exact log-probabilities by sampled rank.
        """
        require_matplotlib()
        refuse_existing(out, force)
        runtime = machine.runtime()
        measure = parse_metric(metric)
        translator = load_translator(model, weights, limits, space, runtime=runtime)
        parses = translator.model.open_trees(trees, runtime=runtime)
        text = ReferencedText.read(source, reference, translator.model.preparation(prepared=prepared), trees=parses)
        if not text.lines:
            raise DataError("has no sentences", path=source, expected="at least one sentence")
        with output_folder(out) as folder:
            curves = sampler_curves(
                translator, text.lines, measure.scorer(text.references), options, schedule, seed=seed, runtime=runtime
            )
            chains = pluralise(options.chains, "chain")
            setting = (
                f"{len(text):,} sentences of {source} under {model}, temperature {options.temperature:g}: {chains} of "
                f"{options.samples:,} samples from each of {options.initial}, after {options.burn_in:,} scans of "
                f"burn-in; seed {seed}."
            )
            signature = full_signature(measure, len(text.references), prepared=True)
            _write(folder, curves, metric, setting, signature)
        _print(curves, metric)
        print_signature(measure, len(text.references))


def _write(folder: Path, curves: SamplerCurves, metric: str, setting: str, signature: str) -> None:
    from dragoman.evaluation.reports.sampler_report import write_curves

    text = io.StringIO()
    writer = csv.DictWriter(text, ["initial", "samples", "measure", "value"], lineterminator="\n")
    writer.writeheader()
    writer.writerows(curves.rows())
    with open_output(folder / "sample-curves.csv") as stream:
        stream.write(text.getvalue().encode())
    write_curves(folder / "report.html", curves, metric, setting, signature)


def _print(curves: SamplerCurves, metric: str) -> None:
    from dragoman.evaluation.reports.sampler_report import curve_table, settling_table

    console = terminal.output()
    for table in (curve_table(curves, metric), settling_table(curves)):
        console.print(terminal.table(table.title, table.columns, table.rows))
        console.print()
    console.print(f"decoder: {metric} {curves.beam_metric:.2f}, mean score {curves.beam_score:.2f}", markup=False)
