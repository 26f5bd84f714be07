"""Simulated annealing: the best derivation by chains that cool down until they hardly move."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pkgutil import resolve_name
from typing import cast

from dragoman.sampling.schedule import Annealing
from dragoman.search.search_result import SearchResult
from dragoman.search.translator import Translator

#: Where annealing for each kind of model is.
_ANNEALED = {
    "phrase": "dragoman.sampling.phrase.annealing:annealed",
    "chart": "dragoman.sampling.chart.annealing:annealed",
}


def annealed(
    translator: Translator,
    lines: Iterable[str],
    options: Annealing = Annealing(),
    *,
    seed: int = 1,
    first: int = 0,
    documents: Iterable[object] | None = None,
) -> Iterator[SearchResult]:
    """Translate tokenised sentences by annealing from what the search finds, in order, a batch at a time.

    The best derivation of a sentence is never worse than the search's. Sentence i of the lines has random numbers of
    its own, whatever the batches; `first` is added to i where the lines are a part of a text. The model's global
    features take part, of which the search knows nothing. Those of documents see lines in a row with the same label in
    `documents`, by default all, and the best is that of a document as a whole.
    """
    anneal = resolve_name(_ANNEALED[translator.model.kind])
    return cast(
        "Iterator[SearchResult]", anneal(translator, lines, options, seed=seed, first=first, documents=documents)
    )
