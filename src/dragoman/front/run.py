"""A tuning run, as people look at it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dragoman.core.errors import DataError
from dragoman.core.shown import frame, html_table
from dragoman.metrics.combined import parse_metric
from dragoman.tuning.runs.run import Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class TuningRun(Run):
    """A run in its folder, also one that is still at work: its events, the best weights so far, and a picture."""

    @property
    def metric(self) -> str:
        """What the run is tuned to."""
        return str(self.options["metric"])

    @property
    def best_score(self) -> float:
        """The best score so far, on the tuning set or on held-out text."""
        sign = 1 if parse_metric(self.metric).higher_is_better else -1
        return sign * max(sign * float(event["score"]) for event in self._some_events())

    def frame(self) -> Any:
        """Return a pandas frame: a row an iteration, with its score and whatever the method says of it."""
        events = self._some_events()
        names = dict.fromkeys(name for event in events for name in event if name != "seconds")
        columns: dict[str, list[Any]] = {name: [event.get(name) for event in events] for name in names}
        return frame(columns | {"seconds": [sum(event.get("seconds", {}).values()) for event in events]})

    def plot(self) -> Figure:
        """Draw the score over iterations, and what else the method says of them, as a matplotlib figure."""
        from dragoman.evaluation.figures.run_plot import draw_runs

        sign = 1 if parse_metric(self.metric).higher_is_better else -1
        return draw_runs({self.folder.name: self._some_events()}, self.metric, sign=sign)

    def __repr__(self) -> str:
        events = self.events()
        if not events:
            return f"TuningRun({self.folder}: nothing yet)"
        return f"TuningRun({self.folder}: {len(events)} iterations, best {self.metric} {self.best_score:.2f})"

    def _repr_html_(self) -> str:
        rows = [(event["iteration"], float(event["score"]), event["stop"] or "") for event in self.events()]
        return html_table(["iteration", self.metric, ""], rows, repr(self), most=100)

    def _some_events(self) -> list[dict[str, Any]]:
        events = self.events()
        if not events:
            raise DataError("has no events", path=self.folder, expected="a run that has done an iteration")
        return events
