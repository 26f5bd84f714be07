"""Scores as sacreBLEU prints them: our numbers through its own classes, so that lines, JSON and tables are the same."""

from __future__ import annotations

import json
import os
import sys
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
import typer
from numpy.typing import NDArray

from dragoman.core.errors import UsageError
from dragoman.evaluation.statistics.intervals import SystemScore, full_signature
from dragoman.evaluation.statistics.sacrebleu_tests import (
    TestedScore,
    half_interval,
    paired_bootstrap_tests,
    paired_randomisation_tests,
    resampled_scores,
)
from dragoman.metrics.bleu import Bleu, bleu_scores
from dragoman.metrics.chrf import Chrf
from dragoman.metrics.metric import Metric
from dragoman.metrics.references import sacrebleu_tokeniser
from dragoman.metrics.ter import Ter

OutputFormat = Literal["json", "text", "latex"]

_PANEL = "Output, as in sacreBLEU"


@dataclass(frozen=True)
class SacrebleuOutput:
    """Flags for sacreBLEU's output."""

    output_format: Annotated[
        OutputFormat | None,
        typer.Option(
            "--format",
            "-f",
            rich_help_panel=_PANEL,
            help="Print what sacreBLEU prints: JSON, a line for each score (a table of several systems), or LaTeX.",
        ),
    ] = None
    score_only: Annotated[
        bool, typer.Option("--score-only", "-b", rich_help_panel=_PANEL, help="Print only the scores.")
    ] = False
    width: Annotated[
        int | None, typer.Option("--width", "-w", min=0, max=15, rich_help_panel=_PANEL, help="Decimals of scores.")
    ] = None
    short: Annotated[bool, typer.Option("--short", "-sh", rich_help_panel=_PANEL, help="Print short signatures.")] = (
        False
    )
    sentence_level: Annotated[
        bool,
        typer.Option(
            "--sentence-level", "-sl", rich_help_panel=_PANEL, help="Print a score for each sentence of one system."
        ),
    ] = False
    confidence: Annotated[
        bool,
        typer.Option(
            "--confidence",
            "-ci",
            rich_help_panel=_PANEL,
            help="Print the mean of bootstrap resamples and half their interval; other tables have intervals anyway.",
        ),
    ] = False
    no_color: Annotated[
        bool, typer.Option("--no-color", "-nc", rich_help_panel=_PANEL, help="Print tables without colours.")
    ] = False
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", rich_help_panel=_PANEL, help="Print no warnings and no progress.")
    ] = False

    def format_for(self, *, like_sacrebleu: bool) -> OutputFormat | None:
        """Return the format; None for our own tables, the default unless the command line is sacreBLEU's."""
        asked = os.environ.get("SACREBLEU_FORMAT", "").lower() if like_sacrebleu else ""
        if asked in ("json", "text", "latex"):
            return asked  # type: ignore[return-value]
        if self.output_format is not None or like_sacrebleu:
            return self.output_format or "json"
        return "text" if self.score_only or self.short or self.sentence_level else None

    @property
    def seed(self) -> int | None:
        """The seed of sacreBLEU's resampling; None for another one each time."""
        text = os.environ.get("SACREBLEU_SEED", "12345")
        if text.lower() == "none":
            return None
        if not text.isdecimal():
            raise UsageError(f"SACREBLEU_SEED is '{text}'; expected a number or none")
        return int(text)


@dataclass(frozen=True)
class PairedTest:
    """A paired test of all systems against the first: `bs` for the bootstrap, `ar` for approximate randomisation."""

    kind: Literal["bs", "ar"]
    draws: int


