"""What a scan of a sentence costs with a document feature, by the size of the document, and what the feature does.

Make the model as for `sampler.py`. Documents are runs of lines of the test set.
"""

from __future__ import annotations

import argparse
import gzip
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from dragoman.core.feature_rows import Weights
from dragoman.features import DocumentFeature, GlobalFeature
from dragoman.features.bracket_balance import BracketBalance
from dragoman.features.lexical_consistency import LexicalConsistency
from dragoman.model.bundle import Model
from dragoman.sampling.chains import ChainResult, ChainSettings, run_chains
from dragoman.sampling.global_features import GlobalFunctions
from dragoman.sampling.phrase.space import PhraseSpace
from dragoman.sampling.schedule import Schedule
from dragoman.search.phrase.translator import PhraseTranslator
from quick import parse_arguments
from timing import best_of

PROJECT = Path(__file__).resolve().parent.parent


class DocumentBrackets(DocumentFeature):
    """A function that looks at the whole document at each step, as any compiled one may."""

    name = BracketBalance.name
    symbols = BracketBalance.symbols
    address = BracketBalance.address


def timed(
    translator: PhraseTranslator,
    lines: list[str],
    features: Sequence[GlobalFeature],
    weight: float,
    scans: int,
    runs: int,
) -> tuple[float, ChainResult]:
    """Least processor seconds of the scans of one document."""
    functions = GlobalFunctions(features, Weights({feature.name: weight for feature in features})) if features else None
    space = replace(PhraseSpace.of(translator, lines), functions=functions, documents=np.array([0, len(lines)]))
    settings = ChainSettings(
        schedule=Schedule(jump_every=0), seed=1, samples=scans, burn_in=np.empty(0), temperature=0.2, trace=True
    )
    timed = best_of(runs, lambda: run_chains(space, settings))
    return timed.processor, timed.result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=PROJECT / "../shared/data")
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--scans", type=int, default=20)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--weight", type=float, default=0.5)
    arguments = parse_arguments(parser, "--data {data} --model {model} --scans 2 --runs 1")
    with gzip.open(arguments.data / "multi30k/test_2016_flickr.fr.gz", "rt", encoding="utf-8") as file:
        lines = [line.strip().lower() for line in file]
    translator = PhraseTranslator(Model.load(arguments.model))
    features: dict[str, list[GlobalFeature]] = {
        "none": [],
        "lexical_consistency": [LexicalConsistency()],
        "a function of the document": [DocumentBrackets()],
    }
    print("| sentences | feature | ms a scan of a sentence | mean value, last half |")
    print("|---|---|---|---|")
    for size in (10, 30, 100, 300):
        for name, chosen in features.items():
            seconds, visited = timed(
                translator, lines[:size], chosen, arguments.weight, arguments.scans, arguments.runs
            )
            values = visited.document_values
            mean = "" if values is None else f"{values[0, 0, arguments.scans // 2 :, 0].mean():.1f}"
            print(f"| {size} | {name} | {1000 * seconds / (arguments.scans * size):.3f} | {mean} |", flush=True)


if __name__ == "__main__":
    main()
