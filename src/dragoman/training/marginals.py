"""What target phrases count in all partitions of a text's phrase pairs, each of which has some of their pairs only.

A phrase is known by a place in the text where it stands, and compared word by word.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.corpus import Corpus
from dragoman.core.ragged import Ragged
from dragoman.core.runs import BUCKETS
from dragoman.core.runtime import Runtime
from dragoman.core.store import Arrays
from dragoman.training.score import CountedPairs


def own_marginals(counted: CountedPairs) -> Arrays:
    """For each target phrase how often it occurs, and in how many pairs, as a partition knows it."""
    number = len(counted.targets)
    return {
        "total": np.bincount(counted.target_ids, counted.joint, number).astype(np.int64),
        "distinct": np.bincount(counted.target_ids, minlength=number),
    }


def questions_of(counted: CountedPairs, instances: Arrays) -> tuple[Arrays, NDArray[np.int64]]:
    """What a partition says and asks of its target phrases, and the numbers of the first instances of its sources."""
    pair_of_instance, number = counted.pair_of_instance, instances["number"]
    sources = _first_of(counted.source_ids[pair_of_instance], len(counted.sources))
    some = _first_of(counted.target_ids[pair_of_instance], len(counted.targets))
    questions: Arrays = {
        "thing": np.arange(len(some), dtype=np.int32),
        "sentence": instances["sentence"][some],
        "begin": instances["target_begin"][some],
        "length": instances["target_length"][some],
        **own_marginals(counted),
        "first": number[some],
    }
    return questions, np.asarray(number[sources], np.int64)


def put_together(corpus: Corpus, questions: dict[str, Any], *, runtime: Runtime = Runtime()) -> tuple[Arrays, Arrays]:
    """What all partitions say of the phrase of each question, with the number of its first instance.

    Returns also the distinct phrases, by their first instances.
    """
    text, spans = corpus.sentences, (questions["sentence"], questions["begin"], questions["length"])
    ids, words, offsets = kernels.number_spans(text.values, text.offsets, *spans, runtime.threads, None)
    total, distinct = (_sums(ids, questions[name], len(offsets) - 1) for name in ("total", "distinct"))
    first = np.full(len(offsets) - 1, np.iinfo(np.int64).max)
    np.minimum.at(first, ids, questions["first"])
    order = np.argsort(first)
    phrases = Ragged(words, offsets).take(order)
    return (
        {"total": total[ids], "distinct": distinct[ids], "first": first[ids]},
        {"first": first[order], "words": phrases.values, "offsets": phrases.offsets},
    )


def span_buckets(
    corpus: Corpus,
    sentence: NDArray[Any],
    begin: NDArray[Any],
    length: NDArray[Any],
    *,
    runtime: Runtime = Runtime(),
) -> NDArray[np.uint16]:
    """Deal phrases out by their words."""
    text = corpus.sentences
    return kernels.span_buckets(text.values, text.offsets, sentence, begin, length, BUCKETS, runtime.threads)


def _first_of(ids: NDArray[np.int32], size: int) -> NDArray[np.int64]:
    """The first row of each id."""
    first = np.empty(size, np.int64)
    first[ids[::-1]] = np.arange(len(ids) - 1, -1, -1)  # of assignments to one place the last holds
    return first


def _sums(ids: NDArray[np.int32], values: NDArray[Any], size: int) -> NDArray[np.int64]:
    return np.bincount(ids, values, size).astype(np.int64)
