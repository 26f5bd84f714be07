"""MERT on hypergraphs of all of Multi30k's val, beside the time of decoding it: one line search, and a whole call.

    python benchmarks/hypergraph_mert.py --data DATA --model MODEL [--restarts 20] [--threads 1]

The hypergraphs are those of the first iteration of a run: decoded with the model's weights, 20 edges a word.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from dragoman.core.files import read_lines
from dragoman.core.runtime import Runtime
from dragoman.metrics.combined import parse_metric
from dragoman.metrics.references import read_references
from dragoman.model.bundle import Model
from dragoman.search.limits import SearchLimits
from dragoman.search.translator import ShardedTranslator, Translator
from dragoman.tuning.methods.mert import Mert
from dragoman.tuning.optimise.line_search import line_searches, prepare_line_searches
from dragoman.tuning.problems.evidence import Decoding
from dragoman.tuning.problems.problem import weight_ranges
from dragoman.tuning.runs.decoder import TuningSetDecoder
from quick import parse_arguments
from timing import TimeTable

PROJECT = Path(__file__).resolve().parent.parent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=PROJECT / "../shared/data")
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--pair", default="fr-en")
    parser.add_argument("--pop-limit", type=int, default=200)
    parser.add_argument("--restarts", type=int, default=20)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--runs", type=int, default=3)
    options = parse_arguments(parser, "--data {data} --model {model} --pop-limit 20 --restarts 1 --runs 1")
    runtime = Runtime(threads=options.threads)
    source, target = (options.data / f"multi30k/val.{language}.gz" for language in options.pair.split("-"))
    translator = Translator.of(Model.load(options.model), limits=SearchLimits(pop_limit=options.pop_limit))
    decoder = TuningSetDecoder(
        ShardedTranslator(translator, runtime=runtime),
        [*read_lines(source)],
        [],
        Decoding(evidence="hypergraph", density=20.0),
    )
    table = TimeTable(f"{options.threads} threads", options.runs)
    decoded = table.row("decoding val", lambda: decoder(translator.weights, runtime=runtime))
    names = [*translator.weights]
    scorer = parse_metric("bleu").scorer(read_references([target]))
    problem = decoded.problem(names, weight_ranges(names), scorer, runtime=runtime)
    start, rng = translator.weights.vector(names), np.random.default_rng(1)
    lines = prepare_line_searches(problem, runtime=runtime)
    for label, directions in (("each axis", np.eye(len(names))), ("5 random lines", rng.normal(size=(5, len(names))))):
        here = [lines.at(start)] * len(directions)
        table.row(f"line searches along {label}", lambda here=here, along=directions: line_searches(lines, here, along))  # type: ignore[misc]
    tuner = Mert(restarts=options.restarts)
    found = table.row(
        f"MERT, {options.restarts} restarts",
        lambda: tuner.optimise(problem, start, rng=np.random.default_rng(1), runtime=runtime),
    )
    print(f"\n{decoded.size:,} edges of {len(decoded):,} hypergraphs; BLEU {found.objective:.2f}")


if __name__ == "__main__":
    main()
