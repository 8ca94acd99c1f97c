"""Which parameters of long tests run in `make test`, and which in `make test-slow` alone."""

from collections.abc import Sequence
from typing import Any

import pytest


def one_in(every: int, items: Sequence[Any]) -> list[Any]:
    """Parameters of which one in `every` runs in `make test`, and all in `make test-slow`."""
    return [
        item if number % every == 0 else pytest.param(item, marks=pytest.mark.slow)
        for number, item in enumerate(items)
    ]
