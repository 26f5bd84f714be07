"""A hierarchical model that a person can overlook, with text that it translates."""

from __future__ import annotations

import numpy as np

from dragoman.core.corpus import Corpus, Vocab
from dragoman.core.phrases import PHRASE_SCORES, NGrams, PhrasePairs
from dragoman.core.progress import Progress
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.model.bundle import Model
from dragoman.model.grammar import Grammar
from dragoman.model.language_model import LanguageModel
from dragoman.model.parts import initial_chart_weights
from dragoman.training.lm.kneser_ney import KneserNey, estimate

#: Source side, target side, links between symbols, p(e|f).
RULES = """
un | a | 0-0 | 0.9
un | one | 0-0 | 0.1
le | the | 0-0 | 0.8
le | it | 0-0 | 0.2
homme | man | 0-0 | 1
chat | cat | 0-0 | 1
chien | dog | 0-0 | 1
noir | black | 0-0 | 0.7
noir | dark | 0-0 | 0.3
dort | sleeps | 0-0 | 0.6
dort | sleep | 0-0 | 0.4
mange | eats | 0-0 | 0.6
mange | eat | 0-0 | 0.4
de | of | 0-0 | 0.5
un [1] | a [1] | 0-0 | 0.9
ne [1] pas | does not [1] | 0-0 2-1 | 0.8
ne [1] pas | not [1] | 2-0 | 0.2
[1] noir | black [1] | 1-0 | 0.9
[1] de [2] | [2] 's [1] | 1-1 | 0.6
le [1] de [2] | [2] 's [1] | 2-1 | 0.7
le [1] de [2] | the [1] of [2] | 0-0 2-2 | 0.3
"""

SOURCE = ["un chat noir dort", "le chat de un homme ne mange pas", "le chien dort", "un homme ne dort pas", "un zèbre"]
TARGET = ["a black cat sleeps", "a man 's cat does not eat", "the dog sleeps", "a man does not sleep", "a zèbre"]


class _Quiet(Progress):
    """Tiny texts always need the discounts' fallback: no news."""

    def warn(self, text: str) -> None:
        pass


def tiny_ngrams() -> NGrams:
    """The n-grams of the target text."""
    return estimate(Corpus.from_lines(TARGET[:-1] * 2), KneserNey(order=3), runtime=Runtime(progress=_Quiet()))


def tiny_model() -> Model:
    """The model of these rules, with a language model of the target text."""
    rows = [[part.strip() for part in line.split("|")] for line in RULES.strip().splitlines()]
    words = [sorted({w for row in rows for w in row[side].split() if not w.startswith("[")}) for side in (0, 1)]
    vocabs = [Vocab.of(words[side]) for side in (0, 1)]
    sides = [
        [tuple(-int(w[1]) if w.startswith("[") else vocabs[side].id(w) for w in row[side].split()) for row in rows]
        for side in (0, 1)
    ]
    sources, targets = (list(dict.fromkeys(side)) for side in sides)
    links = [[256 * int(s) + int(t) for s, t in (link.split("-") for link in row[2].split())] for row in rows]
    pairs = PhrasePairs(
        vocabs[0],
        vocabs[1],
        Ragged.of(sources, np.int32),
        Ragged.of(targets, np.int32),
        np.array([sources.index(side) for side in sides[0]], np.int32),
        np.array([targets.index(side) for side in sides[1]], np.int32),
        np.array([[float(row[3])] * len(PHRASE_SCORES) for row in rows], np.float32),
        PHRASE_SCORES,
        alignments=Ragged.of(links, np.uint16),
    )
    weights = initial_chart_weights({"tm": PHRASE_SCORES}, ["lm"])
    return Model(
        vocabs[0],
        vocabs[1],
        {},
        {"lm": LanguageModel.from_ngrams(tiny_ngrams())},
        weights,
        grammars={"tm": Grammar.from_pairs(pairs)},
    )
