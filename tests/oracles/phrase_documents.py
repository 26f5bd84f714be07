"""A document of three sentences with all its derivations: what document features do to chains, by enumeration."""

from __future__ import annotations

import itertools
from dataclasses import replace
from functools import cached_property

import numpy as np

from dragoman.core.corpus import Vocab
from dragoman.core.feature_rows import Weights
from dragoman.core.phrases import PHRASE_SCORES, PhrasePairs
from dragoman.core.ragged import Ragged
from dragoman.features import DocumentFeature, SentenceFeature
from dragoman.features.lexical_consistency import LexicalConsistency
from dragoman.model.bundle import Model
from dragoman.model.parts import Settings
from dragoman.model.phrase_table import PhraseTable
from dragoman.sampling.global_features import GlobalFunctions
from dragoman.sampling.schedule import Schedule
from dragoman.sampling.space import AnySpace
from dragoman.search.limits import SpaceLimits
from dragoman.search.phrase.translator import PhraseTranslator
from oracles.chains import chain_space, run
from oracles.lexical_consistency import lexical_consistency
from oracles.phrase_case import Case
from oracles.sampler import p_value, probabilities

Rows = tuple[tuple[int, ...], ...]


class Same(DocumentFeature):
    """How many words the first and the last sentence of a document have in common, in Python."""

    name = "same"

    def value(self, source, target, changed):
        return float(len(set(target[0].tolist()) & set(target[-1].tolist())))


class LongSentence(SentenceFeature):
    """A feature of sentences beside those of documents."""

    name = "long"

    def value(self, source, target, changed):
        return -float(len(target[0]) ** 2) / 10


class _Sentence(Case):
    """One of the sentences, with all its derivations."""

    def __init__(self, model: Model, limit: int, sentence: str):
        self.model, self.limit, self.sentence = model, limit, sentence
        self.space = SpaceLimits(reordering_limit=limit, table_limit=0)
        self.translator = PhraseTranslator(model, space=self.space)
        self.batch = self.translator.batch([sentence])


def _random_model(rng: np.random.Generator) -> Model:
    """Two source words with three translations each, of one or two words out of six, and their pair with another."""
    pairs = set()
    for source in ((3,), (4,)):
        while sum(pair[0] == source for pair in pairs) < 3:
            pairs.add((source, tuple(rng.integers(3, 9, rng.integers(1, 3)).tolist())))
    pairs.add(((3, 4), tuple(rng.integers(3, 9, 2).tolist())))
    ordered = sorted(pairs)
    sources, targets = sorted({s for s, _ in ordered}), sorted({t for _, t in ordered})
    vocabs = Vocab.of(["f0", "f1"]), Vocab.of([f"e{i}" for i in range(6)])
    table = PhraseTable.from_pairs(
        PhrasePairs(
            *vocabs,
            Ragged.of(sources, np.int32),
            Ragged.of(targets, np.int32),
            np.array([sources.index(s) for s, _ in ordered], np.int32),
            np.array([targets.index(t) for _, t in ordered], np.int32),
            rng.integers(3, 10, (len(ordered), 4)).astype(np.float32) / 10,
            PHRASE_SCORES,
            reordering={},
        )
    )
    model = Model(*vocabs, {"tm": table}, {}, Weights(), Settings())
    return replace(model, weights=Weights(dict.fromkeys(model.feature_names, 0.5)))


class Document:
    """Three sentences, the features of the document, and the score of all its derivations."""

    FEATURES = (LexicalConsistency(min_length=1), Same(), LongSentence())

    def __init__(self, seed: int):
        rng = np.random.default_rng(seed)
        model, self.limit = _random_model(rng), int(rng.integers(0, 3))
        self.cases = [_Sentence(model, self.limit, sentence) for sentence in ("f0 f1", "f1", "f0")]
        self.weights = {"lexical_consistency": 2.0, "same": -1.5, "long": 0.7}

    @property
    def functions(self) -> GlobalFunctions:
        return GlobalFunctions(self.FEATURES, Weights(self.weights))

    def space(self, copies: int = 1, *, jumps: bool = False) -> AnySpace:
        """The space of copies of the document."""
        lines = [case.sentence for case in self.cases] * copies
        bounds = np.arange(0, 3 * copies + 1, 3)
        return chain_space(self.cases[0].translator, lines, jumps=jumps, functions=self.functions, documents=bounds)

    def words(self, rows: Rows) -> list[list[str]]:
        found = []
        for case, row in zip(self.cases, rows, strict=True):
            options = case.batch.options
            found.append([word for option in row for word in options.vocab.text(options.words[option]).split()])
        return found

    def values(self, rows: Rows) -> dict[str, float]:
        source, target = [case.sentence.split() for case in self.cases], self.words(rows)
        return {
            "lexical_consistency": lexical_consistency(source, target),
            "same": float(len(set(target[0]) & set(target[-1]))),
            "long": -sum(len(row) ** 2 for row in target) / 10,
        }

    @cached_property
    def scores(self) -> dict[Rows, float]:
        return {
            rows: sum(case.scores[row] for case, row in zip(self.cases, rows, strict=True))
            + sum(self.weights[name] * value for name, value in self.values(rows).items())
            for rows in itertools.product(*(case.scores for case in self.cases))
        }

    def stationary_p_value(self, schedule: Schedule, temperature: float, copies: int, seed: int) -> float | None:
        """Whether documents that begin with exact draws of the joint π still have π after three scans."""
        rng = np.random.default_rng(seed)
        rows = list(self.scores)
        expected = probabilities(np.array(list(self.scores.values())), temperature)
        drawn = [rows[i] for i in rng.choice(len(rows), copies, p=expected)]
        space = self.space(copies, jumps=bool(schedule.jump_every))
        starts = Ragged.of([row for rows in drawn for row in rows], np.int32)
        visited = run(space, schedule, seed=seed, samples=1, thin=3, temperature=temperature, starts=starts)
        number = {document: i for i, document in enumerate(rows)}
        counts = np.zeros(len(rows))
        ended = [tuple(derivation.tolist()) for derivation in visited.derivations]
        for document in zip(ended[::3], ended[1::3], ended[2::3], strict=True):
            counts[number[document]] += 1
        return p_value(counts, expected * copies)
