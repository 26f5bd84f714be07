"""Where the parts of an experiment's report write: one page, and a CSV file for each table of numbers."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from pathlib import Path

from dragoman.core.files import open_output
from dragoman.evaluation.experiments.plan import Plan
from dragoman.evaluation.experiments.systems import System
from dragoman.evaluation.reports.report import Report

Rows = list[tuple[object, ...]]


class Sheets:
    """The page and the folder of a report, and how tables of this plan name systems."""

    def __init__(self, plan: Plan, folder: Path):
        self.plan = plan
        self.page = Report(plan.title)
        self._folder = folder

    @property
    def naming(self) -> list[str]:
        """The columns that name a system."""
        return ["method", *(["decision"] if self.plan.has_decisions else [])]

    def named(self, system: System) -> tuple[str, ...]:
        """A system in these columns."""
        return (system.method_name, *([system.decision.name] if self.plan.has_decisions else []))

    def csv(self, name: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        """Write a file of numbers."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(rows)
        with open_output(self._folder / name) as stream:
            stream.write(text.getvalue().encode())

    def write_page(self) -> Path:
        """Write the page; returns where it is."""
        path = self._folder / "report.html"
        self.page.write(path)
        return path
