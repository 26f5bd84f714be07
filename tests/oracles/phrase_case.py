"""Random models with a sentence and all its derivations: what searches and samplers are compared with."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from dragoman.core.ragged import Ragged
from dragoman.features import BoundaryFeature
from dragoman.sampling.schedule import Schedule
from dragoman.search.limits import SpaceLimits
from dragoman.search.phrase.batch import boundary_names
from dragoman.search.phrase.lattice import option_features
from dragoman.search.phrase.translator import PhraseTranslator
from oracles import phrase_space


class Boundaries(BoundaryFeature):
    """A boundary feature with two kinds of options on either side."""

    name = prefix = "boundary"
    symbols = ("", "x", "y")

    def __call__(self, options):
        sums = np.bincount(
            np.repeat(np.arange(len(options)), options.words.lengths), options.words.values, len(options)
        ).astype(np.int32)
        return 1 + (options.begin + sums) % 2, 1 + (options.end + sums // 2) % 2


class Case:
    """A random model, a sentence, and all its derivations."""

    def __init__(self, seed, longest=4):
        rng = np.random.default_rng(seed)
        self.rng = rng
        self.model = phrase_space.random_model(
            rng,
            tables=int(rng.integers(1, 3)),
            language_models=int(rng.integers(0, 3)),
            reordering=bool(rng.random() < 0.7),
        )
        self.limit = int(rng.integers(-1, 5))
        self.space = SpaceLimits(reordering_limit=self.limit, table_limit=int(rng.integers(1, 4)))
        self.sentence = phrase_space.random_sentence(rng, longest)
        weights = self.model.weights
        boundary = Boundaries() if rng.random() < 0.5 else None
        if boundary:
            weights = weights.updated({name: float(rng.normal()) for name in boundary_names(boundary)})
        self.translator = PhraseTranslator(
            self.model, weights, space=self.space, features=[boundary] if boundary else []
        )
        self.batch = self.translator.batch([self.sentence])

    @cached_property
    def derivations(self):
        choices = phrase_space.options(self.model, self.sentence, self.space.table_limit)
        return list(phrase_space.derivations(choices, len(self.sentence.split()), self.limit))

    @cached_property
    def _numbers(self):
        options = self.batch.options
        words = [tuple(options.vocab.text(row).split()) for row in options.words]
        return {key: i for i, key in enumerate(zip(options.begin.tolist(), options.end.tolist(), words, strict=True))}

    def row(self, derivation):
        return tuple(self._numbers[option.begin, option.end, option.words] for option in derivation)

    @cached_property
    def scores(self):
        """All derivations as rows of options, scored as a whole from their features."""
        rows = [self.row(derivation) for derivation in self.derivations]
        features = option_features(self.batch, Ragged.of(rows, np.int32), np.zeros(len(rows), np.int64))
        return dict(zip(rows, features.dot(self.translator.weights).tolist(), strict=True))


def random_schedule(rng: np.random.Generator) -> Schedule:
    """Any subset of the operators, any scan, with jumps or without."""
    rates = [float(rng.uniform(0.5, 2)) if rng.random() < 0.7 else 0.0 for _ in range(3)]
    return Schedule(
        scan="random" if rng.random() < 0.5 else "systematic",
        merge_split=rates[0],
        reorder=rates[1],
        retranslate=rates[2],
        jump_every=int(rng.integers(1, 3)) if not any(rates) or rng.random() < 0.5 else 0,
        forward_share=float(rng.choice([0.0, 0.2, 1.0])),
    )
