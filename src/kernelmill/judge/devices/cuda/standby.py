"""A started runner on standby for the next candidate.

A context on the device takes a quarter of a second to start. The runner of the next candidate
starts as soon as the present one is done, while the next candidate is compiled, and never during
timing.
"""

from typing import NamedTuple

from kernelmill.judge.runner_handle import RunnerHandle, RunnerRaised
from kernelmill.sandbox import Policy, Sandbox, SandboxFailure, Zygote

_CANDIDATE = "kernelmill.judge.devices.cuda.runner:run_device_candidate"
_SECONDS = 120.0


class RunnerSpec(NamedTuple):
    """The properties of a runner that must be known before a candidate is loaded."""

    threads: int
    arena_bytes: int
    policy: Policy


class _Waiting(NamedTuple):
    sandbox: Sandbox
    spec: RunnerSpec

    def suits(self, spec: RunnerSpec) -> bool:
        enough = self.spec.arena_bytes >= spec.arena_bytes
        return enough and self.spec._replace(arena_bytes=0) == spec._replace(arena_bytes=0)


class StandbyRunner:
    """At most one waiting runner, shared by all harnesses of one judge."""

    def __init__(self, zygote: Zygote) -> None:
        self._zygote = zygote
        self._waiting: _Waiting | None = None

    def take(self, spec: RunnerSpec) -> Sandbox:
        """A started runner without a candidate. Raises SandboxFailure or RunnerRaised."""
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            if waiting.suits(spec) and _is_started(waiting.sandbox):
                return waiting.sandbox
            waiting.sandbox.close()
        sandbox = self._spawn(spec)
        try:
            _await_start(sandbox)
        except (SandboxFailure, RunnerRaised):
            sandbox.close()
            raise
        return sandbox

    def refill(self, spec: RunnerSpec) -> None:
        """Begin to start the next runner."""
        self.close()
        self._waiting = _Waiting(self._spawn(spec), spec)

    def close(self) -> None:
        if self._waiting is not None:
            self._waiting.sandbox.close()
            self._waiting = None

    def _spawn(self, spec: RunnerSpec) -> Sandbox:
        arguments = {
            "threads": spec.threads,
            "device_files": spec.policy.devices,
            "arena_bytes": spec.arena_bytes,
        }
        return self._zygote.spawn(_CANDIDATE, arguments, spec.policy)


def _is_started(sandbox: Sandbox) -> bool:
    try:
        _await_start(sandbox)
    except (SandboxFailure, RunnerRaised):
        return False
    return True


def _await_start(sandbox: Sandbox) -> None:
    RunnerHandle(sandbox).tell({"do": "stand by"}, _SECONDS)
