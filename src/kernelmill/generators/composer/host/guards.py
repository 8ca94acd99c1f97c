"""Checks of a candidate's host code: a call that its kernels were not made for raises."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from kernelmill.generators.composer.ir.graph import Graph, Source, Symbol
from kernelmill.generators.composer.ir.sizes import read_size


class Framework(NamedTuple):
    """How host code looks at a tensor."""

    other_type: Callable[[str, str], str]
    """A test that a tensor has another type than this."""
    rank: str
    """With {0} for the tensor."""
    host: Callable[[str], str] = str
    """Writes an expression of sizes as Python."""
    device: str = ""
    """The variable that tensors must be on, if any."""


def other_torch_type(tensor: str, dtype: str) -> str:
    return f"{tensor}.dtype is not torch.{dtype}"


def refuse_lines(where: str = "") -> list[str]:
    """A function that kernels' callers share; `where` is the device they must be on."""
    given = "{tensor.dtype} {list(tensor.shape)}" + (" on {tensor.device}" if where else "")
    taken = "{wanted}" + (f" on the {where}" if where else "")
    return [
        "def refuse(name, tensor, wanted):",
        f'    raise ValueError(f"{{name}} is {given}; this kernel takes {taken}")',
    ]


class Guards:
    """The checks of one graph, as lines of `forward`.

    `names` are the variables that hold tensors, by the names of their sources.
    """

    def __init__(self, graph: Graph, names: Mapping[str, str], framework: Framework) -> None:
        self._graph, self._names = graph, names
        self._framework, self._host = framework, framework.host

    def values(self) -> list[str]:
        """Of arguments that are no tensors, and of how many a list of them holds."""
        lines = []
        for fixed in self._graph.fixed:
            name, code = f"x{fixed.key}", repr(fixed.value)
            found = f"len({name})" if fixed.is_length else name
            what = f"input {fixed.key} has {{{found}}} items" if fixed.is_length else ""
            what = what or f"input {fixed.key} is {{{found}!r}}"
            test = f"{found} is not {code}" if fixed.value is None else f"{found} != {code}"
            lines.append(f"if {test}:")
            shown = code.replace("{", "{{").replace("}", "}}").replace('"', "'")
            lines.append(f'    raise ValueError(f"{what}; this kernel was made for {shown}")')
        return lines

    def kinds(self, sources: Sequence[Source]) -> list[str]:
        """Of types and ranks."""
        lines = []
        for source in sources:
            name, kind = self._names[source.name], source.kind
            rank = len(kind.shape)
            tests = self._tests(name, kind.dtype)
            tests.append(f"{self._framework.rank.format(name)} != {rank}")
            lines += self._refusal(source, tests, f'"{kind.dtype} of {rank} dimensions"')
        return lines

    def shapes(self, sources: Sequence[Source]) -> list[str]:
        """Of the sizes of inputs; the symbols are known."""
        lines = []
        for source in sources:
            if not self._is_free(source):
                test = f"{self._names[source.name]}.shape != {self._tuple(source)}"
                lines += self._refusal(source, [test], self._wanted(source))
        return lines

    def state(self, sources: Sequence[Source]) -> list[str]:
        """Of parameters and buffers, all at once."""
        lines = []
        for source in sources:
            name = self._names[source.name]
            tests = self._tests(name, source.kind.dtype)
            tests.append(f"{name}.shape != {self._tuple(source)}")
            lines += self._refusal(source, tests, self._wanted(source))
        return lines

    def state_in_loop(self, sources: Sequence[Source], tensors: Sequence[str]) -> list[str]:
        """Parameters and buffers of one type, each taken from its place and checked."""
        names = ", ".join(self._names[source.name] for source in sources)
        dtype = sources[0].kind.dtype
        rows = (
            f"    ({source.key!r}, {tensor}, {self._tuple(source)}),"
            for source, tensor in zip(sources, tensors, strict=True)
        )
        return [
            "state = []",
            "for name, tensor, shape in (",
            *rows,
            "):",
            "    tensor = tensor.contiguous()",
            f"    if {' or '.join([*self._tests('tensor', dtype), 'tensor.shape != shape'])}:",
            f'        refuse(name, tensor, f"{dtype} {{list(shape)}}")',
            "    state.append(tensor)",
            f"{names} = state",
        ]

    def conditions(self) -> list[str]:
        """Of sizes that must fit each other."""
        lines = []
        for text in self._graph.conditions:
            condition, names = self._host(text), read_size(text).names
            used = sorted(names & self._graph.symbols.keys())
            sizes = ", ".join(f"{s} = {_place(self._graph.symbols[s])} = {{{s}}}" for s in used)
            lines.append(f"if not {condition}:")
            lines.append(f'    raise ValueError(f"this kernel needs {condition}, where {sizes}")')
        return lines

    def _tests(self, name: str, dtype: str) -> list[str]:
        """Of the type and the device."""
        device = self._framework.device
        tests = [self._framework.other_type(name, dtype)]
        return [*tests, f"{name}.device != {device}"] if device else tests

    def _refusal(self, source: Source, tests: Sequence[str], wanted: str) -> list[str]:
        label = f"input {source.key}" if source.origin == "input" else source.key
        name = self._names[source.name]
        return [f"if {' or '.join(tests)}:", f"    refuse({label!r}, {name}, {wanted})"]

    def _is_free(self, source: Source) -> bool:
        """Whether any sizes will do: the symbols are measured on this very input."""
        return all(
            extent.code in self._graph.symbols
            and self._graph.symbols[extent.code] == (source.key, axis, extent.value, 1)
            for axis, extent in enumerate(source.kind.shape)
        )

    def _tuple(self, source: Source) -> str:
        sizes = [self._host(extent.code) for extent in source.kind.shape]
        return f"({', '.join(sizes)}{',' * (len(sizes) == 1)})"

    def _wanted(self, source: Source) -> str:
        shape = source.kind.shape
        sizes = ", ".join(e.code if e.fixed else f"{{{self._host(e.code)}}}" for e in shape)
        prefix = "" if all(extent.fixed for extent in shape) else "f"
        return f'{prefix}"{source.kind.dtype} [{sizes}]"'


def _place(symbol: Symbol) -> str:
    parts = f" / {symbol.factor}" if symbol.factor != 1 else ""
    return f"size {symbol.axis}{parts} of input {symbol.input}"
