"""A picture of the posterior over translations of one sentence, with what decision rules choose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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
    """Draw a bar for each of the most probable translations, and for each that a rule chose (`chosen`: rule → text).

    Translations are written left of the bars, and the names of the rules behind them.
    """
    from matplotlib.figure import Figure

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
    figure = Figure(figsize=(width, height))
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
