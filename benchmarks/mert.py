"""MERT on Moses' merged 100-best lists of the Multi30k validation set (fr-en), beside Moses' own `mert`.

Moses reached BLEU 0.51106 on these lists with the weights in moses.tuned.ini, in 66 s of CPU time (20 starts).
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
from dragoman.tuning.mert import Mert
from dragoman.tuning.problem import Problem

PROJECT = Path(__file__).resolve().parent.parent
MOSES_BLEU, MOSES_SECONDS = 51.106, 66.0


class Bleu(Scorer):
    """Corpus BLEU from [match 1 to 4, total 1 to 4, hypothesis length, reference length]."""

    def statistics(
        self, hypotheses: Corpus, sentences: NDArray[np.int64] | None = None, *, threads: int = 1
    ) -> NDArray[np.float64]:
        raise NotImplementedError

    def score(self, statistics: NDArray[np.float64]) -> NDArray[np.float64]:
        matches, totals = statistics[..., :4], statistics[..., 4:8]
        with np.errstate(divide="ignore", invalid="ignore"):
            precision = np.log(matches / totals).mean(axis=-1)
            penalty = np.minimum(0, 1 - statistics[..., 9] / statistics[..., 8])
            return np.nan_to_num(100 * np.exp(precision + penalty))

    def sentence_scores(self, statistics: NDArray[np.float64]) -> NDArray[np.float64]:
        return self.score(statistics)


def sentence_statistics(words: list[str], reference: list[str]) -> list[int]:
    matches, totals = [], []
    for n in range(1, 5):
        ours, theirs = (
            Counter(tuple(text[i : i + n]) for i in range(len(text) - n + 1)) for text in (words, reference)
        )
        matches.append(sum(min(count, theirs[ngram]) for ngram, count in ours.items()))
        totals.append(max(0, len(words) - n + 1))
    return [*matches, *totals, len(words), len(reference)]


def read_problem(data: Path) -> tuple[Problem, NDArray[np.float64]]:
    """The lists as a problem, and the weights that Moses found."""
    cache = Path(tempfile.gettempdir()) / "dragoman-benchmark-mert.npz"
    if not cache.exists():
        with gzip.open(data / "multi30k/val.en.gz", "rt", encoding="utf-8") as stream:
            references = [line.split() for line in stream]
        numbers, features, statistics = [], [], []
        names: list[str] = []
        with gzip.open(data / "moses/fr-en/val.merged.nbest.gz", "rt", encoding="utf-8") as stream:
            for line in stream:
                number, text, values, _ = line.split(" ||| ")
                numbers.append(int(number))
                features.append([float(value) for value in values.split() if not value.endswith("=")])
                statistics.append(sentence_statistics(text.split(), references[int(number)]))
                names = names or values.split()
        np.savez(cache, numbers=numbers, features=features, statistics=statistics, names=_names(names))
    stored = np.load(cache)
    sentences = np.append(np.unique(stored["numbers"], return_index=True)[1], len(stored["numbers"]))
    names = stored["names"].tolist()
    tuned = _weights(data / "moses/fr-en/moses.tuned.ini")
    return Problem(
        sentences=sentences.astype(np.int64),
        features=FeatureRows.from_dense(names, stored["features"]),
        statistics=stored["statistics"].astype(np.float64),
        scorer=Bleu(),
        ranges=np.array([[-1.0 if "Penalty" in name else 0.0, 1.0] for name in names]),
    ), np.array([tuned[name] for name in names])


def _names(fields: list[str]) -> list[str]:
    names: list[str] = []
    for field in fields:
        if field.endswith("="):
            feature, index = field[:-1], 0
        else:
            names.append(f"{feature}.{index}")
            index += 1
    return names


def _weights(path: Path) -> dict[str, float]:
    weights = {}
    for line in path.read_text().split("[weight]")[1].splitlines():
        feature, _, values = line.partition("=")
        weights.update({f"{feature}.{i}": float(value) for i, value in enumerate(values.split())})
    return weights


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=PROJECT / "../shared/data")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    problem, tuned = read_problem(options.data)
    uniform = np.full(len(tuned), 0.1)
    print(
        f"Moses: {MOSES_SECONDS:.0f} s, BLEU {MOSES_BLEU:.3f}; here with its weights {problem.objective(tuned):.3f}\n"
    )
    print("| method | seed | CPU s | wall s | BLEU |\n|---|---|---|---|---|")
    runs = {
        "default": (Mert(), uniform),
        "default, from Moses' weights": (Mert(), tuned),
        "axes only": (Mert(random_directions=0), uniform),
        "axes only, best move of a round": (Mert(random_directions=0, moves="best"), uniform),
    }
    for name, (method, start) in runs.items():
        for seed in range(options.seeds):
            begin, cpu = time.perf_counter(), time.process_time()
            found = method.optimise(problem, start, rng=np.random.default_rng(seed), threads=options.threads)
            wall, cpu = time.perf_counter() - begin, time.process_time() - cpu
            print(f"| {name} | {seed} | {cpu:.2f} | {wall:.2f} | {problem.objective(found.weights):.3f} |", flush=True)


if __name__ == "__main__":
    main()
