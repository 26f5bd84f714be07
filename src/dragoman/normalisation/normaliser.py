"""A normaliser: words in, modern spellings out, with their probabilities and alternatives."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dragoman.core.errors import DataError, DragomanError, version
from dragoman.core.feature_rows import Weights
from dragoman.core.files import PathLike, open_output, output_folder
from dragoman.core.options import format_toml, read_toml
from dragoman.core.runtime import Runtime
from dragoman.decision.rule import Rule
from dragoman.formats.arpa import read_arpa, write_arpa
from dragoman.model.bundle import Model
from dragoman.model.language_model import LanguageModel
from dragoman.normalisation.candidate_lists import CandidateGenerator, NormalisedWord
from dragoman.normalisation.characters import LIMITS
from dragoman.normalisation.choice import CandidateScorer, ContextModel
from dragoman.normalisation.examples import Capitals, Examples, Spelling, has_letters
from dragoman.normalisation.lexicon import Lexicon, Memory
from dragoman.normalisation.running_text import WordFinder
from dragoman.search.translator import Translator

_DIGIT = re.compile(r"\d")


@dataclass(frozen=True, eq=False)
class SpellingNormaliser:
    """Converter of words to modern spelling: a model of characters proposes candidates, a log-linear model chooses.

    Each form is normalised once, however often it occurs.
    """

    model: Model
    memory: Memory
    lexicon: Lexicon
    choice: CandidateScorer
    spelling: Spelling = Spelling()
    candidates: int = 40
    context: ContextModel | None = None
    capitals: Capitals = Capitals()
    _known: dict[str, NormalisedWord] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def words(self) -> WordFinder:
        """Finder of words in running text, which finds forms of the examples whole."""
        return WordFinder(self.memory.counts, self.spelling)

    def normalise(self, words: Sequence[str], *, rule: Rule | None = None, runtime: Runtime = Runtime()) -> list[str]:
        """Return the modern spelling of each word of a sentence, with the capital letters of examples or the word."""
        return [found.modern for found in self.explain(words, rule=rule, runtime=runtime)]

    def explain(
        self, words: Sequence[str], *, rule: Rule | None = None, runtime: Runtime = Runtime()
    ) -> list[NormalisedWord]:
        """Return for each word of a sentence its modern spelling, with its probability and alternatives."""
        (found,) = self.explain_sentences([words], rule=rule, runtime=runtime)
        return found

    def explain_sentences(
        self, sentences: Sequence[Sequence[str]], *, rule: Rule | None = None, runtime: Runtime = Runtime()
    ) -> list[list[NormalisedWord]]:
        """Return the same for many sentences, whose forms are normalised together.

        `rule` is a decision rule that chooses instead of the most probable form. If the normaliser has a context model,
        words are chosen together with their neighbours.
        """
        forms = [[self.form(word) for word in words] for words in sentences]
        known = self.forms((form for sentence in forms for form in sentence), rule=rule, runtime=runtime)
        found = []
        written: dict[tuple[str, str], NormalisedWord] = {}  # words recur
        for words, sentence in zip(sentences, forms, strict=True):
            chosen = [known.get(form, NormalisedWord(form, 1.0)) for form in sentence]
            if self.context is not None:
                places = [place for place, form in enumerate(sentence) if self.spelling.fits(form)]
                for place, one in zip(places, self.context.choose([chosen[i] for i in places]), strict=True):
                    chosen[place] = one
            found.append(
                [
                    self._written(word, one, written) if form in known else NormalisedWord(word, 1.0)
                    for word, form, one in zip(words, sentence, chosen, strict=True)
                ]
            )
        return found

    def forms(
        self, forms: Iterable[str], *, rule: Rule | None = None, runtime: Runtime = Runtime()
    ) -> dict[str, NormalisedWord]:
        """Normalise forms without context; those that are too long or without letters are left out.

        Without a rule, results are cached, up to a number of forms.
        """
        wanted = [form for form in dict.fromkeys(forms) if self._fit(form)]
        remembered = {} if rule is not None else {form: self._known.get(form) for form in wanted}
        known = {form: one for form, one in remembered.items() if one is not None}
        new = [form for form in wanted if form not in known]
        translator = Translator.of(self.model, limits=LIMITS, runtime=runtime.quiet())
        generator = CandidateGenerator(translator, self.memory, self.lexicon, self.candidates)
        at = 0
        for lists in generator.lists(new):
            order = self.choice.order(lists, rule, runtime=runtime.quiet())
            probabilities = np.exp(self.choice.log_probabilities(lists))
            for begin, end in zip(lists.offsets[:-1].tolist(), lists.offsets[1:].tolist(), strict=True):
                rows = order[begin : min(end, begin + 1 + _ALTERNATIVES)].tolist()
                (modern, sure), *others = [(lists.texts[row], float(probabilities[row])) for row in rows]
                known[new[at]] = NormalisedWord(modern, sure, tuple(others))
                at += 1
        if rule is None:
            if len(self._known) + len(new) > _REMEMBERED:
                self._known.clear()
            self._known.update(known)
        return {form: known[form] for form in wanted}

    def modern_forms(self, examples: Examples, *, runtime: Runtime = Runtime()) -> list[str]:
        """Return the modern forms of the tokens of examples, preprocessed like examples."""
        words = [token.historical for token in examples.tokens]
        sentences = [words[begin:end] for begin, end in pairwise(examples.bounds)]
        found = self.explain_sentences(sentences, runtime=runtime)
        return [self.spelling.word(one.modern) for sentence in found for one in sentence]

    def memorised(self, word: str) -> str:
        """Return the most frequent modern form of a word in the examples, or the word."""
        return self.spelling.word(self.written(word, self.memory.best(self.form(word))))

    def form(self, word: str) -> str:
        """Return the form of a word that is looked up: with its digits, if the examples have it with them."""
        exact = self.spelling.word(word)
        return exact if exact in self.memory.counts else self.spelling.form(word)

    def _fit(self, form: str) -> bool:
        return 0 < len(form) <= self.spelling.max_length and (form in self.memory.counts or has_letters(form))

    def _written(
        self, word: str, found: NormalisedWord, before: dict[tuple[str, str], NormalisedWord]
    ) -> NormalisedWord:
        if (word, found.modern) in before:
            return before[word, found.modern]
        modern = self.written(word, found.modern)
        others: dict[str, float] = {}  # forms that differ in digits only become the same
        for text, sure in found.alternatives:
            others.setdefault(self.written(word, text), sure)
        others.pop(modern, None)
        return before.setdefault((word, found.modern), NormalisedWord(modern, found.confidence, tuple(others.items())))

    def written(self, word: str, modern: str) -> str:
        """Restore the digits and the case of a word in its modern form."""
        modern = self.capitals.written(word, modern) if self.spelling.lowercase else modern
        digits = _DIGIT.findall(word) if self.form(word) != self.spelling.word(word) else []
        if digits:
            if len(digits) != modern.count("0"):
                return word
            given = iter(digits)
            modern = re.sub("0", lambda _: next(given), modern)
        return modern

    def save(self, folder: PathLike) -> None:
        """Write a folder: the model, the memorised forms, the word list and the weights of the choice."""
        with output_folder(folder) as partial:
            self.model.save(partial / MODEL)
            self.memory.save(partial / "memory.tsv")
            self.capitals.save(partial / _CAPITALS)
            self.lexicon.save(partial / "words.txt")
            self.choice.weights.write(partial / "weights.txt")
            if self.context is not None:
                write_arpa(partial / _CONTEXT, self.context.bigrams.to_ngrams())
            about = {
                "format": FORMAT,
                "version": version(),
                "candidates": self.candidates,
                "scale": self.choice.scale,
                **({} if self.context is None else {"context": self.context.weight}),
                "spelling": self.spelling.to_dict(),
            }
            with open_output(partial / NAME) as stream:
                stream.write(format_toml(about).encode())

    @classmethod
    def load(cls, folder: PathLike) -> SpellingNormaliser:
        """Open a folder that `save` wrote."""
        folder = Path(folder)
        if not (folder / NAME).is_file():
            raise DataError(f"has no {NAME}", path=folder, expected="a folder of `dragoman normalise train`")
        about = read_toml(folder / NAME)
        if about.get("format") != FORMAT:
            raise DataError(f"has the format {about.get('format')}", path=folder / NAME, expected=str(FORMAT))
        try:
            spelling = Spelling.from_dict(about["spelling"])
            scale, candidates = float(about["scale"]), int(about["candidates"])
            weight = float(about["context"]) if "context" in about else None
        except (KeyError, TypeError, ValueError, DragomanError) as error:
            raise DataError(f"is damaged ({error})", path=folder / NAME, expected="what training wrote") from None
        return cls(
            Model.load(folder / MODEL),
            Memory.load(folder / "memory.tsv"),
            Lexicon.load(folder / "words.txt"),
            CandidateScorer(Weights.read(folder / "weights.txt"), scale),
            spelling,
            candidates,
            None if weight is None else ContextModel(LanguageModel.from_ngrams(read_arpa(folder / _CONTEXT)), weight),
            Capitals.load(folder / _CAPITALS) if (folder / _CAPITALS).exists() else Capitals(),
        )


#: The main file of a normaliser's folder, and the version of its format.
NAME, FORMAT = "normaliser.toml", 1

#: The model of characters in the folder.
MODEL = "model"

_CONTEXT, _CAPITALS = "context.arpa", "capitals.tsv"

#: Largest number of forms in the cache.
_REMEMBERED = 50_000

#: Largest number of alternatives beside the chosen form.
_ALTERNATIVES = 10


class Suggestion(NamedTuple):
    """A form of a text, its number of occurrences, and its normalisation."""

    form: str
    occurrences: int
    normalised: NormalisedWord

    @property
    def expected_errors(self) -> float:
        """Expected number of tokens that are wrong, if confidences are calibrated."""
        return self.occurrences * (1 - self.normalised.confidence)


def suggestions(
    normaliser: SpellingNormaliser,
    words: Iterable[str],
    *,
    limit: int | None = None,
    memorised: bool = False,
    runtime: Runtime = Runtime(),
) -> list[Suggestion]:
    """Rank the forms of a text by their expected errors; memorised forms are included only if `memorised`."""
    counts = Counter(map(normaliser.form, words))
    wanted = [form for form in counts if memorised or form not in normaliser.memory.counts]
    found = normaliser.forms(wanted, runtime=runtime)
    ranked = [Suggestion(form, counts[form], normalised) for form, normalised in found.items()]
    ranked.sort(key=lambda one: (-one.expected_errors, -one.occurrences, one.form))
    return ranked[:limit]
