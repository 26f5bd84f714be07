"""The sampler of hierarchical models: speed, how often moves are accepted, and divergence from exact answers.

    python benchmarks/chart_sampling.py --model MODEL --data ../shared/data

MODEL is the folder of a hierarchical fr-en model. Tuned weights often sum to about 1, which makes a flat distribution;
a temperature of 0.2 is five times these weights. Prints markdown.
"""

from __future__ import annotations

import argparse
import gzip
from functools import partial
from pathlib import Path

import numpy as np

from dragoman.core.runtime import Runtime
from dragoman.model.bundle import Model
from dragoman.sampling.chains import ChainSettings, run_chains
from dragoman.sampling.chart.space import ChartSpace
from dragoman.sampling.diagnostics.convergence import effective_sample_size, rank_normalise, split_r_hat
from dragoman.sampling.diagnostics.diagnosis import Diagnosis, diagnose
from dragoman.sampling.diagnostics.diagnosis_results import summarise
from dragoman.sampling.sampler import Sampler
from dragoman.sampling.schedule import Sampling, Schedule
from dragoman.search.chart.translator import ChartTranslator
from dragoman.search.limits import SpaceLimits
from quick import parse_arguments
from timing import best_of

PROJECT = Path(__file__).resolve().parent.parent
NO_BURN_IN = np.empty(0)


def speed(translator: ChartTranslator, line: str, scans: int, runs: int) -> None:
    """Time scans of one sentence."""
    space = ChartSpace.of(translator, [line])
    batch, starts = space.batch, space.monotone(Runtime())
    rules, matches = len(batch.rules), len(batch.rules.matches)
    print(f"\n{scans:,} scans of a sentence of {len(line.split())} words, {rules:,} rules at {matches:,} places\n")
    print(
        f"| | s | processor, s | {' | '.join(f'{move} changes a scan' for move in ChartSpace.moves[:-1])} | distinct |"
    )
    print(f"|---|---|---|{'---|' * (len(ChartSpace.moves) - 1)}---|")
    whole, alone = Schedule(), Schedule(rule=0, glue=0, jump_every=0)
    rows = [
        ("all moves, T = 1", whole, 1.0, 1, 1),
        ("all moves, T = 0.2", whole, 0.2, 1, 1),
        ("all moves, T = 0.1", whole, 0.1, 1, 1),
        ("random scan, T = 1", Schedule(scan="random"), 1.0, 1, 1),
        ("subtrees alone, T = 1", alone, 1.0, 1, 1),
        ("subtrees alone, T = 0.1", alone, 0.1, 1, 1),
        ("2 chains, T = 1, 1 thread", whole, 1.0, 2, 1),
        ("2 chains, T = 1, 2 threads", whole, 1.0, 2, 2),
    ]
    for name, schedule, temperature, chains, threads in rows:
        clock, processor, visited = best_of(
            runs,
            partial(
                run_chains,
                space,
                ChainSettings(
                    schedule=schedule,
                    seed=1,
                    samples=scans,
                    burn_in=NO_BURN_IN,
                    chains=chains,
                    temperature=temperature,
                ),
                starts=starts,
                runtime=Runtime(threads=threads),
            ),
        )
        changes = visited.accepted.sum(axis=(0, 1))[:-1] / scans / chains
        print(
            f"| {name} | {clock:.2f} | {processor:.2f} | {' | '.join(f'{change:.1f}' for change in changes)} "
            f"| {len(visited.scores):,} |",
            flush=True,
        )


