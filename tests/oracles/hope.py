"""Hope and fear by listing all derivations, and the greedy choice at every node."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dragoman.core.hypergraph import Hypergraph
from dragoman.core.ragged import Ragged
from dragoman.forest.hope import InDocument, Objective
from oracles.forest import Listed, ngram_counts

Words = tuple[int, ...]


def random_sentence(rng: np.random.Generator, graph: Hypergraph, order: int) -> InDocument:
    """References of some words of the graph, by other numbers, and a document of some size."""
    ids = rng.permutation(len(graph.vocab)).astype(np.int32)
    ids[rng.random(len(ids)) < 0.2] = -1
    known = [int(i) for i in ids if i >= 0] or [0]
    rows = [rng.choice(known, int(rng.integers(0, 9))).tolist() for _ in range(int(rng.integers(1, 3)))]
    totals = np.sort(rng.integers(order, 20, order))[::-1]
    matches = np.minimum(totals, rng.integers(1, 8, order))
    return InDocument(
        references=Ragged.of(rows, np.int32),
        word_ids=ids,
        document=np.array([*matches, *totals, rng.integers(1, 20), rng.integers(1, 20), rng.integers(0, 90)], float),
        source_words=float(rng.integers(1, 9)),
        reference_words=float(rng.integers(0, 12)),
    )


def gain(words: Words, sentence: InDocument, source_words: float) -> float:
    """B of a string, of so many source words, with matches as often as they occur."""
    order, document = sentence.order, sentence.document
    ids = [int(sentence.word_ids[word]) for word in words]
    known = {ngram for reference in sentence.references for ngram in ngram_counts(tuple(reference.tolist()), order)}
    logs = 0.0
    for n in range(1, order + 1):
        ngrams = [tuple(ids[i : i + n]) for i in range(len(ids) - n + 1)]
        found = document[n - 1] + sum(ngram in known for ngram in ngrams)
        logs += math.log(found / (document[order + n - 1] + len(ngrams))) / order
    length = document[2 * order] + len(words)
    wanted = document[2 * order + 1] + sentence.reference_words * source_words / sentence.source_words
    return float((document[-1] + source_words) * math.exp(logs + min(0.0, 1 - wanted / length)))


def best_strings(listed: Sequence[Listed], sentence: InDocument, objective: Objective) -> list[tuple[float, Words]]:
    """All strings with the value of their best derivation, best first."""
    best: dict[Words, float] = {}
    for one in listed:
        best[one.words] = max(one.score, best.get(one.words, -math.inf))
    found = [
        (objective.score * score + objective.gain * gain(words, sentence, sentence.source_words), words)
        for words, score in best.items()
    ]
    return sorted(found, reverse=True)
