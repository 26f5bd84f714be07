"""Base of all part-of-speech taggers: sentences of words in, a tag for each word out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from dragoman.core.errors import DataError, UsageError
from dragoman.core.options import Options


@dataclass(frozen=True)
class Tagger(Options, ABC):
    """Base of all taggers; a subclass with a `name` in this folder can be chosen by that name."""

    name: ClassVar[str]

    @abstractmethod
    def tags(self, sentences: Iterable[list[str]]) -> Iterator[Sequence[str]]:
        """Tag tokenised sentences, none of them empty, in order, without changing their words."""

    def tag_lines(self, lines: Iterable[str]) -> Iterator[list[tuple[str, str]]]:
        """Tag lines of tokens separated by ASCII white space; yield the tokens of each line with their tags.

        A tagger that does not return one tag per token is refused, with the line's number.
        """
        waiting: deque[list[str]] = deque()

        def sentences() -> Iterator[list[str]]:
            for line in lines:
                waiting.append([word.decode() for word in line.encode().split()])
                if waiting[-1]:
                    yield waiting[-1]

        number = 0
        # A tagger may read ahead; empty lines wait for their turn without being shown to it.
        for tags in self.tags(sentences()):
            while waiting and not waiting[0]:
                number += 1
                waiting.popleft()
                yield []
            number += 1
            words = waiting.popleft() if waiting else []
            if len(tags) != len(words) or not all(_fits(tag) for tag in tags):
                raise DataError(
                    f"{self.name} gave {len(tags)} tags for {len(words)} words",
                    line=number,
                    expected="one for each, without spaces and bars",
                )
            yield list(zip(words, tags, strict=True))
        for words in waiting:
            number += 1
            if words:
                raise DataError(f"{self.name} gave no tags", line=number, expected=f"{len(words)}, one for each word")
            yield []


def _fits(tag: str) -> bool:
    return bool(tag) and "|" not in tag and len(tag.encode().split()) == 1


def missing_package(tagger: str, package: str) -> UsageError:
    """Say how to get the package that a tagger needs."""
    return UsageError(f"the tagger {tagger} needs the package {package}: pip install {package}")
