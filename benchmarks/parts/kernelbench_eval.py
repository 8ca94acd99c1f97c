"""KernelBench's own evaluation of one candidate, in a process of its own.

    python benchmarks/parts/kernelbench_eval.py CHECKOUT REFERENCE.py CANDIDATE.py BACKEND

Prints its findings as JSON, with the seconds of the evaluation alone.
"""

import json
import sys
import time
from pathlib import Path


def main() -> None:
    checkout, reference, candidate, backend = sys.argv[1:]
    sys.path.insert(0, str(Path(checkout) / "src"))
    from kernelbench.eval import eval_kernel_against_ref

    start = time.perf_counter()
    result = eval_kernel_against_ref(
        Path(reference).read_text(),
        Path(candidate).read_text(),
        num_correct_trials=5,
        num_perf_trials=100,
        measure_performance=True,
        backend=backend,
    )
    seconds = time.perf_counter() - start
    print(json.dumps({"correct": result.correctness, "ms": result.runtime, "seconds": seconds}))


if __name__ == "__main__":
    main()
