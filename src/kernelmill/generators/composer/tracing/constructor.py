"""The reference's constructor without its forward, for a drop-in replacement of the reference.

Runs inside sandboxes only.
"""

import ast
from collections.abc import Iterator

import torch
from torch import nn

from kernelmill.records.tensors import HALF_TYPES
from kernelmill.syntax import parse_python
from kernelmill.tasks.module import TaskModule

_SEED = 20_260_202
_MOST_VALUES = 1 << 26
"""Elements of a state whose values are compared; of a larger one only names, types and shapes."""


def find_constructor(module: TaskModule, scale: str) -> str:
    """A module that defines `ModelNew` with the reference's constructor; empty if there is none.

    What is found constructs the same state from the same seed.
    """
    try:
        text = constructor_source(module.source, scale)
        return text if _constructs_the_same(text, module) else ""
    except Exception:  # the task's own code, on its own
        return ""


def _constructs_the_same(text: str, module: TaskModule) -> bool:
    names: dict[str, type[nn.Module]] = {}
    exec(compile(text, "<constructor>", "exec"), names)
    with torch.device("meta"):
        own, wanted = _states(names["ModelNew"], module)
    same = [(name, t.dtype, t.shape) for name, t in own.items()] == [
        (name, t.dtype, t.shape) for name, t in wanted.items()
    ]
    if not same or sum(tensor.numel() for tensor in own.values()) > _MOST_VALUES:
        return same
    own, wanted = _states(names["ModelNew"], module)
    return all(torch.equal(tensor, wanted[name]) for name, tensor in own.items())


def _states(own: type[nn.Module], module: TaskModule) -> list[dict[str, torch.Tensor]]:
    """Of the constructor that was found, and of the reference's own."""
    states = []
    for construct in (own, module.construct):
        torch.manual_seed(_SEED)
        arguments = module.init_arguments()
        torch.manual_seed(_SEED)
        states.append(construct(*arguments).state_dict())
    return states


def constructor_source(source: str, scale: str) -> str:
    """The class `Model` as `ModelNew` with what its constructor needs, and no more.

    Raises KeyError where the source has no such class.
    """
    return _Extraction(parse_python(source), scale).text()


class _Extraction:
    def __init__(self, tree: ast.Module, scale: str) -> None:
        self._defined = dict(_definitions(tree))
        self._sizes = _scaled_constants(self._defined, scale)
        self._taken: dict[str, ast.stmt] = {}
        self._imports: list[str] = []

    def text(self) -> str:
        self._take("Model")
        dtype = _declared_type(self._defined)
        if dtype:
            self._imports.append("import torch")
            _convert(self._taken["Model"], dtype)
        order = [name for name in self._defined if name != "Model"]
        taken = [name for name in (*order, "Model") if name in self._taken]
        statements = dict.fromkeys(ast.unparse(self._taken[name]) for name in taken)
        return "\n".join([*self._imports, *statements]) + "\n"

    def _take(self, name: str) -> None:
        if name in self._taken or name not in self._defined:
            return
        node = self._defined[name]
        if name in self._sizes:
            node = parse_python(f"{name} = {self._sizes[name]!r}").body[0]
        if isinstance(node, ast.ClassDef):
            node = _without_behaviour(node)
        self._taken[name] = _Renamed().visit(_Bare().visit(node))
        for used in _free_names(node):
            self._take(used)


def _definitions(tree: ast.Module) -> Iterator[tuple[str, ast.stmt]]:
    """What a module binds, by name."""
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                one = ast.copy_location(_import_of(node, alias), node)
                yield alias.asname or alias.name.partition(".")[0], one
        elif isinstance(node, ast.ClassDef | ast.FunctionDef):
            yield node.name, node
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                for name in ast.walk(target):
                    if isinstance(name, ast.Name):
                        yield name.id, node


def _declared_type(defined: dict[str, ast.stmt]) -> str:
    """What the loader declares where a suite is converted."""
    node = defined.get("DTYPE")
    value = node.value if isinstance(node, ast.Assign) else None
    known = isinstance(value, ast.Constant) and value.value in HALF_TYPES
    return str(value.value) if known and isinstance(value, ast.Constant) else ""


def _convert(model: ast.stmt, dtype: str) -> None:
    """Have a constructor convert what it has made."""
    for method in ast.walk(model):
        if isinstance(method, ast.FunctionDef) and method.name == "__init__":
            method.body += parse_python(f"self.to(torch.{dtype})").body


def _free_names(node: ast.AST, bound: frozenset[str] = frozenset()) -> set[str]:
    """Names that a statement reads from around it."""
    if isinstance(node, ast.FunctionDef | ast.Lambda):
        inside = list(ast.walk(node))
        bound |= {inner.arg for inner in inside if isinstance(inner, ast.arg)}
        bound |= {n.id for n in inside if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    if isinstance(node, ast.Name):
        return {node.id} - bound
    parts = (_free_names(child, bound) for child in ast.iter_child_nodes(node))
    return set().union(*parts)


def _import_of(node: ast.Import | ast.ImportFrom, alias: ast.alias) -> ast.stmt:
    if isinstance(node, ast.Import):
        return ast.Import([alias])
    return ast.ImportFrom(node.module, [alias], node.level)


def _scaled_constants(defined: dict[str, ast.stmt], scale: str) -> dict[str, object]:
    """Constants that have another value at this scale."""
    node = defined.get("SCALES")
    if not isinstance(node, ast.Assign):
        return {}
    scales: dict[str, dict[str, object]] = ast.literal_eval(node.value)
    return scales.get(scale, {})


def _without_behaviour(node: ast.ClassDef) -> ast.ClassDef:
    """A class with its constructor, and the methods that this calls; the constructor is last."""
    methods = {item.name: item for item in node.body if isinstance(item, ast.FunctionDef)}
    kept: dict[str, ast.FunctionDef] = {}

    def keep(name: str) -> None:
        if name in methods and name not in kept:
            kept[name] = methods[name]
            for inner in ast.walk(methods[name]):
                if isinstance(inner, ast.Attribute) and isinstance(inner.value, ast.Name):
                    keep(inner.attr)

    keep("__init__")
    values = [item for item in node.body if isinstance(item, ast.Assign | ast.AnnAssign)]
    helpers = [method for name, method in kept.items() if name != "__init__"]
    body: list[ast.stmt] = [*values, *helpers]
    body += [kept["__init__"]] if "__init__" in kept else []
    body = body or [ast.Pass()]
    return ast.ClassDef(node.name, node.bases, node.keywords, body, node.decorator_list)


class _Bare(ast.NodeTransformer):
    """Drops annotations and docstrings, which name types that nothing else needs."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        body = node.body
        documented = isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)
        node.body = (body[1:] or [ast.Pass()]) if documented else body
        return self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = None
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST | None:
        if node.value is None:
            return None
        self.generic_visit(node)
        return ast.fix_missing_locations(ast.Assign([node.target], node.value, lineno=node.lineno))


class _Renamed(ast.NodeTransformer):
    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        node.name = "ModelNew" if node.name == "Model" else node.name
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        node.id = "ModelNew" if node.id == "Model" else node.id
        return node
