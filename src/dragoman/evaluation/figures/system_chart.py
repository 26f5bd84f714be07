"""Systems by their scores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from dragoman.evaluation.figures.svg import COLOURS

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw_systems(metric: str, scores: Mapping[str, tuple[float, float]]) -> Figure:
    """Draw the score of each system as a dot, with its deviation as a line to both sides, best on top."""
    from matplotlib.figure import Figure

    names = sorted(scores, key=lambda name: scores[name][0])
    figure = Figure(figsize=(6, 0.8 + 0.35 * len(names)), layout="tight")
    axes = figure.subplots()
    axes.set_prop_cycle(color=COLOURS)
    means, deviations = zip(*(scores[name] for name in names), strict=True)
    axes.errorbar(means, range(len(names)), xerr=deviations, fmt="o", capsize=3)
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(-0.6, len(names) - 0.4)
    axes.set_xlabel(f"{metric} (lines: one standard deviation over test sentences)")
    axes.grid(axis="x", alpha=0.3)
    return figure
