"""SampleRank as a learner: checkpoints, resuming, documents, and what it refuses."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from dragoman.core.corpus import Corpus
from dragoman.core.errors import DataError, UsageError
from dragoman.core.feature_rows import Weights
from dragoman.core.runtime import Runtime
from dragoman.features import FEATURES
from dragoman.metrics.bleu import Bleu
from dragoman.metrics.combined import Combined
from dragoman.metrics.precomputed import Precomputed
from dragoman.search.limits import SpaceLimits
from dragoman.search.phrase.translator import PhraseTranslator
from dragoman.tuning import TUNERS
from dragoman.tuning.methods.method import TrainingSet
from dragoman.tuning.methods.samplerank.method import SampleRank
from dragoman.tuning.methods.samplerank.neighbours import LocalSteps
from dragoman.tuning.methods.samplerank.pools import Pools
from dragoman.tuning.methods.samplerank.rank_chains import RankRequest
from dragoman.tuning.optimise.online import units_of
from oracles import phrase_space
from oracles.samplerank import Echo
from oracles.training_sets import chart_training_set, sparse_chart_training_set

FEW = {"neighbours": "local", "epochs": 3, "chains": 3, "samples": 10, "burn_in": 5, "aggressiveness": 0.05}


#: Each way to find neighbours, as small as it can be.
JUMP = {"epochs": 3, "chains": 3, "pool": 6, "visits": 2, "jump_aggressiveness": 0.2}
BOTH = FEW | JUMP | {"neighbours": "both"}
FORESTS = JUMP | {"pool_from": "forests"}


def make_training_set(seed=1, lines=9, metric=None, longest=7, **settings):
    rng = np.random.default_rng(seed)
    model = phrase_space.random_model(rng, tables=2)
    texts = [phrase_space.random_sentence(rng, longest) for _ in range(lines)]
    given = dict(settings)
    translator = PhraseTranslator(model, space=given.pop("space", SpaceLimits(reordering_limit=3, table_limit=3)))
    other = Weights({name: float(rng.normal()) for name in model.feature_names})
    references = [one.text for one in translator.reweighted(other).translate(texts)]
    scorer = (metric or Bleu()).scorer([Corpus.from_lines(references)])
    names = [name for name in model.feature_names if name not in ("unknown_word", "tm.bwd")]
    return TrainingSet(translator, texts, scorer, names, **given)


def bleu(training_set, weights):
    found = [one.text for one in training_set.translator.reweighted(weights).translate(training_set.lines)]
    return float(training_set.scorer.score(training_set.scorer.statistics(Corpus.from_lines(found)).sum(axis=0)))


def same(one, other):
    assert dict(one.weights) == dict(other.weights)
    assert one.report == other.report
    assert one.stop == other.stop
    assert {name: array.tobytes() for name, array in one.state.items()} == {
        name: array.tobytes() for name, array in other.state.items()
    }


@pytest.mark.slow
@pytest.mark.parametrize("kind", [FEW, JUMP, BOTH, FORESTS], ids=["local", "jump", "both", "forests"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"batch_size": 1, "evaluate_every": 4},
        {"batch_size": 2, "average": "epoch"},
        {"average": "none"},
        {"batch_size": 1, "evaluate_every": 4, "units": "deviation"},
    ],
)
def test_whatever_the_threads_and_wherever_it_stopped_the_result_is_the_same(kind, options):
    training_set, method = make_training_set(), SampleRank(**kind | options)
    start = training_set.model.weights
    whole = list(method.learn(training_set, start, seed=5))
    assert [checkpoint.stop for checkpoint in whole] == [None] * (len(whole) - 1) + ["3 epochs"]
    assert len(whole) == (3 * 2 if "evaluate_every" in options else 3)
    for one, other in zip(whole, method.learn(training_set, start, seed=5, runtime=Runtime(threads=3)), strict=True):
        same(one, other)
    for number, checkpoint in enumerate(whole):
        rest = method.learn(training_set, checkpoint.weights, checkpoint.state, seed=5)
        for one, other in zip(whole[number + 1 :], rest, strict=True):
            same(one, other)
    other_seed = next(method.learn(training_set, start, seed=6))
    assert dict(other_seed.weights) != dict(whole[0].weights)


@pytest.mark.parametrize("options", [{}, {"batch_size": 1}])
def test_checkpoints_come_when_chains_have_enough_samples_and_a_kill_changes_nothing(options):
    # An epoch has 3 sentences and 30 samples a chain; what is no whole batch waits for the next one.
    training_set, method = make_training_set(), SampleRank(**FEW | {"epochs": 5, "validate_every": 40} | options)
    whole = list(method.learn(training_set, training_set.model.weights, seed=5))
    samples = [int(checkpoint.state["collected"][0]) // 3 for checkpoint in whole]
    assert samples == ([60, 90, 120, 150] if not options else [40, 80, 120, 150])
    assert [checkpoint.stop for checkpoint in whole] == [None] * (len(whole) - 1) + ["5 epochs"]
    rest = method.learn(training_set, whole[0].weights, whole[0].state, seed=5)
    for one, other in zip(whole[1:], rest, strict=True):
        same(one, other)


def test_presets_learn_and_give_way_to_what_is_said():
    training_set, few = make_training_set(), {"epochs": 2, "chains": 2, "validate_every": 10}
    for preset in ("paper", "authors-script"):
        method = SampleRank(preset=preset, **few)
        assert (method.neighbours, method.violation, method.chains, method.start) == ("local", "order", 2, "gloss")
        *_, last = method.learn(training_set, training_set.model.weights)
        assert dict(last.weights) != dict(training_set.model.weights)
    script = SampleRank(preset="authors-script")
    assert (script.temperature, script.margin, script.best_found, script.batch_size) == (1e-6, 5.0, True, 1)


def test_a_text_in_which_no_operator_can_be_applied_leaves_the_weights_as_they_are():
    training_set = replace(make_training_set(), lines=[""] * 9)
    *_, last = SampleRank(**FEW, counted="applied").learn(training_set, training_set.model.weights)
    assert dict(last.weights) == pytest.approx(dict(training_set.model.weights))


def test_only_what_is_to_be_learnt_changes():
    training_set = make_training_set()
    start = training_set.model.weights
    *_, last = SampleRank(**FEW).learn(training_set, start)
    changed = {name for name in last.weights if last.weights[name] != start.get(name)}
    assert changed
    assert changed <= set(training_set.names)
    *_, from_zero = SampleRank(**FEW, initial="zero").learn(training_set, start)
    assert from_zero.weights["tm.bwd"] == start["tm.bwd"]
    assert all(abs(from_zero.weights[name]) < 3 for name in training_set.names)


def test_what_is_reported_are_averages_and_what_goes_on_are_mixed_weights():
    training_set = make_training_set()
    first = next(SampleRank(**FEW).learn(training_set, training_set.model.weights))
    present = next(SampleRank(**FEW, average="none").learn(training_set, training_set.model.weights))
    learnt = [name for name in training_set.model.feature_names if name in training_set.names]
    assert first.state["weights"].tobytes() == present.state["weights"].tobytes()
    assert (first.state["weights"] == first.state["weights"][0]).all()
    assert present.weights.vector(learnt).tolist() == pytest.approx(present.state["weights"][0].tolist())
    average = first.state["sums"][0] / first.state["collected"][0]
    assert first.weights.vector(learnt).tolist() == average.tolist()
    assert first.state["collected"].tolist() == [9 * 10] * 2


def test_from_the_second_epoch_on_units_are_those_of_the_differences_in_the_epoch_before():
    training_set, method = make_training_set(), SampleRank(**FEW | {"epochs": 2, "chains": 1, "units": "deviation"})
    start = training_set.model.weights
    first, second = method.learn(training_set, start, seed=5)
    plain, plain_second = replace(method, units="plain").learn(training_set, start, seed=5)
    assert dict(first.weights) == dict(plain.weights)
    assert dict(second.weights) != dict(plain_second.weights)
    assert "squares" not in plain.state
    steps = LocalSteps(method, training_set, start)
    weights, units = start.vector(steps.names)[None].copy(), np.ones(len(steps.names))
    weights[:, steps.learnt] = first.state["weights"]
    units[steps.learnt] = units_of([np.append(first.state["squares"][0], 1.0)])
    order = np.random.default_rng([5, 1]).permutation(len(training_set))
    found = steps.run([[order]], weights, RankRequest(5, 1 << 32, units))
    assert found.weights[:, steps.learnt].tolist() == second.state["weights"].tolist()


@pytest.mark.parametrize("kind", [FEW, JUMP], ids=["local", "jump"])
def test_cooling_makes_steps_of_later_epochs_smaller(kind):
    training_set = make_training_set()
    clipped = kind | {"aggressiveness": 1e-4, "jump_aggressiveness": 1e-4, "epochs": 2, "violation": "margin"}
    start = training_set.model.weights
    first, second = SampleRank(**clipped, cooling=3.0).learn(training_set, start)
    whole = list(SampleRank(**clipped).learn(training_set, start))
    assert dict(first.weights) == dict(whole[0].weights)
    assert second.report["clipped"] == whole[1].report["clipped"] == 1.0
    assert second.report["moved"] < 0.5 * whole[1].report["moved"]


def test_it_learns():
    training_set = make_training_set(4, lines=30)
    start = training_set.model.weights
    *_, last = SampleRank(neighbours="local", epochs=5, samples=40, burn_in=10, chains=4, aggressiveness=0.02).learn(
        training_set, start
    )
    assert bleu(training_set, last.weights) > bleu(training_set, start) + 10


def test_jumps_learn_and_report_the_average_of_the_epoch():
    training_set = make_training_set(4, lines=30)
    *_, last = SampleRank(epochs=5, chains=2, pool=20).learn(training_set, training_set.model.weights)
    assert bleu(training_set, last.weights) > bleu(training_set, training_set.model.weights) + 10
    names = [name for name in (*last.weights,) if name in training_set.names]
    assert last.weights.vector(names).tolist() == (last.state["sums"][1] / last.state["collected"][1]).tolist()


def test_pools_are_kept_over_epochs_and_grow_by_what_present_weights_like():
    training_set = make_training_set()
    found = list(SampleRank(**JUMP).learn(training_set, training_set.model.weights))
    pools = [Pools.from_arrays(checkpoint.state) for checkpoint in found]
    first = Pools.empty(9, pools[0].names)
    for nbest in training_set.translator.nbest(training_set.lines, 6):
        first = first.with_lists(nbest, training_set.scorer) if len(nbest) == 9 else first
    assert first.arrays()["pool_feature_values"].tobytes() == pools[0].arrays()["pool_feature_values"].tobytes()
    sizes = [np.diff(one.sentences) for one in pools]
    assert (sizes[0] <= 6).all()
    assert all((one <= other).all() for one, other in itertools.pairwise(sizes))
    assert sizes[2].sum() > sizes[0].sum()


@pytest.mark.parametrize("made", [make_training_set, sparse_chart_training_set])
def test_pools_from_forests_have_what_is_hoped_for_besides_the_best(made):
    training_set = made()
    lists, forests = (
        Pools.from_arrays(
            next(SampleRank(epochs=1, pool=30, pool_from=kind).learn(training_set, training_set.model.weights)).state
        )
        for kind in ("lists", "forests")
    )

    def scores(pools):
        found = training_set.sign * training_set.scorer.sentence_scores(pools.statistics)
        return [found[a:b] for a, b in itertools.pairwise(pools.sentences.tolist())]

    for listed, found in zip(scores(lists), scores(forests), strict=True):
        assert found.max() >= listed.max() - 1e-9
    # Features and statistics belong together: the translation that the model likes best is there with both.
    names = forests.names
    weights = training_set.model.weights.vector(names)
    for sentence, line in enumerate(training_set.lines):
        rows = range(forests.sentences[sentence], forests.sentences[sentence + 1])
        best = max(rows, key=lambda row: sum(v * weights[names.index(n)] for n, v in forests.features.row(row).items()))
        (text,) = training_set.translator.translate([line])
        expected = training_set.scorer.statistics(Corpus.from_lines([text.text]), np.array([sentence]))[0]
        assert forests.statistics[best].tolist() == expected.tolist()


def test_both_is_a_local_pass_and_then_jumps_with_its_weights():
    training_set, start = make_training_set(), make_training_set().model.weights
    local, both = (
        next(SampleRank(**kind | {"average": "none"}).learn(training_set, start))
        for kind in (FEW, BOTH | {"visits": 1})
    )
    assert both.state["collected"].tolist() == [9 * 10 + 9] * 2
    still = next(SampleRank(**BOTH | {"average": "none", "jump_aggressiveness": 0.0}).learn(training_set, start))
    assert dict(still.weights) == pytest.approx(dict(local.weights))
    assert dict(both.weights) != dict(local.weights)


def test_jumps_learn_sparse_features_of_hierarchical_models_and_a_kill_changes_nothing():
    training_set = sparse_chart_training_set()
    method = SampleRank(epochs=3, chains=2, pool=2, jump_aggressiveness=0.05)
    whole = list(method.learn(training_set, training_set.model.weights, seed=2))
    assert bleu(training_set, whole[-1].weights) > bleu(training_set, training_set.model.weights)
    assert any(name.startswith("first.") for name in whole[0].weights)
    # Names turn up in later epochs, too.
    assert whole[0].state["weights"].shape[1] < whole[-1].state["weights"].shape[1]
    for done in (1, 2):
        state = {name: np.array(array) for name, array in whole[done - 1].state.items()}
        rest = list(method.learn(training_set, whole[done - 1].weights, state, seed=2, runtime=Runtime(threads=2)))
        for one, other in zip(whole[done:], rest, strict=True):
            same(one, other)


@pytest.fixture
def with_globals():
    def made(training_set, feature=Echo):
        model = training_set.model.with_features([FEATURES.get("length_ratio")(), feature()])
        names = [*training_set.names, "length_ratio", "echo"]
        translator = PhraseTranslator(model, space=training_set.translator.space)
        return replace(training_set, translator=translator, names=names, documents=np.array([0, 4, 5, 9]))

    return made


def test_global_features_are_learnt_from_whole_documents(with_globals):
    training_set = with_globals(make_training_set())
    start = training_set.model.weights.updated({"length_ratio": 1.0, "echo": -0.1})
    one, other = (list(SampleRank(**FEW).learn(training_set, start, runtime=Runtime(threads=n))) for n in (1, 2))
    same(one[-1], other[-1])
    assert one[-1].weights["length_ratio"] != 1.0
    assert one[-1].weights["echo"] != -0.1
    assert one[-1].state["weights"].shape[0] == 3


def test_what_goes_wrong_in_a_feature_is_told(with_globals):
    training_set = with_globals(make_training_set(), type("Broken", (Echo,), {"value": lambda *_: math.nan}))
    with pytest.raises(DataError, match="a global feature is not a finite number"):
        next(SampleRank(**FEW).learn(training_set, training_set.model.weights.updated({"echo": 1.0})))


def test_refusals(tmp_path, with_globals):
    training_set, start = make_training_set(), make_training_set().model.weights
    path = tmp_path / "scores"
    path.write_text("1\n" * 9)

    def learn(training_set=training_set, start=start, state=None, **options):
        next(SampleRank(**FEW | options).learn(training_set, start, state))

    with pytest.raises(UsageError, match="precomputed has only those of its file"):
        learn(make_training_set(metric=Precomputed(path=path)))
    with pytest.raises(UsageError, match="precomputed has only those of its file"):
        learn(make_training_set(metric=Combined(expression=f"bleu-precomputed(path={path})")))
    with pytest.raises(UsageError, match="has no operator"):
        learn(merge_split=0.0, reorder=0.0)
    with pytest.raises(UsageError, match="table-limit-by"):
        learn(make_training_set(space=SpaceLimits(table_limit_by="score")))
    with pytest.raises(UsageError, match="no sentence"):
        learn(replace(training_set, lines=[]))
    with pytest.raises(UsageError, match="weight of lm is inf"):
        learn(start=start.updated({"lm": math.inf}))
    with pytest.raises(UsageError, match="weight of lm is inf"):
        next(SampleRank(**JUMP).learn(training_set, start.updated({"lm": math.inf})))
    with pytest.raises(UsageError, match="no decoder scores the global feature length_ratio; set neighbours to local"):
        SampleRank(**JUMP).check(with_globals(training_set))
    with pytest.raises(UsageError, match="neighbours=jump"):
        next(SampleRank(**BOTH).learn(chart_training_set(), chart_training_set().model.weights))
    state = next(SampleRank(**FEW).learn(training_set, start)).state
    with pytest.raises(DataError, match="no pools of derivations"):
        next(SampleRank(**JUMP).learn(training_set, start, state))
    pools = next(SampleRank(**JUMP).learn(make_training_set(lines=8), start)).state
    with pytest.raises(DataError, match="pools of 8 sentences; expected 9"):
        next(SampleRank(**JUMP).learn(training_set, start, pools))
    with pytest.raises(DataError, match=r"3 chains and .* weights; expected 2 chains"):
        learn(state=state, chains=2)


def test_the_registry_has_it():
    assert TUNERS.get("samplerank") is SampleRank
