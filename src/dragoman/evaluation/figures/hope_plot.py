"""A picture of the translations of a sentence that are hoped for and feared (Chiang et al. 2008, figure 1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from dragoman.evaluation.figures.svg import COLOURS
from dragoman.tuning.problems.oracle_lists import Oracle

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MARKS = "os^vDPX"


def draw_hopes(lists: Mapping[str, Sequence[Oracle]], metric: str) -> Figure:
    """Draw B against the model's score for the translations of each list, by the mu that it was chosen with."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    for number, (name, rows) in enumerate(lists.items()):
        colour, mark = COLOURS[number % len(COLOURS)], _MARKS[number % len(_MARKS)]
        label = "µ = ∞" if name == "inf" else f"µ = {name}"
        # What is in several lists shows through.
        scores, gains = [row.score for row in rows], [row.gain for row in rows]
        axes.scatter(scores, gains, s=30, marker=mark, facecolors="none", edgecolors=colour, label=label)
    axes.set_xlabel("score by the model")
    axes.set_ylabel(f"B: {metric} of the document, times its words")
    axes.legend(fontsize="small")
    axes.grid(alpha=0.3)
    return figure
