"""Chains over phrase-based derivations: passes, jumps into lattices and anywhere, starts, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dragoman.core.errors import DataError, UsageError
from dragoman.core.feature_rows import Weights
from dragoman.core.ragged import Ragged
from dragoman.sampling.phrase.space import PhraseSpace
from dragoman.sampling.schedule import Schedule, cooling
from dragoman.search.limits import SpaceLimits
from dragoman.search.phrase.batch import PhraseBatch
from dragoman.search.phrase.translator import PhraseTranslator
from oracles import phrase_space
from oracles.chains import NARROW, NO_BURN_IN, chain_space, run, run_case
from oracles.phrase_case import Case

NO_JUMPS = Schedule(jump_every=0)
NO_OPERATORS = {"merge_split": 0.0, "reorder": 0.0, "retranslate": 0.0}


def random_space(seed, sentences=12, limit=3):
    rng = np.random.default_rng(seed)
    model = phrase_space.random_model(rng, tables=2, language_models=2)
    translator = PhraseTranslator(model, space=SpaceLimits(reordering_limit=limit, table_limit=0))
    return chain_space(translator, ["", *(phrase_space.random_sentence(rng, 9) for _ in range(sentences - 1))])


def sampled(space, schedule=NO_JUMPS, **settings):
    given = {"seed": 4, "samples": 30, "chains": 2, "burn_in": cooling(3.0, 1.0, 5)}
    return run(space, schedule, **(given | settings))


def test_samples_for_each_pass_are_counted():
    visited = sampled(random_space(5), per_pass=True, thin=2, trace=True)
    assert (visited.collected == 30).all()
    for s, (first, last) in enumerate(zip(visited.sentences[:-1], visited.sentences[1:], strict=True)):
        for chain in range(2):
            counts = np.bincount(visited.trace[s, chain], minlength=last - first)
            assert counts.tolist() == visited.counts[first:last, chain].tolist()


def test_a_pass_is_a_third_of_a_scan():
    space = random_space(6)
    scans, passes = (sampled(space, samples=30, burn_in=NO_BURN_IN, per_pass=flag).tried for flag in (False, True))
    assert (passes[:, :, 0] * 3 == scans[:, :, 0]).all()


@pytest.mark.parametrize("seed", range(8))
def test_jumps_alone_stay_in_the_lattice_and_never_lead_into_it_from_outside(seed):
    case = next(c for c in map(Case, range(100 * seed, 100 * seed + 100)) if len(c.scores) > 30)
    only = Schedule(**NO_OPERATORS, jump_every=1, forward_share=0.0)
    inside = case.batch.search(NARROW, case.limit, lattice=True).derivations
    visited = run_case(case, only, starts=inside)
    reached = {tuple(row.tolist()) for row in visited.derivations}
    outside = next(row for row in case.scores if row not in reached)
    stuck = run_case(case, only, starts=Ragged.of([outside], np.int32))
    assert [tuple(row.tolist()) for row in stuck.derivations] == [outside]
    assert [stuck.tried[0, 0, -1], stuck.accepted[0, 0, -1]] == [1000, 0]


@pytest.mark.parametrize("seed", range(5))
def test_jumps_that_lead_anywhere_reach_everything(seed):
    case = Case(600 + seed, longest=3)
    only = Schedule(**NO_OPERATORS, jump_every=1, forward_share=0.5)
    visited = run_case(case, only, samples=30_000, temperature=30.0)
    assert {tuple(row.tolist()) for row in visited.derivations} == set(case.scores)


def test_random_starts_are_derivations_of_all_kinds():
    case = next(c for c in map(Case, range(50)) if 20 < len(c.scores) < 100)
    space = chain_space(case.translator, [case.sentence] * 3000)
    # Nothing but the start.
    visited = run(space, replace(NO_JUMPS, max_seconds=0.0), samples=1, burn_in=np.ones(1))
    assert {tuple(row.tolist()) for row in visited.best} <= set(case.scores)
    assert len({tuple(row.tolist()) for row in visited.best}) > 15


def test_monotone_spaces_and_single_words():
    space = random_space(9, limit=0)
    visited = sampled(space, Schedule(jump_every=2))
    options = space.batch.options
    begin = [options.begin[options.offsets[s] + visited.best[2 * s]] for s in range(12)]
    assert all((np.diff(row) > 0).all() for row in begin)
    assert visited.derivations.lengths[0] == 0  # the empty sentence
    assert visited.counts[0].tolist() == [30, 30]


@pytest.mark.parametrize("size", [1e3, 1e12, 1e90])
def test_steep_distributions_are_safe(size):
    rng = np.random.default_rng(10)
    model = phrase_space.random_model(rng, language_models=1)
    weights = Weights({name: value * size for name, value in model.weights.items()})
    translator = PhraseTranslator(model, weights, space=SpaceLimits(reordering_limit=6))
    space = chain_space(translator, ["f0 f1 f2 f3 f0 f1", "f4 f4"], jumps=True)
    assert np.isfinite(sampled(space, Schedule(jump_every=1)).scores).all()


def test_what_is_refused():
    space = random_space(11)
    with pytest.raises(UsageError, match="and no operator; expected merge-split, reorder, retranslate"):
        sampled(space, Schedule(**NO_OPERATORS), per_pass=True)
    large = space.batch.reweighted(space.batch.weights.updated({"phrase_penalty": 1e200}))
    with pytest.raises(DataError, match=r"sentence 2: the option .* scores"):
        sampled(replace(space, batch=large))
    with pytest.raises(ValueError, match="no derivation"):
        sampled(random_space(11, sentences=2), starts=Ragged.of([[], [0, 0]], np.int32))


def test_a_sentence_without_an_option_for_a_word_is_named():
    model = phrase_space.random_model(np.random.default_rng(6), language_models=1)
    options = PhraseTranslator(model).batch(["f4 f4", "f4"]).options
    lm_ids = [lm.ids_of(model.target_vocab) for lm in model.language_models.values()]
    batch = PhraseBatch(model, model.weights, options.take(np.array([0, 2])), lm_ids)
    with pytest.raises(DataError, match=r"sentence 1 \('f4 f4'\) has no derivation"):
        sampled(PhraseSpace(batch=batch, reordering_limit=3))
