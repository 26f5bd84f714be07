"""SampleRank by the number of chains, with and without phrase-boundary features: tables 2, 5 and 6 of the paper.

    dragoman tag --text train.en --out train.tagged
    python benchmarks/samplerank_quality.py --data DATA --out FOLDER --neighbours local --tagged train.tagged
    python benchmarks/samplerank_quality.py --data DATA --out FOLDER --features plain --chains 2 --epochs 8

One `dragoman experiment` for each pair and set of features (14 dense ones, or these and all pairs of tags at phrase
boundaries), tuned on Multi30k val. The models are those of benchmarks/tuning.py, if they are in FOLDER. What is done is
kept.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import sys
from collections import defaultdict
from pathlib import Path

from experiments import dragoman, mean_text, multi30k_test, other_domains, trained_model, write_plan
from quick import parse_arguments

METHOD = (
    '[[method]]\nname = "{chains} chains"\nuse = "samplerank"\noptions = {{ neighbours = "{neighbours}", '
    "chains = {chains}, epochs = {epochs} }}\n\n"
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--tagged", type=Path, help="target side of the training text, with tags, for boundaries")
    parser.add_argument("--neighbours", choices=["jump", "local", "both"], default="jump")
    parser.add_argument("--pairs", nargs="+", default=["fr-en", "de-en"])
    parser.add_argument("--features", nargs="+", choices=["plain", "boundaries"], default=["plain", "boundaries"])
    parser.add_argument("--chains", nargs="+", type=int, default=[1, 2, 4, 8])
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3, 4, 5])
    parser.add_argument("--lines", type=int, default=200, help="of each test set of another domain")
    arguments = parse_arguments(
        parser,
        "--data {data} --out {out} --pairs fr-en --features plain --chains 1 --epochs 1 --seeds 1 --lines 5",
    )
    if arguments.tagged is None and "boundaries" in arguments.features:
        parser.error("boundary features need --tagged")
    seeds = "+".join(map(str, arguments.seeds))
    for pair, features in itertools.product(arguments.pairs, arguments.features):
        folder = arguments.out.resolve() / f"{pair}-{features}-samplerank-{arguments.neighbours}-{seeds}"
        model = trained_model(arguments.data, arguments.out, pair)
        if features == "boundaries":
            plain, model = model, arguments.out.resolve() / f"pb-{pair}"
            if not model.exists():
                tagged = ["--feature", "boundary-tags", "--tagged", arguments.tagged]
                dragoman("model", "add-features", plain, *tagged, "--out", model)
        settings = {"neighbours": arguments.neighbours, "epochs": arguments.epochs}
        methods = [METHOD.format(chains=n, **settings) for n in arguments.chains]
        tests = [multi30k_test(name, arguments.data, pair) for name in ("test_2016_flickr", "test_2017_mscoco")]
        tests += other_domains(folder, arguments.data, pair, arguments.lines)
        title = f"SampleRank, {pair}, {features}"
        plan = write_plan(
            folder, title, [*methods, *tests], model=model, data=arguments.data, pair=pair, runs=arguments.seeds
        )
        dragoman("experiment", plan, "--out", folder / "out")
        report(folder / "out", f"{pair}, {features}")


def report(folder: Path, title: str) -> None:
    """Mean and deviation over runs of the best score on val, and of the tests."""
    scores: defaultdict[str, defaultdict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    with (folder / "runs.csv").open(encoding="utf-8") as stream:
        for row in csv.DictReader(stream):
            scores[row["method"]][row["test set"]].append(float(row["score"]))
            if row["test set"] == "test_2016_flickr" and row["score on the tuning set"]:
                scores[row["method"]]["val"].append(float(row["score on the tuning set"]))
    tests = ("val", "test_2016_flickr", "test_2017_mscoco", "wesnoth", "libreoffice")
    print(f"\n{title}\n\n| method | {' | '.join(tests)} |\n|---|{'---|' * len(tests)}")
    for method, found in scores.items():
        cells = [mean_text(found[test]) for test in tests]
        print(f"| {method} | {' | '.join(cells)} |")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
