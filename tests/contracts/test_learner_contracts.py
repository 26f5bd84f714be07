"""What every learner promises; a new file in `tuning/` inherits these tests."""

from dataclasses import replace

import numpy as np
import pytest

from dragoman.core.corpus import Corpus
from dragoman.core.errors import UsageError
from dragoman.core.runtime import Runtime
from dragoman.metrics.bleu import Bleu
from dragoman.metrics.chrf import Chrf
from dragoman.metrics.combined import Combined
from dragoman.metrics.precomputed import Precomputed
from dragoman.metrics.ter import Ter
from dragoman.tuning import TUNERS
from dragoman.tuning.methods.method import Learner
from oracles.elsewhere import Elsewhere
from oracles.training_sets import reachable_training_set

NAMES = [name for name in TUNERS.names() if issubclass(TUNERS.get(name), Learner)]
RISK = {"minibatch": 4, "samples": 20, "burn_in": 5, "updates": 6, "evaluate_every": 2}
FEWER = {
    "mira-online": {"passes": 3, "workers": 3},
    "risk-corpus": RISK,
    "risk-sentence": RISK,
    "samplerank": {"epochs": 3, "chains": 3, "samples": 10, "burn_in": 5},
}
OTHER_STEPS = [{"neighbours": "local"}, {"pool_from": "forests"}]


def learner(name):
    return TUNERS.get(name)(**FEWER.get(name, {}))


@pytest.fixture(scope="module")
def training_set():
    return reachable_training_set()


@pytest.mark.parametrize("name", NAMES)
def test_same_seed_same_checkpoints_whatever_the_threads(name, training_set):
    start = training_set.model.weights
    one, other, third = (
        list(learner(name).learn(training_set, start, seed=5, runtime=Runtime(threads=n))) for n in (1, 2, 3)
    )
    assert len(one) == 3
    for checkpoints in (other, third):
        assert [checkpoint.weights for checkpoint in checkpoints] == [checkpoint.weights for checkpoint in one]
        assert [checkpoint.report for checkpoint in checkpoints] == [checkpoint.report for checkpoint in one]
    assert next(iter(learner(name).learn(training_set, start, seed=6))).weights != one[0].weights


@pytest.mark.parametrize(
    ("name", "more"), [*((name, {}) for name in NAMES), *(("samplerank", more) for more in OTHER_STEPS)]
)
def test_same_checkpoints_whoever_works(name, more, training_set, tmp_path):
    training_set.model.save(tmp_path / "model")
    method, kept = replace(learner(name), **more), replace(training_set, folder=tmp_path / "model")
    here = list(method.learn(training_set, training_set.model.weights, seed=5))
    elsewhere = list(method.learn(kept, training_set.model.weights, seed=5, runtime=Runtime(workers=Elsewhere(2))))
    assert [checkpoint.weights for checkpoint in elsewhere] == [checkpoint.weights for checkpoint in here]
    assert [checkpoint.report for checkpoint in elsewhere] == [checkpoint.report for checkpoint in here]


@pytest.mark.parametrize("name", NAMES)
def test_going_on_from_any_checkpoint_is_as_if_nothing_had_happened(name, training_set):
    whole = list(learner(name).learn(training_set, training_set.model.weights, seed=2))
    assert [checkpoint.stop is None for checkpoint in whole] == [True, True, False]
    for done in (1, 2):
        before = whole[done - 1]
        state = {key: np.array(value) for key, value in before.state.items()}
        rest = list(learner(name).learn(training_set, before.weights, state, seed=2))
        assert [checkpoint.weights for checkpoint in rest] == [checkpoint.weights for checkpoint in whole[done:]]


@pytest.mark.parametrize("name", NAMES)
def test_only_what_is_learnt_changes(name, training_set):
    names = training_set.names[::2]
    start = training_set.model.weights
    *_, last = learner(name).learn(replace(training_set, names=names), start)
    assert set(last.weights) == set(start)
    assert {feature for feature in start if last.weights[feature] != start[feature]} <= set(names)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("metric", [Ter(), Chrf(), Bleu(order=2)], ids=["ter", "chrf", "bleu2"])
def test_any_metric_with_statistics_will_do(name, metric, training_set):
    references = [translation.text for translation in training_set.translator.translate(training_set.lines)]
    scorer = metric.scorer([Corpus.from_lines(references)])
    sign = 1 if metric.higher_is_better else -1
    *_, last = learner(name).learn(replace(training_set, scorer=scorer, sign=sign), training_set.model.weights)
    assert np.isfinite(list(last.weights.values())).all()


@pytest.mark.parametrize("name", NAMES)
def test_options_round_trip_and_the_docstring_says_what_it_is(name):
    chosen = TUNERS.get(name)
    assert chosen.from_dict(chosen().to_dict()) == chosen()
    assert chosen.name == name
    assert len(chosen.__doc__) > 100


@pytest.mark.parametrize("name", NAMES)
def test_what_cannot_be_learnt_from_is_refused_before_anything_is_begun(name, training_set, tmp_path):
    path = tmp_path / "scores"
    path.write_text("1\n" * len(training_set), encoding="utf-8")
    references = [Corpus.from_lines(training_set.lines)]
    for metric in (Precomputed(path=path), Combined(expression=f"bleu-precomputed(path={path})")):
        with pytest.raises(UsageError, match=f"{name} needs a metric that can score new translations"):
            learner(name).check(replace(training_set, scorer=metric.scorer(references)))
    with pytest.raises(UsageError, match="there are no sentences to learn from"):
        learner(name).check(replace(training_set, lines=[]))
