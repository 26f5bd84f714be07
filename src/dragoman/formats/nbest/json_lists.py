"""The base of all JSON formats: it converts JSON values to lists and back.

Keys that a format does not know are kept in `NBest.extras` and written back. A text is split into words at ASCII white
space. Where a hypothesis is an object of its own, the original text is kept too if it has other white space than single
spaces between words.
"""

from __future__ import annotations

import itertools
import json
import math
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dragoman.core.corpus import Vocab
from dragoman.core.errors import DataError
from dragoman.core.files import PathLike
from dragoman.core.nbest import Extras, NBest
from dragoman.core.options import option
from dragoman.core.progress import ProgressCallback
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.formats.faults import quote
from dragoman.formats.nbest.format import NBestFormat, suggest_format
from dragoman.formats.nbest.json_rows import FailurePolicy, RowFormat, Rows
from dragoman.formats.nbest.json_values import JsonReader, JsonValue
from dragoman.formats.nbest.lines import EmptyHypotheses
from dragoman.formats.nbest.order import sort_by_id

#: A hypothesis to write: its text, score, logprob and features, if any, and further keys of its file.
HypothesisFields = tuple[dict[str, Any], dict[str, Any]]


@dataclass(frozen=True)
class JsonSentence:
    """A sentence to write; `name` is None if it needs none, `more` are further keys of its file."""

    name: int | str | None
    source: str | None
    references: Sequence[str]
    hypotheses: Sequence[HypothesisFields]
    more: Mapping[str, Any]
    style: Mapping[str, int]


