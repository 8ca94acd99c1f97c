"""Translation of HIVM text to C: scalars become numbers, buffers become views.

Compiled HIVM is regular: one operation per line, regions between braces. An operation that is not
supported is refused by name, so that nothing is executed wrongly. Names are built from letters,
digits and underscores, and constants are parsed: no text of a candidate reaches the C compiler.
"""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from kernelmill.backends.triton_ascend.hivm.affine import AffineExpression
from kernelmill.backends.triton_ascend.hivm.library import Value, write_call, write_masked_load

_MEMREF = re.compile(
    r"memref<((?:[0-9?]+x)*)(\w+)(?:, strided<\[([^\]]*)\](?:, offset: ([0-9?]+))?>)?"
    r"(?:, #hivm\.address_space<(\w+)>)?>"
)
_MAP = re.compile(r"^(#map\d*) = affine_map<\(([^)]*)\)(?:\[([^\]]*)\])? -> \((.*)\)>$", re.M)
_FUNCTION = re.compile(r"^  func\.func @(\w+)\((.*?)\)(?: -> \w+)? attributes \{(.*)\} \{$")
_PARAMETER = re.compile(r"%(\w+): (memref<[^{}]*?>|\w+)(?: \{([^{}]*)\})?(?:, |$)")
_WORKSPACE = re.compile(
    r"infer_workspace_shape_function>\} \{\s+%\w+ = arith\.constant (\d+) : index"
)
_VALUE = re.compile(r"%([\w#-]+)")
_ATTRIBUTES = re.compile(r" \{[^{}]*\}(?= : )")
"""Hints to later passes, which change nothing that an operation does."""
_SPACES = {"ub": "UB", "cbuf": "CBUF", "cc": "CC"}
_TYPES = {
    "f32": "float", "f16": "float", "bf16": "float", "f64": "double", "i64": "int64_t",
    "index": "int64_t", "i32": "int32_t", "i16": "int16_t", "i8": "int8_t", "i1": "bool",
}  # fmt: skip
_BYTES = {"f64": 8, "i64": 8, "f32": 4, "i32": 4, "f16": 2, "bf16": 2, "i16": 2, "i8": 1}
_COMPARE = {
    "eq": "==", "ne": "!=", "slt": "<", "sle": "<=", "sgt": ">", "sge": ">=", "ult": "<",
    "ule": "<=", "ugt": ">", "uge": ">=", "oeq": "==", "one": "!=", "olt": "<", "ole": "<=",
    "ogt": ">", "oge": ">=", "une": "!=", "ueq": "==",
}  # fmt: skip
_INFIX = {
    "addi": "+", "subi": "-", "muli": "*", "andi": "&", "ori": "|", "xori": "^", "addf": "+",
    "subf": "-", "mulf": "*", "divf": "/", "shli": "<<", "shrsi": ">>", "shrui": ">>",
}  # fmt: skip
_CALLED = {
    "divsi": "quotient", "remsi": "remainder_of", "divui": "quotient", "remui": "remainder_of",
    "ceildivsi": "ceiling", "floordivsi": "floor_quotient", "maxsi": "larger", "minsi": "smaller",
    "maxui": "larger", "minui": "smaller", "maxnumf": "larger_real", "minnumf": "smaller_real",
    "maximumf": "larger_real", "minimumf": "smaller_real",
}  # fmt: skip
_CASTS = (
    "index_cast", "index_castui", "extsi", "extui", "trunci", "sitofp", "uitofp", "fptosi",
    "fptoui", "extf", "truncf",
)  # fmt: skip
_MATH = {
    "exp": "expf", "exp2": "exp2f", "log": "logf", "log2": "log2f", "log1p": "log1pf",
    "sqrt": "sqrtf", "absf": "fabsf", "tanh": "tanhf", "erf": "erff", "floor": "floorf",
    "ceil": "ceilf", "sin": "sinf", "cos": "cosf", "powf": "powf", "fma": "fmaf",
    "trunc": "truncf", "roundeven": "rintf", "round": "roundf",
}  # fmt: skip
_IGNORED = ("hivm.hir.set_mask_norm", "annotation.mark", "hivm.hir.set_ffts_base_addr")
_HEADER = '#include <math.h>\n#include "hivm.h"\n\n'


