"""Every tuning method and every decision rule works with hierarchical models, whoever wrote it and whatever it sees."""

import itertools
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import dragoman as dm
from dragoman.core.corpus import Corpus
from dragoman.core.errors import UsageError
from dragoman.core.progress import DragomanWarning
from dragoman.decision import RULES
from dragoman.model.language_model import LanguageModel
from dragoman.training.lm.kneser_ney import KneserNey, estimate
from dragoman.tuning import TUNERS
from dragoman.tuning.methods.method import Tuner
from dragoman.tuning.problems.evidence import DecodedLists
from dragoman.tuning.problems.hypergraph_problem import HypergraphProblem
from dragoman.tuning.problems.problem import Problem
from dragoman.tuning.runs.run import Run
from oracles import chart_space, tiny_grammar

#: Small enough to try them all.
RISK = {"minibatch": 4, "samples": 20, "burn_in": 5, "updates": 2, "evaluate_every": 1}
FEWER = {
    "lus": {"samples": 200, "starts": 1},
    "mira-online": {"passes": 2},
    "risk-corpus": RISK,
    "risk-sentence": RISK,
    "samplerank": {"epochs": 2, "chains": 2, "pool": 30},
}

#: What cannot be, and why.
REFUSED = {
    "pro-mix": "the model has no mixed tables, whose interpolation weights pro-mix tunes",
}


def kinds(method):
    """What a method can be tuned on; a learner draws for itself."""
    if not issubclass(method, Tuner):
        return [None]
    return ["nbest"] * method.takes(Problem) + ["hypergraph"] * method.takes(HypergraphProblem)


METHODS = [(name, kind) for name in TUNERS.names() if name not in REFUSED for kind in kinds(TUNERS.get(name))]
DECISIONS = [(name, kind) for name in RULES.names() for kind in RULES.get(name).takes]


class Trial:
    """A tiny model in a folder, with sentences, their translations, and all that it can make of them."""

    def __init__(self, folder):
        model = tiny_grammar.tiny_model()
        # Some of the translations are right, and some are not.
        model = replace(model, weights=model.weights.updated({"lm": 0.05, "glue": -0.1, "tm.fwd": 0.05}))
        self.folder, self.lines, self.references = folder, tiny_grammar.SOURCE, tiny_grammar.TARGET
        self.possible = [chart_space.Space.of(model, line).texts.keys() for line in self.lines]
        model.save(folder / "model")
        self.system = dm.load(folder / "model", threads=1)
        for name, lines in (("source", self.lines), ("reference", self.references)):
            (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        self.tuned = cache(self._tuned)

    def _tuned(self, method, kind):
        chosen = {} if kind is None else {"evidence": kind, "nbest": 30, "iterations": 2}
        return self.system.tune(
            self.folder / "source",
            self.folder / "reference",
            out=self.folder / f"{method}-{kind}",
            method=method,
            options=FEWER.get(method),
            prepared=True,
            progress=False,
            **chosen,
        )


@pytest.fixture(scope="module")
def trial(tmp_path_factory):
    return Trial(tmp_path_factory.mktemp("hierarchical"))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the chains of")  # which are short here
@pytest.mark.parametrize(("method", "seen"), METHODS)
@pytest.mark.parametrize(("rule", "kind"), DECISIONS)
def test_every_method_and_every_rule_work_together(trial, method, seen, rule, kind):
    tuned = trial.system.with_weights(trial.tuned(method, seen))
    assert set(tuned.weights) == set(trial.system.model.feature_names)
    assert np.isfinite([*tuned.weights.values()]).all()
    found = tuned.translate(trial.lines, decision=rule, evidence=kind, samples=50, prepared=True)
    assert len(found) == len(trial.lines)
    for text, possible in zip(found, trial.possible, strict=True):
        assert text in possible


@pytest.mark.parametrize(("method", "seen"), METHODS)
def test_no_method_makes_a_tuning_set_worse(trial, method, seen):
    before, after = (
        dm.score(system.translate(trial.lines, prepared=True), trial.references, metric="bleu").value
        for system in (trial.system, trial.system.with_weights(trial.tuned(method, seen)))
    )
    assert before <= after
    assert before < 100


@pytest.mark.parametrize(("wanted", "different"), [(None, True), ("strings", True), ("derivations", False)])
def test_lists_to_tune_on_have_different_strings_unless_derivations_are_wanted(trial, tmp_path, wanted, different):
    chosen = {} if wanted is None else {"hypotheses": wanted}
    texts = trial.folder / "source", trial.folder / "reference"
    trial.system.tune(*texts, out=tmp_path / "run", nbest=30, iterations=1, prepared=True, progress=False, **chosen)
    lists = DecodedLists.load(Run(tmp_path / "run").evidence(1)).nbest
    rows = [
        [text.tobytes() for text in lists.hypotheses.take(np.arange(begin, end))]
        for begin, end in itertools.pairwise(lists.sentences.tolist())
    ]
    assert all(rows)
    assert all(len(set(row)) == len(row) for row in rows) == different


def test_two_language_models_work_at_once(trial, tmp_path):
    model = trial.system.model
    text = Corpus.from_lines([*trial.references, "the cat sleeps", "a dog does not eat"])
    # As many n-grams as discounts need are too many for a tiny text.
    with pytest.warns(DragomanWarning):
        second = LanguageModel.from_ngrams(estimate(text, KneserNey(order=2)))
    weights = model.weights.updated({"lm2": 0.05})
    both = replace(model, language_models={**model.language_models, "lm2": second}, weights=weights)
    both.save(tmp_path / "model")
    system = dm.load(tmp_path / "model", threads=1)
    settings = {"method": "mert", "evidence": "hypergraph", "iterations": 2, "prepared": True, "progress": False}
    source, reference = trial.folder / "source", trial.folder / "reference"
    tuned = system.with_weights(system.tune(source, reference, out=tmp_path / "run", **settings))
    assert {"lm", "lm2"} <= set(tuned.weights)
    for line in trial.lines:
        found = tuned.explain(line, prepared=True)
        assert found.features["lm"] != found.features["lm2"]
        total = sum(tuned.weights[name] * value for name, value in found.features.items())
        assert total == pytest.approx(found.score, abs=1e-9)


@pytest.mark.parametrize("method", sorted(REFUSED))
def test_what_cannot_be_is_refused(trial, method):
    with pytest.raises(UsageError, match=REFUSED[method]):
        trial.tuned(method, None)
