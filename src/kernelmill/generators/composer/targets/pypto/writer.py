"""Lines of forward, and the kernels that they call, written in the order of the graph."""

import ast
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from kernelmill.generators.base import Declined
from kernelmill.generators.composer.host.language import host
from kernelmill.generators.composer.ir.graph import Extent
from kernelmill.generators.composer.targets.pypto.held import (
    ONE,
    Held,
    Shape,
    group_axes,
    of_rank,
)
from kernelmill.syntax import parse_expression

DTYPES = {
    "float32": "DT_FP32", "float16": "DT_FP16", "bfloat16": "DT_BF16", "int64": "DT_INT64",
    "int32": "DT_INT32", "int16": "DT_INT16", "int8": "DT_INT8", "uint8": "DT_UINT8",
    "bool": "DT_BOOL",
}  # fmt: skip
"""Element types, and what PyPTO calls them."""
_FLOATS = ("float32", "float16", "bfloat16")
_MOST_AXES = 4
"""Of the tensors that PyPTO's operations take."""
_LEAST_AXES = 2


class Memory(NamedTuple):
    """A tensor as one kernel is given it: a view of contiguous memory."""

    name: str
    sizes: tuple[str, ...]
    """Code of its sizes."""
    dtype: str

    @property
    def code(self) -> str:
        return f"{self.name}.view({', '.join(self.sizes)})"


