"""Every built-in backend conforms."""

import pytest

from kernelmill.backends import get_backend
from kernelmill.backends.base import Backend
from kernelmill.conformance.backend import BackendConformance


class TestCpp(BackendConformance):
    def backend(self) -> Backend:
        return get_backend("cpp")


class TestCuda(BackendConformance):
    def backend(self) -> Backend:
        return get_backend("cuda")


class TestTriton(BackendConformance):
    def backend(self) -> Backend:
        return get_backend("triton")


class TestTritonAscend(BackendConformance):
    def backend(self) -> Backend:
        return get_backend("triton_ascend")

    @pytest.mark.npu("triton_ascend")
    def test_an_example_passes_the_judge(self) -> None:
        super().test_an_example_passes_the_judge()


class TestPypto(BackendConformance):
    def backend(self) -> Backend:
        return get_backend("pypto")

    @pytest.mark.npu("pypto")
    def test_an_example_passes_the_judge(self) -> None:
        super().test_an_example_passes_the_judge()


class TestAscendC(BackendConformance):
    def backend(self) -> Backend:
        return get_backend("ascendc")
