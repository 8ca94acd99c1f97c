"""Execution of HIVM from the vendor's compiler: correct results, no access out of bounds."""

import subprocess
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from kernelmill.backends.triton_ascend.hivm.affine import AffineExpression
from kernelmill.backends.triton_ascend.hivm.library import UnknownOperation, Value, write_call
from kernelmill.backends.triton_ascend.hivm.machine import (
    BuiltKernel,
    Deadlock,
    GlobalTensor,
    HivmMachine,
    LaunchCost,
    OutOfBounds,
)
from kernelmill.backends.triton_ascend.hivm.runtime import COMMAND, LIBRARY, LINK, runtime_sources
from kernelmill.backends.triton_ascend.hivm.translate import (
    TranslatedKernel,
    Untranslatable,
    kept_axes,
    translate_hivm,
)

pytestmark = pytest.mark.compiler

HERE = Path(__file__).parent / "hivm"
Floats = npt.NDArray[np.float32]
RNG = np.random.default_rng(7)


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> HivmMachine:
    folder = tmp_path_factory.mktemp("hivm")
    for name, text in runtime_sources().items():
        (folder / name).write_text(text)
    sources = [name for name in runtime_sources() if name.endswith(".c")]
    command = [*COMMAND, "-Wall", "-Wextra", "-Werror", "-o", LIBRARY, *sources, *LINK]
    subprocess.run(command, cwd=folder, check=True)
    return HivmMachine(folder / LIBRARY, folder)


def text_of(name: str) -> str:
    """Compiled from kernels like those of the examples, for an Ascend 910B3."""
    return (HERE / f"{name}.mlir").read_text()


def kernel(name: str) -> TranslatedKernel:
    return translate_hivm(text_of(name))


def sample(*shape: int) -> Floats:
    return RNG.standard_normal(shape, dtype=np.float32)


def tensor(array: Floats) -> GlobalTensor:
    return GlobalTensor("tensor", array.reshape(-1).view(np.uint8))


