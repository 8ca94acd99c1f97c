"""Hidden sizes: secret, and the same everywhere in one process."""

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from kernelmill.judge.hidden_sizes import reject_sizes, secret_variant, with_secret_sizes
from kernelmill.records.task import Task, Variant
from kernelmill.records.tensors import Node

NOTHING = Node(items=())
SIZES = st.dictionaries(st.sampled_from("abc"), st.integers(0, 10_000) | st.floats(0, 1))


def task_of(source: str, *hidden: Mapping[str, int | float]) -> Task:
    variants = (
        Variant({}, NOTHING, (), hidden=False),
        *(Variant(dict(sizes), NOTHING, (), hidden=True) for sizes in hidden),
    )
    return Task("t", "f", "t.py", source, "cpu", variants, ("plain",), (), {}, (), 0)


@given(st.text(), st.lists(SIZES, max_size=3))
def test_sizes_stay_between_half_and_whole(source: str, hidden: list[dict[str, float]]) -> None:
    task = with_secret_sizes(task_of(source, *hidden))
    assert task.shown == task_of(source).shown
    for given_sizes, variant in zip(hidden, task.hidden, strict=True):
        assert variant.hidden and variant.constants.keys() == given_sizes.keys()
        for name, value in given_sizes.items():
            if isinstance(value, float):
                assert variant.constants[name] == value
            else:
                assert value / 2 <= variant.constants[name] <= value


@given(st.text())
def test_the_same_sizes_are_drawn_every_time(source: str) -> None:
    task = task_of(source, {"a": 4096, "b": 777})
    assert secret_variant(task, 0) == secret_variant(task, 0) == with_secret_sizes(task).hidden[0]


def test_rejected_sizes_are_drawn_again_and_the_files_own_come_last() -> None:
    task = task_of("refused", {"a": 1 << 30})
    seen = [secret_variant(task, 0).constants["a"]]
    while reject_sizes(task, 0):
        seen.append(secret_variant(task, 0).constants["a"])
    assert len(set(seen)) == 4
    assert seen[-1] == 1 << 30
    assert secret_variant(task, 0) == task.hidden[0]


def test_tasks_and_variants_have_sizes_of_their_own() -> None:
    first, second = (task_of(source, {"a": 1 << 30}, {"a": 1 << 30}) for source in ("x", "y"))
    sizes = {
        secret_variant(task, number).constants["a"] for task in (first, second) for number in (0, 1)
    }
    assert len(sizes) == 4
