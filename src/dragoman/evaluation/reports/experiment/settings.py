"""What an experiment was begun with."""

from __future__ import annotations

from dragoman.decision.rule import Rule
from dragoman.evaluation.experiments.plan_decisions import PlannedDecision
from dragoman.evaluation.reports.experiment.sheets import Rows, Sheets
from dragoman.evaluation.reports.report import in_words
from dragoman.tuning.methods.method import TuningMethod

_OF_ONE_RUN = {"method", "options", "seed"}


def add_settings(sheets: Sheets) -> None:
    """All options of tuning, methods and decisions."""
    plan = sheets.plan
    described = plan.job.description().items()
    rows: Rows = [(key.replace("_", " "), in_words(value)) for key, value in described if key not in _OF_ONE_RUN]
    if plan.systems is not None:
        rows += [(f"corpus {name}", in_words(files)) for name, files in plan.systems.corpora.items()]
        rows += [("systems", in_words(plan.systems.names))]
        rows += [
            (kind.replace("_", " "), in_words(options)) for kind, options in plan.systems.recipe.described().items()
        ]
    rows += [(f"options of {method.name}", _options(method.tuner)) for method in plan.methods]
    if plan.has_decisions:
        rows += [(f"decision {decision.name}", _described(decision)) for decision in plan.decisions]
    sheets.page.heading("Settings")
    sheets.page.table(["", ""], rows)


def _described(decision: PlannedDecision) -> str:
    parts = [_options(decision.decision.rule), f"by {decision.decision.evidence}"]
    parts += [f"sampling: {in_words(decision.sampling.to_dict())}"] if decision.by_samples else []
    parts += [f"{decision.decision.nbest_size} best"] if decision.decision.evidence == "nbest" else []
    parts += [f"scale of {', '.join(f'{scale:g}' for scale in decision.scales)}"] if decision.scales else []
    return "; ".join(parts)


def _options(chosen: TuningMethod | Rule) -> str:
    """The name of a method or rule, and its options."""
    options = chosen.to_dict()
    return f"{chosen.name}: {in_words(options)}" if options else chosen.name
