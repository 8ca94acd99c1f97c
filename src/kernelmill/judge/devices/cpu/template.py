"""A loaded candidate that is never called: all calls are made in forks of it."""

from collections.abc import Iterator
from contextlib import contextmanager

from kernelmill.judge.runner_handle import RunnerHandle
from kernelmill.sandbox import Sandbox


class CandidateTemplate:
    """The sandbox of a candidate.

    What a fork computes, keeps or spoils ends with it: no call finds anything that a call of
    another fork has left.
    """

    def __init__(self, sandbox: Sandbox, seconds: float, empty_bytes: int | None = None) -> None:
        """`empty_bytes`: anonymous memory of the sandbox before the candidate was loaded."""
        self.empty_bytes = empty_bytes
        self._sandbox = sandbox
        self._seconds = seconds
        sandbox.stop()

    @contextmanager
    def fork(self) -> Iterator[RunnerHandle]:
        """A runner with the candidate as it was loaded, which ends with the context.

        Raises SandboxFailure.
        """
        with self._sandbox.fork(self._seconds) as process:
            yield RunnerHandle(process)
