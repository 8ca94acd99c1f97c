"""Translation of HIVM text to Python: scalars become numbers, buffers become memrefs.

Compiled HIVM is regular: one operation per line, regions between braces. An operation that is not
supported is refused by name, so that nothing is executed wrongly.
"""

import re
from typing import NamedTuple

from kernelmill.backends.triton_ascend.hivm.memory import row_major_strides

ENTRY = "program"
_MEMREF = re.compile(
    r"memref<((?:[0-9?]+x)*)(\w+)(?:, strided<\[([^\]]*)\](?:, offset: ([0-9?]+))?>)?"
    r"(?:, #hivm\.address_space<(\w+)>)?>"
)
_MAP = re.compile(r"^(#map\d*) = affine_map<\(([^)]*)\)(?:\[([^\]]*)\])? -> \((.*)\)>$", re.M)
_FUNCTION = re.compile(r"^  func\.func @(\w+)\((.*)\) attributes \{(.*)\} \{$")
_PARAMETER = re.compile(r"%(\w+): (memref<[^{}]*?>|\w+)(?: \{([^{}]*)\})?(?:, |$)")
_VALUE = re.compile(r"%([\w#-]+)")
_COMPARE = {
    "eq": "==", "ne": "!=", "slt": "<", "sle": "<=", "sgt": ">", "sge": ">=", "ult": "<",
    "ule": "<=", "ugt": ">", "uge": ">=", "oeq": "==", "one": "!=", "olt": "<", "ole": "<=",
    "ogt": ">", "oge": ">=", "une": "!=",
}  # fmt: skip
_INFIX = {
    "addi": "+", "subi": "-", "muli": "*", "andi": "&", "ori": "|", "xori": "^", "addf": "+",
    "subf": "-", "mulf": "*", "divf": "/", "shli": "<<", "shrsi": ">>",
}  # fmt: skip
_CALLED = {
    "divsi": "quotient", "remsi": "remainder", "divui": "quotient", "remui": "remainder",
    "ceildivsi": "ceiling", "floordivsi": "floor", "maxsi": "max", "minsi": "min",
    "maxui": "max", "minui": "min", "maxnumf": "max", "minnumf": "min", "maximumf": "max",
    "minimumf": "min",
}  # fmt: skip
_SAME = ("index_cast", "extui", "extsi", "trunci", "bitcast", "index_castui", "extf")
_IGNORED = ("hivm.hir.set_mask_norm", "annotation.mark", "hivm.hir.set_ffts_base_addr")


class Untranslatable(Exception):
    """The text contains an operation that is not supported."""


class Parameter(NamedTuple):
    name: str
    dtype: str
    """Element type of a tensor in global memory; empty for a scalar."""
    role: str
    """`tensor` or `scalar` where the kernel declares it, `system` or `grid` where the run time
    adds it."""


class TranslatedKernel(NamedTuple):
    """A kernel as Python source: ENTRY(machine, *parameters) runs one program of the grid."""

    name: str
    source: str
    parameters: tuple[Parameter, ...]
    core: str
    """AIV (vector) or AIC (cube)."""
    local_bytes: dict[str, int]
    """Memory of a core -> bytes in use."""
    doubled: int
    """Number of double-buffered buffers."""


def translate_hivm(text: str) -> TranslatedKernel:
    """Raises Untranslatable."""
    kernels = [kernel for kernel in _functions(text) if "hacc.entry" in kernel.attributes]
    if len(kernels) != 1:
        raise Untranslatable(f"{len(kernels)} kernels in one: cube and vector cores work together")
    (kernel,) = kernels
    body = _Body({found[1]: found for found in _MAP.finditer(text)})
    for line in kernel.lines:
        body.add(line)
    names = ", ".join(parameter.name for parameter in kernel.parameters)
    core = re.search(r"func_core_type<(\w+)>", kernel.attributes)
    return TranslatedKernel(
        kernel.name,
        f"def {ENTRY}(machine, {names}):\n" + "\n".join(body.lines) + "\n",
        kernel.parameters,
        core[1] if core else "AIV",
        body.local_bytes,
        body.doubled,
    )


class _Function(NamedTuple):
    name: str
    parameters: tuple[Parameter, ...]
    attributes: str
    lines: list[str]


def _functions(text: str) -> list[_Function]:
    functions: list[_Function] = []
    for line in text.splitlines():
        if found := _FUNCTION.match(line):
            functions.append(_Function(found[1], _parameters(found[2]), found[3], []))
        elif functions and line.startswith("    "):
            functions[-1].lines.append(line)
    return functions


