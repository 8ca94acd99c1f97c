"""Execution of HIVM from the vendor's compiler: correct results, no access out of bounds."""

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelmill.backends.triton_ascend.hivm.machine import LaunchCost, launch_kernel
from kernelmill.backends.triton_ascend.hivm.memory import (
    MemRef,
    OutOfBounds,
    SimulatedMemory,
    row_major_strides,
)
from kernelmill.backends.triton_ascend.hivm.operations import UnknownOperation, find_operation
from kernelmill.backends.triton_ascend.hivm.pipes import Deadlock, Pipes
from kernelmill.backends.triton_ascend.hivm.translate import (
    TranslatedKernel,
    Untranslatable,
    translate_hivm,
)

HERE = Path(__file__).parent / "hivm"
Floats = npt.NDArray[np.float32]
RNG = np.random.default_rng(7)


def text_of(name: str) -> str:
    """Compiled from kernels like those of the examples, for an Ascend 910B3."""
    return (HERE / f"{name}.mlir").read_text()


def kernel(name: str) -> TranslatedKernel:
    return translate_hivm(text_of(name))


def sample(*shape: int) -> Floats:
    return RNG.standard_normal(shape, dtype=np.float32)


def memory(array: Floats) -> SimulatedMemory:
    return SimulatedMemory("tensor", array.reshape(-1).view(np.uint8))


def gelu(x: Floats, y: Floats, count: int | None = None) -> LaunchCost:
    grid = (-(-x.size // 4096), 1, 1)
    return launch_kernel(kernel("gelu"), grid, [memory(x), memory(y), count or x.size])


@pytest.mark.parametrize("count", [1, 7, 4095, 4096, 4097, 10_000])
def test_a_pointwise_kernel_is_right_whatever_the_tail(count: int) -> None:
    x, y = sample(count), np.empty(count, np.float32)
    gelu(x, y)
    expected = 0.5 * x * (1 + np.tanh(0.7978845608 * (x + 0.044715 * x**3)))
    np.testing.assert_allclose(y, expected, atol=2e-6)


def test_a_row_reduction_is_right() -> None:
    x = sample(61, 1009)
    y = np.empty_like(x)
    launch_kernel(kernel("softmax"), (40, 1, 1), [memory(x), memory(y), *x.shape])
    exponential = np.exp(x - x.max(1, keepdims=True))
    np.testing.assert_allclose(y, exponential / exponential.sum(1, keepdims=True), atol=1e-7)


def test_a_blocked_row_reduction_is_right() -> None:
    x, weight, bias = sample(130, 96), sample(96), sample(96)
    y = np.empty_like(x)
    arguments = [*map(memory, (x, weight, bias, y)), *x.shape, np.float32(1e-5)]
    launch_kernel(kernel("layer_norm"), (3, 1, 1), arguments)
    centred = x - x.mean(1, keepdims=True)
    norm = centred / np.sqrt((centred**2).mean(1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(y, norm * weight + bias, atol=1e-5)


def test_products_are_right() -> None:
    a, b = sample(65, 131), sample(131, 97)
    c = np.empty((65, 97), np.float32)
    cost = launch_kernel(kernel("matmul"), (2, 2, 1), [*map(memory, (a, b, c)), 65, 97, 131])
    np.testing.assert_allclose(c, a @ b, atol=1e-4)
    assert cost.busy["M"] > 0
    assert cost.busy["V"] == 0


def test_a_wrong_size_leads_out_of_bounds() -> None:
    with pytest.raises(OutOfBounds, match="tensor"):
        gelu(sample(5000), np.empty(5000, np.float32), count=6000)


def test_time_is_the_same_on_every_repeat() -> None:
    x, y = sample(9000), np.empty(9000, np.float32)
    assert len({gelu(x, y).cycles for _ in range(20)}) == 1


def test_the_memory_plan_is_read() -> None:
    assert kernel("gelu").local_bytes == {"ub": 2 * 4096 * 4}
    assert kernel("matmul").local_bytes.keys() == {"cbuf", "cc"}
    assert kernel("softmax").doubled == 2
    assert (kernel("softmax").core, kernel("matmul").core) == ("AIV", "AIC")


def test_an_unsupported_operation_is_named() -> None:
    with pytest.raises(Untranslatable, match=r"scf\.while"):
        translate_hivm(text_of("gelu").replace("    hivm.hir.set_mask_norm", "    scf.while"))
    with pytest.raises(UnknownOperation, match="vsort_1d_float"):
        find_operation("vsort_1d_float")


@pytest.mark.parametrize("name", ["gelu", "softmax", "layer_norm", "matmul"])
def test_a_translation_uses_only_the_machine(name: str) -> None:
    source = kernel(name).source
    compile(source, name, "exec")
    assert "import" not in source
    assert "__" not in source


def test_a_flag_that_is_never_set_is_a_deadlock() -> None:
    text = text_of("gelu").replace("hivm.hir.set_flag[<PIPE_V>, <PIPE_MTE3>", "annotation.mark [")
    x, y = sample(10), np.empty(10, np.float32)
    with pytest.raises(Deadlock):
        launch_kernel(translate_hivm(text), (1, 1, 1), [memory(x), memory(y), 10])


def test_pipes_overlap_unless_a_flag_says_otherwise() -> None:
    overlapped, ordered = Pipes(), Pipes()
    for pipes in (overlapped, ordered):
        pipes.work("MTE2", 100)
        if pipes is ordered:
            pipes.set_flag("MTE2", "V", 0)
            pipes.wait_flag("MTE2", "V", 0)
        pipes.work("V", 100)
    assert overlapped.cycles < 110
    assert ordered.cycles >= 200


@given(st.lists(st.integers(1, 5), min_size=1, max_size=4))
def test_memrefs_agree_with_numpy(sizes: list[int]) -> None:
    shape = tuple(sizes)
    array = sample(*shape)
    view = MemRef(memory(array), "f32", 0, shape, row_major_strides(shape))
    np.testing.assert_array_equal(view.read(), array)
    whole = view.collapse((tuple(range(len(shape))),))
    np.testing.assert_array_equal(whole.read(), array.reshape(-1))
    again = whole.expand((tuple(range(len(shape))),), shape)
    np.testing.assert_array_equal(again.read(), array)


@given(st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=1, max_size=8))
def test_bfloat16_is_rounded_to_nearest(values: list[float]) -> None:
    view = MemRef(SimulatedMemory.uninitialised("ub", 64), "bf16", 0, (len(values),), (1,))
    exact = np.array(values, np.float32)
    view.write(exact)
    finite = np.isfinite(view.read())
    error = np.abs(view.read()[finite].astype(np.float64) - exact[finite])
    assert (error <= np.maximum(np.abs(exact[finite]) * 2.0**-8, 1e-40)).all()
