"""Bindings of the names in a Python file, among them those that hold a loaded library."""

import ast
from collections.abc import Iterator
from typing import NamedTuple

LOADERS = ("ctypes.CDLL", "CDLL", "ctypes.cdll.LoadLibrary")
"""How the functions are spelled that load a library."""
_LONGEST_CHAIN = 8
"""How often a library may be handed from one name to the next."""


_MOST_SPELLED_NODES = 60
_MOST_SPELLED = 200


def spelled(node: ast.AST) -> str:
    """The source of a node, of which a long one is not worth writing out.

    A node may hold most of the file, and so may each node in it.
    """
    for count, _ in enumerate(ast.walk(node)):
        if count > _MOST_SPELLED_NODES:
            return "a long expression"
    return ast.unparse(node)[:_MOST_SPELLED]


def bound_names(node: ast.AST) -> set[str]:
    """Names that a node binds, other than by a plain import."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {node.name}
    if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
        return {node.id}
    if isinstance(node, ast.arg):
        return {node.arg}
    if isinstance(node, ast.alias):
        return {node.asname or ""}
    if isinstance(node, ast.ImportFrom):
        return {alias.asname or alias.name for alias in node.names}
    return set()


def functions(tree: ast.AST) -> list[ast.FunctionDef]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]


def constructing_functions(tree: ast.AST) -> list[ast.FunctionDef]:
    """Constructors, and the methods that are used nowhere but in constructors."""
    constructors = [f for f in functions(tree) if f.name == "__init__"]
    inside = {id(node) for f in constructors for node in ast.walk(f)}
    used: dict[str, list[bool]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute | ast.Name):
            name = node.attr if isinstance(node, ast.Attribute) else node.id
            used.setdefault(name, []).append(id(node) in inside)
    helpers = [f for f in functions(tree) if f.name in used and all(used[f.name])]
    return constructors + [f for f in helpers if f not in constructors and f.name != "forward"]


def root_name(node: ast.AST) -> str:
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def own_name(node: ast.AST) -> str:
    """The name of a variable or of an attribute of self."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return node.attr if node.value.id == "self" else ""
    return ""


class _Binding(NamedTuple):
    """A name, or an attribute of self, and its value; None where no assignment binds it."""

    name: str
    value: ast.expr | None


def _bindings(tree: ast.AST) -> Iterator[_Binding]:
    plain: set[int] = set()
    for node in ast.walk(tree):
        targets = node.targets if isinstance(node, ast.Assign) else []
        if isinstance(node, ast.AnnAssign) and node.value is not None:
            targets = [node.target]
        for target in targets:
            if isinstance(node, ast.Assign | ast.AnnAssign) and (name := own_name(target)):
                plain.add(id(target))
                yield _Binding(name, node.value)
    for node in ast.walk(tree):
        if isinstance(node, ast.AnnAssign) and node.value is None:
            plain.add(id(node.target))
        elif id(node) not in plain:
            yield from (_Binding(name, None) for name in bound_names(node) if name)


def library_names(tree: ast.AST) -> set[str]:
    """Variables (or attributes of self) that hold a loaded library or extension, and nothing else.

    Functions that return nothing else are among them.
    """
    bindings = list(_bindings(tree))
    defined = functions(tree)
    names: set[str] = set()
    loaders: set[str] = set()
    for _ in range(_LONGEST_CHAIN):
        loaders = {f.name for f in defined if _returns_library(f, names)}
        holding = {b.name for b in bindings if is_library(b.value, names | loaders)}
        found = holding - {b.name for b in bindings if not is_library(b.value, holding | loaders)}
        if found == names:
            break
        names = found
    return names | loaders


def _returns_library(function: ast.FunctionDef, libraries: set[str]) -> bool:
    returned = [node.value for node in ast.walk(function) if isinstance(node, ast.Return)]
    return bool(returned) and all(is_library(value, libraries) for value in returned)


def is_library(value: ast.expr | None, libraries: set[str]) -> bool:
    """Whether an expression is a loaded library, given the names of those that are known."""
    if isinstance(value, ast.Call):
        called = spelled(value.func)
        return called in (*LOADERS, "load_inline") or called in libraries
    return value is not None and own_name(value) in libraries


def library_aliases(tree: ast.AST, libraries: set[str]) -> set[str]:
    """Variables that hold a function of a library, and nothing else: `run = _lib.run`."""
    held: set[str] = set()
    others: set[str] = set()
    for name, value in _bindings(tree):
        of_library = isinstance(value, ast.Attribute) and is_library(value.value, libraries)
        (held if of_library else others).add(name)
    return held - others


def single_values(tree: ast.AST) -> dict[str, str]:
    """The expressions of variables that are bound once."""
    values: dict[str, list[ast.expr | None]] = {}
    for name, value in _bindings(tree):
        values.setdefault(name, []).append(value)
    return {
        name: spelled(bound[0])
        for name, bound in values.items()
        if len(bound) == 1 and bound[0] is not None
    }
