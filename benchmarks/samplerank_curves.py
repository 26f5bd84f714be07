"""SampleRank as the paper and as its authors' script have it: curves over samples, by the number of chains.

    python benchmarks/samplerank_curves.py --data DATA --out FOLDER [--presets paper authors-script]
        [--chains 1 2 4 8 16] [--samples 500000] [--picture docs/images/samplerank-curves.svg]

`dragoman tune --method samplerank --method-option preset=NAME` on Multi30k val, judged after every 50,000 samples of
each chain, or as soon as an epoch allows. A table of BLEU on val by samples a chain, and BLEU of the weights that are
best there on test_2016_flickr. What is done is kept. The models are those of benchmarks/tuning.py, if they are there.
"""

from __future__ import annotations

import argparse
import itertools
from collections import defaultdict
from pathlib import Path

from dragoman.core.files import read_lines
from dragoman.evaluation.figures.svg import panel_grid, write_svg
from dragoman.tuning.methods.samplerank.method import SampleRank
from dragoman.tuning.runs.run import Run
from experiments import bleu_of_test, dragoman, multi30k_files, trained_model
from quick import parse_arguments

#: BLEU on val: before tuning, and the mean of five runs of MERT (benchmarks/tuning.py).
KNOWN = {"fr-en": (48.09, 51.14), "de-en": (39.19, 41.09)}

Points = list[tuple[float, float]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--pairs", nargs="+", default=["fr-en", "de-en"])
    parser.add_argument("--presets", nargs="+", default=["paper", "authors-script"])
    parser.add_argument("--chains", nargs="+", type=int, default=[1, 2, 4, 8, 16])
    parser.add_argument("--samples", type=int, default=500_000, help="of each chain")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--pop-limit", type=int, default=200)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--picture", type=Path)
    arguments = parse_arguments(
        parser,
        "--data {data} --out {out} --pairs fr-en --presets paper --chains 1 --samples 2000",
    )
    panels: defaultdict[str, dict[str, Points]] = defaultdict(dict)
    print("| pair | preset | chains | BLEU on val after so many thousand samples a chain | best | test_2016 |")
    print("|---" * 6 + "|")
    for pair, preset, chains in itertools.product(arguments.pairs, arguments.presets, arguments.chains):
        model = trained_model(arguments.data, arguments.out, pair)
        run = learnt(model, pair, preset, chains, arguments)
        points = points_of(run)
        panels[f"{pair}, {preset}"][f"{chains} chain{'s' * (chains > 1)}"] = points
        curve = ", ".join(f"{samples / 1000:.0f}: {score:.2f}" for samples, score in points)
        best = max(score for _, score in points)
        test = bleu_of_test(model, run, pair, arguments.data, pop_limit=arguments.pop_limit)
        print(f"| {pair} | {preset} | {chains} | {curve} | {best:.2f} | {test:.2f} |", flush=True)
    if arguments.picture is not None:
        draw(panels, arguments.picture)


def learnt(model: Path, pair: str, preset: str, chains: int, arguments: argparse.Namespace) -> Run:
    """As many epochs as give each chain the samples."""
    source, reference = multi30k_files("val", arguments.data, pair)
    sentences, defaults = sum(1 for _ in read_lines(source)), SampleRank.presets[preset]
    epochs = -(-arguments.samples * chains // (sentences * defaults["samples"]))
    out = arguments.out.resolve() / f"{pair}-{preset}-{chains}-{arguments.samples}-{arguments.seed}"
    chosen = [f"preset={preset}", f"chains={chains}", f"epochs={epochs}"]
    options = [part for option in chosen for part in ("--method-option", option)]
    texts = ["--source", source, "--reference", reference, "--prepared"]
    search = ["--pop-limit", arguments.pop_limit, "--threads", arguments.threads, "--seed", arguments.seed]
    dragoman("tune", "--model", model, *texts, "--method", "samplerank", *options, *search, "--out", out)
    return Run(out)


def points_of(run: Run) -> Points:
    """Samples of a chain, and the score after them: an event judges what was learnt before it."""
    scores = [(before["samples"], event["score"]) for before, event in itertools.pairwise(run.events())]
    return [(0.0, run.events()[0]["score"]), *scores]


def draw(panels: dict[str, dict[str, Points]], path: Path) -> None:
    """A panel for each pair and preset, with lines for untuned weights and for MERT."""
    figure, axes = panel_grid(len(panels), columns=2, size=(4.4, 3.0))
    for ax, (title, curves) in zip(axes, panels.items(), strict=True):
        untuned, mert = KNOWN[title.split(",")[0]]
        for label, points in curves.items():
            ax.plot([samples / 1000 for samples, _ in points], [score for _, score in points], ".-", label=label)
        ax.axhline(mert, linestyle="--", color="grey", linewidth=1, label="MERT")
        ax.axhline(untuned, linestyle=":", color="grey", linewidth=1, label="untuned")
        ax.set_title(title, fontsize=10)
        ax.set_xlabel("thousand samples a chain")
        ax.set_ylabel("BLEU on val")
    # One for all, where the curves of the authors' script leave room.
    axes[min(1, len(panels) - 1)].legend(fontsize=7)
    write_svg(path, figure)


if __name__ == "__main__":
    main()
