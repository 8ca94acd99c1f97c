"""Memory of timed calls: a new process shall not pay for its pages inside the clock."""

import subprocess
import sys

_OUTPUT_BYTES, _CALLS = 2 << 20, 4
_PROGRAM = f"""
import sys
from concurrent.futures import ThreadPoolExecutor
import torch
from kernelmill.judge import heap

torch.set_num_threads(1)
heap.keep_one_heap()
worker = ThreadPoolExecutor(1)

def call():
    scratch = worker.submit(torch.full, ({_OUTPUT_BYTES // 2},), 1, dtype=torch.uint8)
    output = torch.full(({_OUTPUT_BYTES},), scratch.result()[0], dtype=torch.uint8)
    return output

before = heap.new_bytes()
warm = call()
used = heap.new_bytes() - before
if sys.argv[1] == "ready":
    heap.populate(used, {_CALLS})
before = heap.new_bytes()
held = [call() for _ in range({_CALLS})]
print(used, heap.new_bytes() - before)
"""


def test_calls_find_their_pages_ready() -> None:
    used, later = _bytes_of_calls("ready")
    assert used > _OUTPUT_BYTES
    assert later < _OUTPUT_BYTES // 8


def test_pages_that_are_not_ready_are_counted() -> None:
    _, later = _bytes_of_calls("not ready")
    assert later > (_CALLS - 1) * _OUTPUT_BYTES


def _bytes_of_calls(memory: str) -> tuple[int, int]:
    """Bytes that the first call gets from the system, and those that the others get."""
    command = [sys.executable, "-c", _PROGRAM, memory]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    used, later = map(int, done.stdout.split())
    return used, later