class SacrebleuReport:
    """Scores of systems, which come metric by metric, to be printed."""

    def __init__(
        self,
        systems: Sequence[str],
        scored: Sequence[SystemScore],
        references: int,
        output: SacrebleuOutput,
        *,
        form: OutputFormat,
        seed: int | None,
    ):
        self._systems, self._references = systems, references
        self._output, self._form, self._seed = output, form, seed
        by_label: dict[str, list[SystemScore]] = {}
        for found in scored:
            by_label.setdefault(found.label, []).append(found)
        # sacreBLEU sorts metrics by their names.
        self._metrics = [by_label[label] for label in sorted(by_label, key=str.upper)]

    def show(self, test: PairedTest | None, resamples: int) -> None:
        """Print what is asked for; `resamples` are those of the confidence of a score, 0 for none."""
        systems = len(self._systems)
        if self._output.sentence_level:
            if test is not None or resamples:
                raise UsageError("there are no statistical tests of single sentences; expected one or the other")
            self.print_sentences()
        elif systems > 1:
            if resamples:
                raise UsageError(f"found --confidence and {systems} systems; expected --paired-bs or --paired-ar")
            self.print_table(test)
        elif test is not None:
            raise UsageError("found 1 system; expected two or more to compare")
        else:
            self.print_system(resamples)

    def print_sentences(self) -> None:
        """Print a line for each sentence."""
        if len(self._systems) > 1 or len(self._metrics) > 1:
            raise UsageError("found several systems or metrics; expected one of each for scores of sentences")
        ((found,),) = self._metrics
        signature = _signature(found.metric, self._references, short=self._output.short, sentences=True)
        scores = _sentence_scores(found)
        for row, value in zip(found.statistics, scores.tolist(), strict=True):
            score = _score(found, row, value)
            print(score.format(self._width(found.metric), self._output.score_only, signature))

    def print_system(self, resamples: int) -> None:
        """Print a line for each metric of one system, or JSON; with resamples, also the confidence."""
        from sacrebleu.utils import print_single_results

        lines = []
        for (found,) in self._metrics:
            total = found.statistics.sum(axis=0)
            score = _score(found, total, found.score)
            settings: dict[str, object] = {}
            if resamples > 1:
                drawn = resampled_scores(found.scorer, found.statistics, resamples=resamples, seed=self._seed)
                score.estimate_ci([_PlainScore(score.name, value) for value in drawn.tolist()])
                settings = {"bs": resamples, "seed": str(self._seed).lower()}
            as_json = self._form == "json"
            signature = _signature(
                found.metric, self._references, short=self._output.short and not as_json, draws=settings
            )
            lines.append(score.format(self._width(found.metric), self._output.score_only, signature, as_json))
        with self._colours():
            print_single_results(lines, self._arguments())

    def print_table(self, test: PairedTest | None) -> None:
        """Print a table of several systems, with the results of a paired test if there is one."""
        from sacrebleu.significance import Result
        from sacrebleu.utils import print_results_table

        names = [*self._systems]
        if test is not None:
            names[0] = f"Baseline: {names[0]}" if self._systems[0] != "System 1" else "Baseline"
            if names[0] == "Baseline":
                names[1:] = [f"System {i + 1}" for i in range(len(names) - 1)]
        rows: dict[str, list[Any]] = {"System": names}
        signatures: dict[str, str] = {}
        for scored in self._metrics:
            first = scored[0]
            name = _score(first, first.statistics.sum(axis=0), first.score).name
            settings: dict[str, object] = {}
            if test is None:
                rows[name] = [
                    _score(one, one.statistics.sum(axis=0), one.score).format(self._width(one.metric), True)
                    for one in scored
                ]
            else:
                rows[name] = [
                    Result(one.score, one.p_value, one.mean, one.half_interval) for one in self._tested(scored, test)
                ]
                settings = {test.kind: test.draws, "seed": str(self._seed).lower()}
            signatures[name] = _signature(first.metric, self._references, short=self._output.short, draws=settings)
        with self._colours():
            print_results_table(rows, signatures, self._arguments(test))

    def _tested(self, scored: Sequence[SystemScore], test: PairedTest) -> list[TestedScore]:
        statistics, scorer = [one.statistics for one in scored], scored[0].scorer
        if test.kind == "bs":
            return paired_bootstrap_tests(scorer, statistics, resamples=test.draws, seed=self._seed)
        return paired_randomisation_tests(scorer, statistics, trials=test.draws, seed=self._seed)

    def _width(self, metric: Metric) -> int:
        """Return the decimals of a score: one, or those of a metric whose scale is from 0 to 1."""
        return self._output.width if self._output.width is not None else 1 if metric.digits == 2 else metric.digits

    def _arguments(self, test: PairedTest | None = None) -> Namespace:
        width = max(self._width(scored[0].metric) for scored in self._metrics)
        draws = 0 if test is None else test.draws
        kind = None if test is None else test.kind
        return Namespace(
            format=self._form,
            width=width,
            paired_bs=kind == "bs",
            paired_ar=kind == "ar",
            paired_bs_n=draws,
            paired_ar_n=draws,
        )

    @contextmanager
    def _colours(self) -> Iterator[None]:
        """Let sacreBLEU colour what goes to a terminal."""
        from sacrebleu.utils import Color

        before = Color.ENABLE_COLORS
        Color.ENABLE_COLORS = sys.stdout.isatty() and not (self._output.no_color or os.environ.get("NO_COLOR"))
        try:
            yield
        finally:
            Color.ENABLE_COLORS = before