class Writer:
    """What becomes of the operators, one after the other."""

    def __init__(self, tile: int) -> None:
        self.lines: list[str] = []
        self.kernels: dict[str, str] = {}
        """Text of a kernel behind its name -> its name."""
        self._tile = tile
        """Most elements of a vector tile."""
        self._variables = 0

    def allocate(self, shape: Sequence[Extent], dtype: str) -> Held:
        name = f"h{self._variables}"
        self._variables += 1
        sizes = as_tuple([host(size.code) for size in shape])
        self.lines.append(f"{name} = torch.empty({sizes}, dtype=torch.{dtype}, device=device)")
        return Held.stored(name, shape, dtype)

    def launch(
        self,
        label: str,
        body: Sequence[str],
        inputs: Sequence[Memory],
        output: Memory,
        numbers: Mapping[str, str] | None = None,
        tiled: Sequence[str] = (),
    ) -> None:
        """Call a kernel whose body names its inputs x0, x1... and its output y.

        `numbers` are further arguments and their code. `tiled` are the sizes that vector tiles cut;
        those of the output, if there are none.
        """
        tiled = tiled or output.sizes
        numbers = numbers or {}
        tiles = [f"t{axis}" for axis in range(len(tiled))]
        tensors = [*((f"x{at}", one.dtype) for at, one in enumerate(inputs)), ("y", output.dtype)]
        parameters = [f"{name}: pypto.Tensor([], pypto.{DTYPES[dtype]})" for name, dtype in tensors]
        parameters += [*numbers, *(f"{tile}: int" for tile in tiles)]
        lines = [f"pypto.set_vec_tile_shapes({', '.join(tiles)})", *body]
        text = f"({', '.join(parameters)}):\n" + "\n".join(f"    {line}" for line in lines)
        name = self.kernels.setdefault(text, f"kernel_{len(self.kernels)}_{label}")
        cut = f"tile({as_tuple(tiled)}, {self._tile})"
        arguments = [*(one.code for one in (*inputs, output)), *numbers.values(), f"*{cut}"]
        self.lines.append(f"{name}({', '.join(arguments)})")

    def pointwise(
        self,
        label: str,
        code: str,
        operands: Sequence[Held],
        shape: Shape,
        dtype: str,
        conditions: int = 0,
    ) -> Held:
        """A function of elements. `code` has {0}, {1}... for its operands, and may have statements
        before its value, apart by semicolons. The first operands are `conditions`, which are read
        as they are."""
        given = [operand for operand in operands if not operand.number]
        if not given:
            operands = [self._filled(replace(operands[0], shape=shape)), *operands[1:]]
            given = [operands[0]]
        held = [self._in_order(operand) for operand in given]
        groups = group_axes([of_rank(one.axes, len(shape)) for one in held], shape)
        if len(groups) > _MOST_AXES:
            raise Declined(f"{label} that broadcasts along {len(groups)} groups of axes")
        result = self.allocate(shape, dtype)
        inputs = [
            _grouped(one, [(g.axes, g.present[at]) for g in groups], shape)
            for at, one in enumerate(held)
        ]
        output = _grouped(result, [(g.axes, True) for g in groups], shape)
        numbers: dict[str, str] = {}
        first = [line for at in range(len(inputs)) for line in _spread(at, inputs, output)]
        if first:
            numbers |= {f"n{axis}": size for axis, size in enumerate(output.sizes)}
        read = _operands(operands, inputs, output, numbers, conditions)
        *before, value = [part.strip() for part in code.format(*read).split(";")]
        body = [*first, *before, f"y[:] = {_written(value, dtype)}"]
        self.launch(label, body, inputs, output, numbers)
        return result

    def memory(self, held: Held, sizes: Sequence[str]) -> Memory:
        """A tensor as a kernel sees it with these sizes."""
        return Memory(self.contiguous(held).name, tuple(sizes), held.dtype)

    def contiguous(self, held: Held) -> Held:
        """The tensor in memory of its own shape, which kernels may have to make."""
        if held.number:
            return self._filled(held)
        held = self._in_order(held)
        return self._repeated(held) if held.repeated else held

    def _filled(self, held: Held) -> Held:
        result = self.allocate(held.shape, held.dtype)
        sizes = ("1", count(held.shape))
        value = "1.0" if held.dtype == "bool" else held.number
        kind = "pypto.DT_FP32" if held.dtype == "bool" else f"pypto.{DTYPES[held.dtype]}"
        value = f"pypto.full([1, count], {value}, {kind})"
        if held.dtype == "bool":
            sign = ">" if held.number == "True" else "<"
            value = f"{value} {sign} 0.0"
        elif held.dtype == "int64":
            value = f"pypto.cast(pypto.full([1, count], {held.number}, pypto.DT_INT32), {kind})"
        self.launch(
            "full", [f"y[:] = {value}"], [], self.memory(result, sizes), {"count": sizes[1]}
        )
        return result

    def _in_order(self, held: Held) -> Held:
        """With its memory in the order of its axes: neighbours change places until it is."""
        order = [axis for axis in held.order if held.memory[axis].code != "1"]
        current = sorted(order)
        while order != current:
            at = next(i for i, axis in enumerate(order) if current[i] != axis)
            old = current.index(order[at])
            end = old + 1
            while end < len(current) and order[at + end - old : at + end - old + 1] == [
                current[end]
            ]:
                end += 1
            front, middle, moved, behind = (
                current[:at], current[at:old], current[old:end], current[end:]
            )  # fmt: skip
            held = self._exchange(held, front, middle, moved, behind)
            current = [*front, *moved, *middle, *behind]
        axes = held.axes
        return replace(held, memory=axes, order=tuple(range(len(axes))))

    def _exchange(
        self, held: Held, front: list[int], middle: list[int], moved: list[int], behind: list[int]
    ) -> Held:
        parts = [count([held.memory[a] for a in axes]) for axes in (front, middle, moved, behind)]
        before: tuple[str, ...] = tuple(parts)
        after: tuple[str, ...] = (parts[0], parts[2], parts[1], parts[3])
        if not behind:
            before, after = before[:3], after[:3]
        order = [*front, *moved, *middle, *behind]
        result = self.allocate([held.memory[axis] for axis in order], held.dtype)
        source = Memory(held.name, before, held.dtype)
        target = Memory(result.name, after, held.dtype)
        self.launch("swap", ["y[:] = pypto.transpose(x0, 1, 2)"], [source], target, tiled=before)
        return replace(held, name=result.name)

    def _repeated(self, held: Held) -> Held:
        """One axis after the other."""
        for axis, wanted in enumerate(held.shape):
            if held.memory[axis].code == "1" != wanted.code:
                sizes = [*held.memory[:axis], wanted, *held.memory[axis + 1 :]]
                result = self.allocate(sizes, held.dtype)
                lead, tail = count(held.memory[:axis]), count(held.memory[axis + 1 :])
                times = host(wanted.code)
                source = Memory(held.name, (lead, "1", tail), held.dtype)
                target = Memory(result.name, (lead, times, tail), held.dtype)
                numbers = dict(zip(("n0", "n1", "n2"), target.sizes, strict=True))
                body = ["y[:] = pypto.expand_clone(x0, [n0, n1, n2])"]
                self.launch("expand", body, [source], target, numbers)
                held = replace(held, name=result.name, memory=result.memory)
        return held


