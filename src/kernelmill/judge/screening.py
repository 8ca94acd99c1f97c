"""Screening a task: does its check refuse outputs that took no work?

A task that lets a cheat through cannot tell an honest kernel from a dishonest one. Every
verdict runs all input distributions of a task, so a cheat that passes the file's own inputs but
fails other distributions is a hole that is closed.
"""

from typing import Any, Literal

import msgspec
import numpy as np
import numpy.typing as npt

from kernelmill.judge.cases import Case
from kernelmill.judge.compare import compare
from kernelmill.judge.host_bench import HostBench
from kernelmill.judge.judge import Judge
from kernelmill.tasks.task import Task

CHEATS = ("zeros", "constant", "input", "other-inputs", "default-state")


class Screening(msgspec.Struct, frozen=True):
    task: str
    flavours: tuple[str, ...]
    open: tuple[str, ...]
    """Cheats that pass every trial a verdict would run."""
    closed: dict[str, str]
    """Cheats that pass the file's own inputs, and the distribution that refuses them."""


def screen(judge: Judge, task: Task) -> Screening:
    """Try every cheat on every case. Raises TaskError."""
    bench = HostBench(task, judge.zygote, judge.settings)
    try:
        passing = {cheat: _passing(cheat, bench) for cheat in CHEATS}
    finally:
        bench.close()
    everything = [case.flavour for case in bench.book.trials]
    still_open = tuple(c for c, flavours in passing.items() if len(flavours) == len(everything))
    closed = {
        cheat: _closing(bench, flavours)
        for cheat, flavours in passing.items()
        if "plain" in flavours and cheat not in still_open
    }
    return Screening(task.id, task.flavours, still_open, closed)


def _closing(bench: HostBench, passing: list[str]) -> str:
    flavours = [case.flavour for case in bench.book.trials if case.flavour not in passing]
    return flavours[0] if flavours else "another draw"


def _passing(cheat: str, bench: HostBench) -> list[str]:
    """The distributions of the cases a cheat passes."""
    if cheat == "default-state" and not bench.task.state:
        return []
    return [
        case.flavour
        for case in bench.book.trials
        if all(
            _passes(output, case, index)
            for index, output in enumerate(_outputs(cheat, case, bench))
        )
    ]


def _passes(output: npt.NDArray[Any] | None, case: Case, index: int) -> bool:
    expected = case.expected[index]
    if output is None or output.shape != expected.eager.shape:
        return False
    return compare(output.astype(expected.eager.dtype, copy=False), expected).error <= 1


def _outputs(cheat: str, case: Case, bench: HostBench) -> list[npt.NDArray[Any] | None]:
    match cheat:
        case "zeros":
            return [np.zeros_like(e.eager) for e in case.expected]
        case "constant":
            return [np.full_like(e.eager, _middle(e.exact)) for e in case.expected]
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
            return _answers(case, bench, "inputs")
        case _:
            return _answers(case, bench, "state")


def _answers(
    case: Case, bench: HostBench, change: Literal["inputs", "state"]
) -> list[npt.NDArray[Any] | None]:
    """What the reference says when its inputs, or its state, are others."""
    other = bench.book.make(case.variant, case.flavour, case.seed, change)
    other.close()
    return [expected.eager for expected in other.expected]


def _middle(values: npt.NDArray[Any]) -> float:
    finite = values[np.isfinite(values)]
    return float(finite.mean()) if finite.size else 0.0
