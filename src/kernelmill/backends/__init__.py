"""Targets for kernels: each knows its language, tool chain, and what is forbidden in it."""

from kernelmill.backends.base import Backend
from kernelmill.plugins import construct, plugin_names

_GROUP = "kernelmill.backends"


def backend_names() -> tuple[str, ...]:
    return plugin_names(_GROUP)


def plain_name(spec: str) -> str:
    """Without the chip that `NAME:CHIP` asks for."""
    return spec.partition(":")[0]


def get_backend(name: str) -> Backend:
    """The backend behind an entry point, the built-in ones included."""
    backend: Backend = construct(_GROUP, "backend", name)
    return backend
