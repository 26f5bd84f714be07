"""A picture of a grid: scores over the values of one option, a line for each setting of the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dragoman.decision.grid import GridPoint

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw_grid(points: Sequence[GridPoint], metric: str) -> Figure:
    """Draw scores over the option of the grid that was given first."""
    from matplotlib.figure import Figure

    axis = points[0].options[0][0] if points[0].options else "nothing"
    lines: dict[str, list[tuple[float, float]]] = {}
    labels: list[str] = []
    for point in points:
        options = dict(point.options)
        value = options.pop(axis, "")
        try:
            place = float(value)
        except ValueError:  # an option with names for values
            labels += [value] if value not in labels else []
            place = float(labels.index(value))
        lines.setdefault(" ".join(f"{name}={text}" for name, text in options.items()), []).append((place, point.score))
    figure = Figure(figsize=(6, 3.6), layout="tight")
    axes = figure.add_subplot()
    for name, row in lines.items():
        axes.plot(*zip(*sorted(row), strict=True), marker="o", markersize=4, linewidth=1.4, label=name or None)
    places = [place for row in lines.values() for place, _ in row]
    if labels:
        axes.set_xticks(range(len(labels)), labels)
    elif min(places) > 0 and max(places) >= 10 * min(places):
        axes.set_xscale("log")
    axes.set_xlabel(axis)
    axes.set_ylabel(metric)
    axes.grid(alpha=0.3)
    if any(lines):
        axes.legend(fontsize=8)
    return figure
