"""Reports of `dragoman mbr`: a table of what was chosen and what it took, matrices of utilities, and a picture."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dragoman.cli.shell import terminal
from dragoman.core.corpus import Corpus
from dragoman.core.files import open_output
from dragoman.core.runtime import Runtime
from dragoman.decision.blocks import BlockDecisions
from dragoman.decision.expected_utility import EstimationReport
from dragoman.metrics.utility import utility_of, utility_signature


class MbrReport:
    """Statistics of the run, counted block by block."""

    def __init__(self) -> None:
        self._first: BlockDecisions | None = None
        self._sentences = self._filled = self._candidates = self._distinct = self._changed = 0
        self._first_gain = self._chosen_gain = 0.0
        self._confidence: float | None = None

    @property
    def first(self) -> BlockDecisions:
        """The first block."""
        assert self._first is not None, "there are candidates"
        return self._first

    def add(self, one: BlockDecisions) -> None:
        """Count a block."""
        self._first = self._first or one
        hypotheses = one.block.hypotheses
        filled = np.flatnonzero(np.diff(hypotheses.sentences))
        firsts = hypotheses.sentences[:-1][filled]
        before = Corpus(hypotheses.vocab, hypotheses.strings.take(firsts)).lines()
        after = one.chosen.lines()
        self._sentences += len(hypotheses)
        self._filled += len(filled)
        self._candidates += len(one.block.lists.hypotheses)
        self._distinct += len(hypotheses.strings)
        self._changed += sum(after[i] != text for i, text in zip(filled.tolist(), before, strict=True))
        self._first_gain = _added(self._first_gain, one.gains[firsts])
        self._chosen_gain = _added(self._chosen_gain, one.chosen.values[filled])
        if one.confidences is not None:
            self._confidence = _added(self._confidence or 0.0, one.confidences_of_choices())

    def show(self, path: Path, utility: str, estimation: EstimationReport | None, *, runtime: Runtime) -> None:
        """Print the statistics."""
        if self._filled < self._sentences:
            empty = self._sentences - self._filled
            runtime.warn(f"{empty:,} of {self._sentences:,} sentences have no candidates; their lines are empty")
        rows: list[tuple[object, ...]] = [
            ("sentences", self._sentences),
            ("candidates", self._candidates),
            ("distinct candidates", self._distinct),
            ("sentences whose choice is not the first candidate", self._changed),
        ]
        if math.isfinite(self._first_gain):  # no first candidate was ruled out
            rows.append((f"expected {utility}, first candidates", self._first_gain / self._filled))
        rows.append((f"expected {utility}, chosen candidates", self._chosen_gain / self._filled))
        if self._confidence is not None:
            rows.append(("mean confidence of the choices, in percent", 100 * self._confidence / self._filled))
        if estimation is not None:
            rows += _estimation_rows(estimation)
        console = terminal.diagnostics()
        console.print(terminal.table(f"{path}: minimum Bayes risk", ["", "value"], rows))
        known = None if utility == "utility" else utility_signature(utility_of(utility))
        if known is not None:
            console.print(known, style="dim", markup=False)


def _estimation_rows(report: EstimationReport) -> list[tuple[object, ...]]:
    """Tabulate the cost of an estimation, and its regret where that was measured."""
    rows: list[tuple[object, ...]] = [
        ("pairs of candidate and pseudo-reference", report.pairs),
        ("calls of the utility", report.calls),
        ("calls, in percent of all pairs", 100 * report.calls / max(1, report.pairs)),
        ("seconds", report.seconds),
    ]
    regret = report.regret
    if regret.sentences:
        rows += [
            ("sentences checked", regret.sentences),
            ("the same choice as the exact one", regret.same_choice),
            ("regret: expected utility lost per sentence", regret.mean),
            ("gain over the first candidate, in percent of the exact choice's", 100 * regret.kept_gain),
        ]
    return rows


def _added(total: float, values: NDArray[np.float64]) -> float:
    """Return the sum, added up one by one, so that it does not depend on where blocks end."""
    return float(np.add.accumulate(np.append(total, values))[-1])


def write_matrix(path: Path, one: BlockDecisions) -> None:
    """Write the utilities of all pairs of a block, with their strings and probabilities."""
    hypotheses, evidence = one.block.hypotheses, one.block.posterior
    with open_output(path) as stream:
        np.savez(
            stream,
            gains=one.matrix,
            expected=one.gains,
            hypothesis_sentences=hypotheses.sentences,
            hypothesis_rows=hypotheses.rows,
            evidence_sentences=evidence.sentences,
            evidence_rows=evidence.rows,
            evidence_probabilities=evidence.probabilities,
        )


def draw_first(path: Path, one: BlockDecisions) -> None:
    """Draw the distribution and the choice of the first sentence."""
    from dragoman.evaluation.figures.decisions import draw_posterior
    from dragoman.evaluation.figures.svg import write_svg

    posterior, sources = one.block.posterior, one.block.lists.sources
    first = posterior.strings.take(np.arange(posterior.sentences[1]))
    probabilities = posterior.probabilities[: posterior.sentences[1]]
    texts = Corpus(posterior.vocab, first).lines()
    picks = {"mbr": one.chosen.lines()[0]}
    if texts:
        picks["most probable"] = texts[int(probabilities.argmax())]
    source = None if sources is None else sources[0]
    write_svg(path, draw_posterior(texts, probabilities.tolist(), picks, source=source))
