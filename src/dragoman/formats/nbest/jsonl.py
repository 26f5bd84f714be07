"""N-best lists as JSON, one sentence a line, for the output of neural systems and language models:

    {"id":7,"src":"la maison","hyps":[{"text":"the house","logprob":-1.5,"features":{"lm":-9.25}}],"refs":["a house"]}

(the keys of a sentence are "id", a number or a string, "src", "hyps" and "refs"; those of a hypothesis "text", "score",
"logprob" and "features"). Only "hyps" and "text" must be there. Other keys are kept in `NBest.extras` and written back,
after the known ones. A text is split into words at ASCII white space; one with other white space than single spaces
between words is kept as it was, too. Integers are written as integers where the file had them.
"""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dragoman.core.errors import DataError
from dragoman.core.feature_rows import FeatureRows
from dragoman.core.files import PathLike, read_lines
from dragoman.core.nbest import Extras, NBest
from dragoman.core.progress import SILENT, Progress, ShareDone
from dragoman.core.ragged import Ragged
from dragoman.core.vocab import Vocab
from dragoman.formats.faults import shown
from dragoman.formats.nbest.format import NBestFormat, with_other_look
from dragoman.formats.nbest.lines import warn_of_empty

_EXAMPLE = '\'{"id":…,"src":…,"hyps":[{"text":…,"logprob":…,"features":{…}}],"refs":[…]}\''
_SENTENCE_KEYS = {"id", "src", "hyps", "refs"}
_HYPOTHESIS_KEYS = {"text", "score", "logprob", "features"}
_ODD_SPACE = re.compile(r"[\t\n\v\f\r]|  |^ | $")
_COMPACT = (",", ":")


@dataclass(frozen=True)
class JsonlNBest(NBestFormat):
    """One JSON object a line: a sentence with its hypotheses."""

    name = "jsonl"

    def read(
        self, path: PathLike, *, sentences: int | None = None, vocab: Vocab | None = None, progress: Progress = SILENT
    ) -> NBest:
        """Read one sentence a line."""
        found = _Sentences()
        with progress.stage(f"reading {path}"):
            for number, line in enumerate(read_lines(path), 1):
                try:
                    found.add(line)
                except DataError as error:
                    raise with_other_look(DataError(str(error), path=path, line=number), path, self.name) from None
            _check_ids(found.ids, sentences, path)
            nbest = found.finish(vocab or Vocab.of())
        if empty := int(np.sum(np.diff(nbest.sentences) == 0)):
            progress.warn(f"{path}: {empty} sentences have no hypotheses")
        if len(nbest) == 0:
            progress.warn(f"{path}: the n-best list is empty")
        warn_of_empty(nbest.hypotheses, path, progress)
        return nbest

    def blocks(
        self, nbest: NBest, path: PathLike = "-", progress: Progress = SILENT, done: ShareDone | None = None
    ) -> Iterator[bytes]:
        """Yield one sentence a line."""
        extras = nbest.extras if nbest.extras and nbest.extras.format == self.name else Extras(self.name, {})
        encoder = json.JSONEncoder(
            ensure_ascii=bool(extras.style.get("ascii", False)),
            allow_nan=False,
            separators=None if extras.style.get("spaced", False) else _COMPACT,
        )
        hypotheses = _hypotheses(nbest, extras)
        names: Sequence[int | str | None] = nbest.sentence_ids
        if extras.style.get("unnumbered", False):
            names = [None] * len(nbest)
        more = _objects(extras.sentences, len(nbest))
        for i, (begin, end) in enumerate(itertools.pairwise(nbest.sentences.tolist())):
            fields: dict[str, Any] = {} if names[i] is None else {"id": names[i]}
            if nbest.sources is not None:
                fields["src"] = nbest.sources[i]
            fields["hyps"] = hypotheses[begin:end]
            if nbest.references is not None and nbest.references[i]:
                fields["refs"] = nbest.references[i]
            try:
                yield f"{encoder.encode(fields | more[i])}\n".encode()
            except ValueError:
                raise DataError(
                    "a feature or score to write is not finite", path=path, line=i + 1, expected="finite numbers"
                ) from None
            if done is not None:
                done((i + 1) / len(nbest))

    @classmethod
    def looks_like(cls, lines: Sequence[str]) -> bool:
        """Say whether the first line is an object with hypotheses, or a part of a long one."""
        return re.match(r'\s*\{\s*"', lines[0]) is not None


