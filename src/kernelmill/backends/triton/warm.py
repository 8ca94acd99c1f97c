"""Warm-up of Triton's compiler in the zygote, so that no runner pays for it.

Imported by the zygote on a machine with a GPU. It starts no CUDA context: runners fork from it.
"""

import os
import subprocess
import tempfile

import torch
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.backends.nvidia import driver
from triton.compiler import ASTSource
from triton.errors import TritonError

_CACHE = "TRITON_CACHE_DIR"
_TARGET = GPUTarget("cuda", 90, 32)


# Triton evaluates annotations, and does not know Python's types.
def _copy(source, target, size: tl.constexpr):  # type: ignore[no-untyped-def]
    places = tl.arange(0, size)
    tl.store(target + places, tl.load(source + places))


def _warm_up() -> None:
    """Build Triton's own helper library, and compile one kernel.

    The first compilation reads a digest of Triton's whole library and looks for its tools.
    """
    with tempfile.TemporaryDirectory() as folder:
        os.environ[_CACHE] = folder
        try:
            driver.CudaUtils()
            pointers = {"source": "*fp32", "target": "*fp32"}
            triton.compile(ASTSource(triton.jit(_copy), pointers, {(2,): 128}), target=_TARGET)
        except (AssertionError, OSError, RuntimeError, TritonError, subprocess.SubprocessError):
            return  # every runner does this itself, or reports why it cannot
        finally:
            del os.environ[_CACHE]
    driver.CudaUtils.__init__ = lambda self: None  # the one instance is complete


_warm_up()
# The first random meta tensor imports sympy.
torch.randn(1, device="meta")
