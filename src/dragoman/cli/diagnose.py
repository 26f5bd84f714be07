"""`dragoman diagnose`: does the sampler reach the right distribution, and how soon?"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from dragoman.cli import terminal
from dragoman.cli.flags import Flags, Force, Threads, command, refuse_existing
from dragoman.core.errors import DataError
from dragoman.core.files import open_output, output_folder, read_lines
from dragoman.core.progress import Progress, available_cores
from dragoman.model.bundle import Model
from dragoman.sampling.diagnostics.diagnosis import Diagnosis, diagnose as diagnoses
from dragoman.sampling.diagnostics.summary import summarise
from dragoman.sampling.schedule import Schedule
from dragoman.search.limits import SearchLimits, SpaceLimits
from dragoman.search.translator import Translator


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
        model: Annotated[Path, typer.Option(help="The model folder.")],
        source: Annotated[Path, typer.Option(help="Source text, one sentence a line.")],
        out: Annotated[Path, typer.Option(help="Folder for `report.html` and `diagnostics.json`.")],
        options: Annotated[Diagnosis, Flags("Diagnosis")],
        schedule: Annotated[Schedule, Flags("Chains")],
        limits: Annotated[SearchLimits, Flags("Search (the beam to compare with)")],
        space: Annotated[SpaceLimits, Flags("Space (the model's own by default)")],
        limit_words: Annotated[int, typer.Option(min=1, help="Leave out longer sentences.")] = 10,
        sentences: Annotated[int | None, typer.Option(min=1, help="Look at so many sentences, the first.")] = None,
        weights: Annotated[Path | None, typer.Option(help="Weights in place of the model's: a file or a run.")] = None,
        prepared: Annotated[
            bool, typer.Option("--prepared", help="The text is tokenised (and lower-cased) already.")
        ] = False,
        seed: Annotated[int, typer.Option(min=0, help="Seed of everything random.")] = 1,
        force: Force = False,
        threads: Threads = None,
    ) -> None:
        """Compare the sampler with exact probabilities, lattices and n-best lists on short sentences.

        For each sentence: how far the samples are from the exact distribution over derivations and over translations
        as more of them come in, beside as many independent draws; entropies; effective sample size, R-hat and
        autocorrelation of the chains; what the decoder's lattice and n-best list lack; and the expected features by
        all of them. Exact numbers need an exhaustive search; a sentence that is too large for it goes without.
        """
        refuse_existing(out, force)
        progress = terminal.progress()
        loaded = Model.load(model)
        translator = Translator.of(
            loaded,
            None if weights is None else loaded.read_weights(weights, progress),
            limits=limits,
            space=space,
            threads=threads or available_cores(),
        )
        text = loaded.preparation(prepared=prepared)
        lines = _chosen(text.source(read_lines(source)), limit_words, sentences, source, progress)
        found = []
        with output_folder(out) as folder:
            with progress.stage(f"diagnosing {len(lines):,} sentences") as done:
                for one in diagnoses(translator, lines, options, schedule, seed=seed, progress=progress):
                    found.append(one)
                    if not one.exact:
                        progress.warn(f"line {one.number} is too large for exact numbers ({one.words} words)")
                    done(len(found) / len(lines))
            summary = summarise(found)
            setting = {
                "model": str(model),
                "source": str(source),
                "seed": seed,
                "diagnosis": options.to_dict(),
                "chains": schedule.to_dict(),
                "search": limits.to_dict(),
                "space": space.to_dict(),
            }
            everything = {
                "setting": setting,
                "averages": summary.to_dict(),
                "sentences": [one.to_dict() for one in found],
            }
            with open_output(folder / "diagnostics.json") as stream:
                stream.write(json.dumps(_finite(everything), indent=1, ensure_ascii=False, allow_nan=False).encode())
            from dragoman.evaluation.reports.sampler_report import tables, write_report

            write_report(folder / "report.html", found, summary, _sentence(setting, len(found)))
        console = terminal.output()
        for table in tables(found, summary):
            console.print(terminal.table(table.title, table.columns, table.rows))
            console.print()


def _chosen(
    lines: Iterable[str], limit_words: int, most: int | None, source: Path, progress: Progress
) -> list[tuple[int, str]]:
    """The sentences to look at, with their line numbers."""
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
            progress.note(f"{count:,} lines are {what} and left out")
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
    """Replace what JSON has no number for by null."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
