"""Figures of derivations: phrases, trees and word alignments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dragoman.evaluation.figures.svg import empty_figure, require_matplotlib
from dragoman.search.translation import COLOURS, Phrase, Side, Subtree, Translation

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw_alignment(source: Sequence[str], target: Sequence[str], links: Sequence[tuple[int, int]]) -> Figure:
    """Draw a word alignment as filled cells of a grid."""
    require_matplotlib()
    from matplotlib.patches import Rectangle

    cell = 0.28
    figure = empty_figure(figsize=(1.6 + cell * len(target), 1.4 + cell * len(source)))
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
    """Write a word alignment for a terminal: a row per source word, the target words written downwards above.

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


_TREE_CHARACTER = 0.095  # inches, as all lengths here
_TREE_GAP = 0.12
_ROW = 0.34  # from a rule to its parent
_BAR = 0.24
_LINKS = 0.75  # between the words of both sides
_EDGE, _UNKNOWN = "#607080", "#b03030"
_MOST_ROWS = 60  # levels of rules; those further out are counted
_MOST_INDENT = 40  # steps to the right, on a terminal


def draw_tree(source: Sequence[str], target: Sequence[str], tree: Subtree) -> Figure:
    """Draw each rule as a bar along the words that it covers, above the source and below the target.

    A bar has a rule's words at their places in the sentence, and in place of its holes the colours of the rules that
    fill them, whose bars lie between it and the words. A rule without holes is a bar around its words. A rule has the
    same colour on both sides. The outermost bars of a very deep tree are left out, and counted.
    """
    heights = tree.heights()
    rows = min(max((heights[id(rule)] for _, rule in tree.rules()), default=0), _MOST_ROWS)
    outside = sum(heights[id(rule)] > rows for _, rule in tree.rules())
    columns = {"source": _columns(source), "target": _columns(target)}
    ends = {side: places[-1][1] + 0.02 if places else 0.0 for side, places in columns.items()}
    width = max(1.0, *ends.values())
    for side, end in ends.items():
        columns[side] = [(left + (width - end) / 2, right + (width - end) / 2) for left, right in columns[side]]
    above = _LINKS / 2 + _BAR + (rows + (outside > 0)) * _ROW + 0.05
    figure = empty_figure(figsize=(width + 0.3, 2 * above))
    axes = figure.add_axes((0.15 / (width + 0.3), 0, width / (width + 0.3), 1))
    axes.set_xlim(0, width)
    axes.set_ylim(-above, above)
    axes.axis("off")
    colours = {id(rule): COLOURS[i % len(COLOURS)] for i, (_, rule) in enumerate(tree.rules())}
    for _, rule in tree.rules():
        for begin, end in rule.links:
            ends_at = [sum(columns[side][at]) / 2 for side, at in (("source", begin), ("target", end))]
            axes.plot(ends_at, [_LINKS / 2, -_LINKS / 2], color=_edge(rule), linewidth=0.9)
        row = heights[id(rule)] if heights[id(rule)] <= rows else None
        _draw_side(axes, rule, "source", source, columns["source"], colours, row)
        _draw_side(axes, rule, "target", target, columns["target"], colours, row)
    if outside:
        axes.text(0, above - _ROW, f"… {outside:,} more rules around these", fontsize=9, color=_EDGE)
    return figure


