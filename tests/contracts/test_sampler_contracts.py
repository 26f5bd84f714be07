"""Promises of chains, samplers and annealing for every kind of model."""

from __future__ import annotations

import os
import signal
import threading
import time
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from dragoman.core.errors import DataError, UsageError
from dragoman.core.feature_rows import Weights
from dragoman.core.progress import DragomanWarning
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.core.samples import Samples
from dragoman.sampling.annealing import anneal, best_of_chains
from dragoman.sampling.chains import ChainSettings
from dragoman.sampling.sampler import Sampler
from dragoman.sampling.schedule import Annealing, Sampling, Schedule, cooling
from dragoman.sampling.space import space_for
from dragoman.search.limits import SearchLimits, SpaceLimits
from dragoman.search.translator import Translator
from oracles import chart_chains, chart_space, phrase_case, phrase_space
from oracles.chains import NO_BURN_IN, chain_space, run, run_case

FEW = Sampling(samples=20, burn_in=3)
WITH_JUMPS = Schedule(jump_every=3)


@dataclass(frozen=True)
class Kind:
    """A kind of model: how to make random models, translators and cases of it."""

    name: str
    oracle: ModuleType
    several: dict[str, Any]
    space: SpaceLimits
    foreign: dict[str, float]
    moves: str

    def translator(self, seed, *, several=True, **settings):
        """A translator, with two tables or grammars if there are to be several, and two language models."""
        rng = np.random.default_rng(seed)
        model = self.oracle.random_model(rng, language_models=2, **(self.several if several else {}))
        weights = model.weights.updated({"unknown_word": 0.01})
        return Translator.of(model, weights, space=self.space, **settings)

    def lines(self, seed, count=12, longest=9):
        """An empty sentence and random ones."""
        rng = np.random.default_rng(seed)
        return ["", *(self.oracle.random_sentence(rng, longest) for _ in range(count - 1))]

    def case(self, seed):
        """A tiny model with a sentence and all its derivations."""
        return phrase_case.Case(seed) if self.name == "phrase" else chart_chains.Case(seed, glue=True, most=200)


KINDS = [
    Kind(
        "phrase",
        phrase_space,
        {"tables": 2},
        SpaceLimits(reordering_limit=3, table_limit=0),
        {"subtree": 0.5},
        "merge-split, reorder, retranslate",
    ),
    Kind("chart", chart_space, {"grammars": 2}, SpaceLimits(), {"merge_split": 0.5}, "subtree, rule, glue"),
]


@pytest.fixture(params=KINDS, ids=lambda kind: kind.name)
def kind(request):
    return request.param


def sampled(space, schedule=WITH_JUMPS, **settings):
    given = {"seed": 4, "samples": 30, "chains": 2, "burn_in": cooling(3.0, 1.0, 5)}
    return run(space, schedule, **(given | settings))


def random_space(kind, seed, **settings):
    return chain_space(kind.translator(seed), kind.lines(seed), jumps=True, **settings)


@pytest.mark.parametrize("scan", ["systematic", "random"])
def test_threads_change_nothing(kind, scan):
    space = random_space(kind, 1)
    schedule = Schedule(scan=scan, jump_every=3)
    first = sampled(space, schedule, trace=True)
    for threads in (2, 3):
        other = sampled(space, schedule, trace=True, runtime=Runtime(threads=threads))
        for name in ("sentences", "scores", "counts", "best_scores", "tried", "accepted", "trace"):
            assert getattr(first, name).tobytes() == getattr(other, name).tobytes(), name
        assert first.derivations.values.tobytes() == other.derivations.values.tobytes()
    assert sampled(space, schedule, seed=5).scores.tobytes() != first.scores.tobytes()


def test_the_first_samples_are_those_of_a_longer_run_and_of_more_chains(kind):
    space = random_space(kind, 2)
    short, long = (sampled(space, samples=n, chains=c, trace=True) for n, c in ((10, 2), (40, 3)))
    for s in range(len(short.sentences) - 1):
        a = [short.derivations[int(short.sentences[s]) + row].tolist() for row in short.trace[s, 1]]
        b = [long.derivations[int(long.sentences[s]) + row].tolist() for row in long.trace[s, 1, :10]]
        assert a == b


