"""Ahead-of-time compilation of a candidate's kernels, for all shapes of a task, without a device.

Runs inside sandboxes only. The candidate is called with meta tensors, which have no values, and
every kernel that it would launch is compiled. Whatever needs values or a device is left for the
first real call, which also reports what is wrong with the candidate.
"""

import io
import os
import tarfile
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import torch
import triton.compiler
from triton import knobs
from triton.backends.compiler import GPUTarget
from triton.backends.nvidia.driver import CudaLauncher
from triton.runtime import driver
from triton.runtime._async_compile import AsyncCompileMode
from triton.runtime.autotuner import Autotuner
from triton.runtime.jit import JITFunction

from kernelmill.backends.support.candidate_files import (
    COMPILE_CACHE,
    TRITON_CACHE,
    import_model,
    write_sources,
)
from kernelmill.backends.triton.protocol import AheadRequest
from kernelmill.sandbox.channel import Channel
from kernelmill.tasks.module import TaskModule
from kernelmill.tensors.blob import memory_file

_MAX_WORKERS = 8
_NICE = 10
"""Lowers the priority, because a measurement may be running."""
_PROVISIONAL_METADATA = SimpleNamespace(
    tensordesc_meta=None, num_ctas=1, global_scratch_size=0, global_scratch_align=1,
    profile_scratch_size=0, profile_scratch_align=1, launch_cooperative_grid=False,
    launch_pdl=False,
)  # fmt: skip
"""Metadata for launchers of kernels that are still being compiled. Only launchers that take tensor
descriptors depend on it, and those are built again at the first call."""


def compile_ahead(channel: Channel, arguments: dict[str, Any], scratch: str) -> None:
    """Entry: send back an archive of the compile cache."""
    request = msgspec.convert(arguments, AheadRequest)
    channel.receive()
    os.nice(_NICE)
    os.environ["TRITON_CACHE_DIR"] = TRITON_CACHE
    knobs.compilation.store_binary_only = True
    workers = min(_MAX_WORKERS, len(os.sched_getaffinity(0)))
    with ThreadPoolExecutor(workers) as pool:
        launchers = _compile_instead_of_launching(request.capability, pool)
        with AsyncCompileMode(pool, ignore_errors=True):
            _call_for_all_shapes(request, Path(scratch) / "candidate")
        wait(launchers.values())
    channel.send({"done": True}, (memory_file(_archive(Path(scratch) / COMPILE_CACHE)),))


class _NoDevice:
    """Triton's driver of a machine without a device: names the target to compile for."""

    def __init__(self, capability: int) -> None:
        self._target = GPUTarget("cuda", capability, 32)

    def get_current_target(self) -> GPUTarget:
        return self._target

    def get_current_device(self) -> int:
        return 0

    def get_current_stream(self, _device: int) -> int:
        return 0


def _compile_instead_of_launching(
    capability: int, pool: ThreadPoolExecutor
) -> dict[str, Future[Any]]:
    """Patch Triton for the rest of this process. Returns the launchers being built, by signature.

    A C compiler builds launchers in parallel with the kernels. Kernels of one signature share one.
    """
    driver.set_active(_NoDevice(capability))
    run, compile_kernel = JITFunction.run, triton.compiler.compile
    launchers: dict[str, Future[Any]] = {}

    def run_as_warmup(self: Any, *arguments: Any, **options: Any) -> Any:
        return run(self, *arguments, **{**options, "warmup": True})

    def compile_all(self: Any, *arguments: Any, warmup: bool = False, **options: Any) -> Any:
        return self.warmup(*arguments, **options)

    def compile_with_launcher(source: Any, **options: Any) -> Any:
        signature = str(source.signature)
        if signature not in launchers:
            launchers[signature] = pool.submit(CudaLauncher, source, _PROVISIONAL_METADATA)
        return compile_kernel(source, **options)

    JITFunction.run = run_as_warmup
    Autotuner.run = compile_all
    triton.compiler.compile = compile_with_launcher
    return launchers


def _call_for_all_shapes(request: AheadRequest, folder: Path) -> None:
    task = TaskModule(request.task, request.scale, "meta")
    with suppress(Exception), torch.no_grad():  # the candidate's own code may raise anything
        forward = _load(request.sources, folder, task)
        for constants in request.variants:
            with suppress(Exception), task.sized(constants):
                forward(*task.inputs(seed=0))


def _load(sources: dict[str, str], folder: Path, task: TaskModule) -> Callable[..., Any]:
    write_sources(sources, folder)
    with torch.device("meta"):
        model: torch.nn.Module = import_model(folder).ModelNew(*task.init_arguments())
    return model.to("meta")


def _archive(folder: Path) -> bytes:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        if folder.is_dir():
            archive.add(folder, arcname=".")
    return content.getvalue()
