"""The ring of timed inputs: what it holds changes, and every slot has a whole case."""

import numpy as np
import pytest

from kernelmill.judge.cases import HostCase
from kernelmill.judge.input_ring import InputRing
from kernelmill.judge.protocol import OutputTensor
from kernelmill.records.task import Variant
from kernelmill.records.tensors import Node, lay_out
from kernelmill.tensors.blob import Blob

SLOTS = 3


def case(value: float) -> HostCase:
    given = Blob.create(lay_out([("float32", (4,)), ("float32", (2,)), ("float32", (3,))]))
    for index in range(3):
        given.array(index)[...] = value + index
    variant, state = Variant({}, Node(tensor=0), (), hidden=False), {"weight": 1, "table": 2}
    node = Node(items=(Node(tensor=0),))
    return HostCase(variant, "plain", 0, given, node, state, node, [], ((4, 1),), (), ("table",))


def make_cases() -> list[HostCase]:
    return [case(10.0 * number) for number in range(InputRing.cases_needed(SLOTS))]


def held(ring: InputRing) -> list[float]:
    return [float(ring.case(slot).given.array(0)[0]) for slot in range(SLOTS)]


def test_a_refill_takes_other_cases() -> None:
    cases, rng = make_cases(), np.random.default_rng(1)
    ring = InputRing(cases, SLOTS)
    for _ in range(20):
        before = held(ring)
        ring.refill(rng)
        assert not set(before) & set(held(ring))


def test_cases_of_other_kinds_are_mixed_with_its_own() -> None:
    cases, rng = make_cases(), np.random.default_rng(1)
    ring, unlike = InputRing(cases, SLOTS), [case(1000.0), case(1010.0)]
    places = set()
    for _ in range(20):
        ring.fill_with(unlike, rng)
        assert {1000.0, 1010.0} < set(held(ring))
        places.add(held(ring).index(1000.0))
        ring.refill(rng)
        assert not {1000.0, 1010.0} & set(held(ring))
    assert places == set(range(SLOTS))


def test_buffers_belong_to_the_slots() -> None:
    ring = InputRing(make_cases(), SLOTS)
    request = ring.request(("table",))
    assert request["parameters"] == {"weight": 1}
    assert request["buffers"] == {"table": 2} and request["updated"] == ["table"]
    assert len(request["layout"]["tensors"]) == 3 * (SLOTS + 1)


@pytest.mark.parametrize(
    ("shape", "strides", "overlaps"),
    [
        ((4, 3), (3, 1), False),
        ((4, 3), (1, 4), False),
        ((4, 3), (0, 1), True),
        ((4, 3), (2, 1), True),
        ((1, 3), (0, 1), False),
        ((4, 3), (8, 2), False),
        ((0, 3), (0, 0), False),
        ((), (), False),
    ],
)
def test_an_output_that_overlaps_itself_is_known(
    shape: tuple[int, ...], strides: tuple[int, ...], overlaps: bool
) -> None:
    assert OutputTensor("float32", shape, strides, 0).overlaps_itself is overlaps