class _Sentences:
    """What has been read, line by line; one list for each column of the result."""

    def __init__(self) -> None:
        self.ids: list[int | str | None] = []
        self._sources: list[str | None] = []
        self._references: list[tuple[str, ...]] = []
        self._more: list[bytes] = []
        self._bounds = [0]
        self._texts: list[str] = []
        self._numbers: dict[str, list[float]] = {"score": [], "logprob": []}
        self._hypothesis_more: list[bytes] = []
        self._features: dict[str, int] = {}
        self._feature_ids: list[int] = []
        self._feature_values: list[float] = []
        self._feature_bounds = [0]
        self._style: dict[str, int] = {}

    def add(self, line: str) -> None:
        try:
            fields = _DECODER.decode(line)
        except RecursionError:
            raise DataError("the JSON is nested too deeply", expected=_EXAMPLE) from None
        except ValueError:
            raise DataError(f"found {shown(line)}, which is not JSON", expected=_EXAMPLE) from None
        hyps = fields.get("hyps") if isinstance(fields, dict) else None
        if not isinstance(hyps, list):
            raise DataError(f"found {shown(line)}, without a list 'hyps'", expected=_EXAMPLE)
        name, source, references = fields.get("id"), fields.get("src"), fields.get("refs", [])
        if not (name is None or isinstance(name, str) or type(name) is int):
            raise DataError(f"the id is {shown(json.dumps(name))}", expected="a number or a string")
        if not (source is None or isinstance(source, str)):
            raise DataError(f"'src' is {shown(json.dumps(source))}", expected="a string")
        if not (isinstance(references, list) and all(isinstance(text, str) for text in references)):
            raise DataError(f"'refs' is {shown(json.dumps(references))}", expected="a list of strings")
        if self.ids and (name is None) != (self.ids[0] is None):
            raise DataError("some sentences have an 'id' and some have none", expected="all or none of them")
        if self.ids and (source is None) != (self._sources[0] is None):
            raise DataError("some sentences have a 'src' and some have none", expected="all or none of them")
        if not self.ids:
            self._style = {"spaced": int(re.match(r'\{"[^"]*": ', line) is not None), "unnumbered": int(name is None)}
        self._style["ascii"] = int(self._style.get("ascii", True) and line.isascii())
        if "\\u" in line:
            self._style["escapes"] = 1
            _check_surrogates(fields)
        self.ids.append(name)
        self._sources.append(source)
        self._references.append(tuple(references))
        self._more.append(_json({key: fields[key] for key in fields.keys() - _SENTENCE_KEYS}, fields))
        for hypothesis in hyps:
            self._add_hypothesis(hypothesis)
        self._bounds.append(len(self._texts))

    def _add_hypothesis(self, fields: Any) -> None:
        text = fields.get("text") if isinstance(fields, dict) else None
        if not isinstance(text, str):
            raise DataError(
                f"found the hypothesis {shown(json.dumps(fields))}, without a string 'text'", expected=_EXAMPLE
            )
        more = {key: fields[key] for key in fields.keys() - _HYPOTHESIS_KEYS}
        if _ODD_SPACE.search(text):
            more["text"] = text
            text = text.replace("\n", " ")
        self._texts.append(text)
        self._hypothesis_more.append(_json(more, fields))
        for key, numbers in self._numbers.items():
            value = fields.get(key)
            numbers.append(math.nan if value is None else self._number(value, key))
        features = fields.get("features", {})
        if not isinstance(features, dict):
            raise DataError(f"'features' is {shown(json.dumps(features))}", expected="an object of names and numbers")
        for name, value in features.items():
            self._feature_ids.append(self._features.setdefault(name, len(self._features)))
            self._feature_values.append(self._number(value, name))
        self._feature_bounds.append(len(self._feature_ids))

    def _number(self, value: Any, name: str) -> float:
        if type(value) is int:
            self._style[f"integer {name}"] = 1
        elif type(value) is not float:
            raise DataError(f"{shown(name)} is {shown(json.dumps(value))}", expected="a number")
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if not math.isfinite(number):
            raise DataError(f"{shown(name)} is {shown(str(value))}", expected="a finite number")
        return number

    def finish(self, vocab: Vocab) -> NBest:
        vocab, words, bounds = vocab.extend("".join(f"{text}\n" for text in self._texts).encode())
        style = {**self._style, "ascii": int(self._style.get("ascii", 0) and self._style.get("escapes", 0))}
        logprobs = np.array(self._numbers["logprob"], np.float64)
        ids = tuple(name for name in self.ids if name is not None)
        return NBest(
            vocab=vocab,
            sentences=np.array(self._bounds, np.int64),
            hypotheses=Ragged(words, bounds),
            scores=np.array(self._numbers["score"], np.float64),
            features=FeatureRows(
                tuple(self._features),
                np.array(self._feature_bounds, np.int64),
                np.array(self._feature_ids, np.int32),
                np.array(self._feature_values, np.float64),
            ),
            logprobs=None if np.isnan(logprobs).all() else logprobs,
            ids=None if ids in ((), (*range(len(ids)),)) else ids,
            sources=tuple(text for text in self._sources if text is not None) or None,
            references=tuple(self._references) if any(self._references) else None,
            extras=Extras(JsonlNBest.name, style, _rows(self._hypothesis_more), _rows(self._more)),
        )


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        raise DataError(f"the key {shown(twice)} is there twice in one object", expected="each key once")
    return fields


