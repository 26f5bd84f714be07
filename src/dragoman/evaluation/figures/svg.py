"""Figures as SVG, for pages and files, and grids of panels."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from dragoman.core.errors import require_package
from dragoman.core.files import PathLike, open_output

if TYPE_CHECKING:
    from matplotlib.figure import Figure


#: Colours for readers with colour blindness too: the palette of Okabe & Ito (2008), without its yellow.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000")


def require_matplotlib() -> None:
    """Refuse to go on without matplotlib; for commands that draw only at the end of long work."""
    require_package("matplotlib", "matplotlib", extra="plots", purpose="drawing")


def empty_figure(**settings: Any) -> Figure:
    """Return a new matplotlib figure."""
    require_matplotlib()
    # Imported when needed: matplotlib takes most of a second, which `dragoman --help` should not.
    from matplotlib.figure import Figure

    return Figure(**settings)


def figure_svg(figure: Figure) -> str:
    """Return a figure as SVG text: the same figure gives the same text."""
    from matplotlib import rc_context

    layout = figure.get_layout_engine()
    if layout is not None:
        # Layout here draws everything once. A layout engine, or a tight bounding box, would draw it twice.
        layout.execute(figure)
        figure.set_layout_engine(None)
    stream = io.StringIO()
    with rc_context({"svg.hashsalt": "dragoman"}):  # ids in the picture are random otherwise
        figure.savefig(stream, format="svg", bbox_inches=None if layout else "tight", metadata={"Date": None})
    figure.set_layout_engine(layout)
    svg = stream.getvalue()
    return svg[svg.index("<svg") :]


def write_svg(path: PathLike, figure: Figure) -> None:
    """Write a figure as an SVG file."""
    with open_output(path) as stream:
        stream.write(figure_svg(figure).encode())


def panel_grid(count: int, *, columns: int, size: tuple[float, float]) -> tuple[Figure, list[Any]]:
    """Return a figure with panels in rows; `size` is the size of one panel, in inches."""
    columns = min(columns, count)
    rows = -(-count // columns)
    # The layout "constrained" takes three times as long.
    figure = empty_figure(figsize=(size[0] * columns, size[1] * rows), layout="tight")
    axes = figure.subplots(rows, columns, squeeze=False).ravel().tolist()
    for ax in axes:
        ax.set_prop_cycle(color=COLOURS)
    for ax in axes[count:]:
        ax.remove()
    return figure, axes[:count]
