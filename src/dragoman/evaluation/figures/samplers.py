"""Figures of samplers: convergence, autocorrelation and divergence, and decisions by growing numbers of samples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dragoman.evaluation.figures.svg import COLOURS, panel_grid
from dragoman.evaluation.statistics.intervals import mean_of_beginnings
from dragoman.evaluation.statistics.sampler_curves import SamplerCurves, StartCurves
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


def draw_scores(curves: SamplerCurves, metric: str) -> Figure:
    """Draw the best model score (figure 6.2) and each rule's metric (figure 6.3) against the number of samples."""
    figure, (left, right) = panel_grid(2, columns=2, size=(5.2, 3.6))
    for start, style in zip(curves.starts, _STYLES, strict=False):
        left.plot(curves.sizes, start.best_score, style, color=COLOURS[0], markersize=4, label=start.initial)
        for colour, (rule, scores) in zip(COLOURS, start.scores.items(), strict=False):
            right.plot(curves.sizes, scores, style, color=colour, markersize=4, label=f"{rule}, {start.initial}")
    left.axhline(curves.beam_score, color=_GREY, linewidth=1, label="decoder")
    right.axhline(curves.beam_metric, color=_GREY, linewidth=1, label="decoder")
    _by_samples(left, "mean score of the best derivation so far")
    _by_samples(right, metric)
    return figure


def draw_settling(curves: SamplerCurves) -> Figure:
    """Draw when decisions settle, how often they change (figures 6.4, 6.5), and how often rules differ."""
    figure, panels = panel_grid(3, columns=3, size=(4.2, 3.4))
    for start, style in zip(curves.starts, _STYLES, strict=False):
        for colour, rule in zip(COLOURS, start.settled, strict=False):
            label = f"{rule}, {start.initial}"
            panels[0].plot(*_settled(start, rule), style[1:], color=colour, label=label, drawstyle="steps-post")
            panels[1].plot(curves.sizes, start.changes[rule], style, color=colour, markersize=4)
        for colour, ((a, b), shares) in zip(COLOURS, start.differ.items(), strict=False):
            label = f"{a} / {b}, {start.initial}"
            panels[2].plot(curves.sizes, 100 * shares, style, color=colour, markersize=4, label=label)
    _by_samples(panels[0], "settled sentences (%)")
    _by_samples(panels[1], "changes of the decision so far", legend=False)
    _by_samples(panels[2], "sentences where rules differ (%)")
    for panel, room in zip(panels, (1.0, 1.0, 1.5), strict=True):  # room for the legend
        panel.set_ylim(0, room * panel.get_ylim()[1])
    return figure


def draw_ranked(start: StartCurves) -> Figure:
    """Draw exact log-probabilities by sampled rank, with those of the best derivations as a line (figure 7.1)."""
    figure, axes = panel_grid(len(start.ranked), columns=2, size=(4.6, 3.0))
    for panel, one in zip(axes, start.ranked, strict=True):
        ranks = np.arange(1, len(one.sampled) + 1)
        panel.plot(ranks, one.sampled, ".", color="black", markersize=2, label="sampled derivations")
        panel.plot(ranks[: len(one.best)], one.best, color=COLOURS[1], linewidth=1.2, label="best derivations")
        panel.set_title(f"line {one.number} ({one.words} words)", fontsize=9)
        panel.set_xlabel("rank by number of samples, or by probability", fontsize=8)
        panel.set_ylabel("exact ln p", fontsize=8)
        panel.grid(alpha=0.3)
    axes[0].legend(fontsize=7)
    return figure


#: A marker and a line for each starting point.
_STYLES = ("o-", "s--", "^:", "d-.")


def _settled(start: StartCurves, rule: str) -> tuple[Any, Any]:
    """Return numbers of samples, and the percentage of sentences whose decision has settled by then."""
    settled = np.sort(start.settled[rule])
    return settled, 100 * np.arange(1, len(settled) + 1) / len(settled)


def _by_samples(panel: Any, label: str, *, legend: bool = True) -> None:
    panel.set_xscale("log")
    panel.xaxis.set_major_formatter("{x:,.0f}")
    panel.set_xlabel("samples", fontsize=8)
    panel.set_ylabel(label, fontsize=8)
    panel.grid(alpha=0.3)
    if legend:
        panel.legend(fontsize=6)
