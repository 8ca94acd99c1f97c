"""The reference, compiled by XLA for the same chip."""

from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec

from kernelmill.backends.asking import InsideFailed, ask_for_files, close_files
from kernelmill.backends.base import BuildFailed
from kernelmill.backends.cache import cache_key, load, store
from kernelmill.backends.modelled import BaselineMissing, Estimate
from kernelmill.backends.pallas.diagnostics import UNMODELLED
from kernelmill.backends.pallas.modelling import MODEL
from kernelmill.backends.pallas.protocol import Taken
from kernelmill.backends.pallas.session import TracedSession
from kernelmill.backends.pallas.xla.graph import Graph
from kernelmill.sandbox import Cell, CellFailure, Limits, Policy, Zygote
from kernelmill.tasks.task import Kind, Task
from kernelmill.tensors.arguments import CallArguments
from kernelmill.tensors.blob import in_memory
from kernelmill.tensors.layout import Layout

EXPORTING = "kernelmill.backends.pallas.xla.exporting"
_POLICY = Policy(limits=Limits(memory_bytes=8 << 30))
_SECONDS = 120.0
_PRECISIONS = ("highest", "high", "default")
"""Of products: what is asked of candidates, then cheaper ones."""
_Answer = TypeVar("_Answer")


class _Exported(msgspec.Struct):
    """File: the constants."""

    graph: Graph
    layout: Layout


class BaselineSession(TracedSession):
    """Exports the reference for the shapes of a call, in one cell; translates it in another."""

    examined = False
    compile_seconds = 180.0

    def __init__(self, chip: str, task: Task, zygote: Zygote, toolchain: Zygote) -> None:
        """Raises CellFailure or BaselineMissing."""
        self._exporter = zygote.spawn(f"{EXPORTING}:export_reference", {}, _POLICY)
        try:
            _answer(self._exporter, {"source": task.source, "scale": task.scale}, dict)
            super().__init__(chip, toolchain)
        except (CellFailure, BaselineMissing):
            self._exporter.close()
            raise
        self._graphs: dict[int, bytes] = {}
        """As they were said to the engine, by number."""
        self._precision = _PRECISIONS[0]

    def close(self) -> None:
        self._exporter.close()
        super().close()

    def estimate(
        self, arguments: CallArguments, outputs: Sequence[Kind], seconds: float
    ) -> Estimate:
        """Compiled once a machine: the model says the same every time, and XLA takes its time."""
        held = self._prepare(arguments, seconds)
        signature = msgspec.json.encode(held.signature).decode()
        key = cache_key((MODEL, self._chip, signature, self._graphs[held.number].decode()))
        kept = load(key)
        if kept is not None:
            return msgspec.json.decode(kept, type=Estimate)
        estimate = self._estimate(arguments, outputs, seconds)
        store(key, msgspec.json.encode(estimate))
        return estimate

    def _estimate(
        self, arguments: CallArguments, outputs: Sequence[Kind], seconds: float
    ) -> Estimate:
        """Where the profiler fails, in XLA's favour: cheaper products, or bytes alone."""
        for precision in _PRECISIONS:
            self._precision = precision
            try:
                return _noted(super().estimate(arguments, outputs, seconds), precision)
            except BuildFailed as failed:
                if failed.kind == UNMODELLED:
                    break
            self._renew_engine(profiled=True)
        self._renew_engine(profiled=False)
        return super().estimate(arguments, outputs, seconds)

    def _renew_engine(self, profiled: bool) -> None:
        self._engine.close()
        self._start_engine(profiled)

    def _bring(self, number: int, arguments: CallArguments, seconds: float) -> Taken:
        tensors = arguments.tensors
        body = {
            "do": "export",
            "layout": msgspec.to_builtins(tensors.layout),
            "inputs": msgspec.to_builtins(arguments.inputs),
            "state": arguments.state,
        }
        exported, files = _answer(self._exporter, body, _Exported, tensors.file)
        self._graphs[number] = msgspec.json.encode(exported.graph)
        files.insert(0, in_memory(self._graphs[number]))
        kinds = [Kind(t.dtype, t.shape) for t in tensors.layout.tensors]
        body = {
            "do": "translate",
            "number": number,
            "layout": msgspec.to_builtins(exported.layout),
            "tensors": msgspec.to_builtins(kinds),
            "precision": self._precision,
        }
        try:
            return _answer(self._engine, body, Taken, *files)[0]
        finally:
            close_files(files)


def _noted(estimate: Estimate, precision: str) -> Estimate:
    if precision == _PRECISIONS[0]:
        return estimate
    note = f"XLA's products at precision {precision}: more is too much for the profiler"
    return msgspec.structs.replace(estimate, notes=(note, *estimate.notes))


def _answer(
    cell: Cell, body: dict[str, Any], kind: type[_Answer], *files: int
) -> tuple[_Answer, list[int]]:
    try:
        return ask_for_files(cell, body, kind, _SECONDS, *files)
    except InsideFailed as inside:
        raise BaselineMissing(str(inside)) from inside
