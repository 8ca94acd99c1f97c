"""KernelBench's single-file form: a model.py that builds its own extension with load_inline."""

import functools
import importlib.util
import os
from pathlib import Path

import msgspec

from kernelmill.backends.base import BuildFailed
from kernelmill.backends.building import PROGRAMS, SECONDS, builder
from kernelmill.candidate import MODEL_FILE, Candidate
from kernelmill.errors import BackendUnavailable
from kernelmill.sandbox import Zygote


class Recorded(msgspec.Struct):
    """A call of load_inline, as a candidate's code made it: anything may be in it."""

    name: str
    sources: list[str]
    cuda_sources: list[str]
    functions: list[str]

    def text(self) -> str:
        """The extension as one source."""
        bindings = "".join(f'  m.def("{name}", &{name});\n' for name in self.functions)
        module = f"PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {{\n{bindings}}}\n" if bindings else ""
        parts = (*self.sources, *self.cuda_sources, module)
        return "\n".join(["#include <torch/extension.h>", *parts])


def is_inline(candidate: Candidate) -> bool:
    return "load_inline" in candidate.files[MODEL_FILE]


def record(candidate: Candidate, zygote: Zygote, with_cuda: bool = False) -> Recorded:
    """Import model.py in a cell, note what it asks to be built. Raises BuildFailed."""
    arguments = {"source": candidate.files[MODEL_FILE], "with_cuda": with_cuda}
    with builder(f"{PROGRAMS}:record_extension", arguments, zygote) as cell:
        body, files = cell.request({"go": True}, SECONDS)
    for file in files:
        os.close(file)
    try:
        call = msgspec.convert(body, Recorded)
    except (msgspec.ValidationError, RecursionError):
        said = str(body.get("error", ""))[:500]
        raise BuildFailed("import", "model.py does not reach load_inline", (said,)) from None
    if not call.name.isidentifier() or not all(f.isidentifier() for f in call.functions):
        raise BuildFailed("name", f"{call.name!r} is not a name for an extension", ())
    return call


@functools.cache
def framework_folders(kind: str) -> tuple[str, ...]:
    """Where the framework's headers or libraries lie, found without importing it."""
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        raise BackendUnavailable("torch is not installed")
    root = Path(spec.origin).parent / kind
    inner = root / "torch" / "csrc" / "api" / "include"
    return (str(root), str(inner)) if kind == "include" else (str(root),)
