"""Starts the warm process, under whatever Python runs this file.

Kernelmill is found beside this file and not through the path: an environment with packages of its
own sees them, and none of those that Kernelmill is installed among.
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
    from kernelmill.sandbox.zygote import main

    main()
