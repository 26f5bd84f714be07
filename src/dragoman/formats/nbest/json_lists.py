"""What the formats that hold JSON have in common: lists made of values, and values made of lists.

Keys that a format does not know are kept in `NBest.extras` and written back. A text is split into words at ASCII
white space; where a hypothesis is an object of its own, a text with other white space than single spaces between words
is kept as it was, too.
"""

from __future__ import annotations

import itertools
import json
import math
import re
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dragoman.core.errors import DataError
from dragoman.core.feature_rows import FeatureRows
from dragoman.core.files import PathLike
from dragoman.core.nbest import Extras, NBest
from dragoman.core.progress import SILENT, Progress, ShareDone
from dragoman.core.ragged import Ragged
from dragoman.core.vocab import Vocab
from dragoman.formats.faults import shown
from dragoman.formats.nbest.format import NBestFormat, counted_on, in_order, with_other_look
from dragoman.formats.nbest.json_values import Found, Reader
from dragoman.formats.nbest.lines import Wordless

_ODD_SPACE = ("  ", "\n", "\t", "\r", "\v", "\f")

#: A hypothesis to write: its text, score, logprob and features as far as it has them, and the keys that were kept.
Written = tuple[dict[str, Any], dict[str, Any]]


@dataclass(frozen=True)
class Sentence:
    """A sentence to write; `name` is None if it needs none, `more` are keys that were kept when it was read."""

    name: int | str | None
    source: str | None
    references: Sequence[str]
    hypotheses: Sequence[Written]
    more: Mapping[str, Any]
    style: Mapping[str, int]


