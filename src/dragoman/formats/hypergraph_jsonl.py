"""Dragoman's format of hypergraphs: one JSON object per line.

    {"id": 0, "root": 2, "nodes": 3,
     "templates": [["the"], [0, "black cat"], [0, "sees", 1]],
     "edges": [[0, -1, -1, 0, 0, 1, -0.5], ...],
     "features": {"names": ["lm", "tm.fwd"], "rows": [[0, -1.5, 1, -0.25], ...]}}

A template is a list of strings, each of one or more words separated by spaces, and of the numbers 0 and 1, which stand
for the words of the first and second tail. An edge is [head, first tail, second tail, template, source begin, source
end, score], with -1 for missing tails; edges are sorted by head. Row i of the features belongs to edge i: feature
numbers and values alternate. "features" may be missing. Numbers are read back exactly as written.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.core.corpus import Vocab
from dragoman.core.errors import DataError
from dragoman.core.feature_rows import FeatureRows
from dragoman.core.files import PathLike, read_lines
from dragoman.core.hypergraph import Hypergraph
from dragoman.core.ragged import Ragged


def read_hypergraphs(path: PathLike) -> Iterator[Hypergraph]:
    """Yield the hypergraphs of a file, each checked.

    The vocabulary of each hypergraph extends that of the one before, so that a word has the same id in all of them.
    """
    vocab = Vocab.of()
    for number, line in enumerate(read_lines(path), 1):
        try:
            graph = parse_hypergraph(line, vocab)
            graph.check()
        except DataError as error:
            raise DataError(str(error), path=path, line=number) from None
        vocab = graph.vocab
        yield graph


def format_hypergraph(graph: Hypergraph, number: int = 0) -> str:
    """Write one hypergraph as a line of JSON."""
    tails, spans = graph.tails.T.tolist(), graph.spans.T.tolist()
    columns = [graph.heads.tolist(), *tails, graph.template_ids.tolist(), *spans, graph.scores.tolist()]
    fields: dict[str, Any] = {"id": number, "root": graph.root, "nodes": graph.nodes}
    fields["templates"] = [_template(row.tolist(), graph.vocab) for row in graph.templates]
    fields["edges"] = list(zip(*columns, strict=True))
    if graph.features is not None:
        fields["features"] = {"names": graph.features.names, "rows": _feature_rows(graph.features)}
    try:
        return json.dumps(fields, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except ValueError:
        raise DataError("the hypergraph has a score or feature that is not finite") from None


def _template(symbols: list[int], vocab: Vocab) -> list[str | int]:
    parts: list[str | int] = []
    for is_tail, group in itertools.groupby(symbols, lambda symbol: symbol < 0):
        run = list(group)
        parts += [-1 - symbol for symbol in run] if is_tail else [vocab.text(run)]
    return parts


def _feature_rows(features: FeatureRows) -> list[list[int | float]]:
    flat: list[int | float] = [0] * (2 * len(features.ids))
    flat[::2] = features.ids.tolist()
    flat[1::2] = features.values.tolist()
    bounds = (2 * features.offsets).tolist()
    return [flat[begin:end] for begin, end in itertools.pairwise(bounds)]


def parse_hypergraph(line: str, vocab: Vocab) -> Hypergraph:
    """Parse one line; nodes and edges are not checked yet."""
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError):
        raise DataError("this is not JSON", expected="one hypergraph a line") from None
    missing = {"root", "nodes", "templates", "edges"} - set(fields if isinstance(fields, dict) else ())
    if missing:
        raise DataError(f"the hypergraph has no {', '.join(sorted(missing))}")
    nodes, root = _integers([fields["nodes"], fields["root"]], "a number of nodes or root").tolist()
    if nodes < 1:
        raise DataError(f"the hypergraph has {nodes} nodes", expected="at least 1")
    edges = _lists(fields["edges"], "edges")
    if any(len(edge) != 7 for edge in edges):
        raise DataError(
            "an edge does not have 7 values", expected="head, two tails, template, source begin and end, score"
        )
    columns = list(zip(*edges, strict=True)) or [()] * 7
    heads = _integers(columns[0], "a head")
    if len(heads) and (heads[0] < 0 or heads[-1] >= nodes or bool((np.diff(heads) < 0).any())):
        raise DataError("the heads of edges are not in order, or not nodes")
    vocab, templates = _templates(fields["templates"], vocab)
    return Hypergraph(
        vocab=vocab,
        root=root,
        first_edge=np.searchsorted(heads, np.arange(nodes + 1)).astype(np.int64),
        tails=np.stack([_integers(column, "a tail") for column in columns[1:3]], axis=1),
        template_ids=_integers(columns[3], "a template"),
        templates=templates,
        spans=np.stack([_integers(column, "a source position") for column in columns[4:6]], axis=1),
        scores=_numbers(columns[6], "a score"),
        features=_features(fields["features"], len(edges)) if "features" in fields else None,
    )


def _templates(rows: Any, vocab: Vocab) -> tuple[Vocab, Ragged[np.int32]]:
    parts = [part for row in _lists(rows, "templates") for part in row]
    for part in parts:
        is_text = isinstance(part, str) and "\n" not in part
        if not is_text and not (type(part) is int and part in (0, 1)):
            raise DataError(f"a template has {json.dumps(part)}", expected="words, 0 and 1")
    # Each part is a line of text; a tail is an empty line, which gets its mark.
    text = "".join(f"{part}\n" if isinstance(part, str) else "\n" for part in parts)
    try:
        vocab, ids, lines = vocab.extend(text.encode())
    except UnicodeEncodeError:
        raise DataError("a template has half a surrogate pair", expected="words of Unicode characters") from None
    is_tail = np.array([not isinstance(part, str) for part in parts], np.bool_)
    tails = np.array([-1 - int(part) for part in parts if not isinstance(part, str)], np.int32)
    lengths = np.diff(lines) + is_tail
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    values = np.empty(starts[-1], np.int32)
    at_tail = np.zeros(len(values), np.bool_)
    at_tail[starts[:-1][is_tail]] = True
    values[at_tail], values[~at_tail] = tails, ids
    counts = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    return vocab, Ragged(values, starts[counts])


def _features(fields: Any, edges: int) -> FeatureRows:
    if not isinstance(fields, dict) or not {"names", "rows"} <= set(fields):
        raise DataError("the features have no names or rows")
    names, rows = fields["names"], _lists(fields["rows"], "feature rows")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise DataError("the names of features are not strings")
    if len(rows) != edges or any(len(row) % 2 for row in rows):
        raise DataError(f"there are {len(rows)} feature rows", expected=f"{edges}, of numbers and values in turn")
    flat = [value for row in rows for value in row]
    ids, values = _integers(flat[::2], "a feature"), _numbers(flat[1::2], "a feature value")
    if len(ids) and not 0 <= int(ids.min()) <= int(ids.max()) < len(names):
        raise DataError("a feature row has a feature without a name")
    return FeatureRows(tuple(names), np.cumsum([0, *(len(row) // 2 for row in rows)], dtype=np.int64), ids, values)


def _lists(values: Any, what: str) -> list[list[Any]]:
    if not isinstance(values, list) or not all(isinstance(value, list) for value in values):
        raise DataError(f"the {what} are not a list of lists")
    return values


def _integers(values: Any, what: str) -> NDArray[np.int32]:
    array = _array(values, what)
    if array.size and (array.dtype.kind != "i" or not -(2**31) <= int(array.min()) <= int(array.max()) < 2**31):
        raise DataError(f"{what} is not a whole number of 32 bits")
    return array.astype(np.int32)


def _numbers(values: Any, what: str) -> NDArray[np.float64]:
    array = _array(values, what)
    if array.size and (array.dtype.kind not in "iuf" or not bool(np.isfinite(array).all())):
        raise DataError(f"{what} is not a number")
    return array.astype(np.float64)


def _array(values: Any, what: str) -> NDArray[Any]:
    try:
        array = np.array(values)
    except (ValueError, OverflowError):
        raise DataError(f"{what} is not a number") from None
    if array.ndim != 1:
        raise DataError(f"{what} is not a number")
    return array
