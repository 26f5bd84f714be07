"""Greedy search against the beam: time and model score on Multi30k's test set, with an imported Moses model.

Make the model with `dragoman import moses ../shared/data/moses/fr-en/moses.tuned.ini --out MODEL`.
"""

from __future__ import annotations

import argparse
import gzip
from pathlib import Path

import numpy as np

from dragoman.model.bundle import Model
from dragoman.search.limits import HillClimbing, SearchLimits, SpaceLimits
from dragoman.search.phrase.batch import PhraseOutcome
from dragoman.search.phrase.greedy import gloss, hill_climb
from dragoman.search.phrase.translator import PhraseTranslator
from quick import parse_arguments
from timing import best_of

PROJECT = Path(__file__).resolve().parent.parent
EVERYTHING = HillClimbing()
ONE_BY_ONE = {
    "retranslate": HillClimbing(merge_split=False, reorder=False, move=False),
    "merge and split": HillClimbing(retranslate=False, reorder=False, move=False),
    "reorder": HillClimbing(retranslate=False, merge_split=False, move=False),
    "move": HillClimbing(retranslate=False, merge_split=False, reorder=False),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=PROJECT / "../shared/data")
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--source", default="fr", help="language of the test set")
    parser.add_argument("--sentences", type=int, default=1000)
    parser.add_argument("--reordering-limit", type=int, help="-1 is no limit; the model's by default")
    parser.add_argument("--runs", type=int, default=3)
    options = parse_arguments(parser, "--data {data} --model {model} --sentences 10 --runs 1")
    with gzip.open(options.data / f"multi30k/test_2016_flickr.{options.source}.gz", "rt", encoding="utf-8") as file:
        lines = [line.strip() for line in file][: options.sentences]
    model = Model.load(options.model)
    limit = model.settings.reordering_limit if options.reordering_limit is None else options.reordering_limit
    batch = PhraseTranslator(model, space=SpaceLimits(reordering_limit=limit)).batch(lines)
    print(f"{len(lines)} sentences, {len(batch.options) / len(lines):.0f} options each, reordering limit {limit}\n")
    print("| | ms a sentence | score | climb, ms | steps | neighbours | score then | improved |")
    print("|---|---|---|---|---|---|---|---|")

    def row(name: str, start: PhraseOutcome, seconds: float, climbing: HillClimbing = EVERYTHING) -> None:
        taken, _, climbed = best_of(
            options.runs, lambda: hill_climb(batch, start.derivations, climbing, reordering_limit=limit)
        )
        cells = (
            f"{1000 * seconds / len(lines):.3f}",
            f"{np.mean(start.scores):.4f}",
            f"{1000 * taken / len(lines):.3f}",
            f"{np.mean(climbed.steps):.2f}",
            f"{np.mean(climbed.expansions):.0f}",
            f"{np.mean(climbed.scores):.4f}",
            f"{100 * np.mean(climbed.steps > 0):.1f} %",
        )
        print(f"| {name} | {' | '.join(cells)} |")

    seconds, _, glossed = best_of(
        options.runs, lambda: hill_climb(batch, gloss(batch), HillClimbing(max_steps=0), reordering_limit=limit)
    )
    row("gloss", glossed, seconds)
    for name, climbing in ONE_BY_ONE.items():
        row(f"gloss, {name} only", glossed, seconds, climbing)
    for pop_limit in (5, 20, 100, 400):
        limits = SearchLimits(pop_limit=pop_limit)
        seconds, _, found = best_of(options.runs, lambda limits=limits: batch.search(limits, limit))  # type: ignore[misc]
        row(f"beam, pop limit {pop_limit}", found, seconds)


if __name__ == "__main__":
    main()
