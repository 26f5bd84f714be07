"""Options of BLEU, chrF and TER as flags with sacreBLEU's names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Annotated, Literal

import typer

from dragoman.core.errors import UsageError
from dragoman.core.runtime import Runtime

_PANEL = "Options of metrics, as in sacreBLEU"

#: Options that have another name here than in sacreBLEU.
_RENAMED = {
    "smooth_method": "smoothing",
    "smooth_value": "smoothing_value",
    "normalized": "normalised",
    "no_punct": "no_punctuation",
}


@dataclass(frozen=True)
class MetricFlags:
    """Options of metrics; the name of a field is that of its metric and that of sacreBLEU's option."""

    bleu_lowercase: Annotated[
        bool, typer.Option("--lowercase", "-lc", rich_help_panel=_PANEL, help="BLEU ignores case.")
    ] = False
    bleu_smooth_method: Annotated[
        Literal["none", "exp", "floor", "add-k"] | None,
        typer.Option("--smooth-method", "-s", rich_help_panel=_PANEL, help="Smoothing of BLEU. Default: exp."),
    ] = None
    bleu_smooth_value: Annotated[
        float | None,
        typer.Option("--smooth-value", "-sv", rich_help_panel=_PANEL, help="Value of floor (0.1) and add-k (1)."),
    ] = None
    chrf_char_order: Annotated[
        int | None,
        typer.Option("--chrf-char-order", "-cc", rich_help_panel=_PANEL, help="Longest character n-grams. Default: 6."),
    ] = None
    chrf_word_order: Annotated[
        int | None,
        typer.Option("--chrf-word-order", "-cw", rich_help_panel=_PANEL, help="Longest word n-grams; 2: chrF++."),
    ] = None
    chrf_beta: Annotated[
        int | None, typer.Option("--chrf-beta", rich_help_panel=_PANEL, help="Weight of recall. Default: 2.")
    ] = None
    chrf_whitespace: Annotated[
        bool, typer.Option("--chrf-whitespace", rich_help_panel=_PANEL, help="ChrF counts spaces.")
    ] = False
    chrf_lowercase: Annotated[
        bool, typer.Option("--chrf-lowercase", rich_help_panel=_PANEL, help="ChrF ignores case.")
    ] = False
    chrf_eps_smoothing: Annotated[
        bool,
        typer.Option("--chrf-eps-smoothing", rich_help_panel=_PANEL, help="ChrF averages over all orders."),
    ] = False
    ter_case_sensitive: Annotated[
        bool, typer.Option("--ter-case-sensitive", rich_help_panel=_PANEL, help="TER keeps case.")
    ] = False
    ter_asian_support: Annotated[
        bool, typer.Option("--ter-asian-support", rich_help_panel=_PANEL, help="TER treats Asian characters, too.")
    ] = False
    ter_no_punct: Annotated[
        bool, typer.Option("--ter-no-punct", rich_help_panel=_PANEL, help="TER removes punctuation.")
    ] = False
    ter_normalized: Annotated[
        bool, typer.Option("--ter-normalized", rich_help_panel=_PANEL, help="TER tokenises punctuation.")
    ] = False

    def applied(self, metrics: Sequence[str], *, strict: bool, runtime: Runtime) -> list[str]:
        """Return metrics with these options, before their own; refuse or warn of options that none of them has.

        >>> MetricFlags(chrf_word_order=2).applied(["bleu", "chrF:beta=1"], strict=True, runtime=Runtime())
        ['bleu', 'chrF:word_order=2,beta=1']
        """
        options: dict[str, list[str]] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if value is not None and value is not False:
                metric, _, option = field.name.partition("_")
                text = "true" if value is True else str(value)
                options.setdefault(metric, []).append(f"{_RENAMED.get(option, option)}={text}")
        parts = [metric.partition(":") for metric in metrics]
        for metric, given in options.items():
            if metric not in [name.lower() for name, _, _ in parts]:
                found = f"{', '.join(given)} is for {metric}, but the metrics are {', '.join(metrics)}"
                if strict:
                    raise UsageError(found)
                runtime.warn(found)
        return [
            f"{name}:{','.join([*options[name.lower()], *([own] if own else [])])}" if name.lower() in options else text
            for text, (name, _, own) in zip(metrics, parts, strict=True)
        ]
