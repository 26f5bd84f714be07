"""Figures of decision rules: scores by scale, grids of options, posteriors, hope and fear."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dragoman.decision.settings import GridPoint
from dragoman.evaluation.figures.svg import COLOURS, empty_figure, panel_grid
from dragoman.evaluation.statistics.intervals import deviation_band, limits_of_losses, limits_of_systems, range_band
from dragoman.tuning.problems.hope_fear import Oracle

if TYPE_CHECKING:
    from matplotlib.figure import Figure


Vector = NDArray[np.float64]

_WIDTH = 0.7  # proportion of a method's place that its decisions take


def system_chart(panels: Mapping[str, Mapping[str, Mapping[str, Vector]]]) -> Figure:
    """Draw a panel for each title: methods side by side, a colour for each decision, the mean ± 1 sd over runs.

    Panels have the scores of runs by decision and method; runs are pale dots. A system far from the others is an arrow
    with a number at the edge, so that the others remain distinguishable.
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
    """Draw a panel for each decision, a line for each method: the loss of a scale on the tuning set against the best.

    Panels have, by method and scale, the differences of runs to the best scale of the same run; lines are means over
    runs, with bands from the worst to the best run. The worst scales may lie outside the panel.
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


def draw_grid(points: Sequence[GridPoint], metric: str) -> Figure:
    """Draw scores over the first option of a grid."""

    axis = points[0].options[0][0] if points[0].options else "nothing"
    lines: dict[str, list[tuple[float, float]]] = {}
    labels: list[str] = []
    for point in points:
        options = dict(point.options)
        value = options.pop(axis, "")
        try:
            place = float(value)
        except ValueError:  # an option whose values are names
            labels += [value] if value not in labels else []
            place = float(labels.index(value))
        lines.setdefault(" ".join(f"{name}={text}" for name, text in options.items()), []).append((place, point.score))
    figure = empty_figure(figsize=(6, 3.6), layout="tight")
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


_CHOSEN, _OTHER = "#3f7f93", "#c9d6db"
# In inches: a character, a small one, the height of a bar, the length of the longest.
_CHARACTER, _SMALL, _BAR, _BARS = 0.085, 0.072, 0.27, 3.0


def draw_posterior(
    texts: Sequence[str],
    probabilities: Sequence[float],
    chosen: Mapping[str, str],
    *,
    source: str | None = None,
    most: int = 15,
) -> Figure:
    """Draw a bar for each of the most probable translations, and for each choice of a rule (`chosen`: rule → text).

    Translations stand to the left of the bars, the names of rules to the right.
    """
    order = sorted(range(len(texts)), key=lambda i: -probabilities[i])
    wanted = set(chosen.values())
    shown = [i for rank, i in enumerate(order) if rank < most or texts[i] in wanted]
    rows = [(texts[i], probabilities[i]) for i in shown]
    known = {text for text, _ in rows}
    rows += [(text, 0.0) for text in dict.fromkeys(chosen.values()) if text not in known]
    names = [[rule for rule, choice in chosen.items() if choice == text] for text, _ in rows]
    labels = ["  ".join([f"{p:.3g}", *rules]) for (_, p), rules in zip(rows, names, strict=True)]
    left = _CHARACTER * max([len(text) for text, _ in rows], default=10) + 0.2
    right = _SMALL * max(map(len, labels), default=10) + 0.2
    width, height = left + _BARS + right, _BAR * max(len(rows), 1) + 0.9
    figure = empty_figure(figsize=(width, height))
    axes = figure.add_axes((left / width, 0.5 / height, (_BARS + right) / width, 1 - 0.9 / height))
    longest = max([probability for _, probability in rows], default=1.0) or 1.0
    for place, ((_, probability), rules, label) in enumerate(zip(rows, names, labels, strict=True)):
        axes.barh(place, probability, height=0.7, color=_CHOSEN if rules else _OTHER)
        axes.text(probability + 0.02 * longest, place, label, va="center", fontsize=8)
    axes.set_yticks(range(len(rows)), [text or "∅" for text, _ in rows], fontsize=9)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlim(0, longest * (_BARS + right) / _BARS)
    axes.set_xticks([])  # probabilities are written behind the bars
    for side in ("top", "right", "bottom"):
        axes.spines[side].set_visible(False)
    if source is not None:
        axes.set_title(source, fontsize=10, loc="left")
    return figure


_MARKS = "os^vDPX"


def draw_hopes(lists: Mapping[str, Sequence[Oracle]], metric: str) -> Figure:
    """Draw B against the model's score for the translations of each list, by the mu that it was chosen with."""
    figure = empty_figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    for number, (name, rows) in enumerate(lists.items()):
        colour, mark = COLOURS[number % len(COLOURS)], _MARKS[number % len(_MARKS)]
        label = "µ = ∞" if name == "inf" else f"µ = {name}"
        # Translations in several lists show through.
        scores, gains = [row.score for row in rows], [row.gain for row in rows]
        axes.scatter(scores, gains, s=30, marker=mark, facecolors="none", edgecolors=colour, label=label)
    axes.set_xlabel("score by the model")
    axes.set_ylabel(f"B: {metric} of the document, times its words")
    axes.legend(fontsize="small")
    axes.grid(alpha=0.3)
    return figure
