"""`dragoman import`: convert a model of Moses, cdec or Joshua into a Dragoman model.

`dragoman export`: convert a Dragoman model into files for Moses, cdec or Joshua.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.model import print_model
from dragoman.cli.shell.flags import Force, Machine, command, command_group, refuse_existing
from dragoman.core.errors import UsageError
from dragoman.core.files import open_output
from dragoman.core.runtime import Runtime
from dragoman.model.bundle import Model
from dragoman.model.moses import export_moses, import_moses
from dragoman.model.scfg import export_cdec, export_joshua, import_cdec, import_cdec_segments, import_joshua

LanguageModels = Annotated[list[Path] | None, typer.Option("--lm", help="A language model, an ARPA file; repeatable.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    _add_imports(app)
    _add_exports(app)


def _add_imports(app: typer.Typer) -> None:
    group = command_group(app, "import")

    @command(group, "moses", examples=["dragoman import moses moses.ini --out model"])
    def moses(
        ini: Annotated[Path, typer.Argument(help="A moses.ini of version 1 or 2, tuned or not.")],
        out: Annotated[Path, typer.Option(help="The model folder to create.")],
        force: Force = False,
    ) -> None:
        """Import a Moses model: its phrase or rule tables, reordering tables, language models and weights.

        A model for moses_chart becomes a hierarchical model. Its glue grammar must be the usual one, because Dragoman's
        glue rules are built in.
        """
        refuse_existing(out, force)
        runtime = Machine().runtime()
        _save(import_moses(ini, runtime=runtime), out, runtime)

    @command(
        group,
        "cdec",
        examples=[
            "dragoman import cdec grammar.gz --lm lm.arpa --weights weights.final --out model",
            "dragoman import cdec --segments test.sgm --text test.fr --lm lm.arpa --out model",
        ],
    )
    def cdec(
        out: Annotated[Path, typer.Option(help="The model folder to create.")],
        grammar: Annotated[Path | None, typer.Argument(help="A grammar of cdec.")] = None,
        segments: Annotated[
            Path | None, typer.Option(help="Input with a grammar for each sentence, instead of one grammar for all.")
        ] = None,
        text: Annotated[Path | None, typer.Option(help="Output file for the sentences of --segments.")] = None,
        lm: LanguageModels = None,
        weights: Annotated[Path | None, typer.Option(help="cdec's weights file. Default: untuned weights.")] = None,
        force: Force = False,
    ) -> None:
        """Import a grammar of cdec, or the grammars of all sentences of a text, with ARPA files and weights.

        The grammars of --segments are merged into one. A rule that occurs in several keeps the features that it has in
        the first. Each sentence can then use the rules of all grammars.
        """
        refuse_existing(out, force)
        runtime = Machine().runtime()
        if grammar is not None and segments is None and text is None:
            model = import_cdec(grammar, language_models=lm or [], weights=weights, runtime=runtime)
        elif segments is not None and grammar is None:
            found, model = import_cdec_segments(segments, language_models=lm or [], weights=weights, runtime=runtime)
            if text is not None:
                with open_output(text) as stream:
                    stream.write("".join(f"{segment.text}\n" for segment in found).encode())
        else:
            raise UsageError("expected either a grammar, or --segments (with an optional --text)")
        _save(model, out, runtime)

    @command(
        group,
        "joshua",
        examples=["dragoman import joshua grammar.gz --lm lm.arpa --scores bwd,bwd_lex,fwd,fwd_lex --out model"],
    )
    def joshua(
        grammar: Annotated[Path, typer.Argument(help="A grammar of Joshua or Thrax, not packed.")],
        out: Annotated[Path, typer.Option(help="The model folder to create.")],
        lm: LanguageModels = None,
        scores: Annotated[
            str | None, typer.Option(help="Names of the features in their order, separated by commas; call p(e|f) fwd.")
        ] = None,
        force: Force = False,
    ) -> None:
        """Import a grammar of Joshua with ARPA files; the weights are untuned."""
        refuse_existing(out, force)
        runtime = Machine().runtime()
        names = None if scores is None else scores.split(",")
        _save(import_joshua(grammar, language_models=lm or [], score_names=names, runtime=runtime), out, runtime)


def _add_exports(app: typer.Typer) -> None:
    group = command_group(app, "export")

    @command(group, "moses", examples=["dragoman export moses model --out moses-model"])
    def moses(
        model: Annotated[Path, typer.Argument(help="A model folder.")],
        out: Annotated[Path, typer.Option(help="The folder to create.")],
        force: Force = False,
    ) -> None:
        """Write moses.ini, tables and ARPA files, compressed; a hierarchical model is written for moses_chart."""
        refuse_existing(out, force)
        export_moses(Model.load(model), out, runtime=Machine().runtime())

    @command(group, "cdec", examples=["dragoman export cdec model --out cdec-model"])
    def cdec(
        model: Annotated[Path, typer.Argument(help="The folder of a hierarchical model.")],
        out: Annotated[Path, typer.Option(help="The folder to create.")],
        force: Force = False,
    ) -> None:
        """Write a hierarchical model for cdec: cdec.ini (run cdec in its folder), grammar, weights and ARPA files."""
        refuse_existing(out, force)
        export_cdec(Model.load(model), out, runtime=Machine().runtime())

    @command(group, "joshua", examples=["dragoman export joshua model --out joshua-model"])
    def joshua(
        model: Annotated[Path, typer.Argument(help="The folder of a hierarchical model.")],
        out: Annotated[Path, typer.Option(help="The folder to create.")],
        named: Annotated[
            bool, typer.Option("--named", help="Write features as NAME=LOGARITHM instead of an ordered list of costs.")
        ] = False,
        force: Force = False,
    ) -> None:
        """Write the grammar of a hierarchical model and ARPA files for Joshua; the weights are not exported."""
        refuse_existing(out, force)
        export_joshua(Model.load(model), out, named=named, runtime=Machine().runtime())


def _save(model: Model, out: Path, runtime: Runtime) -> None:
    with runtime.stage(f"writing {out}"):
        model.save(out)
    print_model(model, title=str(out))
