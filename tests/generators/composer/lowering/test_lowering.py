"""Operators, composed and compiled: every table is one library, run at two shapes."""

import ctypes
import importlib.util
import math
import mmap
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn as nn
import torch.nn.functional as F

from generators.composer.special_values import Special, special_inputs
from kernelmill.backends.cpp.binary_rules import check_library
from kernelmill.backends.cpp.source_rules import check_preprocessed, check_text
from kernelmill.backends.support.preprocessing import preprocess
from kernelmill.backends.support.python_rules import PythonRules
from kernelmill.generators.base import Declined
from kernelmill.generators.composer.plan import Plan
from kernelmill.generators.composer.targets.cpp.decisions import CATALOGUE
from kernelmill.generators.composer.targets.cpp.program import CppProgram
from kernelmill.generators.composer.tracing.trace import trace_model
from kernelmill.records.decisions import Choice
from kernelmill.records.task import Task, TensorSpec, Variant
from kernelmill.tasks.module import to_float64
from kernelmill.tensors.torch_side import describe_value

pytestmark = pytest.mark.compiler
_COMPILE = "g++ -std=c++20 -O1 -march=native -fopenmp -shared -fPIC".split()


def task_of(model: nn.Module, inputs: list[Any]) -> Task:
    state = {
        name: TensorSpec(str(tensor.dtype).removeprefix("torch."), tuple(tensor.shape))
        for name, tensor in model.state_dict().items()
    }
    shown = Variant({}, describe_value(inputs, []), (), False)
    return Task("t", "", "", "", "cpu", (shown,), (), (), state, (), 0)


