"""Chains over hierarchical derivations: moves and scans, starts, global features, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from dragoman.core.errors import DataError, UsageError
from dragoman.core.feature_rows import Weights
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.core.samples import Samples
from dragoman.features import FEATURES
from dragoman.features.lexical_consistency import LexicalConsistency
from dragoman.sampling.annealing import anneal
from dragoman.sampling.chart.forest import ChartText
from dragoman.sampling.diagnostics.diagnosis import Diagnosis, diagnose
from dragoman.sampling.global_features import GlobalFunctions
from dragoman.sampling.sampler import Sampler
from dragoman.sampling.schedule import Sampling, Schedule, cooling
from dragoman.search.chart.translator import ChartTranslator
from dragoman.tuning.methods.samplerank.rank_chains import RankChains, RankSteps, TrainingSentences
from oracles import chart_space
from oracles.chains import NO_BURN_IN, chain_space, run, run_case
from oracles.chart_chains import Case, only

FEW = Sampling(samples=20, burn_in=3)


def translator_and_lines(seed, lines=20, longest=7, **settings):
    rng = np.random.default_rng(seed)
    model = chart_space.random_model(rng, **({"language_models": 2} | settings))
    weights = model.weights.updated({"unknown_word": 0.01})
    return ChartTranslator(model, weights), ["", *(chart_space.random_sentence(rng, longest) for _ in range(lines - 1))]


def sampled(space, schedule=Schedule(jump_every=3), **settings):
    given = {"seed": 4, "samples": 30, "chains": 2, "burn_in": cooling(3.0, 1.0, 5)}
    return run(space, schedule, **(given | settings))


@pytest.mark.parametrize("language_models", [0, 1, 2])
def test_scores_after_many_changes_are_those_of_features(language_models):
    space = chain_space(*translator_and_lines(4, 12, 9, language_models=language_models, rules=30))
    visited = sampled(space, samples=200, temperature=3.0, burn_in=NO_BURN_IN)
    assert (visited.accepted.sum(axis=(0, 1)) > 100).all()
    sentences = np.repeat(np.arange(12), np.diff(visited.sentences))
    rows = space.spell(sentences, visited.derivations).features()
    assert visited.scores == pytest.approx(rows.dot(space.batch.weights), abs=1e-9)


def test_a_scan_has_a_move_of_each_kind_for_each_word():
    translator, lines = translator_and_lines(6, 12, 9, grammars=2)
    lengths = np.array([len(line.split()) for line in lines])
    space = chain_space(translator, lines)
    systematic = sampled(space, samples=10, burn_in=NO_BURN_IN, chains=1)
    assert (systematic.tried[:, 0, :3] == 10 * lengths[:, None]).all()
    assert (systematic.tried[:, 0, 3] == 3).all()
    anyhow = sampled(space, Schedule(scan="random", rule=3.0, glue=0.0), samples=100, burn_in=NO_BURN_IN, chains=1)
    assert (anyhow.tried[:, 0, :3].sum(axis=1) == 200 * lengths).all()
    assert (anyhow.tried[:, 0, 2] == 0).all()
    assert anyhow.tried[:, 0, 1].sum() / anyhow.tried[:, 0, 0].sum() == pytest.approx(3, rel=0.1)


@pytest.mark.parametrize("schedule", [only("glue"), only("jump")])
def test_glue_alone_and_jumps_alone_reach_everything(schedule):
    reached = 0
    for seed in range(20):
        case = Case(600 + seed, longest=3, most=30, glue=True)
        if len(case.scores) < 3:
            continue
        visited = run_case(case, schedule, seed=seed, samples=20_000, temperature=1e6)
        found = {tuple(row.tolist()): score for row, score in zip(visited.derivations, visited.scores, strict=True)}
        assert found == pytest.approx(case.scores, abs=1e-9)
        reached += 1
    assert reached >= 5


def test_starts():
    case = next(c for c in map(Case, range(700, 800)) if len(c.scores) > 20)
    rows = list(case.scores)
    still = Schedule(subtree=0, rule=1e-9, glue=0, jump_every=0, scan="random")
    for row in (rows[0], rows[-1]):
        visited = run_case(case, still, samples=1, temperature=1e-6, starts=Ragged.of([row], np.int32))
        assert visited.best_scores[0, 0] >= case.scores[row] - 1e-9
    anywhere = run(chain_space(case.translator, [case.sentence] * 4000), only("jump"), samples=0)
    starts = {tuple(row.tolist()) for row in anywhere.best}
    assert starts == set(rows)  # random ones are anything, and nothing was done to them


def test_the_gloss_is_the_best_without_a_look_at_context():
    for seed in range(30):
        case = Case(800 + seed)
        plain = ChartTranslator(
            case.model, case.translator.weights.updated(dict.fromkeys(case.model.language_models, 0.0))
        )
        space = chain_space(plain, [case.sentence])
        (row,) = space.monotone(Runtime())
        (best,) = space.search(plain.limits, forests=False, runtime=Runtime()).best_found()
        assert len(row) == len(best)
        if len(row):
            rows = Ragged.of([row, best], np.int32)
            scores = ChartText.of(space.batch, np.zeros(2, np.int64), rows).graphs.scores
            half = len(scores) // 2
            assert scores[:half].sum() == pytest.approx(scores[half:].sum(), abs=1e-9)


def test_sentence_features_have_values_and_take_part():
    translator, lines = translator_and_lines(7)
    model = translator.model.with_features([FEATURES.get("length_ratio")()])
    for weight in (0.0, 50.0):
        weights = translator.weights.updated({"length_ratio": weight})
        sampler = Sampler.of(ChartTranslator(model, weights), Sampling(samples=100, burn_in=20))
        samples = Samples.concatenate(list(sampler.sample(lines)))
        assert samples.scores == pytest.approx(samples.features.dot(weights), abs=1e-9)
        values = samples.features.restricted(["length_ratio"]).dense()[:, 0]
        mean = float((values * samples.probabilities).sum() / len(samples))
        if weight == 0:
            without = mean
    assert without < mean - 0.02


def test_diagnoses_of_tiny_models():
    translator, lines = translator_and_lines(8)
    line = max(lines, key=lambda text: len(text.split()))
    (found,) = diagnose(translator, [(1, line)], Diagnosis(samples=2000, nbest=1000))
    assert found.exact
    assert found.r_hat < 1.05
    for one in found.runs:
        assert list(one.accepted) == ["subtree", "rule", "glue", "jump"]
        assert one.curves.derivations.divergence[-1] < one.curves.derivations.divergence[0]
        assert one.curves.derivations.divergence[-1] < 2 * found.independent.derivations.divergence[-1] + 0.05
    exact, *others = found.expectations
    samples = [row for row in others if row.evidence == "samples, beam"][-1]
    assert samples.values == pytest.approx(exact.values, abs=0.4)


def test_what_is_refused():
    translator, lines = translator_and_lines(9, 12)
    space = chain_space(translator, lines)
    with pytest.raises(UsageError, match="collect is pass, which chains of a hierarchical model do not know"):
        sampled(space, Sampling(collect="pass"))
    documents = GlobalFunctions([LexicalConsistency()], Weights({"lexical_consistency": 1.0}))
    with pytest.raises(UsageError, match="lexical_consistency sees documents, and chains of a hierarchical model"):
        sampled(chain_space(translator, lines, functions=documents))
    apart, _ = translator_and_lines(9, glue=False, span_limit=2)
    with pytest.raises(DataError, match=r"sentence 1 \('f0 f1 f2 f3 f0'\) has no derivation"):
        sampled(chain_space(apart, ["f0 f1 f2 f3 f0"]))
    with pytest.raises(UsageError, match="samplerank lists all neighbours that differ in one or two phrases"):
        RankChains.of(RankSteps(), translator, TrainingSentences(lines, None, np.arange(13), lambda names: names))


def test_features_of_documents_are_refused_if_they_have_a_weight():
    translator, lines = translator_and_lines(9)
    model = translator.model.with_features([FEATURES.get("lexical_consistency")()])
    felt = ChartTranslator(model, translator.weights.updated({"lexical_consistency": 1.0}))
    with pytest.raises(UsageError, match="lexical_consistency sees documents"):
        Sampler.of(felt)
    with pytest.raises(UsageError, match="lexical_consistency sees documents"):
        list(anneal(felt, ["f0"]))
    plain = next(Sampler.of(translator, FEW).sample(lines))
    for features in (True, False):
        samples = next(Sampler.of(ChartTranslator(model, translator.weights), FEW).sample(lines, features=features))
        assert samples.scores.tobytes() == plain.scores.tobytes()
