"""Compiles a candidate's kernels before its first call: for all shapes of a task, on no device.

Runs inside a cell. The candidate is called with tensors that have shapes and no memory, and where
it would launch a kernel, the kernel is compiled. What it cannot do without numbers or a device is
left for its first real call, as is saying what is wrong with it.
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

from kernelmill.backends.candidate_files import WORKSHOP, import_model, write_sources
from kernelmill.backends.triton.protocol import CACHE, AheadRequest
from kernelmill.sandbox.channel import Channel
from kernelmill.tasks.module import TaskModule
from kernelmill.tensors.blob import in_memory

_MOST_AT_ONCE = 8
_NICE = 10
"""A measurement may be going on."""
_UNKNOWN_YET = SimpleNamespace(
    tensordesc_meta=None, num_ctas=1, global_scratch_size=0, global_scratch_align=1,
    profile_scratch_size=0, profile_scratch_align=1, launch_cooperative_grid=False,
    launch_pdl=False,
)  # fmt: skip
"""What a launcher is told of a kernel that is still being compiled. Its code does not depend on it
but for descriptors of tensors, and those are then built at the first call."""


def compile_ahead(channel: Channel, arguments: dict[str, Any], scratch: str) -> None:
    """Entry: hands back an archive of what the compiler left in the workshop."""
    request = msgspec.convert(arguments, AheadRequest)
    channel.receive()
    os.nice(_NICE)
    os.environ["TRITON_CACHE_DIR"] = CACHE
    knobs.compilation.store_binary_only = True
    workers = min(_MOST_AT_ONCE, len(os.sched_getaffinity(0)))
    with ThreadPoolExecutor(workers) as pool:
        launchers = _compile_instead_of_launching(request.capability, pool)
        with AsyncCompileMode(pool, ignore_errors=True):
            _call_for_all_shapes(request, Path(scratch) / "candidate")
        wait(launchers.values())
    channel.send({"done": True}, (in_memory(_archive(Path(scratch) / WORKSHOP)),))


class _NoDevice:
    """Where Triton asks which device it compiles for."""

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
    """From now on, in this process. Launchers, which a C compiler makes, come up beside kernels:
    one for each signature, that is, for many kernels."""
    driver.set_active(_NoDevice(capability))
    run, compile_kernel = JITFunction.run, triton.compiler.compile
    launchers: dict[str, Future[Any]] = {}

    def run_nothing(self: Any, *arguments: Any, **options: Any) -> Any:
        return run(self, *arguments, **{**options, "warmup": True})

    def try_all(self: Any, *arguments: Any, warmup: bool = False, **options: Any) -> Any:
        return self.warmup(*arguments, **options)

    def compile_both(source: Any, **options: Any) -> Any:
        signature = str(source.signature)
        if signature not in launchers:
            launchers[signature] = pool.submit(CudaLauncher, source, _UNKNOWN_YET)
        return compile_kernel(source, **options)

    JITFunction.run = run_nothing
    Autotuner.run = try_all
    triton.compiler.compile = compile_both
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
