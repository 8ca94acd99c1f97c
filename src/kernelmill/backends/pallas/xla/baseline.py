"""The reference, compiled by XLA for the same chip."""

import msgspec

from kernelmill.backends.modelled import BaselineMissing
from kernelmill.backends.pallas.protocol import Taken
from kernelmill.backends.pallas.session import InsideFailed, TracedSession, ask, close_files
from kernelmill.backends.pallas.xla.graph import Graph
from kernelmill.sandbox import Limits, Policy, Zygote
from kernelmill.tasks.task import Kind, Task
from kernelmill.tensors.arguments import CallArguments
from kernelmill.tensors.blob import in_memory
from kernelmill.tensors.layout import Layout

EXPORTING = "kernelmill.backends.pallas.xla.exporting"
_POLICY = Policy(limits=Limits(memory_bytes=8 << 30))
_EXPORT_SECONDS = 120.0


class _Exported(msgspec.Struct):
    """File: the constants."""

    graph: Graph
    layout: Layout


class BaselineSession(TracedSession):
    examined = False
    compile_seconds = 300.0

    def __init__(self, chip: str, task: Task, zygote: Zygote, toolchain: Zygote) -> None:
        super().__init__(chip, toolchain)
        entry = f"{EXPORTING}:export_reference"
        self._exporter = zygote.spawn(entry, {}, _POLICY)
        body = {"source": task.source, "scale": task.scale}
        ask(self._exporter, body, dict, _EXPORT_SECONDS)

    def close(self) -> None:
        self._exporter.close()
        super().close()

    def _bring(self, arguments: CallArguments, seconds: float) -> Taken:
        tensors = arguments.tensors
        body = {
            "do": "export",
            "layout": msgspec.to_builtins(tensors.layout),
            "inputs": msgspec.to_builtins(arguments.inputs),
            "state": arguments.state,
        }
        try:
            exported, files = ask(self._exporter, body, _Exported, _EXPORT_SECONDS, tensors.file)
        except InsideFailed as inside:
            raise BaselineMissing(f"the reference does not export: {inside}") from inside
        files.insert(0, in_memory(msgspec.json.encode(exported.graph)))
        body = {
            "do": "translate",
            "layout": msgspec.to_builtins(exported.layout),
            "tensors": [
                msgspec.to_builtins(Kind(t.dtype, t.shape)) for t in tensors.layout.tensors
            ],
        }
        try:
            return ask(self._engine, body, Taken, _EXPORT_SECONDS, *files)[0]
        except InsideFailed as inside:
            raise BaselineMissing(str(inside)) from inside
        finally:
            close_files(files)
