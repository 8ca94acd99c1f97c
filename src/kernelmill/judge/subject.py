"""A model in a cell, as the judge talks to it: the candidate's or the reference's."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt

from kernelmill.judge.protocol import (
    BatchDone,
    Done,
    LoadRequest,
    OutputTensor,
    ReferenceRequest,
    TrialDone,
)
from kernelmill.sandbox import Cell, CellFailure, CellProtocolError
from kernelmill.sandbox.serving import Failed
from kernelmill.tensors.blob import BLOB_NAME
from kernelmill.tensors.layout import as_array, item_size, known

_Answer = TypeVar("_Answer")


class RunnerRaised(Exception):
    """The code inside raised an exception."""

    def __init__(self, failed: Failed) -> None:
        self.failed = failed
        super().__init__(f"{failed.error}: {failed.message.partition(chr(10))[0][:300]}")


class ReferenceLost(Exception):
    """A reference runner failed where the candidate did not: the verdict must be tried again."""


@contextmanager
def blaming_reference() -> Iterator[None]:
    """What goes wrong inside is not the candidate's fault."""
    try:
        yield
    except (CellFailure, RunnerRaised) as failure:
        raise ReferenceLost(str(failure)) from failure


class Timing(NamedTuple):
    pointers: list[list[int]]
    nanoseconds: int
    waited: int


class Subject:
    """Wraps a cell that runs `kernelmill.judge.runner`. Ends with its cell."""

    def __init__(self, cell: Cell) -> None:
        self.cell = cell

    def load(
        self, request: LoadRequest | ReferenceRequest, files: tuple[int, ...], seconds: float
    ) -> None:
        self.ask(msgspec.to_builtins(request), Done, seconds, files)

    def ask(
        self,
        body: dict[str, Any],
        kind: type[_Answer],
        seconds: float,
        files: tuple[int, ...] = (),
    ) -> _Answer:
        """Send a request; files that come back uninvited are closed."""
        answer, received = self.ask_for_files(body, kind, seconds, files)
        close_files(received)
        return answer

    def ask_for_files(
        self,
        body: dict[str, Any],
        kind: type[_Answer],
        seconds: float,
        files: tuple[int, ...] = (),
    ) -> tuple[_Answer, list[int]]:
        message = self.cell.request(body, seconds, files)
        try:
            return _decode(message.body, kind), message.files
        except Exception:
            close_files(message.files)
            raise

    def tell(self, body: dict[str, Any], seconds: float) -> None:
        """A request whose only answer is that it is done."""
        self.ask(body, Done, seconds)

    def trial(self, body: dict[str, Any], file: int, seconds: float) -> TrialDone:
        return self.ask({"do": "trial", **body}, TrialDone, seconds, (file,))

    def attach(self, request: dict[str, Any], file: int, seconds: float) -> None:
        self.ask(request, Done, seconds, (file,))

    def batch(self, calls: int, seconds: float, what: str = "batch") -> Timing:
        """A timed batch: the cell is stopped before and after."""
        timed = self.cell.timed({"do": what, "calls": calls}, seconds)
        done = _decode(timed.answer, BatchDone)
        return Timing(done.pointers, timed.nanoseconds, timed.waited)

    def read_output(self, output: OutputTensor) -> npt.NDArray[Any]:
        """The whole tensor out of the cell's memory, contiguous."""
        size = item_size(output.dtype)
        if 0 in output.shape:
            return np.empty(output.shape)
        last = sum((n - 1) * s for n, s in zip(output.shape, output.strides, strict=True))
        count = int(np.prod(output.shape, dtype=np.int64))
        if min(output.strides, default=0) < 0 or last + 1 > 4 * count + 64:
            raise CellProtocolError(f"an output with strides {output.strides}")
        raw = self.cell.read([(output.address, (last + 1) * size)])
        flat = as_array(raw, output.dtype, (last + 1,))
        return np.lib.stride_tricks.as_strided(
            flat, output.shape, tuple(s * size for s in output.strides)
        )

    def read_elements(
        self, output: OutputTensor, positions: npt.NDArray[np.int64]
    ) -> npt.NDArray[Any]:
        """Single elements, by their row-major positions."""
        size = item_size(output.dtype)
        offsets = np.zeros(positions.size, np.int64)
        if output.shape:
            indices = np.unravel_index(positions, output.shape)
            for axis, stride in zip(indices, output.strides, strict=True):
                offsets += axis * stride
        spans = [(address, size) for address in (output.address + offsets * size).tolist()]
        return as_array(self.cell.read(spans), output.dtype, (positions.size,))

    def shares_memory(self, addresses: list[int]) -> bool:
        """Whether one of the addresses lies in a file of tensors that we handed over."""
        ours = self.cell.regions(name=BLOB_NAME)
        return any(start <= a < end for start, end, _ in ours for a in addresses)

    def close(self) -> None:
        self.cell.close()


def close_files(files: list[int]) -> None:
    for file in files:
        os.close(file)


def _decode(body: dict[str, Any], kind: type[_Answer]) -> _Answer:
    try:
        if body.get("type") == "failed":
            raise RunnerRaised(msgspec.convert(body, Failed))
        answer = msgspec.convert(body, kind)
    except (msgspec.ValidationError, RecursionError) as error:
        raise CellProtocolError(f"an answer out of form: {error}") from error
    if isinstance(answer, TrialDone):
        for output in answer.tensors:
            if not known(output.dtype) or len(output.shape) != len(output.strides):
                raise CellProtocolError(f"an output of type {output.dtype}")
    return answer
