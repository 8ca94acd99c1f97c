"""Every built-in backend conforms."""

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


class TestPypto(BackendConformance):
    def backend(self) -> Backend:
        return get_backend("pypto")


class TestAscendC(BackendConformance):
    def backend(self) -> Backend:
        return get_backend("ascendc")
