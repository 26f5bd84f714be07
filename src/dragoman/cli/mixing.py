"""`dragoman model mix`, and what commands about several corpora or tables with names have in common."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.shell import terminal
from dragoman.cli.shell.flags import Flags, Force, Prepared, Threads, command, refuse_existing
from dragoman.cli.shell.terminal import runtime_of
from dragoman.core.corpus import Bitext
from dragoman.core.errors import UsageError
from dragoman.core.options import parse_options
from dragoman.model.bundle import Model
from dragoman.training.adapt import tuning_bitext
from dragoman.training.align import ALIGNERS
from dragoman.training.mix import Mixing, TuningText, mix as mix_models


def register_mix(group: typer.Typer) -> None:
    """Add the command to its group."""

    @command(
        group,
        "mix",
        examples=[
            "dragoman model mix --table in=model1 --table out=model2 --source dev.fr --reference dev.en --out mixed",
            "dragoman model mix --table in=model1 --table out=model2 --weights 0.7,0.3 --out mixed",
            "dragoman model mix --table a=m1 --table b=m2 --table c=m3 --weights uniform --keep-components --out mixed",
        ],
    )
    def mix(
        table: Annotated[list[str], typer.Option(help="NAME=MODEL: a model whose phrase table is mixed; repeatable.")],
        out: Annotated[Path, typer.Option(help="The model folder to make.")],
        mixing: Annotated[Mixing, Flags("Mixture")],
        source: Annotated[Path | None, typer.Option(help="Source text of the tuning set.")] = None,
        reference: Annotated[Path | None, typer.Option(help="Its translation.")] = None,
        base: Annotated[
            Path | None, typer.Option(help="The model that all else is from; the first of the tables' by default.")
        ] = None,
        alignment: Annotated[
            Path | None, typer.Option(help="Word links of the tuning set, made elsewhere (Pharaoh format).")
        ] = None,
        align_with: Annotated[
            str | None, typer.Option(help="SOURCE,TARGET: a tokenised text that the tuning set is aligned with.")
        ] = None,
        aligner: Annotated[str, typer.Option(help=f"One of {', '.join(ALIGNERS.names())}.")] = "auto",
        aligner_option: Annotated[
            list[str] | None, typer.Option(help="NAME=VALUE of one of the aligner's options; repeatable.")
        ] = None,
        prepared: Prepared = False,
        threads: Threads = None,
        force: Force = False,
    ) -> None:
        """Mix the phrase tables of several models linearly into one.

        The mixture has the pairs of all tables; one that a table lacks has probability 0 there. Each of the scores has
        shares of its own, which sum to 1. By default they are those that give the phrase pairs of a tuning set the
        lowest perplexity; for that it is aligned together with the tables' short phrases, unless --alignment or
        --align-with say otherwise.

        With --keep-components the shares become weights of the model, such as mix.tm.fwd.in, which `dragoman tune
        --method pro-mix` tunes with the others.
        """
        refuse_existing(out, force)
        runtime = runtime_of(threads)
        models = {name: Model.load(path) for name, path in named(table, "--table", "MODEL").items()}
        if (source is None) != (reference is None):
            raise UsageError("--source and --reference go together")
        tuning = None
        if source is not None and reference is not None:
            text = next(iter(models.values())).preparation(prepared=prepared)
            beside = None if align_with is None else Bitext.read(*two_files(align_with, "--align-with"))
            tuning = TuningText(tuning_bitext(source, reference, text, runtime=runtime), alignment, beside)
        mixed = mix_models(
            models,
            mixing,
            tuning=tuning,
            base=None if base is None else Model.load(base),
            aligner=parse_options(ALIGNERS.get(aligner), aligner_option or []),
            runtime=runtime,
        )
        with runtime.stage(f"writing {out}"):
            mixed.save(out)
        print_shares(mixed, title=f"{out}: {len(next(iter(mixed.tables.values()))):,} phrase pairs")


def named(texts: Sequence[str], flag: str, what: str) -> dict[str, str]:
    """Read NAME=WHAT, each name and each thing once."""
    found: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not (name and equals and value):
            raise UsageError(f"{flag} is '{text}'; expected NAME={what}")
        if name in found:
            raise UsageError(f"{flag} {name} is given twice; expected names that differ")
        same = [other for other, before in found.items() if before == value]
        if same:
            raise UsageError(f"{flag} {name} is {value}, and so is {same[0]}; expected each once")
        found[name] = value
    return found


def two_files(text: str, flag: str) -> tuple[Path, Path]:
    """Read SOURCE,TARGET."""
    source, comma, target = text.partition(",")
    if not (source and comma and target) or "," in target:
        raise UsageError(f"{flag} is '{text}'; expected two files, SOURCE,TARGET")
    return Path(source), Path(target)


def print_shares(model: Model, title: str) -> None:
    """Print the shares of a mixture, a row for each score."""
    about = model.history["mixture"]
    tables, shares = about["tables"], about["shares"]
    scores = dict.fromkeys(name.removeprefix("mix.").rpartition(".")[0] for name in shares)
    rows = [(score, *(f"{shares[f'mix.{score}.{table}']:.4f}" for table in tables)) for score in scores]
    terminal.output().print(terminal.table(title, ["score", *tables], rows))
