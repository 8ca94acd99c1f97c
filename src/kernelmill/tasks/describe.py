"""Description of a task file: shapes, operators, hidden variants. Runs inside sandboxes only.

Sizes are those of the task, and need no memory: see `shapes.py`. Values are examined at the same
sizes where that costs little, and else on a cut-down task.
"""

import traceback
from functools import partial
from typing import Any

import msgspec
import torch

from kernelmill.records.numerics import Numerics
from kernelmill.records.task import Task, Variant
from kernelmill.sandbox.channel import Channel
from kernelmill.tasks.arithmetic import set_arithmetic
from kernelmill.tasks.cutting import CostLimit, SizedTask, cut_down
from kernelmill.tasks.examining import Examined, examine
from kernelmill.tasks.families import family_of_signature
from kernelmill.tasks.module import OWN, TaskModule, UnusableTask
from kernelmill.tasks.rounding import measure_rounding
from kernelmill.tasks.shapes import shapes_of, variant_of
from kernelmill.tasks.trying import Tried
from kernelmill.tasks.variants import HiddenSizes, accepted_variants, hidden_sizes

_HOST_LIMIT = CostLimit(1 << 27, 1 << 31)
_DEVICE_LIMIT = CostLimit(1 << 31, 1 << 41)
"""What one call may cost of a task that is examined, for a hundred are made, some in float64."""
_CUT_SHARE = 4
"""A task that is cut down may cost this much less."""
_MOST_HOST_EXCESS = 4.0
"""Of a task whose sizes cannot be cut down to the limit; a device examines it at any size."""
_NOT_EXAMINED = "values other than its own: it is too large to be examined here"


def run_describer(channel: Channel, arguments: dict[str, Any], _scratch: str) -> None:
    """Entry of a sandbox that describes one task."""
    torch.set_grad_enabled(False)
    request = channel.receive().body
    try:
        set_arithmetic(Numerics.IEEE, request["device"])
        module = TaskModule(request["source"], request["scale"], request["device"])
        task = describe_module(module, request)
        channel.send({"task": msgspec.to_builtins(task)})
    except Exception as error:
        channel.send({"error": explain_task_error(error)})


def explain_task_error(error: BaseException) -> str:
    """An exception of a task's code in one line, with the line number in the task file."""
    if isinstance(error, UnusableTask):
        return str(error)
    lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == "<task>"]
    where = f" (line {lines[-1]})" if lines else ""
    message = str(error).strip().partition("\n")[0][:300]
    return f"{type(error).__name__}: {message}{where}"


def describe_module(module: TaskModule, request: dict[str, Any]) -> Task:
    task = SizedTask(module, shapes_of(module))
    on_host = module.device.type == "cpu"
    limit = _HOST_LIMIT if on_host else _DEVICE_LIMIT
    small = task
    if limit.excess(task.shapes) > 1:
        small = cut_down(task, request["scale"], limit.divided(_CUT_SHARE))
    if on_host and limit.excess(small.shapes) > _MOST_HOST_EXCESS:
        small, examined = task, _unexamined(module)
    else:
        examined = examine(small.module, small.shapes)
    if small.module is not module:
        examined.declare(module)
    shapes = task.shapes
    numerics = Numerics(request["numerics"])
    rounds = None if numerics is Numerics.IEEE else measure_rounding(small.module, numerics)
    return Task(
        id=request["id"],
        family=request["family"] or family_of_signature(shapes.operators),
        path=request["path"],
        source=module.source,
        scale=request["scale"],
        variants=(shapes.variant, *_hidden_variants(module, examined.hidden)),
        distributions=examined.tried.distributions,
        outputs=rounds.outputs(shapes.outputs) if rounds else shapes.outputs,
        state=shapes.state,
        buffers=shapes.buffers,
        signature=shapes.operators,
        flops=shapes.flops,
        promises=examined.promises,
        untried=examined.tried.untried,
        idle=examined.idle,
        repair=_repair(examined.repair),
        degenerate=examined.degenerate,
        examined=() if small.module is module else small.shapes.variant.tensors,
        is_rounded=rounds is not None and rounds.is_rounded,
    )


def _unexamined(module: TaskModule) -> Examined:
    """What is assumed of a task that no value is known of."""
    sizes = hidden_sizes(module)
    numbers = range(len(sizes.declared) + len(sizes.tried))
    return Examined((), Tried(("plain",), (_NOT_EXAMINED,)), tuple(numbers))


def _hidden_variants(module: TaskModule, numbers: tuple[int, ...]) -> list[Variant]:
    """Of the hidden sizes with these numbers, those that the reference accepts."""
    declared, tried, most = hidden_sizes(module)
    first = len(declared)
    chosen = [sizes for number, sizes in enumerate(tried, first) if number in numbers]
    run = partial(variant_of, module)
    found = accepted_variants(HiddenSizes(declared, chosen, most), run)
    return [one.variant for one in found]


def _repair(repair: tuple[str, str]) -> str:
    return "" if repair == OWN else "{} inputs, {} parameters".format(*repair)
