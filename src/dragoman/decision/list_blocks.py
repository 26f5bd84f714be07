"""Lists of files that are decided upon some sentences at a time, with the decisions of all of them together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain

import numpy as np

from dragoman.core.errors import DataError
from dragoman.core.files import PathLike
from dragoman.core.nbest import NBest
from dragoman.decision.posterior import WeightsFrom


def settled_weights(
    blocks: Iterator[NBest], weights_from: WeightsFrom | None
) -> tuple[WeightsFrom | None, Iterator[NBest]]:
    """What the weights of all lists are, as `hypothesis_scores` has it for all of them together; and all blocks.

    At least one block is read, and as many as it takes to know: log-probabilities are the weights if all hypotheses
    have one, so that the first that lacks either number decides. Lists that have both are read to the end; where some
    hypotheses have a log-probability and none a score, these are missing and not those.
    """
    read: list[NBest] = []
    for block in blocks:
        read.append(block)
        if weights_from is None and len(block.scores):
            partly = block.logprobs is not None and np.isnan(block.scores).all()
            if not partly and (block.logprobs is None or np.isnan(block.logprobs).any()):
                weights_from = "score"
            elif np.isnan(block.scores).any():
                weights_from = "logprob"
        if weights_from is not None:
            break
    return weights_from, chain(read, blocks)


def in_step(
    lists: Iterator[NBest], others: Iterator[NBest], candidates: PathLike, evidence: PathLike
) -> Iterator[tuple[NBest, NBest]]:
    """Blocks of lists with the others for the same sentences, as long as both files have them in the same order.

    What comes after that is read to the end, and the others are brought into the order of the lists.
    """
    count, at, theirs = 0, 0, next(others)
    for ours in lists:
        if (missing := at + len(ours) - len(theirs)) > 0:
            theirs, at = joined([_part(theirs, at, len(theirs)), *_at_least(others, missing)]), 0
        if _names(theirs)[at : at + len(ours)] != _names(ours):
            lists = chain([ours], lists)
            break
        yield ours, _part(theirs, at, at + len(ours))
        count, at = count + len(ours), at + len(ours)
    rest, left = [*lists], joined([_part(theirs, at, len(theirs)), *others])
    sentences = sum(map(len, rest))
    if sentences != len(left):
        raise DataError(
            f"has {count + len(left)} sentences, but {candidates} has {count + sentences}",
            path=evidence,
            expected="as many",
        )
    if rest:
        ours = joined(rest)
        place = {name: i for i, name in enumerate(_names(left))}
        missing_names = [name for name in _names(ours) if name not in place]
        if missing_names:
            raise DataError(f"has nothing for the id '{missing_names[0]}', which {candidates} has", path=evidence)
        yield ours, left.take(np.array([place[name] for name in _names(ours)], np.int64))


def _names(lists: NBest) -> list[str]:
    """The ids of sentences as text, which some formats have as numbers and some as strings."""
    return [*map(str, lists.sentence_ids)]


def _at_least(blocks: Iterator[NBest], sentences: int) -> Iterator[NBest]:
    """As many blocks as have so many sentences, if there are some."""
    while sentences > 0 and (block := next(blocks, None)) is not None:
        sentences -= len(block)
        yield block


def _part(lists: NBest, first: int, end: int) -> NBest:
    return lists if end - first == len(lists) else lists.take(np.arange(first, end))


def joined(parts: Sequence[NBest]) -> NBest:
    """Several blocks as one, with the ids and the sources that they have."""
    if len(parts) == 1:
        return parts[0]
    sources = [part.sources for part in parts if part.sources is not None]
    return replace(
        NBest.concatenate(parts),
        ids=tuple(chain.from_iterable(part.sentence_ids for part in parts)),
        sources=tuple(chain.from_iterable(sources)) if len(sources) == len(parts) else None,
    )
