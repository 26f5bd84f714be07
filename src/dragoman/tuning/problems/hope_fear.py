"""Hypotheses that online MIRA learns from: the model's best, those to hope for, and those to fear.

Chiang, Marton & Resnik (2008), sections 2.2 to 2.4. A hypothesis is worth B(e), the score of a pseudo-document with it
(equation 8), where the size of a sentence is the number of its source words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman.core.corpus import Corpus, Vocab
from dragoman.core.feature_rows import FeatureRows, Weights
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.forest.derivation import derivation_scores, yields
from dragoman.forest.hope import BEAM, FEAR, InDocument, Objective, hope, rescore
from dragoman.forest.kbest import kbest
from dragoman.metrics.bleu import BleuScorer
from dragoman.metrics.metric import Scorer
from dragoman.search.translation import SearchResult
from dragoman.search.translator import Translator, TranslatorSpec
from dragoman.text.words import words_of
from dragoman.tuning.problems.forest_counts import ReferenceWords
from dragoman.tuning.problems.pseudo_document import perfect_document, worth

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class HypothesisSettings:
    """The numbers of hypotheses by the model, by hope and by fear, and the choice of the oracle.

    B is multiplied by `gain_scale`. `candidates` is the size of the n-best list from which hope and fear are chosen if
    the metric cannot be counted in a forest; `beam` is the beam of rescoring if it can.
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

    searched: SearchResult
    vocab: Vocab
    derivations: Ragged[np.int32]
    texts: Ragged[np.int32]
    statistics: Vector
    gains: Vector
    scores: Vector
    best: int

    def highest(self, objective: Objective, count: int) -> NDArray[np.int64]:
        """Return the rows that are best by an objective, best first; of equal ones the first."""
        values = objective.score * self.scores + objective.gain * self.gains
        return np.argsort(-values, kind="stable")[:count]


