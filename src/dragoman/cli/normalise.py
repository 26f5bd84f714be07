"""`dragoman normalise`: turn historical spelling into modern spelling, by examples: train, apply, suggest, evaluate."""

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
    Threads,
    command,
    command_group,
    refuse_existing,
)
from dragoman.cli.shell.terminal import runtime_of
from dragoman.core.errors import DataError, UsageError
from dragoman.core.files import open_output, read_chunks, read_lines
from dragoman.core.own_files import lock_output
from dragoman.core.runtime import Runtime
from dragoman.decision.rule import Rule
from dragoman.decision.settings import Decision
from dragoman.normalisation.characters import CharacterModel
from dragoman.normalisation.evaluate import Accuracy, evaluate as measured, mcnemar, right
from dragoman.normalisation.examples import Spelling, read_examples, sentences_of
from dragoman.normalisation.lexicon import Lexicon, stemmer
from dragoman.normalisation.lists import Normalised
from dragoman.normalisation.normaliser import Normaliser, suggestions
from dragoman.normalisation.running_text import Cut, MarkupMode, RunningText
from dragoman.normalisation.training import Learning, train_normaliser

Folder = Annotated[Path, typer.Option("--model", help="The folder of a normaliser.")]
Tokens = Annotated[
    bool,
    typer.Option(
        "--tokens", help="Each line is a token (the first column of a table), with empty lines between sentences."
    ),
]
MarkupOption = Annotated[
    MarkupMode,
    typer.Option(
        "--markup", help="Keep tags, comments and entities as they are (xml), or take all for text; auto looks first."
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
            typer.Option(help="Historical form, tab, modern form; empty lines between sentences. Repeatable."),
        ],
        out: Annotated[Path, typer.Option(help="The folder to make.")],
        spelling: Annotated[Spelling, Flags("Words")],
        characters: Annotated[CharacterModel, Flags("Model of characters")],
        learning: Annotated[Learning, Flags("Choice among candidates")],
        dev: Annotated[
            list[Path] | None, typer.Option(help="More examples, to tune on; otherwise parts of the examples in turn.")
        ] = None,
        modern: Annotated[
            list[Path] | None, typer.Option(help="Words of today's language, one a line; repeatable.")
        ] = None,
        seed: Seed = 1,
        threads: Threads = None,
        force: Force = False,
    ) -> None:
        """Train a normaliser from examples.

        A few hundred words with their modern forms are enough to begin with, and a list of modern words helps much.
        A model of characters learns how spelling changed, and forms are memorised; which of them is chosen is tuned on
        examples that were left out. The folder appears only when all is done.
        """
        refuse_existing(out, force)
        runtime = runtime_of(threads)
        with lock_output(out):
            tuning = None if not dev else read_examples(dev, spelling, runtime=runtime)
            if tuning is not None and not len(tuning):
                raise DataError(
                    "has no examples", path=(dev or [])[0], expected="some, or no --dev: parts stand in for it"
                )
            normaliser = train_normaliser(
                read_examples(examples, spelling, runtime=runtime),
                tuning,
                Lexicon.read(modern or [], spelling),
                spelling=spelling,
                characters=characters,
                learning=learning,
                seed=seed,
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
        text: Annotated[Path, typer.Argument(help="What is to be normalised.")] = Path("-"),
        tokens: Tokens = False,
        markup: MarkupOption = "auto",
        output: Annotated[
            Literal["same", "tsv"],
            typer.Option(
                help="Like the input, or a line a word: word, modern form, confidence, other forms with theirs."
            ),
        ] = "same",
        decision: Annotated[
            str | None, typer.Option(help="The decision rule that chooses; by default, the best.")
        ] = None,
        decision_option: DecisionOptions = None,
        threads: Threads = None,
    ) -> None:
        """Write text in modern spelling; spacing, punctuation and markup stay as they are.

        Forms of the examples are found whole, the longest first, though they end in punctuation. Capital letters are
        those of the examples where these have some, and else those of the text. With --tokens, each line is one form,
        as `evaluate` has it. Words with a tag or an entity in them are left as they are.
        """
        normaliser, rule = Normaliser.load(model), _rule(decision, decision_option)
        runtime = runtime_of(threads)

        def explained(sentences: Sequence[Sequence[str]]) -> list[list[Normalised]]:
            return normaliser.explain_sentences(sentences, rule=rule, runtime=runtime)

        with open_output("-") as stream:
            if tokens:
                sentences = sentences_of(read_lines(text))
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
        examples=["dragoman normalise suggest --model old-to-new --most 50 < text.txt > to-annotate.tsv"],
    )
    def suggest(
        model: Folder,
        text: Annotated[Path, typer.Argument(help="Text that is to be normalised some day.")] = Path("-"),
        tokens: Tokens = False,
        markup: MarkupOption = "auto",
        most: Annotated[int, typer.Option(min=1, help="How many forms.")] = 100,
        memorised: Annotated[bool, typer.Option("--memorised", help="Also forms that are in the examples.")] = False,
        threads: Threads = None,
    ) -> None:
        """Rank what to annotate next: forms that are frequent, and of which the normaliser is not sure.

        Prints form, modern form as it is now, how often it occurs, confidence, other forms. With the second column
        corrected, the lines are examples: give them to `train` as another --examples, which takes seconds.
        """
        normaliser, runtime = Normaliser.load(model), runtime_of(threads)
        if tokens:
            words = [word for sentence in sentences_of(read_lines(text)) for word in sentence]
        else:
            blocks = _blocks(text, RunningText(normaliser.words, markup), runtime)
            words = [word for block in blocks for line in block for word in line.words]
        found = suggestions(normaliser, words, most=most, memorised=memorised, runtime=runtime)
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
        test: Annotated[Path, typer.Argument(help="Examples that were not trained on.")],
        model: Annotated[list[Path], typer.Option(help="The folder of a normaliser; repeatable, to compare.")],
        stem: Annotated[
            str | None,
            typer.Option(help="Of wrong forms, also count right stems; a language that Snowball knows, as in german."),
        ] = None,
        as_json: Json = False,
        threads: Threads = None,
    ) -> None:
        """Measure normalisers on examples: accuracy of tokens, of seen and unseen forms, and character error rates.

        Words left as they are, and memorised forms alone, stand beside them. The p-value of McNemar's test says how
        likely so large a difference from the first normaliser is by chance.
        """
        cut_to_stem = None if stem is None else stemmer(stem)
        normalisers = {str(path): Normaliser.load(path) for path in model}
        first = next(iter(normalisers.values()))
        spellings = {one.spelling for one in normalisers.values()}
        if len(spellings) > 1:
            raise UsageError("the normalisers treat words differently (case, digits); expected the same for all")
        # Digits stay: what is right does not depend on what a token should become.
        runtime = runtime_of(threads)
        examples = read_examples([test], replace(first.spelling, digits=False), runtime=runtime)
        if not len(examples):
            raise DataError("has no examples", path=test, expected="historical form, tab, modern form a line")
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
        reference = right(examples, predictions[str(model[0])])
        p_values = {name: mcnemar(reference, right(examples, found)) for name, found in predictions.items()}
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