def gelu(built: BuiltKernel, x: Floats, y: Floats, count: int | None = None) -> LaunchCost:
    grid = (-(-x.size // 4096), 1, 1)
    return built.launch(grid, [tensor(x), tensor(y), count or x.size])


@pytest.fixture(scope="module")
def built_gelu(machine: HivmMachine) -> BuiltKernel:
    return machine.build(kernel("gelu"))


@pytest.mark.parametrize("count", [1, 7, 4095, 4096, 4097, 10_000])
def test_a_pointwise_kernel_is_right_whatever_the_tail(built_gelu: BuiltKernel, count: int) -> None:
    x, y = sample(count), np.empty(count, np.float32)
    gelu(built_gelu, x, y)
    expected = 0.5 * x * (1 + np.tanh(0.7978845608 * (x + 0.044715 * x**3)))
    np.testing.assert_allclose(y, expected, atol=2e-6)


def test_a_row_reduction_is_right(machine: HivmMachine) -> None:
    x = sample(61, 1009)
    y = np.empty_like(x)
    machine.build(kernel("softmax")).launch((40, 1, 1), [tensor(x), tensor(y), *x.shape])
    exponential = np.exp(x - x.max(1, keepdims=True))
    np.testing.assert_allclose(y, exponential / exponential.sum(1, keepdims=True), atol=1e-7)


def test_a_blocked_row_reduction_is_right(machine: HivmMachine) -> None:
    x, weight, bias = sample(130, 96), sample(96), sample(96)
    y = np.empty_like(x)
    arguments = [*map(tensor, (x, weight, bias, y)), *x.shape, 1e-5]
    machine.build(kernel("layer_norm")).launch((3, 1, 1), arguments)
    centred = x - x.mean(1, keepdims=True)
    norm = centred / np.sqrt((centred**2).mean(1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(y, norm * weight + bias, atol=1e-5)


def test_products_are_right(machine: HivmMachine) -> None:
    a, b = sample(65, 131), sample(131, 97)
    c = np.empty((65, 97), np.float32)
    built = machine.build(kernel("matmul"))
    cost = built.launch((2, 2, 1), [*map(tensor, (a, b, c)), 65, 97, 131])
    np.testing.assert_allclose(c, a @ b, atol=1e-4)
    assert cost.busy["M"] > 0
    assert cost.busy["V"] == 0


def attention(machine: HivmMachine, text: str) -> tuple[Floats, Floats, LaunchCost]:
    q, k, v = (sample(16, 64, 64) for _ in range(3))
    out = np.empty_like(q)
    built = machine.build(translate_hivm(text))
    cost = built.launch((16, 1, 1), [*map(tensor, (q, k, v, out))])
    scores = q @ k.transpose(0, 2, 1) / 8
    scores[:, *np.triu_indices(64, 1)] = -np.inf
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return out, weights / weights.sum(-1, keepdims=True) @ v, cost


def test_cube_and_vector_cores_work_together(machine: HivmMachine) -> None:
    assert kernel("causal_attention").core == "MIX"
    out, expected, cost = attention(machine, text_of("causal_attention"))
    np.testing.assert_allclose(out, expected, atol=1e-5)
    assert min(cost.busy["M"], cost.busy["V"], cost.busy["FIX"], cost.busy["MTE3"]) > 0


def test_cores_that_wait_for_each_other_are_a_deadlock(machine: HivmMachine) -> None:
    text = text_of("causal_attention")
    broken = text.replace("hivm.hir.sync_block_set[<VECTOR>, <PIPE_MTE3>", "annotation.mark [")
    assert broken != text
    with pytest.raises(Deadlock, match="wait for each other"):
        attention(machine, broken)


def test_a_wrong_size_leads_out_of_bounds(built_gelu: BuiltKernel) -> None:
    with pytest.raises(OutOfBounds, match="tensor"):
        gelu(built_gelu, sample(5000), np.empty(5000, np.float32), count=6000)


def test_time_is_the_same_on_every_repeat(built_gelu: BuiltKernel) -> None:
    x, y = sample(9000), np.empty(9000, np.float32)
    costs = [gelu(built_gelu, values, y) for values in (x, -x) for _ in range(10)]
    assert all(cost == costs[0] for cost in costs)


def test_the_memory_plan_is_read() -> None:
    assert kernel("gelu").local_bytes == {"ub": 2 * 4096 * 4}
    assert kernel("matmul").local_bytes.keys() == {"cbuf", "cc"}
    assert kernel("softmax").doubled == 2
    assert (kernel("softmax").core, kernel("matmul").core) == ("AIV", "AIC")


def test_an_unsupported_operation_is_named() -> None:
    with pytest.raises(Untranslatable, match=r"scf\.while"):
        translate_hivm(text_of("gelu").replace("    hivm.hir.set_mask_norm", "    scf.while"))
    with pytest.raises(UnknownOperation, match="vsort_1d_float"):
        write_call("vsort_1d_float", [Value("a", "View"), Value("b", "View")])


def test_a_flag_that_is_never_set_is_a_deadlock(machine: HivmMachine) -> None:
    text = text_of("gelu").replace("hivm.hir.set_flag[<PIPE_V>, <PIPE_MTE3>", "annotation.mark [")
    x, y = sample(10), np.empty(10, np.float32)
    with pytest.raises(Deadlock):
        gelu(machine.build(translate_hivm(text)), x, y)


def test_pipes_overlap_unless_a_flag_says_otherwise(built_gelu: BuiltKernel) -> None:
    x, y = sample(4096), np.empty(4096, np.float32)
    cost = gelu(built_gelu, x, y)
    one_after_the_other = sum(cost.busy[pipe] for pipe in ("MTE2", "V", "MTE3"))
    assert one_after_the_other <= cost.cycles - 3700 <= one_after_the_other + cost.busy["S"]


@pytest.mark.parametrize(
    ("sizes", "wanted", "kept"),
    [
        (["1", "32", "1"], ["1", "32"], (0, 1)),
        (["1", "32", "1"], ["32", "1"], (1, 2)),
        (["1", "n"], ["?"], (1,)),
        (["1"], [], ()),
        (["2", "1"], ["1", "2"], None),
    ],
)
def test_a_part_of_a_view_keeps_the_axes_of_its_type(
    sizes: list[str], wanted: list[str], kept: tuple[int, ...] | None
) -> None:
    assert kept_axes(sizes, wanted) == kept


@pytest.mark.parametrize(
    ("name", "order"),
    [
        ("transpose_2d_with_last_axis_float", "1, 0"),
        ("vtranspose_3d_with_last_axis_half", "2, 1, 0"),
        ("transpose_3d_without_last_axis_float", "1, 0, 2"),
    ],
)
def test_a_transpose_turns_the_axes_that_its_name_says(name: str, order: str) -> None:
    call = write_call(name, [Value("a", "View"), Value("b", "View"), Value("room", "View")])
    assert call == f"transpose(core, &a, &b, (int[]){{{order}}})"


@pytest.mark.parametrize(("letters", "axes"), [("ar", 2), ("ra0a1", 1), ("ara", 2), ("aar", 4)])
def test_a_reduction_folds_the_axes_that_its_name_says(letters: str, axes: int) -> None:
    operands = [Value("a", "View"), Value("b", "View"), Value("start", "float")]
    call = write_call(f"reduce_sum_{letters}_float", operands)
    assert call == f"reduce(core, ADD, {axes}u, &a, &b, REAL(start))"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("s0 * 64 + s1", "((a * 64) + b)"),
        ("(s0 floordiv 32) mod 2", "modulus(floor_quotient(a, 32), 2)"),
        ("-s0 + 8", "((-a) + 8)"),
    ],
)
def test_affine_maps_become_c(text: str, code: str) -> None:
    assert AffineExpression(text, {"s0": "a", "s1": "b"}).code() == code


@pytest.mark.parametrize("text", ["s0 +", "s2", "(s0", "s0; system(1)", "s0 s1"])
def test_what_is_no_affine_map_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        AffineExpression(text, {"s0": "a", "s1": "b"}).code()
