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

from dragoman.core.weights import Weights
from dragoman.model.bundle import Model
from experiments import dragoman, trained_model

METHODS = ["mert", "mira", "pro", "lus", "simplex", "svm-rank", "risk-nbest", "mira-smo"]
MOSES = {
    "fr-en": "untuned 48.0, MERT 50.50 ± 0.11 (3 runs), MIRA 50.6, PRO 50.6",
    "de-en": "untuned 39.9, MERT 40.24 ± 0.15 (2 runs), MIRA 39.8, PRO 39.8",
}
SCHUTH = "LUS(1/100) ≥ MERT > SVM-Rank > Simplex > LUS(0) > MIRA"

PLAN = """\
title = "{pair}, {features} features"
model = "{model}"
source = "{data}/val.{source}.gz"
reference = "{data}/val.{target}.gz"
start = "{start}"
fixed = {fixed}
prepared = true
runs = {runs}
curves = false

[search]
pop_limit = 200

{methods}
[[test]]
name = "test_2016_flickr"
source = "{data}/test_2016_flickr.{source}.gz"
reference = "{data}/test_2016_flickr.{target}.gz"
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--pairs", nargs="+", default=list(MOSES))
    parser.add_argument("--features", nargs="+", type=int, choices=[8, 14], default=[14, 8])
    parser.add_argument("--methods", nargs="+", default=METHODS)
    parser.add_argument("--runs", type=int, default=5)
    arguments = parser.parse_args()
    data = (arguments.data / "multi30k").resolve()
    for features in arguments.features:
        for pair in arguments.pairs:
            source, target = pair.split("-")
            folder = arguments.out.resolve() / f"{pair}-{features}-{'+'.join(arguments.methods)}"
            model = trained_model(arguments.data, arguments.out, pair)
            weights = Model.load(model).weights
            fixed = [] if features == 14 else ["lr.*"]
            folder.mkdir(parents=True, exist_ok=True)
            start = folder / "start.txt"
            zero = [] if features == 14 else [name for name in weights if name.startswith("lr.")]
            Weights({**weights, **dict.fromkeys(zero, 0.0)}).write(start)
            methods = "".join(f'[[method]]\nname = "{name}"\n\n' for name in arguments.methods)
            plan = folder / "plan.toml"
            plan.write_text(
                PLAN.format(
                    pair=pair,
                    features=features,
                    model=model,
                    data=data,
                    source=source,
                    target=target,
                    start=start,
                    fixed=fixed,
                    runs=arguments.runs,
                    methods=methods,
                ),
                encoding="utf-8",
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
