"""Screening of tasks: whether their trials refuse outputs that took no work.

A task that lets such a cheat pass cannot tell a correct kernel from a dishonest one. A cheat that
passes the file's own inputs but fails under another input distribution is harmless, since every
verdict runs all distributions of a task. Cases are of the task's smallest variant: what a cheat
needs to pass does not depend on sizes.
"""

import math
from contextlib import ExitStack
from typing import Any, Literal

import msgspec
import numpy as np
import numpy.typing as npt

from kernelmill.judge.cases import HostCase, HostCaseSet
from kernelmill.judge.compare import compare
from kernelmill.judge.judge import Judge
from kernelmill.judge.reference import start_reference
from kernelmill.records.task import Task, Variant

CHEATS = ("zeros", "constant", "input", "other-inputs", "default-state")


class Screening(msgspec.Struct, frozen=True):
    task: str
    distributions: tuple[str, ...]
    open: tuple[str, ...]
    """Cheats that pass every trial of a verdict."""
    closed: dict[str, str]
    """Cheats that pass the file's own inputs, with the distribution that refuses each."""
    degenerate: str = ""
    """Why the task asks nothing; empty where it asks something."""
    repair: str = ""
    """How inputs and parameters were changed so that it asks something."""
    idle: tuple[str, ...] = ()
    """Inputs and parameters on which no output depends."""

    @property
    def has_hole(self) -> bool:
        return bool(self.open or self.degenerate)


def screen(judge: Judge, task: Task) -> Screening:
    """Try every cheat on every case. Raises TaskError."""
    with ExitStack() as stack:
        reference = start_reference(task, judge.zygote, judge.settings)
        stack.callback(reference.close)
        cases = HostCaseSet(_small(task), reference)
        stack.callback(cases.close)
        passing = {cheat: _passing(cheat, task, cases) for cheat in CHEATS}
    still_open = tuple(
        cheat for cheat, distributions in passing.items() if len(distributions) == len(cases.trials)
    )
    closed = {
        cheat: _closing(cases, distributions)
        for cheat, distributions in passing.items()
        if "plain" in distributions and cheat not in still_open
    }
    return Screening(
        task.id, task.distributions, still_open, closed, task.degenerate, task.repair, task.idle
    )


def _small(task: Task) -> Task:
    """The task with its smallest variant only, as if it were the shown one."""
    variant = min(task.variants, key=_elements)
    shown = msgspec.structs.replace(variant, hidden=False)
    return msgspec.structs.replace(task, variants=(shown,))


def _elements(variant: Variant) -> int:
    return sum(math.prod(spec.shape) for spec in variant.tensors)


def _closing(cases: HostCaseSet, passing: list[str]) -> str:
    """The first distribution that refuses a cheat."""
    refusing = [case.distribution for case in cases.trials if case.distribution not in passing]
    return refusing[0] if refusing else "another draw"


def _passing(cheat: str, task: Task, cases: HostCaseSet) -> list[str]:
    """The distributions of the cases that a cheat passes."""
    if cheat == "default-state" and not task.state:
        return []
    return [
        case.distribution
        for case in cases.trials
        if all(
            _passes(output, case, index)
            for index, output in enumerate(_outputs(cheat, case, cases))
        )
    ]


def _passes(output: npt.NDArray[Any] | None, case: HostCase, index: int) -> bool:
    expected = case.expected[index]
    if output is None or output.shape != expected.eager.shape:
        return False
    return compare(output.astype(expected.eager.dtype, copy=False), expected).error <= 1


def _outputs(cheat: str, case: HostCase, cases: HostCaseSet) -> list[npt.NDArray[Any] | None]:
    match cheat:
        case "zeros":
            return [np.zeros_like(e.eager) for e in case.expected]
        case "constant":
            known = cases.held_out[0].expected
            return [
                np.full_like(e.eager, _middle(k.exact))
                for e, k in zip(case.expected, known, strict=True)
            ]
        case "input":
            inputs = [case.given.array(i) for i in case.inputs.tensors()]
            return [
                next(
                    (i for i in inputs if i.shape == e.eager.shape and i.dtype == e.eager.dtype),
                    None,
                )
                for e in case.expected
            ]
        case "other-inputs":
            return _changed_outputs(case, cases, "inputs")
        case _:
            return _changed_outputs(case, cases, "state")


def _changed_outputs(
    case: HostCase, cases: HostCaseSet, change: Literal["inputs", "state"]
) -> list[npt.NDArray[Any] | None]:
    """Outputs of the reference with other inputs, or with default state."""
    other = cases.make(case.variant, case.distribution, case.seed, change)
    other.close()
    return [expected.eager for expected in other.expected]


def _middle(values: npt.NDArray[Any]) -> float:
    """The mean of another case's answer, which a cheat might know."""
    finite = values[np.isfinite(values)]
    return float(finite.mean()) if finite.size else 0.0
