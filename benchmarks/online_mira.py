"""What online MIRA costs beside decoding, and how far its rescoring of forests is from the best.

    python benchmarks/online_mira.py --model MODEL --source val.fr --reference val.en [--lines 1014] [--sparse 10000]

MODEL is phrase-based or hierarchical; the text is tokenised. Times are of the processor, and of the clock where threads
matter. With --sparse, passes of the same model with word pairs as features, of which so many have a weight.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from dragoman.core.corpus import Corpus
from dragoman.core.feature_rows import Weights
from dragoman.core.files import read_lines
from dragoman.core.hypergraph import Hypergraph
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.features.word_pair import WordPair
from dragoman.forest.hope import BEAM, FEAR, InDocument, RankedDerivations, hope, rescore
from dragoman.forest.kbest import kbest
from dragoman.metrics.bleu import Bleu, BleuScorer
from dragoman.model.bundle import Model
from dragoman.search.translator import Translator
from dragoman.tuning.methods.method import TrainingSet
from dragoman.tuning.methods.mira_online import MiraOnline
from dragoman.tuning.problems.forest_counts import ReferenceWords
from dragoman.tuning.problems.problem import tuned_names
from quick import parse_arguments
from timing import best_of

BEAMS = (100, 20, 10, 5, 3, 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--reference", type=Path, required=True)
    parser.add_argument("--lines", type=int, default=1014)
    parser.add_argument("--rescored", type=int, default=100, help="lines whose forests are rescored by each beam")
    parser.add_argument("--sparse", type=int, default=0)
    parser.add_argument("--runs", type=int, default=1)
    arguments = parse_arguments(
        parser,
        "--model {model} --source {data}/multi30k/val.fr.gz --reference {data}/multi30k/val.en.gz --rescored 5",
    )
    model = Model.load(arguments.model)
    every = list(read_lines(arguments.source))
    lines = every[: arguments.lines]
    references = Corpus.from_lines(list(read_lines(arguments.reference))[: arguments.lines])
    scorer = Bleu().scorer([references])
    translator = Translator.of(model)
    training_set = TrainingSet(translator, lines, scorer, tuned_names(model.feature_names))
    print(f"{len(lines)} lines, {len(references.sentences.values) / len(lines):.1f} words each\n")
    print("| | processor, s | clock on two threads, s |\n|---|---|---|")
    decoding = best_of(arguments.runs, lambda: list(translator.translate(lines)))
    both = translator.reweighted(model.weights, runtime=Runtime(threads=2))
    threaded = best_of(arguments.runs, lambda: list(both.translate(lines)))
    print(f"| decoding | {decoding.processor:.1f} | {threaded.clock:.1f} |")
    learn_times("a pass of online MIRA", training_set, model.weights, arguments.runs)
    if arguments.sparse:
        richer, start = with_sparse(training_set, every, arguments.sparse)
        learn_times(f"a pass with {len(start) - len(model.weights):,} sparse weights", richer, start, arguments.runs)
    rescoring_times(translator, lines[: arguments.rescored], scorer)


def learn_times(name: str, training_set: TrainingSet, start: Weights, runs: int) -> None:
    method = MiraOnline(passes=1)
    one = best_of(runs, lambda: list(method.learn(training_set, start)))
    two = best_of(runs, lambda: list(method.learn(training_set, start, runtime=Runtime(threads=2))))
    assert dict(one.result[0].weights) == dict(two.result[0].weights)
    print(f"| {name} | {one.processor:.1f} | {two.clock:.1f} |")


def with_sparse(training_set: TrainingSet, lines: list[str], count: int) -> tuple[TrainingSet, Weights]:
    """The same with word pairs: small random weights for so many of those that occur in some lines."""
    model = training_set.model.with_features([WordPair(source_words=0, target_words=0)])
    translator = Translator.of(model)

    def sparse(names: object) -> dict[str, tuple[float, float]]:
        return {name: (-1.0, 1.0) for name in sorted(names) if name.startswith("wp.")}  # type: ignore[call-overload]

    names: dict[str, None] = {}
    for line in lines:
        features = translator.search(line).features
        names |= dict.fromkeys(name for name in (features.names if features else ()) if name.startswith("wp."))
        if len(names) >= count:
            break
    rng = np.random.default_rng(1)
    start = model.weights.updated({name: float(rng.normal()) * 1e-3 for name in [*names][:count]})
    return replace(training_set, translator=translator, sparse=sparse), start


def rescoring_times(translator: Translator, lines: list[str], scorer: BleuScorer) -> None:
    begin = time.process_time()
    parts = list(translator.search_batches(lines, forests=True))
    searching = time.process_time() - begin
    graphs = [part.hypergraph(i, features=False) for part in parts for i in range(len(part))]
    places = [in_document(graph, scorer, i, line) for i, (graph, line) in enumerate(zip(graphs, lines, strict=True))]
    edges = np.mean([graph.edges for graph in graphs])
    print(f"\n{len(lines)} forests of {edges:,.0f} edges: searching takes {searching:.2f} s\n")
    print("| beam | hope and fear, s | hope lost | fear lost | the same | lost in lists of 10 |")
    print("|---|---|---|---|---|---|")
    wanted = None
    for beam in BEAMS:
        timed = best_of(1, partial(rescored, graphs, places, beam))
        first = np.array([[found.values[0] for found in lists] for lists in timed.result])
        means = np.array([[found.values.mean() for found in lists] for lists in timed.result])
        wanted = wanted or (first, means)
        lost = wanted[0] - first
        same = np.mean(np.abs(lost) < 1e-9)
        in_lists = np.mean(wanted[1] - means)
        hoped, feared = lost.mean(axis=0)
        print(f"| {beam} | {timed.processor:.2f} | {hoped:.4f} | {feared:.4f} | {same:.1%} | {in_lists:.3f} |")
    learning_times(graphs, places)


def rescored(
    graphs: list[Hypergraph], places: list[InDocument], beam: int, gain_scale: float = 1.0, floors: Sequence[float] = ()
) -> list[list[RankedDerivations]]:
    objectives = [hope().with_gain(gain_scale), FEAR.with_gain(gain_scale)]
    each = zip(graphs, places, floors or [-np.inf] * len(graphs), strict=True)
    return [rescore(graph, place, objectives, 10, beam=beam, floor=floor) for graph, place, floor in each]


def learning_times(graphs: list[Hypergraph], places: list[InDocument]) -> None:
    """What rescoring takes where it knows the model's ten best strings, as in learning."""
    lists = [kbest(graph, 10, distinct=True) for graph in graphs]
    floors = [float(one.scores[9]) if len(one) == 10 else -np.inf for one in lists]
    print("\n| what B counts | hope and fear, all edges, s | knowing the ten best, s |\n|---|---|---|")
    for scale in (1.0, MiraOnline().gain_scale):
        every, best = (best_of(3, partial(rescored, graphs, places, BEAM, scale, known)) for known in ([], floors))
        print(f"| {scale:g} | {every.processor:.2f} | {best.processor:.2f} |")


def in_document(graph: Hypergraph, scorer: BleuScorer, sentence: int, line: str) -> InDocument:
    """Within a document of some ten sentences of the usual quality."""
    reference = scorer.references.grouped[sentence]
    return InDocument(
        references=Ragged.of([reference.tolist()], np.int32),
        word_ids=ReferenceWords.of(graph.vocab, scorer.references).ids,
        document=1.4 * np.array([45.0, 30, 20, 14, 80, 70, 60, 50, 80, 80, 80]),
        source_words=len(line.split()),
        reference_words=len(reference),
    )


if __name__ == "__main__":
    main()
