"""Handle of a runner: a sandbox with the candidate's or the reference's model."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt

from kernelmill.judge.protocol import (
    BatchDone,
    CandidateRequest,
    OutputTensor,
    ReferenceRequest,
    TrialDone,
    WarmUpRequest,
)
from kernelmill.records.tensors import as_array, is_supported, item_size
from kernelmill.sandbox import ConfinedProcess, SandboxFailure, SandboxProtocolError
from kernelmill.sandbox.channel import close_files
from kernelmill.sandbox.serving import Done, ProgramFailed
from kernelmill.tensors.blob import BLOB_NAME

_Answer = TypeVar("_Answer")


class RunnerRaised(Exception):
    """The code in the sandbox raised an exception."""

    def __init__(self, failed: ProgramFailed) -> None:
        self.failed = failed
        super().__init__(f"{failed.error}: {failed.message.partition(chr(10))[0][:300]}")


class ReferenceLost(Exception):
    """A reference runner failed, which is not the candidate's fault: the verdict is tried again."""


@contextmanager
def attributed_to_reference() -> Iterator[None]:
    """Turn failures of a reference runner into ReferenceLost."""
    try:
        yield
    except (SandboxFailure, RunnerRaised) as failure:
        raise ReferenceLost(str(failure)) from failure


class Timing(NamedTuple):
    """One timed batch."""

    pointers: list[list[int]]
    """The address of every output tensor, per call."""
    nanoseconds: int
    ran: int
    """Nanoseconds for which threads of the runner were on a processor, added up."""
    waited: int
    """Nanoseconds for which threads of the runner waited for a processor."""


class RunnerHandle:
    """A sandbox that runs the program of a runner. Closing the handle ends the sandbox."""

    def __init__(self, sandbox: ConfinedProcess) -> None:
        self.sandbox = sandbox

    def load(
        self, request: CandidateRequest | ReferenceRequest, files: tuple[int, ...], seconds: float
    ) -> None:
        self.ask(msgspec.to_builtins(request), Done, seconds, files)

    def ask(
        self,
        body: dict[str, Any],
        answer_type: type[_Answer],
        seconds: float,
        files: tuple[int, ...] = (),
    ) -> _Answer:
        """Send a request and decode its answer; files that come with it are closed."""
        answer, received = self.ask_for_files(body, answer_type, seconds, files)
        close_files(received)
        return answer

    def ask_for_files(
        self,
        body: dict[str, Any],
        answer_type: type[_Answer],
        seconds: float,
        files: tuple[int, ...] = (),
    ) -> tuple[_Answer, list[int]]:
        message = self.sandbox.request(body, seconds, files)
        try:
            return _decode(message.body, answer_type), message.files
        except Exception:
            close_files(message.files)
            raise

    def tell(self, body: dict[str, Any], seconds: float) -> None:
        """Send a request that asks for no value."""
        self.ask(body, Done, seconds)

    def trial(self, body: dict[str, Any], file: int, seconds: float) -> TrialDone:
        return self.ask({"do": "trial", **body}, TrialDone, seconds, (file,))

    def attach(self, request: dict[str, Any], file: int, seconds: float) -> None:
        self.ask(request, Done, seconds, (file,))

    def warm_up(self, request: WarmUpRequest, seconds: float) -> list[list[int]]:
        """Make one call. Returns the addresses of the outputs of all such calls, which it holds."""
        body = {"do": "warm up", **msgspec.to_builtins(request)}
        return self.ask(body, BatchDone, seconds).pointers

    def batch(self, calls: int, seconds: float, what: str = "batch") -> Timing:
        """Time a batch of calls; the sandbox is stopped before and after it."""
        timed = self.sandbox.timed({"do": what, "calls": calls}, seconds)
        done = _decode(timed.answer, BatchDone)
        return Timing(done.pointers, timed.nanoseconds, timed.ran, timed.waited)

    def finish_batch(self, seconds: float) -> list[list[int]]:
        """Receive the answer to a batch that was asked for. Returns its outputs' addresses."""
        message = self.sandbox.receive(seconds)
        close_files(message.files)
        return _decode(message.body, BatchDone).pointers

    def read_output(self, output: OutputTensor) -> npt.NDArray[Any]:
        """Read a whole tensor from the sandbox's memory."""
        size = item_size(output.dtype)
        if 0 in output.shape:
            return np.empty(output.shape)
        last = sum((n - 1) * s for n, s in zip(output.shape, output.strides, strict=True))
        count = int(np.prod(output.shape, dtype=np.int64))
        if min(output.strides, default=0) < 0 or last + 1 > 4 * count + 64:
            raise SandboxProtocolError(f"an output with strides {output.strides}")
        raw = self.sandbox.read([(output.address, (last + 1) * size)])
        flat = as_array(raw, output.dtype, (last + 1,))
        return np.lib.stride_tricks.as_strided(
            flat, output.shape, tuple(s * size for s in output.strides)
        )

    def read_elements(
        self, output: OutputTensor, positions: npt.NDArray[np.int64]
    ) -> npt.NDArray[Any]:
        """Read single elements at row-major positions."""
        size = item_size(output.dtype)
        offsets = np.zeros(positions.size, np.int64)
        if output.shape:
            indices = np.unravel_index(positions, output.shape)
            for axis, stride in zip(indices, output.strides, strict=True):
                offsets += axis * stride
        spans = [(address, size) for address in (output.address + offsets * size).tolist()]
        return as_array(self.sandbox.read(spans), output.dtype, (positions.size,))

    def shares_memory(self, addresses: list[int]) -> bool:
        """Whether an address is in a memory file that the judge handed over."""
        regions = self.sandbox.regions(name=BLOB_NAME)
        return any(r.start <= a < r.end for r in regions for a in addresses)

    def close(self) -> None:
        self.sandbox.close()


def _decode(body: dict[str, Any], answer_type: type[_Answer]) -> _Answer:
    try:
        if body.get("type") == "failed":
            raise RunnerRaised(msgspec.convert(body, ProgramFailed))
        answer = msgspec.convert(body, answer_type)
    except (msgspec.ValidationError, RecursionError) as error:
        raise SandboxProtocolError(f"a malformed answer: {error}") from error
    if isinstance(answer, TrialDone):
        for output in answer.tensors:
            if not is_supported(output.dtype) or len(output.shape) != len(output.strides):
                raise SandboxProtocolError(f"an output of type {output.dtype}")
    return answer
