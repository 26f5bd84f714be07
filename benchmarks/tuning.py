"""Tuning methods compared on Multi30k: BLEU of test_2016_flickr over repeated runs, with significance.

    python benchmarks/tuning.py --data DATA --out FOLDER [--pairs fr-en de-en] [--features 14 8] [--methods ...]

Trains a model for each pair, and carries out one `dragoman experiment` for each pair and set of features (8: no
lexicalised reordering; its weights are 0 and stay so). Prints a table and the order of the methods for each, beside
Moses' figures. What is done is kept: the command goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path

from experiments import dragoman, method_part, multi30k_test, start_with, trained_model, write_plan
from quick import parse_arguments

METHODS = ["mert", "mira", "pro", "lus", "simplex", "svm-rank", "risk-nbest", "mira-smo"]
MOSES = {
    "fr-en": "untuned 48.0, MERT 50.50 ± 0.11 (3 runs), MIRA 50.6, PRO 50.6",
    "de-en": "untuned 39.9, MERT 40.24 ± 0.15 (2 runs), MIRA 39.8, PRO 39.8",
}
SCHUTH = "LUS(1/100) ≥ MERT > SVM-Rank > Simplex > LUS(0) > MIRA"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--pairs", nargs="+", default=list(MOSES))
    parser.add_argument("--features", nargs="+", type=int, choices=[8, 14], default=[14, 8])
    parser.add_argument("--methods", nargs="+", default=METHODS)
    parser.add_argument("--runs", type=int, default=5)
    arguments = parse_arguments(parser, "--data {data} --out {out} --pairs fr-en --features 14 --methods pro --runs 1")
    for features in arguments.features:
        for pair in arguments.pairs:
            folder = arguments.out.resolve() / f"{pair}-{features}-{'+'.join(arguments.methods)}"
            model = trained_model(arguments.data, arguments.out, pair)
            plan = write_plan(
                folder,
                f"{pair}, {features} features",
                [*map(method_part, arguments.methods), multi30k_test("test_2016_flickr", arguments.data, pair)],
                model=model,
                data=arguments.data,
                pair=pair,
                runs=arguments.runs,
                start=start_with(folder, model, features),
            )
            dragoman("experiment", plan, "--out", folder / "out")
            report(folder / "out", pair)


def report(folder: Path, pair: str) -> None:
    with (folder / "runs.csv").open(encoding="utf-8") as stream:
        for row in csv.DictReader(stream):
            print(f"{row['method']} {row['seed']}: {float(row['score']):.2f}")
    print(f"Moses, {pair}: {MOSES[pair]}\nSchuth 2010 (14 features, other data): {SCHUTH}\n", flush=True)


if __name__ == "__main__":
    main()
