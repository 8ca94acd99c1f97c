"""Compiling for a task's shapes without a device: Triton itself is needed, a GPU is not."""

import io
import tarfile
from collections.abc import Iterator
from pathlib import PurePosixPath

import msgspec
import pytest

pytest.importorskip("triton", reason="Triton is not installed")

from kernelmill.backends import get_backend
from kernelmill.backends.reading import read_candidate
from kernelmill.backends.support.building import BUILD_SECONDS, build_sandbox, read_received
from kernelmill.backends.triton.protocol import AheadRequest
from kernelmill.records.candidate import Origin
from kernelmill.sandbox import Zygote
from kernelmill.tasks import load_suite

_AHEAD = "kernelmill.backends.triton.ahead_of_time"
_SHAPES = [{}, {"batch": 3, "features": 1009}, {"batch": 127, "features": 19}]


@pytest.fixture(scope="module")
def zygote() -> Iterator[Zygote]:
    with Zygote((_AHEAD,), threads=1) as zygote:
        yield zygote


def compiled(sources: dict[str, str], zygote: Zygote) -> list[str]:
    """Names of the files that are left."""
    task = load_suite("starter/softmax")[0]
    request = AheadRequest(sources, task.source, "cpu", _SHAPES, capability=90)
    with build_sandbox(f"{_AHEAD}:compile_ahead", msgspec.to_builtins(request), zygote) as sandbox:
        content = read_received(sandbox.request({"go": True}, BUILD_SECONDS).files)
    assert content
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        return archive.getnames()


def softmax() -> dict[str, str]:
    folder = get_backend("triton").examples() / "starter" / "softmax"
    return read_candidate(folder, Origin.SHIPPED).files


def test_every_shape_has_its_kernel(zygote: Zygote) -> None:
    names = [PurePosixPath(name).suffix for name in compiled(softmax(), zygote)]
    assert names.count(".cubin") == len(_SHAPES)


def test_nothing_is_left_by_what_does_not_load(zygote: Zygote) -> None:
    assert compiled({"model.py": "raise SystemError('no')"}, zygote) == []


def test_what_needs_numbers_is_left_for_the_first_call(zygote: Zygote) -> None:
    sources = softmax()
    reading = sources["model.py"].replace(
        "y = torch.empty", "assert x.sum() > 0\n        y = torch.empty"
    )
    assert reading != sources["model.py"]
    assert compiled({**sources, "model.py": reading}, zygote) == []
