"""Learned values of methods, per rule, backend and device: items of the memory."""

from functools import partial
from typing import NamedTuple

from kernelmill.memory import ItemKind, Memory, NewItem, Provenance, ValueRole
from kernelmill.memory.learning import AttemptReward, update_values
from kernelmill.memory.values import (
    ValueEstimate,
    constant_step,
    exploration_bonus,
    shrunk_value,
)
from kernelmill.records.guidance import Judgement
from kernelmill.records.target import backend_name
from kernelmill.records.verdict import Verdict
from kernelmill.skills.method_decisions import next_decisions
from kernelmill.skills.method_files import MethodFile

_POOR_IMPLEMENTATION_STEP = 0.5
"""Share of an update step that is taken where the implementation, not the method, is to blame."""


class ValueScope(NamedTuple):
    """The scope within which outcomes of a method are comparable."""

    target: str
    device: str
    family: str


class MethodValue(NamedTuple):
    item: int | None
    """Id of its item in the memory; None where it was never tried."""
    score: float
    """Value plus exploration bonus."""


def device_of(verdict: Verdict) -> str:
    """Name of the device or processor, without clocks and temperature, which vary."""
    name, _, _ = verdict.evidence.device.partition(",")
    return name or verdict.evidence.processor


def method_value(
    memory: Memory,
    rule: str,
    method: MethodFile,
    scope: ValueScope,
    bonus: float,
    family_prior: float,
) -> MethodValue:
    """The value of a method under a rule; `bonus` is the exploration bonus without visits."""
    item = memory.find(_item(rule, method, scope).fingerprint)
    if item is None:
        return MethodValue(None, exploration_bonus(0, bonus))
    known = memory.values([item.id], ValueRole.REFINE)
    overall = known.get((item.id, ""), ValueEstimate(0.0))
    own = known.get((item.id, scope.family), ValueEstimate(overall.value))
    score = shrunk_value(own, overall, family_prior) + exploration_bonus(overall.visits, bonus)
    return MethodValue(item.id, score)


def add_method_item(memory: Memory, rule: str, method: MethodFile, scope: ValueScope) -> int:
    """The item of a method under a rule, added to the memory."""
    return memory.add(_item(rule, method, scope))


def credit_method(
    memory: Memory,
    rule: str,
    method: MethodFile,
    scope: ValueScope,
    reward: AttemptReward,
    judgement: Judgement,
    alpha: float,
) -> None:
    """Update the value of a method under a rule by the reward of an attempt that followed it."""
    item = memory.add(_item(rule, method, scope))
    size = alpha * (_POOR_IMPLEMENTATION_STEP if judgement == "poor implementation" else 1.0)
    step = partial(constant_step, alpha=size)
    update_values(memory, [item], ValueRole.REFINE, scope.family, reward.reward, step)


def _item(rule: str, method: MethodFile, scope: ValueScope) -> NewItem:
    part = method.front.backends[backend_name(scope.target)]
    return NewItem(
        ItemKind.SKILL,
        f"{rule}: {method.text(scope.target)}",
        f"{rule} {method.name} {method.front.title} {method.front.intent}",
        Provenance(backend=scope.target),
        (rule, method.name, scope.device),
        next_decisions(part.alternatives, {}, ()),
        category=rule,
        names=(method.name,),
    )
