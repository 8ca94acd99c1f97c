"""Triton's compiler made ready in the warm process, so that no runner pays for it.

Imported by the warm process on a machine with a GPU. It starts no context: runners fork from it.
"""

import os
import subprocess
import tempfile

from triton.backends.nvidia import compiler, driver

_CACHE = "TRITON_CACHE_DIR"
_HOPPER = 90


def _make_ready() -> None:
    """Build Triton's own helper library once, and remember what its tools say of themselves."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ[_CACHE] = folder
        try:
            driver.CudaUtils()
            compiler.get_ptxas_version(_HOPPER)
        except (AssertionError, OSError, RuntimeError, subprocess.CalledProcessError):
            return  # every runner builds its own, or says why it cannot
        finally:
            del os.environ[_CACHE]
    driver.CudaUtils.__init__ = lambda self: None  # the one instance is complete


_make_ready()
