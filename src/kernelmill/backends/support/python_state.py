"""State in a candidate's Python: what outlives a call, and what changes it under any name."""

import ast
import string
from collections.abc import Iterator
from typing import NamedTuple

from kernelmill.backends.support.python_names import functions, own_name, root_name, spelled

_LAZY = frozenset({"enumerate", "filter", "iter", "map", "reversed", "zip"})
_CONTAINERS = frozenset({"dict", "list", "set", "sorted"})
_CONSUMING = frozenset({"all", "any", "max", "min", "range", "sum", "tuple"}) | _CONTAINERS | _LAZY
_DISPLAYS = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)
_ADDING = frozenset({"append", "extend"})
_NUMBERS = frozenset("abs dim float int len max min ndimension nelement numel round size".split())
"""Functions and methods that give numbers."""
_LONGEST_CHAIN = 8
"""How often a number may be handed from one name to the next."""


class StateFinding(NamedTuple):
    node: ast.AST
    what: str


def kept_iterators(tree: ast.Module) -> Iterator[StateFinding]:
    """Iterators that are not used up where they are made: each step of one is remembered."""
    parents = {id(child): node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    brief = {
        id(inner) for f in functions(tree) if f.name != "__init__" for inner in ast.walk(f)
    }  # fmt: skip
    for node in ast.walk(tree):
        if isinstance(node, ast.Yield | ast.YieldFrom):
            yield StateFinding(node, "makes a generator")
        elif _is_lazy(node) and not _is_consumed(node, parents[id(node)]):
            parent = parents[id(node)]
            if id(node) not in brief or isinstance(parent, ast.Return):
                yield StateFinding(node, f"keeps the iterator {spelled(node)}")
    for function in functions(tree):
        lazy = {b.name for b in _bindings(function) if b.value is not None and _is_lazy(b.value)}
        for node in ast.walk(function):
            if isinstance(node, ast.Return) and own_name(node.value or node) in lazy:
                yield StateFinding(node, "returns an iterator")


def _is_lazy(node: ast.AST) -> bool:
    if isinstance(node, ast.GeneratorExp):
        return True
    return isinstance(node, ast.Call) and own_name(node.func) in _LAZY


def _is_consumed(node: ast.AST, parent: ast.AST) -> bool:
    match parent:
        case ast.For() | ast.comprehension():
            return parent.iter is node
        case ast.Starred():
            return True
        case ast.Assign():
            return all(isinstance(target, ast.Tuple | ast.List) for target in parent.targets)
        case ast.Call():
            return isinstance(parent.func, ast.Attribute) or own_name(parent.func) in _CONSUMING
        case _:
            return False


class _Binding(NamedTuple):
    name: str
    value: ast.expr | None
    """None where something else than an assignment binds it."""


def _bindings(function: ast.FunctionDef) -> list[_Binding]:
    """How a function binds its local names."""
    arguments = function.args
    named = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
    found = [_Binding(argument.arg, None) for argument in named]
    plain = set()
    for node in ast.walk(function):
        targets = node.targets if isinstance(node, ast.Assign) else []
        if isinstance(node, ast.AnnAssign | ast.NamedExpr):
            targets = [node.target]
        for target in targets:
            if isinstance(node, ast.Assign | ast.AnnAssign | ast.NamedExpr) and isinstance(
                target, ast.Name
            ):
                plain.add(id(target))
                found.append(_Binding(target.id, node.value))
        if isinstance(node, ast.AugAssign):
            plain.add(id(node.target))
    found += [
        _Binding(node.id, None)
        for node in ast.walk(function)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and id(node) not in plain
    ]
    return found


def _is_fresh(value: ast.expr | None) -> bool:
    """Whether an expression makes a container of its own."""
    if isinstance(value, ast.BinOp):
        return _is_fresh(value.left) or _is_fresh(value.right)
    if isinstance(value, ast.Call):
        return isinstance(value.func, ast.Name) and value.func.id in _CONTAINERS
    return isinstance(value, _DISPLAYS)


def containers_outside(tree: ast.Module) -> set[str]:
    """Names at the level of the module, and attributes of self, that may hold a container."""
    inside = {id(node) for f in functions(tree) for node in ast.walk(f)}
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(_is_fresh(part) for part in ast.walk(node.value) if isinstance(part, ast.expr)):
                names |= {own_name(t) for t in targets if id(t) not in inside or _of_self(t)}
    return names - {""}


def _of_self(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and own_name(node) != ""


def state_changes(function: ast.FunctionDef, outside: set[str]) -> Iterator[StateFinding]:
    """Changes that a function makes to what it has not made itself.

    `outside` are the names of containers that outlive it.
    """
    bound: dict[str, list[ast.expr | None]] = {}
    for name, value in _bindings(function):
        bound.setdefault(name, []).append(value)
    fresh = {name for name, values in bound.items() if all(map(_is_fresh, values))}
    for node in ast.walk(function):
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            values = bound.get(node.target.id, [None])
            kept = any(value is not None and _of_self(value) for value in values)
            kept = kept and not _is_number(node.value, bound)
            if kept or (outside and any(_may_be(value, outside) for value in values)):
                yield StateFinding(node, f"changes {node.target.id}, which may be kept")
        elif isinstance(node, ast.Attribute | ast.Subscript):
            mine = isinstance(node.value, ast.Name) and node.value.id in fresh
            if isinstance(node.ctx, ast.Store | ast.Del):
                if not (mine and isinstance(node, ast.Subscript)):
                    yield StateFinding(node, f"changes {spelled(node)}")
            elif isinstance(node, ast.Attribute) and node.attr in _ADDING and not mine:
                yield StateFinding(node, f"adds to {spelled(node.value)}")


def _is_number(
    value: ast.expr, bound: dict[str, list[ast.expr | None]], steps: int = _LONGEST_CHAIN
) -> bool:
    """Whether an expression is a number, as far as its text tells."""
    match value:
        case ast.Constant():
            return isinstance(value.value, int | float)
        case ast.UnaryOp():
            return _is_number(value.operand, bound, steps)
        case ast.BinOp():
            return all(_is_number(side, bound, steps) for side in (value.left, value.right))
        case ast.Call(func=ast.Name() | ast.Attribute()):
            return own_name(value.func) in _NUMBERS or getattr(value.func, "attr", "") in _NUMBERS
        case ast.Subscript(value=ast.Attribute(attr=attribute)):
            return attribute == "shape"
        case ast.Name() if steps:
            values = bound.get(value.id, [None])
            return all(one is None or _is_number(one, bound, steps - 1) for one in values)
        case _:
            return False


def _may_be(value: ast.expr | None, outside: set[str]) -> bool:
    """Whether a value may be a container that outlives the call."""
    if value is None:
        return True
    roots = {root_name(value)} | {own_name(part) for part in ast.walk(value)}
    return not _is_fresh(value) and not outside.isdisjoint(roots)


def reaching_formats(tree: ast.Module) -> Iterator[StateFinding]:
    """Uses of `format` that read attributes or elements by their names in a text."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr == "format" and not _is_plain(node.value):
            yield StateFinding(node, "formats what a text names")


def _is_plain(template: ast.expr) -> bool:
    if not isinstance(template, ast.Constant) or not isinstance(template.value, str):
        return False
    fields = string.Formatter().parse(template.value)
    return not any(
        set(name or "") & {".", "["} or "{" in (spec or "") for _, name, spec, _ in fields
    )
