"""The pictures of an experiment's report that are about decisions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dragoman.evaluation.figures.figures import panel_grid

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Vector = NDArray[np.float64]

_WIDTH = 0.7  # of the place that a method has, for its decisions
_FAR = 6  # median distances from the median, or median losses


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
        low, high = _limits([scores for methods in decisions.values() for scores in methods.values()])
        for i, (decision, by_method) in enumerate(decisions.items()):
            places = np.arange(len(methods)) + _WIDTH * ((i + 0.5) / len(decisions) - 0.5)
            colour = f"C{i}"
            for place, scores in zip(places.tolist(), by_method.values(), strict=True):
                mean = float(scores.mean())
                if not low <= mean <= high:
                    _at_the_edge(ax, place, mean, mean < low, colour)
                    continue
                ax.plot(np.full(len(scores), place), scores, ".", color=colour, alpha=0.3, markersize=5)
                deviation = float(scores.std(ddof=1)) if len(scores) > 1 else None
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
            runs = np.array([by_scale[scale] for scale in scales.tolist()])
            mean = runs.mean(axis=1)
            (line,) = ax.plot(scales, mean, marker=".", label=name)
            ax.fill_between(scales, runs.min(axis=1), runs.max(axis=1), color=line.get_color(), alpha=0.12, linewidth=0)
            means += mean.tolist()
        every = sorted({scale for by_scale in methods.values() for scale in by_scale})
        ax.axhline(0, color="#888", linewidth=0.8)
        ax.set_xscale("log", base=2)
        ax.set_xticks(every, [f"{scale:g}" for scale in every])
        ax.minorticks_off()
        sizes = np.abs(means)
        worst = min(float(sizes.max()), max(_FAR * float(np.median(sizes)), 0.1))
        if worst:
            low, high = sorted(np.copysign(worst, sum(means)) * np.array([1.05, -0.05]))
            ax.set_ylim(low, high)
        ax.set(title=title, xlabel="scale", ylabel=f"{metric}, against the best scale")
        ax.grid(alpha=0.3)
    axes[0].legend(fontsize="small")
    return figure


def _limits(systems: Sequence[Vector]) -> tuple[float, float]:
    """What a panel shows: the systems whose mean is not far from the median, with their deviations."""
    means = np.array([scores.mean() for scores in systems])
    deviations = np.array([scores.std(ddof=1) if len(scores) > 1 else 0.0 for scores in systems])
    distances = np.abs(means - np.median(means))
    shown = distances <= max(_FAR * float(np.median(distances)), 0.02 * abs(float(np.median(means))), 0.1)
    low, high = float((means - deviations)[shown].min()), float((means + deviations)[shown].max())
    margin = 0.1 * max(high - low, 0.1)
    return low - margin, high + margin


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
