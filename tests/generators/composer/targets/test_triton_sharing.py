"""Sharing of kernels, memory and launches, on launches written by hand."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from kernelmill.generators.composer.ir.graph import Extent
from kernelmill.generators.composer.ir.values import Buffer
from kernelmill.generators.composer.targets.triton.launch import Launch
from kernelmill.generators.composer.targets.triton.naming import SizeNames
from kernelmill.generators.composer.targets.triton.rerolling import Loop, Step, reroll
from kernelmill.generators.composer.targets.triton.reuse import reuse
from kernelmill.generators.composer.targets.triton.sharing import Call, Shared, share
from kernelmill.generators.composer.targets.triton.templates import HostNames

_FOUR = Extent("4", 4)


def _launch(lines: str, *memory: str) -> Launch:
    buffers = {name: Buffer(name, [_FOUR], "float32") for name in memory}
    return Launch(lines.split("; "), buffers, ("1",), {"BLOCK": "64"}, "4")


def _shared(*launches: Launch, specialise: bool = True) -> Shared:
    memory = {name for launch in launches for name in launch.memory}
    return share(launches, HostNames(memory, ["number_0"], ["s0", "s1"]), {"a": "x0"}, specialise)


def test_what_differs_in_names_and_sizes_is_one_kernel() -> None:
    first = _launch("f = tl.arange(0, BLOCK); tl.store(b + f * 3, tl.load(a + f % s0))", "a", "b")
    other = _launch("f = tl.arange(0, BLOCK); tl.store(c + f * 3, tl.load(b + f % s1))", "b", "c")
    kernels, calls = _shared(first, other)
    assert [call.arguments for call in calls] == [
        ("x0", "b", "s0", "index"),
        ("b", "c", "s1", "index"),
    ]
    (kernel,) = kernels
    assert [p.name for p in kernel.parameters if p.compiled] == ["size_0", "INDEX", "BLOCK"]
    assert kernel.lines[1] == "tl.store(b + f * 3, tl.load(a + f % size_0))"


def test_memory_that_is_read_twice_is_no_two_memories() -> None:
    once = _launch("tl.store(c, tl.load(a) + tl.load(b))", "a", "b", "c")
    twice = _launch("tl.store(c, tl.load(a) + tl.load(a))", "a", "c")
    assert len(_shared(once, twice).kernels) == 2


def test_real_numbers_may_differ_as_well() -> None:
    one = _launch("tl.store(b, tl.load(a) * 2 * number_0)", "a", "b")
    other = _launch("tl.store(b, tl.load(a) * 3 * number_0)", "a", "b")
    (kernel,) = _shared(one, other).kernels
    assert [p.name for p in kernel.parameters] == [
        "a", "b", "number_0", "size_0", "INDEX", "BLOCK"
    ]  # fmt: skip


def _steps(line: str, count: int) -> list[Launch]:
    return [_launch(line.format(step), "a", "b") for step in range(count)]


def test_a_size_with_many_values_is_known_at_run_time_only() -> None:
    for count, compiled in ((8, True), (20, False)):
        (kernel,) = _shared(*_steps("tl.store(b + {}, tl.load(a))", count)).kernels
        (size,) = (p for p in kernel.parameters if p.name == "size_0")
        assert size.compiled is compiled


def test_of_many_sizes_only_what_tiles_make_of_them_is_compiled() -> None:
    line = "f = tl.program_id(0) * {0}; if {0} % BLOCK == 0:;     f = 0; tl.store(b + f, a)"
    launches = _steps(line, 20)
    kernels, calls = _shared(*launches)
    (kernel,) = kernels
    assert kernel.lines[2] == "if even_1:"
    sizes = {p.name: p.compiled for p in kernel.parameters if p.name in ("size_0", "even_1")}
    assert sizes == {"size_0": False, "even_1": True}
    assert [call.arguments[-3:-1] for call in calls[:2]] == [
        ("0", "0 % 64 == 0"),
        ("1", "1 % 64 == 0"),
    ]
    few = _shared(*launches[:8]).kernels[0]
    assert few.lines[1] == "if size_0 % BLOCK == 0:"


def test_what_shapes_are_made_of_is_always_compiled() -> None:
    (kernel,) = _shared(*_steps("tl.store(b + tl.arange(0, {}), 0)", 20)).kernels
    assert next(p for p in kernel.parameters if p.name == "size_0").compiled


def _run(steps: Sequence[Step]) -> list[Call]:
    """The launches that the steps make."""
    made = []
    for step in steps:
        if isinstance(step, Loop):
            for row in step.rows:
                values = dict(zip(step.variables, row, strict=True))
                for call in step.body:
                    made.append(call.with_fields(values.get(text, text) for text in call.fields))
        else:
            made.append(step)
    return made


CALLS = st.builds(
    lambda kernel, *fields: Call(f"kernel_{kernel}", fields[:1], fields[1:], {"num_warps": "4"}),
    st.integers(0, 2),
    *[st.sampled_from(["s0 * 128 + 15", "stored_1", "stored_22", "w3"])] * 4,
)


@given(st.lists(CALLS, max_size=6), st.integers(1, 9), st.lists(CALLS, max_size=3))
def test_loops_make_the_same_launches(block: list[Call], times: int, more: list[Call]) -> None:
    calls = [*more, *block * times, *more, *block]
    assert _run(reroll(calls)) == calls


def test_what_repeats_is_a_loop() -> None:
    calls = [
        Call(f"kernel_{number}", ("12",), (f"stored_{turn}", f"w{turn + number}"), {"BLOCK": "64"})
        for turn in range(30)
        for number in range(3)
    ]
    (loop,) = reroll(calls)
    assert isinstance(loop, Loop) and len(loop.body) == 3 and len(loop.rows) == 30


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=30))
def test_memory_is_not_used_again_while_it_is_needed(reads: list[tuple[int, int]]) -> None:
    """Every launch reads two values of those that were made before, and makes another."""
    made = ["in_x"]
    launches = []
    for number, pair in enumerate(reads):
        read = [made[-1 - back % len(made)] for back in pair]
        made.append(f"stored_{number}")
        launches.append(_launch("", *read, made[-1]))
    left, names = reuse(launches, [Buffer(name, [_FOUR], "float32") for name in made[1:]])
    assert len(left) + len(names) == len(made) - 1
    holds: dict[str, str] = {}
    for launch in launches:
        *read, written = launch.memory
        assert all(holds.get(names.get(n, n), n) == n for n in read if n != "in_x")
        holds[names.get(written, written)] = written


def test_memory_of_another_shape_is_left_alone() -> None:
    buffers = [Buffer("a", [_FOUR], "float32"), Buffer("b", [_FOUR, _FOUR], "float32")]
    launches = [Launch([], {b.name: b}, ("1",), {}, "4") for b in buffers]
    assert reuse(launches, buffers).names == {}


def test_sizes_that_are_spelled_out_often_get_names() -> None:
    inner = "(s0 - 1) // 2 + 1"
    texts = [f"-(-(s1 * ({inner}) * 64) // 128)", inner] * 40
    sizes = SizeNames(texts, ["s0", "s1"])
    known: dict[str, int] = {"s0": 29, "s1": 3}
    for line in sizes.lines():
        exec(line, known)
    for text in texts:
        assert len(sizes.written(text)) < len(text)
        assert eval(sizes.written(text), known) == eval(text, {"s0": 29, "s1": 3})


def test_sizes_that_are_spelled_out_seldom_stay() -> None:
    sizes = SizeNames(["(s0 - 1) // 2 + 1"] * 7, ["s0"])
    assert sizes.lines() == [] and sizes.written("(s0 - 1) // 2 + 1") == "(s0 - 1) // 2 + 1"
