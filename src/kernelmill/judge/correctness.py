"""The correctness gate: trials on secret inputs of shown and hidden shapes."""

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple, TypeVar

import msgspec
import numpy as np

from kernelmill.judge.cases import TrialCase
from kernelmill.judge.compare import Comparison
from kernelmill.judge.protocol import OutputTensor, TrialDone
from kernelmill.judge.runner_handle import RunnerRaised
from kernelmill.records.task import TensorSpec
from kernelmill.records.tensors import Node
from kernelmill.records.verdict import LOST, Feedback, Gate, Trial
from kernelmill.sandbox import SandboxCrashed, SandboxFailure, SandboxLimitExceeded, SandboxTimeout

_ALLOWED_CALLS = frozenset(
    """_reshape_alias _unsafe_view alias as_strided clone contiguous copy_ detach empty empty_like
    empty_strided expand lift_fresh narrow new_empty new_empty_strided new_zeros permute reshape
    select set_ slice squeeze t transpose unflatten unsqueeze view view_as_real
    zero_ zeros zeros_like _to_copy split unbind split_with_sizes movedim""".split()
)


class Correctness(NamedTuple):
    """The result of a series of trials."""

    trials: tuple[Trial, ...]
    """The trials passed."""
    feedback: Feedback | None
    """The reason for refusing the candidate; None where every trial passed."""
    outputs: list[OutputTensor]
    """Types and strides of the shown shape's outputs, for reading timed calls."""


class TrialRefused(Exception):
    """The result of a trial is wrong."""

    def __init__(
        self, kind: str, summary: str, evidence: tuple[str, ...] = (), hint: str = ""
    ) -> None:
        self.feedback = Feedback(Gate.CORRECTNESS, kind, summary, evidence, hint)
        super().__init__(summary)

    def explained(self, evidence: str, hint: str) -> "TrialRefused":
        """The same, with what was special about the trial; `hint` where there is no other."""
        said = self.feedback
        return TrialRefused(said.kind, said.summary, (*said.evidence, evidence), said.hint or hint)


def aliasing_refusal() -> TrialRefused:
    return TrialRefused(
        "aliasing", "an output shares memory with an input", (), "allocate the output"
    )


class TrialResult(NamedTuple):
    error: float
    """Share of the error budget used."""
    outputs: list[OutputTensor]
    """As timed calls deliver them."""


class ExceptionHint(NamedTuple):
    """The hint to give for exceptions whose class and message contain all of these words."""

    words: tuple[str, ...]
    hint: str


_TOO_MUCH_MEMORY = "it asks for more memory than a kernel may use"
_EXCEPTION_HINTS = (
    ExceptionHint(
        ("state_dict",), "ModelNew must have the reference's parameter and buffer names and shapes"
    ),
    ExceptionHint(("MemoryError",), _TOO_MUCH_MEMORY),
    ExceptionHint(("DefaultCPUAllocator",), _TOO_MUCH_MEMORY),
)

_CRASH_HINT = (
    "check bounds, tails and alignment; a failed assert, abort() and an exception that nothing "
    "catches end this way, too"
)
_NEARLY_ALL = 0.9
_STALE_HINT = (
    "nearly everything is wrong: check the indexing; and parameters are filled in after "
    "construction, so what __init__ packs or computes from them is stale: read them in forward"
)

_SPECIAL_HINTS = {
    "nan": "the reference gives NaN where an input is NaN: `x > 0 ? x : 0`, fmax and comparisons "
    "with a running maximum lose it, `x < 0 ? 0 : x` and `v > m || v != v` keep it; a task whose "
    "inputs are always finite declares DOMAIN",
    "infinite": "an input is infinite: infinity minus infinity and infinity times zero are NaN "
    "where the reference's result is not; a task whose inputs are always finite declares DOMAIN",
}
"""By the first word of the distribution."""

_Case = TypeVar("_Case", bound=TrialCase)


