"""A kernel and its launch."""

from typing import NamedTuple

from kernelmill.generators.composer.host.language import host
from kernelmill.generators.composer.ir.graph import Extent
from kernelmill.generators.composer.ir.values import Buffer
from kernelmill.generators.composer.plan import Plan
from kernelmill.generators.composer.targets.triton.scope import Frame, Scope, Tile

_PLACED = {1: [""], 2: ["[:, None]", "[None, :]"]}


class Launch(NamedTuple):
    lines: list[str]
    """The body of the kernel."""
    memory: dict[str, Buffer]
    grid: tuple[str, ...]
    """Sizes of the grid, as Python of the host."""
    constants: dict[str, str]
    """Block sizes by their names in the kernel, as Python of the host."""
    warps: str
    stages: str = ""


def add_tile(
    scope: Scope,
    tile: Tile,
    start: str,
    extent: Extent,
    plan: Plan,
    among: str = "",
    foreseen: bool = True,
) -> None:
    """Define a tile, and which of its places exist: all of them where sizes fit.

    `among` is how many programs share the extent, where each takes as many tiles as the others:
    the last ones may lie beyond its end. An extent that is not `foreseen` is another in every
    program.
    """
    frame = scope.frame
    frame.add_tile(tile)
    scope.names |= {tile.name, tile.mask}
    size = scope.size(extent)
    places = f"tl.arange(0, {tile.block}){_PLACED[frame.rank][tile.axis]}"
    scope.lines.append(f"{tile.name} = {start} + {places}" if start else f"{tile.name} = {places}")
    scope.lines.append(f"{tile.mask} = {tile.name} < {size.code}")
    if foreseen and (extent.fixed or plan.specialise):
        every = f"tl.full({frame.shape(frozenset({tile.name}))}, True, tl.int1)"
        step = f"({tile.block} * {among})" if among else tile.block
        scope.lines.append(f"if {size.within(8)} % {step} == 0:")
        scope.lines.append(f"    {tile.mask} = {every}")


def program_id(axis: int = 0) -> str:
    """As wide as the largest index needs."""
    return f"tl.program_id({axis}).to(INDEX)"


def blocks(extent: Extent, block: str) -> str:
    """How many blocks there are, on the host."""
    size = host(extent.code)
    return f"-(-({size}) // {block})" if not size.isdigit() else f"-(-{size} // {block})"


def power_of_two(extent: Extent) -> str:
    """The least power of two that is not smaller, on the host."""
    if extent.fixed:
        return str(1 << max(0, extent.value - 1).bit_length())
    return f"triton.next_power_of_2({host(extent.code)})"


def padded(extent: Extent) -> int:
    """The same at the shown size."""
    return 1 << max(0, extent.value - 1).bit_length()


def new_scope(rank: int, stored: dict[int, Buffer]) -> Scope:
    return Scope(Frame(rank, stored))
