"""Speed of minimum risk training by sampling: seconds of processor time an update, without and with sparse features.

Make the model with `dragoman train` on Multi30k's training set, and the weights with `dragoman tune`.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from pathlib import Path

from dragoman.core.corpus import Corpus
from dragoman.core.feature_rows import Weights
from dragoman.core.files import read_lines
from dragoman.features import FEATURES
from dragoman.metrics.bleu import Bleu
from dragoman.model.bundle import Model
from dragoman.search.translator import Translator
from dragoman.tuning.methods.method import TrainingSet
from dragoman.tuning.methods.risk_corpus import RiskCorpus
from dragoman.tuning.methods.risk_sampling import RiskSampling
from dragoman.tuning.methods.risk_sentence import RiskSentence
from dragoman.tuning.problems.problem import Ranges, tuned_names
from quick import parse_arguments

PROJECT = Path(__file__).resolve().parent.parent


def seconds(learner: RiskSampling, training_set: TrainingSet, weights: Weights, runs: int) -> tuple[float, int]:
    """Processor time of an update with its share of a checkpoint, best of several, and the number of weights then."""
    updates = learner.evaluate_every
    learner = replace(learner, start="given", annealing="none", updates=updates * runs)
    best, before = float("inf"), time.process_time()
    for checkpoint in learner.learn(training_set, weights):
        now = time.process_time()
        best, before, weights = min(best, now - before), now, checkpoint.weights
    return best / updates, len(weights)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=PROJECT / "../shared/data")
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--weights", type=Path, required=True, help="weights to sample with, or a run")
    parser.add_argument("--source", default="fr", help="language of the tuning set")
    parser.add_argument("--runs", type=int, default=3)
    options = parse_arguments(parser, "--data {data} --model {model} --weights {model}/weights.txt --runs 1")
    model = Model.load(options.model)
    weights = model.read_weights(options.weights)
    lines = list(read_lines(options.data / f"multi30k/val.{options.source}.gz"))
    references = Corpus.from_lines(read_lines(options.data / "multi30k/val.en.gz"))
    plain = TrainingSet(Translator.of(model), lines, Bleu().scorer([references]), tuned_names(model.feature_names))
    names = ["phrase-length", "word-insertion", "word-deletion", "word-pair"]
    settings = {"word-pair": {"source_words": 0, "target_words": 0}}
    richer = model.with_features([FEATURES.get(name)(**settings.get(name, {})) for name in names])
    prefixes = richer.sparse_prefixes

    def sparse(names: object) -> Ranges:
        assert hasattr(names, "__iter__")
        return {name: (-1.0, 1.0) for name in sorted(names) if name.startswith(prefixes)}

    many = weights.updated({f"{prefixes[0]}none{i}": 0.1 for i in range(100_000)})
    print("| method | dense features | sparse features that occur | with 100,000 sparse weights besides |")
    print("|---|---|---|---|")
    for learner in (RiskSentence(), RiskCorpus()):
        dense, _ = seconds(learner, plain, weights, options.runs)
        training_set = replace(plain, translator=Translator.of(richer), sparse=sparse)
        found, count = seconds(learner, training_set, weights, options.runs)
        all_of_them, _ = seconds(learner, training_set, many, options.runs)
        one = f"{found:.2f} s ({found / dense:.2f} times, {count:,} weights)"
        other = f"{all_of_them:.2f} s ({all_of_them / dense:.2f} times)"
        print(f"| {learner.name} | {dense:.2f} s | {one} | {other} |", flush=True)


if __name__ == "__main__":
    main()
