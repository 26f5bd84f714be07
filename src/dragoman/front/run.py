"""Tuning runs for interactive use."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dragoman.core.display import frame, html_table, pluralise
from dragoman.core.errors import DataError
from dragoman.evaluation.statistics.intervals import full_signature
from dragoman.metrics.combined import parse_metric
from dragoman.metrics.references import reference_files
from dragoman.tuning.runs.run import Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure


#: Attributes for interactive use; the others are for the code that writes runs.
_SHOWN = (
    *("best_score", "events", "folder", "frame", "metric", "options", "plot", "plot_surfaces"),
    *("ranks", "signature", "weights"),
)


class TuningRun(Run):
    """A tuning run, finished or not: its events, the best weights so far, and a plot."""

    def __dir__(self) -> list[str]:
        return [*_SHOWN, *(name for name in super().__dir__() if name.startswith("_"))]

    @property
    def metric(self) -> str:
        """The metric that the run optimises."""
        return str(self.options["metric"])

    @property
    def signature(self) -> str:
        """The signature of the scores, which are computed on tokenised text."""
        references = reference_files([Path(file) for file in self.options.get("reference", [])])
        return full_signature(parse_metric(self.metric), len(references) or None, prepared=True)

    @property
    def best_score(self) -> float:
        """The best score so far, on the tuning set or on held-out text."""
        sign = 1 if parse_metric(self.metric).higher_is_better else -1
        return sign * max(sign * float(event["score"]) for event in self._some_events())

    def frame(self) -> Any:
        """Return a pandas frame with a row for each iteration: its score and what the method reports."""
        events = self._some_events()
        names = dict.fromkeys(name for event in events for name in event if name != "seconds")
        columns: dict[str, list[Any]] = {name: [event.get(name) for event in events] for name in names}
        return frame(columns | {"seconds": [sum(event.get("seconds", {}).values()) for event in events]})

    def plot(self) -> Figure:
        """Draw the score and the method's other reports over iterations, as a matplotlib figure."""
        from dragoman.evaluation.figures.runs import draw_runs

        sign = 1 if parse_metric(self.metric).higher_is_better else -1
        return draw_runs({self.folder.name: self._some_events()}, self.metric, sign=sign, signature=self.signature)

    def plot_surfaces(self) -> Figure:
        """Draw the metric on the run's candidates as one weight changes, exactly and with a zoom, for each weight."""
        from dragoman.evaluation.figures.surfaces import draw_surfaces
        from dragoman.evaluation.statistics.error_surfaces import error_surfaces
        from dragoman.evaluation.statistics.run_evidence import RunEvidence

        evidence = RunEvidence.read(self.folder)
        found = error_surfaces(*evidence.around(self.weights()), evidence.tuned)
        return draw_surfaces(found, self.metric, signature=self.signature)

    def ranks(self, sentence: int | None = None, iterations: Sequence[int] | None = None) -> Any:
        """Return a pandas frame of a sentence's candidates: text, rank after each iteration (0: before), and metric.

        Sentences count from 1; by default the one whose translation changed most often. By final rank.
        """
        from dragoman.evaluation.statistics.candidate_ranks import candidate_ranks
        from dragoman.evaluation.statistics.run_evidence import RunEvidence

        found = candidate_ranks(RunEvidence.read(self.folder), sentence, iterations)
        found = found.top(len(found.texts))
        columns: dict[str, Any] = {"text": found.texts, self.metric: found.scores}
        return frame(columns | {f"rank {i}": found.ranks[:, place] for place, i in enumerate(found.iterations)})

    def __repr__(self) -> str:
        events = self.events()
        if not events:
            return f"TuningRun({self.folder}: nothing yet)"
        done = f"{self.options.get('method', '')}, {pluralise(len(events), 'iteration')}".removeprefix(", ")
        how = events[-1]["stop"] or "not ended"
        return f"TuningRun({self.folder}: {done}, {how}, best {self.metric} {self.best_score:.2f}; {self.signature})"

    def _repr_html_(self) -> str:
        rows = [(event["iteration"], float(event["score"]), event["stop"] or "") for event in self.events()]
        return html_table(["iteration", self.metric, ""], rows, repr(self), most=100)

    def _some_events(self) -> list[dict[str, Any]]:
        events = self.events()
        if not events:
            raise DataError("has no events", path=self.folder, expected="a run with at least one iteration")
        return events
