"""What online MIRA learns from: hypotheses of a sentence that the model likes, that it should like, and should not.

Chiang, Marton & Resnik (2008), sections 2.2 to 2.4. A hypothesis is worth B(e), the score of a pseudo-document with it
(equation 8), where the size of a sentence is the number of its source words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dragoman.core.corpus import Corpus
from dragoman.core.feature_rows import FeatureRows
from dragoman.core.hypergraph import Hypergraph
from dragoman.core.ragged import Ragged
from dragoman.core.vocab import SPECIAL, Vocab
from dragoman.core.weights import Weights
from dragoman.forest.derivation import derivation_scores, yields
from dragoman.forest.hope import BEAM, FEAR, InDocument, Objective, hope, rescore
from dragoman.forest.kbest import kbest
from dragoman.metrics.bleu import BleuScorer
from dragoman.metrics.metric import Scorer
from dragoman.search.searched import Searched
from dragoman.search.spread import Recipe
from dragoman.search.translator import Translator
from dragoman.text.words import words_of
from dragoman.tuning.problems.forest_counts import reference_ids
from dragoman.tuning.problems.pseudo_document import perfect_document, worth

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Wanted:
    """Which hypotheses: so many of the best by the model, by hope and by fear, and which of them is the oracle.

    B counts `gain_scale` times. `candidates` are the best by the model, from which hope and fear are chosen where the
    metric cannot be counted in a forest; `beam` is that of rescoring where it can.
    """

    best: int = 10
    hope: int = 10
    fear: int = 10
    mu: float = 0.5
    oracle: Literal["hope", "local"] = "hope"
    candidates: int = 200
    beam: int = BEAM
    gain_scale: float = 1.0


@dataclass(frozen=True, eq=False)
class Pool:
    """Different translations of one sentence, beginning with the `best` by the model.

    `gains` are B of each, `scores` the model's under the weights of the search, `statistics` the metric's, with the
    size of the sentence as a last column.
    """

    searched: Searched
    vocab: Vocab
    derivations: Ragged[np.int32]
    texts: Ragged[np.int32]
    statistics: Vector
    gains: Vector
    scores: Vector
    best: int

    def highest(self, objective: Objective, count: int) -> NDArray[np.int64]:
        """The rows that are best by an objective, best first; of equal ones the first."""
        values = objective.score * self.scores + objective.gain * self.gains
        return np.argsort(-values, kind="stable")[:count]


@dataclass(frozen=True, eq=False)
class Hypotheses:
    """What is learnt from one sentence: features, gains and statistics of different translations, the oracle first.

    Gains are B, as often as it counts. `statistics`, and `translation` of what the model likes best, have the size of
    the sentence as a last number; `words` is how many the latter has.
    """

    features: FeatureRows
    gains: Vector
    statistics: Vector
    translation: Vector
    words: int

    def __len__(self) -> int:
        return len(self.gains)

    @property
    def oracle(self) -> Vector:
        """The statistics of the oracle."""
        oracle: Vector = self.statistics[0]
        return oracle


@dataclass(frozen=True, eq=False)
class FindElsewhere:
    """Finds hypotheses on a worker, which makes its finder once."""

    recipe: Recipe
    lines: Sequence[str]
    scorer: Scorer
    sign: int
    wanted: Wanted

    @cached_property
    def _finder(self) -> HypothesisFinder:
        return HypothesisFinder(self.recipe.translator(), self.lines, self.scorer, self.sign, self.wanted)

    def __call__(self, item: tuple[int, Weights, Vector]) -> Hypotheses:
        """Search a sentence under some weights, and choose; B is that within a pseudo-document."""
        return self._finder.find(*item)


class HypothesisFinder:
    """Searches sentences, one at a time, and chooses hypotheses of each."""

    def __init__(self, translator: Translator, lines: Sequence[str], scorer: Scorer, sign: int, wanted: Wanted):
        self._translator = translator.reweighted(translator.weights, threads=1)
        self._lines, self._scorer, self._sign, self._wanted = lines, scorer, sign, wanted
        countable = sign > 0 and isinstance(scorer, BleuScorer) and scorer.metric.tokenise == "none"
        self._references = scorer.references if countable and isinstance(scorer, BleuScorer) else None
        self._known = translator.model.target_vocab
        self._ids = None if self._references is None else reference_ids(self._known, self._references)

    def first_document(self) -> Vector:
        """The pseudo-document before the first sentence: for BLEU a short perfect translation, else nothing."""
        width = self._scorer.statistics(Corpus.from_lines([""]), np.zeros(1, np.int64)).shape[1] + 1
        columns = self._scorer.bleu_columns
        return np.zeros(width) if columns is None or self._sign < 0 else perfect_document(columns, width)

    def document_before(self, sentence: int, weights: Weights, *, decay: float = 0.9, lines: int = 20) -> Vector:
        """The pseudo-document after the sentences before a sentence, as many as matter, under the same weights."""
        document = self.first_document()
        for before in range(max(0, sentence - lines), sentence):
            document = decay * (document + self.pool(before, weights, document, []).statistics[0])
        return document

    def find(self, sentence: int, weights: Weights, document: Vector) -> Hypotheses:
        """Search a sentence under some weights, and choose; B is that within a pseudo-document."""
        wanted = self._wanted
        hopes, fears = (objective.with_gain(wanted.gain_scale) for objective in (hope(wanted.mu), FEAR))
        local = wanted.oracle == "local"
        pool = self.pool(sentence, weights, document, [hopes] * (not local) + [fears] * (wanted.fear > 0))
        by_model = np.arange(min(wanted.best, pool.best))
        hoped = by_model[[int(np.argmax(pool.gains[by_model]))]] if local else pool.highest(hopes, wanted.hope)
        every = np.concatenate([hoped, by_model, pool.highest(fears, wanted.fear)])
        chosen = np.array([*dict.fromkeys(every.tolist())])  # each once, the oracle first
        used, rows = np.unique(pool.derivations.take(chosen).values, return_inverse=True)
        of_edges = pool.searched.edge_features(0, used)
        return Hypotheses(
            features=of_edges.sum_over(Ragged(rows.astype(np.int32), pool.derivations.take(chosen).offsets)),
            gains=wanted.gain_scale * pool.gains[chosen],
            statistics=pool.statistics[chosen],
            translation=pool.statistics[0],
            words=len(pool.texts[0]),
        )

    def pool(self, sentence: int, weights: Weights, document: Vector, objectives: Sequence[Objective]) -> Pool:
        """Search a sentence, and take what is best by the model and by each objective, as far as they are known.

        Forests are rescored by approximate counts; the gains are those by true ones. For metrics that no forest can
        count, all come from the model's list, which is longer then.
        """
        line, wanted = self._lines[sentence], self._wanted
        (searched,) = self._translator.reweighted(weights).searched([line], forests=True)
        graph = searched.hypergraph(0, features=False)
        known = self._references is not None
        best = kbest(graph, wanted.best if known else max(wanted.best, wanted.candidates), distinct=True).derivations
        lists = [best]
        if known:
            place = self._place(graph, sentence, best, document)
            lists += [
                found.derivations
                for found in rescore(graph, place, objectives, max(wanted.hope, wanted.fear, 1), beam=wanted.beam)
            ]
        derivations = Ragged.concatenate(lists)
        # The model's list comes first: of all derivations of one text, the one there is the best.
        first: dict[bytes, int] = {}
        for row, text in enumerate(yields(graph, derivations)):
            first.setdefault(text.tobytes(), row)
        derivations = derivations.take(np.array([*first.values()]))
        texts = yields(graph, derivations)
        statistics = self._statistics(graph.vocab, texts, sentence)
        return Pool(
            searched=searched,
            vocab=graph.vocab,
            derivations=derivations,
            texts=texts,
            statistics=statistics,
            gains=worth(document + statistics, self._scorer, self._sign),
            scores=derivation_scores(graph, derivations),
            best=len(best),
        )

    def _place(self, graph: Hypergraph, sentence: int, best: Ragged[np.int32], document: Vector) -> InDocument:
        """Where B is counted; the length of the reference is that for what the model likes best."""
        assert self._references is not None
        assert self._ids is not None
        assert self._scorer.bleu_columns is not None
        statistics = self._statistics(graph.vocab, yields(graph, best.take(np.zeros(1, np.int64))), sentence)[0]
        columns = self._scorer.bleu_columns
        ids = self._ids
        if len(graph.vocab) > len(self._known):  # unknown source words come after the model's target words
            new = Vocab.of(graph.vocab[i] for i in range(len(self._known), len(graph.vocab)))
            ids = np.concatenate([ids, reference_ids(new, self._references)[len(SPECIAL) :]])
        several = len(self._references)
        return InDocument(
            references=self._references.grouped.take(np.arange(several * sentence, several * (sentence + 1))),
            word_ids=ids,
            document=np.append(document[columns], document[-1]),
            source_words=float(statistics[-1]),
            reference_words=float(statistics[columns[-1]]),
        )

    def _statistics(self, vocab: Vocab, texts: Ragged[np.int32], sentence: int) -> Vector:
        # As text: the metric looks at all words of a vocabulary, and these are few.
        corpus = Corpus.from_lines(vocab.decode(texts.values, texts.offsets).decode().split("\n")[:-1])
        statistics = self._scorer.statistics(corpus, np.full(len(texts), sentence, np.int64))
        size = len(words_of(self._lines[sentence]))
        return np.column_stack([np.asarray(statistics, np.float64), np.full(len(texts), size, np.float64)])
