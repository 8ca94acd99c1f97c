"""Fixtures for all tests, and skips of the tests that this machine cannot run."""

import functools
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from kernelmill.backends import get_backend
from kernelmill.judge import Judge, JudgeSettings
from kernelmill.sandbox import Features, Tier, probe_features

PROJECT = Path(__file__).parent.parent

# The result of a test must not depend on how busy the machine is.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")


@functools.cache
def _features() -> Features:
    return probe_features()


@functools.cache
def _has_gpu() -> bool:
    return shutil.which("nvidia-smi") is not None


def _toolchain_problem(backend: str) -> str:
    environment = get_backend(backend).environment
    return environment.trouble() if environment else ""


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("compiler") and not shutil.which("g++"):
        pytest.skip("needs a C++ compiler: apt-get install g++")
    if item.get_closest_marker("gpu") and not _has_gpu():
        pytest.skip("needs a CUDA device (make test-gpu on a machine with one)")
    if item.get_closest_marker("local_model") and "local_model" not in item.config.option.markexpr:
        pytest.skip("asks a real model: make test-model")
    if item.get_closest_marker("browser") and "browser" not in item.config.option.markexpr:
        pytest.skip("drives a browser: make test-browser")
    needed = item.get_closest_marker("npu")
    if needed and (problem := _toolchain_problem(needed.args[0])):
        pytest.skip(f"the {needed.args[0]} tool chain is {problem}: make test-npu")
    if item.get_closest_marker("isolation") and _features().tier < Tier.FULL:
        pytest.skip(f"needs full isolation, this machine grants {_features().tier}")


@pytest.fixture(scope="session")
def judge() -> Iterator[Judge]:
    """One judge per test process; with few timing rounds, since these tests are not about time."""
    with Judge(
        get_backend("cpp"), JudgeSettings(rounds=6, seconds=20.0, harness_bytes=2 << 30)
    ) as judge:
        yield judge
