"""Learning from samples beside MERT, under several decision rules: tables like 7.4, 7.5 and 7.9 of Arun's thesis.

    python benchmarks/learning.py --data DATA --out FOLDER [--pairs fr-en de-en] [--features 14 8] [--methods ...]

One `dragoman experiment` for each pair and set of features (8: no lexicalised reordering), tuned on Multi30k val,
tested in domain (test_2016_flickr) and out of it (test_2017_mscoco, and the first lines of Wesnoth and LibreOffice).
The models are those of benchmarks/tuning.py, if they are in FOLDER. What is done is kept.

Max-derivation (by frequency), max-translation and MBR by the same samples are the comparison of table 7.4. The plain
max-derivation and MBR by lists and lattices are of the decoder's search (tables 7.5, 7.9, 7.10). More as in the thesis:
--decodings 10 --samples 10000 --held-out 200, which tunes on all lines of val but the last 200 and validates learners
on those by MBR over samples; and --sample-scales 1 5 10 20, which chooses the scale of samples on the tuning set
(table 7.8, for MERT).
"""

from __future__ import annotations

import argparse
import csv
import itertools
import sys
from collections import defaultdict
from pathlib import Path

from dragoman.core.files import open_output, read_lines
from experiments import (
    dragoman,
    mean_text,
    method_part,
    multi30k_files,
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
name = "max-derivation by samples"
use = "max-derivation"
options = {{ samples_by = "frequency" }}
{sampled}

[[decision]]
name = "max-translation"
{sampled}

[[decision]]
name = "MBR"
use = "mbr"
{sampled}

[[decision]]
name = "MBR by lists"
use = "mbr"
evidence = "nbest"
nbest_size = 200
scales = [0.25, 0.5, 1, 2, 4, 8, 16, 32]
scale_lines = 200

[[decision]]
name = "lattice MBR"
use = "lattice-mbr"
options = {{ space = "kbest" }}
scales = [0.25, 0.5, 1, 2, 4, 8, 16, 32]
scale_lines = 200
"""

SAMPLED = """\
evidence = "samples"
sampling = {{ samples = {samples}, chains = 1, burn_in = 50 }}
decodings = {decodings}"""

HELD_OUT = """\
[held_out]
source = "{source}"
reference = "{target}"

[validation]
validation_rule = "mbr"
validation_evidence = "samples"
validation_samples = {samples}

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
    parser.add_argument("--decodings", type=int, default=1, help="by samples, under the weights of each run")
    parser.add_argument("--sample-scales", nargs="+", type=float, default=[], help="choose the scale of samples")
    parser.add_argument("--held-out", type=int, default=0, help="last lines of val, to validate learners on")
    arguments = parse_arguments(
        parser,
        "--data {data} --out {out} --pairs fr-en --features 14 --methods mert --runs 1 --samples 20 --lines 5 "
        "--decodings 2 --sample-scales 1 5 --held-out 5",
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
    sampled = SAMPLED.format(samples=arguments.samples, decodings=arguments.decodings)
    if arguments.sample_scales:
        sampled += f"\nscales = {arguments.sample_scales}\nscale_lines = 100"
    tuning, held_out = split_val(folder, data, pair, arguments.held_out)
    if held_out is not None:
        tests.insert(0, HELD_OUT.format(source=held_out[0], target=held_out[1], samples=arguments.samples))
    return write_plan(
        folder,
        f"{pair}, {features} features",
        [*map(method_part, arguments.methods), *tests, DECISIONS.format(sampled=sampled)],
        model=model,
        data=data,
        pair=pair,
        runs=arguments.runs,
        start=start_with(folder, model, features),
        tuning=tuning,
    )


def split_val(folder: Path, data: Path, pair: str, held_out: int) -> tuple[list[Path] | None, list[Path] | None]:
    """Val without its last lines, and these lines, copied into a folder; None for both if no lines are held out."""
    if not held_out:
        return None, None
    parts: list[list[Path]] = [[], []]
    for file in multi30k_files("val", data, pair):
        lines = list(read_lines(file))
        for part, name, kept in zip(parts, ("tune", "held-out"), (lines[:-held_out], lines[-held_out:]), strict=True):
            part.append(folder / f"{name}{file.with_suffix('').suffix}")
            with open_output(part[-1]) as stream:
                stream.write("".join(f"{line}\n" for line in kept).encode())
    return parts[0], parts[1]


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
    if (folder / "decodings.csv").exists():
        print("\n| method | decision | test set | mean | sd | min | max | sd within a run | sd between runs |")
        print("|---|---|---|---|---|---|---|---|---|")
        with (folder / "decodings.csv").open(encoding="utf-8") as stream:
            for row in csv.DictReader(stream):
                numbers = [row[key] for key in ("mean", "sd", "min", "max", "sd within a run", "sd between runs")]
                cells = [f"{float(number):.2f}" if number else "" for number in numbers]
                print(f"| {row['method']} | {row['decision']} | {row['test set']} | {' | '.join(cells)} |")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