def test_a_sentence_has_the_same_samples_in_any_batch(kind):
    translator, lines = kind.translator(3), kind.lines(3)
    together = sampled(chain_space(translator, lines), trace=True)
    alone = sampled(chain_space(translator, lines[7:]), first_number=7, trace=True)
    assert alone.trace.tobytes() == together.trace[7:].tobytes()
    first = together.derivations.offsets[together.sentences[7]]
    assert alone.derivations.values.tobytes() == together.derivations.values[first:].tobytes()


def test_scores_are_those_of_features_and_the_best_is_the_best(kind):
    space = random_space(kind, 4)
    visited = sampled(space, samples=50, burn_in=NO_BURN_IN)
    sentences = np.repeat(np.arange(12), np.diff(visited.sentences))
    rows = space.spell(sentences, visited.derivations).features()
    assert visited.scores == pytest.approx(rows.dot(space.batch.weights), abs=1e-9)
    highest = np.maximum.reduceat(visited.scores, visited.sentences[:-1])
    assert (visited.best_scores.max(axis=1) >= highest - 1e-12).all()
    best = space.spell(np.repeat(np.arange(12), 2), visited.best).features().dot(space.batch.weights)
    assert visited.best_scores.ravel() == pytest.approx(best, abs=1e-9)
    assert visited.document_scores.tobytes() == visited.best_scores.tobytes()  # each sentence is a document


def test_counts_and_traces_agree(kind):
    visited = sampled(random_space(kind, 5), thin=2, trace=True)
    assert (visited.collected == 30).all()
    for s, (first, last) in enumerate(zip(visited.sentences[:-1], visited.sentences[1:], strict=True)):
        for chain in range(2):
            counts = np.bincount(visited.trace[s, chain], minlength=last - first)
            assert counts.tolist() == visited.counts[first:last, chain].tolist()


def test_moves_are_counted_by_name(kind):
    space = random_space(kind, 10)
    visited = sampled(space)
    assert visited.tried.shape == visited.accepted.shape == (12, 2, len(space.moves))
    assert (visited.accepted <= visited.tried).all()
    assert (visited.tried[:, :, -1] == 11).all()  # a jump after every third of 5 + 30 scans
    assert space.moves[-1] == "jump"


def test_time_is_over_with_what_there_is(kind):
    begin = time.process_time()
    visited = sampled(random_space(kind, 7), Schedule(max_seconds=0.05), samples=10**9, chains=1)
    assert time.process_time() - begin < 12 * 0.05 + 2
    assert (visited.collected >= 1).all()
    assert (visited.collected < 10**9).all()
    assert (np.diff(visited.sentences) >= 1).all()


def test_a_long_run_can_be_interrupted(kind):
    words = kind.oracle.random_sentence(np.random.default_rng(8), 9)
    space = chain_space(kind.translator(8), [" ".join([words] * 300)])
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    begin = time.process_time()
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        sampled(space, Schedule(jump_every=0), samples=10**9, burn_in=NO_BURN_IN)
    assert time.process_time() - begin < 4


