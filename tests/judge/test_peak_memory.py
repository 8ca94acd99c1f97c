"""Peak memory of a call: what a candidate takes is counted, wherever it takes it from."""

from pathlib import Path

import pytest

from judge.kernels import TASK, candidate
from kernelmill.backends import get_backend
from kernelmill.campaign.preflight import find_task
from kernelmill.judge import Judge, JudgeSettings
from kernelmill.records.candidate import Candidate, Origin

pytestmark = [pytest.mark.compiler, pytest.mark.slow]
MIB = 1 << 20
SCRATCH = 48 * MIB
_LOOP = "#pragma omp parallel for"
_MAP = "mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)"
WAYS = {
    "heap": ("(volatile char*)std::malloc(size)", "std::free((void*)scratch)"),
    "mapped": (f"(volatile char*){_MAP}", "munmap((void*)scratch, size)"),
}
"""Allocation and release of scratch memory."""


def taking(take: str, release: str) -> Candidate:
    """The honest kernel with scratch memory that it fills and releases in every call."""
    scratch = f"""const int64_t size = {SCRATCH};
  volatile char* scratch = {take};
  for (int64_t i = 0; i < size; i += 4096) scratch[i] = 1;
  {release};
{_LOOP}"""
    files = dict(candidate(kernel=(_LOOP, scratch)).files)
    headers = "#include <cstdlib>\n#include <sys/mman.h>\n"
    return Candidate({**files, "kernel.cpp": headers + files["kernel.cpp"]}, Origin.FILE, "test")


def test_scratch_memory_is_counted_wherever_it_comes_from(tmp_path: Path) -> None:
    (tmp_path / "task.py").write_text(TASK)
    settings = JudgeSettings(rounds=5, seconds=20.0, static_rules=False)
    peaks = {}
    with Judge(get_backend("cpp"), settings) as judge:
        task = judge.describe(find_task(str(tmp_path / "task.py")))
        kernels = {"plain": candidate()} | {name: taking(*way) for name, way in WAYS.items()}
        for name, kernel in kernels.items():
            verdict = judge.verify(task, kernel, brief=True)
            assert verdict.passed, verdict.feedback
            peaks[name] = verdict.resources.peak_bytes or 0
    plain = peaks.pop("plain")
    assert 0 < plain < 24 * MIB
    for name, peak in peaks.items():
        assert 0.9 * SCRATCH < peak - plain < 1.2 * SCRATCH, name
