"""`dragoman model`: look into a model, check it, cut it down to a test set."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from dragoman.cli import terminal
from dragoman.cli.flags import Force, Threads, command, refuse_existing
from dragoman.core.progress import available_cores
from dragoman.model.bundle import Model, verify

ModelFolder = Annotated[Path, typer.Argument(help="A model folder.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(no_args_is_help=True, help="Look into a model, check it, cut it down to a test set.")
    app.add_typer(group, name="model")

    @command(group, "show", examples=["dragoman model show model", "dragoman model show model 'la maison' --most 5"])
    def show(
        model: ModelFolder,
        phrase: Annotated[str | None, typer.Argument(help="A source phrase, as the model sees it.")] = None,
        most: Annotated[int, typer.Option(min=1, help="How many translations at the most.")] = 20,
    ) -> None:
        """Show what a model holds, or the translations of one source phrase."""
        loaded = Model.load(model)
        if phrase is None:
            print_model(loaded, title=str(model))
        else:
            print_phrase(loaded, phrase, most)

    @command(group, "check", examples=["dragoman model check model"])
    def check(model: ModelFolder) -> None:
        """Read every array of a model and compare it with its checksum."""
        arrays = verify(model)
        Model.load(model)
        terminal.output().print(f"{model}: {arrays} arrays, all as they were written", markup=False)

    @command(group, "filter", examples=["dragoman model filter model --source test.fr --out small"])
    def filter_model(
        model: ModelFolder,
        source: Annotated[Path, typer.Option(help="Source text, prepared as the model's training text was.")],
        out: Annotated[Path, typer.Option(help="The model folder to make.")],
        threads: Threads = None,
        force: Force = False,
    ) -> None:
        """Keep only the phrase pairs that a given text can use; everything else stays."""
        refuse_existing(out, force)
        loaded = Model.load(model)
        progress = terminal.progress()
        small = loaded.filtered(loaded.encode(source), threads=threads or available_cores(), progress=progress)
        small.save(out)
        print_model(small, title=str(out))


def print_model(model: Model, title: str) -> None:
    """Print the sizes of a model's parts."""
    rows: list[tuple[object, ...]] = [
        ("source words", len(model.source_vocab), ""),
        ("target words", len(model.target_vocab), ""),
    ]
    for name, table in model.tables.items():
        details = f"{len(table.sources):,} source phrases; scores {', '.join(table.score_names)}"
        rows.append((f"phrase table {name}", len(table), details))
    rows += [(f"reordering {name}", 6, "msd-bidirectional-fe") for name in model.reorderings]
    for name, language_model in model.language_models.items():
        rows.append(
            (f"language model {name}", sum(language_model.sizes), " + ".join(f"{n:,}" for n in language_model.sizes))
        )
    terminal.output().print(terminal.table(title, ["part", "size", ""], rows))


def print_phrase(model: Model, phrase: str, most: int) -> None:
    """Print the translations of a source phrase with their scores."""
    ids = [model.source_vocab.id(word) for word in phrase.split()]
    console = terminal.output()
    for name, table in model.tables.items():
        found = table.lookup(ids)
        rows = []
        for row in found[:most]:
            target = model.target_vocab.text(table.targets[int(table.target_ids[row])])
            links = (
                ""
                if table.alignments is None
                else " ".join(f"{link >> 8}-{link & 255}" for link in table.alignments[row].tolist())
            )
            scores = np.exp(table.log_scores[row].astype(np.float64)).tolist()
            rows.append((target, *scores, links))
        title = f"{name}: {len(found)} translations of '{phrase}'"
        console.print(terminal.table(title, ["target", *table.score_names, "links"], rows))
