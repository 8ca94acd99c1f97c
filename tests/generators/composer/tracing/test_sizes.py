"""Sizes that a trace leaves open: a kernel takes every shape that its reference takes."""

from typing import Any

import pytest
import torch
from torch import _meta_registrations, nn

from kernelmill.generators.composer.ir.graph import Graph
from kernelmill.generators.composer.tracing.trace import trace_model


@pytest.fixture(autouse=True)
def without_gradients() -> Any:
    with torch.no_grad():
        yield


def rounding_up_to_the_sign_of_the_divisor(x: Any, y: Any) -> Any:
    """How the framework divided the sizes of pools up to torch 2.11: it asks for the remainder."""
    quotient, remainder = x // y, x % y
    if remainder != 0 and (bool(remainder < 0) != bool(y < 0)):
        quotient -= 1
    return quotient


@pytest.mark.parametrize("size", [(64, 64), (63, 65)], ids=str)
def test_a_pool_takes_sizes_that_its_window_does_not_divide(
    size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_meta_registrations, "div_rtn", rounding_up_to_the_sign_of_the_divisor)
    graph = trace_model(nn.Sequential(nn.MaxPool2d(2), nn.Tanh()), [torch.rand(3, 4, *size)])
    assert not graph.conditions
    assert {symbol.axis for symbol in graph.symbols.values()} == {0, 1, 2, 3}


class Pyramid(nn.Module):
    """A network that halves its image until a window of three is left, and flattens that."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Conv2d(2, 2, 3, 2, 1) for _ in range(5))
        self.last = nn.Linear(2, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = torch.relu(layer(x))
        x = torch.nn.functional.avg_pool2d(x, 7)
        return self.last(x.view(x.size(0), -1))


def test_where_sizes_cannot_be_solved_for_the_first_stays_open() -> None:
    graph: Graph = trace_model(Pyramid(), [torch.rand(5, 2, 224, 224)])
    assert [symbol.axis for symbol in graph.symbols.values()] == [0]
