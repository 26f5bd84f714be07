"""What an experiment was begun with."""

from __future__ import annotations

from dragoman.evaluation.experiments.plan_decisions import PlannedDecision
from dragoman.evaluation.reports.experiment.sheets import Rows, Sheets

_OF_ONE_RUN = {"method", "options", "seed"}


def add_settings(sheets: Sheets) -> None:
    """All options of tuning, methods and decisions."""
    plan = sheets.plan
    rows: Rows = [(key, str(value)) for key, value in plan.job.description().items() if key not in _OF_ONE_RUN]
    rows += [(f"options of {method.name}", str(method.tuner)) for method in plan.methods]
    if plan.has_decisions:
        rows += [(f"decision {decision.name}", _described(decision)) for decision in plan.decisions]
    sheets.page.heading("Settings")
    sheets.page.table(["", ""], rows)


def _described(decision: PlannedDecision) -> str:
    parts = [str(decision.decision.rule), f"by {decision.decision.evidence}"]
    parts += [str(decision.sampling)] if decision.by_samples else []
    parts += [f"{decision.decision.nbest_size} best"] if decision.decision.evidence == "nbest" else []
    parts += [f"scale of {', '.join(f'{scale:g}' for scale in decision.scales)}"] if decision.scales else []
    return "; ".join(parts)
