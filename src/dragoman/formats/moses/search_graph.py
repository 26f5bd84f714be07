"""Moses' search graphs (`-output-search-graph`): one hypothesis per line, sentence by sentence.

    256 hyp=6566 stack=2 back=23 score=-2.156 transition=-0.921 recombined=6302 forward=15519 fscore=-112.807
        covered=2-2 out=countries

(on one line). Hypothesis 6566 of sentence 256 covers 2 source words; it translates source word 2 as "countries" after
hypothesis 23, which adds -0.921 to the score. It was recombined with the better hypothesis 6302, whose
successors also follow it. So a node is a hypothesis that was not recombined, and every line is an edge from `back` to
its own node, or to the node of `recombined`. Edges without words join the hypotheses of the last stack into one root.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from dragoman.core.corpus import Vocab
from dragoman.core.errors import DataError
from dragoman.core.files import PathLike, read_chunks
from dragoman.core.hypergraph import Hypergraph
from dragoman.core.ragged import Ragged

_ID = r"[0-9]{1,9}"
_NUMBER = r"-?[0-9]+(?:\.[0-9]*)?(?:e[-+]?[0-9]{1,3})?"
_LINE = re.compile(
    rf"^{_ID} hyp=({_ID}) stack=({_ID}) back=({_ID}) score={_NUMBER} transition=({_NUMBER})(?: recombined=({_ID}))?"
    rf" forward=-?{_ID} fscore={_NUMBER} covered=({_ID})-({_ID}) out=([^\n]*)$",
    re.MULTILINE,
)
_START = re.compile(rf"^{_ID} hyp=0 stack=0[ \r]*$", re.MULTILINE)


def read_search_graph(path: PathLike) -> Iterator[Hypergraph]:
    """Yield the search graph of each sentence; scores are the transitions.

    The vocabulary of each hypergraph extends that of the one before, so that a word has the same id in all of them.
    """
    vocab = Vocab.of()
    for text, first_line in _sentences(path):
        graph = _parse(text, vocab, path, first_line)
        vocab = graph.vocab
        yield graph


def _sentences(path: PathLike) -> Iterator[tuple[str, int]]:
    """Yield the lines of each sentence, which begin with hypothesis 0, and the number of the first line."""
    rest, line = "", 1
    for chunk in read_chunks(path):
        text = rest + chunk.data.decode("utf-8")
        starts = [match.start() for match in _START.finditer(text)]
        if not starts or starts[0] > 0:
            raise DataError("hypothesis 0 is missing", path=path, line=line, expected="'0 hyp=0 stack=0'")
        for begin, end in itertools.pairwise(starts):
            yield text[begin:end], line
            line += text.count("\n", begin, end)
        rest = text[starts[-1] :]
    if rest:
        yield rest, line


def _parse(text: str, vocab: Vocab, path: PathLike, first_line: int) -> Hypergraph:
    rows = _LINE.findall(text)
    if len(rows) + 1 != text.count("\n"):
        raise _bad_line(text, path, first_line)
    names, stacks, backs, transitions, winners, begins, ends, outs = list(zip(*rows, strict=True)) or [()] * 8
    hypotheses, stack = np.array(["0", *names]).astype(np.int64), np.array(["0", *stacks]).astype(np.int64)
    winner = np.array([winner or name for name, winner in zip(names, winners, strict=True)], np.int64)
    survivors = np.append(True, hypotheses[1:] == winner)
    if len(np.unique(hypotheses)) != len(hypotheses):
        raise DataError("two hypotheses have the same number", path=path, line=first_line)

    # Nodes: hypotheses that were not recombined, in the order of stacks, so that tails precede heads; then the root.
    order = np.flatnonzero(survivors)[np.argsort(stack[survivors], kind="stable")]
    by_name = np.argsort(hypotheses[order])
    sorted_names = hypotheses[order][by_name]

    def nodes(wanted: NDArray[np.int64]) -> NDArray[np.int64]:
        place = np.minimum(np.searchsorted(sorted_names, wanted), len(sorted_names) - 1)
        lost = np.flatnonzero(sorted_names[place] != wanted)
        if len(lost):
            raise DataError(
                f"hypothesis {wanted[lost[0]]} is referred to, but not there or itself recombined",
                path=path,
                line=first_line,
            )
        return by_name[place]

    final = np.flatnonzero(stack[order] == stack.max())
    vocab, words, bounds = vocab.extend("".join(f"{out}\n" for out in outs).encode())
    # Edges: the start, without words; the lines; those into the root.
    heads = np.concatenate([[0], nodes(winner), np.full(len(final), len(order))])
    tails = np.concatenate([[-1], nodes(np.array(backs, np.int64)), final])
    scores = np.concatenate([[0.0], np.array(transitions, np.float64), np.zeros(len(final))])
    covered = np.stack([np.array(begins, np.int64), np.array(ends, np.int64) + 1], axis=1)
    spans = np.concatenate([[[0, 0]], covered, np.full((len(final), 2), stack.max())]).astype(np.int32)
    # Templates, in the same order: empty; a tail and words; a tail.
    lengths = np.diff(bounds)
    values = np.insert(words, bounds[:-1], -1).astype(np.int32)
    offsets = np.concatenate([[0, 0], np.cumsum(lengths + 1), [len(values) + 1]]).astype(np.int64)
    templates = Ragged(np.append(values, np.int32(-1)), offsets)
    template_ids = np.minimum(np.arange(len(heads)), len(rows) + 1)

    grouped = np.argsort(heads, kind="stable")
    graph = Hypergraph(
        vocab=vocab,
        root=len(order),
        first_edge=np.searchsorted(heads[grouped], np.arange(len(order) + 2)).astype(np.int64),
        tails=np.stack([tails[grouped], np.full(len(heads), -1)], axis=1).astype(np.int32),
        template_ids=template_ids[grouped].astype(np.int32),
        templates=templates,
        spans=spans[grouped],
        scores=scores[grouped],
    )
    try:
        graph.check()
    except DataError as error:
        raise DataError(str(error), path=path, line=first_line) from None
    return graph


def _bad_line(text: str, path: PathLike, first_line: int) -> DataError:
    for number, line in enumerate(text.split("\n")[1:], first_line + 1):
        if not _LINE.fullmatch(line):
            return DataError(
                f"found '{line[:80]}'",
                path=path,
                line=number,
                expected="a line of Moses' search graph, in the plain format (not extended)",
            )
    raise AssertionError("all lines are good")
