"""Features of holes, by classes of rules and kinds of matches, and of glue; and by their definitions."""

from __future__ import annotations

import numpy as np

from dragoman.core.feature_rows import FeatureRows
from dragoman.features import HoleFeature, HoleRows, SpanFeature, SpansInUse
from dragoman.search.chart.rules import ChartRules
from oracles.chart_space import Rule, Span

#: What the values of both are called.
HOLE_NAMES = ("opened.0", "opened.1", "opened.2", "opened.3", "wide")


def values_of_holes(rule: Rule, holes: tuple[Span, ...]) -> dict[str, float]:
    """The sizes of holes by how the target side begins and ends; words of the rule times that of the last hole."""
    if not holes:
        return {}
    words = sum(isinstance(symbol, str) for symbol in rule.target)
    begin, end = (isinstance(rule.target[i], int) for i in (0, -1))
    first, last = (end - begin for begin, end in (holes[0], holes[-1]))
    return {f"opened.{begin + 2 * end}": min(first, 3) + 0.5, "wide": float(min(words, 2) * last)}


class OpenedHoles(HoleFeature):
    """Rules by whether their target side begins and ends with a hole, and the size of the first, up to three."""

    name = prefix = "opened"

    def __call__(self, rules: ChartRules, /) -> HoleRows:
        """Four classes, and the size of the first hole, up to three."""
        edges = np.stack([rules.words.offsets[:-1], np.maximum(rules.words.offsets[1:] - 1, 0)])
        holes = np.append(rules.words.values, 0)[edges] < 0
        size = np.minimum(rules.matches[:, 4] - rules.matches[:, 3], 3)
        rows = [[(k > 0) * (k + 0.5) * (c == column) for column in range(4)] for k in range(4) for c in range(4)]
        return HoleRows(holes[0] + 2 * holes[1], 4, size, FeatureRows.from_dense(HOLE_NAMES[:4], np.array(rows)))


class WideHoles(HoleFeature):
    """Words of a rule, up to two, times the size of its last hole."""

    name = prefix = "wide"

    def __call__(self, rules: ChartRules, /) -> HoleRows:
        """Rules by their words, and the size of the last hole."""
        words = np.array([min(sum(word >= 0 for word in row.tolist()), 2) for row in rules.words], np.int64)
        matches = rules.matches
        size = np.where(matches[:, 5] >= 0, matches[:, 6] - matches[:, 5], matches[:, 4] - matches[:, 3])
        rows = [[float(k * c)] for k in range(int(size.max(initial=0)) + 1) for c in range(3)]
        return HoleRows(words, 3, size, FeatureRows.from_dense(HOLE_NAMES[4:], np.array(rows)))


#: What the values of features of glue are called.
PART_NAMES = ("joined.1", "joined.2", "joined.3", "spanned.even", "spanned.odd")


def values_of_span(begin: int, end: int) -> dict[str, float]:
    """What `Spanned` says of the span of a rule, or of glue."""
    return {f"spanned.{'odd' if end % 2 else 'even'}": 1 + 0.5 * (end - begin)}


def values_of_part(begin: int, end: int) -> dict[str, float]:
    """What both features say of a part that glue joins: its size, up to three, and the span from the first word on."""
    return {f"joined.{min(end - begin, 3)}": 1.0, **values_of_span(0, end)}


class JoinedParts(HoleFeature):
    """Parts that glue joins by their size, up to three; rules have no values."""

    name = prefix = "joined"

    def __call__(self, rules: ChartRules, /) -> HoleRows:
        """One class and one kind, whose row is empty."""
        rows = FeatureRows.from_dense(PART_NAMES[:3], np.concatenate([np.zeros((1, 3)), np.eye(3)]))
        kinds = np.zeros(len(rules.matches), np.int64)
        return HoleRows(np.zeros(len(rules), np.int64), 1, kinds, rows, np.arange(1, 4))


class Spanned(SpanFeature):
    """Spans of rules and of glue, by whether they have an odd end."""

    name = prefix = "spanned"
    needs_trees = False
    on_glue = True

    def __call__(self, spans: SpansInUse, /) -> FeatureRows:
        """A value for each span."""
        sizes = 1 + 0.5 * (spans.end - spans.begin)
        return FeatureRows.from_dense(PART_NAMES[3:], np.stack([sizes * (spans.end % 2 == k) for k in (0, 1)], axis=1))