class Untranslatable(Exception):
    """The text contains an operation that is not supported."""


class KernelParameter(NamedTuple):
    name: str
    dtype: str
    """Element type of a tensor in global memory; empty for a scalar."""
    role: str
    """`tensor` or `scalar` where the kernel declares it, `workspace`, `system` or `grid` where the
    run time adds it."""


class TranslatedKernel(NamedTuple):
    """A kernel as C source, with the function `cube`, `vector` or both."""

    name: str
    source: str
    parameters: tuple[KernelParameter, ...]
    core: str
    """AIV (vector), AIC (cube), or MIX where both work together."""
    local_bytes: dict[str, int]
    """Memory of a core -> bytes in use."""
    doubled: int
    """Number of double-buffered buffers."""
    workspace_bytes: int
    """Global memory through which the cores of one program exchange data."""


def translate_hivm(text: str) -> TranslatedKernel:
    """Raises Untranslatable or UnknownOperation."""
    kernels = [kernel for kernel in _functions(text) if "hacc.entry" in kernel.attributes]
    by_core = {_core_of(kernel): kernel for kernel in kernels}
    if len(by_core) != len(kernels) or not by_core or set(by_core) - {"AIV", "AIC"}:
        raise Untranslatable(f"{len(kernels)} kernels in one module")
    maps = {found[1]: found for found in _MAP.finditer(text)}
    bodies = {core: _Body(kernel, maps) for core, kernel in by_core.items()}
    local_bytes: dict[str, int] = {}
    for body in bodies.values():
        local_bytes |= body.local_bytes
    first = kernels[0]
    workspace = _WORKSPACE.search(text)
    return TranslatedKernel(
        re.sub(r"_mix_ai[cv]$", "", first.name),
        _HEADER + "\n".join(body.text(core) for core, body in bodies.items()),
        first.parameters,
        "MIX" if len(bodies) > 1 else next(iter(bodies)),
        local_bytes,
        sum(body.doubled for body in bodies.values()),
        int(workspace[1]) if workspace else 0,
    )


class _Function(NamedTuple):
    name: str
    parameters: tuple[KernelParameter, ...]
    types: dict[str, str]
    attributes: str
    lines: list[str]


def _masked_lines(lines: Sequence[str]) -> set[int]:
    """Numbers of lines in loops that the compiler made of masks that are not ranges."""
    found: set[int] = set()
    opened: list[int] = []
    for number, line in enumerate(lines):
        text = line.strip()
        if text.startswith("}") and opened:
            begin = opened.pop()
            if "ExtractedLoadOrStore" in text:
                found.update(range(begin, number))
        if text.endswith("{"):
            opened.append(number)
    return found


def _core_of(function: _Function) -> str:
    core = re.search(r"func_core_type<(\w+)>", function.attributes)
    return core[1] if core else "AIV"


def _functions(text: str) -> list[_Function]:
    functions: list[_Function] = []
    for line in text.splitlines():
        if found := _FUNCTION.match(line):
            parameters, types = _parameters(found[2])
            functions.append(_Function(found[1], parameters, types, found[3], []))
        elif functions and line.startswith("    "):
            functions[-1].lines.append(line)
    return functions


def _parameters(text: str) -> tuple[tuple[KernelParameter, ...], dict[str, str]]:
    """Declared parameters and those that the run time adds, and the types of scalars; the last
    three are the grid."""
    found, types = [], {}
    for name, type_, attributes in _PARAMETER.findall(text):
        memref = _MEMREF.fullmatch(type_)
        role = "tensor" if memref else "scalar"
        if "hacc.arg_type" in attributes:
            role = "workspace" if "arg_type<workspace>" in attributes else "system"
        found.append(KernelParameter(_name(name), memref[2] if memref else "", role))
        types[_name(name)] = "View" if memref else _ctype(type_)
    grid = (parameter._replace(role="grid") for parameter in found[-3:])
    return (*found[:-3], *grid), types


class _Region(NamedTuple):
    """An open region of structured control flow."""

    yielded: tuple[str, ...]
    """Names that scf.yield assigns."""
    results: tuple[str, ...]
    """Names that get these values after a loop."""


