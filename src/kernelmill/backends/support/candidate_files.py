"""A candidate's files and compile cache in the folder where it runs. Used inside sandboxes only."""

import importlib.util
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

from kernelmill.records.candidate import MODEL_FILE

COMPILE_CACHE = "compile_cache"
"""Folder of the compilers' caches, relative to the sandbox's working folder."""
TRITON_CACHE = f"{COMPILE_CACHE}/triton"
"""Folder of Triton's cache, for candidates and for torch.compile. Relative, because Triton records
paths in it, and those must hold in every sandbox that uses it."""
MODEL_MODULE = "candidate_model"
"""Name under which a candidate's model.py is imported."""


def write_sources(sources: Mapping[str, str], folder: Path) -> None:
    folder.mkdir()
    for name, text in sources.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def import_model(folder: Path) -> ModuleType:
    """Import its model.py, under the same module name everywhere."""
    spec = importlib.util.spec_from_file_location(MODEL_MODULE, folder / MODEL_FILE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[MODEL_MODULE] = module
    spec.loader.exec_module(module)
    return module
