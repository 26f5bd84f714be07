"""Pools: what comes in, what is left out, and what is saved."""

import numpy as np
import pytest

from dragoman.core.corpus import Corpus
from dragoman.core.errors import DataError
from dragoman.metrics.bleu import Bleu
from dragoman.tuning.methods.samplerank.pools import Pools
from oracles.jumps import Candidate, nbest_of, pooled

REFERENCES = ["a b c", "b c", "c a a b"]
SCORER = Bleu().scorer([Corpus.from_lines(REFERENCES)])
#: Values that are often the same, and features that only some rows have.
NAMES = ["lm", "tm", "sparse1", "sparse2"]


def random_lists(rng, names=NAMES, most=6):
    return [
        [
            Candidate(
                tuple(rng.choice(["a", "b", "c"], rng.integers(1, 5)).tolist()),
                {name: float(rng.integers(-1, 2)) for name in rng.permutation(names).tolist()},
            )
            for _ in range(rng.integers(1, most))
        ]
        for _ in REFERENCES
    ]


def test_pools_are_those_of_a_slow_twin():
    rng = np.random.default_rng(3)
    pools = Pools.empty(len(REFERENCES), ["tm"])
    rounds, equal = [], 0
    for number in range(5):
        names = NAMES[: 2 + number % 3]
        rounds.append(random_lists(rng, names))
        before = pools.names
        pools = pools.with_lists(nbest_of(rounds[-1], names), SCORER)
        assert pools.names[: len(before)] == before
        expected = [pooled([lists[s] for lists in rounds]) for s in range(len(REFERENCES))]
        equal += sum(map(len, rounds[-1])) - sum(map(len, expected))
        assert np.diff(pools.sentences).tolist() == [*map(len, expected)]
        rows = [one for part in expected for one in part]
        assert [pools.features.row(i) for i in range(len(rows))] == [
            {name: one.features[name] for name in pools.names if one.features.get(name)} for one in rows
        ]
        words = Corpus.from_lines([" ".join(one.words) for one in rows])
        assert (pools.statistics == SCORER.statistics(words, pools.homes)).all()
    assert set(pools.names) == set(NAMES)
    assert equal


def test_pools_that_were_saved_are_the_same():
    rng = np.random.default_rng(4)
    first, second = nbest_of(random_lists(rng), NAMES), nbest_of(random_lists(rng), NAMES)
    pools = Pools.empty(3, ["lm"]).with_lists(first, SCORER)
    saved = {"weights": np.zeros(3), **pools.arrays()}
    for one, other in (
        (pools, Pools.from_arrays(saved)),
        *[[p.with_lists(second, SCORER) for p in (pools, Pools.from_arrays(saved))]],
    ):
        assert one.names == other.names
        assert {name: array.tobytes() for name, array in one.arrays().items()} == {
            name: array.tobytes() for name, array in other.arrays().items()
        }


def test_what_is_no_pool_is_refused():
    lists = nbest_of(random_lists(np.random.default_rng(5)), NAMES)
    with pytest.raises(DataError, match="there are 3 lists; expected 2, one per sentence"):
        Pools.empty(2, []).with_lists(lists, SCORER)
    with pytest.raises(DataError, match="no translation of sentence 2"):
        Pools.empty(3, []).with_lists(nbest_of([[Candidate(("a",), {})], [], [Candidate(("a",), {})]], NAMES), SCORER)
    with pytest.raises(DataError, match="no pools of derivations"):
        Pools.from_arrays({"weights": np.zeros(3)})
