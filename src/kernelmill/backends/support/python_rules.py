"""Static rules on a candidate's Python: it may allocate tensors and launch kernels, no more.

The rules are an allow-list: model.py needs very little of Python, and a finding on anything else
says what to do instead. They are not the defence: a candidate that gets past them still runs in a
sandbox, and is judged and profiled from outside.
"""

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from kernelmill.backends.base import RuleFinding
from kernelmill.backends.support.python_names import (
    LOADERS,
    bound_names,
    constructing_functions,
    functions,
    is_library,
    library_aliases,
    library_names,
    own_name,
    root_name,
    single_values,
    spelled,
)
from kernelmill.backends.support.python_state import (
    containers_outside,
    kept_iterators,
    reaching_formats,
    state_changes,
)
from kernelmill.syntax import parse_python

_MODULES = frozenset({"__future__", "ctypes", "math", "pathlib", "torch", "torch.nn", "typing"})
_TORCH = frozenset(
    """Tensor Size device dtype empty empty_like empty_strided zeros zeros_like no_grad
    inference_mode float float16 float32 float64 bfloat16 half double int8 int16 int32 int64 uint8
    long int bool nn contiguous_format channels_last get_num_threads""".split()
)
_TORCH_IN_CONSTRUCTOR = frozenset(
    """abs add arange as_tensor bernoulli cat clamp clone concat cos cumsum deg2rad diag div exp
    exp2 eye flip full full_like hann_window linspace log log2 logspace matmul meshgrid mul neg
    normal ones ones_like outer pow rand rand_like randint randn randn_like randperm reciprocal
    repeat_interleave rot90 rsqrt sign sin sqrt stack sub sum tan tanh tensor tril tril_indices
    triu triu_indices where""".split()
)
"""Functions for the values of parameters and buffers: a constructor may construct."""
_METHODS_IN_CONSTRUCTOR = frozenset(
    """abs add add_ bernoulli_ bool chunk clamp clamp_ clone copy_ cos cumsum diagonal
    div div_ double exp exp_ fill_ fill_diagonal_ flip float half int item log log_ logical_not
    long masked_fill masked_fill_ mean mul mul_ neg neg_ normal_ pow pow_ random_ reciprocal repeat
    repeat_interleave requires_grad_ round rsqrt sin split sqrt std sub sub_ sum tan tanh tile to
    tolist triu triu_ tril tril_ trunc_ uniform_ zero_""".split()
)
_CONTEXTS = frozenset({"torch.no_grad()", "torch.inference_mode()"})
_CTYPES = frozenset(
    """CDLL POINTER Structure byref c_bool c_char c_double c_float c_int c_int16 c_int32 c_int64
    c_int8 c_long c_longlong c_size_t c_ssize_t c_uint c_uint16 c_uint32 c_uint64 c_uint8
    c_void_p""".split()
)
_BUILTINS = frozenset(
    """abs all any bool dict divmod enumerate float int isinstance len list max min print range
    reversed round set slice sorted str sum super tuple zip AssertionError NotImplementedError
    RuntimeError TypeError ValueError""".split()
)
_METHODS = frozenset(
    """append as_strided contiguous count data_ptr detach dim element_size expand expand_as extend
    flatten format index is_contiguous items join keys movedim narrow ndimension nelement new_empty
    new_zeros numel permute reshape select size squeeze storage_offset stride t transpose unflatten
    unsqueeze values view with_name __init__""".split()
)
_MODULE_METHODS = frozenset("add_module register_buffer register_parameter".split())
_ATTRIBUTES = frozenset(
    """T _buffers _modules _parameters affine argtypes bias data device dilation dtype
    elementwise_affine embedding_dim eps groups hidden_size in_channels in_features is_contiguous
    itemsize kernel_size layout mT momentum name nbytes ndim normalized_shape num_embeddings
    num_features num_groups num_heads out_channels out_features output_padding padding parent
    restype running_mean running_var shape stride weight""".split()
)
_LIBRARY_LOADS = frozenset(
    f"ctypes.CDLL({argument})"
    for path in ("pathlib.Path(__file__)", "Path(__file__)")
    for place in (f"{path}.with_name('kernel.so')", f"{path}.parent / 'kernel.so'")
    for argument in (place, f"str({place})")
)
_DECORATORS = frozenset(
    "staticmethod property torch.no_grad() torch.inference_mode() torch.no_grad".split()
)
_BASES = frozenset("nn.Module torch.nn.Module ctypes.Structure".split())
_SIGNATURE = frozenset({"argtypes", "restype"})
"""What may be said of a library's function."""
_MODES = frozenset("grad grad_fn is_leaf requires_grad training".split())
"""How a program uses a model, which changes no result of most."""
_ENCODING = re.compile(r"[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
"""A declaration that counts in the first two lines."""
_IN_THE_KERNEL = "compute it in the kernel"
_PLAINLY = "model.py allocates outputs and calls the kernel: write it plainly"


class EmbeddedLanguage(NamedTuple):
    """A kernel language embedded in Python."""

    modules: dict[str, frozenset[str]]
    """Module -> its names that host code may use."""
    decorators: frozenset[str]
    """Decorators that make a function a kernel, whose body never runs as Python."""
    extra_decorators: frozenset[str]
    """Further decorators that a kernel may have, such as an autotuner."""


class PythonRules:
    """The rules of one backend on Python files."""

    def __init__(
        self,
        extra_imports: frozenset[str] = frozenset(),
        language: EmbeddedLanguage | None = None,
        expressions: frozenset[str] = frozenset(),
    ) -> None:
        """Allow `extra_imports` ("module.name"), and `expressions` that are spelled exactly so."""
        self._extra_imports = extra_imports
        self._language = language or EmbeddedLanguage({}, frozenset(), frozenset())
        self._expressions = expressions

    def check(self, source: str, file: str) -> list[RuleFinding]:
        for line in source.splitlines()[:2]:
            found = _ENCODING.match(line)
            if found and found[1].lower() not in ("utf-8", "utf8"):
                instead = "write UTF-8: what is imported must be what is read here"
                return [RuleFinding("encoding", file, f"is said to be {found[1]}", instead)]
        try:
            tree = parse_python(source)
            checker = _Checker(tree, file, self._extra_imports, self._language, self._expressions)
            return list(checker.findings())
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            return [RuleFinding("syntax", file, f"not valid Python: {error}", "fix the syntax")]


def library_functions(source: str) -> set[str]:
    """Names of the functions that model.py uses from the libraries it loads."""
    tree = parse_python(source)
    libraries = library_names(tree)
    return {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and is_library(node.value, libraries)
    }


class _Checker:
    """The findings in one file."""

    def __init__(
        self,
        tree: ast.Module,
        file: str,
        extra_imports: frozenset[str],
        language: EmbeddedLanguage,
        expressions: frozenset[str],
    ) -> None:
        self._tree = tree
        self._file = file
        self._extra_imports = extra_imports
        self._language = language
        kernels = _kernels(tree, language)
        self._kernels = {kernel.name for kernel in kernels}
        self._kernel_nodes = {id(kernel) for kernel in kernels}
        unchecked: list[ast.AST] = [part for kernel in kernels for part in kernel.body]
        unchecked += [n for n in ast.walk(tree) if expressions and _is_one_of(n, expressions)]
        self._unchecked = {id(inner) for part in unchecked for inner in ast.walk(part)}
        self._modules: dict[str, str] = {}
        """Name -> the module that it is bound to."""
        self._callable: set[str] = set(_BUILTINS)
        self._libraries = library_names(tree)
        self._aliases = library_aliases(tree, self._libraries)
        self._values = single_values(tree)
        self._containers = containers_outside(tree)
        own = {function.name for function in functions(tree)}
        self._own_methods = own | self._aliases | self._libraries | _MODULE_METHODS
        self._called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
        loads = [
            node.func
            for node in ast.walk(tree)
            if isinstance(node, ast.Call) and spelled(node.func) in LOADERS
        ]
        self._loading = {id(inner) for function in loads for inner in ast.walk(function)}
        """What names the function that loads a library, where it is called."""
        self._paths = _library_paths(tree)
        own = self._libraries | self._aliases
        calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call) and root_name(n.func) in own]
        self._passed = {id(argument) for call in calls for argument in call.args}
        """What a function of a library is given."""
        constructors = constructing_functions(tree)
        self._constructors = {id(inner) for f in constructors for inner in ast.walk(f)}

    def findings(self) -> Iterator[RuleFinding]:
        yield from self._imports()
        defined = [n for n in self._tree.body if isinstance(n, ast.FunctionDef | ast.ClassDef)]
        self._callable |= {node.name for node in defined}
        models = [
            n for n in self._tree.body if isinstance(n, ast.ClassDef) and n.name == "ModelNew"
        ]
        if not models:
            instead = "define class ModelNew(nn.Module)"
            yield self._finding("no-model", self._tree, "ModelNew is not defined", instead)
            return
        for node in ast.walk(self._tree):
            if id(node) not in self._unchecked:
                yield from self._statement(node)
                yield from self._expression(node)
        for function in functions(self._tree):
            if id(function) not in self._kernel_nodes:
                yield from self._state(function)
        for kept in kept_iterators(self._tree):
            if id(kept.node) not in self._unchecked:
                instead = "use it up where it is made: for ... in zip(...), list(...)"
                yield self._finding("state", kept.node, kept.what, instead)
        for reaching in reaching_formats(self._tree):
            if id(reaching.node) not in self._unchecked:
                yield self._finding("internals", reaching.node, reaching.what, "use an f-string")
        yield from self._shadowing()

    def _finding(self, rule: str, node: ast.AST, what: str, instead: str) -> RuleFinding:
        return RuleFinding(rule, f"{self._file}:{getattr(node, 'lineno', 1)}", what, instead)

    def _shadowing(self) -> Iterator[RuleFinding]:
        """The decorators that make a function a kernel must not be redefined."""
        words = {module.partition(".")[0] for module in self._language.modules}
        for node in ast.walk(self._tree):
            if words & bound_names(node):
                instead = "import it plainly, and leave its name alone"
                yield self._finding(
                    "shadowing", node, "redefines the name of its kernel language", instead
                )

    def _imports(self) -> Iterator[RuleFinding]:
        modules = _MODULES | self._language.modules.keys()
        allowed = ", ".join(sorted(modules - {"__future__"}))
        for node in ast.walk(self._tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    bound = alias.asname or alias.name.partition(".")[0]
                    self._modules[bound] = alias.name if alias.asname else bound
                    if alias.name not in modules:
                        instead = f"import only {allowed}"
                        yield self._finding("import", node, f"imports {alias.name}", instead)
            elif isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    yield from self._import_from(node, alias)

    def _import_from(self, node: ast.ImportFrom, alias: ast.alias) -> Iterator[RuleFinding]:
        module, name = node.module or "", alias.name
        bound, full = alias.asname or name, f"{module}.{name}"
        fine = not node.level and (
            full in self._extra_imports
            or full in ("torch.nn", "torch.Tensor", "pathlib.Path")
            or module == "__future__"
            or (module == "ctypes" and name in _CTYPES)
            or (module == "math" and not name.startswith("_"))
            or (module in ("typing", "torch.nn") and name[:1].isupper())
            or full in self._language.modules
            or name in self._language.modules.get(module, ())
        )
        if not fine:
            yield self._finding("import", node, f"imports {full}", _PLAINLY)
        if full == "torch.nn" or full in self._language.modules:
            self._modules[bound] = full
        elif fine:
            self._callable.add(bound)

    def _statement(self, node: ast.AST) -> Iterator[RuleFinding]:
        if isinstance(node, ast.Try | ast.TryStar):
            instead = "let errors show: a fallback is not a kernel"
            yield self._finding("fallback", node, "try/except", instead)
        elif isinstance(node, ast.Global | ast.Nonlocal):
            instead = "compute from the arguments alone"
            yield self._finding("state", node, "keeps state outside the call", instead)
        elif isinstance(node, ast.Lambda) and self._language.decorators:
            pass  # a grid that depends on the autotuner's choice
        elif isinstance(node, ast.With) and all(
            spelled(item.context_expr) in _CONTEXTS and item.optional_vars is None
            for item in node.items
        ):
            pass
        elif isinstance(node, ast.With | ast.AsyncWith | ast.Lambda | ast.AsyncFunctionDef):
            unneeded = type(node).__name__.lower()
            yield self._finding("unneeded", node, f"uses {unneeded}", _PLAINLY)
        elif isinstance(node, ast.Assign) and not _is_type(node.value):
            for target in node.targets:
                if isinstance(target, ast.Attribute) and target.attr == "restype":
                    instead = "name a type of ctypes: anything else is called with the result"
                    yield self._finding("indirect-call", node, f"sets {spelled(target)}", instead)
        elif isinstance(node, ast.ClassDef):
            yield from self._class(node)
        elif isinstance(node, ast.FunctionDef):
            for decorator in node.decorator_list:
                if id(node) in self._kernel_nodes and self._is_kernel_decorator(decorator):
                    continue
                if spelled(decorator) not in _DECORATORS:
                    what = f"decorates with {spelled(decorator)}"
                    yield self._finding("unneeded", node, what, _PLAINLY)

    def _is_kernel_decorator(self, decorator: ast.expr) -> bool:
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        return spelled(called) in self._language.decorators | self._language.extra_decorators

    def _class(self, node: ast.ClassDef) -> Iterator[RuleFinding]:
        bases = ", ".join(spelled(base) for base in node.bases)
        if bases not in _BASES or node.keywords or node.decorator_list:
            instead = "inherit from nn.Module and nothing else"
            what = f"{node.name} inherits from {bases or 'nothing'}"
            yield self._finding("base-class", node, what, instead)
        methods = {n.name for n in node.body if isinstance(n, ast.FunctionDef)}
        for name in sorted(methods):
            if name.startswith("__") and name != "__init__":
                instead = "define __init__, forward and helpers of your own"
                yield self._finding("override", node, f"{node.name} defines {name}", instead)
        if node.name == "ModelNew" and "forward" not in methods:
            yield self._finding("no-forward", node, "ModelNew has no forward", "define forward")

    def _expression(self, node: ast.AST) -> Iterator[RuleFinding]:
        if isinstance(node, ast.Name):
            hidden = node.id.startswith("__") and node.id != "__file__"
            if hidden or node.id in _DANGEROUS:
                yield self._finding("forbidden-name", node, f"uses {node.id}", _PLAINLY)
            elif node.id == "__file__" and id(node) not in self._paths:
                instead = "use __file__ for nothing but to load kernel.so"
                yield self._finding("environment", node, "asks where it lies", instead)
        elif isinstance(node, ast.Attribute):
            yield from self._attribute(node)
        elif isinstance(node, ast.Constant) and isinstance(node.value, bytes):
            instead = "pass tensors, numbers and structures: a kernel could write into the bytes"
            yield self._finding("state", node, "has bytes", instead)
        elif isinstance(node, ast.Call):
            yield from self._call(node)
        elif (
            isinstance(node, ast.BinOp)
            and isinstance(node.op, ast.MatMult)
            and id(node) not in self._constructors
        ):
            yield self._finding("framework-compute", node, "uses @", _IN_THE_KERNEL)

    def _attribute(self, node: ast.Attribute) -> Iterator[RuleFinding]:
        if id(node) in self._loading:
            return
        owner, name = own_name(node.value), node.attr
        module = self._modules.get(owner) if isinstance(node.value, ast.Name) else None
        if module is None and spelled(node.value) in ("torch.nn", "torch.nn.init", "nn.init"):
            module = spelled(node.value)
        if name.startswith("__") and name != "__init__":
            yield self._finding("internals", node, f"reaches for {name}", _PLAINLY)
        elif module is not None:
            yield from self._module_attribute(node, module)
        elif "hook" in name:
            yield self._finding("internals", node, f"reaches for .{name}", _PLAINLY)
        elif name in _MODES and id(node) not in self._constructors:
            instead = "compute the same in every mode"
            yield self._finding("mode", node, f"asks for .{name}", instead)
        elif name.startswith("_") and is_library(node.value, self._libraries):
            yield self._finding("internals", node, f"reaches for {spelled(node)}", _PLAINLY)
        elif root_name(node.value) in self._libraries | self._aliases and (
            isinstance(node.ctx, ast.Store) != (name in _SIGNATURE)
        ):
            does = "sets" if isinstance(node.ctx, ast.Store) else "reads"
            yield self._finding("internals", node, f"{does} {spelled(node)}", _PLAINLY)
        elif not self._is_own(node) and name not in self._allowed_attributes(node):
            instead = f"{_IN_THE_KERNEL}, or {_PLAINLY}"
            yield self._finding("framework-compute", node, f"uses .{name}", instead)

    def _allowed_attributes(self, node: ast.AST) -> frozenset[str]:
        allowed = _METHODS | _ATTRIBUTES | _MODULE_METHODS
        return allowed | _METHODS_IN_CONSTRUCTOR if id(node) in self._constructors else allowed

    def _is_own(self, node: ast.Attribute) -> bool:
        """Whether it belongs to self, to a library the candidate loads, or to a function of one."""
        of_self = isinstance(node.value, ast.Name) and node.value.id == "self"
        own = self._libraries | self._aliases
        return of_self or is_library(node.value, self._libraries) or root_name(node) in own

    def _module_attribute(self, node: ast.Attribute, module: str) -> Iterator[RuleFinding]:
        name, what = node.attr, f"uses {spelled(node)}"
        constructing = id(node) in self._constructors
        if module == "torch":
            makes_value = constructing and id(node) in self._called
            if name not in _TORCH and not (makes_value and name in _TORCH_IN_CONSTRUCTOR):
                yield self._finding("framework-compute", node, what, _IN_THE_KERNEL)
        elif module in ("torch.nn.init", "nn.init"):
            if not constructing or name.startswith("_"):
                yield self._finding("framework-compute", node, what, _IN_THE_KERNEL)
        elif module == "torch.nn":
            if name == "init" and constructing:
                pass
            elif not name[:1].isupper():
                yield self._finding("framework-compute", node, what, _IN_THE_KERNEL)
            elif name not in ("Module", "Parameter") and not constructing:
                instead = "hold parameters in __init__, compute in the kernel"
                yield self._finding("framework-layer", node, what, instead)
        elif module in self._language.modules:
            if name not in self._language.modules[module]:
                yield self._finding("kernel-language", node, what, _PLAINLY)
        elif module == "ctypes" and name not in _CTYPES:
            yield self._finding("ctypes", node, what, "call functions of kernel.so, no more")
        elif module == "pathlib" and name != "Path":
            yield self._finding("import", node, what, _PLAINLY)
        elif name.startswith("_") or (module == "typing" and not name[:1].isupper()):
            yield self._finding("internals", node, what, _PLAINLY)

    def _call(self, node: ast.Call) -> Iterator[RuleFinding]:
        function, called = node.func, spelled(node.func)
        if any(keyword.arg == "key" and not _is_data(keyword.value) for keyword in node.keywords):
            yield self._finding("indirect-call", node, f"gives {called} a key", _PLAINLY)
        if called.removeprefix("ctypes.") == "byref" and id(node) not in self._passed:
            instead = "pass the reference where it is made"
            yield self._finding("state", node, f"keeps {spelled(node)}", instead)
        if called in LOADERS:
            if not self._loads_own_library(node):
                instead = 'load str(pathlib.Path(__file__).with_name("kernel.so"))'
                yield self._finding("foreign-library", node, f"calls {spelled(node)}", instead)
        elif isinstance(function, ast.Name):
            if function.id not in self._callable | self._aliases:
                yield self._finding("indirect-call", node, f"calls {called}", _PLAINLY)
        elif isinstance(function, ast.Subscript) and own_name(function.value) in self._kernels:
            pass  # a launch: kernel[grid](...)
        elif _is_array_type(function):
            pass
        elif not isinstance(function, ast.Attribute):
            yield self._finding("indirect-call", node, f"calls {called}", _PLAINLY)
        elif function.attr in _MODULE_METHODS and id(node) not in self._constructors:
            instead = "the constructor makes all parts of a model"
            yield self._finding("state", node, f"calls {called}", instead)
        elif own_name(function) and not self._is_own_method(function):
            instead = "a layer may hold parameters; pass their data_ptr() to the kernel"
            yield self._finding("framework-layer", node, f"calls {called}", instead)

    def _is_own_method(self, function: ast.Attribute) -> bool:
        """Whether it is a method of the candidate; a constructor may convert what it has made."""
        constructing = id(function) in self._constructors
        return function.attr in self._own_methods or (constructing and function.attr == "to")

    def _loads_own_library(self, call: ast.Call) -> bool:
        """Whether it loads kernel.so from beside model.py, whose path may be in a variable."""
        text = f"ctypes.CDLL{spelled(call).removeprefix(spelled(call.func))}"
        for argument in ast.walk(call):
            if isinstance(argument, ast.Name) and argument.id in self._values:
                text = text.replace(f"({argument.id})", f"({self._values[argument.id]})")
        return text in _LIBRARY_LOADS

    def _state(self, function: ast.FunctionDef) -> Iterator[RuleFinding]:
        """State that outlives a call: attributes, module variables, default arguments."""
        defaults = (*function.args.defaults, *function.args.kw_defaults)
        if any(isinstance(d, ast.List | ast.Dict | ast.Set | ast.Call) for d in defaults):
            instead = "compute from the arguments alone"
            yield self._finding("state", function, "has a mutable default argument", instead)
        if function.name == "__init__":
            return
        for change in state_changes(function, self._containers):
            if not self._is_signature(change.node):
                what = f"{change.what} in {function.name}"
                yield self._finding("state", change.node, what, "keep nothing between calls")

    def _is_signature(self, node: ast.AST) -> bool:
        """Whether it is the type of a library's function, wherever that is declared."""
        signature = isinstance(node, ast.Attribute) and node.attr in _SIGNATURE
        return signature and root_name(node) in self._libraries | self._aliases


def _library_paths(tree: ast.AST) -> set[int]:
    """Where the path of a library is said: in the call that loads it, or in the value of a variable
    that nothing else reads."""
    calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call) and spelled(n.func) in LOADERS]
    paths = {id(inner) for call in calls for inner in ast.walk(call)}
    read = [n for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)]
    given = {name.id for name in read if id(name) in paths}
    given -= {name.id for name in read if id(name) not in paths}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
            continue
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        if {spelled(one) for one in targets} <= given:
            paths |= {id(inner) for inner in ast.walk(node.value)}
    return paths


