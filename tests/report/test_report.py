"""Reports: figures, tables, and a page without external resources."""

import re
from pathlib import Path

import msgspec
import pytest
from rich.console import Console

from kernelmill.records.campaign import NewTask
from kernelmill.records.errors import UsageError
from kernelmill.records.verdict import Interval
from kernelmill.report import conclusion, summarise_campaign, task_table, write_page
from kernelmill.workspace import Workspace
from samples import SETTINGS, make_result, make_task, make_verdict, new_tasks


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """One task solved in the second attempt and improved in the third, one not, one broken."""
    workspace = Workspace(tmp_path / "w", create=True)
    tasks = [*new_tasks("a", "b"), NewTask("<c>", None, "it is <broken>")]
    campaign = workspace.create_campaign(SETTINGS, tasks)
    for ratio in (None, 1.5, 3.0, 2.0):
        claim = workspace.claim(campaign, 1)
        assert claim is not None
        result = make_result(ratio, champion=ratio in (1.5, 3.0), task=make_task("a"), cost=0.5)
        workspace.complete(claim, result, lambda *_: None)
    claim = workspace.claim(campaign, 2)
    assert claim is not None
    workspace.complete(claim, make_result(None), lambda *_: None)
    workspace.store_final(3, make_verdict(2.9, compiled=True))
    return workspace


def test_the_figures(workspace: Workspace) -> None:
    summary = summarise_campaign(workspace, workspace.campaign())
    solved, unsolved, broken = summary.tasks
    assert (solved.attempts, solved.solved_at, solved.champion) == (4, 2, 3)
    assert [(step.number, step.ratio) for step in solved.trajectory] == [(2, 1.5), (3, 3.0)]
    assert solved.latency is not None and solved.latency.over_compile is not None
    assert (unsolved.attempts, unsolved.solved_at) == (1, None)
    assert broken.set_aside == "it is <broken>"
    assert summary.faster == 1
    text = conclusion(summary)
    assert "1 of 3 tasks solved, 1 faster than eager, in 5 attempts" in text
    assert "cost 2.00 USD and unknown for 1 attempts" in text
    assert "over eager: geomean 2.90x, median 2.90x" in text


def test_the_table_fits_and_names_every_task(workspace: Workspace) -> None:
    console = Console(width=120, record=True, file=open("/dev/null", "w"))
    console.print(task_table(summarise_campaign(workspace, workspace.campaign())))
    text = console.export_text()
    assert "2.90x [2.84, 2.96]" in text
    assert "unsolved" in text and "set aside" in text


def test_the_table_fits_80_columns_and_cuts_nothing(workspace: Workspace) -> None:
    console = Console(width=80, record=True, file=open("/dev/null", "w"))
    console.print(task_table(summarise_campaign(workspace, workspace.campaign()), console.width))
    text = console.export_text()
    assert "[2.84, 2.96]" in text and "…" not in text
    assert all(len(line) <= 80 for line in text.splitlines())


@pytest.mark.parametrize("solved", [True, False])
def test_the_baseline_has_its_own_name(solved: bool, tmp_path: Path) -> None:
    """A verdict on a modelled chip is relative to XLA; without any, no baseline is named."""
    result = make_result(2.0 if solved else None, champion=solved)
    assert result.verdict is not None
    if result.verdict.latency is not None:
        latency = msgspec.structs.replace(
            result.verdict.latency, over_baseline=Interval.exactly(2.0), baseline="XLA"
        )
        verdict = msgspec.structs.replace(result.verdict, latency=latency)
        result = msgspec.structs.replace(result, verdict=verdict)
    settings = msgspec.structs.replace(SETTINGS, backend="pallas:v5e")
    with Workspace(tmp_path / "w", create=True) as workspace:
        campaign = workspace.create_campaign(settings, new_tasks("a"))
        claim = workspace.claim(campaign, 1)
        assert claim is not None
        workspace.complete(claim, result, lambda *_: None)
        summary = summarise_campaign(workspace, campaign)
    console = Console(width=120, record=True, file=open("/dev/null", "w"))
    console.print(task_table(summary))
    write_page(summary, tmp_path / "report.html")
    for text in (
        console.export_text(),
        conclusion(summary),
        (tmp_path / "report.html").read_text(),
    ):
        assert ("over XLA" if solved else "baseline") in text
        assert "eager" not in text
    assert ("both modelled" in text) is solved


def test_the_page_stands_alone(workspace: Workspace, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    write_page(summarise_campaign(workspace, workspace.campaign()), page)
    text = page.read_text()
    assert text.count("<svg") == text.count("</svg>") == 2 + 3
    assert "Every champion was written from nothing." in text
    assert "<broken>" not in text and "it is &lt;broken&gt;" in text
    assert not re.search(r"(src|href)=|https?://|<script|nan", text)
    with pytest.raises(UsageError, match="cannot write"):
        write_page(
            summarise_campaign(workspace, workspace.campaign()), tmp_path / "no" / "report.html"
        )


def test_an_empty_campaign_has_a_report_too(tmp_path: Path) -> None:
    with Workspace(tmp_path / "w", create=True) as workspace:
        campaign = workspace.create_campaign(SETTINGS, new_tasks("a"))
        summary = summarise_campaign(workspace, campaign)
        write_page(summary, tmp_path / "report.html")
        assert "0 of 1 tasks solved" in conclusion(summary)
