"""The zygote of a tool chain that has a Python environment of its own."""

import threading
from typing import NamedTuple

from kernelmill.backends.support.environments import Environment
from kernelmill.sandbox import Zygote

_THREADS = 1


class SandboxPrograms(NamedTuple):
    """The two sandbox programs of a backend that traces its candidates, as "module:function"."""

    tracing: str
    """Loads the candidate and answers `trace`."""
    engine: str
    """Compiles and executes what was traced, without the candidate's Python."""

    @property
    def modules(self) -> tuple[str, ...]:
        return tuple(entry.partition(":")[0] for entry in self)


class ToolchainZygote:
    """Starts the zygote on first use. Safe to use from several threads."""

    def __init__(self, environment: Environment, modules: tuple[str, ...]) -> None:
        """`modules` are imported by the zygote, in this order."""
        self._environment = environment
        self._modules = modules
        self._guard = threading.Lock()
        self._zygote: Zygote | None = None

    def get(self) -> Zygote:
        """Raises BackendUnavailable where the environment is not installed."""
        with self._guard:
            if self._zygote is None:
                python = self._environment.python
                self._zygote = Zygote(self._modules, _THREADS, python=python)
            return self._zygote
