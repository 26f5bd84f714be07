"""Figures as text for pages and files."""

from __future__ import annotations

import io

from matplotlib import rc_context
from matplotlib.figure import Figure


def figure_svg(figure: Figure) -> str:
    """Return a figure as SVG text: the same figure gives the same text."""
    stream = io.StringIO()
    # Without a salt of ours, the names of clip paths differ from run to run.
    with rc_context({"svg.hashsalt": "dragoman"}):
        figure.savefig(stream, format="svg", metadata={"Date": None})
    svg = stream.getvalue()
    return svg[svg.index("<svg") :]