def acceptance(translator: ChartTranslator, lines: list[str], samples: int) -> None:
    """Tell how often moves change something, and how well chains mix, on sentences of all lengths."""
    words = np.array([len(line.split()) for line in lines])
    print(f"\n{len(lines)} sentences of {words.min()} to {words.max()} words, 2 chains of {samples:,} samples\n")
    print(f"| T | {' | '.join(ChartSpace.moves)} | effective samples, mean | worst | R-hat, median | largest |")
    print(f"|---|{'---|' * len(ChartSpace.moves)}---|---|---|---|")
    for temperature in (1.0, 0.3, 0.2, 0.1):
        sampler = Sampler.of(translator, Sampling(samples=samples, temperature=temperature))
        tried, accepted = np.zeros(len(ChartSpace.moves)), np.zeros(len(ChartSpace.moves))
        shares, r_hats = [], []
        for part in sampler.batches(lines, features=False, trace=True):
            tried += part.tried.sum(axis=(0, 1))
            accepted += part.accepted.sum(axis=(0, 1))
            trace = part.samples.trace
            assert trace is not None
            for i, first in enumerate(part.samples.sentences[:-1].tolist()):
                ranked = rank_normalise(part.samples.scores[first + trace[i]])
                shares.append(effective_sample_size(ranked) / ranked.size)
                r_hats.append(split_r_hat(ranked))
        print(
            f"| {temperature:g} | {' | '.join(f'{share:.1%}' for share in accepted / tried)} | {np.mean(shares):.1%} "
            f"| {min(shares):.1%} | {np.median(r_hats):.3f} | {max(r_hats):.3f} |",
            flush=True,
        )


def divergence(translator: ChartTranslator, lines: list[tuple[int, str]], samples: int, size: int) -> None:
    """Compare samples of short sentences with exact answers, as they come in."""
    for temperature in (0.1, 0.2, 0.3):
        options = Diagnosis(samples=samples, temperature=temperature, exhaustive_size=size, nbest=5000)
        found = [one for one in diagnose(translator, lines, options) if one.exact]
        summary = summarise(found)
        derivations = np.mean([one.log_derivations for one in found if one.log_derivations]) / np.log(10)
        print(
            f"\nT = {temperature:g}: {len(found)} sentences of {min(one.words for one in found)} to "
            f"{max(one.words for one in found)} words with 10^{derivations:.1f} derivations on average; exact entropy "
            f"{summary.derivation_entropy:.2f} nats; largest R-hat {max(one.r_hat for one in found):.3f}\n"
        )
        names = [curve.name for curve in summary.curves]
        print(f"| samples | {' | '.join(f'{name}, D(d) / D(e)' for name in names)} |\n|---|{'---|' * len(names)}")
        for place, count in enumerate(summary.sizes):
            cells = [
                f"{curve.derivation_divergence[place]:.3f} / {curve.translation_divergence[place]:.3f}"
                for curve in summary.curves
            ]
            print(f"| {count:,} | {' | '.join(cells)} |")
        shares = [f"{run.initial} {run.effective_share:.0%}" for run in summary.runs]
        print(f"\nEffective samples: {', '.join(shares)}.", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=PROJECT / "../shared/data")
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--words", type=int, default=30)
    parser.add_argument("--scans", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--samples", type=int, default=10_000)
    parser.add_argument("--sentences", type=int, default=10)
    parser.add_argument("--exhaustive-size", type=int, default=3_000_000)
    arguments = parse_arguments(
        parser,
        "--model {hierarchical} --data {data} --words 8 --scans 100 --runs 1 --samples 100 --sentences 3",
    )
    with gzip.open(arguments.data / "multi30k/test_2016_flickr.fr.gz", "rt", encoding="utf-8") as file:
        lines = [line.strip() for line in file]
    model = Model.load(arguments.model)
    translator = ChartTranslator(model)
    speed(
        translator,
        next(line for line in lines if len(line.split()) == arguments.words),
        arguments.scans,
        arguments.runs,
    )
    acceptance(translator, lines[: 2 * arguments.sentences], 1000)
    few = ChartTranslator(model, space=SpaceLimits(table_limit=5))
    short = [(i, line) for i, line in enumerate(lines, 1) if 6 <= len(line.split()) <= 7][: arguments.sentences]
    divergence(few, short, arguments.samples, arguments.exhaustive_size)


if __name__ == "__main__":
    main()
