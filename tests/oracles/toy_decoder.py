"""A decoder that knows a hundred translations of each sentence, for tuning without a model."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dragoman.core.corpus import Corpus
from dragoman.core.feature_rows import FeatureRows
from dragoman.core.hypergraph import Hypergraph
from dragoman.core.nbest import NBest
from dragoman.core.runtime import Runtime
from dragoman.metrics.bleu import Bleu
from dragoman.tuning.problems.evidence import DecodedGraphs, DecodedLists
from dragoman.tuning.problems.problem import Problem
from dragoman.tuning.runs.batch_training import BatchTraining, Task
from dragoman.tuning.runs.loop import Loop, run_tuning

NAMES = ["adequacy", "length", "noise"]
WORDS = [f"w{i}" for i in range(30)]


class ToyDecoder:
    """Knows a hundred translations of each sentence; those near the reference have more of the feature `adequacy`."""

    def __init__(self, sentences: int = 30, seed: int = 0, size: int = 20):
        rng = np.random.default_rng(seed)
        self.references = [" ".join(rng.choice(WORDS, 10)) for _ in range(sentences)]
        texts, rows = [], []
        for reference in self.references:
            for _ in range(100):
                words = np.array(reference.split())
                wrong = rng.random(10) < rng.random()
                words[wrong] = rng.choice(WORDS, wrong.sum())
                texts.append(" ".join(words[: rng.integers(6, 11)]))
                rows.append([10.0 - wrong.sum() + rng.normal(), float(len(texts[-1].split())), rng.normal() * 5])
        self.corpus = Corpus.from_lines(texts)
        self.features = np.array(rows)
        self.sentences = sentences
        self.size = size
        self.calls = 0

    def __call__(self, weights, *, runtime=Runtime()):
        self.calls += 1
        size = self.size
        scores = (self.features @ weights.vector(NAMES)).reshape(self.sentences, 100)
        order = np.argsort(-scores, axis=1, kind="stable")[:, :size]
        picked = (order + np.arange(self.sentences)[:, None] * 100).ravel()
        nbest = NBest(
            self.corpus.vocab,
            np.arange(self.sentences + 1, dtype=np.int64) * size,
            self.corpus.sentences.take(picked),
            np.take_along_axis(scores, order, axis=1).ravel(),
            FeatureRows.from_dense(NAMES, self.features[picked]),
        )
        return DecodedLists(nbest)


def as_graphs(decoded):
    """The same candidates as hypergraphs: one node, and an edge for each."""
    nbest = decoded.nbest
    graphs = []
    for first, last in zip(nbest.sentences[:-1].tolist(), nbest.sentences[1:].tolist(), strict=True):
        rows, count = np.arange(first, last), last - first
        graphs.append(
            Hypergraph(
                vocab=nbest.vocab,
                root=0,
                first_edge=np.array([0, count]),
                tails=np.full((count, 2), -1, np.int32),
                template_ids=np.arange(count, dtype=np.int32),
                templates=nbest.hypotheses.take(rows),
                spans=np.zeros((count, 2), np.int32),
                scores=nbest.scores[rows],
                features=nbest.features.take(rows),
            )
        )
    return DecodedGraphs(graphs)


def task_for(decoder, tuner):
    """The task with evidence of a kind that the method takes."""
    if tuner.takes(Problem):
        return task_of(decoder)
    return replace(
        task_of(decoder),
        decoder=lambda weights, *, runtime: as_graphs(decoder(weights, runtime=runtime)),
        evidence=DecodedGraphs,
    )


def task_of(decoder):
    return Task(
        decoder=decoder,
        scorer=Bleu().scorer([Corpus.from_lines(decoder.references)]),
        names=NAMES,
        ranges=dict.fromkeys(NAMES, (-1.0, 1.0)),
    )


def tune(run, task, tuner, start, loop=Loop(), *, seed=1, runtime=Runtime()):
    """Tune with an optimiser; returns the weights that the run ends with."""
    return run_tuning(run, BatchTraining(tuner, task, loop), start, keep=loop.keep, seed=seed, runtime=runtime)
