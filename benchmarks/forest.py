"""Times of the forest algorithms on Moses' search graphs of 20 sentences (one thread, best of several runs).

With `--model`, the graphs are those of our search for the first 20 sentences of test_2016_flickr.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from dragoman.core.files import read_lines
from dragoman.core.hypergraph import Hypergraph
from dragoman.forest.derivation import (
    best_derivation,
    derivation_scores,
    sample,
    segmentations,
    translation_log_probability,
    yields,
)
from dragoman.forest.inside_outside import edge_posteriors
from dragoman.forest.kbest import kbest
from dragoman.forest.ngrams import expected_counts, posteriors, split_by_context
from dragoman.forest.prune import prune_to_density
from dragoman.formats.moses.search_graph import read_search_graph
from dragoman.model.bundle import Model
from dragoman.search.translator import Translator
from quick import parse_arguments
from timing import best_of

PROJECT = Path(__file__).resolve().parent.parent


def graphs_of(data: Path, model: Path | None) -> list[Hypergraph]:
    """Read Moses' search graphs, or search."""
    if model is None:
        return list(read_search_graph(data / "moses/fr-en/search-graph20.cube400.txt.gz"))
    translator = Translator.of(Model.load(model))
    return [translator.search(line) for line in islice(read_lines(data / "multi30k/test_2016_flickr.fr.gz"), 20)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=PROJECT / "../shared/data")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--model", type=Path, help="search with this French-English model")
    options = parse_arguments(parser, "--data {data} --model {model} --runs 1")
    graphs = graphs_of(options.data, options.model)
    strings = [yields(graph, best_derivation(graph).as_row())[0] for graph in graphs]
    draws = [sample(graph, 10_000, 1) for graph in graphs]
    splits = [split_by_context(graph, 4) for graph in graphs]
    count = len(graphs)

    print(f"{count} search graphs: {sum(g.nodes for g in graphs)} nodes, {sum(g.edges for g in graphs)} edges")
    print(
        f"split for 4-grams: {sum(s.graph.nodes for s in splits)} nodes, {sum(s.graph.edges for s in splits)} edges,"
        f" {sum(len(s.ngrams) for s in splits)} n-grams\n"
    )
    print("| | ms a graph |\n|---|---|")
    reading = best_of(options.runs, partial(graphs_of, options.data, options.model)).clock
    print(f"| {'searching' if options.model else 'reading'} | {1000 * reading / count:.2f} |")
    rows: list[tuple[str, Callable[[int, Hypergraph], Any]]] = [
        ("best derivation", lambda i, graph: best_derivation(graph)),
        ("inside-outside, edge posteriors", lambda i, graph: edge_posteriors(graph)),
        ("100-best", lambda i, graph: kbest(graph, 100)),
        ("100-best, distinct", lambda i, graph: kbest(graph, 100, distinct=True)),
        ("1000-best, distinct", lambda i, graph: kbest(graph, 1000, distinct=True)),
        ("expected counts, order 4", lambda i, graph: expected_counts(graph, 4)),
        ("n-gram posteriors, order 4", lambda i, graph: posteriors(graph, 4)),
        ("the same, pruned to density 50", lambda i, graph: posteriors(prune_to_density(graph, 50), 4)),
        ("10,000 samples", lambda i, graph: sample(graph, 10_000, 1)),
        ("their strings", lambda i, graph: yields(graph, draws[i])),
        ("their segmentations", lambda i, graph: segmentations(graph, draws[i])),
        ("their scores", lambda i, graph: derivation_scores(graph, draws[i])),
        ("probability of a translation", lambda i, graph: translation_log_probability(graph, strings[i])),
    ]
    for name, work in rows:
        taken = best_of(options.runs, lambda work=work: [work(i, graph) for i, graph in enumerate(graphs)]).clock  # type: ignore[misc]
        print(f"| {name} | {1000 * taken / count:.2f} |")


if __name__ == "__main__":
    main()