def test_what_chains_refuse(kind):
    space = random_space(kind, 9)
    off = dict.fromkeys(space.moves[:-1], 0.0)
    with pytest.raises(UsageError, match=f"no moves and no jumps; expected {kind.moves} or jumps"):
        sampled(space, Schedule(**off, jump_every=0))
    ((name, value),) = kind.foreign.items()
    model, option = space.model_kind, name.replace("_", "-")
    with pytest.raises(UsageError, match=rf"{option} is {value}, which chains of a {model} model do not know"):
        sampled(space, Schedule(**kind.foreign))
    for temperature in (0.0, float("nan")):
        with pytest.raises(UsageError, match=f"the temperature is {temperature}"):
            sampled(space, temperature=temperature)
        with pytest.raises(UsageError, match=f"the temperature is {temperature}"):
            sampled(space, burn_in=np.array([temperature]))
    with pytest.raises(UsageError, match="the seed is -1"):
        sampled(space, seed=-1)
    with pytest.raises(ValueError, match="1 derivations to start from for 12 sentences"):
        sampled(space, starts=Ragged.of([[0]], np.int32))
    unweighted = space.batch.reweighted(space.batch.weights.updated({"lm": float("nan")}))
    with pytest.raises(UsageError, match="weight of lm is nan"):
        sampled(replace(space, batch=unweighted))
    large = space.batch.reweighted(space.batch.weights.updated({"word_penalty": 1e300}))
    for changed in ({"batch": large}, {"proposal": large}):
        with pytest.raises(DataError, match=r"sentence \d: .* word_penalty"):
            sampled(replace(space, **changed))


@pytest.mark.parametrize("initial", ["gloss", "monotone", "random", "beam"])
def test_samples_fit_together(kind, initial):
    translator, lines = kind.translator(1, several=False), kind.lines(1, 20, 7)
    sampler = Sampler.of(translator, Sampling(samples=20, burn_in=3, initial=initial))
    samples = Samples.concatenate(list(sampler.sample(lines)))
    assert len(samples) == 20
    assert samples.chains == 2
    assert samples.counts.sum() == 20 * 2 * 20
    assert samples.scores == pytest.approx(samples.features.dot(translator.weights), abs=1e-9)
    sentence = np.repeat(np.arange(20), np.diff(samples.sentences))
    for row, ranges in enumerate(samples.segmentations):
        source = [word for begin, end, *_ in ranges.tolist() for word in range(begin, end)]
        target = [word for *_, begin, end in ranges.tolist() for word in range(begin, end)]
        # Glue joins parts in the order of the source.
        assert (sorted(source) if kind.name == "phrase" else source) == list(range(len(lines[sentence[row]].split())))
        assert target == list(range(len(samples.hypotheses[row])))


def test_starts_that_the_search_gave_up_are_glosses(kind):
    translator, lines = kind.translator(1, limits=SearchLimits(max_size=1)), kind.lines(1, 8, 7)
    samples = next(Sampler.of(translator, FEW).sample(lines))
    assert samples.counts.sum() == len(samples) * 2 * 20


def test_batches_do_not_matter(kind):
    translator, lines = kind.translator(2), kind.lines(2, 20, 7)
    sampler = Sampler.of(translator, FEW)
    more = Sampler.of(translator.reweighted(translator.weights, runtime=Runtime(threads=2)), FEW)
    one, two = (Samples.concatenate(list(chains.sample(lines, seed=9))) for chains in (sampler, more))
    assert one.scores.tobytes() == two.scores.tobytes()
    assert one.counts.tobytes() == two.counts.tobytes()
    other = Samples.concatenate(list(sampler.sample(lines, seed=10)))
    assert other.scores.tobytes() != one.scores.tobytes()


def test_features_can_be_left_out(kind):
    translator, lines = kind.translator(3), kind.lines(3, 20, 7)
    with_features, without = (next(Sampler.of(translator, FEW).sample(lines, features=flag)) for flag in (True, False))
    assert with_features.scores.tobytes() == without.scores.tobytes()
    assert without.features.names == ()
    assert len(without.features) == len(without.scores)


def test_a_proposal_gives_other_samples_of_the_same_scores(kind):
    translator, lines = kind.translator(4), kind.lines(4, 20, 7)
    proposal = translator.weights.updated({"lm2": 0.0, "tm.fwd": 1.0})
    samples = next(Sampler.of(translator, FEW, proposal_weights=proposal).sample(lines))
    assert samples.scores == pytest.approx(samples.features.dot(translator.weights), abs=1e-9)
    assert samples.scores.tobytes() != next(Sampler.of(translator, FEW).sample(lines)).scores.tobytes()