def check_correctness(
    cases: Sequence[_Case],
    run: Callable[[_Case], TrialResult | None],
    hints: tuple[ExceptionHint, ...] = (),
) -> Correctness:
    """Run every case up to the first that is wrong.

    `run` returns None for a case that it skips, and raises TrialRefused, SandboxFailure or
    RunnerRaised. `hints` are those of the device, which come before the general ones.
    """
    trials: list[Trial] = []
    shown: list[OutputTensor] = []
    for number, case in enumerate(cases, 1):
        try:
            result = run(case)
        except TrialRefused as refused:
            feedback = _with_case(refused.feedback, case, number, len(cases))
        except (SandboxFailure, RunnerRaised) as failure:
            feedback = failure_feedback(failure, hints)
            if case.variant.hidden:
                feedback = _without_its_words(feedback, failure)
            feedback = _with_case(feedback, case, number, len(cases))
        else:
            if result is None:
                continue
            if not case.variant.hidden:
                shown = result.outputs
            trials.append(Trial(case.variant.hidden, case.distribution, result.error))
            continue
        return Correctness(tuple(trials), feedback, shown)
    return Correctness(tuple(trials), None, shown)


def failure_feedback(
    failure: SandboxFailure | RunnerRaised, hints: tuple[ExceptionHint, ...] = ()
) -> Feedback:
    """Feedback of its own kind for each of exceptions, time-outs, limits and crashes."""
    if isinstance(failure, RunnerRaised):
        inner = failure.failed
        return Feedback(
            Gate.CORRECTNESS,
            "exception",
            f"{inner.error[:100]}: {inner.message[:600]}",
            tuple(line[:200] for line in inner.lines[:8]),
            _find_hint(f"{inner.error}: {inner.message}", (*hints, *_EXCEPTION_HINTS)),
        )
    if isinstance(failure, SandboxTimeout):
        return Feedback(
            Gate.CORRECTNESS, "time-out", str(failure), (), "is there a loop that does not end?"
        )
    if isinstance(failure, SandboxLimitExceeded):
        return Feedback(Gate.CORRECTNESS, f"limit-{failure.limit}", f"it went {failure}")
    if isinstance(failure, SandboxCrashed):
        if failure.killed_from_outside:
            return Feedback(Gate.CORRECTNESS, LOST, f"the runner {failure}")
        memory = failure.signal_name in ("SIGSEGV", "SIGBUS", "SIGABRT")
        hint = _CRASH_HINT if memory else ""
        return Feedback(Gate.CORRECTNESS, "crash", f"the runner {failure}", (), hint)
    return Feedback(Gate.CORRECTNESS, "protocol", f"the runner misbehaves: {failure}")


def _without_its_words(feedback: Feedback, failure: SandboxFailure | RunnerRaised) -> Feedback:
    """A failure on a hidden shape: what the candidate says there may tell the shape."""
    if isinstance(failure, RunnerRaised):
        summary = f"{failure.failed.error[:100]}: its message is not shown, nor is the shape"
        return msgspec.structs.replace(feedback, summary=summary)
    if isinstance(failure, SandboxCrashed):
        return msgspec.structs.replace(feedback, summary=f"the runner {failure.without_output()}")
    return feedback


def _find_hint(exception: str, hints: Sequence[ExceptionHint]) -> str:
    for words, hint in hints:
        if all(word in exception for word in words):
            return hint
    return ""


def _with_case(feedback: Feedback, case: TrialCase, number: int, total: int) -> Feedback:
    """Add which trial it was, without the shape where that is hidden, and what its values ask."""
    shape = "a shape that is not shown" if case.variant.hidden else "the shown shape"
    line = f"trial {number} of {total}: {shape}, {case.distribution} inputs"
    hint = feedback.hint
    if feedback.kind == "numerical" and not hint:
        hint = _SPECIAL_HINTS.get(case.distribution.partition("-")[0], "")
    return msgspec.structs.replace(feedback, evidence=(line, *feedback.evidence), hint=hint)


def check_answer(
    done: TrialDone,
    outputs: Node,
    specs: Sequence[TensorSpec],
    case: TrialCase,
    overlapping: Collection[int] = (),
) -> None:
    """Raise TrialRefused where the framework computed it, or its structure is wrong.

    `overlapping` are the outputs that the reference itself returns expanded.
    """
    _check_framework(done)
    _check_structure(done, outputs, specs, case.variant.hidden)
    _check_memory(done, overlapping)


def _check_framework(done: TrialDone) -> None:
    names = {call.partition(".")[0] for call in done.framework_calls}
    foreign = sorted(names - _ALLOWED_CALLS)
    if foreign:
        raise TrialRefused(
            "framework-compute",
            f"forward computes with the framework: {', '.join(foreign[:8])[:300]}",
            (),
            "allocate and view with the framework; compute in the kernel",
        )


