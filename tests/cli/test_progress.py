"""Progress of a campaign on a console."""

import io
import json
import re
from pathlib import Path

import msgspec
import pytest
from rich.console import Console
from rich.live import Live

from kernelmill.campaign import RunLimits
from kernelmill.cli.event_log import logging_to
from kernelmill.cli.progress import LiveWatcher, PlainWatcher, remaining
from kernelmill.conformance.histories import make_attempt
from kernelmill.records.attempt import State
from kernelmill.records.campaign import Campaign, CampaignTask, Totals
from kernelmill.records.errors import UsageError
from samples import SETTINGS

CAMPAIGN = Campaign(1, "now", SETTINGS)
TOTALS = Totals(2, 0, 1, 1, 0.25, 0, 0.25, 0.0, 0.0)


def test_one_line_per_attempt_where_the_output_is_no_terminal() -> None:
    output = io.StringIO()
    watcher = PlainWatcher(Console(file=output, width=200))
    tasks = [CampaignTask(0, "suite/task", 1, None, None, None)]
    tasks.append(CampaignTask(1, "broken", None, "no [Model]", None, None))
    watcher.loading(0, 2)
    watcher.loading(1, 2)
    watcher.begun(Path("w"), CAMPAIGN, tasks, RunLimits(max_usd=1.0))
    watcher.finished(make_attempt(1, State.REFUSED), False, TOTALS)
    watcher.finished(make_attempt(2, State.PASSED, 2.0), True, TOTALS)
    watcher.set_aside("suite/task", "declined: no [idea]")
    watcher.paused("no answer", 15.0)
    watcher.interrupted()
    watcher.stopping(2)
    loading, first, aside, refused, passed, *rest = output.getvalue().splitlines()
    assert (loading, first) == ("loading 2 tasks", "campaign 1 in w")
    assert aside == "set aside: broken: no [Model]"
    assert refused.startswith("suite/task 1/4: refused: correctness: numerical: wrong (1 solved, ")
    assert passed.startswith("suite/task 2/4: passed, 2.00x the baseline, new best (1 solved, ")
    assert all(line.endswith(", 0.75 USD left)") for line in (refused, passed))
    assert "0 s elapsed, about 0 s left" in passed
    assert rest == [
        "set aside: suite/task: declined: no [idea]",
        "paused for 15 s: no answer",
        "stopping: no further attempt begins; Ctrl-C again stops at once",
        "finishing 2 attempts under way; no further attempt begins",
    ]


def test_a_live_table_shows_what_fits() -> None:
    output = io.StringIO()
    console = Console(file=output, width=120, height=12, force_terminal=True)
    names = ["suite/task", *(f"suite/other{number}" for number in range(50))]
    tasks = [CampaignTask(n, name, n, None, None, None) for n, name in enumerate(names)]
    with Live(console=console, auto_refresh=False) as live:
        watcher = LiveWatcher(console, live)
        watcher.loading(3, 51)
        live.refresh()
        watcher.begun(Path("w"), CAMPAIGN, tasks, RunLimits(max_minutes=5))
        watcher.working("suite/task", "judging")
        watcher.finished(make_attempt(2, State.PASSED, 2.0), True, TOTALS)
        watcher.set_aside("suite/other7", "declined")
        watcher.stopping(1)
        live.refresh()
    shown = output.getvalue()
    assert "loading tasks: 3 of 51" in shown
    assert "2.00x" in shown and "2/4" in shown and "suite/other7" in shown
    assert "suite/other49" not in shown
    assert "Ctrl-C again" in shown


@pytest.mark.parametrize("width", [60, 80])
def test_a_live_table_fits_a_narrow_terminal(width: int) -> None:
    output = io.StringIO()
    console = Console(file=output, width=width, height=20, force_terminal=True, color_system=None)
    tasks = [CampaignTask(n, f"suite/task{n or ''}", n, None, None, None) for n in range(3)]
    with Live(console=console, auto_refresh=False) as live:
        watcher = LiveWatcher(console, live)
        watcher.begun(Path("w"), CAMPAIGN, tasks, RunLimits())
        watcher.finished(make_attempt(4, State.PASSED, 2.0), True, TOTALS)
        live.refresh()
        done = output.getvalue()
        watcher.interrupted()
        live.refresh()
        stopping = output.getvalue()[len(done) :]
    assert "done" in done and "elapsed" in done and "attempts" in done and "2.00x" in done
    assert "stopping after the attempts under way" in " ".join(stopping.split())
    lines = [re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", line) for line in done.splitlines()]
    assert max(len(line.rstrip()) for line in lines) <= width
    assert "\u2026" not in done


def test_a_log_has_every_event_and_passes_it_on(tmp_path: Path) -> None:
    output = io.StringIO()
    tasks = [CampaignTask(0, "suite/task", 1, None, None, None)]
    shown = PlainWatcher(Console(file=output, width=200))
    with logging_to(tmp_path / "log.jsonl", shown) as watcher:
        watcher.loading(1, 1)
        watcher.begun(Path("w"), CAMPAIGN, tasks, RunLimits())
        watcher.working("suite/task", "judging")
        watcher.finished(make_attempt(2, State.PASSED, 2.0), True, TOTALS)
        watcher.paused("no answer", 15.0)
        watcher.set_aside("suite/task", "declined")
        watcher.stopping(0)
    lines = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert [line["event"] for line in lines] == [
        "loading", "begun", "working", "finished", "paused", "set aside", "stopping",
    ]  # fmt: skip
    assert (lines[3]["ratio"], lines[3]["totals"]["solved"]) == (2.0, 1)
    assert "new best" in output.getvalue()
    with pytest.raises(UsageError, match="cannot write"), logging_to(tmp_path, shown):
        pass


def test_remaining_time_and_cost() -> None:
    assert "cost unknown" in remaining(RunLimits(), msgspec.structs.replace(TOTALS, unpriced=1))
    assert "0.25 USD spent" in remaining(RunLimits(), TOTALS)
    assert "min left" in remaining(RunLimits(max_minutes=5), TOTALS)
