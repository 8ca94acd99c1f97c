"""Static rules on the Python of a Pallas candidate, which may trace kernels and do nothing else.

They give early and cheap feedback. They are not the defence: a traced function is checked, executed
and compiled in a sandbox where the candidate's Python never runs.
"""

import ast
from collections.abc import Iterator

from kernelmill.backends.base import RuleFinding
from kernelmill.syntax import parse_python

_MODULES = {
    "__future__": frozenset({"annotations"}),
    "functools": frozenset({"partial", "reduce"}),
    "jax": frozenset("Array ShapeDtypeStruct jit lax nn numpy vmap".split()),
    "jax.experimental": frozenset({"pallas"}),
    "jax.experimental.pallas": None,
    "jax.experimental.pallas.tpu": None,
    "jax.lax": None,
    "jax.nn": None,
    "jax.numpy": None,
    "math": None,
    "typing": None,
}
"""Modules that may be imported -> names that may be used of them; None for all."""
_FORBIDDEN = frozenset(
    """breakpoint classmethod compile delattr dir eval exec exit getattr globals help id input
    locals memoryview open print quit setattr type vars""".split()
)
_CALLBACKS = frozenset("debug_callback debug_print io_callback pure_callback".split())
_HINT = "model.py defines kernels and calls them with pl.pallas_call: leave this out"


def check_pallas_source(source: str, file: str, entry: bool) -> list[RuleFinding]:
    """`entry`: whether this is the file that must define ModelNew."""
    try:
        tree = parse_python(source)
        return list(_Checker(tree, file).findings(entry))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return [RuleFinding("syntax", file, f"not valid Python: {error}", "fix the syntax")]


class _Checker:
    def __init__(self, tree: ast.Module, file: str) -> None:
        self._tree = tree
        self._file = file
        self._modules = {
            alias.asname or alias.name.partition(".")[0]: alias.name if alias.asname else "jax"
            for node in ast.walk(tree)
            if isinstance(node, ast.Import)
            for alias in node.names
            if alias.name.partition(".")[0] == "jax"
        }
        """Names that are bound to modules of JAX."""

    def findings(self, entry: bool) -> Iterator[RuleFinding]:
        if entry:
            yield from self._model()
        for node in ast.walk(self._tree):
            yield from self._import(node)
            yield from self._statement(node)
            yield from self._expression(node)

    def _finding(self, rule: str, node: ast.AST, what: str, instead: str = _HINT) -> RuleFinding:
        return RuleFinding(rule, f"{self._file}:{getattr(node, 'lineno', 1)}", what, instead)

    def _model(self) -> Iterator[RuleFinding]:
        classes = [n for n in self._tree.body if isinstance(n, ast.ClassDef)]
        model = next((c for c in classes if c.name == "ModelNew"), None)
        if model is None:
            instead = "define class ModelNew with forward(self, state, *inputs)"
            yield self._finding("no-model", self._tree, "ModelNew is not defined", instead)
            return
        methods = {n.name for n in model.body if isinstance(n, ast.FunctionDef)}
        if "forward" not in methods:
            yield self._finding("no-forward", model, "ModelNew has no forward", "define forward")
        if "pallas_call" not in ast.unparse(self._tree):
            instead = "write one and call it with pl.pallas_call in forward"
            yield self._finding("no-kernel", model, "the candidate has no Pallas kernel", instead)

    def _import(self, node: ast.AST) -> Iterator[RuleFinding]:
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name not in _MODULES:
                    yield self._refused_import(node, alias.name)
        elif isinstance(node, ast.ImportFrom):
            names = _MODULES.get(node.module or "", frozenset())
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                known = names is None or alias.name in names or full in _MODULES
                if node.level or not known:
                    yield self._refused_import(node, full)

    def _refused_import(self, node: ast.AST, name: str) -> RuleFinding:
        instead = f"import only {', '.join(sorted(_MODULES.keys() - {'__future__'}))}"
        return self._finding("import", node, f"imports {name}", instead)

    def _statement(self, node: ast.AST) -> Iterator[RuleFinding]:
        if isinstance(node, ast.Try | ast.TryStar):
            instead = "let errors propagate: a fallback is not a kernel"
            yield self._finding("fallback", node, "try/except", instead)
        elif isinstance(node, ast.Global | ast.Nonlocal):
            instead = "compute from the arguments alone"
            yield self._finding("state", node, "keeps state outside the call", instead)
        elif isinstance(node, ast.With | ast.AsyncWith | ast.AsyncFunctionDef | ast.Await):
            yield self._finding("unneeded", node, f"uses {type(node).__name__.lower()}")
        elif isinstance(node, ast.ClassDef) and (node.bases or node.keywords):
            what = f"{node.name} inherits"
            yield self._finding("base-class", node, what, "a plain class is enough")
        elif isinstance(node, ast.FunctionDef) and node.name != "__init__":
            for inner in ast.walk(node):
                if _assigns_to_self(inner):
                    what = f"changes {ast.unparse(inner)} in {node.name}"
                    yield self._finding("state", inner, what, "store nothing between calls")

    def _expression(self, node: ast.AST) -> Iterator[RuleFinding]:
        if isinstance(node, ast.Name):
            if node.id in _FORBIDDEN or node.id.startswith("__"):
                yield self._finding("forbidden-name", node, f"uses {node.id}")
        elif isinstance(node, ast.Attribute):
            if node.attr.startswith("_") and not _is_own_attribute(node):
                yield self._finding("internals", node, f"accesses {node.attr}")
            elif node.attr in _CALLBACKS:
                what = f"uses {ast.unparse(node)}"
                yield self._finding("callback", node, what, "a kernel never calls back into Python")
            elif self._outside(node):
                yield self._finding("kernel-language", node, f"uses {ast.unparse(node)}")

    def _outside(self, node: ast.Attribute) -> bool:
        """Whether it is an attribute of `jax` that is not allowed."""
        of_jax = isinstance(node.value, ast.Name) and self._modules.get(node.value.id) == "jax"
        allowed = _MODULES["jax"] or frozenset()
        return of_jax and node.attr not in allowed | {"experimental"}


def _is_own_attribute(node: ast.Attribute) -> bool:
    of_self = isinstance(node.value, ast.Name) and node.value.id == "self"
    return of_self and not node.attr.startswith("__")


def _assigns_to_self(node: ast.AST) -> bool:
    if not isinstance(node, ast.Attribute) or not isinstance(node.ctx, ast.Store | ast.Del):
        return False
    return isinstance(node.value, ast.Name) and node.value.id == "self"
