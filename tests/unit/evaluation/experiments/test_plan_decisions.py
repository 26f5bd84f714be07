"""Decisions of a plan know at which scale they decide, and which of them can share evidence."""

from dataclasses import replace
from pathlib import Path

from dragoman.decision.consensus import Consensus
from dragoman.decision.max_derivation import MaxDerivation
from dragoman.decision.max_translation import MaxTranslation
from dragoman.decision.mbr import Mbr
from dragoman.decision.settings import Decision
from dragoman.evaluation.experiments.plan_parts import AS_DECODED, PlannedDecision, planned_decisions
from dragoman.sampling.schedule import Sampling


def test_a_scale_is_the_rules_or_the_temperature_of_samples():
    lists = PlannedDecision("lists", Decision(Mbr(metric="chrf"), "nbest", 50), scales=(1.0, 4.0), scale_lines=7)
    assert lists.at(4.0) == PlannedDecision("lists", Decision(Mbr(metric="chrf", scale=4.0), "nbest", 50))
    drawn = PlannedDecision("drawn", Decision(Mbr(), "samples"), Sampling(samples=9, temperature=2.0), (4.0,))
    assert drawn.at(4.0) == PlannedDecision("drawn", Decision(Mbr(), "samples"), Sampling(samples=9, temperature=0.5))


def test_samples_have_a_scale_whatever_the_rule():
    row = {"use": "max-derivation", "evidence": "samples", "options": {"samples_by": "frequency"}, "scales": [1, 20]}
    (planned,) = planned_decisions(Path("plan.toml"), [row])
    assert planned.decision.rule == MaxDerivation(samples_by="frequency")
    assert [planned.at(scale).sampling.temperature for scale in planned.scales] == [1.0, 0.05]
    # Burn-in starts at three times the temperature of each scale.
    assert [float(planned.at(scale).sampling.burn_in_temperatures[0]) for scale in planned.scales] == [3.0, 3 * 0.05]


def test_evidence_is_shared_by_those_that_see_the_same():
    def sees(rule, kind, size=1000, sampling=Sampling()):
        return PlannedDecision("any", Decision(rule, kind, size), sampling).sees

    assert sees(Mbr(), "nbest") == sees(Consensus(scale=3.0), "nbest")
    assert sees(Mbr(), "nbest") != sees(Mbr(), "nbest", 10)
    # Lists of derivations, not of strings.
    assert sees(Mbr(), "nbest") != sees(MaxTranslation(), "nbest")
    assert sees(Mbr(), "samples") == sees(MaxTranslation(), "samples", 10)
    assert sees(Mbr(), "samples") != sees(Mbr(), "samples", sampling=Sampling(temperature=0.5))
    assert sees(MaxDerivation(), "hypergraph") == AS_DECODED.sees
    assert sees(MaxDerivation(), "hypergraph") != sees(Consensus(), "hypergraph")
    # At all scales the same lists, but other samples.
    lists = PlannedDecision("lists", Decision(Mbr(), "nbest"), scales=(1.0, 2.0))
    drawn = replace(lists, decision=Decision(Mbr(), "samples"))
    assert lists.at(1.0).sees == lists.at(2.0).sees
    assert drawn.at(1.0).sees != drawn.at(2.0).sees
