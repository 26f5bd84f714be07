"""MBR by any utility: estimators that need fewer calls, and the time of the kernels, beside mbrs where it is installed.

    python benchmarks/utilities.py --nbest ../shared/data/moses/fr-en/val.merged.nbest.gz --references val.en.gz
    python benchmarks/utilities.py --nbest val.merged.nbest.gz --references val.en.gz --begin 120 --sentences 200
    python benchmarks/utilities.py --nbest val.merged.nbest.gz --only speed
    python benchmarks/utilities.py --nbest val.merged.nbest.gz --only mbrs --runs 1

The first table has each estimator with chrF as a function, so that each call counts: the calls made, how often the
choice is the exact one, the expected utility of the choices, their gain over the first candidate, and their BLEU. The
defaults of estimators were chosen on lists of the second command, which are none of the first. The second table
has processor time per list with one thread, loading left out. The third, where mbrs is installed, has its processor
time with one worker, that of its processes included, beside ours, and how often both choose the same. Lists are the
first distinct strings of a file, which stand for samples.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dragoman.core.corpus import Corpus
from dragoman.core.nbest import NBest
from dragoman.core.runtime import Runtime
from dragoman.decision.estimators import ESTIMATORS
from dragoman.decision.estimators.aggregated import aggregated_scores
from dragoman.decision.expected_utility import UtilityEstimation
from dragoman.decision.gains import expected_gains
from dragoman.decision.posterior import Posterior
from dragoman.decision.rule import Decisions
from dragoman.formats.nbest.format import read_nbest
from dragoman.metrics.bleu import Bleu
from dragoman.metrics.chrf import Chrf
from dragoman.metrics.metric import Metric
from dragoman.metrics.pair_scores import PairScorer
from dragoman.metrics.utility import utility_of
from dragoman.tuning.problems.problem import best_rows
from quick import parse_arguments
from timing import best_of

#: Estimators with their options. The cheap utility of coarse-to-fine must be another than the one that it stands for.
ESTIMATED: dict[str, dict[str, object]] = {
    "pruned": {},
    "centroids": {},
    "low-rank": {},
    "coarse-to-fine": {"cheap": "bleu"},
    "aggregated": {},
}


def slow_chrf(hypotheses: list[str], references: list[str], sources: list[str]) -> ArrayLike:
    """Return chrF as a function does that no kernel knows."""
    return utility_of("chrf").score(hypotheses, references, sources)


def lists_of(path: Path, candidates: int, sentences: int | None, begin: int = 0) -> tuple[NBest, list[int]]:
    """Return the first distinct strings of each list that has enough of them, and the numbers of these sentences.

    The first `begin` of these lists are left out.

    If no list has enough, those of neighbouring sentences are one list; such candidates share less than others would.
    """
    every = read_nbest(path).distinct(words_only=True)
    enough = np.flatnonzero(np.diff(every.sentences) >= candidates)[begin:][:sentences]
    if not len(enough):
        bounds = np.arange(0, len(every.scores) + 1, candidates)[: None if sentences is None else sentences + 1]
        joined = replace(every.kept(np.arange(bounds[-1])), sentences=bounds, ids=None, sources=None, references=None)
        return joined, [*range(len(joined))]
    lists = every.take(enough)
    rows = np.concatenate([np.arange(first, first + candidates) for first in lists.sentences[:-1].tolist()])
    return lists.kept(rows), enough.tolist()


def compare(lists: NBest, references: Corpus) -> None:
    """Print calls, agreement and scores of each estimator."""
    posterior = Posterior.of_nbest(lists, weights_from="uniform")
    exact, _ = expected_gains(Chrf(), posterior, posterior)
    first = posterior.sentences[:-1]
    best = best_rows(exact, posterior.sentences)
    scorer = Bleu().scorer([references])
    pairs = int(np.diff(posterior.sentences) @ np.diff(posterior.sentences))

    def row(name: str, calls: int, chosen: NDArray[np.int64]) -> str:
        texts = Corpus(posterior.vocab, posterior.strings.take(chosen))
        numbers = (
            f"{100 * calls / pairs:.1f}",
            f"{100 * float((chosen == best).mean()):.1f}",
            f"{100 * exact[chosen].sum() / exact[best].sum():.2f}",
            f"{100 * (exact[chosen] - exact[first]).sum() / (exact[best] - exact[first]).sum():.1f}",
            f"{float(scorer.score(scorer.statistics(texts).sum(axis=0))):.2f}",
        )
        return f"| {name} | {' | '.join(numbers)} |"

    columns = ["calls, % of all pairs", "same choice, %", "expected utility, % of exact", "gain, % of exact", "BLEU"]
    print(f"| estimator | {' | '.join(columns)} |\n|---|---|---|---|---|---|")
    print(row("first candidate", 0, first))
    print(row("exact", pairs, best))
    for name, settings in ESTIMATED.items():
        utility = utility_of("chrf") if name == "aggregated" else utility_of(slow_chrf)
        estimator = ESTIMATORS.get(name).from_dict(settings)
        estimation = UtilityEstimation(PairScorer(utility), estimator)
        values = estimation.expected(posterior, posterior)
        called = name + "".join(f", {option}={value}" for option, value in settings.items())
        print(row(called, estimation.report.calls, best_rows(values, posterior.sentences)))


def time_kernels(lists: NBest, long_lists: NBest, runs: int) -> None:
    """Print processor time per list."""
    one = Runtime()

    def milliseconds(work: Callable[[Posterior], object], nbest: NBest) -> str:
        posterior = Posterior.of_nbest(nbest, weights_from="uniform")
        return f"{1000 * best_of(runs, lambda: work(posterior)).processor / len(nbest):.2f}"

    works: dict[str, Callable[[Posterior], object]] = {
        "BLEU, add-one smoothing": lambda of: expected_gains(Bleu(), of, of, runtime=one),
        "BLEU, exponential smoothing": lambda of: expected_gains(Bleu(sentence_smoothing="exp"), of, of, runtime=one),
        "chrF": lambda of: expected_gains(Chrf(), of, of, runtime=one),
        "chrF, aggregated": lambda of: aggregated_scores(Chrf(), of, of, runtime=one),
    }
    sizes = [f"{int(np.diff(one.sentences)[0]):,} candidates, ms per list" for one in (lists, long_lists)]
    print(f"| expected utilities | {' | '.join(sizes)} |\n|---|---|---|")
    for name, work in works.items():
        print(f"| {name} | {milliseconds(work, lists)} | {milliseconds(work, long_lists)} |")


def processor_with_children(work: Callable[[], object]) -> float:
    """Return the seconds of the processor that a function takes, with those of its processes that have ended."""
    before = sum(os.times()[:4])
    work()
    return sum(os.times()[:4]) - before


def compare_with_mbrs(lists: NBest, runs: int) -> None:
    """Print the processor time per list of mbrs and ours, and how many choices are the same."""
    from mbrs.decoders.mbr import DecoderMBR  # type: ignore[import-not-found]
    from mbrs.metrics.bleu import MetricBLEU  # type: ignore[import-not-found]
    from mbrs.metrics.chrf import MetricChrF  # type: ignore[import-not-found]

    posterior, texts = Posterior.of_nbest(lists, weights_from="uniform"), lists.texts()
    rows = [texts[begin:end] for begin, end in pairwise(lists.sentences.tolist())]
    kinds = {
        "chrF": (Chrf(), MetricChrF(MetricChrF.Config(num_workers=1))),
        "chrF, fastchrf": (Chrf(), MetricChrF(MetricChrF.Config(num_workers=1, fastchrf=True))),
        "BLEU, exponential smoothing": (
            Bleu(sentence_smoothing="exp"),
            MetricBLEU(MetricBLEU.Config(num_workers=1, tokenize="none")),
        ),
    }
    print("| utility | mbrs, ms per list | ours, ms per list | ratio | the same choice |\n|---|---|---|---|---|")
    for name, (metric, theirs) in kinds.items():
        decoder = DecoderMBR(DecoderMBR.Config(), theirs)
        chosen: list[str] = []

        def decode(decoder: DecoderMBR = decoder, chosen: list[str] = chosen) -> None:
            chosen[:] = [decoder.decode(row, row).sentence[0] for row in rows]

        def gains(metric: Metric = metric) -> None:
            expected_gains(metric, posterior, posterior, runtime=Runtime())

        before = min(processor_with_children(decode) for _ in range(runs)) / len(rows)
        after = best_of(max(runs, 3), gains).processor / len(rows)
        values, _ = expected_gains(metric, posterior, posterior)
        found = Decisions.of_best(posterior.vocab, posterior.strings, values, posterior.sentences).lines()
        same = sum(a == b for a, b in zip(found, chosen, strict=True))
        print(f"| {name} | {1000 * before:.1f} | {1000 * after:.2f} | {before / after:.0f} | {same} of {len(rows)} |")


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nbest", type=Path, required=True)
    parser.add_argument("--references", type=Path)
    parser.add_argument("--candidates", type=int, default=100)
    parser.add_argument("--sentences", type=int, default=120)
    parser.add_argument("--begin", type=int, default=0)
    parser.add_argument("--long", type=int, nargs=2, default=[1000, 20], help="candidates and lists of a second size")
    parser.add_argument("--only", choices=["calls", "speed", "mbrs"])
    parser.add_argument("--runs", type=int, default=3)
    arguments = parse_arguments(
        parser,
        "--nbest {moses}/moses/fr-en/val.merged.nbest.gz --references {data}/multi30k/val.en.gz"
        " --candidates 3 --sentences 4 --long 6 2 --runs 1",
    )
    lists, numbers = lists_of(arguments.nbest, arguments.candidates, arguments.sentences, arguments.begin)
    if arguments.only in (None, "calls") and arguments.references is not None:
        compare(lists, Corpus.read(arguments.references).take(np.array(numbers)))
    if arguments.only in (None, "speed"):
        time_kernels(lists, lists_of(arguments.nbest, *arguments.long)[0], arguments.runs)
    if arguments.only == "mbrs":
        compare_with_mbrs(lists, arguments.runs)


if __name__ == "__main__":
    main()
