"""Runs one code case against its reference on all shapes, in the interpreter of its language.

python run_case.py BACKEND TASK FOLDER
"""

import contextlib
import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType

import torch


def load(path: Path, name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def interpreting(backend: str) -> contextlib.AbstractContextManager[object]:
    if backend == "triton":
        import kernelmill.backends.triton.interpreted  # noqa: F401

        return contextlib.nullcontext()
    os.environ["JAX_PLATFORMS"] = "cpu"
    from jax.experimental.pallas import tpu

    return tpu.force_tpu_interpret_mode()


def main() -> None:
    backend, task, folder = sys.argv[1:]
    with interpreting(backend):
        reference, candidate = (
            load(Path(task), "reference"),
            load(Path(folder) / "model.py", "model"),
        )
        for number, sizes in enumerate(reference.HIDDEN):
            for name, size in sizes.items():
                setattr(reference, name, size)
            torch.manual_seed(number)
            arguments = reference.get_init_inputs()
            wanted, ours = reference.Model(*arguments), candidate.ModelNew(*arguments)
            ours.load_state_dict(wanted.state_dict())
            inputs = reference.get_inputs()
            torch.testing.assert_close(ours(*inputs), wanted(*inputs), rtol=1e-4, atol=1e-4)


if __name__ == "__main__":
    main()
