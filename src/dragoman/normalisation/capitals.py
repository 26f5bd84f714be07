"""Capital letters: those of the word that is normalised, or where the examples have capital letters, theirs."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple, get_args

from dragoman.core.errors import DataError
from dragoman.core.files import open_output, read_lines

Pattern = Literal["lower", "initial", "all"]

#: Examples have modern capital letters if there are so many for each historical one: fewer are slips.
_SHARE = 0.1


class Capitalised(NamedTuple):
    """An example as it is written: the historical form, the modern form, and this in lower case."""

    historical: str
    modern: str
    lower: str


@dataclass(frozen=True, eq=False)
class Capitals:
    """How modern forms are written, by the capital letters of the historical form: those that differ from these.

    >>> examples = [("jar", "Jahr"), ("vnd", "und"), ("Vnd", "Und"), ("Gros", "groß")]
    >>> capitals = Capitals.of(Capitalised(old, new, new.lower()) for old, new in examples)
    >>> [capitals.written(*pair) for pair in [("jare", "jahr"), ("Vnnd", "und"), ("GROS", "groß"), ("Gros", "groß")]]
    ['Jahr', 'Und', 'GROẞ', 'groß']
    """

    forms: Mapping[tuple[Pattern, str], str] = field(default_factory=dict)

    @classmethod
    def of(cls, examples: Iterable[Capitalised]) -> Capitals:
        """Learn from examples how each modern form is mostly written; nothing, if that is in lower case only."""
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
        """Write a form in lower case as the examples do, or with capital letters where a word has them."""
        form = self.forms.get((pattern(word), modern))
        return cased(word, modern) if form is None else form

    def save(self, path: Path) -> None:
        """Write as lines of capital letters, form in lower case and form."""
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
    """Which letters of a word are capital: none that counts, the first, or all of several.

    >>> pattern("vnd"), pattern("Vnd"), pattern("V"), pattern("VND"), pattern("(Vnd"), pattern("vNd")
    ('lower', 'initial', 'initial', 'all', 'initial', 'lower')
    """
    letters = [character for character in word if character.isalpha()]
    if len(letters) > 1 and all(character.isupper() for character in letters):
        return "all"
    return "initial" if letters and (letters[0].isupper() or letters[0].istitle()) else "lower"


def cased(word: str, modern: str) -> str:
    """Write a form in lower case with capital letters where a word has them: at its beginning, or all along.

    >>> cased("Vnd", "und"), cased("VND", "und"), cased("vnd", "und"), cased("V", "in"), cased("VNS", "'s")
    ('Und', 'UND', 'und', 'In', "'S")
    """
    return _cased(pattern(word), modern)


def _cased(letters: Pattern, modern: str) -> str:
    if letters == "all":
        return modern.replace("ß", "ẞ").upper()  # so that it can be read back
    if letters == "lower":
        return modern
    first = next((place for place, character in enumerate(modern) if character.isalpha()), 0)
    return modern[:first] + modern[first : first + 1].title() + modern[first + 1 :]
