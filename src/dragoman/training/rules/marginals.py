"""What target sides count in all partitions of a text's rules, each of which has some of their rules only."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.exchange import Exchange
from dragoman.core.progress import Progress
from dragoman.core.store import Arrays
from dragoman.core.workspace import Workspace
from dragoman.model.rule_instances import AlignedText, RuleInstances
from dragoman.model.rule_scores import CountedRules, number_sides, sums
from dragoman.training.rules.extract import instances_of, side_buckets
from dragoman.training.rules.significance import sentences_with

#: What the work on a question takes, in bytes.
_QUESTION = 200


class SideCounts(NamedTuple):
    """For each target side what it counts, and in how many sentence pairs it is, if that was asked for."""

    total: NDArray[np.uint64]
    sentences: NDArray[np.int64] | None = None


#: The target sides that a partition asks for, by its own numbers, and for each a place where it is and what it counts.
Questions = tuple[NDArray[np.int32], Arrays]


def questions_of(counted: CountedRules, instances: RuleInstances, *, sentences: bool) -> Questions:
    """What a partition asks, and says, of its target sides; with `sentences` once for each that has them."""
    if sentences:
        sides = counted.target_ids[counted.rule_of_instance]
        _, some = np.unique(sides.astype(np.int64) << 32 | instances.sentence, return_index=True)
        sides, places = sides[some], instances.take(some)
    else:
        sides, some = np.unique(counted.target_ids, return_index=True)
        places = counted.chosen.take(some)
    # What a side counts is said once.
    first = np.concatenate([[True], sides[1:] != sides[:-1]])
    counts = np.where(first, counted.target_sums()[sides], np.uint64(0))
    return sides, {"sentence": places.sentence, "begins": places.begins, "spans": places.spans, "counts": counts}


class SideExchange:
    """Each partition asks for its target sides, in turn; when all have asked, each reads its answer.

    A side is known by a rule that has it, and compared symbol by symbol, any nonterminal like any other. With
    `sentences`, each side is asked for once for each sentence pair that has it.
    """

    def __init__(self, text: AlignedText, workspace: Workspace, threads: int, *, sentences: bool):
        self._text, self._threads, self._sentences = text, threads, sentences
        self._exchange = Exchange(
            workspace, lambda rows: side_buckets(text, rows, True, threads), bytes_per_row=_QUESTION
        )

    def ask(self, questions: Questions) -> None:
        """Ask for the target sides of a partition."""
        self._exchange.ask(*questions)

    def answer(self, progress: Progress) -> None:
        """Put together what was said of each side."""
        with progress.stage("counting target sides") as share:
            self._exchange.answer(self._reply, share)

    def _reply(self, rows: Arrays) -> Arrays:
        instances = instances_of(rows)
        ids, sides = number_sides(self._text, instances, True, self._threads, lambda share: None)
        side = kernels.unpaired_sides(sides.values, sides.offsets)[ids]
        answers: Arrays = {"total": sums(side, instances.counts, len(sides))[side]}
        return answers | ({"sentences": sentences_with(side, instances.sentence)[side]} if self._sentences else {})

    def read(self, part: int) -> SideCounts:
        """The answers of a partition, in the order in which it numbered its target sides."""
        return SideCounts(**self._exchange.read(part))

    def close(self) -> None:
        """Remove the answers."""
        self._exchange.close()
