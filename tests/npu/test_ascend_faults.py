"""Repeats and kills on simulated Ascends: the same cycles every time, and nothing left behind."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kernelmill.backends import get_backend
from kernelmill.backends.reading import read_candidate
from kernelmill.judge import Judge, JudgeSettings
from kernelmill.records.candidate import Origin
from kernelmill.sandbox import syscalls
from kernelmill.sandbox.processes import descendants
from kernelmill.tasks import load_suite

SECONDS = 300.0
REPEATS = 20
REFUSED = 1
"""The exit code of `verify` where the candidate does not pass."""


@pytest.mark.parametrize(
    ("backend", "name"),
    [
        pytest.param(backend, name, marks=pytest.mark.npu(backend))
        for backend in ("triton_ascend", "pypto")
        for name in ("softmax", "gelu", "matmul")
    ],
)
@pytest.mark.timeout(3600)
def test_a_verdict_and_its_cycles_are_the_same_every_time(backend: str, name: str) -> None:
    with Judge(get_backend(backend), JudgeSettings(seconds=SECONDS)) as judge:
        task = judge.describe(load_suite(f"starter/{name}")[0])
        candidate = read_candidate(judge.backend.examples() / "starter" / name, Origin.SHIPPED)
        verdicts = [judge.verify(task, candidate) for _ in range(REPEATS)]
    assert all(verdict.passed for verdict in verdicts)
    modelled = [verdict.modelled for verdict in verdicts]
    assert all(one == modelled[0] for one in modelled)


def start(home: Path, backend: str) -> subprocess.Popen[bytes]:
    (home / "tmp").mkdir(exist_ok=True)
    example = get_backend(backend).examples() / "starter" / "gelu" / "model.py"
    (home / "model.py").write_text(example.read_text())
    command = [sys.executable, "-m", "kernelmill", "verify", "starter/gelu", "model.py"]
    return subprocess.Popen(
        [*command, "--backend", backend],
        cwd=home,
        env={**os.environ, "TMPDIR": str(home / "tmp")},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def find(root: int, words: str) -> int | None:
    """A descendant with these words in its command line or on its stack of libraries."""
    for pid in descendants(root):
        try:
            shown = (
                Path(f"/proc/{pid}/cmdline").read_bytes() + Path(f"/proc/{pid}/maps").read_bytes()
            )
        except OSError:
            continue
        if words.encode() in shown:
            return pid
    return None


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


WORKERS = [
    pytest.param(backend, words, marks=pytest.mark.npu(backend), id=words)
    for backend, words in (
        ("triton_ascend", "bishengir-compile"),
        ("triton_ascend", "libhivm.so"),
        ("pypto", "calculator.so"),
    )
]
"""Words by which a compiler or an executor is known."""


@pytest.mark.isolation
@pytest.mark.parametrize("killed", ["judge", "worker"])
@pytest.mark.parametrize(("backend", "words"), WORKERS)
@pytest.mark.timeout(900)
def test_a_kill_in_compiler_or_executor_leaves_nothing(
    tmp_path: Path, backend: str, words: str, killed: str
) -> None:
    syscalls.prctl(syscalls.PR_SET_CHILD_SUBREAPER, 1)
    mounts = Path("/proc/self/mounts").read_text()
    judging = start(tmp_path, backend)
    deadline = time.monotonic() + SECONDS
    while (victim := find(judging.pid, words)) is None:
        assert judging.poll() is None and time.monotonic() < deadline
        time.sleep(0.01)
    family = {judging.pid, *descendants(judging.pid)}
    assert victim in family
    os.kill(judging.pid if killed == "judge" else victim, signal.SIGKILL)
    assert judging.wait(SECONDS) == (-signal.SIGKILL if killed == "judge" else REFUSED)
    deadline = time.monotonic() + 30
    while any(map(alive, family)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(alive, family))
    assert Path("/proc/self/mounts").read_text() == mounts
    assert list((tmp_path / "tmp").iterdir()) == []
