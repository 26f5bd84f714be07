"""Results of a diagnosis, by sentence and in summary."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.sampling.diagnostics.convergence import (
    Trace,
    cross_entropy,
    sample_counts,
    sample_entropy,
    sampler_divergence,
)


@dataclass(frozen=True, eq=False)
class Curve:
    """The distribution of the first samples, at growing sizes: its entropy and its divergence from the exact one.

    All in nats. Divergences and `cross_entropy` (the mean of -ln p over all samples, which estimates the exact entropy)
    are None without exact probabilities. `distinct` is the number of different items among all samples.
    """

    entropy: list[float]
    divergence: list[float] | None
    cross_entropy: float | None
    distinct: int

    @classmethod
    def of(cls, trace: Trace, sizes: list[int], log_probabilities: NDArray[np.float64] | None) -> Curve:
        """Return the curve of a trace of items; their log-probabilities are given if they are known."""
        counts = [sample_counts(trace, size) for size in sizes]
        known = log_probabilities
        return cls(
            entropy=[sample_entropy(part) for part in counts],
            divergence=None if known is None else [sampler_divergence(part, known) for part in counts],
            cross_entropy=None if known is None else cross_entropy(counts[-1], known),
            distinct=int((counts[-1] > 0).sum()),
        )


@dataclass(frozen=True, eq=False)
class Curves:
    """Curves of derivations, and of the translations that they write."""

    derivations: Curve
    translations: Curve


@dataclass(frozen=True, eq=False)
class MissingProportions:
    """Proportions that a lattice or list misses: of the samples, of their distinct derivations, and of the probability.

    `probability` is None without exact probabilities.
    """

    samples: float
    derivations: float
    probability: float | None


@dataclass(frozen=True, eq=False)
class RunDiagnostics:
    """Diagnostics of the chains with one starting point.

    `effective_samples`, `r_hat` (split and rank-normalised) and `autocorrelation` are computed from scores.
    `by_nbest` compares with an n-best list of as many derivations as the samples have distinct ones. `accepted` has the
    acceptance rate of each kind of move, None where it was never tried.
    """

    initial: str
    curves: Curves
    effective_samples: float
    r_hat: float
    autocorrelation: list[float]
    by_lattice: MissingProportions
    by_nbest: MissingProportions
    accepted: dict[str, float | None]


@dataclass(frozen=True, eq=False)
class Expectation:
    """Expected features according to some evidence: a list or samples of a given size, or a lattice.

    `log_derivations` is the logarithm of the number of derivations; lists can be shorter than asked for.
    """

    evidence: str
    size: int | None
    log_derivations: float
    values: list[float]


@dataclass(frozen=True, eq=False)
class SentenceDiagnostics:
    """Diagnostics of one sentence; without an `exact` search, which may be too large, exact numbers are None.

    `sizes` are the sample sizes of the curves, over all chains. `r_hat` is computed over all chains together, with
    all starting points. `independent` are curves of independent draws from the exact distribution. `components` is
    the number of parts of the segmentation graph. If there are exact expectations, they come first in `expectations`.
    """

    number: int
    source: str
    words: int
    components: int
    exact: bool
    log_derivations: float | None
    derivation_entropy: float | None
    lattice_log_derivations: float
    sizes: list[int]
    runs: list[RunDiagnostics]
    independent: Curves | None
    r_hat: float
    features: tuple[str, ...]
    expectations: list[Expectation]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as lists and dictionaries, for JSON."""
        return asdict(self)


#: The name of the curves of independent draws, beside the starting points.
INDEPENDENT = "independent"

#: Expectations below this have no relative error.
_SMALLEST = 1e-3


@dataclass(frozen=True, eq=False)
class MeanCurves:
    """Mean divergences and entropies at each of `Summary.sizes`; divergences over sentences with exact numbers."""

    name: str
    derivation_divergence: list[float]
    translation_divergence: list[float]
    derivation_entropy: list[float]
    translation_entropy: list[float]


@dataclass(frozen=True, eq=False)
class MeanRun:
    """Means over sentences of the diagnostics for one starting point; `r_hat` is the maximum."""

    initial: str
    effective_share: float
    r_hat: float
    accepted: dict[str, float | None]
    by_lattice: MissingProportions
    by_nbest: MissingProportions


@dataclass(frozen=True, eq=False)
class ExpectationRow:
    """A row of table 7.1: mean expected features over the sentences with exact numbers, and their errors.

    `differences` are means of estimate minus exact value, `errors` means of its absolute value, and `relative_errors`
    are `errors` divided by the mean absolute exact value; None where that is close to 0.
    """

    evidence: str
    size: int | None
    log_derivations: float
    values: list[float]
    differences: list[float]
    errors: list[float]
    relative_errors: list[float | None]