def _check_structure(
    done: TrialDone, outputs: Node, specs: Sequence[TensorSpec], hidden: bool
) -> None:
    expected, actual = _outline(outputs), _outline(done.outputs)
    if len(done.tensors) != len(specs) or expected != actual:
        raise TrialRefused("length", f"forward returns {actual}, the reference {expected}")
    for index, (output, wanted) in enumerate(zip(done.tensors, specs, strict=True)):
        name = f"output {index}" if len(done.tensors) > 1 else "the output"
        if output.shape != wanted.shape:
            shapes = "" if hidden else f" {list(output.shape)}, not {list(wanted.shape)}"
            raise TrialRefused("shape", f"{name} has the wrong shape{shapes}")
        if output.dtype != wanted.dtype:
            raise TrialRefused("type", f"{name} is {output.dtype}, not {wanted.dtype}")


def _check_memory(done: TrialDone, overlapping: Collection[int]) -> None:
    """Every element is to be written: an expanded view has the same memory for several."""
    for index, output in enumerate(done.tensors):
        if output.overlaps_itself and index not in overlapping:
            name = f"output {index}" if len(done.tensors) > 1 else "the output"
            raise TrialRefused(
                "layout",
                f"several elements of {name} are one place in memory",
                (),
                "return a tensor in which the kernel has written every element, not an expanded "
                "view",
            )


def _outline(node: Node) -> str:
    """The structure of a value with its scalars; lists and tuples are written alike."""
    if node.tensor is not None:
        return "tensor"
    if node.items is None:
        return repr(node.scalar)
    parts = [_outline(item) for item in node.items]
    if node.keys is not None:
        parts = [f"{key}: {part}" for key, part in zip(node.keys, parts, strict=False)]
    return f"[{', '.join(parts)}]"


def mutation_refusal(index: int) -> TrialRefused:
    return TrialRefused("mutation", f"forward changes input {index}", (), "write outputs only")


def state_mutation_refusal(name: str) -> TrialRefused:
    hint = "write outputs only: the reference leaves its parameters and this buffer alone"
    return TrialRefused("mutation", f"forward changes {name[:100]}", (), hint)


def check_comparison(
    index: int, comparison: Comparison, shape: tuple[int, ...], outputs: int, hidden: bool
) -> None:
    """Raise TrialRefused where an output exceeds its error budget.

    Where the shape is hidden, nothing in the refusal tells it.
    """
    if comparison.error > 1:
        raise _numerical_refusal(index, comparison, shape, outputs, hidden)


def _in_percent(box: str, shape: tuple[int, ...]) -> str:
    """The place of a box without the sizes around it."""
    ranges = []
    for part, size in zip(box.strip("[]").split(", "), shape, strict=True):
        first, end = (int(edge) for edge in part.split(":"))
        ranges.append(f"{100 * first // size}-{-(-100 * end // size)}%")
    return f"[{', '.join(ranges)}]"


def _numerical_refusal(
    index: int, comparison: Comparison, shape: tuple[int, ...], outputs: int, hidden: bool
) -> TrialRefused:
    total = int(np.prod(shape, dtype=np.int64))
    name = f"output {index}" if outputs > 1 else "the output"
    if not comparison.wrong:
        return TrialRefused(
            "precision",
            f"{name} is too inexact: its error norm is {comparison.error:.1f} times the budget",
            (f"worst absolute error {comparison.worst_absolute:.3g}",),
            "keep the reference's precision: no lower types, careful long sums",
        )
    share = f"{comparison.wrong} of {total} elements"
    place = [f"all wrong elements lie in {comparison.box} of {list(shape)}"]
    if hidden:
        share = f"{max(1, round(100 * comparison.wrong / total))}% of its elements"
        box = _in_percent(comparison.box, shape or (1,))
        place = [f"all wrong elements lie in {box} of each dimension"]
    return TrialRefused(
        "numerical",
        f"{name} is wrong in {share}",
        (
            f"worst absolute error {comparison.worst_absolute:.3g}, "
            f"worst relative {comparison.worst_relative:.3g}",
            *place,
        ),
        _STALE_HINT if comparison.wrong > _NEARLY_ALL * total else "",
    )
