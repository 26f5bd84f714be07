"""Speed of minimum risk training by sampling: seconds of processor time an update, without and with sparse features.

Make the model with `dragoman train` on Multi30k's training set, and the weights with `dragoman tune`.

With --exponentiated, the quality of exponentiated gradient in its place: weights from 0, a fixed number of updates on
the first lines of val, validated on the next ones by MBR over samples; for sums over sentences (as printed in Arun's
thesis, 7.8 to 7.11) and means, with and without a limit of the factor of learning rates, and for several temperatures.
"""

from __future__ import annotations

import argparse
import itertools
import math
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Literal

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
from dragoman.tuning.runs.job import HeldOut, Job
from dragoman.tuning.runs.validator import Validation
from experiments import mean_text
from quick import parse_arguments

#: Objective, limit of the factor, and initial temperature with what stands for log p; 0: no annealing.
STEPS: list[tuple[Literal["sum", "mean"], float, float, Literal["score", "frequency"]]] = [
    *(("sum", growth, 0.0, "frequency") for growth in (0.0, 2.0)),
    *(("mean", growth, 0.0, "frequency") for growth in (0.0, 2.0)),
    *(("sum", 0.0, temperature, "frequency") for temperature in (0.01, 0.1, 100.0)),
    ("sum", 0.0, 0.01, "score"),
]

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


def exponentiated(options: argparse.Namespace) -> None:
    """Print the last checkpoint's score on held-out text for each kind of step: mean and deviation over seeds."""
    columns = ["objective", "factor at most", "temperature", "log p by"]
    columns += ["expected gain, mean of all updates", "MBR, held out", "entropy of its samples"]
    print(f"| {' | '.join(columns)} |\n{'|---' * len(columns)}|")
    with tempfile.TemporaryDirectory() as folder:
        parts: dict[str, tuple[Path, Path]] = {}
        for name, first, end in (("tune", 0, options.lines), ("held", options.lines, options.lines + options.held_out)):
            parts[name] = (Path(folder) / f"{name}.s", Path(folder) / f"{name}.t")
            for file, language in zip(parts[name], (options.source, "en"), strict=True):
                lines = itertools.islice(read_lines(options.data / f"multi30k/val.{language}.gz"), first, end)
                file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        for number, (objective, growth, temperature, by) in enumerate(STEPS):
            found = []
            for seed in range(1, options.runs + 1):
                job = Job(
                    model=options.model.resolve(),
                    source=parts["tune"][0],
                    references=(parts["tune"][1],),
                    held_out=HeldOut(parts["held"][0], (parts["held"][1],)),
                    tuner=_steps(options, objective, growth, temperature, by),
                    validation=Validation(
                        validation_rule="mbr", validation_evidence="samples", validation_samples=options.samples
                    ),
                    prepared=True,
                    seed=seed,
                )
                events = job.run(Path(folder) / f"{number}-{seed}").events()
                # The last event scores the last weights; the one before has the learner's numbers.
                learnt = [event for event in events if "objective" in event]
                gain = learnt[-1]["objective"] if learnt else float("nan")
                found.append(
                    (gain, events[-1]["score"], events[-1]["held_out_entropy"], "diverge" in events[-1]["stop"])
                )
            cells = [mean_text([row[i] for row in found]) for i in range(3)]
            if diverged := sum(row[3] for row in found):
                cells = [f"{diverged} of {len(found)} runs diverge", "", ""]
            limit, hot = f"{growth:g}" if growth else "no limit", f"{temperature:g}" if temperature else "0"
            print(f"| {objective} | {limit} | {hot} | {by if temperature else ''} | {' | '.join(cells)} |", flush=True)


def _steps(
    options: argparse.Namespace,
    objective: Literal["sum", "mean"],
    growth: float,
    temperature: float,
    by: Literal["score", "frequency"],
) -> RiskSentence:
    levels = math.log(max(temperature, 1e-4) / 1e-4, 2) + 1
    return RiskSentence(
        preset="paper",
        objective=objective,
        max_growth=growth,
        annealing="fast" if temperature else "none",
        temperature=temperature,
        entropy_by=by,
        minibatch=40,
        samples=50,
        chains=1,
        burn_in=20,
        initial="monotone",
        start_temperature=1.0,
        updates=options.updates,
        updates_per_temperature=max(1, math.ceil(options.updates / levels)),
        evaluate_every=options.updates,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=PROJECT / "../shared/data")
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--weights", type=Path, required=True, help="weights to sample with, or a run")
    parser.add_argument("--source", default="fr", help="language of the tuning set")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--exponentiated", action="store_true", help="quality of exponentiated gradient")
    parser.add_argument("--updates", type=int, default=120, help="of exponentiated gradient")
    parser.add_argument("--samples", type=int, default=100, help="to validate with, per chain")
    parser.add_argument("--lines", type=int, default=300, help="of val to learn from")
    parser.add_argument("--held-out", type=int, default=200, help="of val to validate on")
    options = parse_arguments(parser, "--data {data} --model {model} --weights {model}/weights.txt --runs 1")
    if options.exponentiated:
        exponentiated(options)
        return
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