def _sentence_scores(found: SystemScore) -> NDArray[np.float64]:
    """Return sentence scores; those of BLEU are smoothed as the score of the text is, as in sacreBLEU."""
    metric = found.metric
    if isinstance(metric, Bleu):
        return bleu_scores(found.statistics, metric.smoothing, metric.smoothing_value, effective_order=True)
    return found.scorer.sentence_scores(found.statistics)


def _score(found: SystemScore, total: NDArray[np.float64], value: float) -> Any:
    """Return sacreBLEU's object for a score, given the statistics that it is computed from."""
    from sacrebleu.metrics.bleu import BLEUScore
    from sacrebleu.metrics.chrf import CHRFScore
    from sacrebleu.metrics.ter import TERScore

    metric = found.metric
    if isinstance(metric, Bleu):
        order = metric.order
        details: dict[str, Any] = found.scorer.details(total)
        counts, totals = total[2 : 2 + order].tolist(), total[2 + order :].tolist()
        lengths = (round(details[name]) for name in ("hypothesis_length", "reference_length"))
        return BLEUScore(value, counts, totals, details["precisions"], details["brevity_penalty"], *lengths)
    if isinstance(metric, Chrf):
        return CHRFScore(value, metric.char_order, metric.word_order, metric.beta)
    if isinstance(metric, Ter):
        return TERScore(value, *total.tolist())
    return _PlainScore(found.label.partition(":")[0], value)


class _PlainScore:
    """A score of a metric that sacreBLEU does not have, which prints itself as sacreBLEU's do."""

    def __init__(self, name: str, score: float):
        self.name, self.score = name, score
        self._resampled: list[float] = []

    def estimate_ci(self, scores: Sequence[_PlainScore]) -> None:
        """Take scores of resamples."""
        self._resampled = [one.score for one in scores]

    def format(self, width: int = 2, score_only: bool = False, signature: str = "", is_json: bool = False) -> str:
        """Return a line, the score alone, or JSON."""
        shown: dict[str, object] = {"name": self.name, "score": round(self.score, width), "signature": signature}
        text = f"{self.score:.{width}f}"
        if self._resampled:
            mean, half = (
                f"{number:.{width}f}" for number in (np.mean(self._resampled), half_interval(np.array(self._resampled)))
            )
            shown |= {
                "confidence_mean": float(mean),
                "confidence_var": float(half),
                "confidence": f"μ = {mean} ± {half}",
            }
            text += f" (μ = {mean} ± {half})"
        if score_only:
            return text
        shown |= dict(part.split(":", 1) for part in signature.split("|") if ":" in part)
        return json.dumps(shown, indent=1, ensure_ascii=False) if is_json else f"{self.name}|{signature} = {text}"


def _signature(
    metric: Metric,
    references: int,
    *,
    short: bool = False,
    sentences: bool = False,
    draws: Mapping[str, object] | None = None,
) -> str:
    """Return a signature as sacreBLEU writes it, or ours without the name for metrics that it does not have."""
    from sacrebleu.metrics.bleu import BLEUSignature
    from sacrebleu.metrics.chrf import CHRFSignature
    from sacrebleu.metrics.ter import TERSignature

    if isinstance(metric, Bleu) and (metric.order, metric.reference_length) == (4, "closest"):
        found: Any = BLEUSignature(
            {
                "num_refs": references,
                "smooth_method": metric.smoothing,
                "smooth_value": metric.smoothing_value,
                "lowercase": metric.lowercase,
                "effective_order": sentences,
                "tokenizer_signature": sacrebleu_tokeniser(metric.tokenise).signature(),
            }
        )
    elif isinstance(metric, Chrf):
        found = CHRFSignature(
            {
                "num_refs": references,
                "lowercase": metric.lowercase,
                "eps_smoothing": metric.eps_smoothing,
                "char_order": metric.char_order,
                "word_order": metric.word_order,
                "whitespace": metric.whitespace,
            }
        )
    elif isinstance(metric, Ter):
        found = TERSignature(
            {
                "num_refs": references,
                "case_sensitive": metric.case_sensitive,
                "tokenizer_signature": "tercom",
                "normalized": metric.normalised,
                "no_punct": metric.no_punctuation,
                "asian_support": metric.asian_support,
            }
        )
    else:
        _, _, rest = full_signature(metric, references).partition("|")
        return "|".join([rest, *(f"{key}:{value}" for key, value in (draws or {}).items())])
    for key, value in (draws or {}).items():
        found.update(key, value)
    return str(found.format(short))
