"""Jumps, step by step beside their definition."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from dragoman.core.corpus import Corpus
from dragoman.core.errors import UsageError
from dragoman.core.runtime import Runtime
from dragoman.metrics.bleu import Bleu
from dragoman.metrics.metric import Scorer
from dragoman.tuning.methods.samplerank.jumps import Jumps, JumpSteps
from dragoman.tuning.methods.samplerank.pools import Pools
from dragoman.tuning.methods.samplerank.rank_chains import BatchValue, RankRequest
from oracles.jumps import Candidate, Jumping, nbest_of, pooled

NAMES = ["lm", "tm", "penalty", "sparse"]
LEARNT = np.array([True, True, False, True])
UNITS = np.array([0, 1, 3, 4, 6])
LENGTHS = np.array([4, 9, 7, 5, 6, 8])
PLAN = [[np.array([2, 0]), np.array([1])], [np.array([3])]]
FEW = JumpSteps(visits=3, jump_aggressiveness=0.05, scale=0.3)


class Task:
    """Random candidates of six sentences, whose features know something of how good they are."""

    def __init__(self, seed=1):
        rng = np.random.default_rng(seed)
        self.references = [tuple(rng.choice(list("abcd"), rng.integers(4, 8)).tolist()) for _ in range(6)]
        lists = [[self._candidate(rng, reference) for _ in range(rng.integers(1, 9))] for reference in self.references]
        self.candidates = [pooled([part]) for part in lists]
        self.weights = rng.normal(size=(2, len(NAMES)))
        scorer = Bleu().scorer([Corpus.from_lines([" ".join(one) for one in self.references])])
        self.value = BatchValue(scorer, 1, FEW.smoothing)
        self.pools = Pools.empty(6, NAMES).with_lists(nbest_of(lists, NAMES), scorer)

    def _candidate(self, rng, reference):
        words = list(reference)
        for place in rng.integers(0, len(words), rng.integers(0, 4)).tolist():
            words[place] = str(rng.choice(list("abcd")))
        words = words[: rng.integers(3, len(words) + 1)]
        features = {name: float(rng.normal()) for name in NAMES if name != "sparse" or rng.random() < 0.5}
        return Candidate(tuple(words), features)

    def ranked(self, steps, **changes):
        pools, value = changes.get("pools", self.pools), changes.get("value", self.value)
        jumps = Jumps(steps, pools, UNITS, value, LEARNT, LENGTHS)
        weights = changes.get("weights", self.weights)
        return jumps, jumps.run(PLAN, weights, RankRequest(5, 1 << 32, changes.get("units")))


@pytest.mark.parametrize(
    "changes",
    [{}, {"better": "gain"}, {"worse": "best"}, {"violation": "order"}, {"jump_aggressiveness": 100.0}, {"scale": 5.0}],
    ids=str,
)
def test_steps_are_those_of_a_slow_twin(changes):
    task, steps = Task(), replace(FEW, **changes)
    jumps, found = task.ranked(steps)
    learnt = {name for name, is_learnt in zip(NAMES, LEARNT, strict=True) if is_learnt}
    updates = 0
    for number, batches in enumerate(PLAN):
        start = dict(zip(NAMES, task.weights[number].tolist(), strict=True))
        twin = Jumping(task.candidates, task.references, start, learnt, steps)
        gains = 0.0
        for place, batch in enumerate(batches):
            rng = np.random.default_rng([5, (1 << 32) + place, number])
            sentences = np.concatenate([np.arange(UNITS[unit], UNITS[unit + 1]) for unit in batch])
            order = list(
                itertools.chain.from_iterable(rng.permutation(sentences).tolist() for _ in range(steps.visits))
            )
            first = {s: int(jumps.first[s] - task.pools.sentences[s]) for s in sentences.tolist()}
            at = twin.batch(order, first)
            gains += twin.value({s: task.candidates[s][row].words for s, row in at.items()})
        assert found.weights[number].tolist() == pytest.approx([twin.weights[name] for name in NAMES])
        assert found.totals[number].tolist() == pytest.approx(twin.total(NAMES).tolist())
        assert found.collected[number] == len(twin.after)
        assert found.counts[number, [0, 2, 3, 4]].tolist() == [
            len(twin.after),
            twin.updates,
            twin.clipped,
            len(batches),
        ]
        assert found.gains[number] == pytest.approx(gains)
        updates += twin.updates
    assert updates
    assert (found.weights[:, 2] == task.weights[:, 2]).all()


def test_in_units_steps_are_those_of_features_divided_by_them():
    task, units = Task(), np.exp(np.random.default_rng(3).normal(size=len(NAMES)))
    features = task.pools.features
    divided = replace(task.pools, features=replace(features, values=features.values / units[features.ids]))
    _, wanted = task.ranked(FEW, pools=divided, weights=task.weights * units)
    _, found = task.ranked(FEW, units=units)
    assert wanted.counts.tolist() == found.counts.tolist()
    assert found.weights * units == pytest.approx(wanted.weights)
    assert found.totals * units == pytest.approx(wanted.totals)
    assert found.squares == pytest.approx(wanted.squares * units**2)


def test_gains_in_words_count_the_source_words_of_the_batch():
    task = Task()
    plan = [[np.arange(len(UNITS) - 1)]]
    words = LENGTHS.sum() / 100
    both = []
    for steps in (replace(FEW, scale=0.5, gain_unit="words"), replace(FEW, scale=0.5 * words)):
        jumps = Jumps(steps, task.pools, UNITS, task.value, LEARNT, LENGTHS)
        both.append(jumps.run(plan, task.weights[:1], RankRequest(5, 0)))
    assert both[0].weights.tobytes() == both[1].weights.tobytes()
    assert both[0].counts[0, 2] > 0


def test_chains_begin_with_what_the_metric_likes_best():
    task = Task(2)
    jumps, _ = task.ranked(FEW)
    scores = task.value.scorer.sentence_scores(task.pools.statistics)
    for row, (begin, end) in zip(jumps.first.tolist(), itertools.pairwise(task.pools.sentences.tolist()), strict=True):
        assert begin <= row < end
        assert scores[row] == scores[begin:end].max()


def test_what_is_drawn_is_drawn_by_its_probability():
    task = Task()
    steps = replace(FEW, worse="drawn", jump_aggressiveness=0.0)
    changes = [task.ranked(replace(steps, temperature=t, visits=200))[1].counts[:, 1].sum() for t in (1e-6, 1.0, 100.0)]
    assert changes[0] < 10 < changes[1] < changes[2]


def test_a_metric_without_a_number_is_refused():
    task = Task()

    class Broken(Scorer):
        def statistics(self, hypotheses, sentences=None, *, runtime=Runtime()):
            raise NotImplementedError

        def score(self, statistics):
            return np.full(statistics.shape[:-1], np.nan)

    with pytest.raises(UsageError, match="no finite score for a batch"):
        task.ranked(FEW, value=BatchValue(Broken(), 1, 0.0))
