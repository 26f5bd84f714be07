"""Tables with a header, separated by commas, tabs or semicolons: one hypothesis per row, columns by name.

    id,text,score,comet
    0,the house,-0.5,0.81

A column of sentence ids is required (`id`, `sentence`, `sentence_id`, `segment`, `segment_id`, `seg_id` or `sent_id`)
and one of texts (`text`, `hypothesis`, `translation`, `mt`, `candidate` or `output`). `score` and `logprob` are the
score and the log-probability, `source` (`src`) and `reference` (`ref`) belong to the sentence, and `rank` and `index`
are ignored. All other columns of numbers are features; other columns of text are left out with a warning. Quoting
follows RFC 4180. Rows may be in any order; sentences are sorted by their ids, if these have an order (`s2` before
`s17`).
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dragoman.core.corpus import Vocab
from dragoman.core.errors import DataError
from dragoman.core.feature_rows import FeatureRows
from dragoman.core.files import PathLike, read_chunks
from dragoman.core.nbest import Extras, NBest
from dragoman.core.options import option
from dragoman.core.progress import ProgressCallback
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.formats.faults import quote
from dragoman.formats.nbest.format import NBestFormat, suggest_format
from dragoman.formats.nbest.lines import warn_of_empty_hypotheses
from dragoman.formats.nbest.numbers import parse_number
from dragoman.formats.nbest.order import sort_by_id

_NAMES = {
    "id": ("id", "sentence", "sentence_id", "segment", "segment_id", "seg_id", "sent_id"),
    "text": ("text", "hypothesis", "translation", "mt", "candidate", "output"),
    "score": ("score",),
    "logprob": ("logprob", "log_prob"),
    "source": ("source", "src"),
    "reference": ("reference", "ref"),
    "rank": ("rank", "index"),
}
_ROLES = {name: role for role, names in _NAMES.items() for name in names}
_DELIMITERS = {"tab": "\t", "comma": ",", "semicolon": ";"}
_ROWS_A_BLOCK = 1 << 14


@dataclass(frozen=True)
class TableNBest(NBestFormat):
    """Comma- or tab-separated values with a header."""

    name = "csv"
    piecewise = False

    delimiter: Literal["comma", "tab", "semicolon"] | None = option(
        None, "separator of columns (default: as in the header; a comma when writing)"
    )
    quoted: bool = option(
        True, "fields may be in double quotes; false: quotes are text, as in many tab-separated files"
    )

    def read(
        self, path: PathLike, *, sentences: int | None = None, vocab: Vocab | None = None, runtime: Runtime = Runtime()
    ) -> NBest:
        """Read one hypothesis per row."""
        with runtime.stage(f"reading {path}"):
            text = "".join(chunk.data.decode() for chunk in read_chunks(path))
            first = text.partition("\n")[0]
            if not text.strip():
                runtime.warn(f"{path}: the n-best list is empty")
            name = self.delimiter or _delimiter(first)
            lines, rows = self._rows(text, _DELIMITERS[name], path)
            header = [cell.strip() for cell in rows[0]] if rows else []
            try:
                table = _Table(header, lines[1:], rows[1:], path)
            except DataError as error:
                raise suggest_format(error, path, self.name) from None
            style = {"tab": int(name == "tab"), "semicolon": int(name == "semicolon")}
            nbest = sort_by_id(table.lists(vocab or Vocab.of(), style), path, runtime=runtime)
        if table.unread:
            runtime.warn(f"{path}: the columns {', '.join(map(quote, table.unread))} have text and are left out")
        if sentences is not None:
            _check_number(nbest, sentences, path)
        warn_of_empty_hypotheses(nbest.hypotheses, path, runtime=runtime)
        return nbest

    def format_blocks(
        self, nbest: NBest, path: PathLike, progress_callback: ProgressCallback | None = None, *, runtime: Runtime
    ) -> Iterator[bytes]:
        """Yield a header, and one row for each hypothesis."""
        sizes = np.diff(nbest.sentences)
        if empty := int(np.sum(sizes == 0)):
            runtime.warn(f"{path}: {empty} sentences have no hypotheses, and will be missing")
        style = nbest.extras.style if nbest.extras and nbest.extras.format == self.name else {}
        read_with = next((name for name in ("tab", "semicolon") if style.get(name)), "comma")
        columns = _written_columns(nbest, path, runtime)
        stream = io.StringIO()
        try:
            writer = csv.writer(
                stream,
                delimiter=_DELIMITERS[self.delimiter or read_with],
                lineterminator="\n",
                quoting=csv.QUOTE_MINIMAL if self.quoted else csv.QUOTE_NONE,
                quotechar='"' if self.quoted else None,
            )
            writer.writerow(columns)
            for start in range(0, len(nbest.hypotheses), _ROWS_A_BLOCK):
                part = slice(start, start + _ROWS_A_BLOCK)
                writer.writerows(zip(*(column[part] for column in columns.values()), strict=True))
                yield stream.getvalue().encode()
                stream.seek(0)
                stream.truncate()
        except csv.Error:
            raise DataError("a text to write has the delimiter", path=path, expected="quoted fields, or none") from None
        yield stream.getvalue().encode()

    @classmethod
    def looks_like(cls, lines: Sequence[str]) -> bool:
        """Return True if the first line names columns of sentences and texts."""
        names = [cell.strip().strip('"') for cell in lines[0].split(_DELIMITERS[_delimiter(lines[0])])]
        roles = [_ROLES.get(name.lower()) for name in names]
        return "id" in roles and "text" in roles

    def _rows(self, text: str, delimiter: str, path: PathLike) -> tuple[list[int], list[list[str]]]:
        reader = csv.reader(
            io.StringIO(text, newline=""),
            delimiter=delimiter,
            quoting=csv.QUOTE_MINIMAL if self.quoted else csv.QUOTE_NONE,
            strict=True,
        )
        lines, rows, line = [], [], 1
        try:
            for row in reader:
                if row:
                    lines.append(line)
                    rows.append(row)
                line = reader.line_num + 1
        except csv.Error as error:
            hint = "quotes as in RFC 4180, or the option quoted=false"
            raise DataError(f"found wrong quoting ({error})", path=path, line=reader.line_num, expected=hint) from None
        return lines, rows


class _Table:
    """The columns of a table by their roles."""

    def __init__(self, header: Sequence[str], lines: Sequence[int], rows: Sequence[Sequence[str]], path: PathLike):
        self._roles: dict[str, int] = {}
        for i, name in enumerate(header):
            role = _ROLES.get(name.lower())
            if role is not None and self._roles.setdefault(role, i) != i:
                found = f"the columns {quote(header[self._roles[role]])} and {quote(name)} are both the {role}"
                raise DataError(found, path=path, line=1, expected="one column of it")
        missing = [role for role in ("id", "text") if role not in self._roles]
        if header and missing:
            expected = f"one called {', '.join(_NAMES[missing[0]])}"
            raise DataError(f"the header has no column of the {missing[0]}", path=path, line=1, expected=expected)
        if len(set(header)) < len(header):
            raise DataError("two columns have the same name", path=path, line=1, expected="each name once")
        for line, row in zip(lines, rows, strict=True):
            if len(row) != len(header):
                raise DataError(
                    f"found {len(row)} columns", path=path, line=line, expected=f"{len(header)}, as in line 1"
                )
        self._cells = [*zip(*rows, strict=True)] if rows else [()] * len(header)
        self._lines, self._path = lines, path
        others = [i for i, name in enumerate(header) if name.lower() not in _ROLES]
        numeric = {i: self._is_numeric(self._cells[i]) for i in others}
        self.unread = [header[i] or "without a name" for i in others if numeric[i] is False]
        self._features = {header[i]: self._numbers(i, header[i]) for i in others if numeric[i] and header[i]}

    @staticmethod
    def _is_numeric(cells: Sequence[str]) -> bool | None:
        """Return whether the first cell that is not empty is a number; None if all are empty."""
        first = next((cell for cell in cells if cell.strip()), None)
        if first is None:
            return None
        try:
            float(first)
        except ValueError:
            return False
        return True

    def _numbers(self, column: int, name: str) -> NDArray[np.float64]:
        path, lines = self._path, self._lines
        called = f"number of the column '{name}'"
        return np.array(
            [parse_number(cell, path, line, called) for cell, line in zip(self._cells[column], lines, strict=True)],
            np.float64,
        )

    def _role(self, name: str) -> NDArray[np.float64]:
        if name not in self._roles:
            return np.full(len(self._lines), np.nan)
        return self._numbers(self._roles[name], name)

    def lists(self, vocab: Vocab, style: Mapping[str, int]) -> NBest:
        """Return the table as lists, grouped by sentence."""
        names = [cell.strip() for cell in self._cells[self._roles["id"]]] if self._roles else []
        for name, line in zip(names, self._lines, strict=True):
            if not name:
                raise DataError("the sentence's id is empty", path=self._path, line=line, expected="a number or a name")
        numbered = all(name.isascii() and name.isdigit() and str(int(name)) == name for name in names)
        ids: list[int | str] = [int(name) if numbered else name for name in names]
        place = {name: i for i, name in enumerate(dict.fromkeys(ids))}
        homes = np.array([place[name] for name in ids], np.int64)
        order = np.argsort(homes, kind="stable")
        texts = self._cells[self._roles["text"]] if self._roles else ()
        newline = "\n"
        lines = "".join(f"{text.replace(newline, ' ')}\n" for text in texts)
        vocab, words, offsets = vocab.extend(lines.encode())
        firsts = np.unique(homes, return_index=True)[1].tolist()
        logprobs = self._role("logprob")
        return NBest(
            vocab=vocab,
            sentences=np.concatenate([[0], np.cumsum(np.bincount(homes, minlength=len(place)))]).astype(np.int64),
            hypotheses=Ragged(words, offsets).take(order),
            scores=self._role("score")[order],
            features=_feature_rows(self._features, len(ids)).take(order),
            logprobs=None if np.isnan(logprobs).all() else logprobs[order],
            ids=None if [*place] == [*range(len(place))] else tuple(place),
            sources=None if "source" not in self._roles else tuple(self._of_sentences("source", firsts)),
            references=None
            if "reference" not in self._roles
            else tuple((text,) if text else () for text in self._of_sentences("reference", firsts)),
            rows=None if np.array_equal(order, np.arange(len(order))) else order,
            # A hypothesis that lacks a feature has an empty cell there.
            extras=Extras("csv", {**style, "columns": 1}),
        )

    def _of_sentences(self, role: str, firsts: Sequence[int]) -> list[str]:
        cells = self._cells[self._roles[role]]
        return [cells[row] for row in firsts]


def _check_number(nbest: NBest, sentences: int, path: PathLike) -> None:
    """Refuse a wrong number of sentences; numbers must count from 0."""
    named = not any(isinstance(name, int) for name in nbest.sentence_ids)
    if len(nbest) != sentences or (not named and nbest.sentence_ids != (*range(sentences),)):
        which = "" if named else f", which are not 0 to {sentences - 1}"
        raise DataError(f"has {len(nbest)} sentences{which}", path=path, expected=f"{sentences}")


def _delimiter(header: str) -> Literal["tab", "comma", "semicolon"]:
    if "\t" in header:
        return "tab"
    return "semicolon" if ";" in header and "," not in header else "comma"


def _feature_rows(columns: Mapping[str, NDArray[np.float64]], rows: int) -> FeatureRows:
    """Return rows of features without those that a hypothesis lacks; an explicit 0 is kept."""
    if not columns:
        return FeatureRows.zeros(rows)
    matrix = np.stack([*columns.values()], axis=1)
    there = ~np.isnan(matrix)
    offsets = np.concatenate([[0], np.cumsum(there.sum(axis=1))]).astype(np.int64)
    return FeatureRows(tuple(columns), offsets, np.nonzero(there)[1].astype(np.int32), matrix[there])


def _written_columns(nbest: NBest, path: PathLike, runtime: Runtime) -> dict[str, list[str]]:
    sentences = np.repeat(np.arange(len(nbest)), np.diff(nbest.sentences)).tolist()
    names = [str(name) for name in nbest.sentence_ids]
    columns = {
        "id": [names[i] for i in sentences],
        "text": nbest.texts(),
    }
    if any(not name or name != name.strip() for name in names):
        raise DataError(
            "a sentence to write has an id that a table cannot hold", path=path, expected="a number or a name"
        )
    for name, numbers in (("score", nbest.scores), ("logprob", nbest.logprobs)):
        if numbers is not None and not np.isnan(numbers).all():
            columns[name] = _cells(numbers, path)
    if nbest.sources is not None:
        columns["source"] = [nbest.sources[i] for i in sentences]
    if nbest.references is not None:
        if any(len(references) > 1 for references in nbest.references):
            runtime.warn(f"{path}: all references but the first are left out, because csv has a field for only one")
        firsts = [references[0] if references else "" for references in nbest.references]
        columns["reference"] = [firsts[i] for i in sentences]
    features = nbest.features
    there = np.zeros((len(features), len(features.names)), np.bool_)
    there[np.repeat(np.arange(len(features)), np.diff(features.offsets)), features.ids] = True
    matrix = np.where(there, features.dense(), np.nan)
    for name, column in zip(features.names, matrix.T, strict=True):
        if name.lower() in _ROLES or name != name.strip() or not name or "\n" in name or "\r" in name:
            raise DataError(f"a feature to write is called {quote(name)}", path=path, expected="a name of its own")
        columns[name] = _cells(column, path)
    return columns


def _cells(numbers: NDArray[np.float64], path: PathLike) -> list[str]:
    if np.isinf(numbers).any():
        raise DataError("a feature or score to write is not finite", path=path, expected="finite numbers")
    return ["" if math.isnan(number) else repr(number) for number in numbers.tolist()]
