"""Pictures of a page: curves with bands, bars and points, of the same kind as the paper's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean, stdev
from typing import Any

from dragoman.evaluation.figures.svg import COLOURS, figure_svg, panel_grid
from reproduction.results import Results

#: Keys of a picture that are not those of its cells.
_OWN = frozenset(
    {
        "name",
        "title",
        "kind",
        "x",
        "y",
        "x_label",
        "y_label",
        "log_x",
        "panels",
        "groups",
        "series",
        "lines",
        "alt",
        "base",
    }
)


def draw(picture: Mapping[str, Any], results: Results) -> str | None:
    """Return a picture as SVG, or None if there is nothing to show in it."""
    common = {key: value for key, value in picture.items() if key not in _OWN}
    panels = [{**common, **panel} for panel in picture.get("panels", [{"label": ""}])]
    kinds = {"lines": _lines, "bars": _bars, "points": _points, "steps": _steps}
    shown = [panel for panel in panels if _has_numbers(picture, panel, results)]
    if not shown:
        return None
    columns = 3 if len(shown) % 3 == 0 else 2
    figure, axes = panel_grid(len(shown), columns=min(columns, len(shown)), size=(4.4, 3.1))
    for ax, panel in zip(axes, shown, strict=True):
        kinds[picture["kind"]](ax, picture, panel, results)
        ax.set_title(panel.get("label", ""), fontsize=10)
        ax.tick_params(labelsize=8)
        _tidy(ax, picture)
        for place, text in ((ax.set_xlabel, picture.get("x_label", "")), (ax.set_ylabel, picture.get("y_label", ""))):
            place(text, fontsize=9)
    if len(picture.get("series", [])) > 1 or picture.get("lines"):
        axes[-1].legend(fontsize=7)
    return figure_svg(figure)


def _tidy(ax: Any, picture: Mapping[str, Any]) -> None:
    """Let iterations have whole numbers, logarithmic axes few labels, and no axis an offset."""
    from matplotlib.ticker import MaxNLocator, NullFormatter

    if picture.get("log_x"):
        ax.xaxis.set_minor_formatter(NullFormatter())
    elif picture["kind"] == "lines" and picture["x"] in ("iteration", "optimised"):
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    elif picture["kind"] == "steps":
        ax.xaxis.set_major_locator(MaxNLocator(5))
    if picture["kind"] != "bars":
        ax.ticklabel_format(axis="y", useOffset=False)


def _has_numbers(picture: Mapping[str, Any], panel: Mapping[str, Any], results: Results) -> bool:
    groups = panel.get("groups", picture.get("groups", [{}]))
    cell = {key: value for key, value in panel.items() if key != "groups"}
    return any(results.select({**cell, **group, **series}) for group in groups for series in picture["series"])


def _curve(cell: Mapping[str, Any], picture: Mapping[str, Any], results: Results) -> list[tuple[float, list[float]]]:
    """Return the numbers at each x, in order."""
    found: dict[float, list[float]] = {}
    for row in results.select(cell):
        if row.get(picture["x"]) and row.get(picture["y"]):
            found.setdefault(float(row[picture["x"]]), []).append(float(row[picture["y"]]))
    return sorted(found.items())


def _lines(ax: Any, picture: Mapping[str, Any], panel: Mapping[str, Any], results: Results) -> None:
    """Means over runs by x, with bands of one standard deviation; dashed lines for single numbers."""
    for i, series in enumerate(picture["series"]):
        curve = _curve({**panel, **series}, picture, results)
        if not curve:
            continue
        places, means = [x for x, _ in curve], [fmean(values) for _, values in curve]
        colour, style = COLOURS[i % len(COLOURS)], ".-" if len(curve) < 40 else "-"
        ax.plot(places, means, style, color=colour, linewidth=1.2, markersize=4, label=series["label"])
        widths = [stdev(values) if len(values) > 1 else 0.0 for _, values in curve]
        if any(widths):
            low, high = ([m + s * w for m, w in zip(means, widths, strict=True)] for s in (-1, 1))
            ax.fill_between(places, low, high, color=colour, alpha=0.15, linewidth=0)
    for i, line in enumerate(picture.get("lines", [])):
        values = results.numbers({**panel, **line})
        if values:
            ax.axhline(fmean(values), color="grey", linewidth=1, linestyle=("--", ":")[i % 2], label=line["label"])
    if picture.get("log_x"):
        ax.set_xscale("log")


def _bars(ax: Any, picture: Mapping[str, Any], panel: Mapping[str, Any], results: Results) -> None:
    """Bars of means with deviations: a group for each x, a colour for each series."""
    groups, all_series = panel.get("groups", picture.get("groups", [])), picture["series"]
    cell = {key: value for key, value in panel.items() if key != "groups"}
    width, lowest = 0.8 / len(all_series), []
    for i, series in enumerate(all_series):
        means, widths, places = [], [], []
        for place, group in enumerate(groups):
            values = results.numbers({**cell, **group, **series})
            base = {**cell, **group, **series, **picture["base"]} if "base" in picture else None
            less = fmean(results.numbers(base)) if base and results.numbers(base) else 0.0
            if values:
                means.append(fmean(values) - less)
                widths.append(stdev(values) if len(values) > 1 else 0.0)
                places.append(place + (i + 0.5) * width - 0.4)
        lowest += means
        colour = COLOURS[i % len(COLOURS)]
        ax.bar(places, means, width * 0.92, yerr=widths, color=colour, label=series["label"], error_kw={"linewidth": 1})
    ax.set_xticks(range(len(groups)), [group["label"] for group in groups], fontsize=8)
    if "base" in picture:
        ax.axhline(0, color="black", linewidth=0.8)
    elif lowest and min(lowest) > 0:
        reach = max(lowest) - min(lowest)
        ax.set_ylim(max(0.0, min(lowest) - 0.6 * reach - 0.3), max(lowest) + 0.25 * reach + 0.3)


def _points(ax: Any, picture: Mapping[str, Any], panel: Mapping[str, Any], results: Results) -> None:
    """A point for each row."""
    for i, series in enumerate(picture["series"]):
        rows = results.select({**panel, **series})
        pairs = [(float(row[picture["x"]]), float(row[picture["y"]])) for row in rows]
        if pairs:
            xs, ys = _columns(pairs)
            ax.plot(xs, ys, ".", color=COLOURS[i % len(COLOURS)], markersize=4, alpha=0.7, label=series["label"])
    if picture.get("log_x"):
        ax.set_xscale("log")


def _steps(ax: Any, picture: Mapping[str, Any], panel: Mapping[str, Any], results: Results) -> None:
    """The area between the lowest and the highest value in each column: a rugged curve, drawn small."""
    for i, series in enumerate(picture["series"]):
        rows = results.select({**panel, **series})
        places = [float(row[picture["x"]]) for row in rows]
        low, high = ([float(row[name]) for row in rows] for name in ("lowest", "highest"))
        colour = COLOURS[i % len(COLOURS)]
        ax.fill_between(places, low, high, color=colour, alpha=0.4, linewidth=0)
        ax.plot(places, high, color=colour, linewidth=0.8, label=series["label"])


def _columns(pairs: Sequence[tuple[float, float]]) -> tuple[list[float], list[float]]:
    return [x for x, _ in pairs], [y for _, y in pairs]
