"""Whose code it is: identities of files, written pages, and what a profile decides."""

import ctypes
import mmap
import os
from collections.abc import Iterator

import numpy as np
import pytest

from kernelmill.backends import get_backend
from kernelmill.judge import Judge, JudgeSettings
from kernelmill.judge.devices.cpu.code_identity import (
    KnownCode,
    is_page_of_its_file,
    learn_known_code,
)
from kernelmill.judge.devices.cpu.profiling import Sampler
from kernelmill.sandbox import Policy, Sandbox

pytestmark = pytest.mark.isolation

PROGRAM = "kernelmill.judge.devices.cpu.allowed_calls:run_allowed_calls"


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    with Judge(get_backend("cpp"), JudgeSettings(threads=1)) as judge:
        yield judge


@pytest.fixture(scope="module")
def known(judge: Judge) -> KnownCode:
    return learn_known_code(judge.zygote, 1)


@pytest.fixture
def sandbox(judge: Judge) -> Iterator[Sandbox]:
    with judge.zygote.spawn(PROGRAM, {"threads": 1}, Policy()) as sandbox:
        sandbox.request({"do": "list"}, 20.0)
        yield sandbox


def neutral_paths(sandbox: Sandbox, known: KnownCode) -> set[str]:
    regions = sandbox.regions(executable=True)
    return {os.path.basename(r.path) for r in regions if known.is_neutral(r)}


def test_run_time_libraries_are_known_and_compute_libraries_are_not(
    sandbox: Sandbox, known: KnownCode
) -> None:
    names = {name.partition(".")[0] for name in neutral_paths(sandbox, known)}
    assert {"libgomp", "libm", "libmvec", "libstdc++", "libgcc_s", "libc"} <= names
    assert not {name for name in names if name.startswith(("libtorch_cpu", "libscipy_openblas"))}


def test_a_file_is_not_known_by_its_name(sandbox: Sandbox, known: KnownCode) -> None:
    maths = next(r for r in sandbox.regions(executable=True) if "/libm.so" in r.path)
    assert known.is_neutral(maths)
    for other in (maths._replace(inode=maths.inode + 1), maths._replace(device="00:01")):
        assert not known.is_neutral(other)
    assert not known.is_neutral(maths._replace(inode=0))


def sample(sandbox: Sandbox, known: KnownCode, call: str) -> Sampler:
    sampler, rng = Sampler(known, {}), np.random.default_rng()
    sandbox.stop()
    for _ in range(300):
        sampler.sample(sandbox, {"do": call}, 1, 20.0, rng.uniform(0, 0.0005))
        sandbox.receive(20.0)
        if sampler.is_decided:
            break
    sandbox.resume()
    return sampler


@pytest.mark.parametrize(
    "call", ["zeros torch.float32", "transposed torch.float32", "channels last torch.float32"]
)
def test_zero_fill_and_copies_are_not_foreign(
    sandbox: Sandbox, known: KnownCode, call: str
) -> None:
    assert sample(sandbox, known, call).profile().foreign < 0.2


def test_the_same_calls_are_foreign_where_nothing_of_the_framework_is_known(
    sandbox: Sandbox, known: KnownCode
) -> None:
    sampler = sample(sandbox, known._replace(pages=frozenset()), "channels last torch.float32")
    assert sampler.is_decided
    assert sampler.profile().foreign > 0.2
    assert sampler.profile().foreign_ms > 0


def test_nothing_is_decided_before_anything_was_seen(known: KnownCode) -> None:
    assert not Sampler(known, {}).is_decided


def test_written_pages_are_not_their_files() -> None:
    """A page of a private mapping is the file's until somebody writes to it."""
    with open(os.__file__, "rb") as file:
        view = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    address = ctypes.addressof(ctypes.c_char.from_buffer(view))
    assert view[0] is not None
    assert is_page_of_its_file(os.getpid(), address)
    view[0] = 0
    assert not is_page_of_its_file(os.getpid(), address)
    anonymous = ctypes.create_string_buffer(b"x" * 10000)
    assert not is_page_of_its_file(os.getpid(), ctypes.addressof(anonymous) + 5000)
