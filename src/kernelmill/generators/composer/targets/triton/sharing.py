"""Sharing of kernels: one function for all launches that differ in memory, numbers and sizes alone.

A size that differs becomes an argument that is known when the function is compiled, so its machine
code is that of a kernel of its own. Only a size of which there are very many, such as the step of
a loop that was unrolled, is left for run time: for each of them a kernel would be compiled.
"""

import ast
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from itertools import repeat
from typing import NamedTuple

from kernelmill.generators.composer.targets.triton.launch import Launch
from kernelmill.generators.composer.targets.triton.templates import (
    HostNames,
    Kind,
    Template,
    read_template,
)
from kernelmill.syntax import parse_expression

_PREFIXES = {Kind.SIZE: "size", Kind.NUMBER: "real", Kind.CONDITION: "even"}
_MOST_COMPILED = 8
"""Values of a size for each of which a kernel is compiled."""


class Parameter(NamedTuple):
    name: str
    compiled: bool = False
    """Whether its value is known when the kernel is compiled."""


class Kernel(NamedTuple):
    """A function, and the names of all that it reads or writes."""

    name: str
    parameters: list[Parameter]
    lines: list[str]
    names: frozenset[str]


class Call(NamedTuple):
    """A launch of a kernel, as Python of the host."""

    kernel: str
    grid: tuple[str, ...]
    arguments: tuple[str, ...]
    """By position."""
    options: Mapping[str, str]
    """Block sizes, and how the kernel is compiled."""

    @property
    def fields(self) -> tuple[str, ...]:
        """All that is given to the launch."""
        return (*self.grid, *self.arguments, *self.options.values())

    def with_fields(self, fields: Iterable[str]) -> "Call":
        """The same launch, given something else."""
        given = iter(fields)
        return Call(
            self.kernel,
            tuple(next(given) for _ in self.grid),
            tuple(next(given) for _ in self.arguments),
            {name: next(given) for name in self.options},
        )


class Shared(NamedTuple):
    kernels: list[Kernel]
    calls: list[Call]
    """One for every launch, in their order."""


def share(
    launches: Sequence[Launch], names: HostNames, tensors: Mapping[str, str], specialise: bool
) -> Shared:
    """`tensors` are names of memory on the host, where it has others there than in kernels."""
    groups: dict[Hashable, list[_Use]] = {}
    uses = [_Use(launch, read_template(launch.lines, names)) for launch in launches]
    for use in uses:
        groups.setdefault(use.form, []).append(use)
    kernels: list[Kernel] = []
    calls: dict[int, Call] = {}
    for same in groups.values():
        group = _grouped(f"kernel_{len(kernels)}", same, names, specialise)
        kernels.append(group.kernel())
        calls |= {id(use): group.call(number, tensors) for number, use in enumerate(same)}
    return Shared(kernels, [calls[id(use)] for use in uses])


def _grouped(name: str, uses: Sequence["_Use"], names: HostNames, specialise: bool) -> "_Group":
    """The uses of a form.

    Where sizes are many, only what tiles make of them is compiled, if that makes fewer kernels.
    """
    plain = _Group(name, uses, names, specialise)
    if plain.compilations <= _MOST_COMPILED:
        return plain
    aware = [
        _Use(use.launch, read_template(use.launch.lines, names, use.launch.constants))
        for use in uses
    ]
    other = _Group(name, aware, names, specialise)
    return other if 2 * other.compilations <= plain.compilations else plain


class _Use:
    """A launch as one use of a kernel."""

    def __init__(self, launch: Launch, template: Template) -> None:
        self.launch, self.template = launch, template
        read = (hole.text for hole in template.holes if hole.kind is Kind.MEMORY)
        self.memory = list(dict.fromkeys([*read, *launch.memory]))
        """In the order in which the body names it."""

    @property
    def form(self) -> Hashable:
        """What it has in common with those that can share its function."""
        places = {name: place for place, name in enumerate(self.memory)}
        holes = tuple(
            places[hole.text] if hole.kind is Kind.MEMORY else hole.kind
            for hole in self.template.holes
        )
        return self.template.pieces, holes, len(self.memory), tuple(self.launch.constants)

    def text(self, place: int) -> str:
        """What stands in a hole, as Python of the host."""
        hole = self.template.holes[place]
        if hole.kind is not Kind.CONDITION:
            return hole.text
        given = _Given(self.launch.constants)
        return ast.unparse(given.visit(parse_expression(hole.text)))

    @property
    def options(self) -> dict[str, str]:
        launch = self.launch
        stages = {"num_stages": launch.stages} if launch.stages else {}
        return {**launch.constants, "num_warps": launch.warps, **stages}


