"""NaN, infinities, denormals and great magnitudes, and operators that could lose them."""

import math
from collections.abc import Iterable
from typing import Any

import torch
import torch.nn as nn
import torch.nn.functional as F

_NUMBERS = (math.nan, math.inf, -math.inf, -0.0, 1e-40, -1e-40, 1e30, -1e30, 4.5, -0.5, 0.5)
_LAYERS = """relu relu6 hardtanh hardsigmoid hardswish leaky_relu celu elu selu softplus logsigmoid
silu mish hardshrink softshrink""".split()
_UNARY = "sign abs exp expm1 tanh sigmoid sqrt isnan floor".split()
_BINARY = "maximum minimum fmax fmin".split()


def special_inputs() -> list[torch.Tensor]:
    """Every pair of special numbers as two tensors, then rows with and without them."""
    numbers = torch.tensor(_NUMBERS)
    x = torch.randn(6, 40, generator=torch.Generator().manual_seed(0))
    x[1, 7], x[1, 23] = math.nan, -math.nan
    x[2, 3], x[3, 5] = math.inf, -math.inf
    x[4, 11], x[4, 12], x[4, 13] = math.inf, -math.inf, math.nan
    x[5] = -math.inf
    pairs = numbers.repeat(len(numbers), 1), numbers[:, None].repeat(1, len(numbers))
    return [*pairs, x]


class Special(nn.Module):
    """Functions that choose between values, or subtract one of them from the others."""

    def forward(self, x: torch.Tensor, y: torch.Tensor, z: torch.Tensor) -> list[torch.Tensor]:
        return list(self.named(x, y, z).values())

    def named(self, x: torch.Tensor, y: torch.Tensor, z: torch.Tensor) -> dict[str, torch.Tensor]:
        results = {name: getattr(F, name)(x) for name in _LAYERS}
        results |= {name: getattr(torch, name)(x) for name in _UNARY}
        results |= {name: getattr(torch, name)(x, y) for name in _BINARY}
        running, places = z.cummax(1)
        return results | {
            "clamp": x.clamp(-1, 2), "clamp_min": x.clamp(min=0.25), "clamp_max": x.clamp(max=1),
            "threshold": F.threshold(x, 0.1, 20), "where": torch.where(x > y, x, y),
            "log": x.abs().log(), "prelu": F.prelu(x, torch.full((1,), 0.25)),
            "amax": z.amax(1), "amin": z.amin(1), "amax 0": z.amax(0), "amin 0": z.amin(0),
            "max": z.max(), "argmax": z.argmax(1), "argmin": z.argmin(1), "argmax 0": z.argmax(0),
            "cummax": running, "cummax places": places, "cummin": z.cummin(0)[0],
            "softmax": z.softmax(1), "log_softmax": z.log_softmax(1), "logsumexp": z.logsumexp(1),
            "var": z[:4].var(1), "max_pool2d": F.max_pool2d(z[None], 3, 2, 1),
            "topk": z.topk(5, 1)[0], "topk of the least": z.topk(4, 1, largest=False)[0],
        }  # fmt: skip

    def check(self, answers: Iterable[Any]) -> None:
        """Raise where an answer is not the framework's own."""
        for (name, wanted), got in zip(self.named(*special_inputs()).items(), answers, strict=True):
            torch.testing.assert_close(
                torch.as_tensor(got),
                wanted,
                rtol=2e-5,
                atol=2e-5,
                equal_nan=True,
                msg=lambda message, name=name: f"{name}: {message}",
            )
