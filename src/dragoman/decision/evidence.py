"""From sentences to evidence about their translations: lists, hypergraphs or samples, a batch at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from dragoman.core.errors import UsageError
from dragoman.core.samples import Samples
from dragoman.decision.rule import Evidence, EvidenceKind
from dragoman.forest.nbest import nbest
from dragoman.forest.prune import prune_to_density
from dragoman.search.translator import Translator

#: Draws samples of sentences, a batch at a time.
Draw = Callable[[Iterable[str]], Iterator[Samples]]


def gather(
    translator: Translator,
    lines: Iterable[str],
    kind: EvidenceKind,
    *,
    size: int = 1000,
    distinct: bool = True,
    density: float = 0.0,
    draw: Draw | None = None,
) -> Iterator[Evidence]:
    """Yield evidence of some kind about tokenised sentences, in order, a batch at a time.

    N-best lists have the `size` best derivations, those of different strings if `distinct`. Hypergraphs are all that
    the search kept, or if `density` is not 0, pruned, to need less memory. Samples come from `draw`.
    """
    if kind == "samples":
        if draw is None:
            raise UsageError("samples need a sampler")
        yield from draw(lines)
        return
    for part in translator.searched(lines, forests=True):
        graphs = [part.hypergraph(i, features=False) for i in range(len(part))]
        if kind == "nbest":
            yield nbest(graphs, size, distinct=distinct, runtime=translator.runtime)
        else:
            yield [prune_to_density(graph, density) for graph in graphs] if density else graphs
