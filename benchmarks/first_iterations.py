"""Tuning's way from the first iteration to the last: how far BLEU falls below the start, and where it ends.

    python benchmarks/first_iterations.py --data DATA --out FOLDER [--pairs fr-en de-en] [--turns 30 180] [--runs 10]

`dragoman tune --method mert --largest-turn TURN` on Multi30k val, a run for each seed; 180 degrees is no limit. A row
for each pair, method and turn: BLEU of the start, of the lowest iteration of each run after it, of the best, and of the
test set. What is done is kept. The models are those of benchmarks/tuning.py, if they are in FOLDER.
"""

from __future__ import annotations

import argparse
import itertools
from pathlib import Path

from dragoman.tuning.runs.run import Run
from experiments import bleu_of_test, dragoman, mean_text, multi30k_files, trained_model


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--pairs", nargs="+", default=["fr-en", "de-en"])
    parser.add_argument("--methods", nargs="+", default=["mert"])
    parser.add_argument("--turns", nargs="+", type=int, default=[30, 180])
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--pop-limit", type=int, default=100)
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    print(
        "| pair | method | largest turn | runs | start | lowest of each run | best of each | mean | test_2016 |\n"
        + "|---" * 9
        + "|"
    )
    for pair, method, turn in itertools.product(arguments.pairs, arguments.methods, arguments.turns):
        model = trained_model(arguments.data, arguments.out, pair)
        runs = [tuned(model, pair, method, turn, seed, arguments) for seed in range(1, arguments.runs + 1)]
        scores = [[event["score"] for event in run.events()] for run in runs]
        lowest = ", ".join(f"{min(found[1:]):.1f}" for found in scores)
        best = [max(found) for found in scores]
        tests = [bleu_of_test(model, run, pair, arguments.data, pop_limit=arguments.pop_limit) for run in runs]
        cells = [f"{scores[0][0]:.2f}", lowest, ", ".join(f"{one:.2f}" for one in best), mean_text(best)]
        print(f"| {pair} | {method} | {turn} | {len(runs)} | {' | '.join(cells)} | {mean_text(tests)} |", flush=True)


def tuned(model: Path, pair: str, method: str, turn: int, seed: int, arguments: argparse.Namespace) -> Run:
    out = arguments.out.resolve() / f"{method}-{pair}-{turn}-{seed}"
    source, reference = multi30k_files("val", arguments.data, pair)
    options = ["--prepared", "--method", method, "--largest-turn", turn, "--pop-limit", arguments.pop_limit]
    texts = ["--source", source, "--reference", reference]
    dragoman("tune", "--model", model, *texts, *options, "--seed", seed, "--threads", arguments.threads, "--out", out)
    return Run(out)


if __name__ == "__main__":
    main()
