"""What structural distortion and classes of copied words cost: decoding Multi30k with a hierarchical model.

    dragoman train --hierarchical --source train.en --target train.fr --out model
    python benchmarks/structural_distortion.py --data ../shared/data --model model [--sizes]

With `--sizes`, only how often nonterminals of each size are reordered in the training text.
Models with other features take turns, so that what else the machine does disturbs all alike; times are processor time,
the best of several runs.
"""

from __future__ import annotations

import argparse
import gzip
from functools import partial
from pathlib import Path

import numpy as np

from dragoman.core.feature_rows import Weights
from dragoman.features import Feature
from dragoman.features.rule_class import RuleClass
from dragoman.features.structural_distortion import StructuralDistortion
from dragoman.model.bundle import Model
from dragoman.model.grammar import Grammar
from dragoman.search.chart.translator import ChartTranslator
from dragoman.search.limits import SearchLimits
from dragoman.search.translator import BATCH
from quick import parse_arguments
from timing import best_of

PROJECT = Path(__file__).resolve().parent.parent
INCREMENTAL = SearchLimits(algorithm="incremental")
ORDERS = [f"sd.{order}.{size}" for order in ("monotone", "reordered") for size in ("any", *range(1, 10), "10+")]
CLASSES = ["rc.identity", "rc.number", "rc.name"]


def candidates(model: Model) -> dict[str, tuple[Model, Weights]]:
    """Models with features, and weights drawn at random for all their names."""
    sets: dict[str, tuple[Feature, list[str]]] = {
        "structural distortion, coarse": (StructuralDistortion(grain="coarse"), ["sd.log_p"]),
        "structural distortion, fine": (StructuralDistortion(grain="fine"), ORDERS),
        "rule classes": (RuleClass(), CLASSES),
    }
    found = {"none": (model, model.weights)}
    for label, (feature, names) in sets.items():
        drawn = np.random.default_rng(1).normal(0, 0.1, len(names)).tolist()
        weights = model.weights.updated(dict(zip(names, drawn, strict=True)))
        found[f"{label}: {len(names)}"] = model.with_features([feature]), weights
    return found


def order_of_sizes(model: Model) -> None:
    """How often nonterminals of each size are reordered in the training text."""
    tables = [part.hole_counts for part in model.grammars.values() if isinstance(part, Grammar)]
    counts = np.sum([table for table in tables if table is not None], axis=0)
    print("| source words | monotone | reordered | share |\n|---|---|---|---|")
    for size, (monotone, reordered) in enumerate(counts.T.tolist(), 1):
        if monotone + reordered:
            print(f"| {size} | {monotone:,.0f} | {reordered:,.0f} | {reordered / (monotone + reordered):.2%} |")


def prepare(translator: ChartTranslator, lines: list[str]) -> None:
    """Collect rules, and compute and weigh all their features: what comes before the search."""
    for first in range(0, len(lines), BATCH):
        _ = translator.batch(lines[first : first + BATCH]).arrays


def translate(translator: ChartTranslator, lines: list[str]) -> None:
    for _ in translator.translate(lines):
        pass


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=PROJECT / "../shared/data")
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--source", default="en", help="language of the text")
    parser.add_argument("--sentences", type=int, default=200)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--sizes", action="store_true", help="only the orders of sizes in the training text")
    options = parse_arguments(parser, "--data {data} --model {hierarchical} --source fr --sentences 5 --runs 1")
    model = Model.load(options.model)
    if options.sizes:
        order_of_sizes(model)
        return
    with gzip.open(options.data / f"multi30k/val.{options.source}.gz", "rt", encoding="utf-8") as file:
        raw = [line.strip() for line in file][: options.sentences]
    lines = list(model.preparation().source(raw))
    order_of_sizes(model)
    tried = candidates(model)
    least = {label: [float("inf")] * 3 for label in tried}
    for _ in range(options.runs):
        for label, (given, weights) in tried.items():
            works = [
                partial(prepare, ChartTranslator(given, weights), lines),
                partial(translate, ChartTranslator(given, weights), lines),
                partial(translate, ChartTranslator(given, weights, limits=INCREMENTAL), lines),
            ]
            least[label] = [
                min(before, best_of(1, work).processor) for before, work in zip(least[label], works, strict=True)
            ]
    print(f"\n{len(lines)} sentences of val, one thread; seconds of processor time, best of {options.runs}\n")
    print("| features | before the search | cube pruning | times | incremental search | times |")
    print("|---|---|---|---|---|---|")
    _, cube, incremental = least["none"]
    for label, row in least.items():
        ratios = row[1] / cube, row[2] / incremental
        print(f"| {label} | {row[0]:.2f} | {row[1]:.2f} | {ratios[0]:.3f} | {row[2]:.2f} | {ratios[1]:.3f} |")


if __name__ == "__main__":
    main()
