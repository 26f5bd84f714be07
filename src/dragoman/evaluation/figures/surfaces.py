"""Figures of error surfaces: the metric along each weight, with a zoom."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dragoman.evaluation.figures.svg import COLOURS, panel_grid
from dragoman.evaluation.statistics.error_surfaces import ErrorSurface, outline

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_COLUMNS = 320  # of a panel, about as many as it has pixels
_ZOOM_STEPS = 15  # on each side of the chosen weight

#: The caption of a figure of error surfaces.
CAPTION = (
    "as one weight changes and the others are fixed: on the left as far as the largest weight, on the right the next"
    f" {_ZOOM_STEPS} steps to each side of the chosen weight, which a vertical line marks (shaded on the left). Exact:"
    " every step of the upper envelopes of all sentences; on the left, the lowest and the highest in each column."
)


def draw_surfaces(surfaces: Sequence[ErrorSurface], metric: str, *, signature: str = "") -> Figure:
    """Draw two panels for each feature: its error surface as a whole, and the steps next to the chosen weight."""
    reach = max(abs(surface.weight) for surface in surfaces) or 1.0
    figure, axes = panel_grid(2 * len(surfaces), columns=4, size=(2.7, 1.9))
    spans = [surface.zoom(_ZOOM_STEPS, reach) for surface in surfaces]
    for surface, whole, zoom, (low, high) in zip(surfaces, axes[::2], axes[1::2], spans, strict=True):
        whole.axvspan(low, high, color=COLOURS[1], alpha=0.15, linewidth=0)
        _draw_steps(whole, surface, surface.weight - reach, surface.weight + reach)
        _draw_steps(zoom, surface, low, high)
        whole.set_title(surface.name, fontsize="small")
        zoom.set_title(f"{surface.name}, zoom", fontsize="small", color="dimgrey")
        zoom.margins(y=0.08)
        zoom.locator_params(axis="x", nbins=4)
        zoom.ticklabel_format(useOffset=False)
        whole.set_ylabel(metric, fontsize="small")
    shown = [surface.within(surface.weight - reach, surface.weight + reach) for surface in surfaces]
    scores = np.concatenate([steps for _, steps in shown])
    margin = 0.05 * float(np.ptp(scores)) + 0.01
    for whole in axes[::2]:  # all have the same axis
        whole.set_ylim(float(scores.min()) - margin, float(scores.max()) + margin)
    if signature:
        figure.suptitle(signature, fontsize="x-small", color="dimgrey")
    return figure


def _draw_steps(ax: Any, surface: ErrorSurface, low: float, high: float) -> None:
    edges, scores = surface.within(low, high)
    if len(scores) > _COLUMNS:
        grid, least, most = outline(edges, scores, _COLUMNS)
        ax.fill_between(
            grid, np.append(least, least[-1]), np.append(most, most[-1]), step="post", color=COLOURS[0], linewidth=0.7
        )
    else:
        ax.stairs(scores, edges, baseline=None, color=COLOURS[0], linewidth=1)
    ax.axvline(surface.weight, color=COLOURS[1], linewidth=1)
    ax.set_xlim(low, high)
    ax.tick_params(labelsize="x-small")
