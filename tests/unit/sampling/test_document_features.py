"""Features of documents in chains: their values at each sample, the best document, and the model's own features."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dragoman.core.errors import DataError
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.core.samples import Samples
from dragoman.features import FEATURES, GLOBAL_FEATURES
from dragoman.features.length_ratio import LengthRatio
from dragoman.sampling.annealing import anneal, best_of_chains
from dragoman.sampling.chains import ChainSettings
from dragoman.sampling.global_features import document_parts
from dragoman.sampling.sampler import Sampler
from dragoman.sampling.schedule import Annealing, Sampling, Schedule
from dragoman.search.limits import SpaceLimits
from dragoman.search.phrase.translator import PhraseTranslator
from oracles import phrase_space
from oracles.chains import run
from oracles.lexical_consistency import lexical_consistency
from oracles.phrase_documents import Document

FEW = Sampling(samples=30, burn_in=3, chains=2)


def model_with(**options):
    model = phrase_space.random_model(np.random.default_rng(4), language_models=1)
    return model.with_features([FEATURES.get(name)(**chosen) for name, chosen in options.items()])


def translator_of(model, threads=1, **weights):
    space = SpaceLimits(reordering_limit=2, table_limit=0)
    return PhraseTranslator(model, model.weights.updated(weights), space=space, runtime=Runtime(threads=threads))


def sentences(count, seed=5):
    rng = np.random.default_rng(seed)
    return [phrase_space.random_sentence(rng, 6) for _ in range(count)]


@pytest.mark.parametrize("per_pass", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_values_at_each_sample_are_those_of_the_document_then(seed, per_pass):
    document = Document(400 + seed)
    visited = run(
        document.space(2),
        Schedule(jump_every=2),
        seed=seed,
        samples=40,
        chains=2,
        thin=2,
        burn_in=np.full(2, 2.0),
        per_pass=per_pass,
        trace=True,
        runtime=Runtime(threads=2),
    )
    assert visited.document_values.shape == (2, 2, 40, 2)
    rows = [tuple(derivation.tolist()) for derivation in visited.derivations]
    for d, c, i in np.ndindex(2, 2, 40):
        pair = tuple(rows[visited.sentences[s] + visited.trace[s, c, i]] for s in range(3 * d, 3 * d + 3))
        expected = document.values(pair)
        assert visited.document_values[d, c, i].tolist() == pytest.approx(
            [expected["lexical_consistency"], expected["same"]], abs=1e-9
        )


@pytest.mark.parametrize("seed", range(12))
def test_annealing_finds_the_best_document(seed):
    document = Document(500 + seed)
    settings = ChainSettings.annealing(Annealing(chains=3, jump_every=3), seed=1, first_number=0)
    derivations, scores = best_of_chains(document.space(), settings)
    pair = tuple(tuple(row.tolist()) for row in derivations)
    best = max(document.scores.values())
    assert document.scores[pair] == pytest.approx(best, abs=1e-9)
    values = document.values(pair)
    own = best - sum(document.weights[name] * values[name] for name in ("lexical_consistency", "same"))
    assert scores.sum() == pytest.approx(own, abs=1e-9)


def test_a_best_document_is_one_that_was_there_as_a_whole():
    """In the first of two chains each sentence could be best at another time; scores have to belong together."""
    document = Document(503)
    visited = run(document.space(), Schedule(jump_every=0), seed=3, samples=0, chains=4, burn_in=np.full(20, 5.0))
    rows = [tuple(row.tolist()) for row in visited.best]
    for chain in range(4):
        assert visited.document_scores[0, chain] == pytest.approx(
            document.scores[rows[chain], rows[4 + chain], rows[8 + chain]], abs=1e-9
        )


def test_a_sampler_uses_the_features_of_its_model():
    model, lines = model_with(length_ratio={}, lexical_consistency={"min_length": 1}), sentences(6)
    assert list(model.global_features) == model.feature_names[-2:] == ["length_ratio", "lexical_consistency"]
    plain = replace(model, features={})
    weights = {"length_ratio": 3.0, "lexical_consistency": 2.0}
    (one,) = Sampler.of(translator_of(model, **weights), FEW).sample(lines, trace=True)
    features = [LengthRatio(), GLOBAL_FEATURES.get("lexical_consistency")(min_length=1)]
    (two,) = Sampler.of(translator_of(plain, **weights), FEW, global_features=features).sample(lines, trace=True)
    assert one.trace.tobytes() == two.trace.tobytes()
    assert one.scores.tobytes() == two.scores.tobytes()
    assert one.documents.values.tobytes() == two.documents.values.tobytes()
    assert one.documents.names == ("lexical_consistency",)
    assert "length_ratio" in one.features.names
    (other,) = Sampler.of(translator_of(plain), FEW).sample(lines, trace=True)
    assert other.trace.tobytes() != one.trace.tobytes()
    assert other.documents is None


def test_features_without_a_weight_change_nothing_and_have_values():
    model, lines = model_with(length_ratio={}, lexical_consistency={"min_length": 1}), sentences(9)
    (plain,) = Sampler.of(translator_of(replace(model, features={}), threads=2), FEW).sample(lines, trace=True)
    sampler = Sampler.of(translator_of(model), FEW)
    (samples,) = Sampler.of(translator_of(model, threads=2), FEW).sample(lines, trace=True)
    assert samples.trace.tobytes() == plain.trace.tobytes()
    assert samples.documents.values.min() < 0
    # Where no values are asked for, sentences need not wait for the rest of their document.
    assert [len(part) for part in sampler.sample(lines, features=False)] == [8, 1]
    assert [len(part) for part in sampler.sample(lines)] == [9]


def test_samples_of_documents_put_together():
    model, lines = model_with(lexical_consistency={"min_length": 1}), sentences(12)
    labels = ["a"] * 3 + ["b"] * 6 + ["c"] * 3
    sampler = Sampler.of(translator_of(model, lexical_consistency=1.0), FEW)
    parts = list(sampler.sample(lines, documents=labels, trace=True))
    assert [len(part) for part in parts] == [3, 6, 3]
    samples = Samples.concatenate(parts)
    assert samples.documents.bounds.tolist() == [0, 3, 9, 12]
    assert samples.documents.values.shape == (3, 2, 30, 1)
    pair = Sampler.of(translator_of(model, threads=2, lexical_consistency=1.0), FEW)
    (together,) = pair.sample(lines, documents=labels, trace=True)
    assert together.trace.tobytes() == samples.trace.tobytes()
    assert together.documents.values.tobytes() == samples.documents.values.tobytes()
    assert together.documents.bounds.tolist() == [0, 3, 9, 12]
    for d, c, i in np.ndindex(3, 2, 30):
        here = range(*samples.documents.bounds[d : d + 2].tolist())
        target = [samples.line(samples.sentences[s] + samples.trace[s, c, i]).split() for s in here]
        expected = lexical_consistency([lines[s].split() for s in here], target)
        assert samples.documents.values[d, c, i, 0] == pytest.approx(expected, abs=1e-9)
    plain = replace(parts[0], documents=None)
    assert Samples.concatenate([plain, parts[1]]).documents is None


@pytest.mark.filterwarnings("ignore:the time was over")
def test_time_over_leaves_gaps():
    model = model_with(lexical_consistency={"min_length": 1})
    sampler = Sampler.of(translator_of(model), Sampling(samples=100_000, max_seconds=0.01, chains=1, burn_in=0))
    (part,) = sampler.batches(sentences(3), trace=True)
    collected = part.collected[:, 0].tolist()
    assert len(set(collected)) == 1
    values = part.samples.documents.values[0, 0, :, 0]
    assert not np.isnan(values[: collected[0]]).any()
    assert np.isnan(values[collected[0] :]).all()


def test_annealed_translations_have_the_global_features_in_their_scores():
    model, lines = model_with(length_ratio={}, lexical_consistency={"min_length": 1}), sentences(7)
    translator = translator_of(model, length_ratio=4.0, lexical_consistency=0.0)
    (part,) = anneal(translator, lines, Annealing(scans=50))
    for translation in part.translations(features=True):
        expected = sum(translator.weights[name] * value for name, value in translation.features.items())
        assert translation.score == pytest.approx(expected, abs=1e-9)
    assert any("length_ratio" in translation.features for translation in part.translations(features=True))
    strict = translator_of(model, lexical_consistency=50.0)
    values = {}
    for name, one in (("plain", translator_of(model)), ("strict", strict)):
        texts = [t.text.split() for p in anneal(one, lines, Annealing(scans=50)) for t in p.translations()]
        values[name] = lexical_consistency([line.split() for line in lines], texts)
    assert values["strict"] > values["plain"]
    labels = [0, 0, 0, 1, 1, 1, 1]
    apart = [t.text for p in anneal(strict, lines, Annealing(scans=50), documents=labels) for t in p.translations()]
    (first,) = anneal(strict, lines[:3], Annealing(scans=50))
    assert apart[:3] == [translation.text for translation in first.translations()]


def test_documents_are_cut_into_batches_of_about_a_size():
    lines = list("abcdefgh")
    labels = [1, 1, 1, 2, 3, 3, 3, 3]
    parts = list(document_parts(lines, labels, 4, together=True))
    assert [("".join(part), bounds.tolist()) for part, bounds in parts] == [("abcd", [0, 3, 4]), ("efgh", [0, 4])]
    parts = list(document_parts(lines, labels, 2, together=True))
    assert ["".join(part) for part, _ in parts] == ["abc", "d", "efgh"]
    assert [len(part) for part, _ in document_parts(lines, None, 3, together=False)] == [3, 3, 2]
    assert list(document_parts([], None, 3, together=True)) == []
    with pytest.raises(DataError, match="there are 8 labels of documents for 7 lines"):
        list(document_parts(lines[1:], labels, 4, together=True))


def test_starts_count_as_the_best_where_nothing_is_better():
    document = Document(500)
    best = max(document.scores, key=document.scores.__getitem__)
    hot = Annealing(scans=1, start_temperature=9.0, end_temperature=9.0, jump_every=0)
    settings = ChainSettings.annealing(hot, seed=1, first_number=0)
    derivations, _ = best_of_chains(document.space(), settings, starts=Ragged.of(best, np.int32))
    assert document.scores[tuple(tuple(row.tolist()) for row in derivations)] == pytest.approx(document.scores[best])
