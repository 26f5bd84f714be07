"""Settings of SampleRank's walk by operators (`neighbours=local`), by pair, number of features and chains.

    python benchmarks/samplerank_walk.py --data DATA --out FOLDER [--settings default cold] [--features 8 14]
        [--chains 1 2 4 8 16] [--epochs 5] [--judged 2]

Weights are learnt on Multi30k val from the untrained model's, without decoding, and those of the last `--judged` epochs
are judged by decoding val; the table has the best. Settings that are not known are a list of NAME=VALUE, separated by
commas, which change `cold`. With 8 features, those of reordering are 0 and stay so. What is done is kept, also the
weights and processor seconds. The models are those of benchmarks/tuning.py, if they are in FOLDER.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from dragoman.core.corpus import Corpus
from dragoman.core.feature_rows import Weights
from dragoman.core.files import open_output, read_lines
from dragoman.core.runtime import Runtime
from dragoman.metrics.bleu import Bleu
from dragoman.model.bundle import Model
from dragoman.search.limits import SearchLimits
from dragoman.search.translator import Translator
from dragoman.tuning.methods.method import TrainingSet
from dragoman.tuning.methods.samplerank.method import SampleRank
from experiments import multi30k_files, trained_model
from quick import parse_arguments

COLD: dict[str, Any] = {
    "temperature": 0.1,
    "worse": "fear",
    "margin": 1.0,
    "gain_unit": "words",
    "gain_scale": 0.3,
    "units": "deviation",
    "aggressiveness": 0.005,
    "cooling": 1.0,
    "average": "epoch",
    "retranslate": 1.0,
    "samples": 40,
    "burn_in": 40,
}
SETTINGS: dict[str, dict[str, Any]] = {"default": {}, "paper": {"preset": "paper"}, "cold": COLD}


def options_of(setting: str) -> dict[str, Any]:
    """The options of a setting."""
    if setting in SETTINGS:
        return SETTINGS[setting]
    changes = {}
    for one in setting.split(","):
        name, value = one.split("=")
        changes[name] = float(value) if value.replace(".", "", 1).isdigit() else value
    return COLD | {name: int(value) if name in ("samples", "burn_in") else value for name, value in changes.items()}


class Task:
    """A model with its own weights, and val as tuning set."""

    def __init__(self, arguments: argparse.Namespace, pair: str, features: int):
        model = Model.load(trained_model(arguments.data, arguments.out, pair))
        zero = [] if features == 14 else [name for name in model.weights if name.startswith("lr.")]
        self.start = Weights({**model.weights, **dict.fromkeys(zero, 0.0)})
        names = [name for name in model.feature_names if name not in (*zero, "unknown_word")]
        self.source, reference = ([*read_lines(file)] for file in multi30k_files("val", arguments.data, pair))
        self.translator = Translator.of(model, self.start, limits=SearchLimits(pop_limit=arguments.pop_limit))
        self.scorer = Bleu().scorer([Corpus.from_lines(reference)])
        self.training_set = TrainingSet(self.translator, self.source, self.scorer, names)

    def bleu(self, weights: Weights) -> float:
        """BLEU of val, decoded with some weights."""
        found = [one.text for one in self.translator.reweighted(weights).translate(self.source)]
        return float(self.scorer.score(self.scorer.statistics(Corpus.from_lines(found)).sum(axis=0)))


def learnt(task: Task, setting: str, chains: int, arguments: argparse.Namespace) -> dict[str, Any]:
    """BLEU on val of the last epochs, the weights and the processor time of learning them."""
    method = SampleRank(**options_of(setting) | {"neighbours": "local", "chains": chains, "epochs": arguments.epochs})
    scores, seconds, began = [], 0.0, time.process_time()
    learning = method.learn(task.training_set, task.start, seed=arguments.seed, runtime=Runtime(threads=1))
    for epoch, checkpoint in enumerate(learning, 1):
        seconds += time.process_time() - began
        if epoch > arguments.epochs - arguments.judged:
            scores.append(task.bleu(checkpoint.weights))
        began = time.process_time()
    return {"scores": scores, "seconds": seconds, "report": checkpoint.report, "weights": dict(checkpoint.weights)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--pairs", nargs="+", default=["fr-en", "de-en"])
    parser.add_argument("--features", nargs="+", type=int, choices=[8, 14], default=[8, 14])
    parser.add_argument("--settings", nargs="+", default=["default", "cold"])
    parser.add_argument("--chains", nargs="+", type=int, default=[1, 2, 4, 8, 16])
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--judged", type=int, default=2, help="last epochs to judge")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--pop-limit", type=int, default=100)
    arguments = parse_arguments(
        parser, "--data {data} --out {out} --pairs fr-en --features 14 --settings cold --chains 1 --epochs 2"
    )
    rows = []
    for pair, features, setting in itertools.product(arguments.pairs, arguments.features, arguments.settings):
        task, cells = None, []
        for chains in arguments.chains:
            name = f"{pair}-{features}-{setting}-{chains}-{arguments.epochs}-{arguments.seed}"
            kept = arguments.out / "walk" / f"{name}.json"
            if not kept.exists():
                task = task or Task(arguments, pair, features)
                with open_output(kept) as stream:
                    stream.write(json.dumps(learnt(task, setting, chains, arguments)).encode())
            found = json.loads(kept.read_text(encoding="utf-8"))
            cells.append(f"{np.max(found['scores']):.2f}")
        rows.append(f"| {pair}, {features} features, {setting} | {' | '.join(cells)} |")
        print(rows[-1], flush=True)
    print(f"\n| val | {' | '.join(f'{n} chains' for n in arguments.chains)} |\n|---|{'---|' * len(arguments.chains)}")
    print("\n".join(rows))


if __name__ == "__main__":
    main()
