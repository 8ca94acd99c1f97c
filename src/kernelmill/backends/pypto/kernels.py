"""The source of a candidate's kernels: extracted from model.py and checked for the engine.

PyPTO evaluates the source of a kernel inside the engine, which reports outputs and cycles. The
allow-list of what a kernel may contain is therefore a security boundary.
"""

import ast
from collections.abc import Iterator

from kernelmill.backends.base import RuleFinding
from kernelmill.backends.support.python_rules import EmbeddedLanguage
from kernelmill.syntax import parse_python

DECORATOR = "pypto.frontend.jit"
_TYPES = frozenset(
    "DT_FP32 DT_FP16 DT_BF16 DT_INT8 DT_INT16 DT_INT32 DT_INT64 DT_UINT8 DT_BOOL".split()
)
LANGUAGE = EmbeddedLanguage(
    modules={"pypto": _TYPES | {"Tensor"}},
    decorators=frozenset({DECORATOR}),
    extra_decorators=frozenset(),
)
_FUNCTIONS = frozenset(
    """abs add amax amin arange argsort assemble cast cbrt ceil ceil_div clip concat cond copysign
    cumsum div eq exp exp2 expand_clone expm1 floor fmod full gather ge greater gt hypot index_add
    index_select isfinite le log log10 log1p log2 logical_and logical_not loop lrelu lt matmul
    maximum minimum mul ne neg ones pad pow prelu prod reciprocal relu remainder reshape round rsqrt
    scatter set_cube_tile_shapes set_vec_tile_shapes sign sqrt sub sum tensor topk transpose tril
    triu trunc unsqueeze squeeze var view where zeros""".split()
)
_ENUMS = frozenset("ReLuType TransMode TileOpFormat CastMode".split())
_METHODS = frozenset(
    """shape dtype dim exp reshape transpose sum amax amin sqrt rsqrt view cast matmul add sub mul
    div maximum minimum unsqueeze squeeze""".split()
)
_BUILTINS = frozenset("range len min max int float abs True False None".split())
_STATEMENTS = (
    ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr, ast.For, ast.If, ast.Pass, ast.Return,
)  # fmt: skip
_EXPRESSIONS = (
    ast.Attribute, ast.BinOp, ast.BoolOp, ast.Call, ast.Compare, ast.Constant, ast.IfExp,
    ast.List, ast.Name, ast.Slice, ast.Subscript, ast.Tuple, ast.UnaryOp,
)  # fmt: skip
_HINT = "write it with operations of pypto, local names and the kernel's arguments"


def find_kernels(source: str) -> list[ast.FunctionDef]:
    """Raises the same errors as `parse`."""
    return [
        node
        for node in parse_python(source).body
        if isinstance(node, ast.FunctionDef)
        and any(ast.unparse(decorator) == DECORATOR for decorator in node.decorator_list)
    ]


def check_kernels(source: str, file: str) -> list[RuleFinding]:
    return [finding for kernel in find_kernels(source) for finding in _check(kernel, file)]


def kernel_source(source: str) -> str:
    """The kernels alone, without decorators: the engine adds its own."""
    texts = []
    for kernel in find_kernels(source):
        kernel.decorator_list = []
        texts.append(ast.unparse(kernel))
    return "\n\n\n".join(texts) + "\n"


def _check(kernel: ast.FunctionDef, file: str) -> Iterator[RuleFinding]:
    known = _BUILTINS | {"pypto"} | {argument.arg for argument in kernel.args.args}
    known |= {
        node.id
        for node in ast.walk(kernel)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    for part in (*kernel.body, *(a.annotation for a in kernel.args.args), *kernel.args.defaults):
        for node in ast.walk(part) if part is not None else ():
            if what := _objection(node, known):
                where = f"{file}:{getattr(node, 'lineno', kernel.lineno)}"
                yield RuleFinding("kernel-language", where, what, _HINT)


def _objection(node: ast.AST, known: frozenset[str]) -> str:
    if isinstance(node, ast.stmt) and not isinstance(node, _STATEMENTS):
        return f"uses {type(node).__name__.lower()} in a kernel"
    if isinstance(node, ast.expr) and not isinstance(node, _EXPRESSIONS):
        return f"uses {type(node).__name__.lower()} in a kernel"
    if isinstance(node, ast.Name) and node.id not in known:
        return f"uses {node.id}, which is not defined in a kernel"
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in _RESERVED:
        return f"redefines {node.id}"
    if isinstance(node, ast.Attribute):
        return _attribute(node)
    return ""


_RESERVED = _BUILTINS | {"pypto"}


def _attribute(node: ast.Attribute) -> str:
    if isinstance(node.value, ast.Name) and node.value.id == "pypto":
        allowed = _FUNCTIONS | _TYPES | _ENUMS | {"Tensor"}
    elif isinstance(node.value, ast.Attribute) and node.value.attr in _ENUMS:
        allowed = frozenset({node.attr}) if node.attr.isupper() else frozenset()
    else:
        allowed = _METHODS
    return "" if node.attr in allowed else f"uses .{node.attr} in a kernel"