class _Body:
    """The lines of C of a kernel. Scalar operations are charged before the next library call."""

    def __init__(self, function: _Function, maps: dict[str, re.Match[str]]) -> None:
        self.local_bytes: dict[str, int] = {}
        self.doubled = 0
        self._lines: list[str] = []
        self._maps = maps
        self._regions: list[_Region] = []
        self._scalars = 0
        self._masked = False
        """Whether this line is in a loop of loads that ignore their mask."""
        self._types = dict(function.types)
        for number, parameter in enumerate(function.parameters):
            self._take_argument(number, parameter)
        masked = _masked_lines(function.lines)
        for number, line in enumerate(function.lines):
            self._masked = number in masked
            self._add(line)

    def text(self, core: str) -> str:
        name = "cube" if core == "AIC" else "vector"
        lines = "\n".join(self._lines)
        return f"void {name}(Core *core, const Argument *arguments) {{\n{lines}\n}}\n"

    def _take_argument(self, number: int, parameter: KernelParameter) -> None:
        ctype = self._types[parameter.name]
        field = {"View": "view", "float": "real", "double": "real"}.get(ctype, "whole")
        cast = "" if ctype == "View" else f"({ctype})"
        self._emit(f"{ctype} {parameter.name} = {cast}arguments[{number}].{field};", scalar=False)

    def _add(self, line: str) -> None:
        text = line.strip()
        if text.startswith("}"):
            self._close(text.startswith("} else {"))
            return
        text = _ATTRIBUTES.sub("", text)
        results, _, operation = text.partition(" = ") if text.startswith("%") else ("", "", text)
        name = re.match(r"[\w.]+", operation)
        if name is None:
            raise Untranslatable(text[:120])
        if name[0] not in _IGNORED:
            self._operation(name[0], _results(results), operation)

    def _emit(self, line: str, scalar: bool = True) -> None:
        self._scalars += scalar
        self._lines.append("    " * (len(self._regions) + 1) + line)

    def _define(self, name: str, ctype: str, code: str, scalar: bool = True) -> None:
        self._types[name] = ctype
        self._emit(f"{ctype} {name} = {code};", scalar)

    def _charge(self) -> None:
        if self._scalars:
            count, self._scalars = self._scalars, 0
            self._emit(f"scalar_work(core, {count});", scalar=False)

    def _operation(self, name: str, results: tuple[str, ...], text: str) -> None:
        dialect, _, op = name.rpartition(".")
        if dialect == "arith":
            self._arith(op, results[0], text)
        elif dialect == "math":
            self._math(op, results[0], text)
        elif dialect == "affine":
            self._define(results[0], "int64_t", self._affine(op, text))
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

    def _arith(self, op: str, result: str, text: str) -> None:
        ctype = self._result_type(op, text)
        if op == "select" and ctype == "View":
            self.doubled += 1
        self._define(result, ctype, self._arith_code(op, ctype, text))

    def _result_type(self, op: str, text: str) -> str:
        if op in ("cmpi", "cmpf") or re.search(r"constant (?:true|false)$", text):
            return "bool"
        if op == "select":
            return self._types[_values(text.partition(" : ")[0])[1]]
        return _ctype(re.split(r" to | : ", text)[-1].strip())

    def _arith_code(self, op: str, ctype: str, text: str) -> str:
        values = _values(text.partition(" : ")[0])
        if op == "constant":
            return _constant(text)
        if op in _INFIX:
            return f"({ctype})({values[0]} {_INFIX[op]} {values[1]})"
        if op in _CALLED:
            return f"({ctype}){_CALLED[op]}({values[0]}, {values[1]})"
        if op in ("cmpi", "cmpf"):
            return self._comparison(text, values)
        if op == "select":
            return f"{values[0]} ? {values[1]} : {values[2]}"
        if op in _CASTS:
            return self._cast(op, ctype, values[0], text)
        if op == "negf":
            return f"-{values[0]}"
        raise Untranslatable(f"arith.{op}")

    def _comparison(self, text: str, values: list[str]) -> str:
        predicate = text.split()[1].rstrip(",")
        left, right = values
        if predicate in ("ord", "uno"):
            both = f"{left} == {left} && {right} == {right}"
            return both if predicate == "ord" else f"!({both})"
        if predicate not in _COMPARE:
            raise Untranslatable(f"a comparison {predicate[:20]}")
        if predicate in ("ult", "ule", "ugt", "uge") and self._types[left] not in _REALS:
            return f"(uint64_t){left} {_COMPARE[predicate]} (uint64_t){right}"
        return f"{left} {_COMPARE[predicate]} {right}"

    def _cast(self, op: str, ctype: str, value: str, text: str) -> str:
        if op == "truncf" and ctype == "float":
            return f"rounded({value}, {text.split()[-1].upper()})"
        if op in ("extui", "uitofp") and self._types[value] in ("int32_t", "int16_t", "int8_t"):
            return f"({ctype})(u{self._types[value]}){value}"
        if ctype == "bool":
            return f"({value} & 1)"
        return f"({ctype}){value}"

    def _math(self, op: str, result: str, text: str) -> None:
        values = ", ".join(_values(text.partition(" : ")[0]))
        if op == "rsqrt":
            self._define(result, "float", f"1 / sqrtf({values})")
        elif op in _MATH:
            self._define(result, "float", f"{_MATH[op]}({values})")
        else:
            raise Untranslatable(f"math.{op}")

    def _affine(self, op: str, text: str) -> str:
        found = re.match(r"affine\.\w+ (#map\d*)\(([^)]*)\)(?:\[([^\]]*)\])?", text)
        if found is None or op not in ("apply", "min", "max"):
            raise Untranslatable(text[:120])
        _, dimensions, symbols, results = self._maps[found[1]].groups()
        names = [n.strip() for part in (dimensions, symbols) if part for n in part.split(",")]
        given = [name for part in (found[2], found[3]) if part for name in _values(part)]
        known = dict(zip(names, given, strict=True))
        try:
            codes = [AffineExpression(part, known).code() for part in results.split(",")]
        except ValueError as error:
            raise Untranslatable(f"the map {results[:80]}") from error
        code = codes[0]
        for other in codes[1:]:
            code = f"{'smaller' if op == 'min' else 'larger'}({code}, {other})"
        return code

    def _memref(self, op: str, results: tuple[str, ...], text: str) -> None:
        source = _VALUE.search(text)
        if source is None:
            raise Untranslatable(text[:120])
        view = _name(source[1])
        if op in ("cast", "memory_space_cast"):
            self._define(results[0], "View", view, scalar=False)
        elif op == "reinterpret_cast":
            offset, sizes, strides = _lists(
                r"offset: \[(.*?)\], sizes: \[(.*?)\], strides: \[(.*?)\]", text
            )
            arrays = f"{len(sizes)}, {_array(sizes)}, {_array(strides)}"
            self._define(results[0], "View", f"reinterpret_view(&{view}, {offset[0]}, {arrays})")
        elif op == "view":
            self._typed_view(results[0], view, text)
        elif op == "subview":
            self._sub_view(results[0], view, text)
        elif op in ("collapse_shape", "expand_shape"):
            self._reshape(op, results[0], view, text)
        elif op == "extract_strided_metadata":
            self._metadata(results, view)
        elif op in ("load", "store"):
            self._access(op, results, text)
        else:
            raise Untranslatable(f"memref.{op}")

    def _sub_view(self, result: str, view: str, text: str) -> None:
        parts = _lists(r"\[(.*?)\] \[(.*?)\] \[(.*?)\] :", text)
        *_, memref = _MEMREF.finditer(text)
        wanted = memref[1].split("x")[:-1]
        code = f"sub_view(&{view}, {', '.join(map(_array, parts))})"
        if len(wanted) < len(parts[1]):
            kept = kept_axes(parts[1], wanted)
            if kept is None:
                raise Untranslatable(text[:120])
            axes = ", ".join(map(str, kept)) or "0"
            code = f"keep_axes({code}, {len(kept)}, (int[]){{{axes}}})"
        self._define(result, "View", code)

    def _typed_view(self, result: str, view: str, text: str) -> None:
        parts = re.match(r"memref\.view %[\w-]+\[%([\w#-]+)\]\[(.*?)\] : .*? to (.*)$", text)
        memref = _MEMREF.match(parts[3]) if parts else None
        if parts is None or memref is None:
            raise Untranslatable(text[:120])
        given = iter(_values(parts[2]))
        shape = [next(given) if size == "?" else size for size in memref[1].split("x")[:-1]]
        dtype, rank = memref[2].upper(), len(shape)
        offset = _name(parts[1])
        code = f"typed_view(&{view}, {offset}, {dtype}, {rank}, {_array(shape)})"
        self._define(result, "View", code)

    def _reshape(self, op: str, result: str, view: str, text: str) -> None:
        groups = re.search(r"\[(\[.*?\])\]", text)
        shape = re.search(r"output_shape \[(.*?)\]", text)
        numbers = (
            [part.split(",") for part in re.findall(r"\[([\d, ]*)\]", groups[1])] if groups else []
        )
        if op == "collapse_shape":
            sizes = ", ".join(str(len(part)) for part in numbers)
            code = f"collapse_view(&{view}, {len(numbers)}, (int[]){{{sizes}}})"
        elif shape is None:
            raise Untranslatable(text[:120])
        else:
            sizes_of = _items(shape[1])
            owners = ", ".join(str(g) for g, part in enumerate(numbers) for _ in part)
            code = f"expand_view(&{view}, {len(sizes_of)}, {_array(sizes_of)}, (int[]){{{owners}}})"
        self._define(result, "View", code)

    def _metadata(self, results: tuple[str, ...], view: str) -> None:
        base, offset, *rest = results
        rank = len(rest) // 2
        self._define(base, "View", f"base_view(&{view})", scalar=False)
        self._define(offset, "int64_t", f"{view}.offset - {view}.base", scalar=False)
        for d in range(rank):
            self._define(rest[d], "int64_t", f"{view}.shape[{d}]", scalar=False)
            self._define(rest[rank + d], "int64_t", f"{view}.strides[{d}]", scalar=False)

    def _access(self, op: str, results: tuple[str, ...], text: str) -> None:
        parts = re.match(r"memref\.\w+ (?:(%[\w#-]+), )?(%[\w#-]+)\[(.*?)\] : (.*)$", text)
        memref = _MEMREF.match(parts[4]) if parts else None
        if parts is None or memref is None:
            raise Untranslatable(text[:120])
        view, index, ctype = (
            _name(parts[2][1:]),
            _array(_items(parts[3]) or ["0"]),
            _ctype(memref[2]),
        )
        kind = "real" if ctype in _REALS else "whole"
        self._charge()
        if op == "load":
            code = f"({ctype})load_{kind}(core, &{view}, {index})"
            self._define(results[0], ctype, code)
        else:
            self._emit(f"store_{kind}(core, {_name(parts[1][1:])}, &{view}, {index});")

    def _hivm(self, op: str, results: tuple[str, ...], text: str) -> None:
        if op == "pointer_cast":
            self._pointer(results[0], text)
        elif op in ("get_block_idx", "get_sub_block_idx"):
            field = "block" if op == "get_block_idx" else "sub_block"
            self._define(results[0], "int64_t", f"core->{field}")
        elif op in ("set_flag", "wait_flag"):
            parts = _matched(r"<(PIPE_\w+)>, <(PIPE_\w+)>, (?:<EVENT_ID(\d)>|%([\w#-]+))", text)
            event = parts[3] or _name(parts[4])
            self._charge()
            self._emit(f"{op}(core, {parts[1]}, {parts[2]}, {event});")
        elif op in ("sync_block_set", "sync_block_wait"):
            parts = _matched(
                r"<\w+>, <(PIPE_\w+)>, <(PIPE_\w+)>\] flag = (?:(\d+)|%([\w#-]+))", text
            )
            flag = parts[3] or _name(parts[4])
            self._charge()
            setting = op == "sync_block_set"
            verb, pipe = ("set", parts[1]) if setting else ("wait", parts[2])
            self._emit(f"{verb}_block_flag(core, {pipe}, {flag});")
        elif op == "pipe_barrier":
            pipe = _matched(r"<(PIPE_\w+)>", text)[1]
            self._charge()
            self._emit(f"pipe_barrier(core, {'ALL_PIPES' if pipe == 'PIPE_ALL' else pipe});")
        else:
            raise Untranslatable(f"hivm.hir.{op}")

    def _pointer(self, result: str, text: str) -> None:
        parts = re.match(r"hivm\.hir\.pointer_cast\(%([\w#-]+)\)(?:\s*\[(.*?)\])? : (.*)$", text)
        memref = _MEMREF.match(parts[3]) if parts else None
        if parts is None or memref is None or "?" in memref[1] or memref[5] not in _SPACES:
            raise Untranslatable(text[:120])
        shape = [int(n) for n in memref[1].split("x")[:-1]]
        strides = [int(n) for n in memref[3].split(", ")] if memref[3] else _row_major(shape)
        space, dtype = memref[5], memref[2]
        _ctype(dtype)
        arrays = f"{len(shape)}, {_array(map(str, shape))}, {_array(map(str, strides))}"
        code = f"local_view(core, {_SPACES[space]}, {dtype.upper()}, {_name(parts[1])}, {arrays})"
        self._define(result, "View", code, scalar=False)
        if (known := re.match(r"c(\d+)_i64", parts[1])) and 0 not in shape:
            last = sum((n - 1) * s for n, s in zip(shape, strides, strict=True))
            size = -(-(last + 1) // 8) if dtype == "i1" else (last + 1) * _BYTES[dtype]
            end = int(known[1]) + size
            self.local_bytes[space] = max(self.local_bytes.get(space, 0), end)

    def _scf(self, op: str, results: tuple[str, ...], text: str) -> None:
        if op == "for":
            self._loop(results, text)
        elif op == "if":
            condition = _matched(r"%([\w#-]+)", text)
            types = re.search(r"-> \((.*?)\) \{$", text)
            for name, type_ in zip(results, _split_types(types[1]) if types else (), strict=True):
                self._types[name] = "View" if type_.startswith("memref") else _ctype(type_)
                self._emit(f"{self._types[name]} {name};", scalar=False)
            self._charge()
            self._emit(f"if ({_name(condition[1])}) {{")
            self._regions.append(_Region(results, ()))
        elif op == "yield":
            self._charge()
            self._yield(_values(text.partition(" : ")[0]))
        else:
            raise Untranslatable(f"scf.{op}")

    def _yield(self, values: Sequence[str]) -> None:
        """All values are read before any name gets a new one."""
        targets = self._regions[-1].yielded
        if len(targets) > 1:
            for number, (name, value) in enumerate(zip(targets, values, strict=True)):
                self._emit(f"{self._types[name]} next_{number} = {value};", scalar=False)
            values = [f"next_{number}" for number in range(len(targets))]
        for name, value in zip(targets, values, strict=True):
            self._emit(f"{name} = {value};", scalar=False)

    def _loop(self, results: tuple[str, ...], text: str) -> None:
        parts = _matched(
            r"scf\.for %(\w+) = %([\w#-]+) to %([\w#-]+) step %([\w#-]+)\s*"
            r"(?:iter_args\((.*?)\))?",
            text,
        )
        variable, start, end, step = (_name(part) for part in parts.groups()[:4])
        carried = re.findall(r"%([\w-]+) = %([\w#-]+)", parts[5] or "")
        self._charge()
        for result, (_, initial) in zip(results, carried, strict=True):
            self._types[result] = self._types[_name(initial)]
            self._emit(f"{self._types[result]} {result};", scalar=False)
        if carried:  # a later loop may carry values under the same names
            self._emit("{", scalar=False)
        for inner, initial in carried:
            ctype = self._types[_name(initial)]
            self._define(_name(inner), ctype, _name(initial), scalar=False)
        ctype = self._types[variable] = self._types[start]
        self._emit(
            f"for ({ctype} {variable} = {start}; {variable} < {end}; {variable} += {step}) {{"
        )
        self._regions.append(_Region(tuple(_name(inner) for inner, _ in carried), results))

    def _call(self, text: str) -> None:
        parts = _matched(r"(?:func\.)?call @(\w+)\((.*?)\) :", text)
        operands = [Value(name, self._types[name]) for name in _values(parts[2])]
        self._charge()
        ignores_mask = self._masked and parts[1].startswith("load_gm_to_ubuf")
        call = write_masked_load(operands) if ignores_mask else write_call(parts[1], operands)
        self._emit(f"{call};", scalar=False)

    def _close(self, has_else: bool) -> None:
        self._charge()
        region = self._regions.pop()
        if has_else:
            self._emit("} else {", scalar=False)
            self._regions.append(region)
            return
        self._emit("}", scalar=False)
        for name, inner in zip(region.results, region.yielded, strict=False):
            self._emit(f"{name} = {inner};", scalar=False)
        if region.results:
            self._emit("}", scalar=False)


_REALS = ("float", "double")


def _ctype(type_: str) -> str:
    if type_.startswith("memref"):
        return "View"
    if type_ not in _TYPES:
        raise Untranslatable(f"the type {type_[:60]}")
    return _TYPES[type_]


def _name(value: str) -> str:
    """A name in C for a value: %12 is v12, %12#1 is v12_1, %c-1_i64 is vc_1_i64."""
    return "v" + re.sub(r"\W", "_", value, flags=re.ASCII)


def _results(text: str) -> tuple[str, ...]:
    """Names of the results `%7`, `%7:2` or `%a, %b:2`."""
    found: list[str] = []
    for part in text.split(", ") if text else ():
        name, _, count = part[1:].partition(":")
        found += [_name(f"{name}#{i}") for i in range(int(count))] if count else [_name(name)]
    return tuple(found)


def _values(text: str) -> list[str]:
    return [_name(value) for value in _VALUE.findall(text)]


def _matched(pattern: str, text: str) -> re.Match[str]:
    found = re.search(pattern, text)
    if found is None:
        raise Untranslatable(text[:120])
    return found


def _items(text: str) -> list[str]:
    """Numbers and values of a list, as C."""
    parts = [part.strip() for part in text.split(",")] if text.strip() else []
    return [_name(part[1:]) if part[0] == "%" else str(int(part)) for part in parts]


def _lists(pattern: str, text: str) -> list[list[str]]:
    return [_items(part) for part in _matched(pattern, text).groups()]


def kept_axes(sizes: Sequence[str], wanted: Sequence[str]) -> tuple[int, ...] | None:
    """Axes of a view that its result has, too; the others are of size 1. None if none fit."""
    if not sizes:
        return None if wanted else ()
    *before, size = sizes
    if wanted and wanted[-1] == (size if size.isdigit() else "?"):
        kept = kept_axes(before, wanted[:-1])
        if kept is not None:
            return (*kept, len(before))
    return kept_axes(before, wanted) if size == "1" else None


def _array(items: Iterable[str]) -> str:
    listed = ", ".join(items)
    return f"(int64_t[]){{{listed or '0'}}}"


def _row_major(shape: Sequence[int]) -> list[int]:
    strides, stride = [], 1
    for size in reversed(shape):
        strides.append(stride)
        stride *= size
    return strides[::-1]


def _split_types(text: str) -> list[str]:
    """Types of a list; those of memrefs have commas of their own."""
    return re.findall(r"memref<(?:[^<>]|<[^<>]*>)*>|\w+", text)


def _constant(text: str) -> str:
    value, _, dtype = text.removeprefix("arith.constant ").partition(" : ")
    if value in ("true", "false"):
        return value
    if dtype in ("f32", "f16", "bf16") and re.fullmatch(r"0x[0-9A-F]+", value):
        return f"real_of_bits({_single_bits(int(value, 16), dtype):#x}u)"
    if dtype in ("f32", "f16", "bf16") and re.fullmatch(r"-?\d+\.\d+(?:[eE][+-]?\d+)?", value):
        return f"{value}f"
    if dtype == "f64" and re.fullmatch(r"-?\d+\.\d+(?:[eE][+-]?\d+)?", value):
        return value
    if re.fullmatch(r"-?\d+", value):
        return "INT64_MIN" if int(value) == -(2**63) else f"{value}LL"
    raise Untranslatable(text[:120])


def _single_bits(bits: int, dtype: str) -> int:
    """The bits of a float, from those of an infinity or NaN of a narrower type."""
    if dtype == "f32":
        return bits
    if dtype == "bf16":
        return bits << 16
    return (bits & 0x8000) << 16 | 0x7F800000 | (bits & 0x3FF) << 13
