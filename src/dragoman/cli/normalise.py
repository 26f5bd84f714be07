"""`dragoman normalise`: convert historical spelling to modern spelling: train, apply, suggest, evaluate."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

import typer

from dragoman.cli.score import Seed
from dragoman.cli.shell import terminal
from dragoman.cli.shell.flags import (
    DecisionOptions,
    Flags,
    Force,
    Json,
    Machine,
    command,
    command_group,
    refuse_existing,
)
from dragoman.core.errors import DataError, UsageError
from dragoman.core.files import open_output, read_chunks, read_lines
from dragoman.core.own_files import lock_output
from dragoman.core.runtime import Runtime
from dragoman.decision.rule import Rule
from dragoman.decision.settings import Decision
from dragoman.normalisation.candidate_lists import NormalisedWord
from dragoman.normalisation.characters import CharacterModel
from dragoman.normalisation.evaluate import NormalisationScores, evaluate as measured, is_correct, mcnemar
from dragoman.normalisation.examples import Spelling, read_examples, table_sentences
from dragoman.normalisation.lexicon import Lexicon, stemmer
from dragoman.normalisation.normaliser import SpellingNormaliser, suggestions
from dragoman.normalisation.running_text import MarkupMode, RunningText, SplitLine
from dragoman.normalisation.training import Learning, NormaliserRecipe, train_normaliser

Folder = Annotated[Path, typer.Option("--model", help="The folder of a normaliser.")]
Tokens = Annotated[
    bool,
    typer.Option(
        "--tokens",
        help="The input has one token per line (the first column of a table), and empty lines between sentences.",
    ),
]
MarkupOption = Annotated[
    MarkupMode,
    typer.Option(
        "--markup", help="xml: do not change tags, comments and entities; none: treat all as text; auto: detect."
    ),
]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    group = command_group(app, "normalise")

    @command(
        group,
        "train",
        examples=[
            "dragoman normalise train --examples words.tsv --out old-to-new",
            "dragoman normalise train --examples train.tsv --dev dev.tsv --modern words.txt.gz --out old-to-new",
            "dragoman normalise train --examples sentences.tsv --context --no-lowercase --out old-to-new",
        ],
    )
    def train(
        examples: Annotated[
            list[Path],
            typer.Option(help="Lines of historical form, tab, modern form; empty lines between sentences. Repeatable."),
        ],
        out: Annotated[Path, typer.Option(help="The folder to create.")],
        spelling: Annotated[Spelling, Flags("Words")],
        characters: Annotated[CharacterModel, Flags("Model of characters")],
        learning: Annotated[Learning, Flags("Choice among candidates")],
        dev: Annotated[
            list[Path] | None,
            typer.Option(help="Examples to tune on; repeatable. Default: cross-validation on --examples."),
        ] = None,
        modern: Annotated[list[Path] | None, typer.Option(help="Modern words, one per line; repeatable.")] = None,
        seed: Seed = 1,
        machine: Machine = Machine(),
        force: Force = False,
    ) -> None:
        """Train a normaliser from examples.

        A few hundred words with their modern forms are enough to begin with, and a list of modern words helps a lot.
        The normaliser memorises the examples and trains a character model of how spelling changed. The choice among
        the candidates of both is tuned on held-out examples. The folder appears only when training is complete.
        """
        refuse_existing(out, force)
        runtime = machine.runtime()
        with lock_output(out):
            tuning = None if not dev else read_examples(dev, spelling, runtime=runtime)
            if tuning is not None and not len(tuning):
                raise DataError(
                    "has no examples", path=(dev or [])[0], expected="some, or no --dev for cross-validation"
                )
            normaliser = train_normaliser(
                read_examples(examples, spelling, runtime=runtime),
                tuning,
                Lexicon.read(modern or [], spelling),
                NormaliserRecipe(spelling, characters, learning, seed),
                runtime=runtime,
            )
            with runtime.stage(f"writing {out}"):
                normaliser.save(out)
        runtime.note(
            f"{out}: {len(normaliser.memory.counts):,} forms memorised, {len(normaliser.lexicon):,} modern words"
        )

    @command(
        group,
        "apply",
        examples=[
            "dragoman normalise apply --model old-to-new < text.txt > modern.txt",
            "dragoman normalise apply --model old-to-new --markup xml letters.tei > letters.modern.tei",
            "dragoman normalise apply --model old-to-new --tokens --output tsv tokens.txt > tokens.tsv",
            "dragoman normalise apply --model old-to-new --decision mbr --decision-option metric=cer < text.txt",
        ],
    )
    def apply(
        model: Folder,
        text: Annotated[Path, typer.Argument(help="Text to normalise.")] = Path("-"),
        tokens: Tokens = False,
        markup: MarkupOption = "auto",
        output: Annotated[
            Literal["same", "tsv"],
            typer.Option(
                help="same: like the input; tsv: a line per word with modern form, confidence, and alternatives."
            ),
        ] = "same",
        decision: Annotated[
            str | None, typer.Option(help="Decision rule for the choice. Default: the highest-scoring form.")
        ] = None,
        decision_option: DecisionOptions = None,
        machine: Machine = Machine(),
    ) -> None:
        """Write text in modern spelling; spacing, punctuation and markup do not change.

        Forms of the examples are matched first, the longest ones first, even if they end in punctuation. Upper case is
        taken from the examples if they have any, otherwise from the text. With --tokens, each line is one form, as in
        `evaluate`. Words that contain a tag or an entity are not changed.
        """
        normaliser, rule = SpellingNormaliser.load(model), _rule(decision, decision_option)
        runtime = machine.runtime()

        def explained(sentences: Sequence[Sequence[str]]) -> list[list[NormalisedWord]]:
            return normaliser.explain_sentences(sentences, rule=rule, runtime=runtime)

        with open_output("-") as stream:
            if tokens:
                sentences = table_sentences(read_lines(text))
                lines = [*_lines(sentences, explained(sentences), tsv=output == "tsv")]
                stream.write("".join(f"{line}\n" for line in lines[:-1]).encode())  # no sentence begins after the last
                return
            for block in _blocks(text, RunningText(normaliser.words, markup), runtime):
                sentences = [line.words for line in block]
                found = explained(sentences)
                if output == "same":
                    pieces = [line.joined([w.modern for w in one]) for line, one in zip(block, found, strict=True)]
                else:
                    pieces = [f"{row}\n" for row in _lines(sentences, found, tsv=True)]
                stream.write("".join(pieces).encode())

    @command(
        group,
        "suggest",
        examples=["dragoman normalise suggest --model old-to-new --limit 50 < text.txt > to-annotate.tsv"],
    )
    def suggest(
        model: Folder,
        text: Annotated[Path, typer.Argument(help="Text to take forms from.")] = Path("-"),
        tokens: Tokens = False,
        markup: MarkupOption = "auto",
        limit: Annotated[int, typer.Option(min=1, help="Number of forms.")] = 100,
        memorised: Annotated[bool, typer.Option("--memorised", help="Include forms of the examples.")] = False,
        machine: Machine = Machine(),
    ) -> None:
        """Rank forms to annotate next: frequent forms with uncertain normalisations first.

        Prints form, current normalisation, frequency, confidence, alternatives. Correct the second
        column and give the lines to `train` as another file of --examples. Training again takes seconds.
        """
        normaliser, runtime = SpellingNormaliser.load(model), machine.runtime()
        if tokens:
            words = [word for sentence in table_sentences(read_lines(text)) for word in sentence]
        else:
            blocks = _blocks(text, RunningText(normaliser.words, markup), runtime)
            words = [word for block in blocks for line in block for word in line.words]
        found = suggestions(normaliser, words, limit=limit, memorised=memorised, runtime=runtime)
        with open_output("-") as stream:
            for old, count, (modern, sure, others) in found:
                row = [old, modern, str(count), f"{sure:.4f}", _others(others)]
                stream.write(("\t".join(row) + "\n").encode())

    @command(
        group,
        "evaluate",
        examples=[
            "dragoman normalise evaluate --model old-to-new test.tsv",
            "dragoman normalise evaluate --model old-to-new --model other --json test.tsv",
            "dragoman normalise evaluate --model old-to-new --stem german test.tsv",
        ],
    )
    def evaluate(
        test: Annotated[Path, typer.Argument(help="Test examples that were not trained on.")],
        model: Annotated[list[Path], typer.Option(help="The folder of a normaliser; repeatable, to compare.")],
        stem: Annotated[
            str | None,
            typer.Option(help="Also count wrong forms with the right stem; a language of Snowball, such as german."),
        ] = None,
        as_json: Json = False,
        machine: Machine = Machine(),
    ) -> None:
        """Evaluate normalisers: accuracy on all tokens, on seen and on unseen forms, and character error rates.

        Two baselines are evaluated too: no change, and memorised forms only. The p-values are from McNemar's test
        against the first normaliser.
        """
        cut_to_stem = None if stem is None else stemmer(stem)
        normalisers = {str(path): SpellingNormaliser.load(path) for path in model}
        first = next(iter(normalisers.values()))
        spellings = {one.spelling for one in normalisers.values()}
        if len(spellings) > 1:
            raise UsageError("the normalisers treat words differently (case, digits); expected the same for all")
        # Digits stay: what is right does not depend on what a token should become.
        runtime = machine.runtime()
        examples = read_examples([test], replace(first.spelling, digits=False), runtime=runtime)
        if not len(examples):
            raise DataError("has no examples", path=test, expected="lines of historical form, tab, modern form")
        words = [token.historical for token in examples.tokens]
        predictions = {}
        for name, one in normalisers.items():
            predictions[name] = one.modern_forms(examples, runtime=runtime)
        predictions["memorised forms"] = [first.memorised(word) for word in words]
        predictions["as they are"] = words
        rows = {
            name: measured(examples, found, first.memory, cut_to_stem, first.form)
            for name, found in predictions.items()
        }
        reference = is_correct(examples, predictions[str(model[0])])
        p_values = {name: mcnemar(reference, is_correct(examples, found)) for name, found in predictions.items()}
        if as_json:
            print(json.dumps({name: {**row.to_dict(), "p": p_values[name]} for name, row in rows.items()}, indent=2))
        else:
            table = [
                [name, *_figures(row, stems=stem is not None), _p(p_values[name], name == str(model[0]))]
                for name, row in rows.items()
            ]
            title = f"{test}: {len(examples):,} tokens, {rows[str(model[0])].seen_tokens:,} of forms that were seen"
            columns = [column for column in _COLUMNS if stem is not None or column != _STEMS]
            terminal.output().print(terminal.table(title, columns, table))


_STEMS = "stems of wrong"
_COLUMNS = ["", "accuracy", "seen", "unseen", "CER", "CER of wrong", _STEMS, "p"]


def _figures(row: NormalisationScores, *, stems: bool) -> list[str]:
    values = [row.accuracy, row.seen, row.unseen, row.cer, row.cer_of_wrong, *([row.stems_of_wrong] if stems else [])]
    return ["-" if value is None else f"{value:.2f}" for value in values]


def _p(value: float, itself: bool) -> str:
    return "" if itself else "< 0.0001" if value < 0.0001 else f"{value:.4f}"


def _rule(decision: str | None, options: Sequence[str] | None) -> Rule | None:
    if decision is None:
        if options:
            raise UsageError("--decision-option goes with --decision")
        return None
    return Decision.of(decision, options or [], "nbest").rule


def _blocks(path: Path, running: RunningText, runtime: Runtime) -> Iterator[list[SplitLine]]:
    """Yield the lines of running text as they are read; print a note if they are treated as markup."""
    said = running.recognised
    for chunk in read_chunks(path, prompt=True):
        text = chunk.data.decode("utf-8")
        yield running.lines(text if chunk.complete else text[:-1], last=False)
        if running.recognised and not said:
            said = True
            runtime.note(
                "the text looks like XML or HTML: tags and entities do not change (--markup none treats all as text)"
            )
    yield running.lines("")
    if running.unclosed is not None:
        runtime.warn(f"{path}: the last {running.unclosed} is not closed: the text after its start is unchanged")


def _lines(
    sentences: Sequence[Sequence[str]], found: Sequence[Sequence[NormalisedWord]], *, tsv: bool
) -> Iterator[str]:
    """Yield a line per word, and an empty line after each sentence."""
    for words, normalised in zip(sentences, found, strict=True):
        for word, one in zip(words, normalised, strict=True):
            yield f"{word}\t{one.modern}\t{one.confidence:.4f}\t{_others(one.alternatives)}" if tsv else one.modern
        yield ""


def _others(alternatives: Sequence[tuple[str, float]]) -> str:
    """Format the most probable alternatives."""
    return " ".join(f"{form} ({sure:.4f})" for form, sure in alternatives[:_SHOWN] if sure >= _LEAST)


#: Maximum number of alternatives shown, and their minimum probability.
_SHOWN, _LEAST = 3, 0.001
