"""Choices from candidates: the texts, and why each was chosen."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.core.display import frame, html_table
from dragoman.decision.diversity import diverse_rows
from dragoman.decision.expected_utility import EstimationReport

Vector = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RatedCandidates:
    """Distinct candidates of all sentences with the number that decides, and their probability in the evidence.

    Sentence `s` has the candidates from `sentences[s]` to `sentences[s + 1]`. `values` are expected utilities or
    scores; -inf marks candidates that were ruled out before they were compared with all evidence.
    """

    texts: list[str]
    sentences: NDArray[np.int64]
    values: Vector
    probabilities: Vector
    ids: tuple[int | str, ...]
    #: The share of resamples of the evidence in which a candidate is the best, if it was asked for.
    confidences: Vector | None = None

    def order(self, sentence: int) -> NDArray[np.int64]:
        """Return the candidates of a sentence, best first; the first among equals comes first."""
        begin, end = self.sentences[sentence : sentence + 2].tolist()
        return np.argsort(-self.values[begin:end], kind="stable") + np.int64(begin)


class ChosenTexts(list[str]):
    """The texts that `mbr` or `rerank` chose, as a list, with the candidates they were chosen from.

    `candidates` has all candidates with their values; `report` says what the estimation of expected utilities took.
    """

    def __init__(self, texts: Iterable[str], candidates: RatedCandidates, report: EstimationReport | None = None):
        super().__init__(texts)
        self.candidates = candidates
        self.report = report

    @classmethod
    def of_best(cls, candidates: RatedCandidates, report: EstimationReport | None = None) -> ChosenTexts:
        """Choose the best candidate of each sentence; a sentence without candidates gets an empty text."""
        firsts = [candidates.order(s)[:1].tolist() for s in range(len(candidates.ids))]
        return cls([candidates.texts[rows[0]] if rows else "" for rows in firsts], candidates, report)

    @property
    def texts(self) -> list[str]:
        """The chosen texts as a plain list."""
        return [*self]

    @property
    def scores(self) -> Vector:
        """The value of each choice: its expected utility, or its score; NaN for sentences without candidates."""
        return self._of_choices(self.candidates.values)

    @property
    def probabilities(self) -> Vector:
        """The probability of each chosen text in the evidence: a first idea of how sure a choice is."""
        return self._of_choices(self.candidates.probabilities)

    @property
    def confidences(self) -> Vector | None:
        """The share of resamples of the evidence with the same choice; None unless `mbr` was given `resamples`."""
        known = self.candidates.confidences
        return None if known is None else self._of_choices(known)

    def nbest(self, count: int) -> list[list[str]]:
        """Return the best candidates of each sentence, best first."""
        known = self.candidates
        return [[known.texts[i] for i in known.order(s)[:count].tolist()] for s in range(len(self))]

    def diverse(self, count: int, *, weight: float = 1.0) -> list[list[str]]:
        """Return sets of candidates that are good and different (Jinnai et al. 2024): see `diverse_rows`."""
        known, found = self.candidates, []
        for s in range(len(self)):
            begin, end = known.sentences[s : s + 2].tolist()
            rows = diverse_rows(known.texts[begin:end], known.values[begin:end], count, weight)
            found.append([known.texts[begin + i] for i in rows.tolist()])
        return found

    def frame(self) -> Any:
        """Return a pandas frame with a row per candidate: sentence, rank, text, value, probability, confidence."""
        known = self.candidates
        rows = np.concatenate([np.empty(0, np.int64), *(known.order(s) for s in range(len(self)))])
        sizes = np.diff(known.sentences)
        columns: dict[str, Any] = {
            "sentence": np.repeat(np.array(known.ids, object), sizes),
            "rank": np.arange(len(rows)) - np.repeat(known.sentences[:-1], sizes) + 1,
            "text": [known.texts[i] for i in rows.tolist()],
            "value": known.values[rows],
            "probability": known.probabilities[rows],
        }
        return frame(columns | ({} if known.confidences is None else {"confidence": known.confidences[rows]}))

    def _repr_html_(self) -> str:
        """Show the best candidates of the first sentences, for notebooks."""
        known, rows = self.candidates, []
        for s in range(min(len(self), 5)):
            order = known.order(s).tolist()
            for rank, i in enumerate(order[:4], 1):
                name, place = (known.ids[s], f"chosen of {len(order):,}") if rank == 1 else ("", rank)
                rows.append((name, place, known.texts[i], float(known.values[i]), float(known.probabilities[i])))
        columns = ["sentence", "place", "candidate", "value", "probability"]
        shown = f"{min(len(self), 5)} of {len(self):,} sentences: the candidates with the highest values"
        return html_table(columns, rows, shown)

    def _of_choices(self, values: Vector) -> Vector:
        firsts = [self.candidates.order(s)[:1].tolist() for s in range(len(self))]
        return np.array([values[rows[0]] if rows else np.nan for rows in firsts], np.float64)
