"""Small training sets for learners: a random model, and references that it can reach under other weights."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dragoman.core.corpus import Corpus
from dragoman.core.feature_rows import FeatureRows, Weights
from dragoman.features import PairFeature
from dragoman.metrics.bleu import Bleu
from dragoman.search.chart.translator import ChartTranslator
from dragoman.search.translator import Translator
from dragoman.tuning.methods.method import TrainingSet
from dragoman.tuning.problems.problem import tuned_names
from oracles import phrase_space, tiny_grammar


def reachable_training_set(seed: int = 11, lines: int = 8, longest: int = 4) -> TrainingSet:
    """Sentences with what some weights translate them to."""
    rng = np.random.default_rng(seed)
    model = phrase_space.random_model(rng, tables=1, language_models=1, reordering=True)
    sources = [phrase_space.random_sentence(rng, longest) for _ in range(lines)]
    goal = Weights({name: float(rng.normal()) for name in model.feature_names})
    translator = Translator.of(model)
    known = TrainingSet(
        translator, sources, Bleu().scorer([Corpus.from_lines(sources)]), tuned_names(model.feature_names)
    )
    references = [translation.text for translation in translator.reweighted(goal).translate(sources)]
    return replace(known, scorer=Bleu().scorer([Corpus.from_lines(references)]))


def chart_training_set(**changes: object) -> TrainingSet:
    """Sentences of a tiny hierarchical model, some of which it translates wrongly."""
    model = tiny_grammar.tiny_model()
    model = replace(model, weights=model.weights.updated({"lm": 0.05, "glue": -0.1, "tm.fwd": 0.05}))
    scorer = Bleu().scorer([Corpus.from_lines(tiny_grammar.TARGET)])
    names = tuned_names(model.feature_names)
    return replace(TrainingSet(ChartTranslator(model), tiny_grammar.SOURCE, scorer, names), **changes)


class Letters(PairFeature):
    """A sparse feature: a number for each rule that writes something, by its first letter."""

    name = prefix = "first"

    def __call__(self, pairs):
        texts = [pairs.vocab.text(row) for row in pairs.words]
        names = sorted({f"first.{text[:1]}" for text in texts})
        dense = np.array([[float(name == f"first.{text[:1]}") for name in names] for text in texts])
        return FeatureRows.from_dense(names, dense.reshape(len(texts), len(names)))


def sparse_chart_training_set() -> TrainingSet:
    """The same with sparse features of rules, which are learnt."""
    plain = chart_training_set()

    def sparse(names):
        return dict.fromkeys(sorted(name for name in names if name.startswith("first.")), (-1.0, 1.0))

    return replace(plain, translator=ChartTranslator(plain.model, features=[Letters()]), sparse=sparse)
