"""Kill -9 of a campaign at any moment: after a resume no attempt is lost, and none counts twice."""

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from judge.kernels import KERNEL, MODEL, TASK
from kernelmill.workspace import Workspace

pytestmark = [pytest.mark.compiler, pytest.mark.isolation, pytest.mark.timeout(3600)]

KILLS = int(os.environ.get("KERNELMILL_CAMPAIGN_KILLS", "2"))
BUDGET = 4 * KILLS


@pytest.fixture
def home(tmp_path: Path) -> Path:
    for name in ("one", "two"):
        (tmp_path / f"{name}.py").write_text(TASK)
        for kind, kernel in (("honest", KERNEL), ("wrong", KERNEL.replace("2 *", "3 *"))):
            folder = tmp_path / "recorded" / name / kind
            folder.mkdir(parents=True)
            (folder / "model.py").write_text(MODEL)
            (folder / "kernel.cpp").write_text(kernel)
    return tmp_path


def start(home: Path, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "kernelmill", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=home,
        env={**os.environ, "XDG_CACHE_HOME": str(home / "cache")},
    )


def run_arguments(budget: int) -> tuple[str, ...]:
    return (
        "run", "one.py", "two.py", "--generator", "replay:recorded", "--strategy", "best-of-n",
        "--budget", str(budget), "--rounds", "5", "--no-compile", "--workspace", "w",
    )  # fmt: skip


def done_attempts(home: Path) -> dict[int, str]:
    connection = sqlite3.connect(home / "w" / "kernelmill.db", timeout=60)
    rows = connection.execute("SELECT id, done_at FROM attempts WHERE state != 'claimed'")
    done = dict(rows.fetchall())
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    connection.close()
    return done


def wait_for_the_first_attempt(home: Path, victim: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and victim.poll() is None:
        try:
            if done_attempts(home):
                return
        except sqlite3.OperationalError:
            pass  # the workspace is being made
        time.sleep(0.1)
    pytest.fail(f"the campaign did not begin: {victim.communicate()[0]}")


def test_a_killed_campaign_is_resumed(home: Path) -> None:
    rng = random.Random(3)
    victim = start(home, *run_arguments(BUDGET))
    wait_for_the_first_attempt(home, victim)
    known: dict[int, str] = {}
    for _ in range(KILLS):
        time.sleep(rng.uniform(0.0, 6.0))
        victim.kill()
        victim.communicate()
        done = done_attempts(home)
        assert known.items() <= done.items()
        known = done
        victim = start(home, "resume", "w")
    output, _ = victim.communicate()
    assert victim.returncode == 0, output
    assert known.items() <= done_attempts(home).items()
    with Workspace(home / "w") as workspace:
        campaign = workspace.campaign()
        assert workspace.totals(campaign).claimed == 0
        for entry in workspace.tasks(campaign):
            assert entry.task is not None
            numbers = [a.number for a in workspace.attempts(campaign, entry.task)]
            assert numbers == list(range(1, BUDGET + 1))
    assert [path.name for path in (home / "w" / "owners").iterdir()] == ["guard"]


def test_two_campaigns_share_a_workspace(home: Path) -> None:
    runs = [start(home, *run_arguments(2)) for _ in range(2)]
    for run in runs:
        output, _ = run.communicate()
        assert run.returncode == 0, output
    with Workspace(home / "w") as workspace:
        campaigns = workspace.campaigns()
        assert len(campaigns) == 2
        for campaign in campaigns:
            totals = workspace.totals(campaign)
            assert (totals.done, totals.claimed) == (4, 0)
    assert len(done_attempts(home)) == 8


def test_one_interrupt_ends_in_order_and_two_at_once(home: Path) -> None:
    victim = start(home, *run_arguments(50))
    wait_for_the_first_attempt(home, victim)
    victim.send_signal(signal.SIGINT)
    output, _ = victim.communicate()
    assert victim.returncode == 130, output
    assert "to continue: kernelmill resume w --campaign 1" in output
    assert (home / "w" / "report.html").is_file()
    assert list((home / "w" / "best").iterdir())
    before = done_attempts(home)
    victim = start(home, "resume", "w", "--budget", "60")
    while len(done_attempts(home)) <= len(before):
        assert victim.poll() is None, victim.communicate()[0]
        time.sleep(0.1)
    victim.send_signal(signal.SIGINT)
    time.sleep(0.05)
    victim.send_signal(signal.SIGINT)
    output, _ = victim.communicate(timeout=20)
    assert victim.returncode == 130, output
    assert before.items() <= done_attempts(home).items()
