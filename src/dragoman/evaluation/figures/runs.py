"""Figures of tuning runs, experiments and systems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dragoman.evaluation.figures.svg import COLOURS, empty_figure, panel_grid, require_matplotlib
from dragoman.evaluation.statistics.intervals import Band, deviation_band, limits_of_curves, limits_of_scores

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


Vector = NDArray[np.float64]

_PANEL = (3.1, 2.3)  # inches


def learning_curves(panels: Mapping[str, Mapping[str, Band]], metric: str) -> Figure:
    """Draw a panel for each set of sentences, a line with a band for each method.

    The axis leaves out scores far below the rest, such as those of some first iterations, so that methods remain
    distinguishable.
    """
    figure, axes = panel_grid(len(panels), columns=2, size=(5.2, 3.4))
    for ax, (title, curves) in zip(axes, panels.items(), strict=True):
        for name, band in curves.items():
            iterations = np.arange(len(band.mean))
            (line,) = ax.plot(iterations, band.mean, marker=".", label=name)
            ax.fill_between(iterations, band.low, band.high, color=line.get_color(), alpha=0.15, linewidth=0)
        ax.set_ylim(limits_of_curves(list(curves.values())))
        ax.set(title=title, xlabel="optimisations", ylabel=metric)
        _whole_numbers(ax)
    axes[0].legend(fontsize="small")
    return figure


def traces(panels: Sequence[tuple[str, str, Sequence[Vector]]]) -> Figure:
    """Draw a panel for each title and label: a number that iterations report, a line for each run.

    Rows of a run are iterations and numbers.
    """
    figure, axes = panel_grid(len(panels), columns=3, size=_PANEL)
    for ax, (title, label, runs) in zip(axes, panels, strict=True):
        for run in runs:
            ax.plot(run[:, 0], run[:, 1], marker=".", linewidth=1)
        ax.set(title=title, xlabel="iteration", ylabel=label)
        _whole_numbers(ax)
    return figure


def share_curves(panels: Mapping[str, Mapping[str, Sequence[tuple[int, float]]]]) -> Figure:
    """Draw a panel for each mixture: a line for each component, with its iterations and interpolation weights."""
    figure, axes = panel_grid(len(panels), columns=3, size=_PANEL)
    for ax, (title, lines) in zip(axes, panels.items(), strict=True):
        for colour, (name, points) in zip(cycle(COLOURS), lines.items(), strict=False):
            ax.plot(*zip(*points, strict=True), marker=".", linewidth=1, color=colour, label=name)
        ax.set(title=title, xlabel="iteration", ylim=(-0.03, 1.03))
        ax.legend(fontsize="small")
        _whole_numbers(ax)
    return figure


def weight_chart(names: Sequence[str], weights: Mapping[str, Vector]) -> Figure:
    """Draw the final weight of each feature in every run of every method; rows of `weights` are runs."""
    figure = empty_figure(figsize=(8, 0.36 * len(names) + 1))
    ax = figure.add_subplot()
    ax.set_prop_cycle(color=COLOURS)
    for i, (name, runs) in enumerate(weights.items()):
        shift = 0.6 * ((i + 0.5) / len(weights) - 0.5)
        places = np.tile(np.arange(len(names)) + shift, (len(runs), 1))
        (points,) = ax.plot(runs.ravel(), places.ravel(), ".", alpha=0.5, markersize=5)
        ax.plot(deviation_band(runs).mean, places[0], "|", color=points.get_color(), markersize=9, label=name)
    for row in range(1, len(names)):
        ax.axhline(row - 0.5, color="#8884", linewidth=0.5)
    ax.axvline(0, color="#888", linewidth=0.8)
    ax.set_yticks(range(len(names)), names)
    ax.invert_yaxis()
    ax.set_xlabel("weight (absolute values sum to 1)")
    ax.legend(fontsize="small", loc="upper left", bbox_to_anchor=(1, 1))
    return figure


def rank_chart(ranks: NDArray[np.int64], scores: Vector, iterations: Sequence[int] | None = None) -> Figure:
    """Draw the ranks of one sentence's candidates (rows) under the weights after each iteration (columns), from 0.

    Lines are coloured by the candidates' own score; rank 1 is on top.
    """
    require_matplotlib()
    from matplotlib import colormaps
    from matplotlib.collections import LineCollection
    from matplotlib.colors import Normalize

    figure = empty_figure(figsize=(8, 4))
    ax = figure.add_subplot()
    scale, colours = Normalize(float(scores.min()), float(scores.max())), colormaps["viridis"]
    order = np.argsort(scores, kind="stable")
    times = np.broadcast_to(np.arange(ranks.shape[1]) if iterations is None else np.array(iterations), ranks.shape)
    lines = np.stack([times, ranks[order]], axis=2)
    # One object to draw in place of hundreds.
    ax.add_collection(LineCollection(list(lines), colors=colours(scale(scores[order])), linewidths=0.9, alpha=0.8))
    ax.autoscale()
    ax.set_yscale("log")
    ax.invert_yaxis()
    ax.set(xlabel="optimisations", ylabel="rank")
    _whole_numbers(ax)
    mappable: Any = _mappable(scale, colours)
    figure.colorbar(mappable, ax=ax, label="score of the candidate")
    return figure


def _whole_numbers(ax: Any) -> None:
    from matplotlib.ticker import MaxNLocator

    ax.xaxis.set_major_locator(MaxNLocator(integer=True))


def _mappable(scale: Any, colours: Any) -> Any:
    from matplotlib.cm import ScalarMappable

    return ScalarMappable(scale, colours)


Events = Sequence[Mapping[str, Any]]

_NO_CURVES = {"iteration", "score", "updates"}


def draw_runs(runs: Mapping[str, Events], metric: str, *, sign: int = 1, signature: str = "") -> Figure:
    """Draw the score of each run over its iterations, or its updates, and below it a panel for each other number.

    The best score is the highest, or the lowest if the sign is -1; the signature is the metric's.
    """
    others = [name for name in _numbers(runs) if name not in _NO_CURVES]
    mixed = {name: events for name, events in runs.items() if any("shares" in event for event in events)}
    sizes = [2.0, *(1.0 for _ in others), *(2.0 for _ in mixed)]
    figure = empty_figure(figsize=(7, 1.6 * sum(sizes)), layout="tight")
    panels = figure.subplots(len(sizes), 1, sharex=True, squeeze=False, height_ratios=sizes)
    axes = panels[:, 0]
    for ax, (name, events) in zip(axes[1 + len(others) :], mixed.items(), strict=True):
        _draw_shares(ax, name, events)
    axes[0].set_prop_cycle(color=COLOURS)
    scores = np.array([event["score"] for events in runs.values() for event in events])
    for name, events in runs.items():
        places = _places(events)
        values = [event["score"] for event in events]
        (line,) = axes[0].plot(
            places, values, marker=".", label=f"{name}: best {sign * max(sign * value for value in values):.2f}"
        )
        for ax, other in zip(axes[1:], others, strict=False):
            # An iteration's numbers belong to the step from its weights to the next, of validation to its weights.
            at = places if other.startswith("held_out") else places[1:]
            told = [(place, event[other]) for place, event in zip(at, events, strict=False) if other in event]
            ax.plot(*(zip(*told, strict=True) if told else ((), ())), marker=".", linewidth=1, color=line.get_color())
    axes[0].set_ylim(limits_of_scores(scores, sign))
    axes[0].set_ylabel(metric)
    axes[0].set_title(signature, fontsize="x-small", color="dimgrey")
    axes[0].legend(fontsize="small")
    for ax, other in zip(axes[1:], others, strict=False):
        ax.set_ylabel(other)
        if other == "temperature":
            ax.set_yscale("log", nonpositive="mask")
    axes[-1].set_xlabel("updates" if all("updates" in events[0] for events in runs.values()) else "iteration")
    for ax in axes:
        ax.grid(alpha=0.3)
    return figure


def _draw_shares(ax: Axes, name: str, events: Events) -> None:
    """Draw the interpolation weights at the start of each iteration of a run."""
    ax.set_prop_cycle(color=COLOURS)
    there = [event for event in events if "shares" in event]
    for share in dict.fromkeys(share for event in there for share in event["shares"]):
        told = [(event["iteration"], event["shares"][share]) for event in there if share in event["shares"]]
        ax.plot(*zip(*told, strict=True), marker=".", linewidth=1, label=share.removeprefix("mix."))
    ax.set_ylim(0, 1)
    ax.set_ylabel(f"shares, {name}")
    ax.legend(fontsize="xx-small", ncols=2)


def _numbers(runs: Mapping[str, Events]) -> list[str]:
    """Return the names of the numbers in events, in order of occurrence."""
    found = (
        name
        for events in runs.values()
        for event in events
        for name, value in event.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    )
    return list(dict.fromkeys(found))


def _places(events: Events) -> list[float]:
    """Return the place of each iteration's weights: the number of updates before it, or the iteration's number."""
    if "updates" not in events[0]:
        return [float(event["iteration"]) for event in events]
    done = [0.0, *(float(event["updates"]) for event in events if "updates" in event)]
    return [done[min(i, len(done) - 1)] for i in range(len(events))]


def draw_systems(metric: str, scores: Mapping[str, tuple[float, float]]) -> Figure:
    """Draw the score of each system as a dot, with its deviation as a line to both sides, best on top."""
    names = sorted(scores, key=lambda name: scores[name][0])
    figure = empty_figure(figsize=(6, 0.8 + 0.35 * len(names)), layout="tight")
    axes = figure.subplots()
    axes.set_prop_cycle(color=COLOURS)
    means, deviations = zip(*(scores[name] for name in names), strict=True)
    axes.errorbar(means, range(len(names)), xerr=deviations, fmt="o", capsize=3)
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(-0.6, len(names) - 0.4)
    axes.set_xlabel(f"{metric} (lines: one standard deviation over test sentences)")
    axes.grid(axis="x", alpha=0.3)
    return figure
