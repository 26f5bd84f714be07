"""A picture of the word links of one sentence pair: source words down, target words across."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw_alignment(source: Sequence[str], target: Sequence[str], links: Sequence[tuple[int, int]]) -> Figure:
    """Draw links as filled cells of a grid."""
    # Imported when needed: matplotlib takes most of a second, which `dragoman --help` should not.
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle

    cell = 0.28
    figure = Figure(figsize=(1.6 + cell * len(target), 1.4 + cell * len(source)))
    axes = figure.add_subplot()
    for s, t in links:
        axes.add_patch(Rectangle((t - 0.5, s - 0.5), 1, 1, facecolor="#2f6f8f"))
    axes.set_xlim(-0.5, max(len(target), 1) - 0.5)
    axes.set_ylim(max(len(source), 1) - 0.5, -0.5)
    axes.set_xticks(range(len(target)), target, rotation=60, ha="left", fontsize=9, parse_math=False)
    axes.set_yticks(range(len(source)), source, fontsize=9, parse_math=False)
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    axes.set_xticks([i + 0.5 for i in range(len(target) - 1)], minor=True)
    axes.set_yticks([i + 0.5 for i in range(len(source) - 1)], minor=True)
    axes.grid(which="minor", color="#d8d8d8", linewidth=0.6)
    axes.tick_params(which="minor", length=0)
    axes.set_aspect("equal")
    for spine in axes.spines.values():
        spine.set_color("#b0b0b0")
    return figure


def text_alignment(source: Sequence[str], target: Sequence[str], links: Sequence[tuple[int, int]]) -> str:
    """Draw links for a terminal: one row a source word, with the target words written downwards above.

    >>> print(text_alignment(["la", "maison"], ["the", "house"], [(0, 0), (1, 1)]))
            h
            o
           tu
           hs
           ee
    la     █·
    maison ·█
    """
    height = max((len(word) for word in target), default=0)
    width = max((len(word) for word in source), default=0)
    rows = []
    for level in range(height):
        letters = (word.rjust(height)[level] for word in target)
        rows.append(f"{' ' * width} {''.join(letters)}".rstrip())
    linked = set(links)
    for s, word in enumerate(source):
        cells = "".join("█" if (s, t) in linked else "·" for t in range(len(target)))
        rows.append(f"{word.ljust(width)} {cells}")
    return "\n".join(rows)
