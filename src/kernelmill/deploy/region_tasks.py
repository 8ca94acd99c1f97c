"""Regions as task files: the same region in many places becomes one task."""

import hashlib
import math
import operator
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import fx

from kernelmill.deploy.capture import Source
from kernelmill.deploy.regions import GraphRegion, operator_name

_HEAD = '''"""A region of {title}: {operators}."""

import torch
import torch.nn as nn


class Model(nn.Module):
'''


class RegionTask(NamedTuple):
    """A kind of region: one task, and the places in the graph where it occurs."""

    name: str
    source: str
    arguments: tuple[tuple[fx.Node, ...], ...]
    """For each place: the nodes that its operator takes, inputs first, then state."""
    regions: tuple[GraphRegion, ...]

    @property
    def operators(self) -> tuple[str, ...]:
        return self.regions[0].operators


class _Text(NamedTuple):
    forward: str
    inputs: tuple[fx.Node, ...]
    state: tuple[fx.Node, ...]


def name_regions(
    regions: Sequence[GraphRegion],
    sources: Mapping[fx.Node, Source],
    examples: Mapping[fx.Node, torch.Tensor],
    title: str,
) -> list[RegionTask]:
    """The kinds of regions, in the order of their first place.

    `examples` are values that nodes had; inputs of a task are drawn like them.
    """
    kinds: dict[str, list[tuple[GraphRegion, _Text]]] = {}
    for region in regions:
        text = _write_forward(region, sources)
        specs = [_spec(node) for node in (*text.inputs, *text.state)]
        kinds.setdefault("\n".join([text.forward, *specs]), []).append((region, text))
    return [_make_task(places, examples, title) for places in kinds.values()]


def program_of(source: str) -> str:
    """A task's source without its first docstring, which names the model."""
    return source.partition("import")[2]


def _make_task(
    places: Sequence[tuple[GraphRegion, _Text]],
    examples: Mapping[fx.Node, torch.Tensor],
    title: str,
) -> RegionTask:
    region, text = places[0]
    drawn = [
        _draw([examples[one.inputs[number]] for _, one in places], region, node)
        for number, node in enumerate(text.inputs)
    ]
    operators = ", ".join(dict.fromkeys(region.operators))
    lines = [_HEAD.format(title=title, operators=operators).rstrip("\n")]
    if text.state:
        lines += ["    def __init__(self):", "        super().__init__()"]
        lines += [f"        {_state_line(i, node)}" for i, node in enumerate(text.state)]
        lines.append("")
    lines += [text.forward, "", "", "def get_inputs():", "    return ["]
    lines += [f"        {one}," for one in drawn]
    lines += ["    ]", "", "", "def get_init_inputs():", "    return []", ""]
    source = "\n".join(lines)
    digest = hashlib.sha256(program_of(source).encode()).hexdigest()[:12]
    name = "_".join([*list(dict.fromkeys(region.operators))[:3], digest])
    return RegionTask(
        f"region_{name}",
        source,
        tuple((*one.inputs, *one.state) for _, one in places),
        tuple(one for one, _ in places),
    )


def _write_forward(region: GraphRegion, sources: Mapping[fx.Node, Source]) -> _Text:
    """The region as a method; parameters and floating buffers are state, the rest inputs."""
    state = tuple(node for node in region.inputs if _is_state(node, sources))
    inputs = tuple(node for node in region.inputs if node not in state)
    names = {node: f"x{number}" for number, node in enumerate(inputs)}
    names |= {node: f"self.p{number}" for number, node in enumerate(state)}
    head = ", ".join(["self", *(names[node] for node in inputs)])
    lines = [f"    def forward({head}):"]
    for number, node in enumerate(region.nodes):
        lines.append(f"        v{number} = {_call(node, names)}")
        names[node] = f"v{number}"
    returned = ", ".join(names[node] for node in region.outputs)
    lines.append(f"        return {returned}")
    return _Text("\n".join(lines), inputs, state)


def _is_state(node: fx.Node, sources: Mapping[fx.Node, Source]) -> bool:
    source = sources.get(node)
    value = node.meta["val"]
    return source is not None and source.kind == "state" and value.is_floating_point()


def _call(node: fx.Node, names: Mapping[fx.Node, str]) -> str:
    arguments = [_expression(argument, names) for argument in node.args]
    if node.target is operator.getitem:
        return f"{arguments[0]}[{arguments[1]}]"
    if operator_name(node) == "dropout":
        return arguments[0]
    target = node.target
    assert isinstance(target, torch._ops.OpOverload)
    arguments += [f"{key}={_expression(value, names)}" for key, value in node.kwargs.items()]
    return f"torch.ops.{target}({', '.join(arguments)})"


def _expression(value: Any, names: Mapping[fx.Node, str]) -> str:
    if isinstance(value, fx.Node):
        return names[value]
    if isinstance(value, list | tuple):
        return f"[{', '.join(_expression(item, names) for item in value)}]"
    if isinstance(value, torch.device):
        return f"torch.device({str(value)!r})"
    if isinstance(value, torch.dtype | torch.layout | torch.memory_format):
        return str(value)
    if isinstance(value, float) and not math.isfinite(value):
        return f"float({str(value)!r})"
    return repr(value)


def _spec(node: fx.Node) -> str:
    value = node.meta["val"]
    return f"{value.dtype} {list(value.shape)}"


def _state_line(number: int, node: fx.Node) -> str:
    value = node.meta["val"]
    dtype = "" if value.dtype is torch.float32 else f", dtype={value.dtype}"
    return f"self.p{number} = nn.Parameter(0.5 + torch.rand({_shape(value)}{dtype}))"


def _draw(seen: Sequence[torch.Tensor], region: GraphRegion, node: fx.Node) -> str:
    """An expression for an input like those that were seen."""
    value = node.meta["val"]
    shape, dtype = _shape(value), value.dtype
    if dtype is torch.bool:
        return f"torch.rand({shape}) < 0.5"
    if not value.is_floating_point():
        least = min((int(one.min()) for one in seen if one.numel()), default=0)
        most = max((int(one.max()) for one in seen if one.numel()), default=0)
        most = max(most, _table_size(region, node) - 1)
        return f"torch.randint({min(least, 0)}, {most + 1}, {shape}, dtype={dtype})"
    positive = all(bool((one >= 0).all()) for one in seen)
    drawn = f"torch.{'rand' if positive else 'randn'}({shape})"
    return drawn if dtype is torch.float32 else f"{drawn}.to({dtype})"


def _table_size(region: GraphRegion, node: fx.Node) -> int:
    """Rows of the table that an input indexes; 0 where it indexes none."""
    for user in node.users:
        if user in region.nodes and operator_name(user) == "embedding" and user.args[1] is node:
            return int(user.args[0].meta["val"].shape[0])  # type: ignore[union-attr]
    return 0


def _shape(value: Any) -> str:
    return f"({', '.join(str(int(size)) for size in value.shape)}{',' * (value.dim() == 1)})"
