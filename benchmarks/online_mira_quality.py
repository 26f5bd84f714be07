"""Online MIRA beside batch MIRA and MERT: BLEU on val, which they tune on, and on test_2016_flickr.

    python benchmarks/online_mira_quality.py --data DATA --out FOLDER [--pairs fr-en de-en] [--kinds phrases rules]
        [--methods mira-online paper mira mert] [--runs 3]

`dragoman tune` on Multi30k val, judged there, a run for each seed; `paper` is online MIRA with `preset=paper`. What is
done is kept. The models are those of benchmarks/tuning.py and hierarchical_quality.py, if they are in FOLDER.
"""

from __future__ import annotations

import argparse
import itertools
from pathlib import Path

from dragoman.tuning.runs.run import Run
from experiments import bleu_of_test, dragoman, mean_text, multi30k_files, trained_model
from quick import parse_arguments

#: The pop limits that the figures of the other methods were made with.
POP_LIMITS = {"phrases": 200, "rules": 100}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--pairs", nargs="+", default=["fr-en", "de-en"])
    parser.add_argument("--kinds", nargs="+", choices=[*POP_LIMITS], default=[*POP_LIMITS])
    parser.add_argument("--methods", nargs="+", default=["mira-online"])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    arguments = parse_arguments(parser, "--data {data} --out {out} --pairs fr-en --runs 1")
    print("| pair | model | method | runs | val of each run | val | test_2016 |\n" + "|---" * 7 + "|")
    for pair, kind, method in itertools.product(arguments.pairs, arguments.kinds, arguments.methods):
        model = trained_model(arguments.data, arguments.out, pair, hierarchical=kind == "rules")
        runs = [tuned(model, pair, kind, method, seed, arguments) for seed in range(1, arguments.runs + 1)]
        best = [max(event["score"] for event in run.events()) for run in runs]
        tests = [bleu_of_test(model, run, pair, arguments.data, pop_limit=POP_LIMITS[kind]) for run in runs]
        cells = [pair, kind, method, len(runs), ", ".join(f"{one:.2f}" for one in best)]
        print(f"| {' | '.join(map(str, cells))} | {mean_text(best)} | {mean_text(tests)} |", flush=True)


def tuned(model: Path, pair: str, kind: str, method: str, seed: int, arguments: argparse.Namespace) -> Run:
    out = arguments.out.resolve() / f"{method}-{kind}-{pair}-{seed}"
    source, reference = multi30k_files("val", arguments.data, pair)
    named = ["mira-online", "--method-option", "preset=paper"] if method == "paper" else [method]
    texts = ["--model", model, "--source", source, "--reference", reference, "--prepared", "--method", *named]
    options = ["--pop-limit", POP_LIMITS[kind], "--seed", seed, "--threads", arguments.threads]
    dragoman("tune", *texts, *options, "--out", out)
    return Run(out)


if __name__ == "__main__":
    main()
