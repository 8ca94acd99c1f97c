"""Executes, compiles and models what was traced elsewhere. No foreign code ever runs here.

Runs inside a cell, under the Python of the tool chain.
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

from kernelmill.backends.pallas import races, rules
from kernelmill.backends.pallas.arrays import jax_dtype, read_arrays, write_arrays
from kernelmill.backends.pallas.chips import CHIPS
from kernelmill.backends.pallas.jaxprs import unpack
from kernelmill.backends.pallas.profiles import read_profile
from kernelmill.backends.pallas.protocol import Compiled, Ran, RunRequest, Taken
from kernelmill.backends.pallas.rewriting import for_compiler, for_interpreter, kernels
from kernelmill.backends.pallas.targets import compiler_for, tracing_for
from kernelmill.backends.pallas.traffic import moved_bytes
from kernelmill.backends.pallas.xla.graph import Graph
from kernelmill.backends.pallas.xla.translating import translate
from kernelmill.sandbox.channel import Channel, Message
from kernelmill.sandbox.serving import Server
from kernelmill.tasks.task import Kind
from kernelmill.tensors.layout import Layout

_SEED_BITS = 31
_QUICKLY = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}
"""An interpreted kernel runs a few times: compiling it well takes longer than it gains."""


def run_engine(channel: Channel, arguments: dict[str, Any], scratch: str) -> None:
    """Entry."""
    engine = _Engine(arguments["chip"], Path(scratch), arguments["profiled"])
    server = Server(channel, Path(scratch))
    server.also("take", engine.take)
    server.also("translate", engine.translate)
    server.also("run", engine.run)
    server.also("compile", engine.compile)
    server.serve()


class Stopped(Exception):
    """The interpreter does not let the kernel go on."""


class _Held(NamedTuple):
    """A traced function, and how it is executed once it was."""

    function: core.ClosedJaxpr
    interpreters: dict[bool, Callable[..., list[Any]]]
    """With and without a look out for races."""


class _Engine:
    """Holds traced functions by number: one for every shape."""

    def __init__(self, chip: str, scratch: Path, profiled: bool) -> None:
        self._chip = CHIPS[chip]
        self._profiled = profiled
        self._dumps = scratch / "dumps"
        self._place: Any = None
        self._held: dict[int, _Held] = {}

    def take(self, message: Message) -> tuple[Taken, tuple[int, ...]]:
        with os.fdopen(os.dup(message.files[0]), "rb") as file:
            file.seek(0)
            function = unpack(file.read())
        self._held[message.body["number"]] = _Held(function, {})
        return _taken(function, rules.object_to(function)), ()

    def translate(self, message: Message) -> tuple[Taken, tuple[int, ...]]:
        """Take in a reference, its products at a given precision."""
        with os.fdopen(os.dup(message.files[0]), "rb") as file:
            file.seek(0)
            graph = msgspec.json.decode(file.read(), type=Graph)
        layout = msgspec.convert(message.body["layout"], Layout)
        constants = [np.array(array) for array in read_arrays(message.files[1], layout)]
        tensors = msgspec.convert(message.body["tensors"], list[Kind])
        kinds = [jax.ShapeDtypeStruct(k.shape, jax_dtype(k.dtype)) for k in tensors]
        with jax.default_matmul_precision(message.body["precision"]):
            function = jax.make_jaxpr(translate(graph, constants))(*kinds)
        self._held[message.body["number"]] = _Held(function, {})
        return _taken(function, None), ()

    def run(self, message: Message) -> tuple[Ran, tuple[int, ...]]:
        request = msgspec.convert(message.body["call"], RunRequest)
        held = self._held[message.body["number"]]
        if request.races not in held.interpreters:
            held.interpreters[request.races] = _interpreted(held.function, request.races)
        arrays = read_arrays(message.files[0], request.layout)
        races.forget()
        try:
            with tracing_for(self._chip):
                outputs = [
                    np.asarray(output) for output in held.interpreters[request.races](*arrays)
                ]
        except JaxRuntimeError as error:
            raise Stopped(_last_words(error)) from error
        written = write_arrays(outputs)
        return Ran(written.layout, request.races and races.found()), (written.file,)

    def compile(self, message: Message) -> tuple[Compiled, tuple[int, ...]]:
        if self._place is None:
            self._place = compiler_for(self._chip, self._dumps, self._profiled)
        shutil.rmtree(self._dumps, ignore_errors=True)
        self._dumps.mkdir()
        function = for_compiler(self._held[message.body["number"]].function)
        kinds = [
            jax.ShapeDtypeStruct(aval.shape, aval.dtype, sharding=self._place)
            for aval in function.in_avals
        ]

        def kernel(*arguments: Any) -> list[Any]:  # the compiler names its operations after this
            outputs: list[Any] = core.jaxpr_as_fun(function)(*arguments)
            return outputs

        traced = jax.jit(kernel).trace(*kinds)
        compiled = traced.lower(lowering_platforms=("tpu",)).compile()
        return Compiled(
            operations=read_profile(self._dumps),
            bytes=moved_bytes(function, compiled),
            grids=rules.grids(function) if kernels(function.jaxpr) else {},
            loops=compiled.as_text().count(" while("),
        ), ()


def _interpreted(function: core.ClosedJaxpr, watched: bool) -> Callable[..., list[Any]]:
    """The steps of a parallel grid come in an order that nobody knows."""
    interpret = pltpu.InterpretParams(
        detect_races=watched,
        random_seed=secrets.randbits(_SEED_BITS),
        out_of_bounds_reads="raise",
        uninitialized_memory="nan",
    )
    compiled: Callable[..., list[Any]] = jax.jit(
        core.jaxpr_as_fun(for_interpreter(function, interpret)), compiler_options=_QUICKLY
    )
    return compiled


def _taken(function: core.ClosedJaxpr, objection: rules.Objection | None) -> Taken:
    return Taken(
        outputs=[Kind(aval.dtype.name, tuple(aval.shape)) for aval in function.out_avals],
        steps=rules.grid_steps(function),
        objection=objection,
    )


def _last_words(error: JaxRuntimeError) -> str:
    """Of a message that is mostly our own stack."""
    lines = [line for line in str(error).splitlines() if line and not line.startswith(" ")]
    return lines[-1]
