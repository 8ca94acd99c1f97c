"""The engine program: interprets, compiles and profiles traced functions.

It never runs the candidate's Python. Runs inside a sandbox, under the Python of the tool chain.
"""

import os
import secrets
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import jax
import msgspec
import numpy as np
from jax._src import core
from jax.errors import JaxRuntimeError
from jax.experimental.pallas import tpu as pltpu

from kernelmill.backends.pallas.arrays import jax_dtype, read_arrays, write_arrays
from kernelmill.backends.pallas.chips import CHIPS
from kernelmill.backends.pallas.jaxpr_passes import for_compiler, for_interpreter, kernel_calls
from kernelmill.backends.pallas.jaxprs import deserialize_jaxpr
from kernelmill.backends.pallas.profiles import read_profile
from kernelmill.backends.pallas.protocol import (
    CompiledKernel,
    FunctionSummary,
    Interpreted,
    InterpretRequest,
    Objection,
)
from kernelmill.backends.pallas.races import races_found, reset_races
from kernelmill.backends.pallas.targets import compiler_for, tracing_for
from kernelmill.backends.pallas.trace_rules import find_objection, grid_steps, grids
from kernelmill.backends.pallas.traffic import moved_bytes
from kernelmill.backends.pallas.xla.graph import AtenGraph
from kernelmill.backends.pallas.xla.translation import translate_graph
from kernelmill.records.task import TensorSpec
from kernelmill.records.tensors import Layout
from kernelmill.sandbox.channel import Channel, ChannelMessage
from kernelmill.sandbox.serving import Server

_SEED_BITS = 31
_FAST_COMPILE = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}
"""An interpreted kernel runs a few times only: optimising it takes longer than it saves."""


def run_jax_engine(channel: Channel, arguments: dict[str, Any], scratch: str) -> None:
    """Entry."""
    engine = _Engine(arguments["chip"], Path(scratch), arguments["profiled"])
    server = Server(channel, Path(scratch))
    server.add_command("load", engine.load)
    server.add_command("translate", engine.translate)
    server.add_command("interpret", engine.interpret)
    server.add_command("compile", engine.compile)
    server.serve()


class InterpreterError(Exception):
    """The interpreter stopped the kernel; the message is its own."""


class _LoadedFunction(NamedTuple):
    jaxpr: core.ClosedJaxpr
    interpreters: dict[bool, Callable[..., list[Any]]]
    """Compiled interpreters, with and without race detection, filled in on first use."""


class _Engine:
    """Holds loaded functions by number: one per signature."""

    def __init__(self, chip: str, scratch: Path, profiled: bool) -> None:
        self._chip = CHIPS[chip]
        self._profiled = profiled
        self._dumps = scratch / "dumps"
        self._target: Any = None
        self._functions: dict[int, _LoadedFunction] = {}

    def load(self, message: ChannelMessage) -> tuple[FunctionSummary, tuple[int, ...]]:
        """Load a candidate's traced function."""
        jaxpr = deserialize_jaxpr(_read(message.files[0]))
        self._functions[message.body["number"]] = _LoadedFunction(jaxpr, {})
        return _summary(jaxpr, find_objection(jaxpr)), ()

    def translate(self, message: ChannelMessage) -> tuple[FunctionSummary, tuple[int, ...]]:
        """Load a reference, with its products at a given precision."""
        graph = msgspec.json.decode(_read(message.files[0]), type=AtenGraph)
        layout = msgspec.convert(message.body["layout"], Layout)
        constants = [np.array(array) for array in read_arrays(message.files[1], layout)]
        tensors = msgspec.convert(message.body["tensors"], list[TensorSpec])
        specs = [jax.ShapeDtypeStruct(t.shape, jax_dtype(t.dtype)) for t in tensors]
        with jax.default_matmul_precision(message.body["precision"]):
            jaxpr = jax.make_jaxpr(translate_graph(graph, constants))(*specs)
        self._functions[message.body["number"]] = _LoadedFunction(jaxpr, {})
        return _summary(jaxpr, None), ()

    def interpret(self, message: ChannelMessage) -> tuple[Interpreted, tuple[int, ...]]:
        request = msgspec.convert(message.body["call"], InterpretRequest)
        jaxpr, interpreters = self._functions[message.body["number"]]
        if request.detect_races not in interpreters:
            interpreters[request.detect_races] = _interpreter(jaxpr, request.detect_races)
        arrays = read_arrays(message.files[0], request.layout)
        reset_races()
        try:
            with tracing_for(self._chip):
                results = interpreters[request.detect_races](*arrays)
                outputs = [np.asarray(result) for result in results]
        except JaxRuntimeError as error:
            raise InterpreterError(_last_line(error)) from error
        written = write_arrays(outputs)
        race = request.detect_races and races_found()
        return Interpreted(written.layout, race), (written.file,)

    def compile(self, message: ChannelMessage) -> tuple[CompiledKernel, tuple[int, ...]]:
        if self._target is None:
            self._target = compiler_for(self._chip, self._dumps, self._profiled)
        shutil.rmtree(self._dumps, ignore_errors=True)
        self._dumps.mkdir()
        jaxpr = for_compiler(self._functions[message.body["number"]].jaxpr)
        specs = [
            jax.ShapeDtypeStruct(aval.shape, aval.dtype, sharding=self._target)
            for aval in jaxpr.in_avals
        ]

        def kernel(*arguments: Any) -> list[Any]:  # the compiler names its operations after this
            outputs: list[Any] = core.jaxpr_as_fun(jaxpr)(*arguments)
            return outputs

        traced = jax.jit(kernel).trace(*specs)
        compiled = traced.lower(lowering_platforms=("tpu",)).compile()
        return CompiledKernel(
            operations=read_profile(self._dumps),
            bytes=moved_bytes(jaxpr, compiled),
            grids=grids(jaxpr) if kernel_calls(jaxpr.jaxpr) else {},
            loops=compiled.as_text().count(" while("),
        ), ()


def _read(file: int) -> bytes:
    with os.fdopen(os.dup(file), "rb") as content:
        content.seek(0)
        return content.read()


def _interpreter(jaxpr: core.ClosedJaxpr, detect_races: bool) -> Callable[..., list[Any]]:
    """It runs the steps of a parallel grid in a random order."""
    interpret = pltpu.InterpretParams(
        detect_races=detect_races,
        random_seed=secrets.randbits(_SEED_BITS),
        out_of_bounds_reads="raise",
        uninitialized_memory="nan",
    )
    compiled: Callable[..., list[Any]] = jax.jit(
        core.jaxpr_as_fun(for_interpreter(jaxpr, interpret)), compiler_options=_FAST_COMPILE
    )
    return compiled


def _summary(jaxpr: core.ClosedJaxpr, objection: Objection | None) -> FunctionSummary:
    return FunctionSummary(
        outputs=[TensorSpec(aval.dtype.name, tuple(aval.shape)) for aval in jaxpr.out_avals],
        steps=grid_steps(jaxpr),
        objection=objection,
    )


def _last_line(error: JaxRuntimeError) -> str:
    """The last line of a message that is mostly the stack of this program."""
    lines = [line for line in str(error).splitlines() if line and not line.startswith(" ")]
    return lines[-1]
