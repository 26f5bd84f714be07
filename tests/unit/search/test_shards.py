"""Shards of a text: cut in order, sent without the model's words, and the same whoever works on them."""

import pickle
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from dragoman.core.errors import DataError
from dragoman.core.runtime import Runtime
from dragoman.model.bundle import Model
from dragoman.sampling.draw import Draw, draw_samples
from dragoman.sampling.schedule import Sampling
from dragoman.search.translator import BATCH, Shard, ShardedTranslator, Translator
from oracles import phrase_space
from oracles.elsewhere import Elsewhere


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    model = phrase_space.random_model(np.random.default_rng(3), tables=1, language_models=1, reordering=True)
    out = tmp_path_factory.mktemp("shards") / "model"
    model.save(out)
    return out


@pytest.fixture
def translators(folder):
    """The same translator here and elsewhere."""
    translator, runtime = Translator.of(Model.load(folder)), Runtime(threads=2)
    elsewhere = replace(runtime, workers=Elsewhere())
    return ShardedTranslator(translator, runtime=runtime), ShardedTranslator(translator, folder, runtime=elsewhere)


@pytest.fixture
def lines():
    rng = np.random.default_rng(5)
    return [f"{phrase_space.random_sentence(rng, 4)} new{i % 5}" for i in range(3 * BATCH + 2)]


def test_shards_know_their_place_and_their_targets(translators, lines):
    here, elsewhere = translators
    assert [shard.first for shard in elsewhere.shards(lines)] == [0, BATCH, 2 * BATCH, 3 * BATCH]
    assert [shard.first for shard in here.shards(lines)] == [0, 2 * BATCH]
    targets = [str(i) for i in range(len(lines))]
    shards = list(elsewhere.shards(iter(lines), iter(targets)))
    assert [line for shard in shards for line in shard.lines] == lines
    assert [target for shard in shards for target in shard.targets] == targets
    with pytest.raises(DataError, match="fewer targets than source sentences"):
        list(elsewhere.shards(lines, targets[1:]))


def test_work_has_the_threads_of_its_part(translators, lines):
    here, elsewhere = translators
    for sharded, together in ((here, 2), (elsewhere, 1)):
        assert set(sharded.map(threads_of, sharded.shards(lines))) == {(together, together)}
        assert set(sharded.map_alone(threads_of, sharded.shards(lines))) == {(1, 1)}
    assert here.translator.runtime.threads == 1


def threads_of(translator, shard, runtime):
    return translator.runtime.threads, runtime.threads


def test_the_words_of_the_model_stay_where_they_are(translators, lines):
    elsewhere = translators[1]
    vocab = elsewhere.translator.model.target_vocab

    def sizes(work):
        list(elsewhere.map(work, elsewhere.shards(lines)))
        return elsewhere.runtime.workers.sizes

    assert max(sizes(words_of_batch)) < len(pickle.dumps(vocab)) / 2
    shards = list(elsewhere.shards(lines[:BATCH]))
    (found,) = elsewhere.map(words_of_batch, shards)
    assert list(found) == list(words_of_batch(translators[0].translator, shards[0], Runtime()))
    assert len(found) > len(vocab)


def words_of_batch(translator, shard, runtime):
    return translator.search_shard(shard, forests=True).nbest(1).vocab


def test_samples_depend_on_the_place_in_the_whole_text(translators, lines):
    draw = Draw(Sampling(samples=5, burn_in=2), seed=4)
    here, elsewhere = ([part.samples for part in draw_samples(sharded, draw, lines)] for sharded in translators)
    scores = [np.concatenate([part.scores for part in parts]) for parts in (here, elsewhere)]
    assert np.array_equal(*scores)
    shard = Shard(0, lines[BATCH : 2 * BATCH])
    moved = replace(shard, first=BATCH)
    drawn = [draw(translators[0].translator, one, Runtime())[0].samples.counts for one in (shard, moved)]
    assert not np.array_equal(*drawn)


def test_warnings_come_back(translators, lines):
    told = []
    for sharded in translators:
        sharded = replace(sharded, runtime=replace(sharded.runtime, progress=SimpleNamespace(warn=told.append)))
        assert list(sharded.map(warn, sharded.shards(lines[:1]))) == ["done"]
        assert told.pop() == "odd: 0"


def warn(translator, shard, runtime):
    runtime.warn(f"odd: {shard.first}")
    return "done"
