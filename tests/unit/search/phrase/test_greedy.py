"""Greedy search against enumeration: neighbours by definition, exact differences, climbs that end on a top."""

from __future__ import annotations

import os
import signal
import threading
import time

import numpy as np
import pytest

from dragoman.core.errors import UsageError
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.search.limits import HillClimbing, SearchLimits, SpaceLimits
from dragoman.search.phrase.batch import PhraseBatch
from dragoman.search.phrase.greedy import OPERATORS, gloss, greedy_search, hill_climb, neighbours, word_gloss
from dragoman.search.phrase.lattice import option_features
from dragoman.search.phrase.translator import PhraseTranslator
from oracles import neighbourhood, phrase_space
from oracles.phrase_case import Case

pytestmark = pytest.mark.slow

NONE = dict.fromkeys(OPERATORS, False)
BEAM = SearchLimits(pop_limit=2)


def climb(case, start=None, **options):
    starts = None if start is None else Ragged.of([start], np.int32)
    return hill_climb(case.batch, starts, HillClimbing(**options), reordering_limit=case.limit)


@pytest.mark.parametrize("seed", range(150))
@pytest.mark.parametrize("operator", OPERATORS)
def test_neighbours_are_those_of_the_definition_with_exact_differences(seed, operator):
    case = Case(seed)
    assert case.scores
    for chosen in case.rng.choice(len(case.derivations), 5):
        here = case.derivations[chosen]
        expected = {case.row(other) for other in case.derivations if neighbourhood.OPERATORS[operator](here, other)}
        row = case.row(here)
        found, differences = neighbours(
            case.batch,
            0,
            np.array(row, np.int32),
            HillClimbing(**(NONE | {operator: True})),
            reordering_limit=case.limit,
        )
        listed = [tuple(derivation.tolist()) for derivation in found]
        assert set(listed) == expected
        if operator in ("retranslate", "reorder", "move"):
            assert len(listed) == len(expected)
        for other, difference in zip(listed, differences.tolist(), strict=True):
            assert difference == pytest.approx(case.scores[other] - case.scores[row], abs=1e-9)


@pytest.mark.parametrize("seed", range(300))
def test_climbs_end_where_no_neighbour_is_better(seed):
    case = Case(1000 + seed)
    names = [name for name in OPERATORS if case.rng.random() < 0.7]
    start = case.row(case.derivations[case.rng.integers(len(case.derivations))]) if seed % 2 else None
    climbed = climb(case, start, **(NONE | dict.fromkeys(names, True)))
    (score,), (start_score,) = climbed.scores.tolist(), climbed.start_scores.tolist()
    top = tuple(climbed.derivations[0].tolist())
    first = tuple(gloss(case.batch)[0].tolist()) if start is None else start
    assert start_score == pytest.approx(case.scores[first], abs=1e-9)
    assert score == pytest.approx(case.scores[top], abs=1e-9)
    assert score > start_score if climbed.steps[0] else top == first
    (here,) = [derivation for derivation in case.derivations if case.row(derivation) == top]
    for name in names:
        for other in case.derivations:
            if neighbourhood.OPERATORS[name](here, other):
                assert case.scores[case.row(other)] <= score + 2e-9


@pytest.mark.parametrize("seed", range(100))
def test_every_step_is_the_steepest(seed):
    case = Case(2000 + seed, longest=20)
    everything = HillClimbing()
    steps = int(climb(case).steps[0])
    before = climb(case, max_steps=0)
    for step in range(1, steps + 1):
        after = climb(case, max_steps=step)
        assert after.steps[0] == step
        _, differences = neighbours(case.batch, 0, before.derivations[0], everything, reordering_limit=case.limit)
        assert after.scores[0] - before.scores[0] == pytest.approx(differences.max(), abs=1e-9)
        before = after
    assert climb(case, max_steps=steps + 1).steps[0] == steps


