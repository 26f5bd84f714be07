"""MBR by any utility: estimators that need fewer calls, and the time of the kernels, beside mbrs where it is installed.

    python benchmarks/utilities.py --nbest ../shared/data/moses/fr-en/val.merged.nbest.gz --references val.en.gz
    python benchmarks/utilities.py --nbest val.merged.nbest.gz --only speed
    python benchmarks/utilities.py --nbest val.merged.nbest.gz --only mbrs --sentences 120 --runs 1
    python benchmarks/utilities.py --nbest val.merged.nbest.gz --only speed --candidates 1000 --sentences 20

The first table has each estimator with chrF as a function, so that each call counts: the calls made, how often the
choice is the exact one, the expected utility of the choices, their gain over the first candidate, and their BLEU. The
second has processor time per list with one thread, loading left out. The third, where mbrs is installed, has its time
on the clock with one worker beside ours, and how often both choose the same. Lists are the first distinct strings of
a file, which stand for samples.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

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
from quick import parse_arguments
from timing import best_of


def slow_chrf(hypotheses: list[str], references: list[str], sources: list[str]) -> ArrayLike:
    """Return chrF as a function does that no kernel knows."""
    return utility_of("chrf").score(hypotheses, references, sources)


def lists_of(path: Path, candidates: int, sentences: int | None) -> tuple[NBest, list[int]]:
    """Return the first distinct strings of each list that has enough of them, and the numbers of these sentences.

    If no list has enough, those of neighbouring sentences are one list; such candidates share less than others would.
    """
    every = read_nbest(path).distinct(words_only=True)
    enough = np.flatnonzero(np.diff(every.sentences) >= candidates)[:sentences]
    if not len(enough):
        bounds = np.arange(0, len(every.scores) + 1, candidates)[: None if sentences is None else sentences + 1]
        joined = replace(every.kept(np.arange(bounds[-1])), sentences=bounds, ids=None, sources=None, references=None)
        return joined, [*range(len(joined))]
    lists = every.take(enough)
    rows = np.concatenate([np.arange(begin, begin + candidates) for begin in lists.sentences[:-1].tolist()])
    return lists.kept(rows), enough.tolist()


def compare(lists: NBest, references: Corpus) -> None:
    """Print calls, agreement and scores of each estimator."""
    posterior = Posterior.of_nbest(lists, weights_from="uniform")
    scorer = Bleu().scorer([references])
    columns = ["calls, % of all pairs", "same choice, %", "expected utility, % of exact", "gain, % of exact", "BLEU"]
    print(f"| estimator | {' | '.join(columns)} |\n|---|---|---|---|---|---|")
    for name in ESTIMATORS.names():
        utility = utility_of("chrf") if name == "aggregated" else utility_of(slow_chrf)
        estimation = UtilityEstimation(PairScorer(utility), ESTIMATORS.get(name)(), check=len(lists))
        values = estimation.expected(posterior, posterior)
        chosen = Decisions.of_best(posterior.vocab, posterior.strings, values, posterior.sentences)
        statistics = scorer.statistics(chosen.corpus)
        report, regret = estimation.report, estimation.report.regret
        print(
            f"| {name} | {100 * report.calls / report.pairs:.1f} | {100 * regret.same_choice / regret.sentences:.1f}"
            f" | {100 * regret.chosen / regret.exact:.2f} | {100 * regret.kept_gain:.1f}"
            f" | {float(scorer.score(statistics.sum(axis=0))):.2f} |"
        )


def time_kernels(lists: NBest, runs: int) -> None:
    """Print processor time per list."""
    posterior, one = Posterior.of_nbest(lists, weights_from="uniform"), Runtime()
    works = {
        "BLEU, add-one smoothing": lambda: expected_gains(Bleu(), posterior, posterior, runtime=one),
        "BLEU, exponential smoothing": lambda: expected_gains(
            Bleu(sentence_smoothing="exp"), posterior, posterior, runtime=one
        ),
        "chrF": lambda: expected_gains(Chrf(), posterior, posterior, runtime=one),
        "chrF, aggregated": lambda: aggregated_scores(Chrf(), posterior, posterior, runtime=one),
    }
    print("| expected utilities | ms per list |\n|---|---|")
    for name, work in works.items():
        print(f"| {name} | {1000 * best_of(runs, work).processor / len(lists):.2f} |")


def compare_with_mbrs(lists: NBest, runs: int) -> None:
    """Print the time per list of mbrs and ours, and how many choices are the same."""
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
            expected_gains(metric, posterior, posterior)

        before = best_of(runs, decode).clock / len(rows)
        after = best_of(max(runs, 3), gains).clock / len(rows)
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
    parser.add_argument("--sentences", type=int, default=100)
    parser.add_argument("--only", choices=["calls", "speed", "mbrs"])
    parser.add_argument("--runs", type=int, default=3)
    arguments = parse_arguments(
        parser,
        "--nbest {moses}/moses/fr-en/val.merged.nbest.gz --references {data}/multi30k/val.en.gz"
        " --candidates 3 --sentences 4 --runs 1",
    )
    lists, numbers = lists_of(arguments.nbest, arguments.candidates, arguments.sentences)
    if arguments.only in (None, "calls") and arguments.references is not None:
        compare(lists, Corpus.read(arguments.references).take(np.array(numbers)))
    if arguments.only in (None, "speed"):
        time_kernels(lists, arguments.runs)
    if arguments.only == "mbrs":
        compare_with_mbrs(lists, arguments.runs)


if __name__ == "__main__":
    main()
