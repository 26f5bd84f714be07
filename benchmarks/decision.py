"""Decision rules on Multi30k fr-en: their times (CPU, one thread, best of several runs), and their BLEU.

Scales are chosen on `val`, each rule's own, and scored on the test sets. The samples are exact draws from the decoder's
lattices, so that only the rule is timed.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dragoman import kernels
from dragoman.core.corpus import Corpus
from dragoman.core.feature_rows import FeatureRows
from dragoman.core.files import read_lines
from dragoman.core.hypergraph import Hypergraph
from dragoman.core.ragged import Ragged
from dragoman.core.samples import Samples
from dragoman.core.weights import Weights
from dragoman.decision.consensus import Consensus
from dragoman.decision.grid import GridPoint, best_point, grid_rules, search_grid
from dragoman.decision.lattice_mbr import LatticeMbr
from dragoman.decision.max_derivation import MaxDerivation
from dragoman.decision.max_translation import MaxTranslation
from dragoman.decision.mbr import Mbr
from dragoman.decision.rule import Evidence, EvidenceKind, Rule
from dragoman.decision.settings import Decision
from dragoman.decision.variational import Variational
from dragoman.forest.derivation import derivation_scores, yields
from dragoman.forest.nbest import nbest
from dragoman.forest.sample import sample
from dragoman.metrics.bleu import Bleu
from dragoman.model.bundle import Model
from dragoman.search.translator import Translator

PROJECT = Path(__file__).resolve().parent.parent
SCALES = "scale=1,2,5,10,20"
ROWS: list[tuple[type[Rule], EvidenceKind, list[str]]] = [
    (MaxTranslation, "nbest", [SCALES]),
    (MaxTranslation, "hypergraph", [SCALES]),
    (Mbr, "nbest", [SCALES]),
    (Consensus, "nbest", [SCALES]),
    (Consensus, "hypergraph", [SCALES]),
    (Variational, "nbest", [SCALES]),
    (Variational, "hypergraph", [SCALES]),
    (LatticeMbr, "hypergraph", [SCALES, "p=0.6,0.8", "r=0.6,0.8"]),
]


def best_time(runs: int, work: Callable[[], Any]) -> float:
    times = []
    for _ in range(runs):
        begin = time.process_time()
        work()
        times.append(time.process_time() - begin)
    return min(times)


def samples_of(graph: Hypergraph, draws: int) -> Samples:
    """Draws from one lattice, each derivation once with its count."""
    rows = sample(graph, draws, 1)
    numbers, edges, offsets = kernels.intern_sequences(rows.values, rows.offsets)
    distinct = Ragged(edges, offsets)
    return Samples(
        vocab=graph.vocab,
        sentences=np.array([0, len(distinct)]),
        hypotheses=yields(graph, distinct),
        scores=derivation_scores(graph, distinct),
        features=FeatureRows.zeros(len(distinct)),
        segmentations=Ragged.of([[] for _ in range(len(distinct))], np.int32),
        counts=np.bincount(numbers)[:, None],
    )


def times(model: Model, weights: Weights, lines: Sequence[str], runs: int) -> None:
    translator = Translator(model, weights, threads=1)
    count = len(lines)
    (*parts,) = translator.searched(lines, lattice=True)
    graphs = [part.hypergraph(i, features=False) for part in parts for i in range(len(part))]
    distinct, derivations = nbest(graphs, 1000, distinct=True), nbest(graphs, 1000)
    drawn = [samples_of(graph, 10_000) for graph in graphs[:20]]
    pairs = np.diff(distinct.sentences)
    print(f"{count} sentences, {np.mean(pairs):.0f} distinct strings in their 1000-best lists,")
    print(f"{np.mean([len(Mbr().posterior(part).strings) for part in drawn]):.0f} in 10,000 samples\n")

    print("| whole translation | ms a sentence |\n|---|---|")
    for name in ("1-best", "lattice-mbr", "mbr", "consensus", "variational", "max-translation"):

        def translate(name: str = name) -> None:
            if name == "1-best":
                list(translator.translate(lines))
                return
            decision = Decision.of(name)
            for part in decision.gather(translator, lines):
                decision.rule.decide(part)

        print(f"| {name} | {1000 * best_time(runs, translate) / count:.2f} |", flush=True)

    print("\n| rule, evidence at hand | ms a sentence |\n|---|---|")
    rows: list[tuple[str, Rule, Sequence[Evidence], int]] = [
        ("mbr, 1000 x 1000, BLEU", Mbr(), [distinct], count),
        ("mbr, 1000 x 1000, chrF", Mbr(metric="chrf"), [distinct], count),
        ("mbr, 10,000 samples, 1000 hypotheses, BLEU", Mbr(), drawn, len(drawn)),
        ("mbr, 100 x 100, TER", Mbr(metric="ter", hypotheses=100, evidence=100), [distinct.take(np.arange(5))], 5),
        ("consensus, n-best", Consensus(), [distinct], count),
        ("consensus, hypergraph", Consensus(), [graphs], count),
        ("variational, hypergraph", Variational(), [graphs], count),
        ("lattice-mbr", LatticeMbr(), [graphs], count),
        ("lattice-mbr, 1000-best", LatticeMbr(space="kbest"), [graphs], count),
        ("max-translation, n-best", MaxTranslation(), [derivations], count),
        ("max-translation, beam of 100 strings", MaxTranslation(), [graphs], count),
    ]
    for name, rule, evidence, sentences in rows:
        taken = best_time(runs, lambda rule=rule, evidence=evidence: [rule.decide(part) for part in evidence])  # type: ignore[misc]
        print(f"| {name} | {1000 * taken / sentences:.2f} |", flush=True)


def quality(model: Model, weights: Weights, data: Path, tests: Sequence[str], threads: int) -> None:
    metric = Bleu()
    translator = Translator(model, weights, threads=threads)
    sets = ["val", *tests]
    lines = {name: list(read_lines(data / f"multi30k/{name}.fr.gz")) for name in sets}
    scorers = {name: metric.scorer([Corpus.read(data / f"multi30k/{name}.en.gz")]) for name in sets}

    def evidence(decision: Decision, name: str) -> list[Evidence]:
        density = 50.0 if decision.evidence == "hypergraph" else 0.0
        return list(decision.gather(translator, lines[name], density=density))

    print(f"\n| rule | evidence | chosen on val | {' | '.join(sets)} |\n|---|---|---|{'---|' * len(sets)}")
    first = Decision.of("max-derivation")
    scores = [search_grid([(MaxDerivation(), ())], evidence(first, name), scorers[name])[0].score for name in sets]
    print(f"| max-derivation | hypergraph | | {' | '.join(f'{score:.2f}' for score in scores)} |", flush=True)
    kept: dict[tuple[EvidenceKind, bool], dict[str, list[Evidence]]] = {}
    for kind, seen, grid in ROWS:
        decision = Decision.of(kind.name, evidence=seen)
        key = (seen, kind.distinct_lists)
        if key not in kept:
            kept[key] = {name: evidence(decision, name) for name in sets}
        parts = kept[key]
        found = search_grid(grid_rules(kind, [], grid), parts["val"], scorers["val"], threads=threads)
        best: GridPoint = best_point(found, metric)
        scores = [best.score]
        for name in tests:
            scores.append(search_grid([(best.rule, ())], parts[name], scorers[name], threads=threads)[0].score)
        options = " ".join(f"{name}={value}" for name, value in best.options)
        shown = " | ".join(f"{score:.2f}" for score in scores)
        print(f"| {kind.name} | {seen} | {options} | {shown} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=PROJECT / "../shared/data")
    parser.add_argument("--model", type=Path, required=True, help="a French-English model of Multi30k")
    parser.add_argument("--weights", type=Path, help="weights in place of the model's")
    parser.add_argument("--sentences", type=int, default=200, help="how many to time")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2, help="for the table of BLEU")
    parser.add_argument("--only", choices=["times", "quality"])
    options = parser.parse_args()
    model = Model.load(options.model)
    weights = model.weights if options.weights is None else Weights.read(options.weights)
    if options.only != "quality":
        lines = list(read_lines(options.data / "multi30k/val.fr.gz"))[: options.sentences]
        times(model, weights, lines, options.runs)
    if options.only != "times":
        quality(model, weights, options.data, ["test_2016_flickr", "test_2017_mscoco"], options.threads)


if __name__ == "__main__":
    main()
