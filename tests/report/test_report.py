"""Reports: figures, tables, and a page without external resources."""

import csv
import io
import re
from pathlib import Path

import msgspec
import pytest
from rich.console import Console

from kernelmill.records.attempt import AttemptOutcome, State
from kernelmill.records.campaign import NewTask
from kernelmill.records.errors import UsageError
from kernelmill.records.verdict import Interval
from kernelmill.report import conclusion, summarise_campaign, task_table, write_page
from kernelmill.report.comparing import compare_campaigns
from kernelmill.report.curves import (
    Curve,
    CurvePoint,
    campaign_curves,
    fast_p,
    learning_curves,
    mean_curve,
)
from kernelmill.report.exporting import as_csv, as_markdown
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
    assert text.count("<svg") == text.count("</svg>") == 2 + 2 + 1
    assert "it is &lt;wrong&gt;" in text and "kernelmill show 5" in text
    assert "<pre>pass</pre>" in text, "the champion's source"
    assert "float32[2x2]" in text and "s of judging" in text
    assert "Every champion was written from nothing." in text
    assert "<broken>" not in text and "it is &lt;broken&gt;" in text
    assert not re.search(r"src=|href=\"[^#]|https?://|<script|nan", text)
    targets = re.findall(r'href="#([^"]+)"', text)
    assert len(targets) == 3 and all(f'id="{target}"' in text for target in targets)
    with pytest.raises(UsageError, match="cannot write"):
        write_page(
            summarise_campaign(workspace, workspace.campaign()), tmp_path / "no" / "report.html"
        )


def test_markdown_and_csv(workspace: Workspace) -> None:
    summary = summarise_campaign(workspace, workspace.campaign())
    first, second, third = csv.DictReader(io.StringIO(as_csv(summary)))
    assert (first["over_baseline"], first["best_attempt"], first["verdict"]) == (
        "2.9",
        "3",
        "faster",
    )
    assert (second["verdict"], second["over_baseline"]) == ("unsolved", "")
    assert second["reason"] == "correctness: numerical: it is <wrong>"
    assert third["reason"] == "it is <broken>"
    text = as_markdown(summary)
    assert "| a | pointwise | faster | 4 | 0.345 | 2.90x \\[2.84, 2.96\\] |" in text
    assert "| over eager | 33% | 33% | 33% | 33% | 33% | 33% | 33% | 0% | 0% | 0% |" in text
    assert "- tails over eager: a tenth at most 2.90x, a tenth at least 2.90x" in text
    assert "it is \\<wrong\\>" in text and "<broken>" not in text
    assert "| pointwise | 2 | 1 | 1 | 2.90x | 2.90x |" in text


def test_two_campaigns_are_compared_task_by_task(workspace: Workspace, tmp_path: Path) -> None:
    first = workspace.campaign()
    second = workspace.create_campaign(SETTINGS, new_tasks("a", "b"))
    for task, ratio in ((1, 5.8), (2, 2.0)):
        claim = workspace.claim(second, task)
        assert claim is not None
        workspace.complete(claim, make_result(ratio, champion=True), lambda *_: None)
    summaries = [summarise_campaign(workspace, one) for one in (first, second)]
    comparison = compare_campaigns(*summaries)
    assert [task.gain for task in comparison.tasks] == [pytest.approx(2.0), None]
    assert comparison.conclusion() == (
        "campaign 2 over campaign 1: 1 faster, 0 slower of 1 tasks that both solved, geomean 2.00; "
        "solved by 1 only: 0, by 2 only: 1"
    )
    write_page(summaries[1], tmp_path / "page.html", comparison)
    assert "Compared with campaign 1" in (tmp_path / "page.html").read_text()


def test_curves_over_attempts_and_seeds() -> None:
    outcomes = [
        AttemptOutcome(1, 1, State.REFUSED, None), AttemptOutcome(1, 2, State.PASSED, 4.0),
        AttemptOutcome(2, 1, State.PASSED, 0.5), AttemptOutcome(2, 3, State.PASSED, 9.0),
    ]  # fmt: skip
    solved, speedup = learning_curves(outcomes, 2)
    assert [point.y for point in solved.points] == [0.0, 0.5, 1.0, 1.0]
    # A kernel that is slower than the reference is not used.
    assert [point.y for point in speedup.points] == pytest.approx([1.0, 1.0, 2.0, 6.0])
    mean = mean_curve("m", [solved, Curve("other", (CurvePoint(0, 0.0), CurvePoint(1, 0.0)))])
    assert [point.y for point in mean.points] == [0.0, 0.25, 0.5, 0.5]
    assert mean.points[3].spread == pytest.approx(0.5)
    steps = [(point.x, point.y) for point in fast_p([2.5, 12.0, 0.9], 4).points]
    assert steps == [(0, 0.75), (0.9, 0.75), (0.9, 0.5), (2.5, 0.5), (2.5, 0.25), (10, 0.25)]


def test_seeds_and_the_baseline_join_a_campaigns_curves(tmp_path: Path) -> None:
    with Workspace(tmp_path / "w", create=True) as workspace:
        for strategy, seed in (("refine", 1), ("refine", 2), ("best-of-n", 1), ("value", 1)):
            settings = msgspec.structs.replace(SETTINGS, strategy=strategy, seed=seed)
            campaign = workspace.create_campaign(settings, new_tasks("a"))
            claim = workspace.claim(campaign, 1)
            assert claim is not None
            workspace.complete(claim, make_result(2.0, champion=True), lambda *_: None)
        curves = campaign_curves(workspace, workspace.campaign(1))
    assert [curve.name for curve in curves.solved] == ["refine, 2 seeds", "best-of-n"]


def test_an_empty_campaign_has_a_report_too(tmp_path: Path) -> None:
    with Workspace(tmp_path / "w", create=True) as workspace:
        campaign = workspace.create_campaign(SETTINGS, new_tasks("a"))
        summary = summarise_campaign(workspace, campaign)
        write_page(summary, tmp_path / "report.html")
        assert "0 of 1 task solved" in conclusion(summary)
