"""The correctness gate: secret trials over shown and hidden shapes, judged from outside."""

from typing import Any, NamedTuple

import msgspec
import numpy as np

from kernelmill.judge.cases import Case
from kernelmill.judge.compare import Comparison, compare
from kernelmill.judge.protocol import OutputTensor, TrialDone
from kernelmill.judge.subject import RunnerRaised, Subject
from kernelmill.judge.verdict import Feedback, Gate, Trial
from kernelmill.sandbox import CellCrashed, CellFailure, CellLimitExceeded, CellTimeout
from kernelmill.tensors.layout import Node

_ALLOWED_CALLS = frozenset(
    """_reshape_alias _unsafe_view alias as_strided clone contiguous copy_ detach empty empty_like
    empty_strided expand lift_fresh narrow new_empty new_empty_strided new_zeros permute reshape
    select set_ slice squeeze t transpose unflatten unsqueeze view view_as_real
    zero_ zeros zeros_like _to_copy split unbind split_with_sizes movedim""".split()
)


class Correctness(NamedTuple):
    trials: tuple[Trial, ...]
    feedback: Feedback | None
    outputs: list[OutputTensor]
    """Types and strides of the shown shape's outputs, for reading timed calls."""


class _Refused(Exception):
    def __init__(
        self, kind: str, summary: str, evidence: tuple[str, ...] = (), hint: str = ""
    ) -> None:
        self.feedback = Feedback(Gate.CORRECTNESS, kind, summary, evidence, hint)
        super().__init__(summary)


def check_correctness(subject: Subject, cases: list[Case], seconds: float) -> Correctness:
    """Run every case; stop at the first that is wrong."""
    trials: list[Trial] = []
    shown: list[OutputTensor] = []
    for number, case in enumerate(cases, 1):
        try:
            error, done = _run(subject, case, seconds)
            if number == 1:
                _check_inputs(subject, done, case)
            if not case.variant.hidden:
                shown = done.tensors
            trials.append(Trial(case.variant.hidden, case.flavour, error))
        except _Refused as refused:
            feedback = _with_case(refused.feedback, case, number, len(cases))
        except (CellFailure, RunnerRaised) as failure:
            feedback = _with_case(failure_feedback(failure), case, number, len(cases))
        else:
            continue
        return Correctness(tuple(trials), feedback, shown)
    return Correctness(tuple(trials), None, shown)


def failure_feedback(failure: CellFailure | RunnerRaised) -> Feedback:
    """Time-outs, crashes and exceptions, told apart."""
    if isinstance(failure, RunnerRaised):
        inner = failure.failed
        return Feedback(
            Gate.CORRECTNESS,
            "exception",
            f"{inner.error[:100]}: {inner.message[:600]}",
            tuple(line[:200] for line in inner.lines[:8]),
            _exception_hint(inner.error, inner.message),
        )
    if isinstance(failure, CellTimeout):
        return Feedback(
            Gate.CORRECTNESS, "time-out", str(failure), (), "is there a loop that does not end?"
        )
    if isinstance(failure, CellLimitExceeded):
        return Feedback(Gate.CORRECTNESS, f"limit-{failure.limit}", f"it went {failure}")
    if isinstance(failure, CellCrashed):
        memory = failure.signal_name in ("SIGSEGV", "SIGBUS", "SIGABRT")
        hint = "check bounds, tails and alignment" if memory else ""
        return Feedback(Gate.CORRECTNESS, "crash", f"the runner {failure}", (), hint)
    return Feedback(Gate.CORRECTNESS, "protocol", f"the runner misbehaves: {failure}")


def _exception_hint(error: str, message: str) -> str:
    if "state_dict" in message:
        return "ModelNew must have the reference's parameter and buffer names and shapes"
    if error == "MemoryError" or "DefaultCPUAllocator" in message:
        return "it asks for more memory than a kernel may use"
    return ""


def _with_case(feedback: Feedback, case: Case, number: int, total: int) -> Feedback:
    """Say which trial it was; hidden shapes stay hidden."""
    shape = "a shape that is not shown" if case.variant.hidden else "the shown shape"
    line = f"trial {number} of {total}: {shape}, {case.flavour} inputs"
    return msgspec.structs.replace(feedback, evidence=(line, *feedback.evidence))


