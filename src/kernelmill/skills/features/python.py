"""Reading of Python sources: Triton and Pallas kernels, and the host code of any candidate."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache

from kernelmill.skills.features.functions import Function, LoopStack
from kernelmill.syntax import parse_python

_LOOPING = frozenset({"fori_loop", "while_loop", "scan", "run_scoped_loop"})
_CALLED: dict[str, frozenset[str]] = {
    "dots": frozenset({"dot", "dot_general", "dot_scaled", "matmul"}),
    "loads": frozenset({"load", "load_tensor_descriptor"}),
    "stores": frozenset({"store", "store_tensor_descriptor", "swap"}),
    "slow_math": frozenset({"exp", "expm1", "log", "log1p", "tanh", "erf", "pow"}),
    "async_copies": frozenset({"make_async_copy", "make_async_remote_copy", "async_copy"}),
    "scratch_buffers": frozenset({"VMEM", "SMEM"}),
    "block_specs": frozenset({"BlockSpec"}),
}
_C_SIGN = re.compile(r'^\s*#\s*include\s*[<"]|\b__global__\b|\bextern\s+"C"', re.MULTILINE)
"""Only C or C++ has any of these."""
_LARGEST = {"num_warps": "warps", "num_stages": "pipeline_stages"}


class PythonSource:
    """One file: its functions, its entry points, and what its host code launches."""

    def __init__(self, text: str) -> None:
        """A text that is not valid Python is read as an empty file."""
        try:
            self._tree = parse_python(text)
        except (SyntaxError, ValueError, RecursionError):
            self._tree = ast.Module([], [])
        nodes = [node for node in ast.walk(self._tree) if isinstance(node, ast.FunctionDef)]
        self._functions = {node.name: node for node in nodes}
        self._libraries = set(_libraries(self._tree))
        pallas_kernels = set(_pallas_kernels(self._tree))
        called = {
            name
            for node in nodes
            if _jitted(node)
            for name in _mentioned(node)
            if name != node.name
        }
        self.entries = {
            name
            for name, node in self._functions.items()
            if name in pallas_kernels or (_jitted(node) and name not in called)
        }

    def functions(self) -> Iterator[Function]:
        for name, node in self._functions.items():
            visitor = _FunctionVisitor()
            for statement in node.body:
                visitor.visit(statement)
            counts = visitor.counts
            counts["autotuned"] = sum(_name(one) == "autotune" for one in node.decorator_list)
            mentioned = frozenset(_mentioned(node))
            loops = tuple(visitor.loops.found)
            yield Function(name, name in self.entries, loops, mentioned, counts)

    def launches(self) -> int:
        """Calls of `kernel[grid](...)`, of a function of a loaded library, or of pallas_call."""
        calls = [node for node in ast.walk(self._tree) if isinstance(node, ast.Call)]
        return sum(
            isinstance(call.func, ast.Subscript)
            or _name(call) == "pallas_call"
            or _owner(call.func) in self._libraries
            for call in calls
        )

    def launch_parameters(self) -> Counter[str]:
        """Counts at the launches: largest configuration, block specifications, scratch memory."""
        counts: Counter[str] = Counter()
        for node in ast.walk(self._tree):
            if isinstance(node, ast.keyword) and node.arg in _LARGEST:
                value = node.value.value if isinstance(node.value, ast.Constant) else 0
                if isinstance(value, int):
                    counts[_LARGEST[node.arg]] = max(counts[_LARGEST[node.arg]], value)
            if isinstance(node, ast.Call):
                for metric in ("block_specs", "scratch_buffers"):
                    counts[metric] += _name(node) in _CALLED[metric]
        return counts

    def embedded_c(self) -> list[str]:
        """C and C++ sources in strings, as Ascend C artefacts and load_inline have them."""
        strings = [node.value for node in ast.walk(self._tree) if isinstance(node, ast.Constant)]
        return [text for text in strings if isinstance(text, str) and _C_SIGN.search(text)]


@lru_cache(maxsize=256)
def read_python(text: str) -> PythonSource:
    return PythonSource(text)


class _FunctionVisitor(ast.NodeVisitor):
    """Counts constructs and loops in the body of one function."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.loops = LoopStack()

    def visit_For(self, node: ast.For) -> None:
        self._loop(node)

    def visit_While(self, node: ast.While) -> None:
        self._loop(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """Skipped: a nested function is counted on its own, and reached by its name."""

    def visit_Name(self, node: ast.Name) -> None:
        self.loops.mention(node.id)

    def visit_Call(self, node: ast.Call) -> None:
        name = _name(node)
        for metric, called in _CALLED.items():
            if metric not in ("block_specs", "scratch_buffers"):
                self.counts[metric] += name in called
        self.counts["atomics"] += name.startswith("atomic_")
        masked = any(keyword.arg == "mask" for keyword in node.keywords)
        self.counts["masks"] += masked and name in ("load", "store")
        if name in _LOOPING:
            self._loop(node)
        else:
            self.generic_visit(node)

    def _loop(self, node: ast.AST) -> None:
        self.loops.begin()
        self.generic_visit(node)
        self.loops.end()


def _pallas_kernels(tree: ast.Module) -> Iterator[str]:
    """Names of functions passed to pallas_call, also through functools.partial."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _name(node) == "pallas_call" and node.args:
            first = node.args[0]
            if isinstance(first, ast.Call) and first.args:
                first = first.args[0]
            if isinstance(first, ast.Name):
                yield first.id


def _jitted(node: ast.FunctionDef) -> bool:
    return any(_name(one) == "jit" for one in node.decorator_list)


def _mentioned(node: ast.FunctionDef) -> set[str]:
    return {
        one.id
        for statement in node.body
        for one in ast.walk(statement)
        if isinstance(one, ast.Name)
    }


def _libraries(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and _name(node.value) == "CDLL":
            yield from (target.id for target in node.targets if isinstance(target, ast.Name))


def _owner(function: ast.expr) -> str:
    """`library` of `library.function`."""
    value = function.value if isinstance(function, ast.Attribute) else None
    return value.id if isinstance(value, ast.Name) else ""


def _name(node: ast.expr) -> str:
    """The last part of the name that is called or used: `dot` of `tl.dot(a, b)`."""
    if isinstance(node, ast.Call):
        node = node.func
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""
