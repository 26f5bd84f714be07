"""Online MIRA against a slow twin that lists all translations; what workers share; how it ends."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dragoman.core.corpus import Corpus
from dragoman.core.errors import DataError, UsageError
from dragoman.core.feature_rows import Weights
from dragoman.core.progress import DragomanWarning
from dragoman.core.runtime import Runtime
from dragoman.features import FEATURES
from dragoman.features.structural_distortion import StructuralDistortion
from dragoman.metrics.bleu import Bleu
from dragoman.model.language_model import LanguageModel
from dragoman.search.chart.translator import ChartTranslator
from dragoman.tuning.methods import method as learner, mira_online
from dragoman.tuning.methods.mira_online import MiraOnline
from dragoman.tuning.optimise.online import even_queue
from dragoman.tuning.problems import problem
from dragoman.tuning.problems.hope_fear import HypothesisFinder
from oracles import tiny_grammar
from oracles.training_sets import chart_training_set, reachable_training_set, sparse_chart_training_set
from oracles.tuning_margin import solve_mira

pytestmark = pytest.mark.slow

ALL = {"best": 100_000, "hope": 100_000, "fear": 100_000, "beam": 100_000}


def score_of(training_set, weights):
    """What the decoder scores with some weights on the text of a training set."""
    texts = [one.text for one in training_set.translator.reweighted(weights).translate(training_set.lines)]
    return float(training_set.scorer.score(training_set.scorer.statistics(Corpus.from_lines(texts)).sum(axis=0)))


class SlowWorker:
    """A worker that knows all translations of a sentence, and solves quadratic programs by a general solver."""

    def __init__(self, training_set, *, mu=0.5, local=False, gain_scale=1.0, decay=0.9):
        self.training_set, self.mu, self.local, self.gain_scale, self.decay = training_set, mu, local, gain_scale, decay
        self.weights, self.document, self.size = (
            training_set.model.weights,
            np.array([4.0, 4, 4, 3, 2, 1, 4, 3, 2, 1]),
            4.0,
        )
        self.after, self.deviations = [], []

    def find(self, sentence):
        line = self.training_set.lines[sentence]
        (found,) = self.training_set.translator.reweighted(self.weights).nbest([line], 100_000, distinct=True)
        statistics = self.training_set.scorer.statistics(
            Corpus(found.vocab, found.hypotheses), np.full(len(found.scores), sentence)
        )
        size = len(line.split())
        gains = self.gain_scale * (self.size + size) * self.training_set.scorer.score(self.document + statistics) / 100
        oracle = int(np.argmax(gains if self.local else self.mu * found.scores + (1 - self.mu) * gains))
        self.document, self.size = self.decay * (self.document + statistics[0]), self.decay * (self.size + size)
        names = self.training_set.model.feature_names
        dense = found.features.restricted(names).dense()
        fixed = np.array([self.weights[name] * (name not in self.training_set.names) for name in names])
        changes, losses = dense[oracle] - dense, gains[oracle] - gains
        free = [names.index(name) for name in self.training_set.names]
        self.deviations.append(dense[:, free] - dense[:, free].mean(axis=0))
        return changes[:, free], losses - changes @ fixed

    def learn(self, batch, C, units):
        names = self.training_set.names
        scaled = [(changes / units, losses) for changes, losses in batch]
        found = solve_mira(self.weights.vector(names) * units, scaled, C) / units
        self.weights = self.weights.updated(dict(zip(names, found.tolist(), strict=True)))
        self.after.append(found)


def slow_pass(training_set, team, C, seed, *, number=0, share=True, units=1.0):
    """The average weights after a pass of a team."""
    count = len(team)
    lengths = [len(line.split()) for line in training_set.lines]
    order = even_queue(lengths, count, np.random.default_rng([seed, number]))
    steps = -(-len(order) // count)
    board = {}
    for worker in team:
        worker.after, worker.deviations = [], []
    for step in range(steps):
        for w, worker in enumerate(team):
            if step * count + w < len(order):
                board[w, step] = worker.find(order[step * count + w])
                others = [board[v, step - 1] for v in range(count) if v != w and share and (v, step - 1) in board]
                worker.learn([board[w, step], *others], C, units)
    for w, worker in enumerate(team):
        own = sum(1 for v, _ in board if v == w)
        rest = [
            board[v, s] for s in range(own - 1, steps) for v in range(count) if v != w and share and (v, s) in board
        ]
        if rest:
            worker.learn(rest, C, units)
    return np.mean([np.mean(worker.after, axis=0) for worker in team], axis=0)


def without_lm(training_set):
    """A weight that is fixed counts in scores, and stays."""
    return replace(training_set, names=[name for name in training_set.names if name != "lm"])


@pytest.mark.parametrize(
    ("workers", "options"),
    [(1, {}), (2, {}), (3, {"share": False}), (2, {"mu": 0.2}), (2, {"oracle": "local"})],
    ids=["one", "two", "alone", "mu", "local"],
)
@pytest.mark.parametrize("kind", ["phrase", "chart"])
def test_a_pass_of_the_paper_is_that_of_the_slow_twin(kind, workers, options, monkeypatch):
    monkeypatch.setattr(mira_online, "TOLERANCE", 1e-10)
    training_set = without_lm(chart_training_set() if kind == "chart" else reachable_training_set(lines=5, longest=3))
    method = MiraOnline(preset="paper", workers=workers, C=0.02, **ALL | options)
    found = next(method.learn(training_set, training_set.model.weights, seed=3)).weights
    team = [SlowWorker(training_set, mu=options.get("mu", 0.5), local="oracle" in options) for _ in range(workers)]
    counts = {"glue", "distortion", "word_penalty", "phrase_penalty", "rule_penalty"}
    units = np.array([1.0 if name in counts else np.log(100) for name in training_set.names])
    wanted = slow_pass(training_set, team, 0.02, 3, share=options.get("share", True), units=units)
    np.testing.assert_allclose(found.vector(training_set.names), wanted, rtol=0, atol=1e-4)
    assert np.abs(wanted - training_set.model.weights.vector(training_set.names)).max() > 0.005
    assert found["lm"] == training_set.model.weights["lm"]


def with_coarse_distortion(training_set, *, base=1.0):
    """The training set with a coarse structural distortion, and logarithms of another base than e."""
    model = training_set.model
    grammar = replace(model.grammars["tm"], hole_counts=np.arange(20.0).reshape(2, 10) + 1)
    model = replace(model, grammars={"tm": grammar}).with_features([StructuralDistortion(grain="coarse")])
    ((feature, learnt),) = model.features.items()
    ngrams = tiny_grammar.tiny_ngrams()
    by = np.float32(base)
    orders = tuple(replace(one, logprobs=one.logprobs / by, backoffs=one.backoffs / by) for one in ngrams.orders)
    model = replace(
        model,
        grammars={"tm": replace(grammar, log_scores=grammar.log_scores / by)},
        features={feature: {name: logs / base for name, logs in learnt.items()}},
        language_models={"lm": LanguageModel.from_ngrams(replace(ngrams, orders=orders))},
        weights=Weights({name: w * (base if is_log(name) else 1) for name, w in model.weights.items()}),
    )

    def sparse(names):
        return dict.fromkeys(sorted(name for name in names if name.startswith("sd.")), (-1.0, 1.0))

    return replace(training_set, translator=ChartTranslator(model), sparse=sparse)


def is_log(name):
    return name.startswith(("lm", "tm.", "sd."))


def test_units_of_base_100_learn_as_from_features_in_base_100():
    plain = chart_training_set()
    natural, divided = (with_coarse_distortion(plain, base=base) for base in (1.0, np.log(100)))
    results = {}
    for name, training_set, units in (
        ("base-100", natural, "base-100"),
        ("divided", divided, "plain"),
        ("plain", natural, "plain"),
    ):
        method = MiraOnline(preset="paper", units=units, workers=2, passes=2, C=0.02)
        results[name] = list(method.learn(training_set, training_set.model.weights, seed=3))
    for found, wanted, other in zip(*results.values(), strict=True):
        assert "sd.log_p" in found.weights
        for name, weight in found.weights.items():
            expected = wanted.weights[name] / (np.log(100) if is_log(name) else 1)
            assert weight == pytest.approx(expected, abs=1e-5), name
        assert max(abs(found.weights[name] - other.weights[name]) for name in found.weights) > 0.005
    state = results["base-100"][0].state
    method = MiraOnline(preset="paper", workers=2, passes=2, C=0.02)
    (rest,) = method.learn(natural, results["base-100"][0].weights, state, seed=3)
    assert rest.weights == results["base-100"][1].weights


def test_the_paper_has_20_workers_whatever_the_number_of_threads():
    assert MiraOnline(preset="paper").workers == 20
    assert MiraOnline(preset="paper", workers=3).workers == 3
    training_set = reachable_training_set(lines=45, longest=3)
    method = MiraOnline(preset="paper", passes=2)
    one, three = (
        [one.weights for one in method.learn(training_set, training_set.model.weights, runtime=Runtime(threads=count))]
        for count in (1, 3)
    )
    assert one == three


@pytest.mark.parametrize("kind", ["phrase", "chart"])
def test_two_passes_with_units_cooling_and_gain_scale_are_those_of_the_slow_twin(kind, monkeypatch):
    monkeypatch.setattr(mira_online, "TOLERANCE", 1e-10)
    training_set = without_lm(chart_training_set() if kind == "chart" else reachable_training_set(lines=5, longest=3))
    method = MiraOnline(C=0.03, average="pass", gain_scale=0.7, decay=0.99, cooling=2.0, **ALL)
    checkpoints = method.learn(training_set, training_set.model.weights, seed=3)
    found = [next(checkpoints).weights.vector(training_set.names) for _ in range(2)]
    team = [SlowWorker(training_set, gain_scale=0.7, decay=0.99) for _ in range(2)]
    first = slow_pass(training_set, team, 0.03, 3)
    np.testing.assert_allclose(found[0], first, rtol=0, atol=1e-4)
    variances = np.mean(np.concatenate([rows for worker in team for rows in worker.deviations]) ** 2, axis=0)
    units = np.sqrt(np.maximum(np.sqrt(variances / variances.mean()), 0.1))
    units *= np.sqrt(np.mean(variances / units**2) / variances.mean())
    assert units.max() / units.min() > 1.5
    second = slow_pass(training_set, team, 0.03 / 3, 3, number=1, units=units)
    np.testing.assert_allclose(found[1], second, rtol=0, atol=1e-4)
    assert np.abs(second - first).max() > 0.001


@pytest.mark.parametrize("seed", [4, 6])
def test_a_pass_may_end_with_the_average_over_its_best_part(seed):
    training_set = reachable_training_set()
    options = {"passes": 3, "C": 0.02, "preset": "paper", "units": "plain", "workers": 2, **ALL}  # all translations
    whole, best = (
        [
            score_of(training_set, one.weights)
            for one in MiraOnline(**options, average=average).learn(training_set, training_set.model.weights, seed=seed)
        ]
        for average in ("pass", "best")
    )
    assert best[0] > whole[0] + 10
    assert best[1:] == whole[1:], "whatever a pass ends with, the next one goes on with the weights of the last step"


TABLE_2 = {
    "full": {},
    "local updating": {"oracle": "local", "fear": 0},
    "local updating, fear": {"oracle": "local"},
    "no fear": {"fear": 0},
    "alone": {"share": False},
}


def test_the_rows_of_table_2_learn_different_things():
    training_set = reachable_training_set()
    found = []
    for options in TABLE_2.values():
        checkpoints = list(
            MiraOnline(**{"passes": 2, "best": 2, "hope": 2, "fear": 2} | options).learn(
                training_set, training_set.model.weights, seed=2
            )
        )
        assert [checkpoint.stop for checkpoint in checkpoints] == [None, "2 passes"]
        found.append(tuple(checkpoints[0].weights.values()))
    assert len(set(found)) == len(TABLE_2)


def test_it_learns_to_translate():
    for training_set in (chart_training_set(), reachable_training_set()):
        *_, last = MiraOnline(passes=8, C=0.05).learn(training_set, training_set.model.weights)
        assert score_of(training_set, last.weights) > score_of(training_set, training_set.model.weights) + 5
        assert last.report["oracles"] >= last.report["translations"]
        assert last.report["length_ratio"] == pytest.approx(1, abs=0.2)


def test_sparse_features_are_learnt_as_they_occur_and_a_kill_changes_nothing(monkeypatch):
    monkeypatch.setattr(problem, "MOST_DENSE", 2)  # nothing makes a matrix of them
    training_set = sparse_chart_training_set()
    method = MiraOnline(passes=3, C=0.05)
    whole = list(method.learn(training_set, training_set.model.weights, seed=2))
    found = {name: value for name, value in whole[-1].weights.items() if name.startswith("first.")}
    assert "first.d" in found
    assert all(found.values())
    assert list(whole[-1].weights)[-len(found) :] == sorted(found)
    for done in (1, 2):
        state = {name: np.array(array) for name, array in whole[done - 1].state.items()}
        rest = list(method.learn(training_set, whole[done - 1].weights, state, seed=2, runtime=Runtime(threads=2)))
        assert [one.weights for one in rest] == [one.weights for one in whole[done:]]
        assert [one.report for one in rest] == [one.report for one in whole[done:]]
    with pytest.raises(DataError, match="the saved state has 2 workers; expected 3"):
        next(MiraOnline(workers=3).learn(training_set, whole[0].weights, whole[0].state))


@pytest.mark.parametrize("share", [True, False])
def test_there_are_no_more_workers_than_sentences(share):
    training_set = reachable_training_set(lines=3)
    many, three = (
        [
            one.weights
            for one in MiraOnline(workers=count, passes=2, share=share).learn(training_set, training_set.model.weights)
        ]
        for count in (10, 3)
    )
    assert many == three


def test_weights_that_explode_end_it_with_the_weights_before(monkeypatch):
    training_set = reachable_training_set()
    monkeypatch.setattr(learner, "LARGEST_WEIGHT", 1.5)
    checkpoints = list(
        MiraOnline(C=0.05, passes=50, preset="paper", units="plain").learn(training_set, training_set.model.weights)
    )
    assert 1 < len(checkpoints) < 50
    assert checkpoints[-1].stop == "the weights diverge; the weights before that are kept"
    assert checkpoints[-1].weights == checkpoints[-2].weights
    assert max(map(abs, checkpoints[-1].weights.values())) <= 1.5


def test_translations_that_grow_without_end_end_it(monkeypatch):
    training_set = reachable_training_set()
    references = [line.split()[0] for line in training_set.lines]
    monkeypatch.setattr(mira_online, "TOO_LONG", 0.5)
    short = replace(training_set, scorer=Bleu().scorer([Corpus.from_lines(references)]))
    checkpoints = list(MiraOnline(C=0.0).learn(short, training_set.model.weights))
    assert len(checkpoints) == 1
    assert checkpoints[0].stop.startswith("translations are ")
    assert checkpoints[0].stop.endswith(" times as long as they should be; the weights before that are kept")
    assert checkpoints[0].weights == training_set.model.weights


def test_a_worker_that_dies_leaves_a_state_to_go_on_from(monkeypatch):
    training_set, method = reachable_training_set(), MiraOnline(passes=3)
    whole = list(method.learn(training_set, training_set.model.weights, seed=4))
    find, calls = HypothesisFinder.find, []

    def dies(self, sentence, weights, document):
        calls.append(sentence)
        if len(calls) == len(training_set) + 3:
            raise RuntimeError("out of paper")
        return find(self, sentence, weights, document)

    monkeypatch.setattr(HypothesisFinder, "find", dies)
    checkpoints = method.learn(training_set, training_set.model.weights, seed=4)
    first = next(checkpoints)
    with pytest.raises(DataError, match=r"worker \d died at sentence \d+ \(RuntimeError: out of paper\)"):
        next(checkpoints)
    monkeypatch.undo()
    rest = list(method.learn(training_set, first.weights, first.state, seed=4))
    assert [one.weights for one in rest] == [one.weights for one in whole[1:]]


def test_says_so_if_the_solver_stops_early(monkeypatch):
    monkeypatch.setattr(mira_online, "MAX_SWEEPS", 1)
    training_set = reachable_training_set()
    with pytest.warns(DragomanWarning, match="stopped before they were exact"):
        next(MiraOnline(C=1.0).learn(training_set, training_set.model.weights))


def test_global_features_are_refused_in_a_sentence():
    training_set = reachable_training_set()
    model = training_set.model.with_features([FEATURES.get("length_ratio")()])
    training_set = replace(training_set, translator=type(training_set.translator)(model))
    with pytest.raises(UsageError, match="only sampling can score it"):
        next(MiraOnline().learn(training_set, Weights({**model.weights, "length_ratio": 1.0})))
