"""Samples of hundreds of random tiny models against enumeration: p-values, which must look uniform.

The models have ill-behaved tables, reordering limits from none to 4, up to two language models, boundary features and
lexicalised reordering; temperatures go from 0.5 to 3. The first table is of chains that begin with exact draws and take
three scans (any subset of operators, any scan, with jumps or without); the second of 100,000 thinned samples of chains
with all operators and jumps.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from pathlib import Path

import numpy as np
from scipy import stats

from dragoman.core.runtime import Runtime
from dragoman.sampling.schedule import Schedule
from quick import parse_arguments

PROJECT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(PROJECT / "tests"))

from oracles.chains import counts_of, other_weights, run_case, stationary_p_value  # noqa: E402
from oracles.phrase_case import Case, random_schedule  # noqa: E402
from oracles.sampler import p_value, probabilities  # noqa: E402


def show(name: str, found: list[float | None]) -> None:
    values = np.sort([p for p in found if p is not None])
    shares = " | ".join(f"{np.mean(values < level):.4f}" for level in (0.001, 0.01, 0.1, 0.5, 0.9))
    uniform = stats.kstest(values, "uniform").pvalue
    print(f"| {name} | {len(values)} | {shares} | {values[0]:.2g} | {uniform:.3f} |", flush=True)


def thinned(case: Case, seed: int, samples: int, thin: int) -> float | None:
    temperature = float(np.random.default_rng(seed).uniform(0.5, 3))
    schedule = Schedule(jump_every=1, forward_share=0.5, scan="random" if seed % 2 else "systematic")
    settings = {"samples": samples // 4, "chains": 4, "thin": thin, "burn_in": np.full(100, 3.0)}
    visited = run_case(case, schedule, temperature=temperature, seed=seed, **settings, runtime=Runtime(threads=2))
    rows = list(case.scores)
    expected = probabilities(np.array([case.scores[row] for row in rows]), temperature)
    found: float | None = p_value(counts_of(visited, rows), expected * (samples // 4 * 4))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=int, default=400)
    parser.add_argument("--first", type=int, default=0, help="number of the first model, and of its random numbers")
    parser.add_argument("--parts", nargs="+", choices=["starts", "chains"], default=["starts", "chains"])
    parser.add_argument("--copies", type=int, default=10_000)
    parser.add_argument("--samples", type=int, default=100_000)
    parser.add_argument("--thin", type=int, default=20)
    options = parse_arguments(parser, "--models 3 --copies 200 --samples 2000 --thin 5")
    print("| | models | p < 0.001 | < 0.01 | < 0.1 | < 0.5 | < 0.9 | least | uniform (KS) |")
    print("|---|---|---|---|---|---|---|---|---|")
    if "starts" in options.parts:
        exact_starts(options)
    if "chains" in options.parts:
        long_chains(options)


def exact_starts(options: argparse.Namespace) -> None:
    plain, corrected = [], []
    for seed in range(options.first, options.first + options.models):
        rng = np.random.default_rng(seed)
        case, schedule, temperature = Case(30_000 + seed), random_schedule(rng), float(rng.uniform(0.5, 3))
        plain.append(stationary_p_value(case, schedule, temperature, options.copies, 11 * seed))
        proposal = other_weights(case, rng)
        corrected.append(stationary_p_value(case, schedule, temperature, options.copies, 13 * seed, proposal=proposal))
    show("exact starts, three scans", plain)
    show("the same, drawn from other weights", corrected)


def long_chains(options: argparse.Namespace) -> None:
    cases = (case for case in map(Case, itertools.count(40_000 + options.first)) if 10 <= len(case.scores) <= 1000)
    wanted = enumerate(itertools.islice(cases, options.models), options.first)
    chains = [thinned(case, seed, options.samples, options.thin) for seed, case in wanted]
    show(f"{options.samples:,} samples, every {options.thin}th scan", chains)


if __name__ == "__main__":
    main()
