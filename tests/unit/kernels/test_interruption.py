"""Ctrl-C during a kernel, and other threads of Python while one runs."""

import signal
import threading
import time
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from dragoman import kernels
from dragoman.core.feature_rows import FeatureRows
from dragoman.core.hypergraph import Hypergraph
from dragoman.core.ragged import Ragged
from dragoman.forest.batch import structure, texts
from dragoman.metrics.references import HypothesisReferenceIds
from dragoman.search.limits import SearchLimits, SpaceLimits
from dragoman.search.phrase.translator import PhraseTranslator
from oracles import phrase_space
from oracles.forest import VOCAB, chain

pytestmark = pytest.mark.slow

FOR_EVER = 2**62


class InterruptionError(Exception):
    """What the signal's handler raises."""


def words_on(graph: Hypergraph) -> Hypergraph:
    """A chain whose edges write a word each, another one beside each other."""
    first = graph.tails[:, 0] < 0
    word = np.arange(graph.edges) % len(VOCAB)
    templates = Ragged.of([[i] for i in range(len(VOCAB))] + [[-1, i] for i in range(len(VOCAB))], np.int32)
    return replace(graph, template_ids=np.where(first, word, word + len(VOCAB)).astype(np.int32), templates=templates)


def best_derivations():
    graph = chain(1000, edges=3)
    return partial(
        kernels.forest_kbest,
        structure(graph),
        texts(graph),
        root=graph.root,
        k=10**8,
        distinct=False,
        max_derivations=FOR_EVER,
    )


def translations():
    graph = words_on(chain(30, edges=3))
    return partial(
        kernels.forest_translations,
        structure(graph),
        texts(graph),
        root=graph.root,
        beam=FOR_EVER,
        max_strings=FOR_EVER,
    )


def split():
    graph = words_on(chain(40, edges=3))
    return partial(kernels.forest_split, structure(graph), texts(graph), root=graph.root, order=20, max_edges=FOR_EVER)


def long_chain(length: int) -> Hypergraph:
    return chain(length, edges=1)


def merge():
    graph = long_chain(4_000_000)
    labels = np.arange(graph.edges, dtype=np.int32)
    return partial(kernels.forest_merge, structure(graph), labels, np.array([graph.root], np.int64))


def labels():
    graph = long_chain(4_000_000)
    spans = np.arange(2 * graph.edges, dtype=np.int32).reshape(-1, 2)
    return partial(kernels.forest_labels, texts(graph), spans, FeatureRows.zeros(graph.edges).for_kernels())


def intersection():
    """A word before long strings, none of which is in the wanted one: each of them ends in another word."""
    many = 100_000
    tails = np.full((many + 2, 2), -1, np.int32)
    tails[-1] = 0, 1
    graph = Hypergraph(
        vocab=VOCAB,
        root=2,
        first_edge=np.array([0, 1, many + 1, many + 2]),
        tails=tails,
        template_ids=np.array([0, *[1] * many, 2], np.int32),
        templates=Ragged.of([[3], [3] * 1000 + [4], [-1, -2]], np.int32),
        spans=np.zeros((many + 2, 2), np.int32),
        scores=np.zeros(many + 2),
    )
    return partial(kernels.forest_string, structure(graph), texts(graph), graph.root, np.full(2000, 3, np.int32))


def envelopes():
    graph = chain(3000, edges=4)
    slopes = np.random.default_rng(1).normal(size=graph.edges)
    starts, roots = np.zeros(1, np.int64), np.array([graph.root], np.int64)
    return partial(kernels.forest_envelopes, structure(graph, slopes**2 + graph.scores), slopes, starts, roots)


def language_model():
    size = 2200
    pairs = np.stack(np.meshgrid(np.arange(size), np.arange(size), indexing="ij"), axis=-1).reshape(-1, 2)
    words = np.concatenate([np.arange(size), pairs.ravel()]).astype(np.int32)
    rows = size + len(pairs)
    scores = np.full(rows, -1.0, np.float32)
    return partial(kernels.lm_index, words, scores, scores, np.array([0, size, rows]), size, -100.0)


def cube():
    model = phrase_space.random_model(np.random.default_rng(4))
    limits, space = SearchLimits(pop_limit=2**31 - 1), SpaceLimits(reordering_limit=-1)
    sentence = " ".join(np.random.default_rng(4).choice(phrase_space.SOURCE, 25))
    return partial(PhraseTranslator(model, limits=limits, space=space).search_batch, [sentence])


def edits(kernel):
    rng = np.random.default_rng(1)
    hypothesis, reference = (Ragged.of([rng.integers(0, 5, 20_000)], np.int32) for _ in range(2))
    return partial(kernel, HypothesisReferenceIds(hypothesis, np.zeros(1, np.int64), reference).for_kernels())


#: What prepares work of seconds in one call of a kernel.
WORK = {
    "forest_kbest": best_derivations,
    "forest_translations": translations,
    "forest_split": split,
    "forest_merge": merge,
    "forest_labels": labels,
    "forest_string": intersection,
    "forest_envelopes": envelopes,
    "lm_index": language_model,
    "search_phrases": cube,
    "translation_edits": lambda: edits(kernels.translation_edits),
}


@pytest.mark.parametrize("name", WORK)
def test_kernels_can_be_interrupted(name):
    def interrupt(number, frame):
        raise InterruptionError

    work = WORK[name]()
    # By the processor's time: a busy machine makes nothing late.
    before = signal.signal(signal.SIGPROF, interrupt)
    signal.setitimer(signal.ITIMER_PROF, 0.1)
    start = time.process_time()
    try:
        with pytest.raises(InterruptionError):
            work()
        spent = time.process_time() - start
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
    assert spent < 1.1  # at most a second after it was asked to end


def draws():
    graph = chain(1, edges=8_000_000)
    return partial(kernels.forest_sample, structure(graph), graph.root, 1, 1)


def contains():
    graph = long_chain(3_000_000)
    nothing = Ragged(np.empty(0, np.int32), np.zeros(graph.edges + 1, np.int64))
    return partial(kernels.forest_contains, structure(graph), graph.root, nothing.for_kernels(), 0)


@pytest.mark.parametrize("prepare", [draws, contains])
def test_other_threads_go_on(prepare):
    """The interpreter is free while a kernel works: another thread goes on looking all the time."""
    work, started, done, looks = prepare(), threading.Event(), threading.Event(), []

    def look():
        started.set()
        while not done.wait(0.001):
            looks.append(1)

    thread = threading.Thread(target=look)
    thread.start()
    started.wait()
    before = len(looks)
    work()
    looked = len(looks) - before
    done.set()
    thread.join()
    assert looked > 10
