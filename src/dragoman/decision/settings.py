"""Settings of a decision: a rule with its evidence, and grid search over its options."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

from dragoman.core.errors import DataError, UsageError
from dragoman.core.options import format_toml, parse_options, read_toml
from dragoman.core.runtime import Runtime
from dragoman.core.samples import Samples
from dragoman.decision import RULES
from dragoman.decision.lattice_rule import LatticeRule
from dragoman.decision.rule import Decisions, Evidence, EvidenceKind, Rule
from dragoman.forest.kbest import nbest
from dragoman.forest.prune import prune_to_density
from dragoman.metrics.metric import Metric, Scorer
from dragoman.sampling.schedule import Sampling
from dragoman.search.translation import SearchResult
from dragoman.search.translator import Translator

#: Draws samples of sentences, a batch at a time.
SampleSource = Callable[[Iterable[str]], Iterator[Samples]]


def evidence_of(
    result: SearchResult, kind: EvidenceKind, *, size: int, distinct: bool, density: float, runtime: Runtime = Runtime()
) -> Evidence:
    """Return evidence from a search with `forests`; for the arguments see `gather`."""
    graphs = [result.hypergraph(i, features=False) for i in range(len(result))]
    if kind == "nbest":
        return nbest(graphs, size, distinct=distinct, runtime=runtime)
    return [prune_to_density(graph, density) for graph in graphs] if density else graphs


def gather(
    translator: Translator,
    lines: Iterable[str],
    kind: EvidenceKind,
    *,
    size: int = 1000,
    distinct: bool = True,
    density: float = 0.0,
    draw: SampleSource | None = None,
) -> Iterator[Evidence]:
    """Yield evidence of some kind about tokenised sentences, in order, a batch at a time.

    N-best lists have the `size` best derivations, or distinct strings if `distinct`. Hypergraphs have all that the
    search kept; if `density` is not 0, they are pruned to save memory. Samples come from `draw`.
    """
    if kind == "samples":
        if draw is None:
            raise UsageError("samples need a sampler")
        yield from draw(lines)
        return
    for result in translator.search_batches(lines, forests=True):
        yield evidence_of(result, kind, size=size, distinct=distinct, density=density, runtime=translator.runtime)


_KEYS = {"rule", "evidence", "nbest_size", "options", "sampling", "tuning"}


@dataclass(frozen=True)
class Decision:
    """A rule, the kind of evidence, the size of n-best lists, and the options of `sampling`."""

    rule: Rule
    evidence: EvidenceKind
    nbest_size: int = 1000
    sampling: Sampling | None = None

    @classmethod
    def of(
        cls,
        text: str,
        assignments: Sequence[str] = (),
        evidence: EvidenceKind | None = None,
        nbest_size: int | None = None,
    ) -> Decision:
        """Return a decision from a rule's name, or from a file that `format` wrote; arguments override the file.

        >>> Decision.of("lattice-mbr", ["scale=5"]).evidence
        'hypergraph'
        """
        values: Mapping[str, Any] = {"rule": text}
        if text not in RULES.names() and (text.endswith(".toml") or Path(text).is_file()):
            values = _read(text)
        kind = RULES.get(values["rule"])
        given = {assignment.partition("=")[0].strip().replace("-", "_") for assignment in assignments}
        ours = {name: value for name, value in parse_options(kind, assignments).to_dict().items() if name in given}
        rule = kind.from_dict({**values.get("options", {}), **ours})
        chosen = evidence or values.get("evidence") or rule.takes[0]
        rule.check_kind(chosen)
        sampling = Sampling.from_dict(values["sampling"]) if "sampling" in values and chosen == "samples" else None
        return cls(rule, chosen, nbest_size or values.get("nbest_size", 1000), sampling)

    def format(self, tuning: Mapping[str, Any] | None = None) -> str:
        """Return TOML that `of` reads, with a table of how the options were chosen, if that is known."""
        values: dict[str, Any] = {"rule": self.rule.name, "evidence": self.evidence, "nbest_size": self.nbest_size}
        values["options"] = self.rule.to_dict()
        if self.sampling is not None:
            values["sampling"] = {k: v for k, v in self.sampling.to_dict().items() if v is not None}
        return format_toml({**values, **({"tuning": tuning} if tuning else {})})

    def evidence_of(self, result: SearchResult, *, runtime: Runtime = Runtime()) -> Evidence:
        """Return the rule's evidence from a search with `forests`."""
        size, distinct = self.nbest_size, self.rule.distinct_lists
        return evidence_of(result, self.evidence, size=size, distinct=distinct, density=0.0, runtime=runtime)

    def gather(
        self, translator: Translator, lines: Iterable[str], *, density: float = 0.0, draw: SampleSource | None = None
    ) -> Iterator[Evidence]:
        """Yield the rule's evidence about some sentences, a batch at a time."""
        return gather(
            translator,
            lines,
            self.evidence,
            size=self.nbest_size,
            distinct=self.rule.distinct_lists,
            density=density,
            draw=draw,
        )


