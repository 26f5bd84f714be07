"""SampleRank by its definition: every neighbour listed, scored from its features, and judged from its words."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from dragoman.core.feature_rows import Weights
from dragoman.core.ragged import Ragged
from dragoman.features import DocumentFeature
from dragoman.search.phrase.batch import PhraseBatch
from dragoman.search.phrase.lattice import option_features
from oracles.sampler import Blocks, Point

#: In the kernel's order.
OPERATORS = ("merge_split", "reorder", "retranslate")

Row = tuple[int, ...]


class Echo(DocumentFeature):
    """How many words of a document's translation have stood in it before."""

    name = "echo"

    def value(self, source, target, changed):
        """The number of words less that of different ones."""
        words = np.concatenate(target)
        return float(len(words) - len(np.unique(words)))


def global_features(
    sources: Sequence[Sequence[str]], targets: Sequence[Sequence[str]], sentence: int, document: Sequence[int]
) -> dict[str, float]:
    """The values of the two for a sentence, and for the document that it stands in."""
    ratio = (len(targets[sentence]) + 1) / (len(sources[sentence]) + 1)
    text = [word for s in document for word in targets[s]]
    return {"length_ratio": -abs(math.log(ratio)), "echo": float(len(text) - len(set(text)))}


@dataclass(frozen=True)
class Placed:
    """An option by its number in its sentence."""

    begin: int
    end: int
    number: int


class NumberedBlocks(Blocks):
    """The blocks of one sentence of a batch; derivations are rows of options."""

    draws_pairs_apart = True

    def __init__(self, batch: PhraseBatch, sentence: int, limit: int):
        options = batch.options
        self.length = len(options.source.sentences[sentence])
        self.limit = limit
        self.spans = {}
        self._placed = []
        first = int(options.offsets[sentence])
        for option in range(first, int(options.offsets[sentence + 1])):
            placed = Placed(int(options.begin[option]), int(options.end[option]), option - first)
            self.spans.setdefault((placed.begin, placed.end), []).append(placed)
            self._placed.append(placed)

    def rows(self, row: Row, operator: int, first: int, second: int) -> list[Row]:
        """The block of a row at a point."""
        derivation = tuple(self._placed[number] for number in row)
        found = self.block(derivation, Point(OPERATORS[operator], first, second))
        return [tuple(placed.number for placed in one) for one in found]


def features(batch: PhraseBatch, sentence: int, rows: Sequence[Row]) -> list[dict[str, float]]:
    """The features of derivations of a sentence."""
    found = option_features(batch, Ragged.of(rows, np.int32), np.full(len(rows), sentence))
    return [found.row(i) for i in range(len(rows))]


def score(row: dict[str, float], weights: Weights) -> float:
    """The weighted sum."""
    return math.fsum(value * weights.get(name, 0.0) for name, value in row.items())


def words(batch: PhraseBatch, sentence: int, row: Row) -> list[str]:
    """The translation."""
    options = batch.options
    first = int(options.offsets[sentence])
    return [word for number in row for word in options.vocab.text(options.words[first + number]).split()]


def bleu(
    hypotheses: Sequence[Sequence[str]], references: Sequence[Sequence[Sequence[str]]], smoothing: float, order: int = 4
) -> float:
    """BLEU from 0 to 1 of a batch, from scratch; the constant is added to all counts, and to the lengths."""
    matches, totals, length, reference_length = [smoothing] * order, [smoothing] * order, smoothing, smoothing
    for hypothesis, choices in zip(hypotheses, references, strict=True):
        length += len(hypothesis)
        reference_length += min((abs(len(one) - len(hypothesis)), len(one)) for one in choices)[1]
        for n in range(order):
            counts = _ngrams(hypothesis, n + 1)
            allowed: Counter[tuple[str, ...]] = Counter()
            for one in choices:
                allowed |= _ngrams(one, n + 1)
            matches[n] += sum((counts & allowed).values())
            totals[n] += sum(counts.values())
    precision = sum(math.log(m / t) for m, t in zip(matches, totals, strict=True)) / order
    return math.exp(precision + min(0.0, 1 - reference_length / length))


def _ngrams(text: Sequence[str], n: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(text[i : i + n]) for i in range(len(text) - n + 1))


def difference(one: dict[str, float], other: dict[str, float], learnt: set[str]) -> dict[str, float]:
    """The features of one derivation less those of another, as far as weights are learnt."""
    return {name: one.get(name, 0.0) - other.get(name, 0.0) for name in (one.keys() | other.keys()) & learnt}


def hildreth(vectors: Sequence[dict[str, float]], lacks: Sequence[float], bound: float) -> list[float]:
    """How far the weights go along several vectors: the dual of the quadratic program, by a general solver."""
    names = sorted({name for vector in vectors for name in vector})
    matrix = np.array([[vector.get(name, 0.0) for name in names] for vector in vectors])
    products, wanted = matrix @ matrix.T, np.array(lacks)
    found = minimize(
        lambda duals: duals @ products @ duals / 2 - wanted @ duals,
        np.zeros(len(lacks)),
        jac=lambda duals: products @ duals - wanted,
        bounds=[(0.0, bound)] * len(lacks),
        method="L-BFGS-B",
        options={"ftol": 1e-15, "gtol": 1e-12, "maxiter": 10_000},
    )
    return [float(dual) for dual in found.x]


def closed_form(vector: dict[str, float], lack: float, bound: float) -> float:
    """How far the weights go along the vector."""
    squared = math.fsum(value * value for value in vector.values())
    return min(lack / squared, bound) if squared else 0.0
