"""Normalisation of historical spelling: train or load a normaliser, and apply it to words or text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from os import PathLike
from typing import Any, get_args, overload

from dragoman.core.errors import UsageError
from dragoman.core.options import accept_old_names, split_options
from dragoman.core.progress import Progress, available_cores
from dragoman.core.runtime import Runtime
from dragoman.decision.settings import Decision
from dragoman.front.texts import File, Sentences, check_words, file_of, files_of, runtime_of, sentences_of
from dragoman.normalisation.candidate_lists import NormalisedWord
from dragoman.normalisation.characters import CharacterModel
from dragoman.normalisation.evaluate import NormalisationScores, evaluate
from dragoman.normalisation.examples import Examples, Spelling, read_examples, table_sentences
from dragoman.normalisation.lexicon import Lexicon
from dragoman.normalisation.normaliser import SpellingNormaliser as Engine, Suggestion, suggestions
from dragoman.normalisation.running_text import MarkupMode, RunningText, change_text
from dragoman.normalisation.training import Learning, NormaliserRecipe, train_normaliser

#: Examples: one or several files (lines of historical form, tab, modern form), or pairs of forms.
Pairs = File | Sequence[File] | Sequence[tuple[str, str]]


class Normaliser:
    """A normaliser in memory; `normaliser` loads or trains one."""

    def __init__(self, engine: Engine, *, threads: int | None = None):
        self.engine, self.threads = engine, threads or available_cores()

    @property
    def _runtime(self) -> Runtime:
        return Runtime(threads=self.threads)

    def __repr__(self) -> str:
        known = len(self.engine.memory.counts)
        return f"Normaliser({known:,} memorised forms, {len(self.engine.lexicon):,} modern words)"

    @overload
    def normalise(  # type: ignore[overload-overlap]
        self, text: str, *, tokens: bool = False, markup: MarkupMode = "auto", decision: str | None = None
    ) -> str: ...
    @overload
    def normalise(
        self,
        text: PathLike[str] | Iterable[str],
        *,
        tokens: bool = False,
        markup: MarkupMode = "auto",
        decision: str | None = None,
    ) -> list[str]: ...
    def normalise(
        self, text: Sentences, *, tokens: bool = False, markup: MarkupMode = "auto", decision: str | None = None
    ) -> str | list[str]:
        """Return running text in modern spelling; spacing and punctuation do not change.

        The text is a string, a list of lines, or a file (a `Path`). With `tokens`, each line is one form, and empty
        lines end sentences. Tags and entities do not change if `markup` is "xml", or if it is "auto" and the text looks
        like XML or HTML; with "none", everything is text.
        """
        if markup not in get_args(MarkupMode):
            raise UsageError(f"markup is '{markup}'; expected one of {', '.join(get_args(MarkupMode))}")
        rule = None if decision is None else Decision.of(decision, evidence="nbest").rule

        def modern(sentences: list[list[str]]) -> list[list[str]]:
            found = self.engine.explain_sentences(sentences, rule=rule, runtime=self._runtime)
            return [[one.modern for one in words] for words in found]

        whole = text if isinstance(text, str) else "\n".join(sentences_of(text))
        if tokens:
            lines = [line for words in modern(table_sentences(whole.split("\n"))) for line in (*words, "")]
            found = "\n".join(lines[:-1])
        else:
            found = change_text(whole, RunningText(self.engine.words, markup), modern)
        return found if isinstance(text, str) else found.split("\n")

    def words(self, words: Sequence[str]) -> list[str]:
        """Return the modern spelling of each word of a sentence."""
        return self.engine.normalise(check_words(words), runtime=self._runtime)

    def explain(self, words: Sequence[str]) -> list[NormalisedWord]:
        """Return the modern spelling of each word, with its probability and alternatives."""
        return self.engine.explain(check_words(words), runtime=self._runtime)

    @accept_old_names
    def suggest(self, words: Iterable[str], limit: int | None = 100) -> list[Suggestion]:
        """Rank the forms of a text for annotation: frequent forms with uncertain normalisations first."""
        return suggestions(self.engine, check_words(words), limit=limit, runtime=self._runtime)

    def evaluate(self, examples: Pairs) -> NormalisationScores:
        """Return the accuracy on unseen examples."""
        found = _examples(examples, replace(self.engine.spelling, digits=False), Runtime())
        predictions = self.engine.modern_forms(found, runtime=self._runtime)
        return evaluate(found, predictions, self.engine.memory, form=self.engine.form)

    def save(self, folder: File) -> Normaliser:
        """Save the normaliser to a folder, which `normaliser` loads."""
        self.engine.save(folder)
        return self


def normaliser(
    folder: File | None = None,
    *,
    examples: Pairs | None = None,
    dev: Pairs | None = None,
    modern: File | Sequence[File] = (),
    out: File | None = None,
    seed: int = 1,
    threads: int | None = None,
    progress: Progress | bool = True,
    **options: Any,
) -> Normaliser:
    """Load a normaliser from a folder, or train one from `examples`, and save it to `out` if that is given.

    `dev` are examples to tune on; without them, the examples are cross-validated. `modern` are files of modern words.
    `options` are options of spelling (`lowercase`, ...), of the character model (`lm_order`, ...) and of the choice
    among candidates (`context`, ...); see the reference of `dragoman normalise train`.

    >>> import dragoman as dm
    >>> pairs = [("vnd", "und"), ("vns", "uns"), ("jn", "in"), ("vnter", "unter"), ("haus", "haus")] * 5
    >>> dm.normaliser(examples=pairs, progress=False).normalise("Vnd  jn, haus!")
    'Und  in, haus!'
    """
    if (folder is None) == (examples is None):
        raise UsageError("give the folder of a normaliser to load it, or examples to train one")
    if folder is not None:
        return Normaliser(Engine.load(folder), threads=threads)
    assert examples is not None
    runtime = runtime_of(threads, progress)
    spelt, characters, learning = split_options(options, Spelling, CharacterModel, Learning)
    spelling = Spelling.from_dict(spelt)
    engine = train_normaliser(
        _examples(examples, spelling, runtime),
        None if dev is None else _examples(dev, spelling, runtime),
        Lexicon.read(files_of(modern), spelling),
        NormaliserRecipe(spelling, CharacterModel.from_dict(characters), Learning.from_dict(learning), seed),
        runtime=runtime,
    )
    found = Normaliser(engine, threads=threads)
    return found if out is None else found.save(out)


def _examples(given: Pairs, spelling: Spelling, runtime: Runtime) -> Examples:
    if isinstance(given, str | PathLike):
        return read_examples([file_of(given)], spelling, runtime=runtime)
    rows = list(given)
    if all(isinstance(row, str | PathLike) for row in rows):
        return read_examples([file_of(row) for row in rows], spelling, runtime=runtime)  # type: ignore[arg-type]
    return Examples.from_raw(rows, spelling)  # type: ignore[arg-type]