def _is_array_type(node: ast.expr) -> bool:
    """Whether it is the type of an array of numbers: `ctypes.c_int64 * 2`."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Mult):
        return False
    name = spelled(node.left).removeprefix("ctypes.")
    return name in _CTYPES and name.startswith("c_")


def _is_data(node: ast.expr) -> bool:
    """Whether a value is written out, so that nobody can call it."""
    parts = node.elts if isinstance(node, ast.List | ast.Tuple) else [node]
    return all(isinstance(part, ast.Constant) for part in parts)


def _is_type(node: ast.expr) -> bool:
    """Whether it is None, a type of ctypes, or a pointer to one."""
    name = spelled(node).removeprefix("ctypes.")
    if name.startswith("POINTER("):
        return name.removeprefix("POINTER(ctypes.").removeprefix("POINTER(")[:-1] in _CTYPES
    return name == "None" or name in _CTYPES


_DANGEROUS = frozenset(
    """eval exec compile open globals locals vars getattr setattr delattr input breakpoint type
    memoryview object classmethod iter next map filter""".split()
)


def _kernels(tree: ast.Module, language: EmbeddedLanguage) -> list[ast.FunctionDef]:
    return [
        node
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
        and any(
            spelled(d.func if isinstance(d, ast.Call) else d) in language.decorators
            for d in node.decorator_list
        )
    ]


def kernel_names(source: str, language: EmbeddedLanguage) -> tuple[str, ...]:
    """Names of the kernels that a module defines."""
    return tuple(kernel.name for kernel in _kernels(parse_python(source), language))


def _is_one_of(node: ast.AST, expressions: frozenset[str]) -> bool:
    return isinstance(node, ast.Attribute | ast.Call) and spelled(node) in expressions