@pytest.mark.parametrize("seed", range(100))
def test_what_is_remembered_from_step_to_step_is_true(seed):
    rng = np.random.default_rng(6000 + seed)
    model = phrase_space.random_model(rng, tables=2, language_models=2, reordering=False)
    weights = type(model.weights)({**model.weights, "lm": 3.0, "lm2": 3.0})  # all depends on context
    limit = int(rng.integers(0, 3))
    space = SpaceLimits(reordering_limit=limit, table_limit=0)
    batch = PhraseTranslator(model, weights, space=space).batch([" ".join(rng.choice(phrase_space.SOURCE, 40))])
    start, at = [], 0
    while at < 40:
        start.append(int(rng.choice(np.flatnonzero(batch.options.begin == at))))
        at = int(batch.options.end[start[-1]])
    climbed = hill_climb(batch, Ragged.of([start], np.int32), HillClimbing(), reordering_limit=limit)
    _, differences = neighbours(batch, 0, climbed.derivations[0], HillClimbing(), reordering_limit=limit)
    assert differences.max() <= 2e-9


@pytest.mark.parametrize("seed", range(100))
def test_a_gloss_is_the_best_monotone_derivation_by_estimates(seed):
    case = Case(3000 + seed)
    estimates = case.batch.estimates
    choices = phrase_space.options(case.model, case.sentence, case.space.table_limit)
    monotone = phrase_space.derivations(choices, len(case.sentence.split()), 0)
    best = max(sum(estimates[list(case.row(derivation))]) for derivation in monotone)
    (found,) = gloss(case.batch)
    begin, end = case.batch.options.begin[found], case.batch.options.end[found]
    assert begin.tolist() == [0, *end[:-1].tolist()]
    assert sum(estimates[found]) == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("seed", range(30))
def test_a_word_gloss_is_the_best_option_of_each_word(seed):
    case = Case(3000 + seed)
    options, estimates = case.batch.options, case.batch.estimates
    by_word = [
        [row for row in range(len(options)) if (options.begin[row], options.end[row]) == (word, word + 1)]
        for word in range(len(case.sentence.split()))
    ]
    (found,) = word_gloss(case.batch)
    if all(by_word):
        assert found.tolist() == [max(rows, key=lambda row: estimates[row]) for rows in by_word]
    else:
        assert found.tolist() == gloss(case.batch)[0].tolist()


@pytest.mark.parametrize("seed", [3012, 3016])
def test_where_only_longer_phrases_cover_a_word_its_gloss_is_the_best_monotone_derivation(seed):
    case = Case(seed)
    options = case.batch.options
    longer = options.take(np.flatnonzero((options.begin != 0) | (options.end != 1)))
    batch = PhraseBatch(case.model, case.batch.weights, longer, case.batch._lm_ids)
    (found,) = word_gloss(batch)
    assert found.tolist() == gloss(batch)[0].tolist() != []


@pytest.mark.parametrize("seed", range(30))
def test_a_beam_only_gets_better(seed):
    case = Case(4000 + seed, longest=7)
    beam = case.batch.search(BEAM, case.limit)
    climbed = greedy_search(case.batch, HillClimbing(start="beam"), BEAM, reordering_limit=case.limit)
    assert climbed.start_scores[0] == pytest.approx(beam.scores[0], abs=1e-9)
    assert climbed.scores[0] >= climbed.start_scores[0]
    if climbed.steps[0] == 0:
        assert climbed.derivations[0].tolist() == beam.derivations[0].tolist()


def test_what_is_too_large_for_the_beam_starts_as_a_gloss():
    case = Case(1, longest=7)
    tiny = SearchLimits(max_size=1)
    assert case.batch.search(tiny, case.limit).outcomes[0] == 2
    climbed = greedy_search(case.batch, HillClimbing(start="beam"), tiny, reordering_limit=case.limit)
    assert climbed.outcomes[0] == 0
    assert climbed.scores[0] == climb(case).scores[0]


@pytest.mark.parametrize("seed", range(5))
def test_threads_and_neighbours_in_the_batch_change_nothing(seed):
    rng = np.random.default_rng(seed)
    model = phrase_space.random_model(rng, language_models=2)
    translator = PhraseTranslator(model, space=SpaceLimits(reordering_limit=3, table_limit=0))
    lines = [phrase_space.random_sentence(rng, 12) for _ in range(30)]
    lines[7] = ""
    batch = translator.batch(lines)
    results = [
        hill_climb(batch, None, HillClimbing(), reordering_limit=3, runtime=Runtime(threads=n)) for n in (1, 2, 3)
    ]
    for other in results[1:]:
        for name in ("outcomes", "scores", "start_scores", "steps", "expansions"):
            assert getattr(other, name).tobytes() == getattr(results[0], name).tobytes()
        assert other.derivations.values.tobytes() == results[0].derivations.values.tobytes()
    for i, line in enumerate(lines):
        alone = hill_climb(translator.batch([line]), None, HillClimbing(), reordering_limit=3)
        assert alone.scores[0] == pytest.approx(results[0].scores[i], abs=1e-9)


