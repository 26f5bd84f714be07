"""Figures of samplers: convergence, autocorrelation and divergence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dragoman.evaluation.figures.svg import COLOURS, panel_grid
from dragoman.evaluation.statistics.intervals import mean_of_beginnings
from dragoman.sampling.diagnostics.diagnosis_results import INDEPENDENT, SentenceDiagnostics, Summary

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_GREY = "#888888"
_PANELS = 12  # sentences with a panel of their own
_COLUMNS = 4
_LAGS = 50  # lags of the autocorrelation

Lines = Sequence[tuple[str, Sequence[float], Sequence[float]]]


def draw_divergence(summary: Summary) -> Figure:
    """Draw the mean divergence of samples from the exact distribution against their number (figure 5.10)."""
    figure, axes = panel_grid(1, columns=_COLUMNS, size=(6.4, 4.0))
    rows = [
        (curve.name, curve.derivation_divergence, curve.translation_divergence)
        for curve in summary.curves
        if curve.derivation_divergence
    ]
    _divergence(axes[0], summary.sizes, rows)
    axes[0].legend(fontsize=8)
    return figure


def draw_divergences(sentences: Sequence[SentenceDiagnostics]) -> Figure:
    """Draw the divergence of each of the first dozen sentences with exact probabilities."""
    shown = [one for one in sentences if one.exact][:_PANELS]
    figure, axes = panel_grid(len(shown), columns=_COLUMNS, size=(3.2, 2.4))
    for panel, one in zip(axes, shown, strict=True):
        curves = [(run.initial, run.curves) for run in one.runs]
        curves += [] if one.independent is None else [(INDEPENDENT, one.independent)]
        rows = [(name, c.derivations.divergence or [], c.translations.divergence or []) for name, c in curves]
        _divergence(panel, one.sizes, rows)
        panel.set_title(f"line {one.number} ({one.words} words)", fontsize=9)
    return figure


def draw_autocorrelation(sentences: Sequence[SentenceDiagnostics]) -> Figure:
    """Draw the mean autocorrelation of the score for each starting point."""
    figure, axes = panel_grid(1, columns=_COLUMNS, size=(6.4, 3.0))
    for place, runs in enumerate(zip(*(one.runs for one in sentences), strict=True)):
        mean = mean_of_beginnings([run.autocorrelation for run in runs], _LAGS)
        axes[0].plot(mean, color=COLOURS[place % len(COLOURS)], label=runs[0].initial)
    axes[0].axhline(0, color=_GREY, linewidth=0.8)
    axes[0].set_xlabel("lag (samples)")
    axes[0].set_ylabel("autocorrelation of the score")
    axes[0].legend(fontsize=8)
    return figure


def draw_expectations(summary: Summary, features: Sequence[str] | None = None) -> Figure:
    """Draw how far expected features are from exact ones, by evidence and its size (figure 7.3).

    `features` defaults to all features that are not 0 everywhere.
    """
    rows = [row for row in summary.expectations if row.evidence != "exact"]
    place = {name: i for i, name in enumerate(summary.features)}
    shown = [name for name in place if any(row.values[place[name]] for row in rows)] if features is None else features
    sizes = sorted({row.size for row in rows if row.size is not None})
    figure, axes = panel_grid(len(shown), columns=_COLUMNS, size=(3.0, 2.2))
    names = list(dict.fromkeys(row.evidence for row in rows if row.size is not None))
    for panel, feature in zip(axes, shown, strict=True):
        column = place[feature]
        for row in rows:
            if row.size is None:
                panel.plot([0], [row.differences[column]], "D", color="black", markersize=4, label=row.evidence)
        for number, name in enumerate(names):
            found = [row for row in rows if row.evidence == name]
            colour = _GREY if name == "n-best" else COLOURS[(number - 1) % len(COLOURS)]
            at = [1 + sizes.index(row.size) for row in found if row.size is not None]
            panel.plot(at, [row.differences[column] for row in found], "o-", color=colour, markersize=3, label=name)
        panel.axhline(0, color="black", linewidth=0.6)
        panel.set_title(feature, fontsize=9)
        panel.set_xticks(range(len(sizes) + 1), ["lattice", *(f"{size:,}" for size in sizes)], rotation=60, fontsize=7)
        panel.tick_params(axis="y", labelsize=7)
    axes[0].set_ylabel("estimate minus exact", fontsize=8)
    axes[0].legend(fontsize=6)
    return figure


def _divergence(axes: Any, sizes: Sequence[int], rows: Lines) -> None:
    for place, (name, derivations, translations) in enumerate(rows):
        colour = _GREY if name == INDEPENDENT else COLOURS[place % len(COLOURS)]
        axes.plot(sizes, derivations, "o-", color=colour, markersize=3, label=f"{name}, derivations")
        axes.plot(sizes, translations, "s--", color=colour, markersize=3, label=f"{name}, translations")
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.set_ylim(0)
    axes.set_xlabel("samples", fontsize=8)
    axes.set_ylabel("sampler divergence (nats)", fontsize=8)
    axes.grid(alpha=0.3)
