"""Graphs made by hand for tests of rewrites, and the two things every rewrite has to keep."""

from collections.abc import Sequence

import torch
from msgspec.structs import replace

from generators.composer.graph_runner import run_graph
from kernelmill.generators.composer.ir.graph import (
    Extent,
    Graph,
    Reference,
    Source,
    Symbol,
    TensorSpec,
)
from kernelmill.generators.composer.passes.convolutions import Slide
from kernelmill.generators.composer.passes.editor import Editor
from kernelmill.generators.composer.passes.sizes import fixed, longer, quotient
from kernelmill.judge.compare import ExpectedOutput, compare, make_budget
from kernelmill.judge.conditioning import measure_conditioning

_TOLERANCE = 8.0
_FEW = 8
"""Of fewer numbers than these the budget, which is one of their root mean square, says little."""


class Making:
    """A graph in the making: sources first, then operators by way of `editor`."""

    def __init__(self) -> None:
        self._sources: list[Source] = []
        self._symbols: dict[str, Symbol] = {}
        self._editor: Editor | None = None

    def source(self, shape: Sequence[int | str], state: bool = False) -> Reference:
        """`"s0=5"` is a size that may vary, 5 at the shown shape."""
        name = f"x{len(self._sources)}"
        sizes = [_extent(size) for size in shape]
        for axis, size in enumerate(sizes):
            if not size.fixed:
                self._symbols.setdefault(size.code, Symbol(name, axis, size.value))
        kind = TensorSpec("float32", tuple(sizes))
        self._sources.append(Source(name, kind, "state" if state else "input", name))
        return Reference(name)

    @property
    def editor(self) -> Editor:
        if self._editor is None:
            self._editor = Editor(self._graph())
        return self._editor

    def _graph(self) -> Graph:
        return Graph(tuple(self._sources), (), (), "y0", self._symbols)

    def finished(self, *outputs: Reference) -> Graph:
        return replace(self._graph(), nodes=tuple(self.editor.nodes), outputs=outputs)


def _extent(size: int | str) -> Extent:
    if isinstance(size, int):
        return fixed(size)
    name, _, value = size.partition("=")
    return Extent(name, int(value))


def places(size: Extent, slide: Slide, transposed: bool) -> Extent:
    """How many results a convolution has along an axis."""
    reach = slide.dilation * (slide.taps - 1)
    if transposed:
        value = (size.value - 1) * slide.stride - 2 * slide.pad + reach + slide.more + 1
        if size.fixed:
            return fixed(value)
        rest = value - size.value * slide.stride
        return Extent(f"{slide.stride}*{size.code} + ({rest})", value)
    return longer(quotient(longer(size, 2 * slide.pad - reach - 1), slide.stride), 1)


class _Run(torch.nn.Module):
    """A graph as a model of which everything is an input."""

    def __init__(self, graph: Graph) -> None:
        super().__init__()
        self._graph = graph

    def forward(self, *tensors: torch.Tensor) -> list[torch.Tensor]:
        return run_graph(self._graph, tensors)


def assert_same(before: Graph, after: Graph, hidden: Sequence[dict[str, int]] = ()) -> None:
    """The same results at the shown sizes and at others: in float64 but for its last digits, and in
    float32 within the judge's budget."""
    shown = {name: symbol.value for name, symbol in before.symbols.items()}
    for number, sizes in enumerate([shown, *({**shown, **one} for one in hidden)]):
        tensors = _tensors(before, sizes, seed=number)
        exact = run_graph(before, tensors)
        for wanted, got in zip(exact, run_graph(after, tensors), strict=True):
            scale = max(1.0, float(wanted.abs().max())) if wanted.numel() else 1.0
            torch.testing.assert_close(got, wanted, rtol=1e-9, atol=1e-10 * scale)
        _assert_within_budget(before, after, tensors, exact)


def _assert_within_budget(
    before: Graph, after: Graph, tensors: list[torch.Tensor], exact: list[torch.Tensor]
) -> None:
    longest = max(size for tensor in tensors for size in tensor.shape)
    conditioning = measure_conditioning(
        torch.nn.Module(), _Run(before), list(tensors), exact, "plain"
    )
    eager, single = (run_graph(graph, tensors, torch.float32) for graph in (before, after))
    for wanted, own, got, condition in zip(exact, eager, single, conditioning, strict=True):
        if wanted.numel() < _FEW:
            continue
        arrays = own.numpy(), wanted.numpy()
        budget = make_budget("float32", *arrays, _TOLERANCE, longest, condition)
        found = compare(got.numpy(), ExpectedOutput("float32", *arrays, budget))
        assert found.error <= 1, found


def _tensors(graph: Graph, sizes: dict[str, int], seed: int) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [
        torch.randn([_size(extent, sizes) for extent in source.kind.shape], generator=generator)
        for source in graph.sources
    ]


def _size(extent: Extent, sizes: dict[str, int]) -> int:
    return extent.value if extent.fixed else sizes[extent.code]
