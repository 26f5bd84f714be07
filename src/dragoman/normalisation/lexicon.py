"""Lexicons of a normaliser: memorised forms, modern words and stems."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from dragoman.core.errors import DataError, UsageError
from dragoman.core.files import PathLike, open_output, read_lines
from dragoman.normalisation.edit_costs import EditCosts, SimilarWords, skeleton
from dragoman.normalisation.examples import Examples, Spelling, has_letters

#: The shortest part of a compound.
_SHORTEST_PART = 3


@dataclass(frozen=True, eq=False)
class Lexicon:
    """A list of modern words.

    >>> words = Lexicon.of(["hand", "schuh", "hund"])
    >>> "hund" in words, words.is_compound("handschuh")
    (True, True)
    """

    words: frozenset[str] = frozenset()

    @classmethod
    def of(cls, words: Iterable[str]) -> Lexicon:
        """Make a list of preprocessed words."""
        return cls(frozenset(words))

    @classmethod
    def read(cls, paths: Sequence[PathLike], spelling: Spelling = Spelling()) -> Lexicon:
        """Read lists with one word per line; words without letters and words that are too long are left out."""
        words = {spelling.form(line) for path in paths for line in read_lines(path)}
        return cls(frozenset(word for word in words if len(word) <= spelling.max_length and has_letters(word)))

    def __contains__(self, word: str) -> bool:
        return word in self.words

    def __len__(self) -> int:
        return len(self.words)

    @cached_property
    def similar(self) -> SimilarWords:
        """Index of similar words."""
        return SimilarWords(sorted(self.words))

    def is_compound(self, word: str) -> bool:
        """Return True if a word is a compound of two words of the list."""
        cuts = range(_SHORTEST_PART, len(word) - _SHORTEST_PART + 1)
        return any(word[:cut] in self.words and word[cut:] in self.words for cut in cuts)

    def save(self, path: Path) -> None:
        """Write one word per line."""
        with open_output(path) as stream:
            stream.write("".join(f"{word}\n" for word in sorted(self.words)).encode())

    @classmethod
    def load(cls, path: Path) -> Lexicon:
        """Read what `save` wrote."""
        return cls(frozenset(read_lines(path)))


def stemmer(language: str) -> Callable[[str], str]:
    """Return the stemmer of a language, such as german; it stems each word of a form."""
    try:
        import snowballstemmer
    except ImportError:
        raise UsageError("stems need the package snowballstemmer: pip install 'dragoman[stem]'") from None
    known = snowballstemmer.algorithms()
    if language not in known:
        raise UsageError(f"there is no stemmer for '{language}'; expected one of {', '.join(known)}")
    found = snowballstemmer.stemmer(language)
    return lambda form: " ".join(found.stemWords(form.split()))


@dataclass(frozen=True, eq=False)
class Memory:
    """Counts of the modern forms of each historical form in the examples.

    >>> memory = Memory.of(Examples.of([("vnd", "und"), ("vnd", "und"), ("den", "den"), ("den", "denn")]))
    >>> memory.share("vnd", "und"), memory.counts["den"]["denn"], memory.modern["und"]
    (0.6666666666666666, 1, 2)
    """

    counts: Mapping[str, Counter[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, examples: Examples) -> Memory:
        """Memorise examples."""
        return cls(examples.forms)

    @cached_property
    def modern(self) -> Counter[str]:
        """Count of each modern word."""
        total: Counter[str] = Counter()
        for counts in self.counts.values():
            total.update(counts)
        return total

    @cached_property
    def alike(self) -> dict[str, Counter[str]]:
        """Counts of the modern forms of all forms with the same skeleton."""
        found: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for old, counts in self.counts.items():
            found[skeleton(old)].update(counts)
        return dict(found)

    @cached_property
    def edit_costs(self) -> EditCosts:
        """Counts of changes of letters."""
        return EditCosts.of(self.counts)

    def share(self, historical: str, modern: str) -> float:
        """Return the relative frequency of a modern form of a word, with one count added for unseen forms."""
        counts = self.counts.get(historical)
        return 0.0 if counts is None else counts[modern] / (counts.total() + 1)

    def best(self, historical: str) -> str:
        """Return the most frequent modern form of a word, or the word itself."""
        counts = self.counts.get(historical)
        return historical if counts is None else min(counts, key=lambda new: (-counts[new], new))

    def save(self, path: Path) -> None:
        """Write lines of historical form, modern form and count."""
        with open_output(path) as stream:
            for old, counts in sorted(self.counts.items()):
                for new, count in sorted(counts.items()):
                    stream.write(f"{old}\t{new}\t{count}\n".encode())

    @classmethod
    def load(cls, path: Path) -> Memory:
        """Read what `save` wrote."""
        counts: dict[str, Counter[str]] = {}
        for number, line in enumerate(read_lines(path), 1):
            columns = line.split("\t")
            if len(columns) != 3 or not columns[2].isdecimal():
                raise DataError(f"found '{line[:40]}'", path=path, line=number, expected="two forms and a count")
            counts.setdefault(columns[0], Counter())[columns[1]] += int(columns[2])
        return cls(counts)