def _parameters(text: str) -> tuple[Parameter, ...]:
    """Declared parameters and those that the run time adds; the last three are the grid."""
    found = []
    for name, type_, attributes in _PARAMETER.findall(text):
        memref = _MEMREF.fullmatch(type_)
        role = "system" if "hacc.arg_type" in attributes else "tensor" if memref else "scalar"
        found.append(Parameter(_name(name), memref[2] if memref else "", role))
    return (*found[:-3], *(parameter._replace(role="grid") for parameter in found[-3:]))


class _Region(NamedTuple):
    """An open region of structured control flow."""

    yielded: tuple[str, ...]
    """Names that scf.yield assigns."""
    results: tuple[str, ...]
    """Names that get these values after a loop."""


class _Body:
    """The Python lines of a kernel. Scalar operations are charged before the next library call."""

    def __init__(self, maps: dict[str, re.Match[str]]) -> None:
        self.lines: list[str] = []
        self.local_bytes: dict[str, int] = {}
        self.doubled = 0
        self._maps = maps
        self._regions: list[_Region] = []
        self._scalars = 0

    def add(self, line: str) -> None:
        text = line.strip()
        if text.startswith("}"):
            self._close(text.startswith("} else {"))
            return
        results, _, operation = text.partition(" = ") if text.startswith("%") else ("", "", text)
        name = re.match(r"[\w.]+", operation)
        if name is None:
            raise Untranslatable(text[:120])
        if name[0] not in _IGNORED:
            self._operation(name[0], _results(results), operation)

    def _emit(self, line: str, scalar: bool = True) -> None:
        self._scalars += scalar
        self.lines.append("    " * (len(self._regions) + 1) + line)

    def _charge(self) -> None:
        if self._scalars:
            count, self._scalars = self._scalars, 0
            self._emit(f"machine.pipes.scalar({count})", scalar=False)

    def _operation(self, name: str, results: tuple[str, ...], text: str) -> None:
        dialect, _, op = name.rpartition(".")
        if dialect == "arith":
            self._emit(f"{results[0]} = {_arith(op, text)}")
        elif dialect == "math":
            self._emit(f"{results[0]} = machine.math({op!r}, {_operands(text)})")
        elif dialect == "affine":
            self._emit(f"{results[0]} = {self._affine(op, text)}")
        elif dialect == "memref":
            self._memref(op, results, text)
        elif dialect == "hivm.hir":
            self._hivm(op, results, text)
        elif dialect == "scf":
            self._scf(op, results, text)
        elif op == "call":
            self._call(text)
        elif op == "return":
            self._charge()
        else:
            raise Untranslatable(name)
        if op == "select" and "memref<" in text:
            self.doubled += 1

    def _affine(self, op: str, text: str) -> str:
        found = re.match(r"affine\.\w+ (#map\d*)\(([^)]*)\)(?:\[([^\]]*)\])?", text)
        if found is None or op not in ("apply", "min", "max"):
            raise Untranslatable(text[:120])
        _, dimensions, symbols, results = self._maps[found[1]].groups()
        names = [n.strip() for part in (dimensions, symbols) if part for n in part.split(",")]
        given = [_name(n) for part in (found[2], found[3]) if part for n in _VALUE.findall(part)]
        if "ceildiv" in results or not re.fullmatch(r"[\w\s,()*+-]*", results):
            raise Untranslatable(f"the map {results[:80]}")
        value = results.replace("floordiv", "//").replace("mod", "%")
        value = re.sub(r"\b([ds]\d+)\b", lambda m: given[names.index(m[1])], value)
        return f"{op}({value})" if op != "apply" else f"({value})"

    def _memref(self, op: str, results: tuple[str, ...], text: str) -> None:
        source = _VALUE.search(text)
        if source is None:
            raise Untranslatable(text[:120])
        view = _name(source[1])
        if op == "cast":
            self._emit(f"{results[0]} = {view}", scalar=False)
        elif op == "reinterpret_cast":
            parts = re.search(r"offset: \[(.*?)\], sizes: \[(.*?)\], strides: \[(.*?)\]", text)
            assert parts is not None
            offset, sizes, strides = (_tuple(part) for part in parts.groups())
            self._emit(f"{results[0]} = {view}.reinterpret({offset}[0], {sizes}, {strides})")
        elif op == "subview":
            parts = re.search(r"\[(.*?)\] \[(.*?)\] \[(.*?)\] :", text)
            assert parts is not None
            offsets, sizes, steps = (_tuple(part) for part in parts.groups())
            rank = _reduced_rank(text)
            self._emit(f"{results[0]} = {view}.subview({offsets}, {sizes}, {steps}){rank}")
        elif op in ("collapse_shape", "expand_shape"):
            groups = re.search(r"(\[\[.*?\]\])", text)
            assert groups is not None
            nested = re.sub(r"\[([\d, ]*)\]", r"(\1,)", groups[1][1:-1])
            shape = re.search(r"output_shape \[(.*?)\]", text)
            if op == "collapse_shape":
                self._emit(f"{results[0]} = {view}.collapse(({nested},))")
            elif shape is not None:
                self._emit(f"{results[0]} = {view}.expand(({nested},), {_tuple(shape[1])})")
        elif op in ("load", "store"):
            self._access(op, results, text)
        else:
            raise Untranslatable(f"memref.{op}")

    def _access(self, op: str, results: tuple[str, ...], text: str) -> None:
        parts = re.match(r"memref\.\w+ (?:(%[\w-]+), )?(%[\w-]+)\[(.*?)\]", text)
        assert parts is not None
        view, index = _name(parts[2][1:]), _tuple(parts[3])
        self._charge()
        if op == "load":
            self._emit(f"{results[0]} = machine.load({view}, {index})")
        else:
            self._emit(f"machine.store({_name(parts[1][1:])}, {view}, {index})")

    def _hivm(self, op: str, results: tuple[str, ...], text: str) -> None:
        if op == "pointer_cast":
            self._pointer(results[0], text)
        elif op == "get_block_idx":
            self._emit(f"{results[0]} = machine.block")
        elif op in ("set_flag", "wait_flag"):
            parts = re.search(r"<PIPE_(\w+)>, <PIPE_(\w+)>, (?:<EVENT_ID(\d)>|%([\w-]+))", text)
            assert parts is not None
            event = parts[3] or _name(parts[4])
            self._charge()
            self._emit(f"machine.pipes.{op}({parts[1]!r}, {parts[2]!r}, {event})")
        elif op == "pipe_barrier":
            pipe = re.search(r"<PIPE_(\w+)>", text)
            assert pipe is not None
            self._charge()
            self._emit(f"machine.pipes.barrier({pipe[1]!r})")
        else:
            raise Untranslatable(f"hivm.hir.{op}")

    def _pointer(self, result: str, text: str) -> None:
        parts = re.match(r"hivm\.hir\.pointer_cast\(%([\w-]+)\)(?:\s*\[(.*?)\])? : (.*)$", text)
        memref = _MEMREF.match(parts[3]) if parts else None
        if parts is None or memref is None or "?" in memref[1]:
            raise Untranslatable(text[:120])
        shape = tuple(int(n) for n in memref[1].split("x")[:-1])
        strides = tuple(map(int, memref[3].split(", "))) if memref[3] else row_major_strides(shape)
        space, address = memref[5], _name(parts[1])
        self._emit(
            f"{result} = machine.local({space!r}, {memref[2]!r}, {address}, {shape}, {strides})",
            scalar=False,
        )
        if (known := re.match(r"c(\d+)_i64", parts[1])) and 0 not in shape:
            size = _SIZES.get(memref[2], 4)
            last = sum((n - 1) * s for n, s in zip(shape, strides, strict=True))
            end = int(known[1]) + max(1, int((last + 1) * size))
            self.local_bytes[space] = max(self.local_bytes.get(space, 0), end)

    def _scf(self, op: str, results: tuple[str, ...], text: str) -> None:
        if op == "for":
            self._loop(results, text)
        elif op == "if":
            condition = _VALUE.search(text)
            assert condition is not None
            self._charge()
            self._emit(f"if {_name(condition[1])}:")
            self._regions.append(_Region(results, ()))
        elif op == "yield":
            self._charge()
            values = _operands(text)
            if values:
                self._emit(f"{', '.join(self._regions[-1].yielded)} = {values}", scalar=False)
        else:
            raise Untranslatable(f"scf.{op}")

    def _loop(self, results: tuple[str, ...], text: str) -> None:
        parts = re.match(
            r"scf\.for %(\w+) = %([\w-]+) to %([\w-]+) step %([\w-]+)\s*(?:iter_args\((.*?)\))?",
            text,
        )
        assert parts is not None
        variable, *bounds = (_name(part) for part in parts.groups()[:4])
        carried = re.findall(r"%([\w-]+) = %([\w#-]+)", parts[5] or "")
        self._charge()
        for inner, start in carried:
            self._emit(f"{_name(inner)} = {_name(start)}", scalar=False)
        self._emit(f"for {variable} in range({', '.join(bounds)}):")
        self._regions.append(_Region(tuple(_name(inner) for inner, _ in carried), results))

    def _call(self, text: str) -> None:
        parts = re.match(r"(?:func\.)?call @(\w+)\((.*?)\) :", text)
        assert parts is not None
        self._charge()
        self._emit(f"machine.call({parts[1]!r}, ({_operands(parts[2])},))", scalar=False)

    def _close(self, has_else: bool) -> None:
        self._charge()
        self._emit("pass", scalar=False)
        region = self._regions.pop()
        if has_else:
            self._emit("else:", scalar=False)
            self._regions.append(region)
        elif region.results:
            self._emit(f"{', '.join(region.results)} = {', '.join(region.yielded)}", scalar=False)


