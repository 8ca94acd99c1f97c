"""Sessions of the baseline: the reference, compiled by XLA for the same chip."""

from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec

from kernelmill.backends.base import BuildFailed
from kernelmill.backends.modelled import BaselineMissing, Estimate
from kernelmill.backends.pallas.cost_model import LIBTPU_MODEL
from kernelmill.backends.pallas.diagnostics import UNMODELLED
from kernelmill.backends.pallas.protocol import FunctionSummary
from kernelmill.backends.pallas.session import JaxprSession
from kernelmill.backends.pallas.xla.graph import AtenGraph
from kernelmill.backends.support.build_cache import cache_key, load_artefact, store_artefact
from kernelmill.backends.support.launch_log import tensor_specs_of
from kernelmill.backends.support.rpc import InsideFailed, ask_for_files
from kernelmill.records.task import Task, TensorSpec
from kernelmill.records.tensors import Layout
from kernelmill.sandbox import Policy, ResourceLimits, Sandbox, SandboxFailure, Zygote
from kernelmill.sandbox.channel import close_files
from kernelmill.tensors.arguments import CallArguments
from kernelmill.tensors.blob import memory_file

EXPORT_MODULE = "kernelmill.backends.pallas.xla.export"
_POLICY = Policy(limits=ResourceLimits(memory_bytes=8 << 30))
_SECONDS = 120.0
_PRECISIONS = ("highest", "high", "default")
"""Precisions of products: the one required of candidates, then cheaper ones."""
_Answer = TypeVar("_Answer")


class _Exported(msgspec.Struct):
    """An exported reference. File: its constants."""

    graph: AtenGraph
    layout: Layout


class BaselineSession(JaxprSession):
    """Exports the reference in one sandbox and translates it in the engine, per signature."""

    checks_kernels = False
    compile_seconds = 180.0

    def __init__(self, chip: str, task: Task, zygote: Zygote, toolchain: Zygote) -> None:
        """Raises SandboxFailure or BaselineMissing."""
        self._exporter = zygote.spawn(f"{EXPORT_MODULE}:export_reference", {}, _POLICY)
        try:
            _ask(self._exporter, {"source": task.source, "scale": task.scale}, dict)
            super().__init__(chip, toolchain)
        except (SandboxFailure, BaselineMissing):
            self._exporter.close()
            raise
        self._graphs: dict[int, bytes] = {}
        """Encoded graphs by the number of their function."""
        self._precision = _PRECISIONS[0]

    def close(self) -> None:
        self._exporter.close()
        super().close()

    def estimate(
        self, arguments: CallArguments, outputs: Sequence[TensorSpec], seconds: float
    ) -> Estimate:
        """Cached on disk: the model is deterministic, and XLA compiles slowly."""
        function = self._function_for(arguments, seconds)
        signature = msgspec.json.encode(function.signature).decode()
        graph = self._graphs[function.number].decode()
        key = cache_key((LIBTPU_MODEL, self._chip, signature, graph))
        cached = load_artefact(key)
        if cached is not None:
            return msgspec.json.decode(cached, type=Estimate)
        estimate = self._estimate(arguments, outputs, seconds)
        store_artefact(key, msgspec.json.encode(estimate))
        return estimate

    def _estimate(
        self, arguments: CallArguments, outputs: Sequence[TensorSpec], seconds: float
    ) -> Estimate:
        """Falls back to cheaper products, then to bytes alone, where the profiler fails."""
        for precision in _PRECISIONS:
            self._precision = precision
            try:
                return _with_precision(super().estimate(arguments, outputs, seconds), precision)
            except BuildFailed as failed:
                if failed.kind == UNMODELLED:
                    break
            self._restart_engine(profiled=True)
        self._restart_engine(profiled=False)
        return super().estimate(arguments, outputs, seconds)

    def _restart_engine(self, profiled: bool) -> None:
        self._engine.close()
        self._start_engine(profiled)

    def _load_function(
        self, number: int, arguments: CallArguments, seconds: float
    ) -> FunctionSummary:
        tensors = arguments.tensors
        body = {
            "do": "export",
            "layout": msgspec.to_builtins(tensors.layout),
            "inputs": msgspec.to_builtins(arguments.inputs),
            "state": arguments.state,
        }
        exported, files = _ask(self._exporter, body, _Exported, tensors.file)
        self._graphs[number] = msgspec.json.encode(exported.graph)
        files.insert(0, memory_file(self._graphs[number]))
        body = {
            "do": "translate",
            "number": number,
            "layout": msgspec.to_builtins(exported.layout),
            "tensors": msgspec.to_builtins(tensor_specs_of(tensors.layout)),
            "precision": self._precision,
        }
        try:
            return _ask(self._engine, body, FunctionSummary, *files)[0]
        finally:
            close_files(files)


def _with_precision(estimate: Estimate, precision: str) -> Estimate:
    if precision == _PRECISIONS[0]:
        return estimate
    note = f"XLA's products at precision {precision}: the profiler fails at a higher one"
    return msgspec.structs.replace(estimate, notes=(note, *estimate.notes))


def _ask(
    sandbox: Sandbox, body: dict[str, Any], type_: type[_Answer], *files: int
) -> tuple[_Answer, list[int]]:
    try:
        return ask_for_files(sandbox, body, type_, _SECONDS, *files)
    except InsideFailed as inside:
        raise BaselineMissing(str(inside)) from inside
