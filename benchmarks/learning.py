"""Learning from samples beside MERT, under several decision rules: tables like 7.4, 7.5 and 7.9 of Arun's thesis.

    python benchmarks/learning.py --data DATA --out FOLDER [--pairs fr-en de-en] [--features 14 8] [--methods ...]

One `dragoman experiment` for each pair and set of features (8: no lexicalised reordering), tuned on Multi30k val,
tested in domain (test_2016_flickr) and out of it (test_2017_mscoco, and the first lines of Wesnoth and LibreOffice).
The models are those of benchmarks/tuning.py, if they are in FOLDER. What is done is kept.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import sys
from collections import defaultdict
from pathlib import Path

from experiments import (
    dragoman,
    mean_text,
    method_part,
    multi30k_test,
    other_domains,
    start_with,
    trained_model,
    write_plan,
)
from quick import parse_arguments

METHODS = ["mert", "risk-sentence", "risk-corpus", "samplerank"]

DECISIONS = """\
[[decision]]
name = "max-derivation"

[[decision]]
name = "max-translation"
evidence = "samples"
sampling = {{ samples = {samples}, chains = 1, burn_in = 50 }}

[[decision]]
name = "MBR"
use = "mbr"
evidence = "samples"
sampling = {{ samples = {samples}, chains = 1, burn_in = 50 }}

[[decision]]
name = "MBR by lists"
use = "mbr"
evidence = "nbest"
nbest_size = 200
scales = [0.25, 0.5, 1, 2, 4, 8, 16, 32]
scale_lines = 200
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--pairs", nargs="+", default=["fr-en", "de-en"])
    parser.add_argument("--features", nargs="+", type=int, choices=[8, 14], default=[14, 8])
    parser.add_argument("--methods", nargs="+", default=METHODS)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--samples", type=int, default=200)
    parser.add_argument("--lines", type=int, default=200, help="of each test set of another domain")
    arguments = parse_arguments(
        parser,
        "--data {data} --out {out} --pairs fr-en --features 14 --methods mert --runs 1 --samples 20 --lines 5",
    )
    for features, pair in itertools.product(arguments.features, arguments.pairs):
        folder = arguments.out.resolve() / f"{pair}-{features}-learning"
        plan = plan_of(folder, pair, features, arguments)
        dragoman("experiment", plan, "--out", folder / "out")
        report(folder / "out", f"{pair}, {features} features")


def plan_of(folder: Path, pair: str, features: int, arguments: argparse.Namespace) -> Path:
    data = arguments.data.resolve()
    model = trained_model(data, arguments.out, pair)
    tests = [multi30k_test(name, data, pair) for name in ("test_2016_flickr", "test_2017_mscoco")]
    tests += other_domains(folder, data, pair, arguments.lines)
    return write_plan(
        folder,
        f"{pair}, {features} features",
        [*map(method_part, arguments.methods), *tests, DECISIONS.format(samples=arguments.samples)],
        model=model,
        data=data,
        pair=pair,
        runs=arguments.runs,
        start=start_with(folder, model, features),
    )


def report(folder: Path, title: str) -> None:
    """Mean and deviation over runs, a row for each method and decision, a column for each test set."""
    scores: defaultdict[tuple[str, str], defaultdict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    with (folder / "runs.csv").open(encoding="utf-8") as stream:
        for row in csv.DictReader(stream):
            scores[row["method"], row["decision"]][row["test set"]].append(float(row["score"]))
    tests = list(next(iter(scores.values())))
    print(f"\n{title}\n\n| method | decision | {' | '.join(tests)} |\n|---|---|{'---|' * len(tests)}")
    for (method, decision), found in scores.items():
        cells = [mean_text(values) for values in found.values()]
        print(f"| {method} | {decision} | {' | '.join(cells)} |")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
