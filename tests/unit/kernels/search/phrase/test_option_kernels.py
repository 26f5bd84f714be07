"""Options of sentences: found, ranked and described by kernels as by plain loops over the tables."""

from dataclasses import dataclass

import numpy as np
import pytest

from dragoman import kernels
from dragoman.core.feature_rows import FeatureRows, Weights
from dragoman.core.runtime import Runtime
from dragoman.features import PairFeature
from dragoman.search.limits import SpaceLimits
from dragoman.search.phrase.translator import PhraseTranslator
from oracles import phrase_space


@dataclass(frozen=True)
class Nothing(PairFeature):
    """Says nothing of any pair; but what Python says is known only once all options are there."""

    name = prefix = "nothing"

    def __call__(self, pairs):
        return FeatureRows((), np.zeros(len(pairs.words) + 1, np.int64), np.empty(0, np.int32), np.empty(0))


def case(seed):
    rng = np.random.default_rng(seed)
    model = phrase_space.random_model(
        rng, tables=int(rng.integers(1, 3)), language_models=int(rng.integers(0, 3)), reordering=bool(rng.integers(2))
    )
    return rng, model, [phrase_space.random_sentence(rng, 7) for _ in range(5)]


def columns(options):
    return [
        (
            *(int(one) for one in (options.sentence[i], options.begin[i], options.end[i])),
            tuple(options.vocab.text(options.words[i]).split()),
            tuple(None if row < 0 else row for row in options.rows[i].tolist()),
        )
        for i in range(len(options))
    ]


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("limit", [0, 1, 2])
def test_options_are_those_of_plain_loops(seed, limit):
    _, model, lines = case(seed)
    found = PhraseTranslator(model, space=SpaceLimits(table_limit=limit)).batch(lines).options
    expected = [
        (s, one.begin, one.end, one.words, one.rows)
        for s, line in enumerate(lines)
        for one in phrase_space.options(model, line, limit)
    ]
    assert sorted(columns(found), key=str) == sorted(expected, key=str)
    spans = [one[:3] for one in columns(found)]
    assert spans == sorted(spans)
    for i, (_, _, _, words, rows) in enumerate(columns(found)):
        features = dict(zip(model.dense_features, found.dense[i].tolist(), strict=True))
        expected = {"word_penalty": -len(words), "phrase_penalty": 1}
        if all(row is None for row in rows):
            expected["unknown_word"] = -100
        for r, name in enumerate(model.reorderings):
            several = [
                table.log_reordering[name][row]
                for row, table in zip(rows, found.tables, strict=True)
                if row is not None
            ]
            assert found.reordering[r, i].tolist() == (several[-1].tolist() if several else [0.0] * 6)
        for row, (name, table) in zip(rows, model.tables.items(), strict=True):
            if row is not None:
                names = [f"{name}.{score}" for score in table.score_names]
                expected |= zip(names, table.log_scores[row].tolist(), strict=True)
        assert features == dict.fromkeys(model.dense_features, 0.0) | expected


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("threads", [1, 3])
def test_the_best_options_of_a_span_are_kept_whoever_ranks_them(seed, threads):
    _, model, lines = case(seed)
    every = PhraseTranslator(model, space=SpaceLimits(table_limit=0)).batch(lines)
    groups = {}
    for i, one in enumerate(columns(every.options)):
        groups.setdefault(one[:3], []).append(i)
    expected = [
        columns(every.options)[i]
        for several in groups.values()
        for i in sorted(sorted(several, key=lambda i: -every.estimates[i])[:2])
    ]
    space = SpaceLimits(table_limit=2, table_limit_by="score")
    ranked = PhraseTranslator(model, space=space, runtime=Runtime(threads=threads))
    late = PhraseTranslator(model, space=space, features=[Nothing()])
    for translator in (ranked, ranked, late):  # what was ranked is remembered
        batch = translator.batch(lines)
        assert columns(batch.options) == expected
    assert np.array_equal(ranked.batch(lines).estimates, late.batch(lines).estimates)
    other = ranked.reweighted(Weights({**model.weights, "word_penalty": -30.0}))
    anew = PhraseTranslator(model, other.weights, space=space)
    assert columns(other.batch(lines).options) == columns(anew.batch(lines).options)


@pytest.mark.parametrize("limit", [1, 3])
def test_best_of_spans(limit):
    rng = np.random.default_rng(limit)
    estimates = rng.choice([-1.0, 0.0, 2.0, -np.inf, np.nan], 200)
    begin, end = (np.sort(rng.integers(0, 20, 200)).astype(np.int32) for _ in range(2))
    offsets = np.array([0, 90, 90, 200])
    sentence = np.repeat([0, 2], [90, 110])
    expected = []
    for span in sorted(set(zip(sentence.tolist(), begin.tolist(), end.tolist(), strict=True))):
        there = np.flatnonzero((sentence == span[0]) & (begin == span[1]) & (end == span[2]))
        order = np.argsort(-estimates[there], kind="stable")
        expected += sorted(there[order[:limit]].tolist())
    assert kernels.best_of_spans(offsets, begin, end, estimates, limit).tolist() == expected


def test_options_of_one_class_score_alike_as_predecessors():
    rng = np.random.default_rng(5)
    count = 60
    begin, end, right = (rng.integers(0, 2, count).astype(np.int32) for _ in range(3))
    offsets = np.array([0, 25, count])
    sentence = np.repeat([0, 1], [25, 35])
    for models in (0, 1, 2):
        scores = rng.integers(0, 2, (models, count, 6)).astype(float)
        weights = rng.normal(size=(models, 6))
        before, after, classes = kernels.option_orientations(offsets, begin, end, right, scores.reshape(-1, 6), weights)
        assert np.allclose(before, np.einsum("rij,rj->ij", scores[:, :, :3], weights[:, :3]))
        assert np.allclose(after, np.einsum("rij,rj->ij", scores[:, :, 3:], weights[:, 3:]))
        keys = [(sentence[i], end[i], right[i], models and begin[i], scores[:, i, 3:].tobytes()) for i in range(count)]
        for i in range(count):
            for j in range(count):
                assert (classes[i] == classes[j]) == (keys[i] == keys[j])