@pytest.mark.slow
def test_a_sampler_warns_of_chains_that_ran_out_of_time(kind):
    translator, lines = kind.translator(5), kind.lines(5, 4, 7)
    sampler = Sampler.of(translator, Sampling(samples=10**8, burn_in=0, max_seconds=0.001, chains=1))
    with pytest.warns(DragomanWarning, match="the time was over for"):
        samples = next(sampler.sample(lines))
    assert (np.diff(samples.sentences) > 0).all()


def test_nothing_to_sample(kind):
    translator = kind.translator(6)
    assert list(Sampler.of(translator, FEW).sample([])) == []
    (samples,) = Sampler.of(translator, FEW).sample([""])
    assert samples.counts.tolist() == [[20, 20]]
    assert samples.line(0) == ""


def test_what_samplers_refuse(kind):
    translator, lines = kind.translator(7), kind.lines(7)
    with pytest.raises(UsageError, match="samples is 0; expected at least 1"):
        Sampling(samples=0)
    with pytest.raises(UsageError, match="temperature is 0"):
        Sampling(temperature=0.0)
    with pytest.raises(UsageError, match="weight of lm is nan"):
        Sampler.of(Translator.of(translator.model, Weights({"lm": float("nan")})))
    with pytest.raises(UsageError, match="weight of lm is inf"):
        Sampler.of(translator, proposal_weights=Weights({"lm": float("inf")}))
    infinite = Translator.of(translator.model, translator.weights.updated({"word_penalty": 1e300}))
    with pytest.raises(DataError, match=r"word_penalty.*expected features and weights whose sum is finite"):
        list(Sampler.of(infinite, FEW).sample(lines))


@pytest.mark.parametrize("seed", range(25))
def test_annealing_finds_the_best_derivation_and_its_features(kind, seed):
    case = kind.case(1000 + seed)
    narrow = case.translator.reweighted(case.translator.weights)
    narrow.limits = SearchLimits(pop_limit=1)
    (part,) = anneal(narrow, [case.sentence], Annealing(scans=300, chains=2))
    (found,) = part.translations(features=True)
    assert found.score == pytest.approx(max(case.scores.values()), abs=1e-9)
    weights = case.translator.weights
    assert sum(weights[name] * value for name, value in found.features.items()) == pytest.approx(found.score, abs=1e-9)
    if kind.name == "chart":
        assert found.text in case.space.texts


@pytest.mark.parametrize("seed", range(25))
def test_annealing_finds_the_best_derivation_from_the_worst(kind, seed):
    case = kind.case(700 + seed)
    worst = Ragged.of([min(case.scores, key=case.scores.__getitem__)], np.int32)
    cold = Annealing(scans=300)
    visited = run_case(case, cold, samples=0, burn_in=cold.temperatures, starts=worst)
    assert visited.best_scores[0, 0] == pytest.approx(max(case.scores.values()), abs=1e-9)
    assert case.scores[tuple(visited.best[0].tolist())] == pytest.approx(visited.best_scores[0, 0], abs=1e-9)


def test_the_best_of_several_chains_counts(kind):
    case = kind.case(1003)
    space = space_for(case.translator.model.kind).of(case.translator, [case.sentence] * 3)
    settings = ChainSettings.annealing(Annealing(chains=4, scans=20), seed=1, first_number=0)
    found, scores = best_of_chains(space, settings)
    assert len(found) == len(scores) == 3
    assert np.allclose(scores, [case.scores[tuple(row.tolist())] for row in found])


def test_threads_and_batches_do_not_matter_to_annealing(kind):
    lines = kind.lines(1, 41, 7)
    found = []
    for threads in (1, 2):
        translator = kind.translator(1, limits=SearchLimits(pop_limit=1), runtime=Runtime(threads=threads))
        parts = anneal(translator, lines, Annealing(scans=10), seed=3)
        found.append([(t.source, t.text, t.score, t.phrases) for part in parts for t in part.translations()])
    assert found[0] == found[1]
    assert [row[0] for row in found[0]] == lines
