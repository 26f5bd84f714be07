"""Hierarchical models tuned by several methods, with several sets of features: tables 1 and 2 of Chiang et al. (2008).

    python benchmarks/hierarchical_quality.py --data DATA --out FOLDER [--pairs fr-en de-en] [--features none]
        [--methods mert mira pro] [--runs 5]
    python benchmarks/hierarchical_quality.py --data DATA --out FOLDER --pairs en-fr --features none syntax-fine
        --methods mert paper
    python benchmarks/hierarchical_quality.py --data DATA --out FOLDER --pairs fr-en --methods mira --decisions

One `dragoman experiment` for each pair and set of features, tuned on Multi30k val. Learners are judged on
test_2017_mscoco,
which also decides which pass is kept; features of trees need English as the source. What is done is kept.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import sys
from collections import defaultdict
from pathlib import Path

from experiments import dragoman, mean_text, trained_model, write_plan
from quick import parse_arguments

TREES = ("syntax-coarse", "syntax-fine", "both")
FEATURES = {
    "none": [],
    "syntax-coarse": ["syntax:grain=coarse"],
    "syntax-fine": ["syntax:grain=fine"],
    "distortion-coarse": ["structural-distortion:grain=coarse"],
    "distortion-fine": ["structural-distortion:grain=fine"],
    "both": ["syntax:grain=fine", "structural-distortion:grain=fine"],
}
#: Online MIRA with its defaults, and the rows of table 2, by the options that make them.
ONLINE = {
    "mira-online": "",
    "paper": 'preset = "paper"',
    "local, no fear": 'preset = "paper", oracle = "local", fear = 0',
    "local": 'preset = "paper", oracle = "local"',
    "no fear": 'preset = "paper", fear = 0',
    "no sharing": 'preset = "paper", share = false',
}
#: Decision rules by what they see; those that have a scale choose it on val.
DECISIONS = [
    ("max-derivation", "hypergraph"),
    ("max-translation", "samples"),
    ("mbr", "samples"),
    ("mbr", "nbest"),
    ("lattice-mbr", "hypergraph"),
    ("consensus", "hypergraph"),
    ("variational", "hypergraph"),
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--pairs", nargs="+", default=["fr-en", "de-en", "en-fr", "en-de"])
    parser.add_argument("--features", nargs="+", choices=[*FEATURES], default=["none"])
    parser.add_argument("--methods", nargs="+", default=["mert", "mira", "pro"], help="methods, or rows of table 2")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--pop-limit", type=int, default=100)
    parser.add_argument("--iterations", type=int, default=15, help="of methods that optimise lists")
    parser.add_argument("--passes", type=int, default=8, help="passes of online MIRA over the tuning set")
    parser.add_argument("--phrases", action="store_true", help="phrase-based models, for comparison")
    parser.add_argument("--decisions", action="store_true", help="translate by several decision rules")
    arguments = parse_arguments(parser, "--data {data} --out {out} --pairs fr-en --methods pro --runs 1 --iterations 1")
    data = arguments.data.resolve()
    for pair, features in itertools.product(arguments.pairs, arguments.features):
        model = trained_model(data, arguments.out, pair, hierarchical=not arguments.phrases)
        if FEATURES[features]:
            plain, model = model, model.with_name(f"{model.name}-{features}")
            if not model.exists():
                named = [flag for feature in FEATURES[features] for flag in ("--feature", feature)]
                dragoman("model", "add-features", plain, *named, "--out", model)
        name = "+".join(arguments.methods) + ("+decisions" if arguments.decisions else "")
        folder = arguments.out.resolve() / f"{model.name}-{name}".replace(" ", "_").replace(",", "")
        trees = features in TREES
        parts = [
            *(decision_part(*decision) for decision in DECISIONS if arguments.decisions),
            *(method_part(method, arguments.passes) for method in arguments.methods),
            text_part("held_out", "test_2017_mscoco", data, pair, trees=trees),
            text_part("[test]", "test_2016_flickr", data, pair, trees=trees),
            text_part("[test]", "test_2017_mscoco", data, pair, trees=trees),
        ]
        plan = write_plan(
            folder,
            f"{pair}, {features}",
            parts,
            model=model,
            data=data,
            pair=pair,
            runs=arguments.runs,
            start="".join(
                [
                    f"loop = {{ iterations = {arguments.iterations} }}\n",
                    f'trees = "{data}/trees/val.en.trees.gz"\n' * trees,
                ]
            ),
            pop_limit=arguments.pop_limit,
        )
        dragoman("experiment", plan, "--out", folder / "out")
        report(folder / "out", f"{pair}, {features}")


def method_part(name: str, passes: int) -> str:
    """A method with its defaults, or a row of table 2."""
    if name not in ONLINE:
        return f'[[method]]\nname = "{name}"\n\n'
    options = ", ".join([f"passes = {passes}", *filter(None, [ONLINE[name]])])
    return f'[[method]]\nname = "{name}"\nuse = "mira-online"\noptions = {{ {options} }}\n\n'


def decision_part(rule: str, evidence: str) -> str:
    """A decision rule."""
    lines = ["[[decision]]", f'name = "{rule}, {evidence}"', f'use = "{rule}"', f'evidence = "{evidence}"']
    lines += ["sampling = { samples = 200 }"] * (evidence == "samples")
    lines += ["scales = [0.5, 1, 2, 4]", "scale_lines = 100"] * (rule != "max-derivation")
    return "\n".join(lines) + "\n\n"


def text_part(heading: str, name: str, data: Path, pair: str, *, trees: bool) -> str:
    """A text of Multi30k, for a table of that heading."""
    source, target = (f"{data}/multi30k/{name}.{language}.gz" for language in pair.split("-"))
    lines = [f"[{heading}]", f'source = "{source}"', f'reference = "{target}"']
    lines += [f'name = "{name}"'] * heading.startswith("[")
    lines += [f'trees = "{data}/trees/{name}.en.trees.gz"'] * trees
    return "\n".join(lines) + "\n\n"


def report(folder: Path, title: str) -> None:
    """Mean and deviation over runs of the best score on val, and of the tests."""
    scores: defaultdict[str, defaultdict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    with (folder / "runs.csv").open(encoding="utf-8") as stream:
        for row in csv.DictReader(stream):
            system = ", ".join(row[key] for key in ("method", "decision") if row.get(key))
            scores[system][row["test set"]].append(float(row["score"]))
            if row["test set"] == "test_2016_flickr" and row["score on the tuning set"]:
                scores[system]["judged"].append(float(row["score on the tuning set"]))
    tests = ("judged", "test_2016_flickr", "test_2017_mscoco")
    print(f"\n{title}\n\n| system | {' | '.join(tests)} |\n|---|{'---|' * len(tests)}")
    for system, found in scores.items():
        print(f"| {system} | {' | '.join(mean_text(found[test]) for test in tests)} |")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
