"""Memorised forms: what the examples had for a word, with counts, and which modern words they had at all."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from dragoman.core.errors import DataError
from dragoman.core.files import open_output, read_lines
from dragoman.normalisation.examples import Examples
from dragoman.normalisation.letters import Letters, skeleton


@dataclass(frozen=True, eq=False)
class Memory:
    """For each historical form how often it had which modern form.

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
        """How often each modern word occurs."""
        total: Counter[str] = Counter()
        for counts in self.counts.values():
            total.update(counts)
        return total

    @cached_property
    def alike(self) -> dict[str, Counter[str]]:
        """For each skeleton how often forms that have it had which modern form."""
        found: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for old, counts in self.counts.items():
            found[skeleton(old)].update(counts)
        return dict(found)

    @cached_property
    def letters(self) -> Letters:
        """How letters change."""
        return Letters.of(self.counts)

    def share(self, historical: str, modern: str) -> float:
        """The share of a modern form among all of a word, as if it had been seen once more with none of them."""
        counts = self.counts.get(historical)
        return 0.0 if counts is None else counts[modern] / (counts.total() + 1)

    def best(self, historical: str) -> str:
        """The most frequent modern form of a word, or the word itself."""
        counts = self.counts.get(historical)
        return historical if counts is None else min(counts, key=lambda new: (-counts[new], new))

    def save(self, path: Path) -> None:
        """Write as lines of historical form, modern form and count."""
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
