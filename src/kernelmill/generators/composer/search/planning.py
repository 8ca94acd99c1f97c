"""The composer as Planner: one allowed method becomes decisions, with evidence and a prediction."""

from typing import NamedTuple

from kernelmill.generators.composer.search.tried import Tried
from kernelmill.records.decisions import Choices, Decisions, is_open
from kernelmill.records.guidance import Guidance, Method, Plan
from kernelmill.records.proposal import Proposal


class PlannedMethod(NamedTuple):
    decisions: Decisions
    plan: Plan


def plan_method(proposal: Proposal, choices: Choices, tried: Tried) -> PlannedMethod | None:
    """The first method that would change something here and was not tried; None without any."""
    guidance, parent = proposal.guidance, proposal.parent
    if guidance is None or parent is None or not parent.verdict.passed:
        return None
    at_hand = {
        name: choice for name, choice in parent.decisions.items() if is_open(name, choice, choices)
    }
    for method in guidance.methods:
        changed = {
            name: choice
            for name, choice in method.decisions.items()
            if is_open(name, choice, choices) and at_hand.get(name) != choice
        }
        if changed and at_hand | changed not in tried:
            return PlannedMethod(at_hand | changed, _plan(guidance, method, changed, at_hand))
    return None


def asked_decisions(proposal: Proposal, choices: Choices, tried: Tried) -> Decisions | None:
    """The parent's decisions with those that the proposal asks for; None where that is not new.

    Decisions that neither names are the defaults.
    """
    parent = proposal.parent
    wanted = ({} if parent is None else parent.decisions) | proposal.decisions
    opened = {name: one for name, one in wanted.items() if is_open(name, one, choices)}
    if not any(name in opened for name in proposal.decisions):
        return None
    whole = {name: some[0] for name, some in choices.items()} | opened
    return None if whole in tried else whole


def _plan(guidance: Guidance, method: Method, changed: Decisions, at_hand: Decisions) -> Plan:
    steps = tuple(
        f"{name}: {choice} instead of {at_hand.get(name)}" for name, choice in changed.items()
    )
    return Plan(
        method=method.name,
        steps=steps,
        evidence=_evidence(guidance, method),
        ruled_out=f"what comes before {guidance.bottleneck}: {guidance.evidence[0]}",
        expects=method.expects,
        difference=f"this time {'; '.join(steps)}" if method.tried else "",
    )


def _evidence(guidance: Guidance, method: Method) -> str:
    """What was read of the metric it expects to move, or else the last that was looked at."""
    metric = method.expects.split()[0]
    about = [line for line in guidance.evidence if line.split()[0] == metric]
    return (about or list(guidance.evidence))[-1]
