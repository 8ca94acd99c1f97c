"""Targets for kernels: each knows its language, tool chain, and what is forbidden in it."""

from importlib.metadata import entry_points

from kernelmill.backends.base import Backend
from kernelmill.errors import UsageError

_GROUP = "kernelmill.backends"


def backend_names() -> tuple[str, ...]:
    return tuple(sorted(entry.name for entry in entry_points(group=_GROUP)))


def get_backend(name: str) -> Backend:
    """The backend behind an entry point, the built-in ones included."""
    for entry in entry_points(group=_GROUP, name=name):
        backend: Backend = entry.load()()
        return backend
    raise UsageError(f"no backend is called {name!r}; there are {', '.join(backend_names())}")
