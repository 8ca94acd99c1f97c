"""Candidates that crash, hang or exhaust the device cost one runner each, and no more."""

import os
import subprocess
import time
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest

from gpu.conftest import described
from kernelmill.backends import get_backend
from kernelmill.backends.reading import read_candidate
from kernelmill.campaign import Components, Ending, RunLimits, Watcher, run_campaign
from kernelmill.generators.base import Generator
from kernelmill.judge import Judge, JudgeSettings
from kernelmill.records.attempt import State, VerdictKind
from kernelmill.records.campaign import NewTask
from kernelmill.records.candidate import Candidate, Origin
from kernelmill.records.proposal import Draft, Proposal
from kernelmill.strategies import get_strategy
from kernelmill.workspace import Workspace
from samples import SETTINGS

pytestmark = pytest.mark.gpu

GELU = get_backend("triton").examples() / "starter" / "gelu"
STORE = "tl.store(y + offsets, value"
BEGIN = "    u = 0.7978845608028654"
ALLOCATE = "y = torch.empty_like(x)"


class Hardship(NamedTuple):
    kind: str
    """The kind of the feedback that it must lead to."""
    changes: dict[str, str]


HARDSHIPS = {
    "illegal address": Hardship(
        "exception", {STORE: "tl.store(y + offsets * 1000003 + (1 << 42), value"}
    ),
    "misaligned": Hardship(
        "exception",
        {
            STORE: "odd = tl.cast(y, tl.pointer_type(tl.int8)) + 2\n"
            "    tl.store(tl.cast(odd, tl.pointer_type(tl.float32)) + offsets, value"
        },
    ),
    "assertion": Hardship(
        "exception",
        {
            "@triton.jit": "@triton.jit(debug=True)",
            BEGIN: f"    tl.device_assert(count < 0)\n{BEGIN}",
        },
    ),
    "hang": Hardship(
        "time-out",
        {
            BEGIN: "    while tl.load(y, volatile=True) != 123.456:\n"
            f"        tl.debug_barrier()\n{BEGIN}"
        },
    ),
    "out of memory": Hardship("exception", {ALLOCATE: "y = torch.empty(1 << 40, device=x.device)"}),
    "too much shared memory": Hardship("exception", {"BLOCK=2048": "BLOCK=1 << 21"}),
    "abort": Hardship("crash", {ALLOCATE: "import os; os.abort()"}),
}
SLACK = 64 << 20
PATIENCE = 15.0
"""Seconds in which the driver takes back the memory of processes that were killed."""
ATTEMPTS = int(os.environ.get("KERNELMILL_HARDSHIPS", "16"))


class Hardships(Generator):
    """Every hardship in turn, then a correct kernel."""

    name = "hardships"

    def write(self, proposal: Proposal) -> Draft:
        return Draft(edited(hardship_of(proposal.number)))

    def check(self, backend: str) -> None:
        pass


def hardship_of(number: int) -> Hardship | None:
    return [*HARDSHIPS.values(), None][(number - 1) % (len(HARDSHIPS) + 1)]


def edited(hardship: Hardship | None) -> Candidate:
    text = read_candidate(GELU, Origin.FILE).files["model.py"]
    for old, new in (hardship.changes if hardship else {}).items():
        assert old in text
        text = text.replace(old, new)
    return Candidate({"model.py": text}, Origin.FILE, "hardship")


def test_a_campaign_of_hardships_ends_and_leaves_the_device_clean(tmp_path: Path) -> None:
    before = used_bytes()
    settings = JudgeSettings(rounds=16, seconds=3.0, static_rules=False)
    asked = msgspec.structs.replace(SETTINGS, backend="triton", budget=ATTEMPTS, compiled=False)
    with (
        Judge(get_backend("triton"), settings) as judge,
        Workspace(tmp_path / "workspace", create=True) as workspace,
    ):
        task = described(judge, "starter/gelu")
        campaign = workspace.create_campaign(asked, [NewTask(task.id, task)])
        components = Components((judge,), Hardships(), get_strategy("best-of-n"))
        assert (
            run_campaign(workspace, campaign, components, RunLimits(), Watcher()) is Ending.COMPLETE
        )
        (entry,) = workspace.tasks(campaign)
        attempts = workspace.attempts(campaign, entry.task or 0)
        assert len(attempts) == ATTEMPTS
        for attempt in attempts:
            hardship = hardship_of(attempt.number)
            verdict = workspace.verdict(attempt.id, VerdictKind.FIRST)
            assert verdict is not None
            texts = [feedback.text() for feedback in verdict.feedback]
            assert attempt.state is (State.REFUSED if hardship else State.PASSED), texts
            assert hardship is None or verdict.feedback[0].kind == hardship.kind, texts
    deadline = time.monotonic() + PATIENCE
    while (left := used_bytes() - before) >= SLACK and time.monotonic() < deadline:
        time.sleep(0.1)
    assert left < SLACK, f"{left >> 20} MiB are in use, by {asked('compute-apps=pid,used_memory')}"


def used_bytes() -> int:
    return int(asked("gpu=memory.used").split()[0]) << 20


def asked(query: str) -> str:
    command = ["nvidia-smi", f"--query-{query}", "--format=csv,noheader,nounits"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout
