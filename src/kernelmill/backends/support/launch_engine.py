"""Execution of traced kernel launches on the buffers of a call. Runs inside sandboxes only."""

import os
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Generic, TypeVar

import msgspec

from kernelmill.backends.support.buffers import Buffers
from kernelmill.backends.support.launch_log import Trace
from kernelmill.backends.support.traced_session import EngineReport, EngineRunRequest
from kernelmill.sandbox.channel import Channel, ChannelMessage
from kernelmill.sandbox.serving import Server
from kernelmill.tensors.blob import FILE_NAME

_Trace = TypeVar("_Trace", bound=Trace)
_Ran = TypeVar("_Ran", bound=EngineReport)


class CompilerError(Exception):
    """The vendor's tool chain rejects a kernel; the message is its log."""


class LaunchEngine(ABC, Generic[_Trace, _Ran]):
    """The engine of a backend whose kernels are launched from Python."""

    request_type: type[EngineRunRequest[_Trace]]

    @abstractmethod
    def launch(self, trace: _Trace, buffers: Buffers, timed: bool) -> _Ran:
        """Execute all launches in order, in place; `mutated` is filled in by the caller.

        Where timing costs more than executing, only `timed` runs need to report it.
        """

    def run(self, message: ChannelMessage) -> tuple[_Ran, tuple[int, ...]]:
        request = msgspec.convert(message.body["call"], self.request_type)
        buffers = Buffers(message.files[0], request.layout, request.trace.buffers)
        try:
            ran = self.launch(request.trace, buffers, request.timed)
            ran.mutated = buffers.mutated()
            file = os.memfd_create(FILE_NAME, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
            buffers.write(request.trace.outputs, file)
        finally:
            buffers.close()
        return ran, (file,)


def serve_engine(channel: Channel, scratch: str, engine: LaunchEngine[_Trace, _Ran]) -> None:
    server = Server(channel, Path(scratch))
    server.add_command("run", engine.run)
    server.serve()
