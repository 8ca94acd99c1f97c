"""Warm-up of MKL, imported by the zygote before it forks.

MKL chooses the accuracy of its vector functions on their first call; when that call is a parallel
one, it can return results of low precision. One call each on a single element settles it.
"""

import torch

_FUNCTIONS = (
    "acos", "asin", "atan", "ceil", "cos", "erf", "erfc", "erfinv", "exp", "expm1", "floor",
    "lgamma", "log", "log10", "log1p", "log2", "round", "rsqrt", "sin", "sqrt", "tan", "tanh",
    "trunc",
)  # fmt: skip

for _dtype in (torch.float32, torch.float64):
    for _name in _FUNCTIONS:
        getattr(torch, _name)(torch.full((1,), 0.5, dtype=_dtype))
