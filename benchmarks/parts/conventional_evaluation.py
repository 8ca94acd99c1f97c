"""A conventional evaluation: load_inline, five trials, a hundred timed calls, one process."""

import sys
import time
from pathlib import Path

import torch
from torch.utils.cpp_extension import load_inline
from verdict_floor import load

TRIALS = 5
TIMED_CALLS = 100


def main(folder: Path) -> None:
    torch.set_grad_enabled(False)
    task = load(folder / "task.py")
    kernel = (folder / "kernel.cpp").read_text()
    extension = load_inline(
        name=f"conventional_{time.time_ns()}",
        cpp_sources=[kernel, "PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {}"],
        extra_cflags=["-O3", "-march=native", "-fopenmp", "-std=c++20"],
        extra_ldflags=["-fopenmp"],
        build_directory=str(folder),
    )
    Path(extension.__file__).rename(folder / "kernel.so")
    candidate = load(folder / "model.py").ModelNew(*task.get_init_inputs())
    reference = task.Model(*task.get_init_inputs())
    candidate.load_state_dict(reference.state_dict())
    for seed in range(TRIALS):
        torch.manual_seed(seed)
        inputs = task.get_inputs()
        assert torch.allclose(candidate(*inputs), reference(*inputs), rtol=1e-3, atol=1e-3)
    for model in (reference, candidate):
        times = []
        for _ in range(TIMED_CALLS):
            start = time.perf_counter()
            model(*inputs)
            times.append(time.perf_counter() - start)
    print(sum(times))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
