"""A candidate's files, and its compilers', where it is to run. Used inside cells only."""

import importlib.util
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

from kernelmill.candidate import MODEL_FILE

WORKSHOP = "workshop"
"""Where compilers keep what they make, in the folder a cell works in."""
_NAME = "candidate_model"


def write_sources(sources: Mapping[str, str], folder: Path) -> None:
    folder.mkdir()
    for name, text in sources.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def import_model(folder: Path) -> ModuleType:
    """Run its model.py, under the same name everywhere."""
    spec = importlib.util.spec_from_file_location(_NAME, folder / MODEL_FILE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[_NAME] = module
    spec.loader.exec_module(module)
    return module