def _draw_side(
    axes: Any,
    rule: Subtree,
    side: Side,
    words: Sequence[str],
    columns: Sequence[tuple[float, float]],
    colours: dict[int, str],
    row: int | None,
) -> None:
    """Draw one side of a rule: its words in the line of words, and its bar in a row further out, if it has one."""
    from matplotlib.patches import Rectangle

    begin, end = getattr(rule, side)
    if not rule.covers(side):
        return
    sign = 1 if side == "source" else -1
    middle = sign * (_LINKS / 2 + _BAR / 2)  # of the words
    bar = middle + sign * (row or 0) * _ROW

    def box(left: float, right: float, y: float, colour: str, edge: str | None) -> None:
        corner, line = (left, y - _BAR / 2), 0.8 if edge else 0
        axes.add_patch(
            Rectangle(corner, right - left, _BAR, facecolor=colour, edgecolor=edge or "none", linewidth=line)
        )

    def text(x: float, y: float, word: str, size: int, colour: str) -> None:
        # Dollar signs in words must not start mathematics.
        axes.text(x, y, word, ha="center", va="center_baseline", fontsize=size, color=colour, parse_math=False)

    colour = colours[id(rule)]
    for symbol in rule.symbols(side):
        first, last = (symbol, symbol + 1) if symbol >= 0 else getattr(rule.children[-1 - symbol], side)
        if first == last:
            continue
        left, right = columns[first][0], columns[last - 1][1]
        centre = (left + right) / 2
        if symbol < 0 and row is None:
            continue
        if symbol < 0:
            box(left, right, bar, colours[id(rule.children[-1 - symbol])], None)
            text(centre, bar, f"X{-symbol}", 7, _EDGE)
            continue
        axes.plot([centre, centre], [middle, bar], color=_edge(rule), linewidth=0.6, zorder=0.5)
        box(left, right, middle, colour, None)
        text(centre, middle, words[symbol], 9, "#000000")
        if row:
            box(left, right, bar, colour, None)
            text(centre, bar, words[symbol], 7, _EDGE)
    if row is not None:
        box(columns[begin][0], columns[end - 1][1], bar, "none", _edge(rule))


def _edge(rule: Subtree) -> str:
    return _UNKNOWN if rule.unknown else _EDGE


def _columns(words: Sequence[str]) -> list[tuple[float, float]]:
    """Return the places of words, from left to right."""
    columns, left = [], 0.02
    for word in words:
        right = left + _TREE_CHARACTER * max(len(word), 2) + 0.1
        columns.append((left, right))
        left = right + _TREE_GAP
    return columns


def text_tree(source: Sequence[str], target: Sequence[str], tree: Subtree) -> str:
    """Write a derivation for a terminal: one line per rule with its span, indented below the rule whose hole it fills.

    A rule too deep to be indented has its depth before it.

    >>> rule = Subtree((1, 2), (2, 3), (), (), False)
    >>> around = Subtree((0, 3), (0, 3), (rule,), (), False)
    >>> print(text_tree("ne dort pas".split(), "does not sleep".split(), around))
    0-2  ne [X1] pas  does not [X1]
    1-1    dort         sleep
    """
    rows = []
    for depth, rule in tree.rules():
        unknown = "  (unknown)" if rule.unknown else ""
        indent = "  " * depth if depth <= _MOST_INDENT else f"{'  ' * _MOST_INDENT}({depth}) "
        sides = [f"{indent}{rule.spelt(*side)}" for side in (("source", source), ("target", target))]
        rows.append((f"{rule.source[0]}-{rule.source[1] - 1}", sides[0], (sides[1] + unknown).rstrip()))
    widths = [max((len(row[i]) for row in rows), default=0) for i in range(2)]
    return "\n".join(f"{span.ljust(widths[0])}  {f.ljust(widths[1])}  {e}".rstrip() for span, f, e in rows)


_CHARACTER = 0.105  # inches
_GAP = 0.18


def draw_derivation(source: Sequence[str], target: Sequence[str], phrases: Sequence[Phrase]) -> Figure:
    """Draw phrases as boxes, the source above and the target below, with a line from each to its translation."""
    require_matplotlib()
    from matplotlib.patches import FancyBboxPatch

    above = _boxes([" ".join(source[p.source[0] : p.source[1]]) for p in sorted(phrases, key=lambda p: p.source)])
    below = _boxes([" ".join(target[p.target[0] : p.target[1]]) for p in phrases])
    width = max([right for _, right, _ in above + below], default=1.0) + 0.05
    figure = empty_figure(figsize=(width + 0.3, 1.9))
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
    """Write a derivation for a terminal: one line per phrase, in target order, with its source span.

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
    """Draw the derivation of a translation: phrases, or the tree of a hierarchical model."""
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
