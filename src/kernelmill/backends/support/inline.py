"""KernelBench's single-file candidates: a model.py that builds an extension with load_inline."""

import functools
import importlib.util
import os
import re
from pathlib import Path

import msgspec

from kernelmill.backends.base import BuildFailed
from kernelmill.backends.support.building import (
    BUILD_SECONDS,
    COMPILER_PROGRAMS,
    build_sandbox,
)
from kernelmill.records.candidate import MODEL_FILE, Candidate
from kernelmill.records.errors import BackendUnavailable
from kernelmill.sandbox import Zygote


class InlineExtension(msgspec.Struct):
    """The arguments of a candidate's call of load_inline. Nothing in them is trusted."""

    name: str
    sources: list[str]
    cuda_sources: list[str]
    functions: list[str]

    def text(self) -> str:
        """The extension as one source file."""
        bindings = "".join(f'  m.def("{name}", &{name});\n' for name in self.functions)
        module = f"PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {{\n{bindings}}}\n" if bindings else ""
        parts = (*self.sources, *self.cuda_sources, module)
        return "\n".join(["#include <torch/extension.h>", *parts])


_LOADED_INLINE = re.compile(r"^[^#\n]*\bload_inline\b", re.MULTILINE)
"""Outside of comments."""


def is_inline(candidate: Candidate) -> bool:
    return _LOADED_INLINE.search(candidate.files[MODEL_FILE]) is not None


def read_inline_extension(
    candidate: Candidate, zygote: Zygote, with_cuda: bool = False
) -> InlineExtension:
    """Import model.py in a sandbox, up to its call of load_inline. Raises BuildFailed."""
    arguments = {"source": candidate.files[MODEL_FILE], "with_cuda": with_cuda}
    with build_sandbox(f"{COMPILER_PROGRAMS}:record_extension", arguments, zygote) as sandbox:
        body, files = sandbox.request({"go": True}, BUILD_SECONDS)
    for file in files:
        os.close(file)
    try:
        call = msgspec.convert(body, InlineExtension)
    except (msgspec.ValidationError, RecursionError):
        said = str(body.get("error", ""))[:500]
        raise BuildFailed("import", "model.py does not reach load_inline", (said,)) from None
    if not call.name.isidentifier() or not all(f.isidentifier() for f in call.functions):
        raise BuildFailed("name", f"{call.name!r} or a function of it is no identifier", ())
    return call


@functools.cache
def framework_folders(kind: str) -> tuple[str, ...]:
    """Folders of torch's headers ("include") or libraries ("lib"), found without importing it."""
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        raise BackendUnavailable("torch is not installed: pip install torch")
    root = Path(spec.origin).parent / kind
    inner = root / "torch" / "csrc" / "api" / "include"
    return (str(root), str(inner)) if kind == "include" else (str(root),)
