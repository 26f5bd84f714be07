"""Portions of a text: cut in order, sent without the model's words, and the same whoever works on them."""

import pickle
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from dragoman.core.errors import DataError
from dragoman.core.nbest import NBest
from dragoman.core.runtime import Runtime
from dragoman.model.bundle import Model
from dragoman.sampling.schedule import Sampling
from dragoman.sampling.spread import Draw, sampled
from dragoman.search.kept import Keep, kept
from dragoman.search.spread import Portion, Spread
from dragoman.search.translator import BATCH, Translator
from oracles import phrase_space
from oracles.elsewhere import Elsewhere


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    model = phrase_space.random_model(np.random.default_rng(3), tables=1, language_models=1, reordering=True)
    out = tmp_path_factory.mktemp("spread") / "model"
    model.save(out)
    return out


@pytest.fixture
def spreads(folder):
    """The same translator here and elsewhere."""
    translator, runtime = Translator.of(Model.load(folder)), Runtime(threads=2)
    elsewhere = replace(runtime, workers=Elsewhere())
    return Spread(translator, runtime=runtime), Spread(translator, folder, runtime=elsewhere)


@pytest.fixture
def lines():
    rng = np.random.default_rng(5)
    return [f"{phrase_space.random_sentence(rng, 4)} new{i % 5}" for i in range(3 * BATCH + 2)]


def test_portions_know_their_place_and_their_targets(spreads, lines):
    here, elsewhere = spreads
    assert [portion.first for portion in elsewhere.portions(lines)] == [0, BATCH, 2 * BATCH, 3 * BATCH]
    assert [portion.first for portion in here.portions(lines)] == [0, 2 * BATCH]
    targets = [str(i) for i in range(len(lines))]
    portions = list(elsewhere.portions(iter(lines), iter(targets)))
    assert [line for portion in portions for line in portion.lines] == lines
    assert [target for portion in portions for target in portion.targets] == targets
    with pytest.raises(DataError, match="fewer targets than source sentences"):
        list(elsewhere.portions(lines, targets[1:]))


def test_what_is_kept_is_the_same_here_and_elsewhere(spreads, lines):
    keep = Keep(features=True, nbest=5, hypergraphs=True)
    here, elsewhere = (list(kept(spread, keep, lines)) for spread in spreads)
    ours, theirs = ([found for part in parts for found in part.translations()] for parts in (here, elsewhere))
    assert ours == theirs
    ours, theirs = (NBest.concatenate([part.nbest(5) for part in parts]) for parts in (here, elsewhere))
    for name in ("blob", "offsets", "index"):
        assert np.array_equal(ours.vocab.arrays()[name], theirs.vocab.arrays()[name])
    assert np.array_equal(ours.hypotheses.values, theirs.hypotheses.values)
    assert np.array_equal(ours.scores, theirs.scores)
    assert elsewhere[0].hypergraph(0).edges == here[0].hypergraph(0).edges


def test_work_has_the_threads_of_its_part(spreads, lines):
    here, elsewhere = spreads
    for spread, together in ((here, 2), (elsewhere, 1)):
        assert set(spread.map(threads_of, spread.portions(lines))) == {(together, together)}
        assert set(spread.map_alone(threads_of, spread.portions(lines))) == {(1, 1)}
    assert here.translator.runtime.threads == 1


def threads_of(translator, portion, runtime):
    return translator.runtime.threads, runtime.threads


def test_the_words_of_the_model_stay_where_they_are(spreads, lines):
    elsewhere = spreads[1]
    vocab = elsewhere.translator.model.target_vocab

    def sizes(work):
        list(elsewhere.map(work, elsewhere.portions(lines)))
        return elsewhere.runtime.workers.sizes

    assert max(sizes(words_of_batch)) < len(pickle.dumps(vocab)) / 2
    portions = list(elsewhere.portions(lines[:BATCH]))
    (found,) = elsewhere.map(words_of_batch, portions)
    assert list(found) == list(words_of_batch(spreads[0].translator, portions[0], Runtime()))
    assert len(found) > len(vocab)


def words_of_batch(translator, portion, runtime):
    (part,) = translator.searched(portion.lines, forests=True)
    return part.nbest(1).vocab


def test_samples_depend_on_the_place_in_the_whole_text(spreads, lines):
    draw = Draw(Sampling(samples=5, burn_in=2), seed=4)
    here, elsewhere = ([part.samples for part in sampled(spread, draw, lines)] for spread in spreads)
    scores = [np.concatenate([part.scores for part in parts]) for parts in (here, elsewhere)]
    assert np.array_equal(*scores)
    portion = Portion(0, lines[BATCH : 2 * BATCH])
    moved = replace(portion, first=BATCH)
    drawn = [draw(spreads[0].translator, one, Runtime())[0].samples.counts for one in (portion, moved)]
    assert not np.array_equal(*drawn)


def test_warnings_come_back(spreads, lines):
    told = []
    for spread in spreads:
        spread = replace(spread, runtime=replace(spread.runtime, progress=SimpleNamespace(warn=told.append)))
        assert list(spread.map(warn, spread.portions(lines[:1]))) == ["done"]
        assert told.pop() == "odd: 0"


def warn(translator, portion, runtime):
    runtime.warn(f"odd: {portion.first}")
    return "done"
