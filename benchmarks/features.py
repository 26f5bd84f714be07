"""What sparse features cost: decoding Multi30k with and without them, and weights files with many names.

Make the model with `dragoman train` or `dragoman import moses`, and the tagged text, which is optional, with
`dragoman tag`.
"""

from __future__ import annotations

import argparse
import gzip
import tempfile
from pathlib import Path

import numpy as np

from dragoman.core.feature_rows import Weights
from dragoman.features import FEATURES
from dragoman.formats.tagged_text import read_factored
from dragoman.model.bundle import Model
from dragoman.search.phrase.batch import boundary_names
from dragoman.search.phrase.translator import PhraseTranslator
from quick import parse_arguments
from timing import best_of

PROJECT = Path(__file__).resolve().parent.parent


def feature_sets(tagged: Path | None) -> dict[str, list[str]]:
    lexical = ["phrase-length", "word-insertion", "word-deletion", "word-pair"]
    sets = {name: [name] for name in lexical}
    if tagged is not None:
        sets["boundary-tags"] = ["boundary-tags"]
    return {**sets, "all of them": [*lexical, *(["boundary-tags"] if tagged else [])]}


def sparse_names(model: Model, lines: list[str]) -> list[str]:
    translator = PhraseTranslator(model)
    names: dict[str, None] = {}
    for begin in range(0, len(lines), 64):
        for rows in translator.batch(lines[begin : begin + 64]).sparse:
            names |= dict.fromkeys(rows.names)
    if model.boundary_feature is not None:
        names |= dict.fromkeys(boundary_names(model.boundary_feature))
    return sorted(names)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=PROJECT / "../shared/data")
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--tagged", type=Path, help="the target side of the training text as house|NN")
    parser.add_argument("--source", default="fr", help="language of the test set")
    parser.add_argument("--sentences", type=int, default=300)
    parser.add_argument("--weights", type=int, default=100_000, help="how many sparse weights there are")
    parser.add_argument("--runs", type=int, default=3)
    options = parse_arguments(parser, "--data {data} --model {model} --sentences 10 --weights 1000 --runs 1")
    with gzip.open(options.data / f"multi30k/test_2016_flickr.{options.source}.gz", "rt", encoding="utf-8") as text:
        lines = [line.strip() for line in text][: options.sentences]
    model = Model.load(options.model)

    def decode(given: Model, weights: Weights) -> float:
        return best_of(options.runs, lambda: list(PhraseTranslator(given, weights).translate(lines))).processor

    def lists(given: Model, weights: Weights) -> float:
        return best_of(options.runs, lambda: list(PhraseTranslator(given, weights).nbest(lines, 100))).processor

    plain = decode(model, model.weights), lists(model, model.weights)
    print(f"{len(lines)} sentences, one thread, {options.weights:,} weights; seconds of processor time\n")
    print("| features | names that occur | decoding | times | 100-best lists | times |")
    print("|---|---|---|---|---|---|")
    print(f"| none | | {plain[0]:.2f} | 1 | {plain[1]:.2f} | 1 |")
    tagged = None if options.tagged is None else read_factored(options.tagged)
    for label, names in feature_sets(options.tagged).items():
        settings = {"word-pair": {"source_words": 0, "target_words": 0}}
        richer = model.with_features([FEATURES.get(n)(**settings.get(n, {})) for n in names], tagged=tagged)
        found = sparse_names(richer, lines)
        values = np.random.default_rng(1).normal(0, 0.01, len(found)).tolist()
        more = {f"wp.{i}~none": 0.1 for i in range(options.weights - len(found))}
        weights = model.weights.updated(dict(zip(found, values, strict=True)) | more)
        times = decode(richer, weights), lists(richer, weights)
        ratios = [time / base for time, base in zip(times, plain, strict=True)]
        print(f"| {label} | {len(found):,} | {times[0]:.2f} | {ratios[0]:.2f} | {times[1]:.2f} | {ratios[1]:.2f} |")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "weights.txt"
        written = best_of(options.runs, lambda: weights.write(file)).processor
        read = best_of(options.runs, lambda: Weights.read(file)).processor
        size = file.stat().st_size
    print(f"\n{len(weights):,} weights ({size / 1e6:.1f} MB): written in {written:.2f} s, read in {read:.2f} s")


if __name__ == "__main__":
    main()