def _figures(row: Accuracy, *, stems: bool) -> list[str]:
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


def _blocks(path: Path, running: RunningText, runtime: Runtime) -> Iterator[list[Cut]]:
    """The lines of running text as they come; says so if they are taken for markup."""
    said = running.recognised
    for chunk in read_chunks(path, prompt=True):
        text = chunk.data.decode("utf-8")
        yield running.lines(text if chunk.complete else text[:-1], last=False)
        if running.recognised and not said:
            said = True
            runtime.note(
                "the text looks like XML or HTML: tags and entities stay as they are (--markup none takes all for text)"
            )
    yield running.lines("")
    if running.unclosed is not None:
        runtime.warn(f"{path}: the {running.unclosed} that was begun last never ends: what follows is left as it is")


def _lines(sentences: Sequence[Sequence[str]], found: Sequence[Sequence[Normalised]], *, tsv: bool) -> Iterator[str]:
    """A line a word, and an empty one after each sentence."""
    for words, normalised in zip(sentences, found, strict=True):
        for word, one in zip(words, normalised, strict=True):
            yield f"{word}\t{one.modern}\t{one.confidence:.4f}\t{_others(one.alternatives)}" if tsv else one.modern
        yield ""


def _others(alternatives: Sequence[tuple[str, float]]) -> str:
    """Other forms that are worth a look, with their probabilities."""
    return " ".join(f"{form} ({sure:.4f})" for form, sure in alternatives[:_SHOWN] if sure >= _LEAST)


#: So many other forms are shown, and none that is less probable.
_SHOWN, _LEAST = 3, 0.001
