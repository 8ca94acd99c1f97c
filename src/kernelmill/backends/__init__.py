"""Backends: one folder for each language and tool chain, found through entry points."""

from kernelmill.backends.base import Backend
from kernelmill.plugins import construct, plugin_names

_GROUP = "kernelmill.backends"


def backend_names() -> tuple[str, ...]:
    return plugin_names(_GROUP)


def get_backend(name: str) -> Backend:
    """A new instance of the backend NAME, or NAME:CHIP. Raises UsageError for an unknown one."""
    backend: Backend = construct(_GROUP, "backend", name)
    return backend
