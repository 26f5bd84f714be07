"""Evaluations of BLEU a second on n-best lists, and the methods that live on them, on Moses' merged lists.

    python benchmarks/evaluate.py --data ../shared/data --threads 2

Lists of 500 candidates a sentence are made from the merged ones (about 160 a sentence) by repeating candidates with
random changes to half of their features. Moses' `mert` reached BLEU 51.106 on the merged lists, in 66 s of one core.
"""

from __future__ import annotations

import argparse
import gzip
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.core.feature_rows import FeatureRows
from dragoman.metrics.metric import Scorer
from dragoman.metrics.smooth_bleu import smooth_bleu
from dragoman.tuning.evaluate import Evaluator
from dragoman.tuning.lus import Lus
from dragoman.tuning.problem import Problem
from dragoman.tuning.risk_nbest import ExpectedScore, RiskNbest
from dragoman.tuning.simplex import Simplex
from dragoman.tuning.tuner import Tuner

PROJECT = Path(__file__).resolve().parent.parent

# Moses' order: six of reordering, distortion, LM, word penalty, phrase penalty, four of the phrase table.
START = np.array([0.3] * 7 + [0.5, -1.0, 0.2, 0.2, 0.2, 0.2, 0.2])
RANGES = np.array([[0.0, 1.0]] * 7 + [[0.0, 1.0], [-1.0, 1.0], [-1.0, 1.0]] + [[0.0, 1.0]] * 4)