def _grouped(held: Held, groups: Sequence[tuple[tuple[int, ...], bool]], shape: Shape) -> Memory:
    sizes = [count([shape[a] for a in axes]) if present else "1" for axes, present in groups]
    return Memory(held.name, ("1",) * (_LEAST_AXES - len(sizes)) + tuple(sizes), held.dtype)


def _spread(at: int, inputs: Sequence[Memory], output: Memory) -> list[str]:
    """Lines that repeat an operand along all axes but one: an operation repeats along one axis.

    The first operand is repeated along axes that no operand has, too.
    """
    missing = _missing(inputs[at], output)
    nowhere = set.intersection(*(set(_missing(one, output)) for one in inputs)) if at == 0 else ()
    left = next((axis for axis in missing if axis not in nowhere), None)
    sizes, lines, name = list(inputs[at].sizes), [], f"x{at}"
    for axis in missing:
        if axis == left:
            continue
        sizes[axis] = output.sizes[axis]
        kept = ["1" if size == "1" else f"n{a}" for a, size in enumerate(sizes)]
        lines.append(f"r{at} = pypto.expand_clone({name}, [{', '.join(kept)}])")
        name = f"r{at}"
    return lines


def _missing(given: Memory, output: Memory) -> list[int]:
    """Axes along which an operand is repeated."""
    return [axis for axis, size in enumerate(given.sizes) if size != output.sizes[axis]]


def _operands(
    operands: Sequence[Held],
    inputs: Sequence[Memory],
    output: Memory,
    numbers: dict[str, str],
    conditions: int,
) -> list[str]:
    """Code for every operand; numbers that depend on sizes become arguments."""
    read: list[str] = []
    place_of = iter(range(len(inputs)))
    for operand in operands:
        if not operand.number:
            at = next(place_of)
            name = f"r{at}" if _spread(at, inputs, output) else f"x{at}"
            logical = output.dtype == "bool" or len(read) < conditions
            value = _read(name, operand.dtype, logical)
            mixed = output.dtype in _FLOATS and "int" in operand.dtype and len(operands) > 1
            read.append(f"pypto.cast({value}, pypto.DT_FP32)" if mixed else value)
        elif _is_literal(operand.number):
            read.append(operand.number)
        else:
            name = f"number_{len(numbers)}"
            numbers[name] = f"float({operand.number})"
            read.append(name)
    return read


def _is_literal(code: str) -> bool:
    """Whether code is a number, whatever the sizes."""
    match parse_expression(code):
        case ast.Constant() | ast.UnaryOp(op=ast.USub(), operand=ast.Constant()):
            return True
        case ast.Call(func=ast.Name(id="float"), args=[ast.Constant()]):
            return True
    return False


def _read(name: str, dtype: str, logical: bool) -> str:
    """An operand in the type that is computed in."""
    if dtype == "float32" or (dtype == "bool" and logical):
        return name
    if dtype == "bool":
        return f"pypto.where({name}, 1.0, 0.0)"
    wide = "DT_FP32" if dtype in _FLOATS else "DT_INT32"
    return f"pypto.cast({name}, pypto.{wide})"


def _written(value: str, dtype: str) -> str:
    """A result in its type; it was computed in float32, int32 or bool."""
    if dtype in ("float32", "bool", "int32"):
        return value
    return f"pypto.cast({value}, pypto.{DTYPES[dtype]})"


def count(shape: Sequence[Extent]) -> str:
    """How many elements there are, as Python."""
    sizes = [host(size.code) for size in shape if size.code != "1"]
    return " * ".join(size if size.isalnum() else f"({size})" for size in sizes) or "1"


def as_tuple(codes: Sequence[str]) -> str:
    return f"({', '.join(codes)}{',' * (len(codes) == 1)})"


__all__ = ["DTYPES", "ONE", "Memory", "Writer", "as_tuple", "count"]
