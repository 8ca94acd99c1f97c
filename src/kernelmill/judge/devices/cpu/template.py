"""A loaded model whose timed calls are all made in forks of it: a candidate or a baseline."""

from collections.abc import Iterator
from contextlib import contextmanager

from kernelmill.judge.runner_handle import RunnerHandle
from kernelmill.sandbox import Sandbox


class Template:
    """The sandbox of a loaded model.

    What a fork computes, keeps or spoils ends with it: no call finds anything that a call of
    another fork has left.
    """

    def __init__(self, sandbox: Sandbox, seconds: float) -> None:
        self._sandbox = sandbox
        self._seconds = seconds
        sandbox.stop()

    @contextmanager
    def fork(self) -> Iterator[RunnerHandle]:
        """A runner with the model as it was loaded, which ends with the context.

        Raises SandboxFailure.
        """
        with self._sandbox.fork(self._seconds) as process:
            yield RunnerHandle(process)

    def close(self) -> None:
        self._sandbox.close()


class CandidateTemplate(Template):
    """A loaded candidate, which is never called but in forks."""

    def __init__(self, sandbox: Sandbox, seconds: float, empty_bytes: int | None = None) -> None:
        """`empty_bytes`: anonymous memory of the sandbox before the candidate was loaded."""
        super().__init__(sandbox, seconds)
        self.empty_bytes = empty_bytes
