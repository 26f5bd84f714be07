"""Tables of examples: each line a historical form, a tab and its modern form; empty lines between sentences."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Literal, NamedTuple, get_args

from dragoman.core.errors import DataError
from dragoman.core.files import PathLike, open_output, read_lines
from dragoman.core.options import Options, option
from dragoman.core.runtime import Runtime

Pattern = Literal["lower", "initial", "all"]

#: Least ratio of modern to historical capital letters: below it, the modern ones are slips.
_SHARE = 0.1


class CasedExample(NamedTuple):
    """An example with its capital letters: the historical form, the modern form, and the latter in lower case."""

    historical: str
    modern: str
    lower: str


@dataclass(frozen=True, eq=False)
class Capitals:
    """Capitalisation of modern forms by that of the historical form, if they differ.

    >>> examples = [("jar", "Jahr"), ("vnd", "und"), ("Vnd", "Und"), ("Gros", "groß")]
    >>> capitals = Capitals.of(CasedExample(old, new, new.lower()) for old, new in examples)
    >>> [capitals.written(*pair) for pair in [("jare", "jahr"), ("Vnnd", "und"), ("GROS", "groß"), ("Gros", "groß")]]
    ['Jahr', 'Und', 'GROẞ', 'groß']
    """

    forms: Mapping[tuple[Pattern, str], str] = field(default_factory=dict)

    @classmethod
    def of(cls, examples: Iterable[CasedExample]) -> Capitals:
        """Learn the usual capitalisation of each modern form from examples; nothing if all are in lower case."""
        counts: defaultdict[tuple[Pattern, str], Counter[str]] = defaultdict(Counter)
        old = new = 0
        for historical, modern, lower in examples:
            counts[pattern(historical), lower][modern] += 1
            old += pattern(historical) != "lower"
            new += modern != lower
        if not new or new < _SHARE * old:
            return cls()
        usual = {key: min(found, key=lambda form: (-found[form], form)) for key, found in counts.items()}
        return cls({key: form for key, form in usual.items() if form != _cased(*key)})

    def written(self, word: str, modern: str) -> str:
        """Capitalise a lower-case form as in the examples, or else like the historical word."""
        form = self.forms.get((pattern(word), modern))
        return match_case(word, modern) if form is None else form

    def save(self, path: Path) -> None:
        """Write lines of pattern, form in lower case and form."""
        with open_output(path) as stream:
            for (letters, lower), form in sorted(self.forms.items()):
                stream.write(f"{letters}\t{lower}\t{form}\n".encode())

    @classmethod
    def load(cls, path: Path) -> Capitals:
        """Read what `save` wrote."""
        forms: dict[tuple[Pattern, str], str] = {}
        for number, line in enumerate(read_lines(path), 1):
            letters, _, rest = line.partition("\t")
            lower, tab, form = rest.partition("\t")
            if letters not in get_args(Pattern) or not tab:
                raise DataError(
                    f"found '{line[:40]}'", path=path, line=number, expected="lower, initial or all; 2 forms"
                )
            forms[letters, lower] = form  # type: ignore[index]
        return cls(forms)


def pattern(word: str) -> Pattern:
    """Return the pattern of a word's capital letters: none that counts, the first, or all of several.

    >>> pattern("vnd"), pattern("Vnd"), pattern("V"), pattern("VND"), pattern("(Vnd"), pattern("vNd")
    ('lower', 'initial', 'initial', 'all', 'initial', 'lower')
    """
    letters = [character for character in word if character.isalpha()]
    if len(letters) > 1 and all(character.isupper() for character in letters):
        return "all"
    return "initial" if letters and (letters[0].isupper() or letters[0].istitle()) else "lower"


def match_case(word: str, modern: str) -> str:
    """Capitalise a lower-case form like a word: its first letter, or all.

    >>> match_case("Vnd", "und"), match_case("VND", "und"), match_case("vnd", "und")
    ('Und', 'UND', 'und')
    >>> match_case("V", "in"), match_case("VNS", "'s")
    ('In', "'S")
    """
    return _cased(pattern(word), modern)


def _cased(letters: Pattern, modern: str) -> str:
    if letters == "all":
        return modern.replace("ß", "ẞ").upper()  # so that it can be read back
    if letters == "lower":
        return modern
    first = next((place for place, character in enumerate(modern) if character.isalpha()), 0)
    return modern[:first] + modern[first : first + 1].title() + modern[first + 1 :]


_DIGIT = re.compile(r"\d")

#: Lines without a tab, for each line with one, that may be slips.
_SLIPS = 0.05


class Example(NamedTuple):
    """One token: its historical and its modern form."""

    historical: str
    modern: str


@dataclass(frozen=True)
class Spelling(Options):
    """Preprocessing of words; the defaults are those of Bollmann (2019)."""

    lowercase: bool = option(True, "lower-case words; capital letters are restored as in the examples or in the text")
    unicode: Literal["NFC", "as-is"] = option(
        "NFC", "compose letters with their accents (NFC), or leave words unchanged"
    )
    digits: bool = option(True, "replace all digits by 0 (in examples, if both forms are equal)")
    punctuation: bool = option(False, "keep tokens without letters and digits, in examples and in text")
    max_length: int = option(
        200, "longer words are left out of examples, and not changed in text", minimum=1, maximum=2000
    )

    def word(self, text: str) -> str:
        """Normalise case, accents and spaces of a word, so that words can be compared; digits stay.

        >>> Spelling().word(" Wu\\u0308rtz ")
        'würtz'
        """
        text = unicodedata.normalize("NFC", text) if self.unicode == "NFC" else text
        return " ".join((text.lower() if self.lowercase else text).split())

    def form(self, text: str) -> str:
        """Return the form of a word that is looked up and translated."""
        return _DIGIT.sub("0", self.word(text)) if self.digits else self.word(text)

    def example(self, historical: str, modern: str) -> Example:
        """Preprocess both forms of a token for training."""
        old, new = self.word(historical), self.word(modern)
        if self.digits and old == new:
            old = new = _DIGIT.sub("0", old)
        return Example(old, new)

    def capitalised(self, historical: str, modern: str) -> CasedExample:
        """Preprocess a token, but keep its capital letters."""
        lower = self.example(historical, modern).modern
        as_is = replace(self, lowercase=False)
        zeros = self.digits and self.word(historical) == self.word(modern)
        return CasedExample(as_is.word(historical), (as_is.form if zeros else as_is.word)(modern), lower)

    def fits(self, form: str) -> bool:
        """Return True if a form can be an example: neither empty nor too long, nor without letters unless allowed."""
        return 0 < len(form) <= self.max_length and (self.punctuation or has_letters(form))


def has_letters(word: str) -> bool:
    """Return True if a token is more than punctuation.

    >>> has_letters("1642"), has_letters("¶,")
    (True, False)
    """
    return any(unicodedata.category(character)[0] not in "PSZC" for character in word)


@dataclass(frozen=True, eq=False)
class Examples:
    """Tokens of sentences, in order: sentence i has those from `bounds[i]` to `bounds[i + 1]`."""

    tokens: tuple[Example, ...]
    bounds: tuple[int, ...]
    #: The same tokens with their capital letters, if these are known.
    capitalised: tuple[CasedExample, ...] = ()

    @classmethod
    def of(cls, pairs: Iterable[tuple[str, str]]) -> Examples:
        """Make examples of preprocessed pairs, all in one sentence."""
        tokens = tuple(Example(*pair) for pair in pairs)
        return cls(tokens, (0, len(tokens)) if tokens else (0,))

    @classmethod
    def from_raw(cls, pairs: Iterable[tuple[str, str]], spelling: Spelling) -> Examples:
        """Make examples of raw pairs, all in one sentence."""
        rows = list(pairs)
        made = cls.of(spelling.example(*row) for row in rows)
        return replace(made, capitalised=tuple(spelling.capitalised(*row) for row in rows))

    def __len__(self) -> int:
        return len(self.tokens)

    def first(self, count: int, begin: int = 0) -> Examples:
        """Return `count` tokens from `begin` on, with the bounds of their sentences."""
        end = min(begin + count, len(self))
        inside = [bound - begin for bound in self.bounds if begin < bound < end]
        bounds = (0, *inside, end - begin) if end > begin else (0,)
        return Examples(self.tokens[begin:end], bounds, self.capitalised[begin:end])

    def without(self, begin: int, end: int) -> Examples:
        """Return all tokens except those from `begin` to `end`."""
        kept = [*self.tokens[:begin], *self.tokens[end:]]
        bounds = {min(bound, begin) if bound <= end else bound - (end - begin) for bound in self.bounds}
        capitalised = self.capitalised[:begin] + self.capitalised[end:]
        return Examples(tuple(kept), tuple(sorted(bounds | {len(kept)})), capitalised)

    @cached_property
    def forms(self) -> dict[str, Counter[str]]:
        """Counts of the modern forms of each historical form."""
        found: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for old, new in self.tokens:
            found[old][new] += 1
        return dict(found)

    def contradictions(self) -> dict[str, Counter[str]]:
        """Return the forms that have more than one modern form."""
        return {old: counts for old, counts in self.forms.items() if len(counts) > 1}


def read_examples(
    paths: Sequence[PathLike], spelling: Spelling = Spelling(), *, runtime: Runtime = Runtime()
) -> Examples:
    """Read tables of examples; note what was left out, and how many forms have more than one modern form."""
    tokens: list[Example] = []
    capitalised: list[CasedExample] = []
    bounds = [0]
    left_out: Counter[str] = Counter()
    for path in paths:
        narrow: list[tuple[int, str]] = []
        wide = 0
        for number, line in enumerate(read_lines(path), 1):
            if not line.strip():
                bounds.append(len(tokens))
                continue
            columns = split_columns(line)
            if len(columns) < 2:
                narrow.append((number, line))
                continue
            wide += 1
            example = spelling.example(columns[0], columns[1])
            reason = _unfit(example, spelling)
            if reason is None:
                tokens.append(example)
                capitalised.append(spelling.capitalised(columns[0], columns[1]))
            else:
                left_out[reason] += 1
        bounds.append(len(tokens))
        _check_columns(path, narrow, wide, runtime)
    for reason, count in sorted(left_out.items()):
        runtime.note(f"{count:,} lines are left out: {reason}")
    examples = Examples(tuple(tokens), tuple(sorted(set(bounds))), tuple(capitalised))
    _report(examples, runtime)
    return examples


def split_columns(line: str) -> list[str]:
    """Return the columns of a line, without quotation marks if both forms are quoted, as by spreadsheets.

    >>> split_columns('"vnd"\\t"und"'), split_columns('"vnd\\tund')
    (['vnd', 'und'], ['"vnd', 'und'])
    """
    columns = line.split("\t")
    if len(columns) > 1 and all(len(cell) > 1 and cell[0] == cell[-1] == '"' for cell in columns[:2]):
        return [cell[1:-1].replace('""', '"') for cell in columns[:2]]
    return columns


def table_sentences(lines: Iterable[str]) -> list[list[str]]:
    """Return the tokens of a table's first column, sentence by sentence; each empty line begins another.

    >>> table_sentences(["vnd\\tund", "er", "", "sprach"])
    [['vnd', 'er'], ['sprach']]
    """
    found: list[list[str]] = [[]]
    for line in lines:
        if line.strip():
            found[-1].append(split_columns(line)[0])
        else:
            found.append([])
    return found


def _check_columns(path: PathLike, narrow: Sequence[tuple[int, str]], wide: int, runtime: Runtime) -> None:
    """Warn of single lines without a tab, which are slips; refuse a file of them."""
    if not narrow:
        return
    number, line = narrow[0]
    if len(narrow) > _SLIPS * wide:
        raise DataError(
            f"found one column, '{line[:40]}'",
            path=path,
            line=number,
            expected="a historical form, a tab and its modern form",
        )
    runtime.warn(f"{path}: {len(narrow):,} lines are left out: one column only, the first of them line {number:,}")


def _unfit(example: Example, spelling: Spelling) -> str | None:
    if not all(example):
        return "a form is empty"
    if not (spelling.punctuation or has_letters(example.historical)):
        return "no letters or digits"
    return (
        f"a form longer than {spelling.max_length} characters" if max(map(len, example)) > spelling.max_length else None
    )


def _report(examples: Examples, runtime: Runtime) -> None:
    found = examples.contradictions()
    if found:
        often = max(found, key=lambda old: (found[old].total(), old))
        runtime.note(
            f"{len(found):,} of {len(examples.forms):,} forms have more than one modern form, such as {often}: "
            + ", ".join(f"{new} ({count:,})" for new, count in found[often].most_common(3))
        )
    scripts = {name for old in examples.forms if len(name := "/".join(_scripts(old))) and "/" in name}
    if scripts:
        mixed = sum(len(_scripts(old)) > 1 for old in examples.forms)
        runtime.warn(f"{mixed:,} forms mix scripts ({', '.join(sorted(scripts)[:3])}): letters that look alike?")


def _scripts(word: str) -> list[str]:
    """Return those scripts of a word's letters that should not be mixed, by the first word of their Unicode names."""
    names = {unicodedata.name(character, "").partition(" ")[0] for character in word if character.isalpha()}
    return sorted(names & {"LATIN", "CYRILLIC", "GREEK"})
