"""Compare systems and decision rules over runs and test sets: differences, significance, instability of optimisers.

Methods are compared for each decision, and decisions for each method; all pairs of systems if they are few. Corrections
of p-values are for all pairs on one test set.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dragoman.core.runtime import Runtime
from dragoman.decision.rule import Decisions, Evidence, EvidenceKind
from dragoman.decision.settings import Decision, GridPoint, SampleSource, best_point, grid_rules, search_grid
from dragoman.evaluation.statistics.significance import (
    SIGNIFICANT,
    Correction,
    approximate_randomisation,
    bootstrap_scores,
    conclusive_shares,
    draws_needed,
    holm,
    order_line,
    paired_bootstrap,
)
from dragoman.metrics.metric import Metric, Scorer

if TYPE_CHECKING:  # so that two files can be compared without loading what experiments need
    from dragoman.evaluation.experiments.results import ExperimentSystem, SystemStatistics
    from dragoman.search.translator import Translator


@dataclass(frozen=True)
class Instability:
    """The two standard deviations of Clark et al. (2011), with mean and interval.

    `run_deviation` is the sample standard deviation of the runs' scores (NaN for a single run);
    `selection_deviation` is the bootstrap's, averaged over the runs.
    """

    scores: tuple[float, ...]
    mean: float
    run_deviation: float
    selection_deviation: float


def instability(scorer: Scorer, runs: NDArray[np.float64], *, resamples: int = 1000, seed: int = 0) -> Instability:
    """Return the instability of one system's runs, an array with axes run, sentence and column."""
    scores = scorer.score(runs.sum(axis=1))
    deviation = float(np.std(scores, ddof=1)) if len(scores) > 1 else float("nan")
    resampled = bootstrap_scores(scorer, list(runs), resamples=resamples, seed=seed)
    selection = float(resampled.std(axis=1, ddof=1).mean()) if resamples > 1 else float("nan")
    return Instability(tuple(scores.tolist()), float(scores.mean()), deviation, selection)


@dataclass(frozen=True)
class Resampling:
    """Numbers of resamples and shuffles of the tests."""

    resamples: int = 1000
    trials: int = 10_000
    samples: int = 100
    sample_sizes: tuple[int, ...] = (300,)
    seed: int = 0
    #: Correction of the p-values for the number of pairs.
    correction: Correction = "none"


def compare_systems(
    metric: Metric, scorer: Scorer, names: Sequence[str], systems: Sequence[NDArray[np.float64]], how: Resampling
) -> dict[str, Any]:
    """Run all tests on the statistics (axes run, sentence, column) of some systems.

    Systems with equal statistics of all sentences count as the same. With a correction, pairs have corrected p-values
    beside the raw ones, and the order line uses them.
    """
    upward = metric.higher_is_better
    bootstrap = paired_bootstrap(scorer, systems, higher_is_better=upward, resamples=how.resamples, seed=how.seed)
    shares = {
        size: conclusive_shares(
            scorer,
            systems,
            size=size,
            higher_is_better=upward,
            samples=how.samples,
            resamples=how.resamples,
            seed=how.seed,
        )
        for size in how.sample_sizes
        if how.samples
    }
    pairs = []
    for a, b in itertools.combinations(bootstrap.order(), 2):
        pair: dict[str, Any] = {
            "better": names[a],
            "worse": names[b],
            "difference": float(bootstrap.scores[a] - bootstrap.scores[b]),
            "share_better": bootstrap.share_better(a, b),
            "p_bootstrap": bootstrap.p_value(a, b),
            "same": np.array_equal(systems[a], systems[b]),
            "conclusive": {str(size): [float(table[a, b]), float(table[b, a])] for size, table in shares.items()},
        }
        if how.trials:
            pair["p_randomisation"] = approximate_randomisation(
                scorer, systems[a], systems[b], trials=how.trials, seed=how.seed
            )
        pairs.append(pair)
    order = bootstrap.order_line(names, _same(pairs))
    if how.correction == "holm":
        pairs = with_holm(pairs)
        order = corrected_order(pairs)
    return {"systems": _scores(scorer, names, systems, how), "pairs": pairs, "order": order}


