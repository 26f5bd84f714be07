"""Small lessons for learners: a random model, and references that it can reach under other weights."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dragoman.core.corpus import Corpus
from dragoman.core.weights import Weights
from dragoman.metrics.bleu import Bleu
from dragoman.search.translator import Translator
from dragoman.tuning.methods.learner import Lesson
from dragoman.tuning.problems.ranges import tuned_names
from oracles import phrase_space


def reachable_lesson(seed: int = 11, lines: int = 8, longest: int = 4) -> Lesson:
    """Sentences with what some weights translate them to."""
    rng = np.random.default_rng(seed)
    model = phrase_space.random_model(rng, tables=1, language_models=1, reordering=True)
    sources = [phrase_space.random_sentence(rng, longest) for _ in range(lines)]
    goal = Weights({name: float(rng.normal()) for name in model.feature_names})
    translator = Translator.of(model)
    known = Lesson(translator, sources, Bleu().scorer([Corpus.from_lines(sources)]), tuned_names(model.feature_names))
    references = [translation.text for translation in translator.reweighted(goal).translate(sources)]
    return replace(known, scorer=Bleu().scorer([Corpus.from_lines(references)]))
