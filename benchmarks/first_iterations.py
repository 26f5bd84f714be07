"""Tuning's way from the first iteration to the last: how far BLEU falls below the start, and where it ends.

    python benchmarks/first_iterations.py --data DATA --out FOLDER [--pairs fr-en de-en] [--turns 30 180] [--runs 10]
    python benchmarks/first_iterations.py --out FOLDER --demo DEMO --methods mert mira pro --turns 30

`dragoman tune --method mert --max-angle TURN` on Multi30k val, a run for each seed; 180 degrees is no limit. With
--demo, on the verses that the demo in that folder tunes on. A row for each text, method and turn: BLEU of the start, of
the lowest iteration of each run after it, of the best, and of the test set (not of the demo's). What is done is kept.
The models are those of benchmarks/tuning.py, if they are in FOLDER.
"""

from __future__ import annotations

import argparse
import itertools
from dataclasses import dataclass
from pathlib import Path

from dragoman.tuning.runs.run import Run
from experiments import bleu_of_test, dragoman, mean_text, multi30k_files, trained_model
from quick import parse_arguments


@dataclass(frozen=True)
class Text:
    """What is tuned, and on what: Multi30k's val for a pair, or the verses of a demo."""

    name: str
    model: Path
    source: Path
    reference: Path

    @classmethod
    def of_pair(cls, pair: str, arguments: argparse.Namespace) -> Text:
        return cls(
            pair, trained_model(arguments.data, arguments.out, pair), *multi30k_files("val", arguments.data, pair)
        )

    @classmethod
    def of_demo(cls, folder: Path) -> Text:
        return cls("demo", folder / "model", folder / "prepared/dev.kjv", folder / "prepared/dev.web")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--pairs", nargs="+", default=["fr-en", "de-en"])
    parser.add_argument("--demo", type=Path, help="the folder of `dragoman demo`, in place of Multi30k")
    parser.add_argument("--methods", nargs="+", default=["mert"])
    parser.add_argument("--turns", nargs="+", type=int, default=[30, 180])
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--iterations", type=int, default=15)
    parser.add_argument("--pop-limit", type=int, default=100)
    parser.add_argument("--threads", type=int, default=1)
    arguments = parse_arguments(parser, "--data {data} --out {out} --pairs fr-en --turns 30 --runs 1 --iterations 1")
    print(
        "| text | method | largest turn | runs | start | lowest of each run | best of each | mean | test_2016 |\n"
        + "|---" * 9
        + "|"
    )
    pairs = [] if arguments.demo else arguments.pairs
    texts = [Text.of_pair(pair, arguments) for pair in pairs] or [Text.of_demo(arguments.demo)]
    for text, method, turn in itertools.product(texts, arguments.methods, arguments.turns):
        runs = [tuned(text, method, turn, seed, arguments) for seed in range(1, arguments.runs + 1)]
        scores = [[event["score"] for event in run.events()] for run in runs]
        lowest = ", ".join(f"{min(found[1:]):.1f}" for found in scores)
        best = [max(found) for found in scores]
        cells = [f"{scores[0][0]:.2f}", lowest, ", ".join(f"{one:.2f}" for one in best), mean_text(best)]
        if not arguments.demo:
            limit = arguments.pop_limit
            tests = [bleu_of_test(text.model, run, text.name, arguments.data, pop_limit=limit) for run in runs]
            cells.append(mean_text(tests))
        print(f"| {text.name} | {method} | {turn} | {len(runs)} | {' | '.join(cells)} |", flush=True)


def tuned(text: Text, method: str, turn: int, seed: int, arguments: argparse.Namespace) -> Run:
    out = arguments.out.resolve() / f"{method}-{text.name}-{turn}-{seed}"
    texts = ["--model", text.model, "--source", text.source, "--reference", text.reference, "--prepared"]
    options = ["--method", method, "--max-angle", turn, "--iterations", arguments.iterations]
    limits = ["--pop-limit", arguments.pop_limit, "--seed", seed, "--threads", arguments.threads]
    dragoman("tune", *texts, *options, *limits, "--out", out)
    return Run(out)


if __name__ == "__main__":
    main()
