"""Static rules on a candidate's Python: forward allocates and launches, and no more.

The rules explain mistakes early and cheaply. They are not the defence: a candidate that slips
past them still runs in a cell, is judged from outside, and is profiled from outside.
"""

import ast
from collections.abc import Iterator

from kernelmill.backends.base import Finding

ALLOWED_IMPORTS = frozenset(
    {"__future__", "collections", "ctypes", "dataclasses", "functools", "itertools", "math",
     "numbers", "operator", "pathlib", "torch", "torch.nn", "typing", "warnings"}
)  # fmt: skip
_FORBIDDEN_NAMES = frozenset(
    {"eval", "exec", "compile", "__import__", "open", "globals", "locals", "vars", "getattr",
     "setattr", "delattr", "input", "breakpoint", "__builtins__", "__loader__", "__spec__"}
)  # fmt: skip
_ALLOWED_DUNDERS = frozenset(
    {"__init__", "__file__", "__name__", "__class__", "__len__", "__doc__", "__post_init__"}
)
_ALLOWED_TORCH = frozenset(
    {"Tensor", "Size", "device", "dtype", "empty", "empty_like", "empty_strided", "zeros",
     "zeros_like", "no_grad", "inference_mode", "float", "float16", "float32", "float64",
     "bfloat16", "half", "double", "int8", "int16", "int32", "int64", "uint8", "long", "int",
     "bool", "nn", "is_tensor", "contiguous_format", "preserve_format", "channels_last",
     "get_num_threads"}
)  # fmt: skip
_CONSTRUCTOR_ONLY = frozenset({"ones", "full", "arange", "tensor", "randn", "rand"})
"""For the initial values of parameters and buffers."""
_COMPUTE_METHODS = frozenset(
    """abs absolute add add_ addbmm addcdiv addcmul addmm addmv addr all amax amin aminmax any
    argmax argmin argsort baddbmm bincount bmm ceil cholesky clamp clamp_ clip copysign corrcoef
    cos cosh count_nonzero cov cross cummax cummin cumprod cumsum diff dist div div_ divide dot
    eq erf erfc erfinv exp exp2 expm1 exponential_ fill_diagonal_ floor floor_divide fmod frac
    gather ge gt hardshrink heaviside histc hypot index_add index_copy index_select inner
    kthvalue le lerp log log10 log1p log2 log_softmax logaddexp logcumsumexp logsumexp lt
    masked_fill masked_select matmul maximum mean median minimum mm mode mul mul_ multiply mv
    nanmean nansum ne neg norm normal_ outer pow prelu prod quantile random_ reciprocal relu
    relu_ remainder renorm roll round rsqrt scatter scatter_add sgn sigmoid sigmoid_ sign sin
    sinh softmax sort sqrt square std sub sub_ subtract sum svd take take_along_dim tan tanh
    tanh_ topk trace tril triu true_divide trunc uniform_ unique var xlogy backward apply_ map_
    einsum linear""".split()
)
_WRITE_A_KERNEL = "compute it in the kernel"


class PythonRules:
    """Collects what is wrong with model.py."""

    def __init__(self, extra_imports: frozenset[str] = frozenset()) -> None:
        self._allowed_imports = ALLOWED_IMPORTS | extra_imports

    def check(self, source: str, file: str) -> list[Finding]:
        try:
            tree = ast.parse(source)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            return [Finding("syntax", file, f"not valid Python: {error}", "fix the syntax")]
        return list(_Walk(tree, file, self._allowed_imports).findings())


