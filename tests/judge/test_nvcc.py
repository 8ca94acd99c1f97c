"""The build gate of the cuda backend, which needs nvcc and no device."""

import shutil
from collections.abc import Iterator

import pytest

from kernelmill.backends import get_backend
from kernelmill.backends.base import BuildFailed
from kernelmill.backends.reading import read_candidate
from kernelmill.records.candidate import Candidate, Origin
from kernelmill.sandbox import Zygote

pytestmark = pytest.mark.skipif(shutil.which("nvcc") is None, reason="needs nvcc, of NVIDIA's CUDA")

BACKEND = get_backend("cuda")
SOFTMAX = read_candidate(BACKEND.examples() / "starter" / "softmax", Origin.FILE)


@pytest.fixture(scope="module")
def zygote() -> Iterator[Zygote]:
    with Zygote(BACKEND.zygote_modules, 1) as zygote:
        yield zygote


def edited(old: str, new: str) -> Candidate:
    assert old in SOFTMAX.files["kernel.cu"]
    text = SOFTMAX.files["kernel.cu"].replace(old, new)
    return Candidate({**SOFTMAX.files, "kernel.cu": text}, Origin.FILE)


def test_an_honest_kernel_builds_and_nothing_is_found_in_it(zygote: Zygote) -> None:
    built = BACKEND.build(SOFTMAX, zygote)
    assert built.kernels == ("softmax_rows",)
    assert BACKEND.inspect_build(SOFTMAX, built) == []


def test_a_mistake_comes_back_with_its_line(zygote: Zygote) -> None:
    with pytest.raises(BuildFailed) as failure:
        BACKEND.build(edited("float sum = 0.0f;", "float sum = zero;"), zygote)
    assert "zero" in failure.value.evidence[0]


def test_variables_on_the_device_are_refused(zygote: Zygote) -> None:
    kept = edited("constexpr int threads", "__device__ float table[64];\nconstexpr int threads")
    kept = Candidate(
        {
            **kept.files,
            "kernel.cu": kept.files["kernel.cu"].replace(
                "mine[i] / sum", "(table[i] += mine[i] / sum)"
            ),
        },
        Origin.FILE,
    )
    with pytest.raises(BuildFailed, match="on the device between calls"):
        BACKEND.build(kept, zygote)


def test_calls_of_the_run_time_that_no_launcher_needs_are_found(zygote: Zygote) -> None:
    candidate = edited("return cudaGetLastError();", "return cudaDeviceSynchronize();")
    built = BACKEND.build(candidate, zygote)
    assert "imports cudaDeviceSynchronize" in [
        f.what for f in BACKEND.inspect_build(candidate, built)
    ]
