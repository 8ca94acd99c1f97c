"""Static rules, applied in a sandbox with limits: whoever wrote the text may mean harm."""

import threading
from importlib.metadata import entry_points
from typing import NamedTuple

import msgspec

from kernelmill.backends.base import Backend, Built, RuleFinding
from kernelmill.backends.support.inspecting import Inspected, Inspection
from kernelmill.backends.support.rpc import ask
from kernelmill.records.candidate import Candidate
from kernelmill.sandbox import (
    Policy,
    ResourceLimits,
    Sandbox,
    SandboxCrashed,
    SandboxFailure,
    Zygote,
)
from kernelmill.sandbox.channel import close_files
from kernelmill.tensors.blob import memory_file

_PROGRAM = "kernelmill.backends.support.inspecting"
_GROUP = "kernelmill.backends"
_SECONDS = 20.0
_POLICY = Policy(
    limits=ResourceLimits(memory_bytes=2 << 30, processes=8, lifetime_seconds=30 * 24 * 3600)
)


class _Plugin(NamedTuple):
    """Where a backend is defined, for a process that has to import it."""

    module: str
    name: str


def inspection_modules(backend: Backend) -> tuple[str, ...]:
    """Modules that the zygote of an `Inspector` imports."""
    return (_PROGRAM, _plugin(backend).module)


class Inspector:
    """Applies the rules of one backend. Safe to use from several threads.

    The sandbox lives on from one candidate to the next, and is replaced where one has ended it.
    """

    def __init__(self, backend: Backend, zygote: Zygote, seconds: float = _SECONDS) -> None:
        """The zygote has `inspection_modules` imported, and is closed after this."""
        self._backend = backend
        self._zygote = zygote
        self._seconds = seconds
        self._guard = threading.Lock()
        self._sandbox: Sandbox | None = None

    def inspect_sources(self, candidate: Candidate) -> list[RuleFinding]:
        """The findings in the sources; one of rule `inspection` where they cannot be read."""
        return self._inspect(Inspection(candidate))

    def inspect_build(self, candidate: Candidate, built: Built) -> list[RuleFinding]:
        """The findings in the artefacts; one of rule `inspection` where they cannot be read."""
        built = msgspec.structs.replace(built, compile_cache=b"")
        return self._inspect(Inspection(candidate, built))

    def close(self) -> None:
        with self._guard:
            self._close()

    def _inspect(self, inspection: Inspection) -> list[RuleFinding]:
        with self._guard:
            try:
                return self._ask(inspection)
            except SandboxCrashed:
                pass  # perhaps not over this candidate: a new sandbox tells
            except SandboxFailure as failure:
                return [self._refusal(failure)]
            try:
                return self._ask(inspection)
            except SandboxFailure as failure:
                return [self._refusal(failure)]

    def _ask(self, inspection: Inspection) -> list[RuleFinding]:
        if self._sandbox is None or self._sandbox.closed:
            plugin = _plugin(self._backend)
            arguments = {"backend": ":".join(plugin), "chip": self._backend.chip}
            self._sandbox = self._zygote.spawn(f"{_PROGRAM}:apply_rules", arguments, _POLICY)
        file = memory_file(msgspec.msgpack.encode(inspection))
        try:
            return ask(self._sandbox, {}, Inspected, self._seconds, file).findings
        except SandboxFailure:
            self._close()
            raise
        finally:
            close_files((file,))

    def _close(self) -> None:
        if self._sandbox is not None:
            self._sandbox.close()
            self._sandbox = None

    def _refusal(self, failure: SandboxFailure) -> RuleFinding:
        what = f"the rules came to no end: the process that applies them gave {failure}"
        return RuleFinding("inspection", self._backend.entry, what, "write less, and plainly")


def _plugin(backend: Backend) -> _Plugin:
    """The entry point of a backend, or its class where it has none."""
    for entry in entry_points(group=_GROUP, name=backend.name):
        return _Plugin(entry.module, entry.attr)
    return _Plugin(type(backend).__module__, type(backend).__qualname__)
