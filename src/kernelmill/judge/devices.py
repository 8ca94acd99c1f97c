"""Which device a backend's candidates run on, and how the judge works there."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from kernelmill.backends.base import Backend, Device
from kernelmill.errors import BackendUnavailable
from kernelmill.judge.bench import Bench
from kernelmill.judge.cuda.bench import CudaBench, device_files, only_device
from kernelmill.judge.host_bench import HostBench
from kernelmill.judge.modelled.bench import ModelledBench
from kernelmill.judge.settings import Settings
from kernelmill.sandbox import Zygote
from kernelmill.tasks.task import Task


class JudgedDevice(NamedTuple):
    framework: str
    """Where the reference is described, by the framework's name for it."""
    modules: tuple[str, ...]
    """Programs of its cells, imported by the warm process."""
    open_bench: Callable[[Backend, Task, Zygote, Settings], Bench[Any]]
    files: Callable[[], tuple[str, ...]] = tuple
    """Device files that a cell which computes there must open."""
    chosen: Callable[[int], Mapping[str, str]] = lambda _: {}
    """What lets cells see one of several devices, in their environment."""


_RUNNER = "kernelmill.judge.runner"
_DEVICES = {
    Device.CPU: JudgedDevice("cpu", (_RUNNER,), lambda _, *rest: HostBench(*rest)),
    Device.MODELLED: JudgedDevice("cpu", (_RUNNER,), ModelledBench),
    Device.CUDA: JudgedDevice(
        "cuda",
        (
            _RUNNER,
            "kernelmill.judge.cuda.runner",
            "kernelmill.judge.cuda.examiner",
        ),
        lambda _, *rest: CudaBench(*rest),
        device_files,
        only_device,
    ),
}


def device_of(backend: Backend) -> JudgedDevice:
    """Raises BackendUnavailable where nobody can judge on it yet."""
    if backend.device not in _DEVICES:
        raise BackendUnavailable(
            f"kernels of backend {backend.name} can be built, but not be judged on an "
            f"{backend.device.upper()} by this version"
        )
    return _DEVICES[backend.device]
