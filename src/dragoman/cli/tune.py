"""`dragoman tune`: find weights that translate a tuning set best."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli import terminal
from dragoman.cli.flags import Flags, Threads, command
from dragoman.cli.score import ReferenceFiles, read_references
from dragoman.cli.translate import checked_weights, preparation
from dragoman.core.errors import DataError
from dragoman.core.files import read_lines
from dragoman.core.nbest import NBest
from dragoman.core.options import options_from
from dragoman.core.progress import Progress, available_cores
from dragoman.core.weights import Weights
from dragoman.metrics.combined import parse_metric
from dragoman.model.bundle import Model
from dragoman.search.limits import SearchLimits, SpaceLimits
from dragoman.search.translator import Translator
from dragoman.tuning import TUNERS
from dragoman.tuning.loop import Loop, Task, tune as run_loop
from dragoman.tuning.ranges import tuned_names, weight_ranges
from dragoman.tuning.run import Run


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(
        app,
        "tune",
        examples=[
            "dragoman tune --model model --source dev.fr --reference dev.en --out run",
            "dragoman tune --model model --source dev.fr --reference dev.en --method pro --seed 2 --out run2",
            "dragoman tune --model m --source dev.fr --reference ref --method lus --method-option samples=9999 --out r",
            "dragoman translate --model model --weights run < test.fr",
        ],
    )
    def tune(
        model: Annotated[Path, typer.Option(help="The model folder.")],
        source: Annotated[Path, typer.Option(help="Source text of the tuning set, one sentence a line.")],
        reference: ReferenceFiles,
        out: Annotated[Path, typer.Option(help="The run's folder: new, or one to go on with.")],
        loop: Annotated[Loop, Flags("Loop")],
        limits: Annotated[SearchLimits, Flags("Search")],
        space: Annotated[SpaceLimits, Flags("Space (the model's own by default)")],
        method: Annotated[str, typer.Option(help=f"One of {', '.join(TUNERS.names())}.")] = "mert",
        method_option: Annotated[list[str] | None, typer.Option(help="NAME=VALUE for the method; repeatable.")] = None,
        metric: Annotated[str, typer.Option(help="What is optimised; see `dragoman score --help`.")] = "bleu",
        start: Annotated[Path | None, typer.Option(help="Weights to begin with; the model's by default.")] = None,
        prepared: Annotated[
            bool, typer.Option("--prepared", help="The text is tokenised (and lower-cased) already.")
        ] = False,
        seed: Annotated[int, typer.Option(min=0, help="Seed of everything random.")] = 1,
        threads: Threads = None,
    ) -> None:
        """Tune a model's weights: decode, merge n-best lists, optimise, and again, until nothing changes.

        The folder holds the options, one line in events.jsonl for each iteration, and weights.txt, always the best so
        far. A run that was stopped, by whatever, goes on when the command is given again.
        """
        loaded = Model.load(model)
        workers = threads or available_cores()
        tuner = options_from(TUNERS.get(method), method_option or [])
        chosen = parse_metric(metric)
        prepare = preparation(loaded, prepared)
        lines = list(prepare(read_lines(source)))
        references = read_references(reference)
        if len(references[0]) != len(lines):
            raise DataError(
                f"has {len(references[0])} lines, but {source} has {len(lines)}", path=reference[0], expected="as many"
            )
        weights = loaded.weights if start is None else checked_weights(start, loaded)
        names = tuned_names(loaded.feature_names)
        run = Run.begin(
            out,
            {
                "method": method,
                "seed": seed,
                "metric": metric,
                "model": str(model),
                "source": str(source),
                "reference": [str(path) for path in reference],
                "options": tuner.to_dict(),
                "loop": loop.to_dict(),
                "search": limits.to_dict(),
                "space": space.to_dict(),
            },
        )
        task = Task(
            decoder=_Decoder(loaded, lines, limits, space, workers),
            scorer=chosen.scorer(references),
            names=names,
            ranges=weight_ranges(names),
            sign=1 if chosen.higher_is_better else -1,
        )
        progress = terminal.progress()
        found = run_loop(run, task, tuner, weights, loop, seed=seed, threads=workers, progress=progress)
        events = run.events()
        best = max(event["score"] * task.sign for event in events) * task.sign
        rows = [(name, weights.get(name, 0.0), found[name]) for name in names]
        title = f"{out}: {metric} {best:.2f}, {events[-1]['stop']}"
        terminal.output().print(terminal.table(title, ["weight", "before", "now"], rows))


class _Decoder:
    """Decodes the tuning set under any weights."""

    def __init__(self, model: Model, lines: Sequence[str], limits: SearchLimits, space: SpaceLimits, threads: int):
        self._model, self._lines, self._limits, self._space, self._threads = model, lines, limits, space, threads

    def __call__(self, weights: Weights, size: int, progress: Progress) -> NBest:
        translator = Translator(self._model, weights, limits=self._limits, space=self._space, threads=self._threads)
        parts: list[NBest] = []
        with progress.stage("translating the tuning set") as done:
            for part in translator.nbest(self._lines, size):
                parts.append(part)
                done(sum(map(len, parts)) / len(self._lines))
        return NBest.concatenate(parts)