def test_empty_sentences_and_single_words():
    model = phrase_space.random_model(np.random.default_rng(3), language_models=1)
    translator = PhraseTranslator(model)
    batch = translator.batch(["", "f4", "f0"])
    climbed = hill_climb(batch, None, HillClimbing(), reordering_limit=6)
    beam = batch.search(SearchLimits(algorithm="exhaustive"), 6)
    assert climbed.derivations.lengths.tolist() == [0, 1, 1]
    assert climbed.scores == pytest.approx(beam.scores, abs=1e-9)
    assert len(hill_climb(translator.batch([]), None, HillClimbing(), reordering_limit=6).scores) == 0


def test_dropped_words_leave_the_language_model_where_it_was():
    model = phrase_space.random_model(np.random.default_rng(4), language_models=2)
    batch = PhraseTranslator(model, space=SpaceLimits(unknown_words="drop")).batch(["f4 f4 f0 f4"])
    climbed = hill_climb(batch, None, HillClimbing(), reordering_limit=6)
    rows = option_features(batch, climbed.derivations, np.zeros(1, np.int64))
    assert climbed.scores[0] == pytest.approx(float(rows.dot(model.weights)[0]), abs=1e-9)


def test_starts_that_are_no_derivations_are_refused():
    model = phrase_space.random_model(np.random.default_rng(5), language_models=1)
    batch = PhraseTranslator(model, space=SpaceLimits(table_limit=1)).batch(["f4 f4 f4"])
    assert len(batch.options) == 3
    for row, limit, wrong in [
        ([0, 1, 3], 0, "no such option"),
        ([0, -1, 2], 0, "no such option"),
        ([0, 1, 1], 1, "translated twice"),
        ([0, 1], 0, "not translated"),
        ([2, 0, 1], 1, "reordering limit"),
        ([0, 2, 1], 1, "reordering limit"),
    ]:
        with pytest.raises(ValueError, match=f"no derivation: .*{wrong}"):
            hill_climb(batch, Ragged.of([row], np.int32), HillClimbing(), reordering_limit=limit)
    with pytest.raises(ValueError, match="2 derivations to start from for 1 sentences"):
        hill_climb(batch, Ragged.of([[], []], np.int32), HillClimbing(), reordering_limit=0)
    with pytest.raises(UsageError, match="max_steps is -1"):
        HillClimbing(max_steps=-1)


def test_a_sentence_without_a_gloss_is_reported():
    model = phrase_space.random_model(np.random.default_rng(6), language_models=1)
    options = PhraseTranslator(model).batch(["f4 f4", "f4"]).options
    lm_ids = [lm.ids_of(model.target_vocab) for lm in model.language_models.values()]
    batch = PhraseBatch(model, model.weights, options.take(np.array([0, 2])), lm_ids)
    climbed = hill_climb(batch, None, HillClimbing(), reordering_limit=6)
    assert climbed.outcomes.tolist() == [1, 0]
    assert climbed.derivations.lengths.tolist() == [0, 1]


def test_weights_without_bounds_do_not_lead_in_circles():
    for size in (1e12, 1e300):
        for seed in range(20):
            case = Case(5000 + seed, longest=6)
            wild = type(case.model.weights)({name: value * size for name, value in case.translator.weights.items()})
            batch = PhraseTranslator(case.model, wild, space=case.space).batch([case.sentence])
            climbed = hill_climb(batch, None, HillClimbing(), reordering_limit=case.limit)
            assert not climbed.scores[0] < climbed.start_scores[0]


def test_a_long_climb_can_be_interrupted():
    rng = np.random.default_rng(8)
    model = phrase_space.random_model(rng, language_models=2)
    batch = PhraseTranslator(model).batch([" ".join(rng.choice(phrase_space.SOURCE[:-1], 4000))])
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    begin = time.process_time()
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        hill_climb(batch, None, HillClimbing(), reordering_limit=-1)
    assert time.process_time() - begin < 2.5
