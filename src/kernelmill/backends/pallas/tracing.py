"""The tracing program: runs the candidate's Python and sends out only what it traced.

Runs inside a sandbox, under the Python of the tool chain.
"""

import os
import sys
from pathlib import Path
from typing import Any

import jax
import msgspec
import numpy as np

from kernelmill.backends.pallas.arrays import jax_dtype, read_arrays
from kernelmill.backends.pallas.chips import CHIPS
from kernelmill.backends.pallas.jaxprs import serialize_jaxpr
from kernelmill.backends.pallas.protocol import PallasLoadRequest, Traced
from kernelmill.backends.pallas.targets import tracing_for
from kernelmill.backends.support.candidate_files import import_model, write_sources
from kernelmill.backends.support.launch_log import CallTraceRequest
from kernelmill.sandbox.channel import Channel, ChannelMessage
from kernelmill.sandbox.confine import make_read_only
from kernelmill.sandbox.serving import Server, failure


def trace_to_jaxpr(channel: Channel, arguments: dict[str, Any], scratch: str) -> None:
    """Entry."""
    message = channel.receive()
    folder = Path(scratch) / "candidate"
    try:
        model = _load(msgspec.convert(message.body, PallasLoadRequest), message.files[0], folder)
    except BaseException as error:  # the candidate's own code may raise anything, SystemExit too
        channel.send(msgspec.to_builtins(failure(error, folder)))
        return
    channel.send({})
    tracer = _Tracer(model, arguments["chip"])
    server = Server(channel, folder)
    server.add_command("trace", tracer.trace)
    server.serve()


def _load(request: PallasLoadRequest, file: int, folder: Path) -> Any:
    """Write the candidate's files, make the disk read-only, construct ModelNew."""
    write_sources(request.sources, folder)
    make_read_only(str(folder))
    sys.path.insert(0, str(folder))
    module = import_model(folder)
    if not hasattr(module, "ModelNew"):
        raise AttributeError("model.py does not define ModelNew")
    tensors = [np.array(array) for array in read_arrays(file, request.init_layout)]
    return module.ModelNew(*request.init_arguments.restore(tensors))


class _Tracer:
    def __init__(self, model: Any, chip: str) -> None:
        self._model = model
        self._chip = CHIPS[chip]

    def trace(self, message: ChannelMessage) -> tuple[Traced, tuple[int, ...]]:
        request = msgspec.convert(message.body["call"], CallTraceRequest)

        def call(*tensors: Any) -> Any:
            state = {name: tensors[index] for name, index in request.state.items()}
            return self._model.forward(state, *request.inputs.restore(tensors))

        specs = [jax.ShapeDtypeStruct(t.shape, jax_dtype(t.dtype)) for t in request.tensors]
        with tracing_for(self._chip):
            closed = jax.make_jaxpr(call)(*specs)
        closed = closed.replace(consts=[np.asarray(const) for const in closed.consts])
        file = os.memfd_create("trace", os.MFD_CLOEXEC)
        os.write(file, serialize_jaxpr(closed))
        return Traced(), (file,)
