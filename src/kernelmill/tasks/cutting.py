"""Cut-down tasks: a task with smaller sizes, whose values can be examined at little cost.

Used inside sandboxes only. A cut-down task has the operators and tensors of the task, of other
sizes: integers in its file are halved, the same everywhere where they are equal, as long as that
holds and makes a difference.
"""

import ast
from collections.abc import Iterator
from typing import NamedTuple

from kernelmill.syntax import parse_python
from kernelmill.tasks.module import TaskModule
from kernelmill.tasks.shapes import Shapes, shapes_of
from kernelmill.tasks.variants import hidden_sizes

_LEAST_SIZE = 8
"""Smaller sizes stay: kernel sizes, numbers of heads, rows that tell apart."""
_LEAST_ROWS = 2
"""Sizes of inputs alone may be as small, where nothing else is left."""
_LEAST_GAIN = 0.9
_STEEP = 8.0
"""Excess from which on a size is divided by four at once."""
_NOT_SIZES = frozenset({"DOMAIN", "FAMILY", "DTYPE", "PROMISES", "REPAIR"})
_FUNCTIONS = frozenset({"get_inputs", "get_init_inputs", "get_input_groups"})


class CostLimit(NamedTuple):
    """What one call of a reference may cost that is examined."""

    bytes: int
    operations: int

    def divided(self, divisor: int) -> "CostLimit":
        return CostLimit(self.bytes // divisor, self.operations // divisor)

    def excess(self, shapes: Shapes) -> float:
        """Above 1 where a call costs more."""
        return max(shapes.bytes / self.bytes, shapes.operations / self.operations)


class SizedTask(NamedTuple):
    """A task at some sizes."""

    module: TaskModule
    shapes: Shapes


def cut_down(task: SizedTask, scale: str, limit: CostLimit) -> SizedTask:
    """The task itself where it is within the limit; else the smallest one that was found."""
    return _Cutting(task, scale, limit).cut()


class _Cutting:
    def __init__(self, task: SizedTask, scale: str, limit: CostLimit) -> None:
        self._task = task
        self._scale = scale
        self._limit = limit
        self._tree = parse_python(task.module.source)
        self._hidden = _counts(task.module)
        self._of_inputs = set(task.module.free_constants().values())

    def cut(self) -> SizedTask:
        best, excess = self._task, self._limit.excess(self._task.shapes)
        sizes = {size: size for size in _sizes(self._tree, self._scale)}
        fixed: set[tuple[int, int]] = set()
        while excess > 1 and (candidates := self._candidates(sizes, fixed)):
            size, least = candidates[0]
            for divisor in (4, 2) if excess > _STEEP else (2,):
                smaller = sizes | {size: max(least, -(-sizes[size] // divisor))}
                found = self._with_sizes(smaller)
                if found is not None and self._limit.excess(found.shapes) < _LEAST_GAIN * excess:
                    best, excess, sizes = found, self._limit.excess(found.shapes), smaller
                    break
            else:
                fixed.add((size, least))
        return best

    def _candidates(
        self, sizes: dict[int, int], fixed: set[tuple[int, int]]
    ) -> list[tuple[int, int]]:
        """Sizes that may shrink, with the least of each: those of inputs alone before others, the
        largest first."""
        stages = (
            (_LEAST_SIZE, self._of_inputs),
            (_LEAST_SIZE, set(sizes)),
            (_LEAST_ROWS, self._of_inputs),
        )
        largest_first = sorted(sizes, key=sizes.__getitem__, reverse=True)
        return [
            (size, least)
            for least, allowed in stages
            for size in largest_first
            if size in allowed and sizes[size] > least and (size, least) not in fixed
        ]

    def _with_sizes(self, sizes: dict[int, int]) -> SizedTask | None:
        """The task with other sizes; None where it does not allow them."""
        tree = parse_python(self._task.module.source)
        for literal in _size_literals(tree, self._scale):
            literal.value = sizes[_value(literal)]
        try:
            module = TaskModule(ast.unparse(tree), self._scale, self._task.module.device.type)
            shapes = shapes_of(module)
        except Exception:  # the task's own code may raise anything on sizes it was not made for
            return None
        same = shapes.structure == self._task.shapes.structure
        return SizedTask(module, shapes) if same and _counts(module) == self._hidden else None


def _counts(module: TaskModule) -> tuple[int, int]:
    """How many hidden sizes a task declares, and how many are tried."""
    sizes = hidden_sizes(module)
    return len(sizes.declared), len(sizes.tried)


def _sizes(tree: ast.Module, scale: str) -> set[int]:
    return {_value(literal) for literal in _size_literals(tree, scale)}


def _value(literal: ast.Constant) -> int:
    assert isinstance(literal.value, int)
    return literal.value


def _size_literals(tree: ast.Module, scale: str) -> Iterator[ast.Constant]:
    """Integers that may be sizes: in constants of the module, and in functions that draw."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name in _FUNCTIONS:
            yield from _integers(node)
        elif isinstance(node, ast.Assign):
            names = {target.id for target in node.targets if isinstance(target, ast.Name)}
            if "SCALES" in names:
                yield from _integers(_of_scale(node.value, scale))
            elif not names & _NOT_SIZES:
                yield from _integers(node.value)


def _of_scale(scales: ast.expr, scale: str) -> ast.AST:
    """The sizes of one scale."""
    pairs = zip(scales.keys, scales.values, strict=True) if isinstance(scales, ast.Dict) else ()
    named = (value for key, value in pairs if isinstance(key, ast.Constant) and key.value == scale)
    return next(named, ast.Pass())


def _integers(node: ast.AST) -> Iterator[ast.Constant]:
    """Those above 1 that no sign precedes."""
    if isinstance(node, ast.UnaryOp):
        return
    if isinstance(node, ast.Constant) and type(node.value) is int and node.value > 1:
        yield node
    for child in ast.iter_child_nodes(node):
        yield from _integers(child)
