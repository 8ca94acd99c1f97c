"""A judge at work, for tests that kill it: one honest kernel judged for every line it is given."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from judge.kernels import KERNEL, candidate
from kernelmill.backends import get_backend
from kernelmill.judge import Judge, JudgeSettings
from kernelmill.tasks import load_suite

with Judge(get_backend("cpp"), JudgeSettings(rounds=5, seconds=20.0)) as judge:
    task = judge.describe(load_suite(sys.argv[1])[0])
    for number, _ in enumerate(sys.stdin):
        # Another text each time, so that the compiler has work to do.
        kernel = candidate(kernel=(KERNEL, f"{KERNEL}\n// {sys.argv[2]} {number}\n"))
        verdict = judge.verify(task, kernel)
        print("passed" if verdict.passed else verdict.feedback[0].summary, flush=True)
