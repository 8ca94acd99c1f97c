"""The correctness gate: secret trials over shown and hidden shapes, judged from outside."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

import msgspec
import numpy as np

from kernelmill.judge.cases import Case
from kernelmill.judge.compare import compare
from kernelmill.judge.protocol import OutputTensor, TrialDone
from kernelmill.judge.subject import RunnerRaised, Subject
from kernelmill.judge.verdict import Feedback, Gate, Trial
from kernelmill.sandbox import CellCrashed, CellFailure, CellLimitExceeded, CellTimeout
from kernelmill.tasks.task import Kind, Variant
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


class Refused(Exception):
    """A trial says no."""

    def __init__(
        self, kind: str, summary: str, evidence: tuple[str, ...] = (), hint: str = ""
    ) -> None:
        self.feedback = Feedback(Gate.CORRECTNESS, kind, summary, evidence, hint)
        super().__init__(summary)


def aliasing() -> Refused:
    return Refused("aliasing", "an output shares memory with an input", (), "allocate the output")


class Measured(Protocol):
    """What a comparison says, wherever it was made."""

    @property
    def error(self) -> float: ...
    @property
    def wrong(self) -> int: ...
    @property
    def worst_absolute(self) -> float: ...
    @property
    def worst_relative(self) -> float: ...
    @property
    def box(self) -> str: ...


class Answer(NamedTuple):
    """What a trial gave: the share of the error budget used, and how the outputs lie."""

    error: float
    outputs: list[OutputTensor]


class Given(Protocol):
    """What is common to the cases of all devices."""

    @property
    def variant(self) -> Variant: ...
    @property
    def flavour(self) -> str: ...


_Case = TypeVar("_Case", bound=Given)


def check_correctness(
    cases: list[_Case], run: Callable[[_Case, bool], Answer | None]
) -> Correctness:
    """Run every case, told which is the first; stop at the first that is wrong.

    `run` gives None for a case it leaves out; raises Refused, or what a subject raises.
    """
    trials: list[Trial] = []
    shown: list[OutputTensor] = []
    for number, case in enumerate(cases, 1):
        try:
            answer = run(case, number == 1)
        except Refused as refused:
            feedback = _with_case(refused.feedback, case, number, len(cases))
        except (CellFailure, RunnerRaised) as failure:
            feedback = _with_case(failure_feedback(failure), case, number, len(cases))
        else:
            if answer is None:
                continue
            if not case.variant.hidden:
                shown = answer.outputs
            trials.append(Trial(case.variant.hidden, case.flavour, answer.error))
            continue
        return Correctness(tuple(trials), feedback, shown)
    return Correctness(tuple(trials), None, shown)


def run_on_host(subject: Subject, case: Case, seconds: float, first: bool) -> Answer:
    """One trial of a runner that shares the processor's memory with nobody."""
    body: dict[str, Any] = {
        "layout": msgspec.to_builtins(case.given.layout),
        "inputs": msgspec.to_builtins(case.inputs),
        "state": case.state,
        "poison": [(e.dtype, e.eager.shape) for e in case.expected],
    }
    done = subject.trial(body, case.given.file, seconds)
    check_answer(done, case.outputs, [Kind(e.dtype, e.eager.shape) for e in case.expected], case)
    if subject.shares_memory([output.address for output in done.tensors]):
        raise aliasing()
    worst = 0.0
    for index, (output, expected) in enumerate(zip(done.tensors, case.expected, strict=True)):
        comparison = compare(subject.read_output(output), expected)
        check_comparison(index, comparison, expected.eager.shape, len(done.tensors))
        worst = max(worst, comparison.error)
    if first:
        _check_inputs(subject, done, case)
    return Answer(worst, done.tensors)


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
    if "CUDA" in message and ("illegal" in message or "misaligned" in message):
        return "check bounds, masks and alignment of every load and store"
    if "out of memory" in message or "out of resource" in message:
        return "it asks for more memory than there is: smaller tiles, fewer stages"
    return ""


def _with_case(feedback: Feedback, case: Given, number: int, total: int) -> Feedback:
    """Say which trial it was; hidden shapes stay hidden."""
    shape = "a shape that is not shown" if case.variant.hidden else "the shown shape"
    line = f"trial {number} of {total}: {shape}, {case.flavour} inputs"
    return msgspec.structs.replace(feedback, evidence=(line, *feedback.evidence))


def check_answer(done: TrialDone, outputs: Node, kinds: Sequence[Kind], case: Given) -> None:
    """Whether it was computed by itself, and has the reference's form. Raises Refused."""
    _check_framework(done)
    _check_structure(done, outputs, kinds, case.variant.hidden)


def _check_framework(done: TrialDone) -> None:
    names = {call.partition(".")[0] for call in done.framework_calls}
    foreign = sorted(names - _ALLOWED_CALLS)
    if foreign:
        raise Refused(
            "framework-compute",
            f"forward computes with the framework: {', '.join(foreign[:8])[:300]}",
            (),
            "allocate and view with the framework; compute in the kernel",
        )


def _check_structure(done: TrialDone, outputs: Node, kinds: Sequence[Kind], hidden: bool) -> None:
    expected, actual = _outline(outputs), _outline(done.outputs)
    if len(done.tensors) != len(kinds) or expected != actual:
        raise Refused("length", f"forward returns {actual}, the reference {expected}")
    for index, (output, wanted) in enumerate(zip(done.tensors, kinds, strict=True)):
        name = f"output {index}" if len(done.tensors) > 1 else "the output"
        if output.shape != wanted.shape:
            shapes = "" if hidden else f" {list(output.shape)}, not {list(wanted.shape)}"
            raise Refused("shape", f"{name} has the wrong shape{shapes}")
        if output.dtype != wanted.dtype:
            raise Refused("type", f"{name} is {output.dtype}, not {wanted.dtype}")


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
            raise mutation(index)


def mutation(index: int) -> Refused:
    return Refused("mutation", f"forward changes input {index}", (), "write outputs only")


def check_comparison(
    index: int, comparison: Measured, shape: tuple[int, ...], outputs: int
) -> None:
    """Raises Refused where an output used more than its budget."""
    if comparison.error > 1:
        raise _numerical(index, comparison, shape, outputs)


def _numerical(index: int, comparison: Measured, shape: tuple[int, ...], outputs: int) -> Refused:
    total = int(np.prod(shape, dtype=np.int64))
    name = f"output {index}" if outputs > 1 else "the output"
    if not comparison.wrong:
        return Refused(
            "precision",
            f"{name} is too inexact: its error norm is {comparison.error:.1f} times the budget",
            (f"worst absolute error {comparison.worst_absolute:.3g}",),
            "keep the reference's precision: no lower types, careful long sums",
        )
    return Refused(
        "numerical",
        f"{name} is wrong in {comparison.wrong} of {total} elements",
        (
            f"worst absolute error {comparison.worst_absolute:.3g}, "
            f"worst relative {comparison.worst_relative:.3g}",
            f"all wrong elements lie in {comparison.box} of {list(shape)}",
        ),
    )
