"""A judge at work, for tests that kill it: judges one honest kernel again and again."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from judge.kernels import KERNEL, candidate
from kernelmill.backends import get_backend
from kernelmill.judge import Judge, Settings
from kernelmill.tasks import load_suite

with Judge(get_backend("cpp"), Settings(rounds=5, seconds=20.0)) as judge:
    task = judge.describe(load_suite(sys.argv[1])[0])
    for number in range(int(sys.argv[2])):
        # Another text each time, so that the compiler has work to do.
        kernel = candidate(kernel=(KERNEL, f"{KERNEL}\n// {sys.argv[3]} {number}\n"))
        verdict = judge.verify(task, kernel)
        print("passed" if verdict.passed else verdict.feedback[0].summary, flush=True)
