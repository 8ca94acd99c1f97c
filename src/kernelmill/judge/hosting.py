"""A model in its cell: loading it, its state, its failures. Used inside cells only."""

import copy
import importlib.util
import os
import tarfile
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch import nn

from kernelmill.backends.candidate_files import WORKSHOP, import_model, write_sources
from kernelmill.judge.protocol import LoadRequest
from kernelmill.sandbox.confine import make_read_only
from kernelmill.tasks.module import moved, widened
from kernelmill.tensors.torch_side import View, describe, dtype_name, restore

CPU = torch.device("cpu")


def compiled(model: nn.Module) -> nn.Module:
    from torch._inductor import config

    config.compile_threads = 1
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(Path.cwd() / "inductor")
    model.compile(dynamic=False)
    return model


def load_candidate(
    request: LoadRequest,
    files: list[int],
    folder: Path,
    device: torch.device = CPU,
    writing: tuple[str, ...] = (),
) -> nn.Module:
    """Write its files, give up writing to all but what is named, construct its ModelNew."""
    write_sources(request.sources, folder)
    tensor_file, workshop_file, *artefacts = files
    for name, artefact in zip(request.artefacts, artefacts, strict=True):
        with os.fdopen(artefact, "rb") as source:
            (folder / name).write_bytes(source.read())
    _fill_workshop(workshop_file)
    make_read_only(str(folder), writing)
    if request.prebuilt_extensions:
        _serve_prebuilt_extensions(folder)
    view = View(tensor_file, request.init_layout, shared=False)
    arguments = restore(request.init_arguments, [t.clone() for t in view.tensors])
    view.close()
    with device:
        module = import_model(folder)
        if not hasattr(module, "ModelNew"):
            raise AttributeError("model.py does not define ModelNew")
        model = module.ModelNew(*moved(arguments, device))
    if not isinstance(model, nn.Module):
        raise TypeError("ModelNew is not a torch.nn.Module")
    return model.to(device)


def _fill_workshop(file: int) -> None:
    """With what was compiled ahead, where anything was."""
    with os.fdopen(file, "rb") as content:
        if os.fstat(file).st_size:
            with tarfile.open(fileobj=content) as archive:
                archive.extractall(WORKSHOP, filter="data")


def _serve_prebuilt_extensions(folder: Path) -> None:
    """Let `load_inline` return what the build gate has already built from the same call."""
    from torch.utils import cpp_extension

    def load_prebuilt(name: str, *_: Any, **__: Any) -> ModuleType:
        spec = importlib.util.spec_from_file_location(name, folder / f"{name}.so")
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    cpp_extension.load_inline = load_prebuilt


def set_state(model: nn.Module, values: dict[str, torch.Tensor]) -> None:
    """Parameters become the given memory itself; buffers, which forward may update, a copy."""
    own = model.state_dict(keep_vars=True)
    wrong = [f"missing {name}" for name in values.keys() - own.keys()]
    wrong += [f"unexpected {name}" for name in own.keys() - values.keys()]
    wrong += [
        f"{name} is {dtype_name(own[name].dtype)}{list(own[name].shape)} instead of "
        f"{dtype_name(value.dtype)}{list(value.shape)}"
        for name, value in values.items()
        if name in own and (own[name].shape != value.shape or own[name].dtype != value.dtype)
    ]
    if wrong:
        raise RuntimeError(f"state_dict: {'; '.join(sorted(wrong))}")
    for name, value in values.items():
        own[name].data = value if isinstance(own[name], nn.Parameter) else value.clone()


def pointers(value: Any) -> list[int]:
    if isinstance(value, torch.Tensor):
        return [value.data_ptr()]
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        return [pointer for item in value for pointer in pointers(item)]
    return []


def outputs_in_float64(model: nn.Module, inputs: list[Any]) -> tuple[list[torch.Tensor], bool]:
    """Outputs in float64, and whether they are: code with a fixed dtype inside cannot widen."""
    outputs: list[torch.Tensor] = []
    try:
        describe(widened(model)(*widened(inputs)), outputs)
        return outputs, True
    except (RuntimeError, TypeError):
        outputs.clear()
        describe(copy.deepcopy(model)(*inputs), outputs)
        return [t.double() if t.is_floating_point() else t for t in outputs], False
