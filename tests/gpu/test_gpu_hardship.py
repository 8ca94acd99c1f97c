"""Candidates that crash, hang or eat the device cost one runner each, and nobody else."""

import os
import subprocess

import pytest

from gpu.conftest import described
from kernelmill.backends import get_backend
from kernelmill.candidate import Candidate, Origin, read_candidate
from kernelmill.judge import Judge, Settings

pytestmark = pytest.mark.gpu

GELU = get_backend("triton").examples() / "starter" / "gelu"
STORE = "tl.store(y + offsets, value"
HARDSHIPS = {
    "illegal address": (STORE, "tl.store(y + offsets * 1000003 + (1 << 42), value", "exception"),
    "hang": (
        "    u = 0.7978845608028654",
        "    while tl.load(y, volatile=True) != 123.456:\n        tl.debug_barrier()\n    u = 0.7978845608028654",
        "time-out",
    ),
    "out of memory": (
        "y = torch.empty_like(x)",
        "y = torch.empty(1 << 40, device=x.device)",
        "exception",
    ),
    "too much shared memory": ("BLOCK=2048", "BLOCK=1 << 21", "exception"),
    "abort": ("y = torch.empty_like(x)", "import os; os.abort()", "crash"),
}
SLACK = 64 << 20
ROUNDS = int(os.environ.get("KERNELMILL_HARDSHIPS", "2"))


def edited(change: tuple[str, str, str]) -> Candidate:
    honest = read_candidate(GELU, Origin.FILE)
    text = honest.files["model.py"]
    assert change[0] in text
    return Candidate({"model.py": text.replace(change[0], change[1])}, Origin.FILE, "hardship")


def test_hardships_in_a_row_leave_the_device_clean() -> None:
    before = used_bytes()
    settings = Settings(rounds=16, seconds=5.0, static_rules=False)
    with Judge(get_backend("triton"), settings) as judge:
        task = described(judge, "starter/gelu")
        honest = read_candidate(GELU, Origin.FILE)
        for _ in range(ROUNDS):
            for name, change in HARDSHIPS.items():
                verdict = judge.verify(task, edited(change))
                assert not verdict.passed, name
                assert verdict.feedback[0].kind == change[2], (name, verdict.feedback[0].text())
            assert judge.verify(task, honest).passed
    assert used_bytes() - before < SLACK


def used_bytes() -> int:
    command = ["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return int(done.stdout.split()[0]) << 20
