"""What an experiment compares: methods, each with the rules by which its weights translate."""

from __future__ import annotations

from dataclasses import dataclass

from dragoman.evaluation.experiments.plan import Method, Plan
from dragoman.evaluation.experiments.plan_decisions import PlannedDecision

UNTUNED = "untuned"


@dataclass(frozen=True)
class System:
    """A method, or the weights that all begin with, and the rule by which they translate."""

    method: Method | None
    decision: PlannedDecision

    @property
    def method_name(self) -> str:
        """The method, as tables show it."""
        return UNTUNED if self.method is None else self.method.name

    @property
    def name(self) -> str:
        """Method and decision, if the plan has decisions."""
        return " / ".join(filter(None, (self.method_name, self.decision.name)))


def systems_of(plan: Plan) -> list[System]:
    """All systems of a plan: the untuned weights, then each method, by all decisions."""
    return [System(method, decision) for method in (None, *plan.methods) for decision in plan.decisions]
