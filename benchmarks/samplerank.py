"""Speed of SampleRank: an epoch over Multi30k's validation set, and what a step costs as batches and features grow.

Make the model with `dragoman train` on Multi30k's training set; `--steps` makes the rows cheaper.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from dragoman.core.corpus import Corpus
from dragoman.core.feature_rows import FeatureRows
from dragoman.core.files import read_lines
from dragoman.core.runtime import Runtime
from dragoman.features import PairFeature, PairsInUse
from dragoman.metrics.bleu import Bleu
from dragoman.metrics.metric import Metric
from dragoman.metrics.ter import Ter
from dragoman.model.bundle import Model
from dragoman.search.phrase.translator import PhraseTranslator
from dragoman.tuning.methods.method import TrainingSet
from dragoman.tuning.methods.samplerank.method import SampleRank
from dragoman.tuning.problems.problem import tuned_names
from quick import parse_arguments

PROJECT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class ManyFeatures(PairFeature):
    """Two features for each option, out of many."""

    name = prefix = "sparse"
    count: int

    @cached_property
    def _names(self) -> tuple[str, ...]:
        return tuple(f"sparse.{i}" for i in range(self.count))

    def __call__(self, pairs: PairsInUse, /) -> FeatureRows:
        """Return which they are, by the option's number."""
        options = len(pairs.words)
        numbers = np.arange(2 * options, dtype=np.int64) * 2654435761 % self.count
        offsets = np.arange(0, 2 * options + 1, 2, dtype=np.int64)
        return FeatureRows(self._names, offsets, numbers.astype(np.int32), np.ones(len(numbers)))


def training_set_of(model: Model, data: Path, source: str, target: str, metric: Metric) -> TrainingSet:
    prepare = model.preparation()
    lines = list(prepare.source(read_lines(data / f"multi30k/val.{source}.gz")))
    references = Corpus.from_lines(prepare.source(read_lines(data / f"multi30k/val.{target}.gz")))
    sign = 1 if metric.higher_is_better else -1
    return TrainingSet(
        PhraseTranslator(model), lines, metric.scorer([references]), tuned_names(model.feature_names), sign=sign
    )


def epoch_seconds(training_set: TrainingSet, method: SampleRank, threads: int, repeats: int = 2) -> float:
    """The seconds of the last of some epochs, best of several runs; the first has the options to collect."""
    best = float("inf")
    for _ in range(repeats):
        learning = replace(method, epochs=2).learn(
            training_set, training_set.model.weights, runtime=Runtime(threads=threads)
        )
        next(learning)
        start = time.perf_counter()
        next(learning)
        best = min(best, time.perf_counter() - start)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("--data", type=Path, default=PROJECT.parent / "shared/data")
    parser.add_argument("--source", default="fr")
    parser.add_argument("--target", default="en")
    parser.add_argument("--steps", type=int, default=100, help="steps a sentence, and as many of burn-in")
    parser.add_argument("--threads", type=int, default=2)
    arguments = parse_arguments(parser, "{model} --data {data} --steps 3")
    model = Model.load(arguments.model)
    training_set = training_set_of(model, arguments.data, arguments.source, arguments.target, Bleu())
    sparse = replace(
        training_set,
        translator=PhraseTranslator(training_set.model, features=[ManyFeatures(100_000)]),
        sparse=lambda names: {n: (0, 0) for n in names if "sparse." in n},
    )
    method = SampleRank(neighbours="local", samples=arguments.steps, burn_in=arguments.steps)
    print("| | seconds an epoch | µs a step and thread |")
    print("|---|---|---|")

    def row(name: str, training_set: TrainingSet, method: SampleRank) -> None:
        seconds = epoch_seconds(training_set, method, arguments.threads)
        steps = (method.samples + method.burn_in) * len(training_set)
        print(f"| {name} | {seconds:.2f} | {1e6 * seconds * arguments.threads / steps:.1f} |", flush=True)

    row(f"8 chains, {2 * arguments.steps} steps a sentence, {len(training_set):,} sentences", training_set, method)
    for size in (8, 64, 512):
        row(f"2 chains, batches of {size}", training_set, replace(method, chains=2, batch_size=size))
    row("without burn-in", training_set, replace(method, burn_in=0))
    row("100,000 sparse features", sparse, method)
    row("Hildreth, 5 constraints", training_set, replace(method, update="hildreth"))
    few = replace(training_set, lines=training_set.lines[:50])
    ter = training_set_of(model, arguments.data, arguments.source, arguments.target, Ter())
    row("TER, 50 sentences, by Python", replace(ter, lines=few.lines), replace(method, samples=10, burn_in=10))


if __name__ == "__main__":
    main()