def _run(subject: Subject, case: Case, seconds: float) -> tuple[float, TrialDone]:
    body: dict[str, Any] = {
        "layout": msgspec.to_builtins(case.given.layout),
        "inputs": msgspec.to_builtins(case.inputs),
        "state": case.state,
        "poison": [(e.dtype, e.eager.shape) for e in case.expected],
    }
    done = subject.trial(body, case.given.file, seconds)
    _check_framework(done)
    _check_structure(done, case)
    _check_memory(subject, done)
    worst = 0.0
    for index, (output, expected) in enumerate(zip(done.tensors, case.expected, strict=True)):
        comparison = compare(subject.read_output(output), expected)
        worst = max(worst, comparison.error)
        if comparison.error > 1:
            raise _numerical(index, comparison, expected.eager.shape, len(done.tensors))
    return worst, done


def _check_framework(done: TrialDone) -> None:
    names = {call.partition(".")[0] for call in done.framework_calls}
    foreign = sorted(names - _ALLOWED_CALLS)
    if foreign:
        raise _Refused(
            "framework-compute",
            f"forward computes with the framework: {', '.join(foreign[:8])[:300]}",
            (),
            "allocate and view with the framework; compute in the kernel",
        )


def _check_structure(done: TrialDone, case: Case) -> None:
    expected, actual = _outline(case.outputs), _outline(done.outputs)
    if len(done.tensors) != len(case.expected) or expected != actual:
        raise _Refused("length", f"forward returns {actual}, the reference {expected}")
    for index, (output, wanted) in enumerate(zip(done.tensors, case.expected, strict=True)):
        name = f"output {index}" if len(done.tensors) > 1 else "the output"
        if output.shape != wanted.eager.shape:
            hidden = case.variant.hidden
            shapes = "" if hidden else f" {list(output.shape)}, not {list(wanted.eager.shape)}"
            raise _Refused("shape", f"{name} has the wrong shape{shapes}")
        if output.dtype != wanted.dtype:
            raise _Refused("type", f"{name} is {output.dtype}, not {wanted.dtype}")


def _outline(node: Node) -> str:
    """The structure of a value with the scalars in it; lists and tuples are alike."""
    if node.tensor is not None:
        return "tensor"
    if node.items is None:
        return repr(node.scalar)
    parts = [_outline(item) for item in node.items]
    if node.keys is not None:
        parts = [f"{key}: {part}" for key, part in zip(node.keys, parts, strict=False)]
    return f"[{', '.join(parts)}]"


def _check_memory(subject: Subject, done: TrialDone) -> None:
    """No output may lie in the inputs."""
    if subject.shares_memory([output.address for output in done.tensors]):
        raise _Refused(
            "aliasing", "an output shares memory with an input", (), "allocate the output"
        )


def _check_inputs(subject: Subject, done: TrialDone, case: Case) -> None:
    """Inputs must be as they were. Every trial has its own copy: a change could harm nobody."""
    inputs = len(case.given.layout.tensors) - len(case.state)
    for index in range(inputs):
        tensor = case.given.layout.tensors[index]
        if tensor.count == 0:
            continue
        raw = subject.cell.read([(done.inputs_at + tensor.offset, tensor.bytes)])
        before = case.given.array(index).reshape(-1).view(np.uint8)
        if not np.array_equal(raw, before):
            raise _Refused("mutation", f"forward changes input {index}", (), "write outputs only")


def _numerical(
    index: int, comparison: Comparison, shape: tuple[int, ...], outputs: int
) -> _Refused:
    total = int(np.prod(shape, dtype=np.int64))
    name = f"output {index}" if outputs > 1 else "the output"
    if not comparison.wrong:
        return _Refused(
            "precision",
            f"{name} is too inexact: its error norm is {comparison.error:.1f} times the budget",
            (f"worst absolute error {comparison.worst_absolute:.3g}",),
            "keep the reference's precision: no lower types, careful long sums",
        )
    return _Refused(
        "numerical",
        f"{name} is wrong in {comparison.wrong} of {total} elements",
        (
            f"worst absolute error {comparison.worst_absolute:.3g}, "
            f"worst relative {comparison.worst_relative:.3g}",
            f"all wrong elements lie in {comparison.box} of {list(shape)}",
        ),
    )
