"""Loading of models, and of their state, inside sandboxes only."""

import copy
import importlib
import importlib.util
import os
import tarfile
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any, BinaryIO, NamedTuple

import torch
from torch import nn

from kernelmill.backends.support.candidate_files import COMPILE_CACHE, import_model, write_sources
from kernelmill.judge.compare import WELL_CONDITIONED, Conditioning
from kernelmill.judge.conditioning import ILL_CONDITIONED, measure_conditioning
from kernelmill.judge.protocol import CandidateRequest
from kernelmill.sandbox.confine import make_read_only
from kernelmill.tasks.module import tensors_in, to_device, to_float64
from kernelmill.tensors.torch_side import TensorView, dtype_name, restore_value

CPU = torch.device("cpu")
ARCHIVE_SUFFIX = ".tar"
"""Of an artefact that is an archive of files."""


def compile_model(model: nn.Module) -> nn.Module:
    from torch._inductor import config

    config.compile_threads = 1
    with suppress(ImportError):  # progress bars of the compiler leave a thread behind
        importlib.import_module("tqdm").tqdm.monitor_interval = 0
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(Path.cwd() / "inductor")
    model.compile(dynamic=False)
    return model


def construct_candidate(
    request: CandidateRequest,
    files: list[int],
    folder: Path,
    device: torch.device = CPU,
    writing: tuple[str, ...] = (),
) -> nn.Module:
    """Write its files, give up writing to all folders but `writing`, and construct its ModelNew."""
    write_sources(request.sources, folder)
    tensor_file, compile_cache_file, *artefacts = files
    for name, artefact in zip(request.artefacts, artefacts, strict=True):
        with os.fdopen(artefact, "rb") as source:
            _place(folder, name, source)
    _fill_compile_cache(compile_cache_file)
    make_read_only(str(folder), writing)
    if request.prebuilt_extensions:
        _serve_prebuilt_extensions(folder)
    view = TensorView(tensor_file, request.init_layout, writable=())
    arguments = restore_value(request.init_arguments, [t.clone() for t in view.tensors])
    view.close()
    os.close(tensor_file)
    with device:
        module = import_model(folder)
        if not hasattr(module, "ModelNew"):
            raise AttributeError("model.py does not define ModelNew")
        model = module.ModelNew(*to_device(arguments, device))
    if not isinstance(model, nn.Module):
        raise TypeError("ModelNew is not a torch.nn.Module")
    return model.to(device)


def _place(folder: Path, name: str, source: BinaryIO) -> None:
    """Write an artefact beside the sources; an archive is unpacked there."""
    if name.endswith(ARCHIVE_SUFFIX):
        with tarfile.open(fileobj=source) as archive:
            archive.extractall(folder, filter="data")
    else:
        (folder / name).write_bytes(source.read())


def _fill_compile_cache(file: int) -> None:
    """Extract an archive of code that was compiled ahead of time; the file may be empty."""
    with os.fdopen(file, "rb") as content:
        if os.fstat(file).st_size:
            with tarfile.open(fileobj=content) as archive:
                archive.extractall(COMPILE_CACHE, filter="data")


def _serve_prebuilt_extensions(folder: Path) -> None:
    """Let `load_inline` return the extension that the build gate has built from the same call."""
    from torch.utils import cpp_extension

    def load_prebuilt(name: str, *_: Any, **__: Any) -> ModuleType:
        spec = importlib.util.spec_from_file_location(name, folder / f"{name}.so")
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    cpp_extension.load_inline = load_prebuilt


def set_state(model: nn.Module, values: dict[str, torch.Tensor], copy_buffers: bool = True) -> None:
    """Bind parameters to the given memory itself, and buffers to copies where forward may not
    update what is given."""
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
        kept = isinstance(own[name], nn.Parameter) or not copy_buffers
        own[name].data = value if kept else value.clone()


def pointers(value: Any) -> list[int]:
    """The addresses of all tensors in a value."""
    if isinstance(value, torch.Tensor):
        return [value.data_ptr()]
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        return [pointer for item in value for pointer in pointers(item)]
    return []


class WideOutputs(NamedTuple):
    tensors: list[torch.Tensor]
    precise: bool
    """Whether they were computed in float64, which code with a fixed dtype does not allow."""
    conditioning: list[Conditioning]
    """By output; where it was not asked for, the output counts as well conditioned."""


def outputs_in_float64(model: nn.Module, inputs: list[Any], distribution: str) -> WideOutputs:
    """The outputs, with their conditioning where the distribution calls for it."""
    try:
        wide = to_float64(model)
        outputs = tensors_in(wide(*to_float64(inputs)))  # the inputs are free afterwards
        conditioning = [WELL_CONDITIONED] * len(outputs)
        if distribution.partition("-")[0] in ILL_CONDITIONED:
            conditioning = measure_conditioning(model, wide, inputs, outputs, distribution)
        return WideOutputs(outputs, True, conditioning)
    except torch.OutOfMemoryError:  # says nothing about the code
        raise
    except (RuntimeError, TypeError):
        outputs = tensors_in(copy.deepcopy(model)(*inputs))
        widened = [t.double() if t.is_floating_point() else t for t in outputs]
        return WideOutputs(widened, False, [WELL_CONDITIONED] * len(outputs))
