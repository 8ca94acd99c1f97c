"""Device kinds that candidates are judged on: the built-in ones and plug-ins."""

from kernelmill.backends.base import Backend
from kernelmill.judge.devices.base import JudgedDevice
from kernelmill.plugins import construct, plugin_names
from kernelmill.records.errors import BackendUnavailable
from kernelmill.records.numerics import Numerics, choose_numerics

_GROUP = "kernelmill.devices"


def device_kinds() -> tuple[str, ...]:
    return plugin_names(_GROUP)


def get_device(backend: Backend) -> JudgedDevice:
    """The device kind that a backend names. Raises BackendUnavailable where there is none."""
    if backend.device_kind not in device_kinds():
        raise BackendUnavailable(
            f"kernels of backend {backend.name} can be built, but not judged: no device kind "
            f"{backend.device_kind!r} is installed"
        )
    device: JudgedDevice = construct(_GROUP, "device", backend.device_kind)
    device.demand_usable(backend)
    return device


def resolve_numerics(backend: Backend, wanted: str | None) -> Numerics:
    """The numerics that a user wants of a backend's device; by default its first.

    Raises UsageError where it has no such numerics, BackendUnavailable where it cannot be used.
    """
    device = get_device(backend)
    return choose_numerics(wanted, device.numerics, device.name)
