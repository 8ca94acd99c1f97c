"""Scaling of the workspace: open, status and report at a thousand to a hundred thousand attempts.

    python benchmarks/workspace_scale.py [--attempts 1000 10000 100000]

Attempts are spread over a hundred tasks; each has a source, a verdict of typical size, a context of
eight hints and a parent, like those of a campaign with the strategy `refine`.
"""

import argparse
import random
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

from kernelmill.records.attempt import Result, Seconds
from kernelmill.records.campaign import CampaignSettings, NewTask
from kernelmill.records.candidate import Candidate, Origin
from kernelmill.records.model_calls import ModelCall
from kernelmill.records.proposal import Draft, Hint, Parent, Proposal, Stage
from kernelmill.records.task import Task, Variant
from kernelmill.records.tensors import Node
from kernelmill.records.verdict import Evidence, Gate, Interval, Latency, Trial, Verdict
from kernelmill.report import summarise_campaign
from kernelmill.report.page import render
from kernelmill.workspace import Workspace

TASKS = 100
HINTS = tuple(
    Hint("trace", "passed: 1.2345 ms, 1.23x eager", decisions={"tile": 8}) for _ in range(8)
)
EVIDENCE = Evidence(
    "0" * 16, "Linux", "processor", 2, {"torch": "2", "build": "g++"}, "full", "clock", "now"
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--attempts", nargs="*", type=int, default=[1000, 10_000, 100_000])
    table = Table("attempts", "MiB", "store ms each", "open s", "status s", "report s")
    for count in parser.parse_args().attempts:
        with tempfile.TemporaryDirectory() as name:
            table.add_row(f"{count:,}", *measure(Path(name), count))
    Console(width=100).print(table)


def measure(folder: Path, count: int) -> list[str]:
    begun = time.perf_counter()
    fill(folder, count)
    each = (time.perf_counter() - begun) / count * 1000
    begun = time.perf_counter()
    workspace = Workspace(folder)
    opened = time.perf_counter()
    campaign = workspace.campaign()
    workspace.totals(campaign)
    workspace.tasks(campaign)
    looked = time.perf_counter()
    render(summarise_campaign(workspace, campaign))
    reported = time.perf_counter()
    workspace.close()
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    seconds = (opened - begun, looked - opened, reported - looked)
    return [f"{size / (1 << 20):.1f}", f"{each:.2f}", *(f"{value:.3f}" for value in seconds)]


def fill(folder: Path, count: int) -> None:
    rng = random.Random(0)
    tasks = [make_task(f"suite/task{number}") for number in range(TASKS)]
    budget = -(-count // TASKS)
    settings = CampaignSettings(
        ("suite",), "cpp", "composer", "refine", budget, 0, "cpu", 2, compiled=False
    )
    with Workspace(folder, create=True) as workspace:
        campaign = workspace.create_campaign(settings, [NewTask(t.id, t) for t in tasks])
        parents: dict[int, Parent] = {}
        for number in range(count):
            position = number % TASKS + 1
            claim = workspace.claim(campaign, position)
            assert claim is not None
            task = tasks[position - 1]
            candidate = make_candidate(rng)
            verdict = make_verdict(task.id, candidate.digest, rng.lognormvariate(0, 0.5))
            parent = parents.get(position)
            proposal = Proposal(task, "cpp", Stage.REFINE, number, parent, HINTS, "Make it faster.")
            best = parent is None or ratio(verdict) > ratio(parent.verdict)
            calls = (ModelCall("generator", "scripted", 1000, 500, 0.001, 1.0),)
            draft = Draft(candidate, {"tile": rng.randrange(64)}, calls=calls)
            result = Result(proposal, Seconds(1, 1, 0, 3), draft, verdict, champion=best)
            workspace.complete(claim, result, lambda *_: None)
            if best:
                parents[position] = Parent(claim.attempt, candidate, verdict, draft.decisions)


def ratio(verdict: Verdict) -> float:
    assert verdict.latency is not None
    return verdict.latency.over_baseline.ratio


def make_task(name: str) -> Task:
    variant = Variant({}, Node(items=()), (), False)
    source = f"# {name}\n" + "x = 1\n" * 200
    return Task(name, "pointwise", "", source, "cpu", (variant,), ("plain",), (), {}, (), 0)


def make_candidate(rng: random.Random) -> Candidate:
    """About four kilobytes, most of which all candidates have in common."""
    lines = [f"  for (int i = 0; i < {rng.randrange(10**6)}; ++i) x[i] += {i};" for i in range(80)]
    files = {"model.py": "import torch\n" * 40, "kernel.cpp": "\n".join(lines)}
    return Candidate(files, Origin.COMPOSER)


def make_verdict(task: str, digest: str, speed: float) -> Verdict:
    interval = Interval(speed, speed * 0.97, speed * 1.03)
    latency = Latency(1 / speed, 1.0, None, interval, None, 0.01, 0.0, 24, 4)
    trials = tuple(Trial(False, "plain", speed / (n + 2)) for n in range(8))
    seconds = dict.fromkeys(map(str, Gate), speed)
    return Verdict(
        task, "cpp", digest, True, Gate.LATENCY, (), trials, latency, None, seconds, EVIDENCE
    )


if __name__ == "__main__":
    main()
