"""A picture of the posterior over translations of one sentence, with what decision rules choose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_CHOSEN, _OTHER = "#3f7f93", "#c9d6db"
_CHARACTER = 0.075  # inches
_BAR = 0.27


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
    height = _BAR * max(len(rows), 1) + 0.8
    left = _CHARACTER * max([len(text) for text, _ in rows], default=10)
    figure = Figure(figsize=(left + 5.0, height), layout="constrained")
    axes = figure.add_subplot()
    longest = max([probability for _, probability in rows], default=1.0) or 1.0
    for place, (text, probability) in enumerate(rows):
        rules = [rule for rule, choice in chosen.items() if choice == text]
        axes.barh(place, probability, height=0.7, color=_CHOSEN if rules else _OTHER)
        label = "  ".join([f"{probability:.3g}", *rules])
        axes.text(probability + 0.01 * longest, place, label, va="center", fontsize=8)
    axes.set_yticks(range(len(rows)), [text or "∅" for text, _ in rows], fontsize=9)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlim(0, 1.5 * longest)
    axes.set_xlabel("probability")
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    if source is not None:
        axes.set_title(source, fontsize=10, loc="left")
    return figure
