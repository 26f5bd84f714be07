"""`dragoman diagnose`: check whether the sampler reaches the exact distribution, and how soon."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

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
from dragoman.core.errors import DataError
from dragoman.core.files import open_output, output_folder, read_lines
from dragoman.core.runtime import Runtime
from dragoman.evaluation.figures.svg import require_matplotlib
from dragoman.formats.penn_trees import with_trees
from dragoman.sampling.diagnostics.diagnosis import Diagnosis, diagnose as diagnoses
from dragoman.sampling.diagnostics.diagnosis_results import SentenceDiagnostics, Summary, summarise
from dragoman.sampling.schedule import Schedule
from dragoman.search.limits import SearchLimits, SpaceLimits


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(
        app,
        "diagnose",
        examples=[
            "dragoman diagnose --model model --source test.fr --out diagnosis",
            "dragoman diagnose --model model --source test.fr --limit-words 8 --sentences 10 --table-limit 5 --out d",
            "dragoman diagnose --model model --source test.fr --temperature 0.2 --initial random,beam --out d",
        ],
    )
    def diagnose(
        model: ModelFolder,
        source: SourceFile,
        out: Annotated[Path, typer.Option(help="Folder for `report.html` and `diagnostics.json`.")],
        options: Annotated[Diagnosis, Flags("Diagnosis")],
        schedule: Annotated[Schedule, Flags("Chains")],
        limits: Annotated[SearchLimits, Flags("Search (the beam to compare with)")],
        space: Annotated[SpaceLimits, Flags("Search space (default: the model's settings)")],
        limit_words: Annotated[int, typer.Option(min=1, help="Skip sentences with more words.")] = 10,
        sentences: Annotated[
            int | None, typer.Option(min=1, help="Number of sentences to use, from the first. Default: all.")
        ] = None,
        weights: WeightsFile = None,
        trees: Trees = None,
        prepared: Prepared = False,
        seed: Annotated[int, typer.Option(min=0, help="Random seed.")] = 1,
        force: Force = False,
        machine: Machine = Machine(),
    ) -> None:
        """Compare the sampler with exact probabilities, lattices and n-best lists on short sentences.

        Reports for each sentence: the distance of the samples from the exact distribution over derivations and over
        translations, by number of samples, with the same number of independent draws for comparison; entropies;
        effective sample size, R-hat and autocorrelation of the chains; the probability mass that the decoder's lattice
        and n-best list miss; and the expected features under each. Exact numbers need an exhaustive search; sentences
        that are too large for it have none.
        """
        require_matplotlib()
        refuse_existing(out, force)
        runtime = machine.runtime()
        translator = load_translator(model, weights, limits, space, runtime=runtime)
        parses = translator.model.open_trees(trees, runtime=runtime)
        preparation = translator.model.preparation(prepared=prepared)
        text = preparation.source(read_lines(source), runtime=runtime)
        lines = _select_sentences(
            text if parses is None else with_trees(text, parses), limit_words, sentences, source, runtime
        )
        setting = {
            "model": str(model),
            "source": str(source),
            "seed": seed,
            "diagnosis": options.to_dict(),
            "chains": schedule.to_dict(),
            "search": limits.to_dict(),
            "space": space.to_dict(),
        }
        with output_folder(out) as folder:
            found = []
            with runtime.stage(f"diagnosing {len(lines):,} sentences") as progress_callback:
                for one in diagnoses(translator, lines, options, schedule, seed=seed, runtime=runtime):
                    found.append(one)
                    if not one.exact:
                        runtime.warn(f"line {one.number} is too large for exact numbers ({one.words} words)")
                    progress_callback(len(found) / len(lines))
            summary = summarise(found)
            _write(folder, setting, found, summary)
        _print(found, summary)


def _write(folder: Path, setting: dict[str, Any], found: Sequence[SentenceDiagnostics], summary: Summary) -> None:
    """Write the page, and all numbers."""
    from dragoman.evaluation.reports.sampler_report import write_report

    everything = {
        "setting": setting,
        "averages": summary.to_dict(),
        "sentences": [one.to_dict() for one in found],
    }
    with open_output(folder / "diagnostics.json") as stream:
        stream.write(json.dumps(_finite(everything), indent=1, ensure_ascii=False, allow_nan=False).encode())
    write_report(folder / "report.html", found, summary, _sentence(setting, len(found)))


def _print(found: Sequence[SentenceDiagnostics], summary: Summary) -> None:
    from dragoman.evaluation.reports.sampler_report import tables

    console = terminal.output()
    for table in tables(found, summary):
        console.print(terminal.table(table.title, table.columns, table.rows))
        console.print()


def _select_sentences(
    lines: Iterable[str], limit_words: int, most: int | None, source: Path, runtime: Runtime
) -> list[tuple[int, str]]:
    """Select the sentences to diagnose, with their line numbers."""
    chosen: list[tuple[int, str]] = []
    empty = long = 0
    for number, line in enumerate(lines, 1):
        if most is not None and len(chosen) == most:
            break
        words = len(line.split())
        if 0 < words <= limit_words:
            chosen.append((number, line))
        empty += words == 0
        long += words > limit_words
    for count, what in ((empty, "empty"), (long, f"longer than {limit_words} words")):
        if count:
            runtime.note(f"{count:,} lines are {what}; skipped")
    if not chosen:
        raise DataError("has no sentence to look at", path=source, expected=f"one of 1 to {limit_words} words")
    return chosen


def _sentence(setting: dict[str, Any], count: int) -> str:
    options = setting["diagnosis"]
    return (
        f"{count:,} sentences of {setting['source']} under {setting['model']}, temperature {options['temperature']:g}: "
        f"{options['chains']} chains of {options['samples']:,} samples from each of {options['initial']}, after "
        f"{options['burn_in']:,} scans of burn-in; seed {setting['seed']}."
    )


def _finite(value: Any) -> Any:
    """Replace infinite and undefined numbers, which JSON does not have, by null."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
