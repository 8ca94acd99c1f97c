"""Kill -9 of judge, warm process, supervisor, runner and compiler: nothing is left, nothing is lost."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from judge.kernels import TASK
from kernelmill.sandbox import syscalls
from kernelmill.sandbox.processes import descendants

pytestmark = [pytest.mark.compiler, pytest.mark.isolation, pytest.mark.timeout(3600)]

KILLS = int(os.environ.get("KERNELMILL_KILLS", "4"))
VICTIM = Path(__file__).with_name("victim.py")


@pytest.fixture
def task(tmp_path: Path) -> Path:
    path = tmp_path / "task.py"
    path.write_text(TASK)
    return path


def start(task: Path, name: str) -> subprocess.Popen[str]:
    home = task.parent
    (home / "tmp").mkdir(exist_ok=True)
    return subprocess.Popen(
        [sys.executable, str(VICTIM), str(task), name],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "XDG_CACHE_HOME": str(home / "cache"), "TMPDIR": str(home / "tmp")},
    )


def ask(victim: subprocess.Popen[str], verdicts: int = 1) -> None:
    assert victim.stdin is not None
    victim.stdin.write("\n" * verdicts)
    victim.stdin.flush()


def answer(victim: subprocess.Popen[str]) -> str:
    assert victim.stdout is not None
    line = victim.stdout.readline()
    assert line != "", victim.communicate()[1]
    return line


def family(root: int) -> list[int]:
    return [root, *descendants(root)]


def wait_until_gone(processes: set[int]) -> set[int]:
    deadline = time.monotonic() + 15
    while processes and time.monotonic() < deadline:
        processes = {pid for pid in processes if _alive(pid)}
        time.sleep(0.02)
    return processes


def _alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    if state == "Z":
        try:
            os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:
            pass
    return state != "Z"


def assert_nothing_is_left(home: Path, mounts: str) -> None:
    assert Path("/proc/self/mounts").read_text() == mounts
    assert list((home / "tmp").iterdir()) == []
    for built in (home / "cache").rglob("*"):
        assert built.is_dir() or built.suffix == ".so"
        assert built.is_dir() or built.stat().st_size > 1000


def test_killing_the_judge_leaves_nothing(task: Path) -> None:
    syscalls.prctl(syscalls.PR_SET_CHILD_SUBREAPER, 1)
    mounts = Path("/proc/self/mounts").read_text()
    rng = random.Random(1)
    for number in range(KILLS):
        victim = start(task, f"judge{number}")
        ask(victim, 1000)
        time.sleep(rng.uniform(0.2, 7.0))
        seen = set(family(victim.pid))
        victim.kill()
        victim.communicate()
        seen |= set(family(victim.pid))
        assert wait_until_gone(seen - {victim.pid}) == set()
        assert_nothing_is_left(task.parent, mounts)


def test_killing_anything_else_costs_one_verdict_at_most(task: Path) -> None:
    rng = random.Random(2)
    victim = start(task, "others")
    ask(victim)
    assert answer(victim) == "passed\n"
    for _ in range(KILLS):
        ask(victim)
        time.sleep(rng.uniform(0.0, 1.0))
        others = [pid for pid in family(victim.pid) if pid != victim.pid]
        os.kill(rng.choice(others), signal.SIGKILL)
        hit = answer(victim)
        ask(victim)
        # A kill behind the verdict falls on the next one.
        following = answer(victim)
        assert "passed\n" in (hit, following)
        ask(victim)
        assert answer(victim) == "passed\n"
    victim.communicate()
    assert victim.returncode == 0
