"""What soft syntactic constraints cost: decoding the English of Multi30k with features of source trees and without.

Make the model with `dragoman train` from English, on the text as it is (`--tokenised`). Trees are those of the data
folder, `trees/*.trees.gz`.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from dragoman.core.files import read_lines
from dragoman.core.weights import Weights
from dragoman.formats.penn_trees import TreeFile, with_trees
from dragoman.model.bundle import Model
from dragoman.model.extra_features import EXTRA_FEATURES
from dragoman.search.translator import Translator
from timing import best_of

PROJECT = Path(__file__).resolve().parent.parent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=PROJECT / "../shared/data")
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--text", default="val")
    parser.add_argument("--sentences", type=int, default=1014)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    text = [*read_lines(options.data / f"multi30k/{options.text}.en.gz")]
    trees = options.data / f"trees/{options.text}.en.trees.gz"
    reading = best_of(options.runs, lambda: list(with_trees(text, TreeFile.read(trees))))
    lines = reading.result[: options.sentences]
    model = Model.load(options.model)

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
        richer = model.with_features([EXTRA_FEATURES.get("syntax")(grain=grain)])
        names = [name for feature in richer.span_features for name in feature.names]
        # At 0 the search has the same work to do; other weights may make it easier or harder.
        some = dict(zip(names, np.random.default_rng(1).normal(0, 0.1, len(names)).tolist(), strict=True))
        for label, weights in (("0", model.weights), ("random", model.weights.updated(some))):
            times = decode(richer, weights), lists(richer, weights)
            cells = [f"{time:.2f} | {time / base:.3f}" for time, base in zip(times, plain, strict=True)]
            print(f"| {grain}, {len(names)} | {label} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