@dataclass(frozen=True)
class JsonNBest(NBestFormat):
    """JSON: one value a sentence, unless a format says otherwise."""

    #: How a value looks, for messages.
    example: ClassVar[str]
    #: The keys of an id, a source and a text; empty if there is no place for it.
    id_key: ClassVar[str] = "id"
    source_key: ClassVar[str] = "src"
    text_key: ClassVar[str] = "text"
    #: Whether a file may be one list of values, and whether NaN and Infinity are read.
    lists: ClassVar[bool] = True
    constants: ClassVar[bool] = False
    sorted_keys: ClassVar[bool] = False
    #: Whether ids are written even if they count from 0 and were not there when it was read.
    always_numbered: ClassVar[bool] = False
    #: Whether sentences come in any order, and are brought into that of their numbers if they have some.
    by_number: ClassVar[bool] = False

    def read(
        self, path: PathLike, *, sentences: int | None = None, vocab: Vocab | None = None, progress: Progress = SILENT
    ) -> NBest:
        """Read all values."""
        with progress.stage(f"reading {path}"):
            (nbest,) = self._read(path, Rows(self, vocab), sentences, progress)
        return nbest

    def read_blocks(
        self, path: PathLike, *, progress: Progress = SILENT, done: ShareDone | None = None
    ) -> Iterator[NBest]:
        """Read as many sentences at a time as have come, where values are sentences and their order is the file's."""
        if self.by_number:
            yield self.read(path, progress=progress)
        else:
            yield from self._read(path, Rows(self), None, progress, done, in_blocks=True)

    def _read(
        self,
        path: PathLike,
        rows: Rows,
        sentences: int | None,
        progress: Progress,
        done: ShareDone | None = None,
        *,
        in_blocks: bool = False,
    ) -> Iterator[NBest]:
        """The lists of a file: all at once, or in blocks that end where nothing more has come yet."""
        wordless, count, empty = Wordless(path), 0, 0
        found = self._take_all(self._values(path, rows, done), rows)
        more = True
        while more:
            try:
                # Reads on until there is a value behind which nothing has come yet; False at the end of the file.
                more = any(in_blocks and one.latest for one in found)
            except DataError as error:
                if error.path is None:
                    error = DataError(str(error), path=path, line=rows.line)
                raise with_other_look(error, path, self.name) from None
            rows.check_ids(sentences, path)
            nbest = rows.taken()
            if self.by_number:
                nbest = in_order(nbest)
            wordless.count(nbest.hypotheses)
            count += len(nbest)
            empty += int(np.sum(np.diff(nbest.sentences) == 0))
            if len(nbest) or not in_blocks:
                yield nbest
        if empty:
            progress.warn(f"{path}: {empty} sentences have no hypotheses")
        if not count:
            progress.warn(f"{path}: the n-best list is empty")
        wordless.warn(progress)

    def blocks(
        self, nbest: NBest, path: PathLike = "-", progress: Progress = SILENT, done: ShareDone | None = None
    ) -> Iterator[bytes]:
        """Yield a line for each sentence, or for each hypothesis where the format has it so."""
        nbest = self.fitting(nbest, path, progress)
        extras = nbest.extras if nbest.extras and nbest.extras.format == self.name else Extras(self.name, {})
        encoder = json.JSONEncoder(
            ensure_ascii=bool(extras.style.get("ascii", False)),
            allow_nan=False,
            separators=None if extras.style.get("spaced", self.name != "jsonl") else (",", ":"),
            sort_keys=self.sorted_keys,
        )
        hypotheses = _hypotheses(nbest, extras, self.text_key)
        names: Sequence[int | str | None] = nbest.sentence_ids
        if nbest.ids is None and extras.style.get("unnumbered", False) and not self.always_numbered:
            names = [None] * len(nbest)
        more = _objects(extras.sentences, len(nbest))
        for i, (begin, end) in enumerate(itertools.pairwise(nbest.sentences.tolist())):
            sentence = Sentence(
                names[i],
                None if nbest.sources is None else nbest.sources[i],
                () if nbest.references is None else nbest.references[i],
                hypotheses[begin:end],
                more[i],
                extras.style,
            )
            try:
                for value in self._give(sentence):
                    yield f"{encoder.encode(value)}\n".encode()
            except DataError as error:
                raise DataError(f"list {i} to write {error}", path=path) from None
            except ValueError:
                raise DataError(
                    "a feature or score to write is not finite", path=path, line=i + 1, expected="finite numbers"
                ) from None
            if done is not None:
                done((i + 1) / len(nbest))

    def _take_all(self, found: Iterable[Found], rows: Rows) -> Iterator[Found]:
        """Read all values; yields those with which a sentence ends that cannot go on."""
        for one in found:
            if not isinstance(one.value, dict):
                raise DataError(f"found {shown(one.text)}, which is no object", expected=self.example)
            self._take(one.value, one.text, rows)
            yield one

    @abstractmethod
    def _take(self, fields: dict[str, Any], text: str, rows: Rows) -> None:
        """Read one value, whose text is for messages."""

    @abstractmethod
    def _give(self, sentence: Sentence) -> Iterator[Any]:
        """Yield the values of one sentence."""

    def _head(self, sentence: Sentence) -> dict[str, Any]:
        """What an object begins with: the sentence's id and source, as far as there are some and a place for them."""
        named = {self.id_key: sentence.name, self.source_key: sentence.source}
        return {key: value for key, value in named.items() if key and value is not None}

    def _list(self, fields: Any, key: str, text: str) -> list[Any]:
        """The list that an object must have under a key; `text` is the object's, for messages."""
        found = fields.get(key) if isinstance(fields, dict) else None
        if not isinstance(found, list):
            raise DataError(f"found {shown(text)}, without a list '{key}'", expected=self.example)
        return found

    def _string(self, fields: Any, called: str) -> str:
        """The text that an object must have, which is called so in messages."""
        found = fields.get(self.text_key) if isinstance(fields, dict) else None
        if not isinstance(found, str):
            wrong = f"found the {called} {shown(json.dumps(fields))}, without a string '{self.text_key}'"
            raise DataError(wrong, expected=self.example)
        return found

    def _values(self, path: PathLike, rows: Rows, done: ShareDone | None) -> Iterator[Found]:
        for one in Reader(self.example, self.lists, self.constants).values(path, done):
            rows.begin(one)
            yield one


class _Places:
    """The lines of sentences by their ids; ids that count up line by line from the first take no memory."""

    def __init__(self) -> None:
        self._counted, self._first_line = range(0), 1
        self._others: dict[int | str, int] = {}

    def line(self, name: int | str) -> int | None:
        """The line of a sentence that has been seen."""
        if isinstance(name, int) and name in self._counted:
            return self._first_line + name - self._counted.start
        return self._others.get(name)

    def add(self, name: int | str, line: int) -> None:
        """Note a sentence that has not been seen."""
        if isinstance(name, int) and not self._counted:
            self._counted, self._first_line = range(name, name + 1), line
        elif name == self._counted.stop and line == self._first_line + len(self._counted):
            self._counted = range(self._counted.start, self._counted.stop + 1)
        else:
            self._others[name] = line


