"""Which device a backend's candidates run on, and how the judge works there."""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import Any, NamedTuple

from kernelmill.backends.base import Backend, Device
from kernelmill.errors import BackendUnavailable
from kernelmill.judge.bench import Bench
from kernelmill.judge.cuda.bench import CudaBench, device_files, only_device
from kernelmill.judge.cuda.reserve import Reserve
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
    benches: Callable[[Backend, Zygote, Settings, ExitStack], Callable[[Task], Bench[Any]]]
    """For one judge, who closes the stack in the end: what opens its benches."""
    files: Callable[[], tuple[str, ...]] = tuple
    """Device files that a cell which computes there must open."""
    chosen: Callable[[int], Mapping[str, str]] = lambda _: {}
    """What lets cells see one of several devices, in their environment."""


def _host_benches(
    _: Backend, zygote: Zygote, settings: Settings, __: ExitStack
) -> Callable[[Task], Bench[Any]]:
    return lambda task: HostBench(task, zygote, settings)


def _modelled_benches(
    backend: Backend, zygote: Zygote, settings: Settings, _: ExitStack
) -> Callable[[Task], Bench[Any]]:
    return lambda task: ModelledBench(backend, task, zygote, settings)


def _cuda_benches(
    _: Backend, zygote: Zygote, settings: Settings, leaving: ExitStack
) -> Callable[[Task], Bench[Any]]:
    reserve = Reserve(zygote)
    leaving.callback(reserve.close)
    return lambda task: CudaBench(task, zygote, settings, reserve)


_RUNNER = "kernelmill.judge.runner"
_DEVICES = {
    Device.CPU: JudgedDevice("cpu", (_RUNNER,), _host_benches),
    Device.MODELLED: JudgedDevice("cpu", (_RUNNER,), _modelled_benches),
    Device.CUDA: JudgedDevice(
        "cuda",
        (
            _RUNNER,
            "kernelmill.judge.cuda.runner",
            "kernelmill.judge.cuda.examiner",
        ),
        _cuda_benches,
        device_files,
        only_device,
    ),
}


def device_of(backend: Backend) -> JudgedDevice:
    """Raises BackendUnavailable where nobody can judge on it yet, or it is not here."""
    if backend.device not in _DEVICES:
        raise BackendUnavailable(
            f"kernels of backend {backend.name} can be built, but not be judged on an "
            f"{backend.device.upper()} by this version"
        )
    if backend.device is Device.CUDA:
        backend.demand_requirements()  # not even a task could be loaded
    return _DEVICES[backend.device]
