"""The pictures of an experiment's report that are about decisions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dragoman.evaluation.figures.svg import COLOURS, panel_grid
from dragoman.evaluation.statistics.bands import deviation_band, range_band
from dragoman.evaluation.statistics.worth_seeing import limits_of_losses, limits_of_systems

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Vector = NDArray[np.float64]

_WIDTH = 0.7  # of the place that a method has, for its decisions


def system_chart(panels: Mapping[str, Mapping[str, Mapping[str, Vector]]]) -> Figure:
    """A panel for each title: methods side by side, a colour for each decision, the mean and ± 1 sd over runs.

    Panels have the scores of runs by decision and method; runs are pale dots. A system that is far from the others is
    an arrow with a number at the edge, so that the others can be told apart.
    """
    first = next(iter(panels.values()))
    methods = list(next(iter(first.values())))
    width = max(4.4, 0.9 + 0.22 * len(methods) * (len(first) + 1))
    columns = max(1, min(2, int(11 / width)))
    figure, axes = panel_grid(len(panels), columns=columns, size=(width, 3.3))
    for ax, (title, decisions) in zip(axes, panels.items(), strict=True):
        bands = {name: [deviation_band(s[:, None]) for s in systems.values()] for name, systems in decisions.items()}
        low, high = limits_of_systems([band for systems in bands.values() for band in systems])
        for i, (decision, by_method) in enumerate(decisions.items()):
            places = np.arange(len(methods)) + _WIDTH * ((i + 0.5) / len(decisions) - 0.5)
            colour = COLOURS[i % len(COLOURS)]
            for place, scores, band in zip(places.tolist(), by_method.values(), bands[decision], strict=True):
                mean = float(band.mean[0])
                if not low <= mean <= high:
                    _at_the_edge(ax, place, mean, mean < low, colour)
                    continue
                ax.plot(np.full(len(scores), place), scores, ".", color=colour, alpha=0.3, markersize=5)
                deviation = band.high - band.mean if len(scores) > 1 else None
                ax.errorbar(place, mean, deviation, fmt="o", color=colour, markersize=5, capsize=2.5, linewidth=1.2)
            ax.plot([], [], "o", color=colour, markersize=5, label=decision)
        for border in range(1, len(methods)):
            ax.axvline(border - 0.5, color="#8884", linewidth=0.5)
        ax.set(title=title, xlim=(-0.5, len(methods) - 0.5), ylim=(low, high))
        ax.set_xticks(range(len(methods)), methods, fontsize="small")
        if sum(map(len, methods)) > 8 * width:
            ax.tick_params(axis="x", rotation=30)
            for label in ax.get_xticklabels():
                label.set_horizontalalignment("right")
        ax.tick_params(axis="x", length=0)
        ax.grid(axis="y", alpha=0.3)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=min(len(labels), 6), fontsize="small")
    return figure


def scale_curves(panels: Mapping[str, Mapping[str, Mapping[float, Vector]]], metric: str) -> Figure:
    """A panel for each decision, a line for each method: what a scale loses on the tuning set against the best one.

    Panels have, by method and scale, the differences of runs to the best scale of the same run; lines are means over
    runs, with bands from the worst to the best run. The worst scales may be out of sight.
    """
    figure, axes = panel_grid(len(panels), columns=2, size=(5.2, 3.2))
    for ax, (title, methods) in zip(axes, panels.items(), strict=True):
        means: list[float] = []
        for name, by_scale in methods.items():
            scales = np.array(sorted(by_scale))
            band = range_band(np.array([by_scale[scale] for scale in scales.tolist()]).T)
            (line,) = ax.plot(scales, band.mean, marker=".", label=name)
            ax.fill_between(scales, band.low, band.high, color=line.get_color(), alpha=0.12, linewidth=0)
            means += band.mean.tolist()
        every = sorted({scale for by_scale in methods.values() for scale in by_scale})
        ax.axhline(0, color="#888", linewidth=0.8)
        ax.set_xscale("log", base=2)
        ax.set_xticks(every, [f"{scale:g}" for scale in every])
        ax.minorticks_off()
        ax.set_ylim(limits_of_losses(means))
        ax.set(title=title, xlabel="scale", ylabel=f"{metric}, against the best scale")
        ax.grid(alpha=0.3)
    axes[0].legend(fontsize="small")
    return figure


def _at_the_edge(ax: Any, place: float, value: float, below: bool, colour: str) -> None:
    ax.annotate(
        f"{value:.1f}",
        xy=(place, 0.0 if below else 1.0),
        xytext=(place, 0.12 if below else 0.88),
        xycoords=ax.get_xaxis_transform(),
        ha="center",
        va="bottom" if below else "top",
        fontsize="x-small",
        rotation=90,
        color=colour,
        arrowprops={"arrowstyle": "->", "color": colour, "linewidth": 0.8},
    )
