"""`dragoman lm`: estimate language models, measure perplexity, interpolate."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.shell import terminal
from dragoman.cli.shell.flags import Flags, Machine, command, command_group
from dragoman.core.corpus import Corpus
from dragoman.core.errors import DataError, UsageError
from dragoman.core.runtime import Runtime
from dragoman.formats.arpa import read_arpa, write_arpa
from dragoman.model.bundle import Model
from dragoman.model.language_model import LanguageModel
from dragoman.model.lm_mixture import interpolate
from dragoman.training.lm.interpolate import estimate_interpolation_weights
from dragoman.training.lm.kneser_ney import KneserNey, estimate as estimate_model


def register(app: typer.Typer) -> None:
    """Add the commands."""
    group = command_group(app, "lm")

    @command(
        group,
        "estimate",
        examples=[
            "dragoman lm estimate --order 5 < train.en > lm.arpa",
            "dragoman lm estimate train.en.gz --out lm.arpa.gz",
        ],
    )
    def estimate(
        options: Annotated[KneserNey, Flags("Model")],
        text: Annotated[Path, typer.Argument(help="Tokenised text, one sentence per line.")] = Path("-"),
        out: Annotated[Path, typer.Option(help="The ARPA file to write.")] = Path("-"),
        machine: Machine = Machine(),
    ) -> None:
        """Estimate an interpolated modified Kneser-Ney model and write it in ARPA format."""
        write_arpa(out, estimate_model(Corpus.read(text), options, runtime=machine.runtime()))

    @command(
        group,
        "perplexity",
        examples=["dragoman lm perplexity lm.arpa.gz test.en", "dragoman lm perplexity model < test.en"],
    )
    def perplexity(
        model: Annotated[Path, typer.Argument(help="An ARPA file, or a model folder.")],
        text: Annotated[Path, typer.Argument(help="Tokenised text, one sentence per line.")] = Path("-"),
        machine: Machine = Machine(),
    ) -> None:
        """Compute the perplexity of language models on a text."""
        runtime = machine.runtime()
        corpus = Corpus.read(text)
        if not len(corpus):
            raise DataError("is empty", path=text, expected="text, one sentence per line")
        rows = []
        for name, language_model in _load(model, runtime).items():
            found = language_model.perplexity(corpus, runtime=runtime.quiet())
            rows.append((name, found.including_oovs, found.excluding_oovs, found.oovs, found.tokens))
        columns = ["model", "perplexity", "without OOVs", "OOVs", "tokens"]
        terminal.output().print(terminal.table(f"{text}", columns, rows))

    @command(
        group,
        "interpolate",
        examples=[
            "dragoman lm interpolate news.arpa talks.arpa --held-out dev.en --out mixed.arpa.gz",
            "dragoman lm interpolate a.arpa b.arpa --weight 0.7 --weight 0.3 --out mixed.arpa",
        ],
    )
    def interpolate_models(
        models: Annotated[list[Path], typer.Argument(help="ARPA files, two or more.")],
        out: Annotated[Path, typer.Option(help="The ARPA file to write.")] = Path("-"),
        held_out: Annotated[Path | None, typer.Option(help="Held-out text; EM estimates the weights on it.")] = None,
        weight: Annotated[list[float] | None, typer.Option(help="Weight of a model; give one for each.")] = None,
        machine: Machine = Machine(),
    ) -> None:
        """Interpolate models linearly and write the result as one ARPA file."""
        runtime = machine.runtime()
        if (held_out is None) == (not weight) or (weight and len(weight) != len(models)):
            raise UsageError("give either --held-out or a --weight for each model")
        loaded = [LanguageModel.from_ngrams(read_arpa(path, runtime=runtime)) for path in models]
        weights = weight or []
        if held_out is not None:
            weights = estimate_interpolation_weights(loaded, Corpus.read(held_out), runtime=runtime).tolist()
            for path, value in zip(models, weights, strict=True):
                runtime.note(f"{path}: weight {value:.4f}")
        write_arpa(out, interpolate(loaded, weights, runtime=runtime))


def _load(path: Path, runtime: Runtime) -> dict[str, LanguageModel]:
    if path.is_dir():
        return dict(Model.load(path).language_models)
    return {path.name: LanguageModel.from_ngrams(read_arpa(path, runtime=runtime))}
