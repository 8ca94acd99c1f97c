"""Speed of the composer's kernels: one campaign over whole suites, summarised by family.

    python benchmarks/suites.py [basic fused] [--budget 2] [--compile-every 4]

Every k-th task by name is measured against torch.compile as well, which takes most of the time. A
second start continues the first (benchmarks/results/suites/); --fresh starts over.
"""

import argparse
import shutil
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

from kernelmill.backends import get_backend
from kernelmill.campaign import Components, RunLimits, measurement_lock, run_campaign
from kernelmill.campaign.finals import measure_champion
from kernelmill.campaign.preflight import describe_tasks, find_tasks
from kernelmill.cli.progress import PlainWatcher
from kernelmill.generators import get_generator
from kernelmill.judge import Judge, JudgeSettings
from kernelmill.judge.evidence import processor_name
from kernelmill.records.campaign import Campaign, CampaignSettings
from kernelmill.report import summarise_campaign
from kernelmill.report.summary import TaskSummary
from kernelmill.strategies import get_strategy
from kernelmill.workspace import Workspace

RESULTS = Path(__file__).parent / "results" / "suites"
MEMORY_BOUND = ("activation", "reduction", "normalisation", "softmax", "scan", "pooling", "loss")
CONTRACTIONS = ("matmul", "convolution")


class Row(NamedTuple):
    family: str
    tasks: list[TaskSummary]

    @property
    def solved(self) -> list[TaskSummary]:
        return [task for task in self.tasks if task.latency is not None]

    def over_baseline(self) -> np.ndarray:
        return np.asarray([t.latency.over_baseline.ratio for t in self.solved if t.latency])

    def over_compile(self) -> np.ndarray:
        known = [t.latency.over_compile for t in self.solved if t.latency]
        return np.asarray([interval.ratio for interval in known if interval is not None])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("suites", nargs="*", default=["basic", "fused"])
    parser.add_argument("--budget", type=int, default=2)
    parser.add_argument("--strategy", default="value")
    parser.add_argument("--compile-every", type=int, default=4)
    parser.add_argument("--fresh", action="store_true")
    arguments = parser.parse_args()
    if arguments.fresh:
        shutil.rmtree(RESULTS, ignore_errors=True)
    console = Console(width=120)
    with (
        Workspace(RESULTS, create=True) as workspace,
        Judge(get_backend("cpp"), JudgeSettings(), measurement_lock.time_cpu) as judge,
    ):
        campaign = _campaign(workspace, judge, arguments)
        strategy = get_strategy(arguments.strategy)
        components = Components((judge,), get_generator("composer"), strategy)
        run_campaign(workspace, campaign, components, RunLimits(), PlainWatcher(console))
        entries = sorted(workspace.tasks(campaign), key=lambda entry: entry.name)
        for entry in entries[:: arguments.compile_every]:
            measure_champion(workspace, campaign, judge, entry)
        show(console, workspace, campaign)


def _campaign(workspace: Workspace, judge: Judge, arguments: argparse.Namespace) -> Campaign:
    if workspace.campaigns():
        return workspace.campaign()
    settings = CampaignSettings(
        tuple(arguments.suites), "cpp", "composer", arguments.strategy, arguments.budget, 0, "cpu",
        judge.settings.threads, compiled=False,
    )  # fmt: skip
    tasks = list(describe_tasks(judge, find_tasks(settings.suites), "cpu"))
    return workspace.create_campaign(settings, tasks)


def show(console: Console, workspace: Workspace, campaign: Campaign) -> None:
    families = {
        entry.name: entry.described.family if entry.described is not None else "broken"
        for entry in workspace.tasks(campaign)
    }
    summary = summarise_campaign(workspace, campaign)
    rows = [
        Row(family, [task for task in summary.tasks if families[task.name] == family])
        for family in sorted(set(families.values()))
    ]
    for title, chosen in (("memory-bound", MEMORY_BOUND), ("contractions", CONTRACTIONS)):
        rows.append(Row(title, [t for row in rows if row.family in chosen for t in row.tasks]))
    rows.append(Row("all", list(summary.tasks)))
    table = Table(
        "family", "tasks", "correct", "over eager", "least", "faster", "over compile", "measured",
        title=f"{' + '.join(campaign.settings.suites)}, budget {campaign.settings.budget}",
    )  # fmt: skip
    for row in rows:
        eager, compiled = row.over_baseline(), row.over_compile()
        faster = sum(
            t.latency.over_baseline.verdict == "faster" for t in row.solved if t.latency is not None
        )
        table.add_row(
            row.family,
            str(len(row.tasks)),
            f"{len(row.solved)} ({len(row.solved) / max(1, len(row.tasks)):.0%})",
            _mean(eager),
            f"{eager.min():.2f}" if eager.size else "",
            str(faster),
            _mean(compiled),
            str(compiled.size),
        )
    console.print(table)
    for task in summary.tasks:
        if task.latency is None:
            why = task.set_aside or f"{task.attempts} attempts refused"
            console.print(f"unsolved: {task.name}: {why}", highlight=False, soft_wrap=True)
    console.print(f"geometric means of ratios; {processor_name()}")


def _mean(ratios: np.ndarray) -> str:
    return f"{np.exp(np.log(ratios).mean()):.2f}x" if ratios.size else ""


if __name__ == "__main__":
    main()
