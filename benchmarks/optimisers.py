"""Each tuning method once on Moses' merged 100-best lists of the Multi30k validation set, beside Moses' programs.

    python benchmarks/optimisers.py --data DATA [--repeat 3] [--threads 1]

Moses' `mert` reached BLEU 51.106 on these lists (161,478 hypotheses of 1,014 sentences, 14 features; 20 starts). All
methods start from Moses' untuned weights. Then the speed of evaluating weights on 1,014 lists of 500 candidates each,
the merged lists padded with noisy copies, and of a paired bootstrap.
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from dragoman.core.feature_rows import FeatureRows
from dragoman.core.runtime import Runtime
from dragoman.evaluation.statistics.significance import paired_bootstrap
from dragoman.formats.nbest.moses import MosesNBest
from dragoman.metrics.combined import parse_metric
from dragoman.metrics.references import read_references
from dragoman.tuning import TUNERS
from dragoman.tuning.methods.method import Tuner
from dragoman.tuning.problems.evidence import DecodedLists
from dragoman.tuning.problems.problem import Evaluator, Problem, weight_ranges
from dragoman.tuning.runs.rerank import first_weights
from quick import parse_arguments
from timing import best_of

PROJECT = Path(__file__).resolve().parent.parent
MOSES_SECONDS = {"mert": 66.0, "mira": 1.1, "pro": 4.5}


def padded(problem: Problem, size: int) -> Problem:
    """Lists of equal size: longer ones are cut, shorter ones filled with copies with other features."""
    rng = np.random.default_rng(0)
    counts = np.diff(problem.sentences)
    ranks = np.tile(np.arange(size), (len(counts), 1))
    extra = ranks >= counts[:, None]
    rows = problem.sentences[:-1, None] + np.where(extra, rng.integers(0, counts[:, None], ranks.shape), ranks)
    rows = rows.ravel()
    noise = rng.normal(0, 0.3, (len(rows), len(problem.names)))
    noise *= (rng.random(noise.shape) < 0.5) & extra.reshape(-1, 1)
    features = FeatureRows.from_dense(problem.names, problem.dense[rows] + noise)
    bounds = np.arange(len(counts) + 1) * size
    return Problem(bounds, features, problem.statistics[rows], problem.scorer, problem.ranges)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=PROJECT / "../shared/data")
    methods = {name: TUNERS.get(name) for name in TUNERS.names()}
    on_lists = [name for name, method in methods.items() if issubclass(method, Tuner) and method.takes(Problem)]
    parser.add_argument("--methods", nargs="*", default=on_lists, choices=on_lists)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    options = parse_arguments(parser, "--data {moses} --repeat 1")
    lists = MosesNBest().read(options.data / "moses/fr-en/val.merged.nbest.gz")
    scorer = parse_metric("bleu").scorer(read_references([options.data / "multi30k/val.en.gz"]))
    names = list(lists.features.names)
    problem = DecodedLists(lists).problem(names, weight_ranges(names), scorer)
    start = first_weights(lists).vector(names)
    start /= np.abs(start).sum()
    print(f"{len(lists.scores):,} candidates; BLEU of the weights behind the lists: {problem.objective(start):.3f}\n")
    print("| method | CPU s | wall s | Moses' CPU s | share | BLEU |\n|---|---|---|---|---|---|")
    for name in options.methods:
        tuner = TUNERS.get(name)()

        def work(tuner: Any = tuner) -> Any:
            rng = np.random.default_rng(options.seed)
            return tuner.optimise(problem, start, rng=rng, runtime=Runtime(threads=options.threads))

        wall, cpu, found = best_of(options.repeat, work)
        moses = MOSES_SECONDS.get(name)
        beside = f"{moses} | {cpu / moses:.2f}" if moses else "- | -"
        print(f"| {name} | {cpu:.2f} | {wall:.2f} | {beside} | {problem.objective(found.weights):.3f} |", flush=True)

    print("\n| 1,014 lists of 500, two threads | evaluations a second |\n|---|---|")
    large = padded(problem, 500)
    evaluator = Evaluator(large, runtime=Runtime(threads=2))
    rng = np.random.default_rng(1)
    for label, width in (("anywhere in the ranges", None), ("± 0.03 around one point", 0.03)):
        weights = rng.uniform(large.ranges[:, 0], large.ranges[:, 1], (128, len(names)))
        if width is not None:
            evaluator.focus(start - width, start + width)
            weights = start + width * rng.uniform(-1, 1, weights.shape)
        wall = best_of(options.repeat, partial(evaluator.objectives, weights)).clock
        print(f"| {label} | {len(weights) / wall:,.0f} |", flush=True)
    systems = [problem.statistics[problem.sentences[:-1][:1000]], problem.statistics[problem.best(start)[:1000]]]
    wall = best_of(options.repeat, lambda: paired_bootstrap(scorer, systems, resamples=1000)).clock
    print(f"\nPaired bootstrap, 1,000 resamples of 1,000 sentences: {wall:.3f} s")


if __name__ == "__main__":
    main()
