"""Lower bound on the cost of a verdict: compile, candidate calls and reference calls alone."""

import importlib.util
import os
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType

import torch

FLAGS = ["-std=c++20", "-O3", "-march=native", "-fopenmp", "-fPIC", "-shared", "-w"]


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main(folder: Path, candidate_calls: int, reference_calls: int) -> None:
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    torch.set_grad_enabled(False)
    task = load(folder / "task.py")
    inputs = [task.get_inputs() for _ in range(4)]
    reference = task.Model(*task.get_init_inputs())
    reference(*inputs[0])
    start = time.perf_counter()
    library = folder / "kernel.so"
    subprocess.run(["g++", *FLAGS, "-o", library, folder / "kernel.cpp"], check=True)
    candidate = load(folder / "model.py").ModelNew(*task.get_init_inputs())
    candidate.load_state_dict(reference.state_dict())
    for number in range(candidate_calls):
        candidate(*inputs[number % 4])
    for number in range(reference_calls):
        reference(*inputs[number % 4])
    print(time.perf_counter() - start)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