def composed(model: nn.Module, inputs: list[Any], folder: Path, **decisions: Choice) -> nn.Module:
    """The composed candidate, compiled and with the reference's state."""
    with torch.no_grad():
        graph = trace_model(model, inputs)
    plan = Plan({"specialise": False, **decisions}, CATALOGUE)
    files = CppProgram(graph, plan).files(task_of(model, inputs))
    for name, text in files.items():
        rules = PythonRules().check(text, name) if name == "model.py" else check_text(text, name)
        assert not rules
        (folder / name).write_text(text)
    library, source = str(folder / "kernel.so"), str(folder / "kernel.cpp")
    subprocess.run([*_COMPILE, "-o", library, source], check=True)
    assert not check_library(Path(library).read_bytes(), "kernel.so", set())
    become = preprocess(_COMPILE, ["./kernel.cpp"], set(files), folder)
    assert become.source.lines
    assert not check_preprocessed(become.source)
    spec = importlib.util.spec_from_file_location("candidate", folder / "model.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    candidate: nn.Module = module.ModelNew()
    candidate.load_state_dict(model.state_dict())
    return candidate


def assert_same(got: Any, wanted: Any, where: str) -> None:
    if isinstance(wanted, dict):
        assert list(got) == list(wanted)
        got, wanted = list(got.items()), list(wanted.items())
    if isinstance(wanted, list | tuple):
        assert type(got) is type(wanted) and len(got) == len(wanted), where
        for number, (one, other) in enumerate(zip(got, wanted, strict=True)):
            name = other[0] if isinstance(other, tuple) and isinstance(other[0], str) else number
            assert_same(one, other, f"{where} {name}")
    elif isinstance(wanted, torch.Tensor) and wanted.is_floating_point():
        tolerance = 2e-5 * max(1.0, float(wanted.abs().nan_to_num(0, 0, 0).max()))
        torch.testing.assert_close(
            got.double(), wanted.double(), rtol=2e-5, atol=tolerance, msg=lambda m: f"{where}: {m}"
        )
    elif isinstance(wanted, torch.Tensor):
        assert got.dtype == wanted.dtype and torch.equal(got, wanted), where
    else:
        assert got == wanted, where


def check(
    model: nn.Module, make_inputs: Callable[..., list[Any]], folder: Path, **decisions: Choice
) -> None:
    """Composed at the first shape, right at that and at an odd one."""
    torch.manual_seed(0)
    candidate = composed(model, make_inputs(6, 40, 48), folder, **decisions)
    for shape in ((6, 40, 48), (3, 17, 23)):
        inputs = make_inputs(*shape)
        with torch.no_grad():
            assert_same(candidate(*inputs), to_float64(model)(*to_float64(inputs)), str(shape))


class Table(nn.Module):
    """All outputs of a function of the inputs, by name."""

    def __init__(self, function: Callable[..., dict[str, Any]]) -> None:
        super().__init__()
        self._function = function

    def forward(self, *inputs: Any) -> dict[str, Any]:
        return self._function(*inputs)


def two(*shape: int) -> list[Any]:
    return [torch.randn(shape), torch.rand(shape) + 0.5]


def one(*shape: int) -> list[Any]:
    return [torch.randn(shape)]


def whole(*shape: int) -> list[Any]:
    return [torch.randint(-9, 9, shape), torch.randint(1, 5, shape)]


def image(batch: int, height: int, width: int) -> list[Any]:
    return [torch.randn(batch, 4, height, width)]


def volume(batch: int, height: int, width: int) -> list[Any]:
    return [torch.randn(batch, 4, 5, height // 3, width // 2)]


def unary(x: torch.Tensor, y: torch.Tensor) -> dict[str, Any]:
    names = """abs angle ceil cos erf exp exp2 expm1 floor neg relu round sigmoid sign sin square tanh
    trunc erfc asinh frac""".split()
    positive = "acosh log log10 log1p log2 reciprocal rsqrt sqrt lgamma".split()
    layers = """silu mish hardswish hardsigmoid gelu elu selu celu softplus logsigmoid leaky_relu
    relu6 softsign tanhshrink hardtanh hardshrink softshrink""".split()
    results = {name: getattr(torch, name)(x) for name in names}
    results |= {name: getattr(torch, name)(y + 0.6) for name in positive}
    results |= {f"F.{name}": getattr(F, name)(x) for name in layers}
    return results | {"gelu_tanh": F.gelu(x, approximate="tanh"), "isnan": torch.isnan(x)}


def binary(x: torch.Tensor, y: torch.Tensor) -> dict[str, Any]:
    row = y[:, :1, :]
    return {
        "add": torch.add(x, row, alpha=2), "sub": x - 3, "rsub": 2 - x, "div": x / row,
        "floor": torch.div(x, y, rounding_mode="floor"), "trunc": torch.div(x, y, rounding_mode="trunc"),
        "pow": y**x, "cube": x**3, "root": y**0.5, "base": 2.0**x, "max": torch.maximum(x, y),
        "fmod": torch.fmod(x, y), "remainder": torch.remainder(x, y), "atan2": torch.atan2(x, y),
        "where": torch.where(x > 0, x, row), "clamp": torch.clamp(x, -0.5, 0.25),
        "between": torch.clamp(x, -y, y), "fill": x.masked_fill(x < row, -2), "and": (x > 0) & (y > 1),
        "xor": torch.logical_xor(x > 0, y > 1), "not": ~(x > 0), "lerp": torch.lerp(x, y, 0.3),
        "addcmul": torch.addcmul(x, y, y, value=0.5), "copysign": torch.copysign(y, x),
        "hypot": torch.hypot(x, y), "next": torch.sign(torch.nextafter(x, y) - x), "le": x <= row, "half": x.double() * 2,
    }  # fmt: skip


def integers(a: torch.Tensor, b: torch.Tensor) -> dict[str, Any]:
    return {
        "sum": a.sum(), "rows": a.sum(-1), "columns": a.sum(0), "max": a.amax(1), "min": a.amin((0, 2)),
        "prod": (a.sign() * b).prod(2), "mod": a % b, "fmod": torch.fmod(a, b), "floordiv": a // b,
        "not": ~a, "and": a & b, "or": a | b, "xor": a ^ b, "shift": a << 2, "mean": a.float().mean(1),
        "count": (a > 0).sum(1), "any": (a > 8).any(2), "all": (a < 8).all(), "cumsum": a.cumsum(1),
        "argmax": a.argmax(1), "true": a / b, "one_hot": F.one_hot(b, 6), "matmul": a @ b.transpose(1, 2),
        "int32": a.int().amax(2), "abs": a.abs(), "product": torch.clamp(a, 0) * b,
        "large": (a * 10**10 + b).sum(2), "ties": a.topk(7, 2).values,
    }  # fmt: skip


def reductions(x: torch.Tensor) -> dict[str, Any]:
    orders = (0, 1, 2, 3, float("inf"), float("-inf"))
    results: dict[str, Any] = {
        f"norm {order}": torch.linalg.vector_norm(x, order, dim=1) for order in orders
    }
    for name, axes in {"last": 2, "middle": 1, "outer": (0, 2), "first": 0}.items():
        results |= {
            f"sum {name}": x.sum(axes), f"mean {name}": x.mean(axes, keepdim=True),
            f"var {name}": x.var(axes), f"std {name}": x.std(axes, correction=0, keepdim=True),
            f"amax {name}": x.amax(axes), f"logsumexp {name}": x.logsumexp(axes),
        }  # fmt: skip
    for axis in range(3):
        results[f"argmax {axis}"] = x.argmax(axis, keepdim=True)
        results[f"argmin {axis}"] = x.argmin(axis)
        results[f"max {axis}"] = tuple(x.max(axis))
        results[f"prod {axis}"] = (x * 0.1 + 1).prod(axis)
    return results | {
        "all": x.sum(), "mean": x.mean(), "var": x.var(), "max": x.max(), "place": x.argmax(),
        "var_mean": torch.var_mean(x, 1),
    }  # fmt: skip


def folds_of_folds(x: torch.Tensor) -> dict[str, Any]:
    joined = torch.cat([x, x.flip(1)[:, :, 1:] * 2, x[:, :, :1]], 2)
    pieces = torch.stack([x, x.flip(2), -x], 3)
    return {
        "largest": x.amax(2).softmax(1), "sums": x.sum(2).var(1), "pieces": F.layer_norm(pieces.amax(3), x.shape[2:]),
        "few": pieces.sum(3).square().mean(2), "folded": pieces.permute(0, 2, 3, 1).prod(2).amin(2),
        "joined": joined.logsumexp(2), "shares": joined.softmax(2), "place": joined.argmax(2), "across": joined.sum(1),
        "twice": (joined + torch.cat([x[:, :, :1], x, x[:, :, 1:]], 2)).amax(2), "all": joined.sum(),
    }  # fmt: skip


def norms(x: torch.Tensor) -> dict[str, Any]:
    channels = x.shape[1]
    return {
        "softmax": x.softmax(-1), "columns": x.softmax(1), "log": x.log_softmax(0), "softmin": F.softmin(x, 2),
        "layer": F.layer_norm(x, x.shape[-1:]), "layers": F.layer_norm(x, x.shape[-2:]),
        "instance": F.instance_norm(x), "normalize": F.normalize(x, dim=1),
        "batch": F.batch_norm(x, None, None, training=True), "cosine": F.cosine_similarity(x, x.flip(2), 2),
        "rms": x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6), "channels": x / channels,
        "loss": F.mse_loss(x, x.flip(1)), "huber": F.huber_loss(x, x.flip(1)),
        "triplet": F.triplet_margin_loss(x, x.flip(1), x.flip(2)), "clipped": x.norm(dim=2).clamp(1, 2).sum(),
    }  # fmt: skip


def scans(x: torch.Tensor) -> dict[str, Any]:
    results: dict[str, Any] = {}
    for axis in range(3):
        results |= {
            f"sum {axis}": x.cumsum(axis), f"prod {axis}": (1 + 0.1 * x).cumprod(axis),
            f"max {axis}": tuple(x.cummax(axis)), f"min {axis}": tuple(x.cummin(axis)),
            f"log {axis}": (9 * x).logcumsumexp(axis),
            f"back {axis}": x.flip(axis).cumsum(axis).flip(axis),
        }  # fmt: skip
    return results


def views(x: torch.Tensor) -> dict[str, Any]:
    return {
        "slice": x[:, 3:-2:2], "tail": x[:, -5:], "far": x[:, -1000:], "last": x[:, -1], "flip": x.flip(0, 2),
        "cat": torch.cat([x, x[:, :3], x.exp()], 1), "stack": torch.stack([x, -x], 1),
        "pad": F.pad(x, (2, 1, 0, 3), value=7.0), "cut": F.pad(x, (-2, 1)), "repeat": x.repeat(1, 2, 3),
        "roll": x.roll(3, 1), "tril": x.tril(-1), "triu": x.triu(2), "flat": x.flatten(1).contiguous(),
        "turn": x.permute(2, 0, 1).reshape(x.shape[2], -1), "unflatten": x.repeat(1, 2, 1).unflatten(1, (2, -1)),
        "chunk": tuple(x.repeat(1, 2, 1).chunk(2, 1)), "unbind": x[:2].unbind(0)[1], "expand": x[:, :1].expand_as(x),
        "diagonal": x.diagonal(0, 1, 2), "interleave": x.repeat_interleave(2, 1), "reflect": F.pad(x, (2, 2), "reflect"),
        "edge": F.pad(x, (2, 2), "replicate"), "arange": torch.arange(2, x.shape[1]), "steps": torch.arange(0, 1, 0.125),
        "eye": torch.eye(x.shape[1]), "zeros": torch.zeros_like(x), "full": x.new_full((2, x.shape[0]), 3),
        "meshgrid": torch.meshgrid(torch.arange(x.shape[0]), torch.arange(x.shape[1]), indexing="ij")[1],
        "unfold": x.unfold(1, 5, 3), "move": x.movedim(0, 2), "squeeze": x[:, :1].squeeze(1), "same": x,
        "swap": x.transpose(1, 2).contiguous(), "rot": x.rot90(1, (1, 2)),
    }  # fmt: skip


def places(batch: int, height: int, width: int) -> list[Any]:
    x = torch.randn(batch, height, width)
    return [x, torch.randint(0, height, (batch, 7, width)), torch.randint(-height, height, (9,)),
            torch.tensor([0, 2, 2, 8])]  # fmt: skip


def indexing(
    x: torch.Tensor, along: torch.Tensor, rows: torch.Tensor, starts: torch.Tensor
) -> dict[str, Any]:
    positive = rows.abs() % x.shape[1]
    few = positive % 3
    table = x[0]
    update = x[:, : rows.shape[0]]
    return {
        "gather": x.gather(1, along), "along": torch.take_along_dim(x, along, 1), "select": x.index_select(1, positive),
        "rows": x[:, rows], "pair": x[few, :, few], "column": x[few[:, None], rows], "embedding": F.embedding(positive, table),
        "put": x.index_put((few, torch.arange(9)), torch.arange(9)[:, None].to(x.dtype)), "add": x.index_put((few, few), x.new_ones(9, 1), accumulate=True),
        "index_add": x.index_add(1, positive, update), "scatter": x.scatter(1, along[:, :1], 5.0),
        "scatter_add": x.scatter_add(1, along, x[:, :7] * 2), "most": x.scatter_reduce(1, along, x[:, :7].exp(), "amax"),
        "bag": F.embedding_bag(positive, table, starts, mode="sum"), "bags": F.embedding_bag(positive, table, starts, mode="mean"),
        "ended": F.embedding_bag(positive[:8], table, starts, mode="sum", include_last_offset=True), "even": F.embedding_bag(few.view(3, 3), table),
        "topk": tuple(x.topk(5, 1)), "least": tuple(x.topk(3, -1, largest=False)), "sort": tuple(x.sort(2, descending=True)),
        "nll": F.cross_entropy(table, positive[:1].expand(table.shape[0]) % table.shape[1]),
    }  # fmt: skip


def many(batch: int, height: int, width: int) -> list[Any]:
    """Enough for several threads."""
    rows = 100 * batch
    return [torch.randn(rows, width), torch.randint(0, height, (rows,)), torch.randn(height, width)]


def shared(x: torch.Tensor, places: torch.Tensor, base: torch.Tensor) -> dict[str, Any]:
    flat = x.flatten()
    return {
        "index_add": base.index_add(0, places, x), "largest": base.scatter_reduce(0, places[:, None].expand_as(x), x, "amax"),
        "counts": base[:, 0].index_add(0, places.repeat(40), torch.ones_like(places).repeat(40).to(x.dtype)),
        "bags": F.embedding_bag(places.view(-1, 4), base, mode="sum"), "topk": tuple(x.topk(3, 0)),
        "max": flat.max(), "sum": flat.sum(), "rows": x.square().sum(1).sqrt().sum(),
        "einsum": torch.einsum("ijl,lk->ijk", x.unflatten(0, (-1, 4)), base.T),
    }  # fmt: skip


def pooling(x: torch.Tensor) -> dict[str, Any]:
    flat = x.flatten(1, 2)
    return {
        "max": F.max_pool2d(x, 3, 2, 1), "ceil": F.max_pool2d(x, 3, 2, 1, ceil_mode=True),
        "dilated": F.max_pool2d(x, 2, 1, dilation=3), "places": F.max_pool2d(x, (2, 3), return_indices=True),
        "line": F.max_pool1d(flat, 4, 3, 1), "average": F.avg_pool2d(x, 3, 2, 1), "inner": F.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
        "over": F.avg_pool2d(x, 3, 2, 1, ceil_mode=True), "inner over": F.avg_pool2d(x, 3, 2, 1, True, False),
        "divided": F.avg_pool2d(x, 2, divisor_override=3), "averages": F.avg_pool1d(flat, 5, 2),
        "adaptive": F.adaptive_avg_pool2d(x, (5, 7)), "single": F.adaptive_avg_pool2d(x, 1),
        "cube": F.max_pool3d(x, 2), "lp": F.lp_pool2d(x, 2.0, 3), "adaptive max": F.adaptive_max_pool2d(x, (3, 5)),
    }  # fmt: skip


class Convolutions(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.plain = nn.ModuleList(
            [
                nn.Conv2d(4, 6, 3, padding=1), nn.Conv2d(4, 8, (3, 1), stride=2, dilation=2, bias=False),
                nn.Conv2d(4, 8, 3, groups=4), nn.Conv2d(4, 6, 5, groups=2, padding="same"),
                nn.Conv2d(4, 4, 3, padding=1, padding_mode="reflect"), nn.ConvTranspose2d(4, 5, 3),
                nn.ConvTranspose2d(4, 5, 4, stride=2, padding=1), nn.ConvTranspose2d(4, 6, 3, 2, 1, 1, groups=2),
                nn.ConvTranspose2d(4, 3, 2, stride=1, padding=2), nn.ConvTranspose2d(4, 3, 3, 2, 1, 1, dilation=2),
            ]
        )  # fmt: skip
        self.lines = nn.Sequential(
            nn.Conv1d(4, 6, 5, padding=2), nn.GELU(), nn.ConvTranspose1d(6, 2, 3, 3)
        )
        self.solid = nn.Conv3d(1, 3, 3, padding=1)

    def forward(self, x: torch.Tensor) -> list[torch.Tensor]:
        results = [layer(x) for layer in self.plain]
        return [*results, self.lines(x[:, :, 2]), self.solid(x[:, None])]


class Volumes(nn.Module):
    """Windows in one to three dimensions whose outputs fall into phases, some without a tap."""

    def __init__(self) -> None:
        super().__init__()
        self.solid = nn.ModuleList(
            [
                nn.Conv3d(4, 9, (3, 5, 2), stride=(2, 1, 1), padding=(1, 2, 0)), nn.Conv3d(4, 6, 2, groups=2, dilation=(1, 2, 3)),
                nn.ConvTranspose3d(4, 5, 4, stride=2, padding=1), nn.ConvTranspose3d(4, 3, (1, 3, 2), stride=(1, 2, 3)),
                nn.ConvTranspose3d(4, 8, 3, (2, 2, 1), (1, 0, 2), (1, 1, 0), groups=2, dilation=(1, 2, 1)),
            ]
        )  # fmt: skip
        self.lines = nn.ModuleList(
            [
                nn.ConvTranspose1d(4, 3, 5, stride=3, padding=4), nn.ConvTranspose1d(4, 10, 2, stride=5),
                nn.ConvTranspose1d(4, 3, 3, stride=2, dilation=2, output_padding=1),
            ]
        )  # fmt: skip

    def forward(self, x: torch.Tensor) -> list[torch.Tensor]:
        volumes = [F.relu(layer(x)) for layer in self.solid]
        return [*volumes, *(layer(x[:, :, 1, 0]) for layer in self.lines)]


def resampling(x: torch.Tensor) -> dict[str, Any]:
    size = [x.shape[0], 1, x.shape[2], x.shape[3]]
    shifts = 0.1 * x[:, 0, :2, :3] + torch.eye(2, 3)
    grid = F.affine_grid(shifts, size, align_corners=False)
    return {
        "grid": grid, "corners": F.affine_grid(shifts, size, align_corners=True),
        "sampled": F.grid_sample(x, grid, align_corners=False),
        "bilinear": F.interpolate(x, scale_factor=2, mode="bilinear"),
        "to size": F.interpolate(x, size=(7, 9), mode="bilinear", align_corners=True),
        "bicubic": F.interpolate(x, scale_factor=2, mode="bicubic"),
        "nearest": F.interpolate(x, scale_factor=2), "linear": F.interpolate(x[:, 0], scale_factor=3, mode="linear"),
        "mish": torch.ops.aten.mish_backward(x, x), "gelu": torch.ops.aten.gelu_backward(x, x),
    }  # fmt: skip


class Half(nn.Module):
    """Kinds of kernels, with parameters."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(4, 8, 3, padding=1)
        self.linear, self.norm = nn.Linear(8, 40), nn.LayerNorm(40)
        self.table = nn.Embedding(5, 8)

    def forward(self, x: torch.Tensor, places: torch.Tensor) -> dict[str, Any]:
        image = F.gelu(self.conv(x))
        rows = self.linear(image.mean(-1).mT)
        heads = rows.view(*rows.shape[:2], 5, 8).transpose(1, 2)
        return {
            "image": image, "norm": self.norm(rows), "softmax": rows.softmax(-1), "sum": x.sum(), "rows": self.table(places),
            "attention": F.scaled_dot_product_attention(heads, heads, heads), "largest": x.argmax(-1), "joined": torch.cat([x, x.half()], 1),
        }  # fmt: skip


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_is_stored_and_not_computed_with(dtype: torch.dtype, tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = Half().to(dtype)
    inputs = [torch.randn(3, 4, 6, 16).to(dtype), torch.tensor([[0, 4, 2]])]
    candidate = composed(model, inputs, tmp_path).to(dtype)
    wanted = to_float64(model)(*to_float64(inputs))
    got = candidate(*inputs)
    for name, value in model(*inputs).items():
        assert got[name].dtype == value.dtype
        rounded = wanted[name].to(value.dtype).double()
        step = float(torch.finfo(dtype).eps) if value.is_floating_point() else 0.0
        torch.testing.assert_close(got[name].double(), rounded, rtol=step, atol=1e-3 * step)


class Structure(nn.Module):
    """Names, containers and constants."""

    mask: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.Sequential(
            nn.Linear(8, 8), nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8))
        )
        self.gain = nn.ParameterList([nn.Parameter(torch.rand(8)), nn.Parameter(torch.rand(8))])
        self.register_buffer("mask", torch.full((4, 4), float("-inf")).triu(1), persistent=False)
        self.offsets = torch.tensor([0.5, -1.5, 2.0, 0.25])
        self.middle = torch.tensor(0.5)

    def forward(
        self, items: list[torch.Tensor], scale: float, last: torch.Tensor
    ) -> dict[str, Any]:
        x, y = items
        scores = (x @ y.T)[:4, :4] + self.mask
        return {
            "blocks": (self.blocks(x),), "gain": [x * self.gain[1], {"y": y * scale}],
            "scores": scores.softmax(-1), "offsets": last[..., None] + self.offsets, "half": self.middle * last.sum(),
            "sizes": x.shape[1],
        }  # fmt: skip


def structured(batch: int, height: int, width: int) -> list[Any]:
    return [[torch.randn(batch + 4, 8), torch.randn(height, 8)], 1.5, torch.randn(width)]


TABLES: dict[str, tuple[nn.Module, Callable[..., list[Any]]]] = {
    "unary": (Table(unary), two),
    "binary": (Table(binary), two),
    "integers": (Table(integers), whole),
    "reductions": (Table(reductions), one),
    "folds of folds": (Table(folds_of_folds), one),
    "norms": (Table(norms), one),
    "scans": (Table(scans), one),
    "views": (Table(views), one),
    "indexing": (Table(indexing), places),
    "shared": (Table(shared), many),
    "pooling": (Table(pooling), image),
    "resampling": (Table(resampling), image),
    "convolutions": (Convolutions(), image),
    "volumes": (Volumes(), volume),
    "structure": (Structure(), structured),
}


@pytest.mark.parametrize("name", TABLES)
def test_operators_agree_with_torch_in_double(name: str, tmp_path: Path) -> None:
    model, make_inputs = TABLES[name]
    check(model, make_inputs, tmp_path)


@pytest.mark.parametrize("choice", [{"split": "columns"}, {"split": "rows"}, {"operand": "packed"}])
def test_windows_agree_however_they_are_read(choice: dict[str, str], tmp_path: Path) -> None:
    model = nn.Sequential(nn.ConvTranspose3d(4, 5, 3, 2, 1), nn.Conv3d(5, 17, 3, padding=1))
    check(model, volume, tmp_path, **choice)


def test_products_are_exact_and_read_nothing_past_the_end(tmp_path: Path) -> None:
    model = Table(lambda a, b, x, y: {"deep": a @ b, "narrow": x @ y})
    torch.manual_seed(0)
    shown = [torch.randn(9, 99), torch.randn(99, 40), torch.randn(7, 5, 8), torch.randn(7, 8, 6)]
    candidate = composed(model, shown, tmp_path)
    right = at_the_edge(2, 5, 3)
    inputs = [torch.randn(9, 1 << 16), torch.randn(1 << 16, 40), torch.randn(2, 4, 5), right]
    deep, narrow = candidate(*inputs).values()
    assert torch.allclose(narrow, inputs[2] @ right, atol=1e-5)
    exact = inputs[0].double() @ inputs[1].double()
    assert (deep - exact).norm() < 1e-6 * exact.norm()


def at_the_edge(*shape: int) -> torch.Tensor:
    """A tensor behind which no memory can be read."""
    size, nothing = mmap.PAGESIZE, 0
    memory = mmap.mmap(-1, 2 * size)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(address + size), size, nothing) == 0
    count = math.prod(shape)
    edge = torch.frombuffer(memory, dtype=torch.float32, count=count, offset=size - 4 * count)
    return edge.copy_(torch.randn(count)).view(shape)


def test_special_values_come_out_as_in_the_framework(tmp_path: Path) -> None:
    candidate = composed(Special(), special_inputs(), tmp_path)
    Special().check(candidate(*special_inputs()))


def test_what_cannot_be_lowered_is_declined_by_name() -> None:
    model = Table(lambda x: {"y": torch.linalg.qr(x)[0]})
    graph = trace_model(model, [torch.randn(4, 4)])
    with pytest.raises(Declined, match=r"aten\.linalg_qr"):
        CppProgram(graph, Plan({}, CATALOGUE))


class Chain(nn.Module):
    """Something for every decision to bear on."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(33, 40)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        normed = F.layer_norm(F.gelu(self.linear(x)), (40,))
        return torch.softmax(normed, dim=1) + normed.mean(dim=0)


UNUSUAL = [(name, choice) for name, one in CATALOGUE.items() for choice in one.choices[1:2]]


@pytest.mark.parametrize("part", range(3))
def test_no_decision_changes_what_is_computed(part: int, tmp_path: Path) -> None:
    model, x = Chain(), torch.randn(50, 33)
    for number, (name, choice) in enumerate(UNUSUAL[part::3]):
        folder = tmp_path / str(number)
        folder.mkdir()
        candidate = composed(model, [x], folder, **{name: choice})
        with torch.no_grad():
            assert_same(candidate(x), model(x), f"{name}={choice}")


@pytest.mark.parametrize("way", CATALOGUE["moments"].choices)
def test_a_row_of_equal_elements_is_its_own_mean(way: str, tmp_path: Path) -> None:
    model = nn.LayerNorm(44)
    rows = [torch.tensor([[1 / 3], [7.1], [0.01]]).expand(3, 44).contiguous()]
    candidate = composed(model, rows, tmp_path, moments=way)
    with torch.no_grad():
        assert torch.equal(candidate(*rows), model.bias.expand(3, 44))
