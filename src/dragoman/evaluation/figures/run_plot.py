"""A picture of tuning runs, also of those that are not done yet: scores, and whatever else they tell, as they go on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dragoman.evaluation.figures.svg import COLOURS
from dragoman.evaluation.statistics.worth_seeing import limits_of_scores

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Events = Sequence[Mapping[str, Any]]

_NO_CURVES = {"iteration", "score", "updates"}


def draw_runs(runs: Mapping[str, Events], metric: str, *, sign: int = 1, signature: str = "") -> Figure:
    """Draw the score of each run over its iterations, or its updates, and below it a panel for each other number.

    The best score is the highest, or if the sign is -1, the lowest; the signature says how scores were made.
    """
    from matplotlib.figure import Figure

    others = [name for name in _numbers(runs) if name not in _NO_CURVES]
    mixed = {name: events for name, events in runs.items() if any("shares" in event for event in events)}
    sizes = [2.0, *(1.0 for _ in others), *(2.0 for _ in mixed)]
    figure = Figure(figsize=(7, 1.6 * sum(sizes)), layout="tight")
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
            # What an iteration reports belongs to the way from its weights to the next.
            told = [(place, event[other]) for place, event in zip(places[1:], events, strict=False) if other in event]
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
    """Draw the shares of mixed tables that each iteration of a run began with."""
    ax.set_prop_cycle(color=COLOURS)
    there = [event for event in events if "shares" in event]
    for share in dict.fromkeys(share for event in there for share in event["shares"]):
        told = [(event["iteration"], event["shares"][share]) for event in there if share in event["shares"]]
        ax.plot(*zip(*told, strict=True), marker=".", linewidth=1, label=share.removeprefix("mix."))
    ax.set_ylim(0, 1)
    ax.set_ylabel(f"shares, {name}")
    ax.legend(fontsize="xx-small", ncols=2)


def _numbers(runs: Mapping[str, Events]) -> list[str]:
    """The names of the numbers that some event has, in order of occurrence."""
    found = (
        name
        for events in runs.values()
        for event in events
        for name, value in event.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    )
    return list(dict.fromkeys(found))


def _places(events: Events) -> list[float]:
    """Where the weights of each iteration stand: before its updates, or without these its number."""
    if "updates" not in events[0]:
        return [float(event["iteration"]) for event in events]
    done = [0.0, *(float(event["updates"]) for event in events if "updates" in event)]
    return [done[min(i, len(done) - 1)] for i in range(len(events))]
