"""Online MIRA as in Chiang, Marton & Resnik (2008), with log-probabilities in base 100 and with natural ones.

    python benchmarks/online_mira_units.py --data DATA --out FOLDER [--pair en-fr] [--lines 500] [--passes 3]
        [--runs 1] [--probe]

The model has the paper's twelve features and fine structural distortion, from one `dragoman train`; its second language
model is of Wesnoth and the LibreOffice help. It is tuned with `preset=paper` on the first lines of Multi30k val, a run
for each seed, and judged on the other lines, which also decide which pass is kept. With `--probe`: how much features
differ between the hypotheses that are best by hope and by fear, under the model's first weights. What is done is kept.
"""

from __future__ import annotations

import argparse
import itertools
from pathlib import Path

import numpy as np

from dragoman.core.corpus import Corpus
from dragoman.core.files import open_output, read_lines
from dragoman.core.ragged import Ragged
from dragoman.forest.hope import FEAR, hope
from dragoman.metrics.bleu import Bleu
from dragoman.model.bundle import Model
from dragoman.search.limits import SearchLimits
from dragoman.search.translator import Translator
from dragoman.tuning.methods.mira_online import LN_100
from dragoman.tuning.problems.hope_fear import HypothesisFinder, HypothesisSettings
from dragoman.tuning.problems.problem import tuned_names
from dragoman.tuning.runs.run import Run
from experiments import dragoman, mean_text, multi30k_files
from quick import parse_arguments

POP_LIMIT = 100
UNITS = ("base-100", "plain")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--pair", default="en-fr")
    parser.add_argument("--lines", type=int, default=500, help="lines of val to tune on; the others are held out")
    parser.add_argument("--passes", type=int, default=3)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--probe", action="store_true", help="only the differences of features")
    arguments = parse_arguments(parser, "--data {data} --out {out} --lines 4 --passes 1 --pair fr-en")
    model = trained(arguments.data, arguments.out, arguments.pair)
    if arguments.probe:
        source, reference = multi30k_files("val", arguments.data, arguments.pair)
        probe(Model.load(model), source, reference)
        return
    texts = halves(arguments)
    # Printed at the end: `dragoman tune` prints in between.
    table = ["| log-probabilities | held-out BLEU, first run | best of each run | mean | size of sd.* weights |"]
    table.append("|---" * 5 + "|")
    for units in UNITS:
        runs = [tuned(model, texts, units, seed, arguments) for seed in range(1, arguments.runs + 1)]
        scores = [[event["score"] for event in run.events()] for run in runs]
        best = [max(one) for one in scores]
        cells = [", ".join(f"{score:.2f}" for score in row) for row in (scores[0], best)]
        label = "base 100" if units == "base-100" else "natural"
        weights = [weight for run in runs for name, weight in run.weights().items() if name.startswith("sd.")]
        size = float(np.abs(weights).mean()) if weights else 0.0
        table.append(f"| {label} | {' | '.join(cells)} | {mean_text(best)} | {size:.3f} |")
    print("", *table, sep="\n")


def trained(data: Path, out: Path, pair: str) -> Path:
    """The model, trained unless it is there."""
    model = out.resolve() / f"twelve-{pair}"
    if not model.exists():
        source, target = multi30k_files("train", data, pair)
        language = pair.split("-")[1]
        others = [
            path for name in ("wesnoth", "libreoffice") for path in sorted((data / name).glob(f"train.*.{language}.gz"))
        ]
        texts = [flag for path in others or [target] for flag in ("--second-lm-text", path.resolve())]
        named = ["--feature", "rule-class:generate=all", "--feature", "structural-distortion", "--lm-order", 5]
        files = ["--preset", "moses", "--source", source, "--target", target, "--tokenised", "--hierarchical"]
        dragoman("train", *files, *texts, *named, "--out", model)
    return model


def halves(arguments: argparse.Namespace) -> dict[str, list[Path]]:
    """The lines to tune on and the others, copied into the folder."""
    found: dict[str, list[Path]] = {"tuning": [], "held-out": []}
    for path, language in zip(
        multi30k_files("val", arguments.data, arguments.pair), arguments.pair.split("-"), strict=True
    ):
        lines = list(read_lines(path))
        for name, part in (("tuning", lines[: arguments.lines]), ("held-out", lines[arguments.lines :])):
            file = arguments.out.resolve() / f"val-{name}-{arguments.lines}.{language}"
            with open_output(file) as stream:
                stream.write("".join(f"{line}\n" for line in part).encode())
            found[name].append(file)
    return found


def tuned(model: Path, texts: dict[str, list[Path]], units: str, seed: int, arguments: argparse.Namespace) -> Run:
    out = arguments.out.resolve() / f"paper-{units}-{arguments.pair}-{arguments.lines}-{seed}"
    flags = [
        *zip(("--source", "--reference"), texts["tuning"], strict=True),
        *zip(("--held-out-source", "--held-out-reference"), texts["held-out"], strict=True),
        *(("--method-option", one) for one in ("preset=paper", f"units={units}", f"passes={arguments.passes}")),
        ("--pop-limit", POP_LIMIT),
        ("--seed", seed),
        ("--threads", arguments.threads),
    ]
    options = ["--model", model, "--prepared", "--method", "mira-online", *itertools.chain.from_iterable(flags)]
    dragoman("tune", *options, "--out", out)
    return Run(out)


def probe(model: Model, source: Path, reference: Path, sentences: int = 50) -> None:
    """Mean square of the difference between hope and fear, and the share of features that are counts."""
    lines, references = list(read_lines(source)), Corpus.from_lines(read_lines(reference))
    translator = Translator.of(model, limits=SearchLimits(pop_limit=POP_LIMIT))
    finder = HypothesisFinder(translator, lines, Bleu().scorer([references]), 1, HypothesisSettings())
    squares = {True: 0.0, False: 0.0}
    document, fixed = finder.first_document(), set(model.feature_names) - set(tuned_names(model.feature_names))
    for sentence in range(min(sentences, len(lines))):
        pool = finder.pool(sentence, model.weights, document, [hope(0.5), FEAR])
        rows = pool.derivations.take(np.array([int(pool.highest(one, 1)[0]) for one in (hope(0.5), FEAR)]))
        edges = pool.searched.edge_features(0, rows.values)
        sums = edges.sum_over(Ragged(np.arange(len(rows.values), dtype=np.int32), rows.offsets))
        best, worst = sums.dense()
        for name, change in zip(sums.names, (best - worst).tolist(), strict=True):
            squares[model.is_log_probability(name)] += 0.0 if name in fixed else change**2 / sentences
        document = 0.9 * (document + pool.statistics[0])
    print("| log-probabilities | mean square of hope less fear | share of counts |\n|---|---|---|")
    for label, unit in (("natural", 1.0), ("base 100", LN_100)):
        total = squares[False] + squares[True] / unit**2
        print(f"| {label} | {total:.1f} | {squares[False] / total:.1%} |")


if __name__ == "__main__":
    main()