class _Walk:
    def __init__(self, tree: ast.Module, file: str, allowed_imports: frozenset[str]) -> None:
        self._tree = tree
        self._file = file
        self._allowed_imports = allowed_imports
        self._torch_names: set[str] = set()
        """Names bound to torch or one of its submodules."""
        self._layer_names: set[str] = set()
        """Names bound to torch.nn."""
        self._functional_names: set[str] = set()
        self._libraries = _library_names(tree)

    def findings(self) -> Iterator[Finding]:
        yield from self._imports()
        model = next(
            (n for n in self._tree.body if isinstance(n, ast.ClassDef) and n.name == "ModelNew"),
            None,
        )
        if model is None:
            yield self._finding(
                "no-model", self._tree, "ModelNew is not defined",
                "define class ModelNew(nn.Module)",
            )  # fmt: skip
            return
        yield from self._model_class(model)
        for node in ast.walk(self._tree):
            yield from self._anywhere(node)
        constructors = {
            id(inner)
            for function in ast.walk(self._tree)
            if isinstance(function, ast.FunctionDef) and function.name == "__init__"
            for inner in ast.walk(function)
        }
        for node in ast.walk(self._tree):
            yield from self._compute(node, constructing=id(node) in constructors)

    def _finding(self, rule: str, node: ast.AST, what: str, instead: str) -> Finding:
        line = getattr(node, "lineno", 1)
        return Finding(rule, f"{self._file}:{line}", what, instead)

    def _imports(self) -> Iterator[Finding]:
        for node in ast.walk(self._tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    yield from self._import(node, alias.name)
                    bound = alias.asname or alias.name.partition(".")[0]
                    self._bind(bound, alias.name if alias.asname else bound)
            elif isinstance(node, ast.ImportFrom):
                module = node.module or ""
                for alias in node.names:
                    full = f"{module}.{alias.name}"
                    if full != "torch.nn" and full not in self._allowed_imports:
                        yield from self._import(node, module, full)
                    self._bind(alias.asname or alias.name, full)

    def _import(self, node: ast.AST, module: str, full: str = "") -> Iterator[Finding]:
        functional = "torch.nn.functional"
        if module == functional or full == functional:
            return  # its use is what matters, and is found where it is used
        if module not in self._allowed_imports or self._is_relative(node):
            yield self._finding(
                "import", node, f"imports {full or module}",
                f"import only {', '.join(sorted(self._allowed_imports - {'__future__'}))}",
            )  # fmt: skip

    @staticmethod
    def _is_relative(node: ast.AST) -> bool:
        return isinstance(node, ast.ImportFrom) and node.level > 0

    def _bind(self, name: str, module: str) -> None:
        if module.startswith("torch.nn.functional"):
            self._functional_names.add(name)
        elif module == "torch.nn":
            self._layer_names.add(name)
        elif module == "torch":
            self._torch_names.add(name)

    def _model_class(self, model: ast.ClassDef) -> Iterator[Finding]:
        bases = ", ".join(ast.unparse(base) for base in model.bases)
        if bases not in ("nn.Module", "torch.nn.Module", "Module"):
            yield self._finding(
                "base-class", model, f"ModelNew inherits from {bases or 'nothing'}",
                "inherit from nn.Module and nothing else",
            )  # fmt: skip
        methods = {n.name for n in model.body if isinstance(n, ast.FunctionDef)}
        if "forward" not in methods:
            yield self._finding("no-forward", model, "ModelNew has no forward", "define forward")
        for name in methods & {"__call__", "__getattr__", "__getattribute__", "load_state_dict"}:
            yield self._finding(
                "override", model, f"ModelNew overrides {name}", "define __init__ and forward only"
            )
        yield from self._module_calls(model, methods)

    def _module_calls(self, model: ast.ClassDef, methods: set[str]) -> Iterator[Finding]:
        """`self.layer(x)`: layers may hold parameters, but not compute."""
        for node in ast.walk(model):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            owner = node.func.value
            if isinstance(owner, ast.Name) and owner.id == "self":
                known = methods | _MODULE_METHODS
                if node.func.attr not in known and node.func.attr not in self._libraries:
                    yield self._finding(
                        "framework-layer", node, f"calls self.{node.func.attr}(...)",
                        "a layer may hold parameters; pass their data_ptr() to the kernel instead",
                    )  # fmt: skip

    def _anywhere(self, node: ast.AST) -> Iterator[Finding]:
        if isinstance(node, ast.Try | ast.TryStar):
            yield self._finding(
                "fallback", node, "try/except around the kernel",
                "let errors show: a fallback is not a kernel",
            )  # fmt: skip
        elif isinstance(node, ast.Name) and node.id in _FORBIDDEN_NAMES:
            yield self._finding("forbidden-name", node, f"uses {node.id}", "write it out plainly")
        elif isinstance(node, ast.Attribute):
            yield from self._attribute(node)
        elif isinstance(node, ast.Assign | ast.AugAssign | ast.Delete):
            yield from self._patching(node)
        elif isinstance(node, ast.Global | ast.Nonlocal):
            yield self._finding(
                "state", node, "keeps state outside the call", "compute from the arguments alone"
            )
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            yield self._finding("framework-compute", node, "uses @", _WRITE_A_KERNEL)

    def _attribute(self, node: ast.Attribute) -> Iterator[Finding]:
        name = node.attr
        if name.startswith("__") and name.endswith("__") and name not in _ALLOWED_DUNDERS:
            yield self._finding("internals", node, f"reaches for {name}", "use public interfaces")
        owner = node.value.id if isinstance(node.value, ast.Name) else ""
        if owner == "ctypes" and name not in _ALLOWED_CTYPES:
            yield self._finding(
                "ctypes", node, f"uses ctypes.{name}",
                "load kernel.so with ctypes.CDLL and call its functions",
            )  # fmt: skip

    def _patching(self, node: ast.Assign | ast.AugAssign | ast.Delete) -> Iterator[Finding]:
        targets = [node.target] if isinstance(node, ast.AugAssign) else node.targets
        for target in targets:
            root = _root_name(target)
            attribute = isinstance(target, ast.Attribute | ast.Subscript)
            if attribute and (root in self._torch_names | self._functional_names | {"ctypes"}):
                yield self._finding(
                    "patching", node, f"assigns to {ast.unparse(target)}",
                    "leave the framework as it is",
                )  # fmt: skip

    def _compute(self, node: ast.AST, constructing: bool) -> Iterator[Finding]:
        if not isinstance(node, ast.Call):
            return
        if isinstance(node.func, ast.Name) and node.func.id in self._functional_names:
            yield self._finding("framework-compute", node, f"calls {node.func.id}", _WRITE_A_KERNEL)
        if not isinstance(node.func, ast.Attribute):
            return
        root, name = _root_name(node.func), node.func.attr
        called = ast.unparse(node.func)
        if root in self._functional_names or ".functional." in called:
            yield self._finding("framework-compute", node, f"calls {called}", _WRITE_A_KERNEL)
        elif root in self._layer_names or called.startswith("torch.nn."):
            if not constructing:
                yield self._finding(
                    "framework-layer", node, f"builds {called} outside __init__",
                    "hold parameters in __init__, compute in the kernel",
                )  # fmt: skip
        elif root in self._torch_names:
            yield from self._torch_call(node, called, constructing)
        elif root == "ctypes" and name == "CDLL":
            yield from self._library_load(node)
        elif name in _COMPUTE_METHODS and not constructing and not self._is_ours(node.func):
            yield self._finding("framework-compute", node, f"calls {called}", _WRITE_A_KERNEL)

    def _is_ours(self, function: ast.Attribute) -> bool:
        """Whether a function is the candidate's own or plain arithmetic, whatever its name."""
        owner = function.value
        held = isinstance(owner, ast.Attribute) and owner.attr in self._libraries
        return held or _root_name(function) in self._libraries | {"math"}

    def _torch_call(self, node: ast.Call, called: str, constructing: bool) -> Iterator[Finding]:
        name = called.split(".")[1]
        allowed = _ALLOWED_TORCH | _CONSTRUCTOR_ONLY if constructing else _ALLOWED_TORCH
        if name not in allowed:
            yield self._finding("framework-compute", node, f"calls {called}", _WRITE_A_KERNEL)

    def _library_load(self, node: ast.Call) -> Iterator[Finding]:
        argument = ast.unparse(node.args[0]) if node.args else ""
        if "__file__" not in argument or "kernel.so" not in argument:
            yield self._finding(
                "foreign-library", node, f"loads {argument or 'a library'}",
                'load str(pathlib.Path(__file__).with_name("kernel.so"))',
            )  # fmt: skip


_MODULE_METHODS = frozenset(
    {"register_buffer", "register_parameter", "add_module", "parameters", "named_parameters",
     "buffers", "named_buffers", "modules", "children", "to", "train", "eval", "super"}
)  # fmt: skip
_ALLOWED_CTYPES = frozenset(
    {"CDLL", "POINTER", "byref", "pointer", "c_bool", "c_char", "c_char_p", "c_double", "c_float",
     "c_int", "c_int16", "c_int32", "c_int64", "c_int8", "c_long", "c_longlong", "c_size_t",
     "c_ssize_t", "c_uint", "c_uint16", "c_uint32", "c_uint64", "c_uint8", "c_void_p"}
)  # fmt: skip


def _root_name(node: ast.AST) -> str:
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def _library_names(tree: ast.Module) -> set[str]:
    """Names (or attributes of self) bound to a loaded library, a function of one, or an extension.

    Follows plain assignments: `lib = ctypes.CDLL(...)`, `f = lib.launch`.
    """
    found: set[str] = set()
    for _ in range(3):
        for node in ast.walk(tree):
            if not isinstance(node, ast.Assign):
                continue
            text = ast.unparse(node.value)
            loads = "ctypes.CDLL(" in text or "CDLL(" in text or "load_inline(" in text
            follows = _root_name(node.value) in found and isinstance(node.value, ast.Attribute)
            if loads or follows or (isinstance(node.value, ast.Name) and node.value.id in found):
                for target in node.targets:
                    if isinstance(target, ast.Name):
                        found.add(target.id)
                    elif isinstance(target, ast.Attribute):
                        found.add(target.attr)
    return found
