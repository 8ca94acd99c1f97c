"""Start script of the zygote, for any Python interpreter.

Kernelmill is imported from the folder of this file, not through the search path: the interpreter of
a tool chain sees its own packages, and none of those installed beside Kernelmill.
"""

import importlib.util
import sys
from pathlib import Path


def _import_kernelmill() -> None:
    folder = Path(__file__).resolve().parents[1]
    spec = importlib.util.spec_from_file_location(
        folder.name, folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    assert spec is not None and spec.loader is not None
    package = importlib.util.module_from_spec(spec)
    sys.modules[folder.name] = package
    spec.loader.exec_module(package)


if __name__ == "__main__":
    _import_kernelmill()
    from kernelmill.sandbox.zygote_program import run_zygote

    run_zygote()
