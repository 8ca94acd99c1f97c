"""The beginning of forward: inputs, sizes and state by their names, each checked."""

from collections import Counter
from collections.abc import Mapping, Sequence

from kernelmill.generators.composer.host.construction import Construction
from kernelmill.generators.composer.host.guards import Guards
from kernelmill.generators.composer.ir.graph import Graph, Source, Symbol
from kernelmill.records.task import Task

_MANY = 24
"""So many parameters of one type are taken up in a loop."""


def forward_head(task: Task) -> str:
    count = len(task.shown.inputs.items or ())
    return f"def forward({', '.join(['self', *(f'x{i}' for i in range(count))])}):"


def tensor_names(used: Sequence[Source]) -> dict[str, str]:
    """Variables of forward for what kernels read, by the names of the sources."""
    names = {}
    for number, source in enumerate(used):
        own = source.origin == "input" and source.key.isdigit()
        prefix = "item" if source.origin == "input" else "w"
        names[source.name] = f"x{source.key}" if own else f"{prefix}{number}"
    return names


def given_lines(
    graph: Graph,
    used: Sequence[Source],
    names: Mapping[str, str],
    guards: Guards,
    construction: Construction,
) -> list[str]:
    """Lines that take up inputs, sizes and state, and check each."""
    inputs = [source for source in used if source.origin == "input"]
    state = [source for source in used if source.origin == "state"]
    lines = guards.values()
    lines += [f"{names[source.name]} = x{source.key}.contiguous()" for source in inputs]
    lines += guards.kinds(inputs)
    places = {source.key: names[source.name] for source in inputs}
    lines += [f"{name} = {measured(symbol, places)}" for name, symbol in graph.symbols.items()]
    lines += guards.shapes(inputs)
    lines += guards.conditions()
    counts = Counter(source.kind.dtype for source in state)
    for dtype in (dtype for dtype, count in counts.items() if count >= _MANY):
        alike = [source for source in state if source.kind.dtype == dtype]
        lines += guards.state_in_loop(alike, [construction.tensor(one.key) for one in alike])
    others = [source for source in state if counts[source.kind.dtype] < _MANY]
    lines += [
        f"{names[source.name]} = {construction.tensor(source.key)}.contiguous()"
        for source in others
    ]
    return lines + guards.state(others)


def measured(symbol: Symbol, names: Mapping[str, str]) -> str:
    size = f"{names[symbol.input]}.shape[{symbol.axis}]"
    return size if symbol.factor == 1 else f"{size} // {symbol.factor}"
