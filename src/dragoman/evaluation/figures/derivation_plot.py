"""A picture of a derivation: which source phrase became which target phrase, and in which order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dragoman.evaluation.figures.tree_plot import draw_tree, text_tree
from dragoman.search.translation import COLOURS, Phrase, Translation

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_CHARACTER = 0.105  # inches
_GAP = 0.18


def draw_derivation(source: Sequence[str], target: Sequence[str], phrases: Sequence[Phrase]) -> Figure:
    """Draw the source above, the target below, phrases as boxes and a line from each to its translation."""
    from matplotlib.figure import Figure
    from matplotlib.patches import FancyBboxPatch

    above = _boxes([" ".join(source[p.source[0] : p.source[1]]) for p in sorted(phrases, key=lambda p: p.source)])
    below = _boxes([" ".join(target[p.target[0] : p.target[1]]) for p in phrases])
    width = max([right for _, right, _ in above + below], default=1.0) + 0.05
    figure = Figure(figsize=(width + 0.3, 1.9))
    axes = figure.add_axes((0.15 / (width + 0.3), 0, width / (width + 0.3), 1))
    axes.set_xlim(0, width)
    axes.set_ylim(0, 1.9)
    axes.axis("off")
    order = sorted(range(len(phrases)), key=lambda i: phrases[i].source)
    for place, i in enumerate(order):
        colour = COLOURS[i % len(COLOURS)]
        top, bottom = above[place], below[i]
        edge = "#b03030" if phrases[i].unknown else "#607080"
        axes.plot([(top[0] + top[1]) / 2, (bottom[0] + bottom[1]) / 2], [1.25, 0.65], color=edge, linewidth=1.2)
        for (left, right, text), y in ((top, 1.25), (bottom, 0.25)):
            style = "round,pad=0,rounding_size=0.08"
            axes.add_patch(
                FancyBboxPatch((left, y), right - left, 0.4, boxstyle=style, facecolor=colour, edgecolor=edge)
            )
            axes.text((left + right) / 2, y + 0.2, text or "∅", ha="center", va="center", fontsize=9, parse_math=False)
    return figure


def _boxes(texts: Sequence[str]) -> list[tuple[float, float, str]]:
    boxes, left = [], 0.02
    for text in texts:
        right = left + _CHARACTER * max(len(text), 1) + 0.14
        boxes.append((left, right, text))
        left = right + _GAP
    return boxes


def text_derivation(source: Sequence[str], target: Sequence[str], phrases: Sequence[Phrase]) -> str:
    """Write a derivation for a terminal: one line a phrase, in target order, with its place in the source.

    >>> phrases = [Phrase((1, 2), (0, 1), (), False), Phrase((0, 1), (1, 2), (), True)]
    >>> print(text_derivation(["maison", "bleue"], ["blue", "maison"], phrases))
    1-1  bleue   blue
    0-0  maison  maison  (unknown)
    """
    rows = [
        (
            f"{p.source[0]}-{p.source[1] - 1}",
            " ".join(source[p.source[0] : p.source[1]]),
            " ".join(target[p.target[0] : p.target[1]]) + ("  (unknown)" if p.unknown else ""),
        )
        for p in phrases
    ]
    widths = [max((len(row[i]) for row in rows), default=0) for i in range(2)]
    return "\n".join(f"{span.ljust(widths[0])}  {f.ljust(widths[1])}  {e}" for span, f, e in rows)


def draw_translation(translation: Translation) -> Figure:
    """Draw the derivation of a translation: phrases, or the trees of a hierarchical one."""
    words = translation.source.split(), translation.text.split()
    if translation.tree is not None:
        return draw_tree(*words, translation.tree)
    return draw_derivation(*words, translation.phrases)


def text_translation(translation: Translation) -> str:
    """Write the derivation of a translation for a terminal: phrases, or rules."""
    words = translation.source.split(), translation.text.split()
    if translation.tree is not None:
        return text_tree(*words, translation.tree)
    return text_derivation(*words, translation.phrases)
