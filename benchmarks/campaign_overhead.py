"""Overhead of a campaign: its wall time without writing, building and judging.

    python benchmarks/campaign_overhead.py [--suite starter] [--budget 3] [--rounds 24]

The example kernels are replayed with changed texts, so that no build cache has them. Every attempt
stores how long the judge worked on it and how long it waited for it to be written and built. The
rest of the wall time is overhead: proposing, storing, printing.
"""

import argparse
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

from kernelmill.backends import get_backend
from kernelmill.campaign import Components, RunLimits, Watcher, measurement_lock, run_campaign
from kernelmill.campaign.preflight import describe_tasks, find_tasks
from kernelmill.campaign.replay import ReplayGenerator
from kernelmill.judge import Judge, JudgeSettings
from kernelmill.judge.evidence import processor_name
from kernelmill.records.campaign import CampaignSettings
from kernelmill.records.candidate import Candidate
from kernelmill.records.proposal import Draft, Proposal
from kernelmill.strategies import get_strategy
from kernelmill.workspace import Workspace


class UnseenTexts(ReplayGenerator):
    """The same kernels with a new comment, so that they must be compiled."""

    name = "unseen"

    def write(self, proposal: Proposal) -> Draft:
        draft = super().write(proposal)
        old = draft.candidate
        text = f"{old.files['kernel.cpp']}\n// {proposal.seed} {time.time_ns()}\n"
        files = {**old.files, "kernel.cpp": text}
        return Draft(Candidate(files, old.origin, old.name), draft.decisions)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--suite", default="starter")
    parser.add_argument("--budget", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=24)
    arguments = parser.parse_args()
    settings = CampaignSettings(
        (arguments.suite,), "cpp", "unseen", "best-of-n", arguments.budget, 0, "cpu",
        JudgeSettings().threads, compiled=False, rounds=arguments.rounds,
    )  # fmt: skip
    judging = JudgeSettings(rounds=arguments.rounds)
    with (
        tempfile.TemporaryDirectory() as name,
        Workspace(Path(name), create=True) as workspace,
        Judge(get_backend("cpp"), judging, measurement_lock.time_cpu) as judge,
    ):
        tasks = list(describe_tasks(judge, find_tasks(settings.suites), "cpu"))
        campaign = workspace.create_campaign(settings, tasks)
        components = Components((judge,), UnseenTexts(), get_strategy("best-of-n"))
        begun = time.perf_counter()
        run_campaign(workspace, campaign, components, RunLimits(), Watcher())
        wall = time.perf_counter() - begun
        show(workspace, wall)


def show(workspace: Workspace, wall: float) -> None:
    campaign = workspace.campaign()
    totals = workspace.totals(campaign)
    attempts = [
        attempt
        for entry in workspace.tasks(campaign)
        for attempt in workspace.attempts(campaign, entry.task or 0)
    ]
    ahead = sum(a.seconds.generate + a.seconds.build for a in attempts)
    overhead = wall - totals.measure_seconds - totals.wait_seconds
    table = Table("part", "seconds", "share of wall time")
    for part, seconds in (
        ("wall time", wall),
        ("judging", totals.measure_seconds),
        ("judge waiting for writing and building", totals.wait_seconds),
        ("writing and building, overlapped or not", ahead),
        ("overhead", overhead),
    ):
        table.add_row(part, f"{seconds:.1f}", f"{seconds / wall:.1%}")
    console = Console(width=100)
    console.print(table)
    console.print(f"{totals.done} attempts, {totals.passed} passed; {processor_name()}")


if __name__ == "__main__":
    main()