class Rows:
    """What has been read, value by value, and not been taken yet; one list for each column of the result."""

    def __init__(self, form: JsonNBest, vocab: Vocab | None = None) -> None:
        self._form = form
        self.line = 1
        self.style: dict[str, int] = {}
        self._count = 0
        self._named = self._sourced = False
        self._places = _Places()
        self._begin(vocab or Vocab.of())

    def _begin(self, vocab: Vocab) -> None:
        self._vocab = vocab
        self.ids: list[int | str | None] = []
        self._lines: list[int] = []
        self._sources: list[str | None] = []
        self._references: list[tuple[str, ...]] = []
        self._more: list[bytes] = []
        self._bounds: list[int] = []
        self._texts: list[str] = []
        self._numbers: dict[str, list[float]] = {"score": [], "logprob": []}
        self._hypothesis_more: list[bytes] = []
        self._features: dict[str, int] = {}
        self._feature_ids: list[int] = []
        self._feature_values: list[float] = []
        self._feature_bounds = [0]

    def begin(self, found: Found) -> None:
        """Note what the next value says of the file's style."""
        self.line = found.line
        if not self.style:
            self.style = {"spaced": int(re.search(r'"[^"]*": ', found.text[:200]) is not None)}
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
    ) -> None:
        """Begin a sentence; `more` are keys to be written back."""
        id_key, source_key = self._form.id_key, self._form.source_key
        if not (name is None or isinstance(name, str) or type(name) is int):
            raise DataError(f"the {id_key} is {shown(json.dumps(name))}", expected="a number or a string")
        if not (source is None or isinstance(source, str)):
            raise DataError(f"'{source_key}' is {shown(json.dumps(source))}", expected="a string")
        if not self._count and not self.ids:
            self._named, self._sourced = name is not None, source is not None
        if (name is not None) != self._named:
            raise DataError(f"some sentences have an '{id_key}' and some have none", expected="all or none of them")
        if (source is not None) != self._sourced:
            raise DataError(f"some sentences have a '{source_key}' and some have none", expected="all or none of them")
        self.style["unnumbered"] = int(name is None)
        self.ids.append(name)
        self._lines.append(self.line)
        self._sources.append(source)
        self._references.append(tuple(references))
        self._more.append(_json(more))
        self._bounds.append(len(self._texts))

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
        """Take a finite number, noting where they are integers."""
        if type(value) is int:
            self.style[f"integer {name}"] = 1
        elif type(value) is not float:
            raise DataError(f"{shown(name)} is {shown(json.dumps(value))}", expected="a number")
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if not math.isfinite(number):
            raise DataError(f"{shown(name)} is {shown(str(value))}", expected="a finite number")
        return number

    def check_ids(self, sentences: int | None, path: PathLike) -> None:
        """Refuse ids that are there twice, and another number of sentences than expected."""
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
                    f"{len(missing)} of {sentences} sentences are missing, the first of them is {missing[0]}", path=path
                )
            if len(self.ids) != sentences:
                raise DataError(f"has {len(self.ids)} sentences", path=path, expected=f"{sentences}")

    def taken(self) -> NBest:
        """The lists of all sentences since the last time; the next ones have other words."""
        nbest = self._lists()
        self._count += len(self.ids)
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
            ids=counted_on(self._count, len(self.ids)) if not ids else None if ids == (*range(len(ids)),) else ids,
            sources=tuple(text for text in self._sources if text is not None) or None,
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


def _objects(rows: Ragged[np.uint8] | None, count: int) -> list[dict[str, Any]]:
    if rows is None:
        return [{}] * count
    return [json.loads(row.tobytes()) if len(row) else {} for row in rows]


def _hypotheses(nbest: NBest, extras: Extras, text_key: str) -> list[Written]:
    """The hypotheses as objects, with what was kept of them."""
    texts = nbest.vocab.decode(nbest.hypotheses.values, nbest.hypotheses.offsets).decode().split("\n")[:-1]
    names, values = nbest.features.names, nbest.features.values.tolist()
    integral = {key.removeprefix("integer ") for key in extras.style if key.startswith("integer ")}
    if integral:
        is_integral = np.array([name in integral for name in names], np.bool_)[nbest.features.ids]
        for at in np.flatnonzero(is_integral & (nbest.features.values % 1 == 0)).tolist():
            values[at] = int(values[at])
    ids, bounds = nbest.features.ids.tolist(), nbest.features.offsets.tolist()
    columns = {"score": nbest.scores, "logprob": nbest.logprobs}
    totals = {
        key: [int(x) if key in integral and x % 1 == 0 else x for x in column.tolist()]
        for key, column in columns.items()
        if column is not None and not np.isnan(column).all()
    }
    more = _objects(extras.hypotheses, len(texts))
    found = []
    for h, text in enumerate(texts):
        fields: dict[str, Any] = {"text": more[h].get(text_key, text)}
        for key, column in totals.items():
            if not math.isnan(column[h]):
                fields[key] = column[h]
        if bounds[h] < bounds[h + 1]:
            part = slice(bounds[h], bounds[h + 1])
            features = dict(zip(map(names.__getitem__, ids[part]), values[part], strict=True))
            fields["features"] = features if len(features) == part.stop - part.start else nbest.features.row(h)
        found.append((fields, {key: value for key, value in more[h].items() if key != text_key}))
    return found