def _not_finite(name: str) -> float:
    raise DataError(f"found {name}", expected="a finite number")


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_not_finite)


def _check_surrogates(fields: Any) -> None:
    try:
        json.dumps(fields, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise DataError("a string has half of a surrogate pair", expected="text that UTF-8 can hold") from None


def _json(fields: Mapping[str, Any], order: Iterable[str]) -> bytes:
    """The fields as JSON, in the given order; nothing if there are none."""
    return json.dumps({key: fields[key] for key in order if key in fields}).encode() if fields else b""


def _rows(texts: Sequence[bytes]) -> Ragged[np.uint8] | None:
    if not any(texts):
        return None
    offsets = np.cumsum([0, *map(len, texts)], dtype=np.int64)
    return Ragged(np.frombuffer(b"".join(texts), np.uint8), offsets)


def _objects(rows: Ragged[np.uint8] | None, count: int) -> list[dict[str, Any]]:
    if rows is None:
        return [{}] * count
    return [json.loads(row.tobytes()) if len(row) else {} for row in rows]


def _check_ids(ids: Sequence[int | str | None], sentences: int | None, path: PathLike) -> None:
    lines: dict[int | str, int] = {}
    for line, name in enumerate(ids, 1):
        if name is not None and lines.setdefault(name, line) != line:
            raise DataError(
                f"the sentence with the id {name!r} comes again, after line {lines[name]}",
                path=path,
                line=line,
                expected="one line for each sentence",
            )
    if sentences is not None:
        numbered = all(type(name) is int for name in lines)
        missing = [i for i in range(sentences) if i not in lines] if lines and numbered else []
        if missing:
            raise DataError(
                f"{len(missing)} of {sentences} sentences are missing, the first of them is {missing[0]}", path=path
            )
        if len(ids) != sentences:
            raise DataError(f"has {len(ids)} sentences", path=path, expected=f"{sentences}")


def _hypotheses(nbest: NBest, extras: Extras) -> list[dict[str, Any]]:
    """The hypotheses as JSON objects."""
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
        fields: dict[str, Any] = {"text": text}
        for key, column in totals.items():
            if not math.isnan(column[h]):
                fields[key] = column[h]
        if bounds[h] < bounds[h + 1]:
            part = slice(bounds[h], bounds[h + 1])
            features = dict(zip(map(names.__getitem__, ids[part]), values[part], strict=True))
            fields["features"] = features if len(features) == part.stop - part.start else nbest.features.row(h)
        found.append(fields | more[h])
    return found
