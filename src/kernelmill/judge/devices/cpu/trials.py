"""Trials on the CPU: the judge reads outputs from the memory of the runner."""

from typing import Any

import msgspec
import numpy as np

from kernelmill.judge.cases import HostCase
from kernelmill.judge.compare import compare
from kernelmill.judge.correctness import (
    TrialRefused,
    TrialResult,
    aliasing_refusal,
    check_answer,
    check_comparison,
    mutation_refusal,
    state_mutation_refusal,
)
from kernelmill.judge.protocol import TrialDone
from kernelmill.judge.runner_handle import RunnerHandle
from kernelmill.records.task import TensorSpec

_SPOILED = "what an earlier call had left in tensors or structures of the model is overwritten"
_KEEP_NOTHING = "keep nothing between calls: a call may find anything in such memory"


def run_trial(runner: RunnerHandle, case: HostCase, seconds: float, threads: int) -> TrialResult:
    """Call the candidate once and check its outputs, and that its inputs are as they were.

    Raises TrialRefused, SandboxFailure or RunnerRaised.
    """
    specs = case.output_specs
    poison = [(spec.dtype, spec.shape) for spec in specs]
    body = trial_body(case, poison=poison, threads=threads, spoiling=True)
    done = runner.trial(body, case.given.file, seconds)
    try:
        return _checked(runner, done, case, specs)
    except TrialRefused as refused:
        raise refused.explained(_SPOILED, _KEEP_NOTHING) if done.spoiled else refused from None


def _checked(
    runner: RunnerHandle, done: TrialDone, case: HostCase, specs: list[TensorSpec]
) -> TrialResult:
    check_answer(done, case.outputs, specs, case, case.overlapping)
    if runner.shares_memory([output.address for output in done.tensors]):
        raise aliasing_refusal()
    worst = 0.0
    for index, (output, expected) in enumerate(zip(done.tensors, case.expected, strict=True)):
        comparison = compare(runner.read_output(output), expected)
        check_comparison(
            index, comparison, expected.eager.shape, len(done.tensors), case.variant.hidden
        )
        worst = max(worst, comparison.error)
    _check_inputs(runner, done, case)
    pairs = zip(done.tensors, case.strides, strict=True)
    return TrialResult(worst, [output.delivered(strides) for output, strides in pairs])


def trial_body(case: HostCase, **options: Any) -> dict[str, Any]:
    """The request for one call on the inputs of a case."""
    return {
        "layout": msgspec.to_builtins(case.given.layout),
        "inputs": msgspec.to_builtins(case.inputs),
        "state": case.state,
        **options,
    }


def _check_inputs(runner: RunnerHandle, done: TrialDone, case: HostCase) -> None:
    """Raise TrialRefused where an input was changed, or state that the reference leaves alone."""
    names = {index: name for name, index in case.state.items()}
    for index, tensor in enumerate(case.given.layout.tensors):
        if tensor.count == 0 or names.get(index) in case.updated:
            continue
        raw = runner.sandbox.read([(done.inputs_at + tensor.offset, tensor.bytes)])
        before = case.given.array(index).reshape(-1).view(np.uint8)
        if not np.array_equal(raw, before):
            name = names.get(index)
            raise mutation_refusal(index) if name is None else state_mutation_refusal(name)