def _read(path: str) -> dict[str, Any]:
    values = read_toml(path)
    unknown = sorted(values.keys() - _KEYS)
    if unknown:
        raise DataError(f"has a key '{unknown[0]}'", path=path, expected=f"only {', '.join(sorted(_KEYS))}")
    if not isinstance(values.get("rule"), str):
        raise DataError("names no rule", path=path, expected=f"a rule of {', '.join(RULES.names())}")
    size, evidence = values.get("nbest_size", 1000), values.get("evidence")
    if not isinstance(size, int) or size < 1:
        raise DataError(f"has an nbest_size of {size!r}", path=path, expected="a number of at least 1")
    if evidence is not None and evidence not in get_args(EvidenceKind):
        known = ", ".join(get_args(EvidenceKind))
        raise DataError(f"has the evidence {evidence!r}", path=path, expected=f"one of {known}")
    try:
        RULES.get(values["rule"]).from_dict(values.get("options", {}))
        Sampling.from_dict(values.get("sampling", {}))
    except UsageError as error:
        raise DataError(str(error), path=path) from None
    return values


@dataclass(frozen=True)
class GridPoint:
    """A rule with options from the grid, and the score of its translations."""

    rule: Rule
    options: tuple[tuple[str, str], ...]
    score: float


def grid_rules(
    rule: type[Rule], fixed: Sequence[str], grid: Sequence[str]
) -> list[tuple[Rule, tuple[tuple[str, str], ...]]]:
    """Return all rules of a grid, given as `name=value,value,…` for each option that varies, the last one fastest.

    >>> from dragoman.decision.mbr import Mbr
    >>> [rule.scale for rule, _ in grid_rules(Mbr, ["metric=chrf"], ["scale=0.5,1"])]
    [0.5, 1.0]
    """
    return [(_grid_rule(rule, fixed, point), point) for point in _grid_points(grid)]


def grid_decisions(
    decision: Decision, fixed: Sequence[str], grid: Sequence[str]
) -> list[tuple[Decision, tuple[tuple[str, str], ...]]]:
    """Return the decision with all rules of a grid; for the arguments see `grid_rules`.

    Samples have the scale at which they are drawn. If the decision has options of `sampling`, the axis `scale` of the
    grid changes their temperature, also for rules without such an option; the rule itself is left as it is.

    >>> mbr = Decision(RULES.get("mbr")(), "samples", sampling=Sampling())
    >>> [found.sampling.temperature for found, _ in grid_decisions(mbr, [], ["scale=5,20"])]
    [0.2, 0.05]
    """
    kind, sampling = type(decision.rule), decision.sampling
    if sampling is None:
        return [(replace(decision, rule=rule), point) for rule, point in grid_rules(kind, fixed, grid)]
    found = []
    for point in _grid_points(grid):
        rule = _grid_rule(kind, fixed, [(name, value) for name, value in point if name != "scale"])
        drawn = sampling.at_scale(_sample_scale(dict(point).get("scale", "1")))
        found.append((replace(decision, rule=rule, sampling=drawn), point))
    return found


def _sample_scale(text: str) -> float:
    try:
        scale = float(text)
    except ValueError:
        raise UsageError(f"scale is '{text}'; expected a number") from None
    if not (scale > 0 and math.isfinite(scale)):
        raise UsageError(f"scale is {scale:g}; expected a finite number above 0")
    return scale


def _grid_points(grid: Sequence[str]) -> list[tuple[tuple[str, str], ...]]:
    axes: dict[str, list[str]] = {}
    for text in grid:
        name, equals, values = text.partition("=")
        name = name.strip().replace("-", "_")
        axes[name] = [value.strip() for value in values.split(",") if value.strip()]
        if not equals or not axes[name]:
            raise UsageError(f"the grid has '{text}'; expected NAME=VALUE,VALUE,…")
    return [tuple(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())]


def _grid_rule(rule: type[Rule], fixed: Sequence[str], point: Sequence[tuple[str, str]]) -> Rule:
    return parse_options(rule, [*fixed, *(f"{name}={value}" for name, value in point)])


def grid_density(rules: Sequence[tuple[Rule, tuple[tuple[str, str], ...]]]) -> float:
    """Return the density to which hypergraphs can be pruned for all rules of a grid; 0 if they cannot.

    It is the largest density; other rules prune further.
    """
    densities = [rule.density if isinstance(rule, LatticeRule) else 0.0 for rule, _ in rules]
    return max(densities) if all(densities) else 0.0


def search_grid(
    rules: Sequence[tuple[Rule, tuple[tuple[str, str], ...]]],
    evidence: Sequence[Evidence],
    scorer: Scorer,
    *,
    runtime: Runtime = Runtime(),
) -> list[GridPoint]:
    """Decide with each rule by the same evidence, and score the translations."""
    found = []
    with runtime.stage("the grid") as progress_callback:
        for i, (rule, options) in enumerate(rules):
            decisions = Decisions.concatenate([rule.decide(part, runtime=runtime.quiet()) for part in evidence])
            total = scorer.statistics(decisions.corpus, runtime=runtime).sum(axis=0)
            found.append(GridPoint(rule, options, float(scorer.score(total))))
            progress_callback((i + 1) / len(rules))
    return found


def best_point(points: Sequence[GridPoint], metric: Metric) -> GridPoint:
    """Return the first of the points with the best score."""
    return (max if metric.higher_is_better else min)(points, key=lambda point: point.score)
