"""What a method has been worth under a rule, on one backend and device: items of the memory."""

from functools import partial
from typing import NamedTuple

from kernelmill.generators.planning import Judgement
from kernelmill.judge import Verdict
from kernelmill.memory import ItemKind, Memory, NewItem, Provenance, Role
from kernelmill.memory.learning import Earned, move
from kernelmill.memory.values import Value, constant_step, optimism, shrunk
from kernelmill.skills.alternatives import next_choices
from kernelmill.skills.method_files import WrittenMethod

_POOR = 0.5
"""How much of a step is taken where the implementation is to blame rather than the method."""


class Setting(NamedTuple):
    """Where outcomes are comparable."""

    backend: str
    device: str
    family: str


class Worth(NamedTuple):
    item: int | None
    """None where it was never tried."""
    score: float


def device_of(verdict: Verdict) -> str:
    """Its name; clocks and temperature, which follow it, change with every verdict."""
    name, _, _ = verdict.evidence.device.partition(",")
    return name or verdict.evidence.processor


def worth_of(
    memory: Memory,
    rule: str,
    method: WrittenMethod,
    setting: Setting,
    bonus: float,
    family_prior: float,
) -> Worth:
    """Its value with what the untried is given in advance."""
    item = memory.known(_item(rule, method, setting).fingerprint)
    if item is None:
        return Worth(None, optimism(0, bonus))
    known = memory.values([item.id], Role.REFINE)
    overall = known.get((item.id, ""), Value(0.0))
    own = known.get((item.id, setting.family), Value(overall.value))
    score = shrunk(own, overall, family_prior) + optimism(overall.visits, bonus)
    return Worth(item.id, score)


def credit(
    memory: Memory,
    rule: str,
    method: WrittenMethod,
    setting: Setting,
    earned: Earned,
    judgement: Judgement,
    alpha: float,
) -> None:
    """Move the value of a method under a rule by what an attempt earned that followed it."""
    item = memory.add(_item(rule, method, setting))
    size = alpha * (_POOR if judgement == "poor implementation" else 1.0)
    step = partial(constant_step, alpha=size)
    move(memory, [item], Role.REFINE, setting.family, earned.reward, step)


def _item(rule: str, method: WrittenMethod, setting: Setting) -> NewItem:
    return NewItem(
        ItemKind.SKILL,
        f"{rule}: {method.text(setting.backend)}",
        f"{rule} {method.name} {method.front.title} {method.front.intent}",
        Provenance(backend=setting.backend),
        (rule, method.name, setting.device),
        next_choices(method.front.backends[setting.backend].alternatives, {}, ()),
        category=rule,
        names=(method.name,),
    )
