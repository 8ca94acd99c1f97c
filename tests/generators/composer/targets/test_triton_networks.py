"""Whole networks in Triton: their source grows with what is different in them, not with depth."""

import runpy
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from generators.composer.targets.test_triton import (
    answers,
    interpreter,
    needs_triton,
    write,
)
from kernelmill.backends import get_backend
from kernelmill.records.candidate import Candidate, Origin

__all__ = ["interpreter"]


class Residual(nn.Module):
    def __init__(self, depth: int, width: int = 16) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(depth))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = F.relu(F.layer_norm(layer(x), x.shape[-1:]).tanh().sigmoid().exp() + x.sin())
        return x


class Recurrent(nn.Module):
    def __init__(self, steps: int) -> None:
        super().__init__()
        self.inner, self.outer = nn.Linear(24, 16), nn.Linear(16, 8)
        self.steps = steps

    def forward(self, x: torch.Tensor, hidden: torch.Tensor) -> torch.Tensor:
        found = []
        for step in range(self.steps):
            hidden = torch.tanh(self.inner(torch.cat([x[step], hidden], 1)))
            found.append(self.outer(hidden))
        return torch.stack(found)


class Gated(nn.Module):
    """A state that is computed from the state before it, and is never an operand of a product."""

    def __init__(self, steps: int) -> None:
        super().__init__()
        self.gates = nn.Linear(16, 48)
        self.steps = steps

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        state = hidden = x
        for _ in range(self.steps):
            keep, take, given = self.gates(hidden).chunk(3, 1)
            state = keep.sigmoid() * state + take.sigmoid() * given.tanh()
            hidden = state.tanh() * given.sigmoid()
        return hidden


class Dense(nn.Module):
    def __init__(self, depth: int) -> None:
        super().__init__()
        widths = range(8, 8 + 4 * depth, 4)
        self.layers = nn.ModuleList(nn.Conv2d(width, 4, 3, padding=1) for width in widths)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        found = [x]
        for layer in self.layers:
            found.append(layer(torch.cat(found, 1).relu()))
        return torch.cat(found, 1)


class Windows(nn.Module):
    def __init__(self, depth: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Conv2d(4, 4, 3, padding=1, groups=4) for _ in range(depth))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = layer(x).relu()
        return x


def _given(*shapes: tuple[int, ...]) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    return [torch.randn(shape, generator=generator) for shape in shapes]


NETWORKS: dict[str, tuple[Callable[[int], nn.Module], list[torch.Tensor]]] = {
    "residual": (Residual, _given((5, 16))),
    "recurrent": (Recurrent, _given((20, 3, 8), (3, 16))),
    "gated": (Gated, _given((3, 16))),
    "dense": (Dense, _given((2, 8, 6, 5))),
    "windows": (Windows, _given((2, 4, 7, 6))),
}


def _composed(name: str, depth: int, folder: Path) -> nn.Module:
    make, inputs = NETWORKS[name]
    torch.manual_seed(1)
    model = make(depth)
    write(model, [inputs], {}, folder)
    return model


def _source(name: str, depth: int, folder: Path) -> str:
    _composed(name, depth, folder)
    return (folder / "model.py").read_text()


@needs_triton
def test_many_parameters_are_each_checked(tmp_path: Path) -> None:
    model = _composed("residual", 13, tmp_path / "composed")
    found = runpy.run_path(str(tmp_path / "composed" / "model.py"))["ModelNew"]()
    found.load_state_dict(model.state_dict())
    found._modules["layers"]._modules["7"].weight = nn.Parameter(torch.ones(16, 9))
    with pytest.raises(ValueError, match=r"layers\.7\.weight is .* takes float32 \[16, 16\]"):
        found(torch.ones(5, 16))


@needs_triton
@pytest.mark.parametrize("name", NETWORKS)
def test_networks_are_right(name: str, interpreter: subprocess.Popen[str], tmp_path: Path) -> None:
    model = _composed(name, 18, tmp_path / "composed")
    (got,) = answers(interpreter, tmp_path / "composed")
    with torch.no_grad():
        torch.testing.assert_close(got, model(*NETWORKS[name][1]), rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("name", ["residual", "recurrent", "gated", "windows"])
def test_depth_adds_no_kernels(name: str, tmp_path: Path) -> None:
    few, many = (_source(name, depth, tmp_path / str(depth)) for depth in (8, 16))
    assert many.count("@triton.jit") == few.count("@triton.jit")


def test_steps_that_were_unrolled_are_a_loop_again(tmp_path: Path) -> None:
    few, many = (_source("recurrent", steps, tmp_path / str(steps)) for steps in (8, 20))
    assert many.count("](\n") == few.count("](\n")
    assert len(many) - len(few) < 12 * 150


def test_parts_that_are_joined_again_are_not_chosen_from(tmp_path: Path) -> None:
    source = _source("dense", 12, tmp_path / "composed")
    assert source.count("tl.where(") < 60


def test_memory_does_not_grow_with_depth(tmp_path: Path) -> None:
    few, many = (_source("recurrent", steps, tmp_path / str(steps)) for steps in (8, 20))
    assert many.count("torch.empty(") == few.count("torch.empty(")


@pytest.mark.parametrize("name", NETWORKS)
def test_rules_accept_shared_kernels_and_loops(name: str, tmp_path: Path) -> None:
    candidate = Candidate({"model.py": _source(name, 12, tmp_path / "x")}, Origin.COMPOSER)
    assert get_backend("triton").inspect_sources(candidate) == []