def with_holm(pairs: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the pairs with p-values corrected for all tests of the same kind, beside the raw ones."""
    found = [dict(pair) for pair in pairs]
    for kind in ("p_bootstrap", "p_randomisation"):
        tested = [pair for pair in found if kind in pair]
        for pair, value in zip(tested, holm([pair[kind] for pair in tested]), strict=True):
            pair[f"{kind}_holm"] = value
    return found


def corrected_order(pairs: Sequence[Mapping[str, Any]]) -> str:
    """Return the order of some systems by corrected p-values of the bootstrap, which all their pairs must have."""
    p_values = {(pair["better"], pair["worse"]): pair["p_bootstrap_holm"] for pair in pairs}
    ranking = sorted({name for pair in p_values for name in pair}, key=lambda name: sum(name == b for _, b in p_values))
    return order_line(ranking, lambda better, worse: p_values[better, worse] <= SIGNIFICANT, _same(pairs))


def _same(pairs: Sequence[Mapping[str, Any]]) -> set[tuple[str, str]]:
    return {(pair["better"], pair["worse"]) for pair in pairs if pair.get("same")}


def _scores(
    scorer: Scorer, names: Sequence[str], systems: Sequence[NDArray[np.float64]], how: Resampling
) -> list[dict[str, Any]]:
    rows = []
    for name, runs in zip(names, systems, strict=True):
        found = instability(scorer, runs, resamples=how.resamples, seed=how.seed)
        row = {
            "system": name,
            "score": found.mean,
            "runs": list(found.scores),
            "sd_sentences": found.selection_deviation,
        }
        rows.append(row | ({} if math.isnan(found.run_deviation) else {"sd_runs": found.run_deviation}))
    return rows


#: The largest number of systems with all pairs compared; 12 have 66 pairs.
MOST_TOGETHER = 12

_DRAWS = 1000


@dataclass(frozen=True)
class Group:
    """Systems to compare, with short names that are unique among them; `title` is empty for all systems."""

    title: str
    names: dict[str, ExperimentSystem]
    #: Whether no group before has its pairs.
    new_pairs: bool = True

    @property
    def pairs(self) -> int:
        """The number of pairs."""
        return len(self.names) * (len(self.names) - 1) // 2


@dataclass(frozen=True)
class GroupComparison:
    """Comparisons on one test set: the order of each group by its title, and a row of text for each pair."""

    orders: dict[str, str]
    pairs: list[dict[str, str]]


#: The columns of pairs, with raw and with corrected p-values.
PAIR = ("better", "worse", "difference", "share")
RAW = {"p bootstrap": "p_bootstrap", "p randomisation": "p_randomisation"}
HOLM = {f"{column}, Holm": f"{key}_holm" for column, key in RAW.items()}


def groups(systems: Sequence[ExperimentSystem]) -> list[Group]:
    """Return groups: all systems if they are few, the decisions of each method, and the methods of each decision."""
    decisions = dict.fromkeys(system.decision for system in systems)
    methods = dict.fromkeys(system.method for system in systems)
    together = len(decisions) == 1 or len(systems) <= MOST_TOGETHER
    found = [Group("", {system.name: system for system in systems})] if together else []
    if len(decisions) == 1:
        return found
    for method in methods:
        of_method = [system for system in systems if system.method == method]
        found.append(Group(of_method[0].method_name, {s.decision.name: s for s in of_method}, not together))
    for decision in decisions:
        of_decision = [system for system in systems if system.decision == decision]
        found.append(Group(f"by {decision.name}", {s.method_name: s for s in of_decision}, not together))
    return found


def compare_groups(
    found: Sequence[Group], statistics: SystemStatistics, correction: Correction = "none"
) -> GroupComparison:
    """Compare the systems of all groups on one test set; a pair in several groups counts once."""
    tests = sum(group.pairs for group in found if group.new_pairs)
    # Enough that a pair with twice the smallest p-value can be significant after the correction.
    draws = _DRAWS if correction == "none" else max(_DRAWS, 2 * draws_needed(tests))
    orders: dict[str, str] = {}
    pairs: list[dict[str, Any]] = []
    for group in found:
        names, systems = list(group.names), [statistics.systems[system] for system in group.names.values()]
        how = Resampling(resamples=draws, samples=0, trials=draws if group.new_pairs else 0)
        compared = compare_systems(statistics.metric, statistics.scorer, names, systems, how)
        orders[group.title] = compared["order"]
        if group.new_pairs:
            whole = {short: system.name for short, system in group.names.items()}
            pairs += [_renamed(pair, whole) for pair in compared["pairs"]]
    if correction == "holm":
        pairs = with_holm(pairs)
        orders = {group.title: _corrected_order(group, pairs) for group in found}
    columns = RAW if correction == "none" else {**RAW, **HOLM}
    return GroupComparison(orders, [_row(pair, columns) for pair in pairs])


@dataclass(frozen=True)
class ConclusivePair:
    """A pair of systems, with the proportion of test sets by their size that show the right and the wrong one to be
    significantly better.
    """

    better: str
    worse: str
    difference: float
    shares: Mapping[int, tuple[float, float]]

    def row(self) -> tuple[str, ...]:
        """Return the pair as a row of a table; see `conclusive_text`."""
        shares = (conclusive_text(*share) for share in self.shares.values())
        return (self.better, self.worse, f"{self.difference:+.2f}", *shares)


def conclusive_text(right: float, wrong: float) -> str:
    """Write proportions of right and wrong conclusions as Schuth (2010, table 7.12) does.

    >>> conclusive_text(0.15, 0.01), conclusive_text(1.0, 0.0)
    ('0.15/0.01', '1.00')
    """
    return f"{right:.2f}/{wrong:.2f}" if wrong else f"{right:.2f}"


#: Test sets larger than this many times the sentences that they are drawn from say nothing.
_LARGEST_SAMPLE = 10


def conclusive_pairs(
    found: Sequence[Group],
    statistics: SystemStatistics,
    sizes: Sequence[int],
    *,
    samples: int = 100,
    resamples: int = _DRAWS,
) -> list[ConclusivePair]:
    """Return how often test sets of some sizes, drawn from the sentences, would be conclusive for each pair of systems.

    See `conclusive_shares`. Sizes of more than ten times the number of sentences are left out.
    """
    sentences = next(iter(statistics.systems.values())).shape[1]
    sizes = [size for size in sizes if size <= _LARGEST_SAMPLE * sentences]
    pairs: list[ConclusivePair] = []
    for group in found:
        if not (group.new_pairs and sizes):
            continue
        how = Resampling(resamples=resamples, trials=0, samples=samples, sample_sizes=tuple(sizes))
        systems = [statistics.systems[system] for system in group.names.values()]
        names = [system.name for system in group.names.values()]
        for pair in compare_systems(statistics.metric, statistics.scorer, names, systems, how)["pairs"]:
            shares = {int(size): (right, wrong) for size, (right, wrong) in pair["conclusive"].items()}
            pairs.append(ConclusivePair(pair["better"], pair["worse"], pair["difference"], shares))
    return pairs


def _renamed(pair: dict[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    return {**pair, "better": names[pair["better"]], "worse": names[pair["worse"]]}


def _corrected_order(group: Group, pairs: Sequence[dict[str, Any]]) -> str:
    """Return the order of a group by the corrected p-values of its pairs, from any group."""
    short = {system.name: name for name, system in group.names.items()}
    ours = [pair for pair in pairs if pair["better"] in short and pair["worse"] in short]
    return corrected_order([_renamed(pair, short) for pair in ours])


def _row(pair: dict[str, Any], columns: dict[str, str]) -> dict[str, str]:
    known = (pair["better"], pair["worse"], f"{pair['difference']:+.2f}", f"{pair['share_better']:.3f}")
    return {
        **dict(zip(PAIR, known, strict=True)),
        **{column: f"{pair[key]:.4f}" for column, key in columns.items()},
    }


_DENSITY = 50.0


@dataclass(frozen=True)
class RuleCandidate:
    """A rule by name, its evidence, and the options to try: `scale=1,2,5` for each that varies."""

    rule: str
    evidence: EvidenceKind
    grid: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class TextSet:
    """Sentences with a scorer that knows their references."""

    lines: Sequence[str]
    scorer: Scorer


@dataclass(frozen=True, eq=False)
class RuleResult:
    """A rule's best options on its grid, their score on the held-out sentences, and its translations of test sets."""

    candidate: RuleCandidate
    point: GridPoint
    translations: Mapping[str, list[str]]
    statistics: Mapping[str, NDArray[np.float64]]


class RuleComparison:
    """Comparison of rules for one translator; rules share equal evidence."""

    def __init__(
        self,
        translator: Translator,
        metric: Metric,
        held_out: TextSet,
        tests: Mapping[str, TextSet],
        *,
        nbest_size: int = 1000,
        draw: SampleSource | None = None,
        runtime: Runtime = Runtime(),
    ):
        self._translator, self._metric, self._held_out, self._tests = translator, metric, held_out, tests
        self._nbest_size, self._draw, self._runtime = nbest_size, draw, runtime
        self._cache: dict[tuple[EvidenceKind, bool, str], list[Evidence]] = {}

    def compare(self, candidates: Sequence[RuleCandidate]) -> list[RuleResult]:
        """Choose options and translate, rule by rule."""
        found = []
        with self._runtime.stage("comparing decision rules") as progress_callback:
            for i, candidate in enumerate(candidates):
                found.append(self._one(candidate))
                progress_callback((i + 1) / len(candidates))
        return found

    def _one(self, candidate: RuleCandidate) -> RuleResult:
        decision = Decision.of(candidate.rule, (), candidate.evidence, self._nbest_size)
        rules = grid_rules(type(decision.rule), (), candidate.grid)
        evidence = self._evidence(decision, "", self._held_out)
        runtime = self._runtime.quiet()
        points = search_grid(rules, evidence, self._held_out.scorer, runtime=runtime)
        best = best_point(points, self._metric)
        decided = {
            name: Decisions.concatenate(
                [best.rule.decide(part, runtime=runtime) for part in self._evidence(decision, name, test)]
            )
            for name, test in self._tests.items()
        }
        return RuleResult(
            candidate,
            best,
            {name: decisions.lines() for name, decisions in decided.items()},
            {
                name: self._tests[name].scorer.statistics(decisions.corpus, runtime=runtime)
                for name, decisions in decided.items()
            },
        )

    def _evidence(self, decision: Decision, name: str, texts: TextSet) -> list[Evidence]:
        key = (decision.evidence, decision.rule.distinct_lists, name)
        if key not in self._cache:
            density = _DENSITY if decision.evidence == "hypergraph" else 0.0
            parts = decision.gather(self._translator, texts.lines, density=density, draw=self._draw)
            self._cache[key] = list(parts)
        return self._cache[key]
