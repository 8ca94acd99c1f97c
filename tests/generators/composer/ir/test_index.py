"""Index expressions mean what numpy means."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kernelmill.generators.composer.ir.expressions import Expression, Variable
from kernelmill.generators.composer.ir.graph import Extent
from kernelmill.generators.composer.ir.index import Flat, Index, reshaped, unravel
from kernelmill.generators.composer.loops.cpp import cpp


def extents(shape: tuple[int, ...], symbolic: bool = False) -> list[Extent]:
    return [Extent(f"s{n}" if symbolic else str(n), n) for n in shape]


def value(place: Expression, **names: int) -> int:
    code = cpp(place).replace("/", "//")
    return int(eval(code, {}, {f"s{n}": n for n in range(1025)} | names))


shapes = st.lists(st.integers(1, 6), min_size=1, max_size=4).map(tuple)


@st.composite
def reshapes(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Two shapes of one size: a list of factors, grouped in two ways."""
    factors = draw(st.lists(st.integers(1, 4), min_size=1, max_size=5))

    def grouped() -> tuple[int, ...]:
        groups = [[factors[0]]]
        for factor in factors[1:]:
            if draw(st.booleans()):
                groups.append([factor])
            else:
                groups[-1].append(factor)
        return tuple(math.prod(group) for group in groups)

    return grouped(), grouped()


@given(shapes, st.data())
def test_ravel_and_unravel_are_numpys(shape: tuple[int, ...], data: st.DataObject) -> None:
    position = data.draw(st.integers(0, math.prod(shape) - 1))
    parts = unravel(position, extents(shape))
    place = tuple(value(part) for part in parts)
    assert place == tuple(np.unravel_index(position, shape))
    assert value(Index(parts).ravel(extents(shape))) == position


@given(reshapes(), st.booleans(), st.data())
def test_a_reshape_keeps_the_order(
    pair: tuple[tuple[int, ...], tuple[int, ...]], symbolic: bool, data: st.DataObject
) -> None:
    shape, source = pair
    position = data.draw(st.integers(0, math.prod(shape) - 1))
    place = np.unravel_index(position, shape)
    names = {f"i{axis}": int(part) for axis, part in enumerate(place)}
    given_shape, given_source = extents(shape, symbolic), extents(source, symbolic)
    moved = reshaped(Index(list(names)), given_shape, given_source)
    assert value(moved.ravel(given_source), **names) == position
    assert tuple(value(p, **names) for p in moved.parts) == np.unravel_index(position, source)
    back = reshaped(moved, given_source, given_shape)
    assert tuple(value(p, **names) for p in back.parts) == place


def test_a_flat_index_is_taken_apart_only_when_asked() -> None:
    index = Flat("f", extents((3, 4)))
    assert index.ravel(extents((3, 4))) == Variable("f")
    assert not index.taken_apart
    assert [str(part) for part in index.parts] == ["f / 4", "f % 4"]
    assert index.taken_apart


def test_axes_that_are_joined_leave_the_others_alone() -> None:
    """However the size of the joint axis is written."""
    rows, columns = Extent("2*(floordiv(a, 2))", 6), Extent("(b + 1)", 5)
    joint = Extent("2*(b + 1)*(floordiv(a, 2))", 30)
    moved = reshaped(Index(["i", "j"]), [Extent("s3", 3), joint], [Extent("s3", 3), rows, columns])
    assert moved.parts[0] == Variable("i")
    assert all("i" not in part.names for part in moved.parts[1:])