class _Given(ast.NodeTransformer):
    """Replaces names by what they are."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self._values = values

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return parse_expression(self._values[node.id]) if node.id in self._values else node


class _Column(NamedTuple):
    """What stands in the same hole of every use, where it is not the same."""

    kind: Kind
    texts: tuple[str, ...]
    """One for every use."""


class _Group:
    """The uses of one kernel."""

    def __init__(self, name: str, uses: Sequence[_Use], names: HostNames, specialise: bool) -> None:
        self._name, self._uses, self._specialise = name, uses, specialise
        self._first = uses[0]
        self._holes = self._first.template.holes
        self._columns = [self._column(place) for place in range(len(self._holes))]
        at_run_time = self._at_run_time()
        sizes = [column for column in self._sizes() if column not in at_run_time]
        self.compilations = self._compilations(sizes)
        """How many kernels are compiled, apart from what tiles make of sizes."""
        varying = dict.fromkeys(column for column in self._columns if column is not None)
        self._varying = {
            column: Parameter(
                f"{_PREFIXES[column.kind]}_{number}", self._is_compiled(column, at_run_time)
            )
            for number, column in enumerate(varying)
        }
        fixed = frozenset().union(
            *(
                hole.names
                for hole, column in zip(self._holes, self._columns, strict=True)
                if column is None
            )
        )
        self._numbers = [name for name in names.numbers if name in fixed]
        self._symbols = [name for name in names.symbols if name in fixed]
        self._late = [self._varying[column].name for column in varying if column in at_run_time]

    def kernel(self) -> Kernel:
        launch = self._first.launch
        parameters = [
            *(Parameter(name) for name in (*launch.memory, *self._numbers)),
            *(Parameter(symbol, self._specialise) for symbol in self._symbols),
            *self._varying.values(),
            *(Parameter(name, compiled=True) for name in ("INDEX", *launch.constants)),
        ]
        casts = [f"{name} = tl.cast({name}, INDEX)" for name in self._late]
        texts = [
            hole.text if column is None else self._varying[column].name
            for hole, column in zip(self._holes, self._columns, strict=True)
        ]
        lines = [*casts, *self._first.template.filled(texts)]
        return Kernel(self._name, parameters, lines, self._first.template.names)

    def call(self, number: int, tensors: Mapping[str, str]) -> Call:
        """Of one of the uses."""
        use = self._uses[number]
        memory = [use.memory[self._first.memory.index(name)] for name in self._first.launch.memory]
        arguments = [tensors.get(name, name) for name in memory]
        arguments += [*self._numbers, *self._symbols]
        arguments += [column.texts[number] for column in self._varying]
        return Call(self._name, use.launch.grid, (*arguments, "index"), use.options)

    def _column(self, place: int) -> _Column | None:
        """None for memory, whose names are the first use's, and where all uses are the same."""
        kind = self._holes[place].kind
        written = {use.template.holes[place].text for use in self._uses}
        if kind is Kind.MEMORY or len(written) == 1:
            return None
        return _Column(kind, tuple(use.text(place) for use in self._uses))

    def _is_compiled(self, column: _Column, at_run_time: Collection[_Column]) -> bool:
        if column.kind is Kind.CONDITION:
            return True
        if column.kind is Kind.NUMBER or column in at_run_time:
            return False
        return self._specialise or all(text.isdigit() for text in column.texts)

    def _at_run_time(self) -> set[_Column]:
        """Sizes left for run time: where kernels would be many with them, and are few without."""
        columns = self._sizes()
        bound = {
            column
            for hole, column in zip(self._holes, self._columns, strict=True)
            if column is not None and not hole.at_run_time
        }
        many = {
            column
            for column in columns
            if column not in bound and len(set(column.texts)) > _MOST_COMPILED
        }
        few = self._compilations([column for column in columns if column not in many])
        return many if 2 * few <= self._compilations(columns) else set()

    def _sizes(self) -> list[_Column]:
        return [one for one in self._columns if one is not None and one.kind is Kind.SIZE]

    def _compilations(self, columns: Sequence[_Column]) -> int:
        """How many kernels are compiled, where these sizes are known."""
        sizes = zip(*(column.texts for column in columns), strict=True) if columns else repeat(())
        options = (tuple(use.options.values()) for use in self._uses)
        return len(set(zip(sizes, options, strict=False)))
