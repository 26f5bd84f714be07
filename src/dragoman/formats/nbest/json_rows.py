"""Rows read from JSON, value by value, and sentences or hypotheses without a text."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from dragoman.core.corpus import Vocab
from dragoman.core.errors import DataError
from dragoman.core.feature_rows import FeatureRows
from dragoman.core.files import PathLike
from dragoman.core.nbest import Extras, NBest
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.formats.faults import quote
from dragoman.formats.nbest.format import continued_ids
from dragoman.formats.nbest.json_values import JsonValue

_ODD_SPACE = ("  ", "\n", "\t", "\r", "\v", "\f")

#: Treatment of a failed sentence: it keeps its place with an empty list, is left out, or is an error.
FailurePolicy = Literal["empty", "skip", "refuse"]


@dataclass(frozen=True)
class RowFormat:
    """The properties of a format that rows need: its name, its keys, and the treatment of failed sentences."""

    name: str
    id_key: str
    source_key: str
    text_key: str
    failed: FailurePolicy


#: An object whose first key is followed by a colon and a space.
_SPACED = re.compile(r'\s*+\{\s*+"(?:[^"\\]|\\.)*+"\s*+: ')


class _Places:
    """Lines of sentences by id; consecutive ids on consecutive lines take no memory."""

    def __init__(self) -> None:
        self._counted, self._first_line = range(0), 1
        self._others: dict[int | str, int] = {}

    def line(self, name: int | str) -> int | None:
        """Return the line of a sentence, if it has been seen."""
        if isinstance(name, int) and name in self._counted:
            return self._first_line + name - self._counted.start
        return self._others.get(name)

    def add(self, name: int | str, line: int) -> None:
        """Add a new sentence."""
        if isinstance(name, int) and not self._counted:
            self._counted, self._first_line = range(name, name + 1), line
        elif name == self._counted.stop and line == self._first_line + len(self._counted):
            self._counted = range(self._counted.start, self._counted.stop + 1)
        else:
            self._others[name] = line


class Failures:
    """Counts of sentences without hypotheses, and of hypotheses without a text, over all blocks."""

    def __init__(self, failed: FailurePolicy):
        self._failed = failed
        #: Number of sentences checked so far.
        self.seen = 0
        self._count = self._textless = 0
        self._first: list[str] = []
        self._first_textless = ""

    def add(self, called: str, reason: str, path: PathLike, line: int) -> None:
        """Count a sentence without hypotheses, or refuse it."""
        if self._failed == "refuse":
            expected = "some for each, or failed sentences to be empty or skipped"
            raise DataError(f"{called} has no hypotheses ({reason})", path=path, line=line, expected=expected)
        self._count += 1
        self._first += [f"{called} ({reason})"] if len(self._first) < 3 else []

    def leave_out(self, called: str, count: int, path: PathLike, line: int) -> None:
        """Count hypotheses without a text in a sentence with others, or refuse them."""
        if self._failed == "refuse":
            found = f"{count} of the hypotheses of {called} have no text"
            raise DataError(found, path=path, line=line, expected="a text for each")
        self._textless += count
        self._first_textless = self._first_textless or called

    def warn(self, path: PathLike, *, runtime: Runtime = Runtime()) -> None:
        """Warn about them, naming the first ones."""
        if self._count:
            left = "left out" if self._failed == "skip" else "left empty"
            more = ", ..." if self._count > len(self._first) else ""
            counts = f"{self._count:,} of {self.seen:,} sentences have no hypotheses"
            runtime.warn(f"{path}: {counts} and are {left}: {', '.join(self._first)}{more}")
        if self._textless:
            found = f"{self._textless:,} hypotheses have no text and are left out, the first of them of"
            runtime.warn(f"{path}: {found} {self._first_textless}")


class Rows:
    """Rows that have been read and not taken yet, with a list for each column of the result."""

    def __init__(self, form: RowFormat, vocab: Vocab | None = None) -> None:
        self._form = form
        self.line = 1
        self.style: dict[str, int] = {}
        self._count = 0
        self._named: bool | None = None
        self._sourced: bool | None = None
        self._places = _Places()
        self.failures = Failures(form.failed)
        self._begin(vocab or Vocab.of())

    def _begin(self, vocab: Vocab) -> None:
        self._vocab = vocab
        self.ids: list[int | str | None] = []
        self._lines: list[int] = []
        self._sources: list[str | None] = []
        self._references: list[tuple[str, ...]] = []
        self._more: list[bytes] = []
        self._bounds: list[int] = []
        self._reasons: dict[int, str] = {}
        self._textless: dict[int, int] = {}
        self._texts: list[str] = []
        self._numbers: dict[str, list[float]] = {"score": [], "logprob": []}
        self._hypothesis_more: list[bytes] = []
        self._features: dict[str, int] = {}
        self._feature_ids: list[int] = []
        self._feature_values: list[float] = []
        self._feature_bounds = [0]

    def begin(self, found: JsonValue) -> None:
        """Record the style of the next value."""
        self.line = found.line
        if not self.style:
            self.style = {"spaced": int(_SPACED.match(found.text) is not None)}
        self.style["ascii"] = int(self.style.get("ascii", True) and found.text.isascii())
        if "\\u" in found.text:
            self.style["escapes"] = 1
            _check_surrogates(found.value)

    def sentence(
        self,
        name: Any = None,
        source: Any = None,
        references: Sequence[str] = (),
        more: Mapping[str, Any] | None = None,
        failure: str | None = None,
    ) -> None:
        """Begin a sentence; `more` are keys to write back, `failure` is the reason why it has no hypotheses."""
        id_key, source_key = self._form.id_key, self._form.source_key
        if not (name is None or isinstance(name, str) or type(name) is int):
            raise DataError(f"the {id_key} is {quote(json.dumps(name))}", expected="a number or a string")
        if not (source is None or isinstance(source, str)):
            raise DataError(f"'{source_key}' is {quote(json.dumps(source))}", expected="a string")
        if self._named is None:
            self._named = name is not None
        if self._sourced is None and failure is None:
            self._sourced = source is not None
        if (name is not None) != self._named:
            raise DataError(f"some sentences have an '{id_key}' and some have none", expected="all or none of them")
        if failure is not None:
            self._reasons[len(self.ids)] = failure
        elif (source is not None) != self._sourced:
            raise DataError(f"some sentences have a '{source_key}' and some have none", expected="all or none of them")
        self.style["unnumbered"] = int(name is None)
        self.ids.append(name)
        self._lines.append(self.line)
        self._sources.append(source)
        self._references.append(tuple(references))
        self._more.append(_json(more))
        self._bounds.append(len(self._texts))

    def without_text(self) -> None:
        """Count a hypothesis of the sentence without a text, which is left out."""
        self._textless[len(self.ids) - 1] = self._textless.get(len(self.ids) - 1, 0) + 1

    def hypothesis(
        self,
        text: str,
        *,
        score: Any = None,
        logprob: Any = None,
        features: Mapping[str, Any] | None = None,
        more: Mapping[str, Any] | None = None,
        keep_text: bool = True,
    ) -> None:
        """Add a hypothesis to the sentence; with `keep_text`, odd white space can be written back."""
        if text[:1] == " " or text[-1:] == " " or any(map(text.__contains__, _ODD_SPACE)):
            more = {**(more or {}), self._form.text_key: text} if keep_text else more
            text = text.replace("\n", " ")
        self._texts.append(text)
        self._hypothesis_more.append(_json(more))
        self._numbers["score"].append(math.nan if score is None else self.number(score, "score"))
        self._numbers["logprob"].append(math.nan if logprob is None else self.number(logprob, "logprob"))
        for name, value in (features or {}).items():
            self._feature_ids.append(self._features.setdefault(name, len(self._features)))
            self._feature_values.append(self.number(value, name))
        self._feature_bounds.append(len(self._feature_ids))

    def number(self, value: Any, name: str) -> float:
        """Return a finite number; integers are recorded in the style."""
        if type(value) is int:
            self.style[f"integer {name}"] = 1
        elif type(value) is not float:
            raise DataError(f"{quote(name)} is {quote(json.dumps(value))}", expected="a number")
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if not math.isfinite(number):
            raise DataError(f"{quote(name)} is {quote(str(value))}", expected="a finite number")
        return number

    def check_ids(self, sentences: int | None, path: PathLike) -> None:
        """Refuse repeated ids, and a wrong number of sentences."""
        names = [name for name in self.ids if name is not None]
        for line, name in zip(self._lines, names, strict=bool(names)):
            if (before := self._places.line(name)) is not None:
                raise DataError(
                    f"the sentence with the {self._form.id_key} {name!r} comes again, after line {before}",
                    path=path,
                    line=line,
                    expected="all of a sentence in one place",
                )
            self._places.add(name, line)
        if sentences is not None:
            numbered = all(type(name) is int for name in names)
            missing = sorted({*range(sentences)} - {*names}) if names and numbered else []
            if missing:
                raise DataError(
                    f"{len(missing)} of {sentences} sentences are missing, the first of them has the id {missing[0]}",
                    path=path,
                )
            if len(self.ids) != sentences:
                raise DataError(f"has {len(self.ids)} sentences", path=path, expected=f"{sentences}")

    def take_lists(self, path: PathLike) -> NBest:
        """Return the lists of all sentences since the last call; the next block has its own vocabulary."""
        nbest = self._lists()
        sizes = np.diff(nbest.sentences)
        for i in sorted({*np.flatnonzero(sizes == 0).tolist(), *self._textless}):
            name = self.ids[i]
            called = f"sentence {self.failures.seen + i + 1}" if name is None else repr(name)
            textless = self._textless.get(i, 0)
            if sizes[i]:
                self.failures.leave_out(called, textless, path, self._lines[i])
            else:
                reason = self._reasons.get(i, "no text" if textless else "an empty list")
                self.failures.add(called, reason, path, self._lines[i])
        self.failures.seen += len(sizes)
        if self._form.failed == "skip" and not sizes.all():
            nbest = nbest.take(np.flatnonzero(sizes))
            nbest = nbest if self._named else replace(nbest, ids=continued_ids(self._count, len(nbest)))
        self._count += len(nbest)
        self._begin(Vocab.of())
        return nbest

    def _lists(self) -> NBest:
        vocab, words, bounds = self._vocab.extend("".join(f"{text}\n" for text in self._texts).encode())
        style = {**self.style, "ascii": int(self.style.get("ascii", 0) and self.style.get("escapes", 0))}
        logprobs = np.array(self._numbers["logprob"], np.float64)
        ids = tuple(name for name in self.ids if name is not None)
        return NBest(
            vocab=vocab,
            sentences=np.array([*self._bounds, len(self._texts)], np.int64),
            hypotheses=Ragged(words, bounds),
            scores=np.array(self._numbers["score"], np.float64),
            features=FeatureRows(
                tuple(self._features),
                np.array(self._feature_bounds, np.int64),
                np.array(self._feature_ids, np.int32),
                np.array(self._feature_values, np.float64),
            ),
            logprobs=None if np.isnan(logprobs).all() else logprobs,
            ids=continued_ids(self._count, len(self.ids)) if not ids else None if ids == (*range(len(ids)),) else ids,
            sources=tuple(text or "" for text in self._sources) if self._sourced else None,
            references=tuple(self._references) if any(self._references) else None,
            extras=Extras(self._form.name, style, _rows(self._hypothesis_more), _rows(self._more)),
        )


def _check_surrogates(fields: Any) -> None:
    try:
        json.dumps(fields, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise DataError("a string has half of a surrogate pair", expected="text that UTF-8 can hold") from None


def _json(fields: Mapping[str, Any] | None) -> bytes:
    return json.dumps(fields).encode() if fields else b""


def _rows(texts: Sequence[bytes]) -> Ragged[np.uint8] | None:
    if not any(texts):
        return None
    offsets = np.cumsum([0, *map(len, texts)], dtype=np.int64)
    return Ragged(np.frombuffer(b"".join(texts), np.uint8), offsets)