@dataclass(frozen=True, eq=False)
class Summary:
    """Averages over sentences; exact numbers are averaged over the `exact_sentences` that have them.

    Curves are averaged over the sentences with the full number of samples: others may have run out of time.
    `derivation_entropy` is exact.
    """

    sentences: int
    exact_sentences: int
    derivation_entropy: float | None
    sizes: list[int]
    curves: list[MeanCurves]
    runs: list[MeanRun]
    r_hat: float
    features: tuple[str, ...]
    expectations: list[ExpectationRow]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as lists and dictionaries, for JSON."""
        return asdict(self)


def summarise(sentences: Sequence[SentenceDiagnostics]) -> Summary:
    """Average the diagnostics of one or more sentences."""
    exact = [one for one in sentences if one.exact]
    sizes = max((one.sizes for one in sentences), key=lambda row: row[-1])
    full = [one for one in sentences if one.sizes == sizes]
    return Summary(
        sentences=len(sentences),
        exact_sentences=len(exact),
        derivation_entropy=_mean([one.derivation_entropy for one in exact]),
        sizes=sizes,
        curves=_mean_curves(full),
        runs=[_mean_run(rows, sentences) for rows in zip(*(one.runs for one in sentences), strict=True)],
        r_hat=max(one.r_hat for one in sentences),
        features=sentences[0].features,
        expectations=_mean_expectations(exact),
    )


def _mean_curves(sentences: Sequence[SentenceDiagnostics]) -> list[MeanCurves]:
    names = [run.initial for run in sentences[0].runs]
    curves: dict[str, list[Curves]] = {
        name: [one.runs[place].curves for one in sentences] for place, name in enumerate(names)
    }
    independent = [one.independent for one in sentences if one.independent is not None]
    if independent:
        curves[INDEPENDENT] = independent
    return [
        MeanCurves(
            name,
            *(
                np.mean([curve for curve in found if curve is not None] or [[]], axis=0).tolist()
                for found in (
                    [row.derivations.divergence for row in rows],
                    [row.translations.divergence for row in rows],
                    [row.derivations.entropy for row in rows],
                    [row.translations.entropy for row in rows],
                )
            ),
        )
        for name, rows in curves.items()
    ]


def _mean_run(runs: Sequence[RunDiagnostics], sentences: Sequence[SentenceDiagnostics]) -> MeanRun:
    shares = [run.effective_samples / one.sizes[-1] for run, one in zip(runs, sentences, strict=True)]
    return MeanRun(
        initial=runs[0].initial,
        effective_share=float(np.mean(shares)),
        r_hat=max(run.r_hat for run in runs),
        accepted={move: _mean([run.accepted[move] for run in runs]) for move in runs[0].accepted},
        by_lattice=_mean_missed([run.by_lattice for run in runs]),
        by_nbest=_mean_missed([run.by_nbest for run in runs]),
    )


def _mean_missed(rows: Sequence[MissingProportions]) -> MissingProportions:
    return MissingProportions(
        samples=float(np.mean([row.samples for row in rows])),
        derivations=float(np.mean([row.derivations for row in rows])),
        probability=_mean([row.probability for row in rows]),
    )


def _mean(values: Sequence[float | None]) -> float | None:
    """Return the mean of the values that are not None."""
    there = [value for value in values if value is not None]
    return float(np.mean(there)) if there else None


def _mean_expectations(sentences: Sequence[SentenceDiagnostics]) -> list[ExpectationRow]:
    """Average the rows that all sentences have."""
    tables = [{(row.evidence, row.size): row for row in one.expectations} for one in sentences]
    if not tables:
        return []
    exact = np.array([table["exact", None].values for table in tables])
    rows = []
    for evidence, size in tables[0]:
        if not all((evidence, size) in table for table in tables):
            continue
        found = [table[evidence, size] for table in tables]
        values = np.array([row.values for row in found])
        rows.append(_expectation_row(evidence, size, [row.log_derivations for row in found], values, exact))
    return rows


def _expectation_row(
    evidence: str, size: int | None, logs: list[float], values: NDArray[np.float64], exact: NDArray[np.float64]
) -> ExpectationRow:
    errors = np.abs(values - exact).mean(axis=0)
    scale = np.abs(exact).mean(axis=0)
    return ExpectationRow(
        evidence=evidence,
        size=size,
        log_derivations=float(np.mean(logs)),
        values=values.mean(axis=0).tolist(),
        differences=(values - exact).mean(axis=0).tolist(),
        errors=errors.tolist(),
        relative_errors=[
            error / value if value > _SMALLEST else None
            for error, value in zip(errors.tolist(), scale.tolist(), strict=True)
        ],
    )
