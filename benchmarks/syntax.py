"""What soft syntactic constraints cost: decoding the English of Multi30k with features of source trees and without.

Make the model with `dragoman train` from English, on the text as it is (`--tokenised`). Trees are those of the data
folder, `trees/*.trees.gz`. With `--many`, for a hierarchical model: all 56 features of Chiang, Marton & Resnik (2008)
against the first 12, in turns, so that what else the machine does disturbs both alike.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np

from dragoman.core.feature_rows import Weights
from dragoman.core.files import read_lines
from dragoman.features import FEATURES
from dragoman.features.rule_class import RuleClass
from dragoman.features.structural_distortion import StructuralDistortion
from dragoman.features.syntax import Syntax
from dragoman.formats.penn_trees import TreeFile, with_trees
from dragoman.model.bundle import Model
from dragoman.search.limits import SearchLimits
from dragoman.search.translator import Translator
from quick import parse_arguments
from structural_distortion import CLASSES, INCREMENTAL, ORDERS
from timing import best_of

PROJECT = Path(__file__).resolve().parent.parent


def print_many(model: Model, lines: Sequence[str], runs: int) -> None:
    """Fine syntax, fine structural distortion and classes of rules together, against classes of rules."""
    classes, orders = RuleClass(), StructuralDistortion(grain="fine")
    few, many = (model.with_features(more) for more in ([classes], [classes, orders, Syntax(grain="fine")]))
    labels = [name for feature in many.features_of(Syntax) for name in feature.names]
    drawn = np.random.default_rng(1).normal(0, 0.1, len(CLASSES + ORDERS + labels)).tolist()
    some = dict(zip(CLASSES + ORDERS + labels, drawn, strict=True))
    copies = {name: some[name] for name in CLASSES}
    tried = {
        f"{len(model.weights) + len(CLASSES)}": (few, copies),
        f"{len(model.weights) + len(some)}, of which {len(ORDERS + labels)} weigh 0": (many, copies),
        f"{len(model.weights) + len(some)}": (many, some),
    }
    searches = (SearchLimits(), INCREMENTAL)
    least = {label: [float("inf")] * len(searches) for label in tried}
    for _ in range(runs):
        for label, (given, weights) in tried.items():
            for i, limits in enumerate(searches):
                translator = Translator.of(given, model.weights.updated(weights), limits=limits)
                took = best_of(1, partial(list, translator.translate(lines))).processor
                least[label][i] = min(least[label][i], took)
    print(f"{len(lines):,} sentences, one thread; seconds of processor time, best of {runs}, in turns\n")
    print("| features | cube pruning | times | incremental search | times |\n|---|---|---|---|---|")
    first, *_ = least.values()
    for label, times in least.items():
        cells = [f"{time:.2f} | {time / base:.3f}" for time, base in zip(times, first, strict=True)]
        print(f"| {label} | {' | '.join(cells)} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=PROJECT / "../shared/data")
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--text", default="val")
    parser.add_argument("--sentences", type=int, default=1014)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--many", action="store_true", help="12 features against 56, and nothing else")
    options = parse_arguments(parser, "--data {data} --model {english} --sentences 5 --runs 1")
    text = [*read_lines(options.data / f"multi30k/{options.text}.en.gz")]
    trees = options.data / f"trees/{options.text}.en.trees.gz"
    reading = best_of(options.runs, lambda: list(with_trees(text, TreeFile.read(trees))))
    lines = reading.result[: options.sentences]
    model = Model.load(options.model)
    if options.many:
        print_many(model, lines, options.runs)
        return

    def decode(given: Model, weights: Weights) -> float:
        return best_of(options.runs, lambda: list(Translator.of(given, weights).translate(lines))).processor

    def lists(given: Model, weights: Weights) -> float:
        return best_of(options.runs, lambda: list(Translator.of(given, weights).nbest(lines, 100))).processor

    print(f"{len(text):,} trees are read and matched in {reading.processor:.2f} s\n")
    print(f"{len(lines):,} sentences, one thread; seconds of processor time, best of {options.runs}\n")
    print("| features of trees | weights | decoding | times | 100-best lists | times |\n|---|---|---|---|---|---|")
    plain = decode(model, model.weights), lists(model, model.weights)
    print(f"| none | | {plain[0]:.2f} | 1 | {plain[1]:.2f} | 1 |", flush=True)
    for grain in ("coarse", "fine"):
        richer = model.with_features([FEATURES.get("syntax")(grain=grain)])
        names = [name for feature in richer.features_of(Syntax) for name in feature.names]
        # At 0 the search has the same work to do; other weights may make it easier or harder.
        some = dict(zip(names, np.random.default_rng(1).normal(0, 0.1, len(names)).tolist(), strict=True))
        for label, weights in (("0", model.weights), ("random", model.weights.updated(some))):
            times = decode(richer, weights), lists(richer, weights)
            cells = [f"{time:.2f} | {time / base:.3f}" for time, base in zip(times, plain, strict=True)]
            print(f"| {grain}, {len(names)} | {label} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