@dataclass(frozen=True, eq=False)
class Hypotheses:
    """Features, gains and statistics of different translations of one sentence, the oracle first.

    Gains are B times its scale. `statistics`, and `translation` (of the model's best), have the size of the sentence as
    a last number; `words` is the length of the model's best.
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


class HypothesisFinder:
    """Searches sentences, one at a time, and chooses hypotheses of each.

    Workers that it is sent to load the model from its `folder`.
    """

    def __init__(
        self,
        translator: Translator,
        lines: Sequence[str],
        scorer: Scorer,
        sign: int,
        wanted: HypothesisSettings,
        *,
        folder: Path | None = None,
    ):
        self._translator = translator.reweighted(translator.weights, runtime=translator.runtime.with_threads(1))
        self._lines, self._scorer, self._sign, self._wanted = lines, scorer, sign, wanted
        self._folder = folder
        #: BLEU without a tokeniser, by which forests can be rescored; and the model's words by reference ids.
        self._bleu: BleuScorer | None = None
        self._words: ReferenceWords | None = None
        if sign > 0 and isinstance(scorer, BleuScorer) and scorer.metric.tokenise == "none":
            self._bleu = scorer
            self._words = ReferenceWords.of(translator.model.target_vocab, scorer.references)

    def __reduce__(self) -> tuple[Any, ...]:
        assert self._folder is not None
        recipe = TranslatorSpec.of(self._translator, self._folder)
        return _made, (recipe, self._lines, self._scorer, self._sign, self._wanted)

    def __call__(self, item: tuple[int, Weights, Vector], runtime: Runtime) -> Hypotheses:
        """Find hypotheses, as work that is mapped."""
        return self.find(*item)

    def first_document(self) -> Vector:
        """Return the pseudo-document before the first sentence: for BLEU a short perfect translation, else zeros."""
        width = self._scorer.statistics(Corpus.from_lines([""]), np.zeros(1, np.int64)).shape[1] + 1
        columns = self._scorer.bleu_columns
        return np.zeros(width) if columns is None or self._sign < 0 else perfect_document(columns, width)

    def document_before(self, sentence: int, weights: Weights, *, decay: float = 0.9, lines: int = 20) -> Vector:
        """Return the pseudo-document of the last `lines` sentences before a sentence, under the same weights."""
        document = self.first_document()
        for before in range(max(0, sentence - lines), sentence):
            document = decay * (document + self.pool(before, weights, document, []).statistics[0])
        return document

    def find(self, sentence: int, weights: Weights, document: Vector) -> Hypotheses:
        """Search a sentence under some weights, and choose hypotheses; B is measured within a pseudo-document."""
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
        """Search a sentence, and take the best by the model and by each objective.

        Forests are rescored by approximate counts; the gains use true counts. For metrics that cannot be counted in a
        forest, all come from the model's list, which is longer then.
        """
        line, wanted = self._lines[sentence], self._wanted
        (searched,) = self._translator.reweighted(weights).search_batches([line], forests=True)
        graph = searched.hypergraph(0, features=False)
        counted = _Counted.of(self._bleu, self._words, graph.vocab)
        count = wanted.best if counted is not None else max(wanted.best, wanted.candidates)
        by_model = kbest(graph, count, distinct=True)
        best = by_model.derivations
        lists = [best]
        if counted is not None:
            first = yields(graph, best.take(np.zeros(1, np.int64)))
            place = counted.place(sentence, first, document, size=len(words_of(line)))
            k = max(wanted.hope, wanted.fear, 1)
            floor = float(by_model.scores[k - 1]) if len(best) >= k else -np.inf
            rescored = rescore(graph, place, objectives, k, beam=wanted.beam, floor=floor)
            lists += [found.derivations for found in rescored]
        derivations = Ragged.concatenate(lists)
        texts = yields(graph, derivations)
        # The model's list comes first: of all derivations of one text, the one there is the best.
        rows: dict[bytes, int] = {}
        for row, text in enumerate(texts):
            rows.setdefault(text.tobytes(), row)
        different = np.array([*rows.values()])
        derivations, texts = derivations.take(different), texts.take(different)
        statistics = self._statistics(counted, graph.vocab, texts, sentence)
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

    def _statistics(self, counted: _Counted | None, vocab: Vocab, texts: Ragged[np.int32], sentence: int) -> Vector:
        sentences, size = np.full(len(texts), sentence, np.int64), len(words_of(self._lines[sentence]))
        if counted is not None and counted.words.whole:
            statistics = counted.statistics(texts, sentences)
        else:
            # As text: the metric prepares the whole vocabulary, and these words are few.
            lines = vocab.decode(texts.values, texts.offsets).decode().split("\n")[:-1]
            statistics = self._scorer.statistics(Corpus.from_lines(lines), sentences)
        return np.column_stack([np.asarray(statistics, np.float64), np.full(len(texts), size, np.float64)])


def _made(
    recipe: TranslatorSpec, lines: Sequence[str], scorer: Scorer, sign: int, wanted: HypothesisSettings
) -> HypothesisFinder:
    return HypothesisFinder(recipe.translator(), lines, scorer, sign, wanted)


@dataclass(frozen=True, eq=False)
class _Counted:
    """BLEU's counts of texts, whose words are known by their ids in references."""

    scorer: BleuScorer
    words: ReferenceWords

    @classmethod
    def of(cls, scorer: BleuScorer | None, words: ReferenceWords | None, vocab: Vocab) -> _Counted | None:
        """Return the counts for a vocabulary with unknown source words after the model's words."""
        return None if scorer is None or words is None else cls(scorer, words.and_new(vocab, scorer.references))

    def statistics(self, texts: Ragged[np.int32], sentences: NDArray[np.int64]) -> Vector:
        """Return BLEU's statistics of texts."""
        return self.scorer.counts_of_words(Ragged(self.words.ids[texts.values], texts.offsets), sentences)

    def place(self, sentence: int, best: Ragged[np.int32], document: Vector, *, size: int) -> InDocument:
        """Return the document for B; the reference length is the one for the model's best translation."""
        references, columns = self.scorer.references, self.scorer.bleu_columns
        assert columns is not None
        lengths = self.scorer.reference_lengths(best.lengths, np.array([sentence]))
        several = len(references)
        return InDocument(
            references=references.grouped.take(np.arange(several * sentence, several * (sentence + 1))),
            word_ids=self.words.ids,
            document=np.append(document[columns], document[-1]),
            source_words=float(size),
            reference_words=float(lengths[0]),
        )


#: Objectives of figures by the weight of the model: from none to all, and fear.
OBJECTIVES: Mapping[str, Objective] = {"0": hope(0.0), "0.5": hope(0.5), "1": hope(1.0), "inf": FEAR}


class Oracle(NamedTuple):
    """A translation: its B, the model's score, and its words."""

    gain: float
    score: float
    translation: str


def oracle_lists(
    finder: HypothesisFinder,
    sentence: int,
    weights: Weights,
    count: int = 10,
    objectives: Mapping[str, Objective] = OBJECTIVES,
) -> dict[str, list[Oracle]]:
    """Return the best translations of a sentence by each objective, within a pseudo-document of those before it."""
    document = finder.document_before(sentence, weights)
    pool = finder.pool(sentence, weights, document, [*objectives.values()])
    return {
        name: [
            Oracle(float(pool.gains[i]), float(pool.scores[i]), pool.vocab.text(pool.texts[i]))
            for i in pool.highest(objective, count).tolist()
        ]
        for name, objective in objectives.items()
    }
