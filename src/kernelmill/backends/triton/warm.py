"""Triton's compiler made ready in the warm process, so that no runner pays for it.

Imported by the warm process on a machine with a GPU. It starts no context: runners fork from it.
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


# Triton reads annotations, and knows no types of Python's.
def _copy(source, target, size: tl.constexpr):  # type: ignore[no-untyped-def]
    places = tl.arange(0, size)
    tl.store(target + places, tl.load(source + places))


def _make_ready() -> None:
    """Build Triton's own helper library once; compile something, so that what the compiler reads of
    itself at its first use (a digest of its whole library, what its tools are called) is read."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ[_CACHE] = folder
        try:
            driver.CudaUtils()
            pointers = {"source": "*fp32", "target": "*fp32"}
            triton.compile(ASTSource(triton.jit(_copy), pointers, {(2,): 128}), target=_TARGET)
        except (AssertionError, OSError, RuntimeError, TritonError, subprocess.SubprocessError):
            return  # every runner does this itself, or says why it cannot
        finally:
            del os.environ[_CACHE]
    driver.CudaUtils.__init__ = lambda self: None  # the one instance is complete


_make_ready()
# The first random tensor without memory loads a system of computer algebra.
torch.randn(1, device="meta")
