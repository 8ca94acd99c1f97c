"""Models from files or modules of the user: `Model`, `get_inputs()`, `get_init_inputs()`.

This is the user's own program, so it runs in this process, as `python FILE` would run it.
"""

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from torch import nn

from kernelmill.records.errors import UsageError


class LoadedModel(NamedTuple):
    module: nn.Module
    inputs: Any
    """A list of arguments, or a dict of arguments by name."""


def load_model(name: str) -> LoadedModel:
    """The model of a file or an importable module, in evaluation mode. Raises UsageError."""
    try:
        source = _import(name)
        given = source.get_init_inputs() if hasattr(source, "get_init_inputs") else []
        model = source.Model(**given) if isinstance(given, dict) else source.Model(*given)
        inputs = source.get_inputs()
    except UsageError:
        raise
    except Exception as error:  # the user's own code
        raise UsageError(f"{name} gives no model: {type(error).__name__}: {error}") from error
    if not isinstance(model, nn.Module):
        raise UsageError(f"Model of {name} is not a torch.nn.Module")
    return LoadedModel(model.eval(), inputs)


def _import(name: str) -> ModuleType:
    path = Path(name)
    if path.suffix != ".py":
        sys.path.insert(0, "")
        return importlib.import_module(name)
    if not path.is_file():
        raise UsageError(f"there is no file {name}")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    if (folder := str(path.resolve().parent)) not in sys.path:
        sys.path.insert(0, folder)
    sys.modules.setdefault(path.stem, module)
    spec.loader.exec_module(module)
    return module
