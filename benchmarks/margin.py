"""MIRA, PRO and SVM-Rank on Moses' merged n-best lists: time a call, and BLEU of the best candidates afterwards.

    python benchmarks/margin.py --data ../shared/data --cache CACHE

The lists are those of Moses' last MERT iteration (161,478 hypotheses of 1,014 sentences, 14 features). Reading them and
counting n-grams is not timed; it is done once and kept in the folder --cache. Times are CPU seconds, best of several.
"""

from __future__ import annotations

import argparse
import gzip
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dragoman.core.corpus import Corpus
from dragoman.core.feature_rows import FeatureRows
from dragoman.metrics.metric import Scorer
from dragoman.tuning import TUNERS
from dragoman.tuning.problem import Problem

METHODS = ("mira", "mira-smo", "pro", "svm-rank")
# CPU seconds of one call of Moses' own optimiser on lists like these (README of the data).
MOSES_SECONDS = {"mira": 1.1, "pro": 4.5}
# Moses' initial weights, in the order of the lists: reordering, distortion, LM, word and phrase penalty, phrase table.
UNTUNED = [0.3] * 6 + [0.3, 0.5, -1.0, 0.2] + [0.2] * 4


class BleuCounts(Scorer):
    """BLEU of counts that are there already: matches and totals of orders 1 to 4, length, reference length."""

    bleu_columns = np.arange(10)

    def statistics(
        self, hypotheses: Corpus, sentences: NDArray[np.int64] | None = None, *, threads: int = 1
    ) -> NDArray[np.float64]:
        raise NotImplementedError

    def score(self, statistics: NDArray[np.float64]) -> NDArray[np.float64]:
        return self._bleu(statistics, 0.0)

    def sentence_scores(self, statistics: NDArray[np.float64]) -> NDArray[np.float64]:
        return self._bleu(statistics, 1.0)

    def _bleu(self, statistics: NDArray[np.float64], smoothing: float) -> NDArray[np.float64]:
        added = np.array([0.0, smoothing, smoothing, smoothing])
        matches, totals = statistics[..., :4] + added, statistics[..., 4:8] + added
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.log(matches) - np.log(totals)
            brevity = np.minimum(0.0, 1 - statistics[..., 9] / statistics[..., 8])
            return np.nan_to_num(100 * np.exp(logs.mean(axis=-1) + brevity))


def counts(hypothesis: list[str], reference: list[str]) -> list[int]:
    matches, totals = [], []
    for n in range(1, 5):
        ours, theirs = (Counter(zip(*(words[i:] for i in range(n)), strict=False)) for words in (hypothesis, reference))
        matches.append(sum((ours & theirs).values()))
        totals.append(max(0, len(hypothesis) - n + 1))
    return [*matches, *totals, len(hypothesis), len(reference)]


def read(data: Path, cache: Path) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
    names = ("features", "statistics", "sentences")
    files = [cache / f"margin.{name}.npy" for name in names]
    if not all(file.exists() for file in files):
        with gzip.open(data / "multi30k" / "val.en.gz", "rt", encoding="utf-8") as stream:
            references = [line.split() for line in stream]
        features, statistics, ids = [], [], []
        with gzip.open(data / "moses" / "fr-en" / "val.merged.nbest.gz", "rt", encoding="utf-8") as stream:
            for line in stream:
                number, text, scores, _ = line.split("|||")
                ids.append(int(number))
                features.append([float(field) for field in scores.split() if not field.endswith("=")])
                statistics.append(counts(text.split(), references[ids[-1]]))
        order = np.argsort(ids, kind="stable")
        bounds = np.searchsorted(np.array(ids)[order], np.arange(len(references) + 1))
        cache.mkdir(parents=True, exist_ok=True)
        arrays = (np.array(features)[order], np.array(statistics, np.float64)[order], bounds.astype(np.int64))
        for file, array in zip(files, arrays, strict=True):
            np.save(file, array)
    features, statistics, sentences = (np.load(file) for file in files)
    return features, statistics, sentences


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(__file__).parents[2] / "shared" / "data")
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "dragoman-benchmarks")
    parser.add_argument("--methods", nargs="*", default=METHODS, choices=METHODS)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()

    matrix, statistics, sentences = read(arguments.data, arguments.cache)
    rows = FeatureRows.from_dense([f"F{i}" for i in range(matrix.shape[1])], matrix)
    ranges = np.tile([-1.0, 1.0], (matrix.shape[1], 1))
    problem = Problem(sentences, rows, statistics, BleuCounts(), ranges)
    start = np.array(UNTUNED)
    start /= np.abs(start).sum()
    print(
        f"{len(rows):,} candidates of {len(sentences) - 1:,} sentences; BLEU before: {problem.objective(start):.3f}\n"
    )
    print("| method | CPU s | wall s | Moses' CPU s | share | objective | BLEU |\n|---|---|---|---|---|---|---|")
    for name in arguments.methods:
        tuner = TUNERS.get(name)()
        times = []
        for _ in range(arguments.repeat):
            wall, cpu = time.perf_counter(), time.process_time()
            found = tuner.optimise(problem, start, rng=np.random.default_rng(arguments.seed), threads=arguments.threads)
            times.append((time.process_time() - cpu, time.perf_counter() - wall))
        cpu, wall = min(times)
        moses = MOSES_SECONDS.get(name)
        beside = f"{moses} | {cpu / moses:.2f}" if moses else "- | -"
        bleu = problem.objective(found.weights)
        print(f"| {name} | {cpu:.2f} | {wall:.2f} | {beside} | {found.objective:.4f} | {bleu:.3f} |")


if __name__ == "__main__":
    main()