@dataclass(frozen=True)
class JsonNBest(NBestFormat):
    """JSON, by default one value per sentence."""

    #: Example of a value, for messages.
    example: ClassVar[str]
    #: The keys of an id, a source and a text; empty if the format has none.
    id_key: ClassVar[str] = "id"
    source_key: ClassVar[str] = "src"
    text_key: ClassVar[str] = "text"
    #: True if a file may be one list of values; true if NaN and Infinity are allowed; true if keys are sorted.
    lists: ClassVar[bool] = True
    constants: ClassVar[bool] = False
    sorted_keys: ClassVar[bool] = False
    #: True if ids are written even if they count from 0 and the file had none.
    always_numbered: ClassVar[bool] = False
    #: True if sentences may come in any order, so that all must be read first.
    any_order: ClassVar[bool] = False

    failed: FailurePolicy = option(
        "empty", "sentences without hypotheses: empty (kept as empty lists), skip (left out) or refuse"
    )

    def read(
        self, path: PathLike, *, sentences: int | None = None, vocab: Vocab | None = None, runtime: Runtime = Runtime()
    ) -> NBest:
        """Read all values."""
        with runtime.stage(f"reading {path}"):
            (nbest,) = self._read(path, self._rows(vocab), sentences, runtime)
        return nbest

    def read_blocks(
        self, path: PathLike, *, progress_callback: ProgressCallback | None = None, runtime: Runtime = Runtime()
    ) -> Iterator[NBest]:
        """Read the sentences as they come, unless they may be in any order."""
        if self.any_order:
            yield self.read(path, runtime=runtime)
        else:
            yield from self._read(path, self._rows(), None, runtime, progress_callback, in_blocks=True)

    def _rows(self, vocab: Vocab | None = None) -> Rows:
        return Rows(RowFormat(self.name, self.id_key, self.source_key, self.text_key, self.failed), vocab)

    def _read(
        self,
        path: PathLike,
        rows: Rows,
        sentences: int | None,
        runtime: Runtime,
        progress_callback: ProgressCallback | None = None,
        *,
        in_blocks: bool = False,
    ) -> Iterator[NBest]:
        """Yield the lists of a file: all at once, or in blocks of what has come so far."""
        wordless, count = EmptyHypotheses(path), 0
        found = self._take_all(self._values(path, rows, progress_callback), rows)
        more = True
        while more:
            try:
                # Read up to the last value that has come so far; False at the end of the file.
                more = any(in_blocks and one.latest for one in found)
            except DataError as error:
                if error.path is None:
                    error = DataError(str(error), path=path, line=rows.line)
                raise suggest_format(error, path, self.name) from None
            rows.ids = self._ids(rows.ids)
            rows.check_ids(sentences, path)
            nbest = rows.take_lists(path)
            if self.any_order:
                nbest = sort_by_id(nbest, path, runtime=runtime)
            wordless.count(nbest.hypotheses)
            count += len(nbest)
            if len(nbest) or not in_blocks:
                yield nbest
        rows.failures.warn(path, runtime=runtime)
        if not count:
            runtime.warn(f"{path}: the n-best list is empty")
        wordless.warn(runtime=runtime)

    def format_blocks(
        self, nbest: NBest, path: PathLike, progress_callback: ProgressCallback | None = None, *, runtime: Runtime
    ) -> Iterator[bytes]:
        """Yield a line for each sentence or, in some formats, for each hypothesis."""
        nbest = self.drop_unsupported(nbest, path, runtime=runtime)
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
            sentence = JsonSentence(
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
                raise DataError(f"list {i + 1} to write {error}", path=path) from None
            except ValueError:
                raise DataError(
                    "a feature or score to write is not finite", path=path, line=i + 1, expected="finite numbers"
                ) from None
            if progress_callback is not None:
                progress_callback((i + 1) / len(nbest))

    def _take_all(self, found: Iterable[JsonValue], rows: Rows) -> Iterator[JsonValue]:
        """Read all values; yield those that complete a sentence."""
        for one in found:
            if not isinstance(one.value, dict):
                raise DataError(f"found {quote(one.text)}, which is not an object", expected=self.example)
            self._take(one.value, one.text, rows)
            yield one

    def _ids(self, ids: list[int | str | None]) -> list[int | str | None]:
        """Convert the ids, if the format needs it."""
        return ids

    @abstractmethod
    def _take(self, fields: dict[str, Any], text: str, rows: Rows) -> None:
        """Read one value; its `text` is for messages."""

    @abstractmethod
    def _give(self, sentence: JsonSentence) -> Iterator[Any]:
        """Yield the values of one sentence."""

    def _head(self, sentence: JsonSentence) -> dict[str, Any]:
        """Return the first fields of an object: the id and source of the sentence, if there are any."""
        named = {self.id_key: sentence.name, self.source_key: sentence.source}
        return {key: value for key, value in named.items() if key and value is not None}

    def _list(self, fields: Any, key: str, text: str) -> list[Any]:
        """Return the list that an object must have under a key, empty for null; the object's `text` is for messages."""
        found = fields.get(key, 0) if isinstance(fields, dict) else 0
        if not isinstance(found, list | None):
            raise DataError(f"found {quote(text)}, without a list '{key}'", expected=self.example)
        return found or []

    def _string(self, fields: Any, called: str) -> str | None:
        """Return the text that an object must have, or None for null; messages name the object `called`."""
        found = fields.get(self.text_key, 0) if isinstance(fields, dict) else 0
        if not isinstance(found, str | None):
            wrong = f"found the {called} {quote(json.dumps(fields))}, without a string '{self.text_key}'"
            raise DataError(wrong, expected=self.example)
        return found

    def _values(self, path: PathLike, rows: Rows, progress_callback: ProgressCallback | None) -> Iterator[JsonValue]:
        for one in JsonReader(self.example, self.lists, self.constants).values(path, progress_callback):
            rows.begin(one)
            yield one


def _objects(rows: Ragged[np.uint8] | None, count: int) -> list[dict[str, Any]]:
    if rows is None:
        return [{}] * count
    return [json.loads(row.tobytes()) if len(row) else {} for row in rows]


def _hypotheses(nbest: NBest, extras: Extras, text_key: str) -> list[HypothesisFields]:
    """Return the hypotheses as objects, with their further keys."""
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
