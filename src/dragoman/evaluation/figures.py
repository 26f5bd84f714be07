"""Figures as text for pages and files."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def figure_svg(figure: Figure) -> str:
    """Return a figure as SVG text: the same figure gives the same text."""
    from matplotlib import rc_context

    stream = io.StringIO()
    with rc_context({"svg.hashsalt": "dragoman"}):  # ids in the picture are random otherwise
        figure.savefig(stream, format="svg", bbox_inches="tight", metadata={"Date": None})
    svg = stream.getvalue()
    return svg[svg.index("<svg") :]
