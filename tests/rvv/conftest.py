"""Judges for RISC-V vectors, where this machine has the tool chain."""

from collections.abc import Iterator

import pytest

from kernelmill.backends import get_backend
from kernelmill.judge import Judge, JudgeSettings

_BACKEND = get_backend("rvv")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    missing = [need for need in _BACKEND.requirements() if not need.found]
    for item in items:
        if missing and "rvv" in item.path.parts:
            need = missing[0]
            item.add_marker(pytest.mark.skip(f"needs {need.name}: {need.remedy}"))


@pytest.fixture(scope="session")
def emulating() -> Iterator[Judge]:
    with Judge(_BACKEND, JudgeSettings(seconds=60.0)) as judge:
        yield judge


@pytest.fixture(scope="session")
def lenient() -> Iterator[Judge]:
    """Without static rules: what do the gates behind them say?"""
    with Judge(_BACKEND, JudgeSettings(seconds=60.0, static_rules=False)) as judge:
        yield judge