_FLOATS = ("f32", "f16", "bf16", "f64")
_SIZES = {
    "f64": 8,
    "i64": 8,
    "f32": 4,
    "i32": 4,
    "f16": 2,
    "bf16": 2,
    "i16": 2,
    "i8": 1,
    "i1": 1 / 8,
}


def _name(value: str) -> str:
    """A Python name for a value: %12 is v12, %12#1 is v12_1, %c-1_i64 is c_1_i64."""
    plain = re.sub(r"\W", "_", value)
    return f"v{plain}" if plain[0].isdigit() else plain


def _results(text: str) -> tuple[str, ...]:
    """Names of the results `%7` or `%7:2`."""
    if not text:
        return ()
    name, _, count = text[1:].partition(":")
    return tuple(_name(f"{name}#{i}") for i in range(int(count))) if count else (_name(name),)


def _operands(text: str) -> str:
    return ", ".join(_name(value) for value in _VALUE.findall(text))


def _tuple(text: str) -> str:
    """A list of numbers and values as a Python tuple."""
    parts = [part.strip() for part in text.split(",")] if text.strip() else []
    return "(" + "".join(f"{_name(p[1:]) if p[0] == '%' else int(p)}, " for p in parts) + ")"


def _arith(op: str, text: str) -> str:
    values = [_name(value) for value in _VALUE.findall(text.partition(" : ")[0])]
    if op == "constant":
        return _constant(text)
    if op in _INFIX:
        return f"{values[0]} {_INFIX[op]} {values[1]}"
    if op in _CALLED:
        return f"{_CALLED[op]}({values[0]}, {values[1]})"
    if op in ("cmpi", "cmpf"):
        predicate = text.split()[1].rstrip(",")
        if predicate in _COMPARE:
            return f"{values[0]} {_COMPARE[predicate]} {values[1]}"
    if op == "select":
        return f"{values[1]} if {values[0]} else {values[2]}"
    if op in _SAME:
        return f"int({values[0]})" if text.endswith("i64") else values[0]
    if op in ("sitofp", "uitofp", "truncf"):
        return f"machine.number({values[0]}, {text.split()[-1]!r})"
    if op in ("fptosi", "fptoui"):
        return f"int({values[0]})"
    if op == "negf":
        return f"-{values[0]}"
    raise Untranslatable(f"arith.{op}")


def _constant(text: str) -> str:
    value, _, dtype = text.removeprefix("arith.constant ").partition(" : ")
    if value in ("true", "false"):
        return value.capitalize()
    if dtype in _FLOATS and re.fullmatch(r"0x[0-9A-F]+", value):
        return f"machine.from_bits({value}, {dtype!r})"
    if dtype in _FLOATS and re.fullmatch(r"-?\d+\.\d+(?:[eE][+-]?\d+)?", value):
        return f"machine.number({value}, {dtype!r})"
    if re.fullmatch(r"-?\d+", value):
        return value
    raise Untranslatable(text[:120])


def _reduced_rank(text: str) -> str:
    """The call that drops unit dimensions, where a subview has fewer than its source."""
    source, target = (found[1].count("x") for found in _MEMREF.finditer(text))
    return "" if source == target else f".reduce_rank({target})"
