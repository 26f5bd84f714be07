"""MBR by any utility: estimators that need fewer calls, and the time of the kernels, beside mbrs where it is installed.

    python benchmarks/utilities.py --nbest ../shared/data/moses/fr-en/val.merged.nbest.gz --references val.en.gz
    python benchmarks/utilities.py --nbest val.merged.nbest.gz --only speed

The first table has each estimator with chrF as a function, so that each call counts: the calls made, how often the
choice is the exact one, the expected utility of the choices, and their BLEU. The second has processor time per list
with one thread, loading left out. Lists are the first distinct strings of a file, which stand for samples.
"""

from __future__ import annotations

import argparse
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
from dragoman.metrics.pair_scores import PairScorer
from dragoman.metrics.utility import utility_of
from quick import parse_arguments
from timing import best_of


def slow_chrf(hypotheses: list[str], references: list[str], sources: list[str]) -> ArrayLike:
    """Return chrF as a function does that no kernel knows."""
    return utility_of("chrf").score(hypotheses, references, sources)


def lists_of(path: Path, candidates: int, sentences: int | None) -> tuple[NBest, list[int]]:
    """Return the first distinct strings of each list that has enough of them, and the numbers of these sentences."""
    every = read_nbest(path).distinct(words_only=True)
    enough = np.flatnonzero(np.diff(every.sentences) >= candidates)[:sentences]
    lists = every.take(enough)
    rows = np.concatenate([np.arange(begin, begin + candidates) for begin in lists.sentences[:-1].tolist()])
    return lists.kept(rows), enough.tolist()


def compare(lists: NBest, references: Corpus) -> None:
    """Print calls, agreement and scores of each estimator."""
    posterior = Posterior.of_nbest(lists, weights_from="uniform")
    scorer = Bleu().scorer([references])
    print("| estimator | calls, % of all pairs | same choice, % | expected utility, % of exact | BLEU of the choices |")
    print("|---|---|---|---|---|")
    for name in ESTIMATORS.names():
        utility = utility_of("chrf") if name == "aggregated" else utility_of(slow_chrf)
        estimation = UtilityEstimation(PairScorer(utility), ESTIMATORS.get(name)(), check=len(lists))
        values = estimation.expected(posterior, posterior)
        chosen = Decisions.of_best(posterior.vocab, posterior.strings, values, posterior.sentences)
        statistics = scorer.statistics(chosen.corpus)
        report, regret = estimation.report, estimation.report.regret
        print(
            f"| {name} | {100 * report.calls / report.pairs:.1f} | {100 * regret.same_choice / regret.sentences:.1f}"
            f" | {100 * regret.chosen / regret.exact:.2f} | {float(scorer.score(statistics.sum(axis=0))):.2f} |"
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


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nbest", type=Path, required=True)
    parser.add_argument("--references", type=Path)
    parser.add_argument("--candidates", type=int, default=100)
    parser.add_argument("--sentences", type=int, default=100)
    parser.add_argument("--only", choices=["calls", "speed"])
    parser.add_argument("--runs", type=int, default=3)
    arguments = parse_arguments(
        parser,
        "--nbest {moses}/moses/fr-en/val.merged.nbest.gz --references {data}/multi30k/val.en.gz"
        " --candidates 3 --sentences 4 --runs 1",
    )
    lists, numbers = lists_of(arguments.nbest, arguments.candidates, arguments.sentences)
    if arguments.only != "speed" and arguments.references is not None:
        compare(lists, Corpus.read(arguments.references).take(np.array(numbers)))
    if arguments.only != "calls":
        time_kernels(lists, arguments.runs)


if __name__ == "__main__":
    main()
