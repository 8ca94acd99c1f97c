"""What a campaign says while it runs."""

import io

import msgspec
from rich.console import Console
from rich.live import Live

from kernelmill.campaign import Limits
from kernelmill.cli.progress import LiveWatcher, PlainWatcher, left
from kernelmill.strategies.conformance import make_attempt
from kernelmill.workspace import Campaign, CampaignTask, State, Totals
from samples import SETTINGS

CAMPAIGN = Campaign(1, "now", SETTINGS)
TOTALS = Totals(2, 0, 1, 1, 0.25, 0, 0.25, 0.0, 0.0)


def test_lines_where_nobody_looks() -> None:
    output = io.StringIO()
    watcher = PlainWatcher(Console(file=output, width=200), CAMPAIGN, Limits(max_usd=1.0))
    watcher.finished(make_attempt(1, State.REFUSED), False, TOTALS)
    watcher.finished(make_attempt(2, State.PASSED, 2.0), True, TOTALS)
    watcher.set_aside("suite/task", "declined: no [idea]")
    watcher.stopping(2)
    assert output.getvalue().splitlines() == [
        "suite/task 1/4: refused: correctness: numerical: wrong (1 solved, 0.75 USD left)",
        "suite/task 2/4: passed, 2.00x the baseline, new best (1 solved, 0.75 USD left)",
        "suite/task: set aside: declined: no [idea]",
        "finishing 2 attempts; nothing more begins",
    ]


def test_a_live_table_shows_what_fits() -> None:
    output = io.StringIO()
    console = Console(file=output, width=120, height=12, force_terminal=True)
    names = ["suite/task", *(f"suite/other{number}" for number in range(50))]
    tasks = [CampaignTask(n, name, n, None, None, None) for n, name in enumerate(names)]
    with Live(console=console, auto_refresh=False) as live:
        watcher = LiveWatcher(console, CAMPAIGN, tasks, Limits(max_minutes=5), live)
        watcher.working("suite/task", "judging")
        watcher.finished(make_attempt(2, State.PASSED, 2.0), True, TOTALS)
        watcher.set_aside("suite/other7", "declined")
        watcher.stopping(1)
        live.refresh()
    shown = output.getvalue()
    assert "2.00x" in shown and "2/4" in shown and "suite/other7" in shown
    assert "suite/other49" not in shown
    assert "Ctrl-C again" in shown


def test_time_and_money_left() -> None:
    assert "cost unknown" in left(Limits(), msgspec.structs.replace(TOTALS, unpriced=1))
    assert "0.25 USD spent" in left(Limits(), TOTALS)
    assert "min left" in left(Limits(max_minutes=5), TOTALS)