class Bleu(Scorer):
    """Statistics: matches of orders 1 to 4, totals, the lengths of hypothesis and reference."""

    def statistics(self, hypotheses: Any, sentences: Any = None, *, threads: int = 1) -> NDArray[np.float64]:
        raise NotImplementedError

    def score(self, statistics: NDArray[np.float64]) -> NDArray[np.float64]:
        with np.errstate(divide="ignore", invalid="ignore"):
            precision = np.log(statistics[..., :4] / statistics[..., 4:8]).mean(axis=-1)
            return 100 * np.exp(precision + np.minimum(0, 1 - statistics[..., 9] / statistics[..., 8]))

    def sentence_scores(self, statistics: NDArray[np.float64]) -> NDArray[np.float64]:
        raise NotImplementedError

    def smooth_score(self, statistics: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        bleu = smooth_bleu(statistics[:4], statistics[4:8], statistics[8], statistics[9])
        lengths = [bleu.by_hypothesis_length, bleu.by_reference_length]
        return bleu.score, np.concatenate([bleu.by_matches, bleu.by_totals, lengths])


def read_lists(data: Path) -> dict[str, NDArray[Any]]:
    """Sentence numbers, features and statistics of the merged lists; kept in the temporary folder."""
    cache = Path(tempfile.gettempdir()) / "dragoman-benchmark-merged-lists.npz"
    if not cache.exists():
        with gzip.open(data / "multi30k/val.en.gz", "rt", encoding="utf-8") as stream:
            references = [line.split() for line in stream]
        grams = [ngrams(words) for words in references]
        numbers, features, statistics = [], [], []
        with gzip.open(data / "moses/fr-en/val.merged.nbest.gz", "rt", encoding="utf-8") as stream:
            for line in stream:
                number, text, scores, _ = line.split(" ||| ")
                sentence, words = int(number), text.split()
                matches = [(ours & theirs).total() for ours, theirs in zip(ngrams(words), grams[sentence], strict=True)]
                totals = [max(0, len(words) - n) for n in range(4)]
                numbers.append(sentence)
                features.append([float(field) for field in scores.split() if not field.endswith("=")])
                statistics.append([*matches, *totals, len(words), len(references[sentence])])
        order = np.argsort(numbers, kind="stable")
        np.savez(
            cache,
            numbers=np.array(numbers)[order],
            features=np.array(features)[order],
            statistics=np.array(statistics, np.float64)[order],
        )
    return dict(np.load(cache))


def ngrams(words: list[str]) -> list[Counter[tuple[str, ...]]]:
    return [Counter(zip(*(words[i:] for i in range(n)), strict=False)) for n in range(1, 5)]


def merged(lists: dict[str, NDArray[Any]]) -> Problem:
    bounds = np.concatenate([[0], np.cumsum(np.bincount(lists["numbers"]))])
    return problem(bounds, lists["features"], lists["statistics"])


def padded(lists: dict[str, NDArray[Any]], size: int) -> Problem:
    rng = np.random.default_rng(0)
    counts = np.bincount(lists["numbers"])
    begins = np.cumsum(counts) - counts
    ranks = np.tile(np.arange(size), len(counts)).reshape(len(counts), size)
    extra = ranks >= counts[:, None]
    rows = (begins[:, None] + np.where(extra, rng.integers(0, counts[:, None], ranks.shape), ranks)).ravel()
    noise = rng.normal(0, 0.3, (len(rows), 14)) * (rng.random((len(rows), 14)) < 0.5) * extra.reshape(-1, 1)
    return problem(np.arange(len(counts) + 1) * size, lists["features"][rows] + noise, lists["statistics"][rows])


def problem(bounds: NDArray[np.int64], features: NDArray[np.float64], statistics: NDArray[np.float64]) -> Problem:
    rows = FeatureRows.from_dense([f"f{i}" for i in range(features.shape[1])], features)
    return Problem(bounds.astype(np.int64), rows, statistics, Bleu(), RANGES)


def best_time(runs: int, work: Callable[[], Any]) -> float:
    times = []
    for _ in range(runs):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return min(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=PROJECT / "../shared/data")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    lists = read_lists(options.data)
    problems = {"merged": merged(lists), "500 each": padded(lists, 500)}
    rng = np.random.default_rng(1)

    print("| lists | candidates | set-up, s | batch | box | open candidates | evaluations a second |")
    print("|---|---|---|---|---|---|---|")
    for name, lists_problem in problems.items():
        dense_ready = lists_problem.dense.shape
        setup = best_time(2, lambda p=lists_problem: Evaluator(p, threads=options.threads))
        rows = [(size, None) for size in (1, 16, 64, 128)] + [(128, width) for width in (0.1, 0.03, 0.01, 0.001)]
        for size, width in rows:
            evaluator = Evaluator(lists_problem, threads=options.threads)
            weights = rng.uniform(RANGES[:, 0], RANGES[:, 1], (size, dense_ready[1]))
            if width is not None:
                evaluator.focus(START - width, START + width)
                weights = START + width * rng.uniform(-1, 1, weights.shape)
            seconds = best_time(options.runs, lambda e=evaluator, w=weights: e.objectives(w))
            box = "all weights" if width is None else f"± {width}"
            print(
                f"| {name} | {dense_ready[0]:,} | {setup:.2f} | {size} | {box} |"
                f" {evaluator.open_candidates():,} | {size / seconds:,.0f} |",
                flush=True,
            )
        slow = best_time(2, lambda p=lists_problem: p.objective(START))
        print(f"| {name} | {dense_ready[0]:,} | | 1 | Problem.objective | | {1 / slow:,.1f} |")
        risk = ExpectedScore(lists_problem, threads=options.threads)
        gradient = best_time(options.runs, lambda r=risk: r(START, 1.0, 1.0))
        print(f"\n{name}: one gradient of the expected score: {1000 * gradient:.1f} ms\n")

    print("| lists | method | seconds | BLEU |\n|---|---|---|---|")
    tuners: list[Tuner] = [
        Simplex(),
        Simplex(starts=20),
        Lus(),
        Lus(alpha=0.0, samples=5000),
        Lus(alpha=1 / 3),
        RiskNbest(),
    ]
    for name, lists_problem in problems.items():
        print(f"| {name} | (start) | | {lists_problem.objective(START):.3f} |")
        for tuner in tuners:
            seconds, bleu = [], []
            for seed in range(1 if isinstance(tuner, RiskNbest) else 3):
                begin = time.perf_counter()
                found = tuner.optimise(lists_problem, START, rng=np.random.default_rng(seed), threads=options.threads)
                seconds.append(time.perf_counter() - begin)
                bleu.append(lists_problem.objective(found.weights))
            scores = ", ".join(f"{score:.3f}" for score in bleu)
            print(f"| {name} | `{tuner}` | {min(seconds):.1f} | {scores} |", flush=True)


if __name__ == "__main__":
    main()
