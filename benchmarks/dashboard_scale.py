"""The dashboard at 100,000 attempts and items: first paint of each page, and interactions.

    python benchmarks/dashboard_scale.py [--attempts 100000] [--items 100000]

Rows are written with SQL, as a campaign over a hundred tasks would leave them. The pages are opened
in Debian's chromium, headless; without it, only the answers of the server are timed.
"""

import argparse
import shutil
import statistics
import tempfile
import threading
import time
import urllib.request
from pathlib import Path

import msgspec
import numpy as np
from rich.console import Console
from rich.table import Table

from kernelmill.memory.embedding import HashedWords
from kernelmill.memory.rows import packed_vector
from kernelmill.records.campaign import CampaignSettings, NewTask
from kernelmill.serving.running import bind
from kernelmill.storage.packing import packed
from kernelmill.web.app import make_app
from kernelmill.workspace import Transaction, Workspace
from workspace_scale import HINTS, make_task, make_verdict

TASKS = 100
REPEATS = 5
PAGES = {
    "campaigns": "/",
    "campaign": "/campaigns/1",
    "task (1,000 attempts)": "/campaigns/1/tasks/7",
    "archive (1,000 attempts)": "/campaigns/1/tasks/7/archive",
    "attempt": "/attempts/50007",
    "memory": "/memory",
    "item": "/memory/500",
    "models": "/models",
    "skills": "/skills",
}
INTERACTIONS = {
    "find a task": "/campaigns/1?search=task7",
    "next page of attempts": "/campaigns/1/tasks/7?page=9",
    "find in the memory": "/memory?search=lesson+99",
    "find what is not there": "/memory?search=nothing+like+it",
    "last page of the memory": "/memory?page=1600",
    "attempts of an item": "/memory/77",
}
_FIRST_PAINT = (
    "performance.getEntriesByName('first-contentful-paint').map(one => one.startTime)[0] ?? null"
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--attempts", type=int, default=100_000)
    parser.add_argument("--items", type=int, default=100_000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        begun = time.perf_counter()
        fill(Path(name), arguments.attempts, arguments.items)
        print(f"filled in {time.perf_counter() - begun:.0f} s")
        bound = bind(make_app(Path(name)), "127.0.0.1", 0)
        threading.Thread(target=bound.run, daemon=True).start()
        measure(bound.address.url.rstrip("/"))
        bound.server.should_exit = True


def measure(address: str) -> None:
    table = Table("what", "server ms", "first paint ms", "largest ms")
    paint = browser_paints(address)
    for name, path in {**PAGES, **INTERACTIONS}.items():
        seconds = [fetch(address + path) for _ in range(REPEATS)]
        painted = paint.get(path, [])
        table.add_row(
            name,
            f"{1000 * statistics.median(seconds):.0f}",
            f"{statistics.median(painted):.0f}" if painted else "-",
            f"{max(painted):.0f}" if painted else "-",
        )
    Console(width=100).print(table)


def fetch(address: str) -> float:
    begun = time.perf_counter()
    with urllib.request.urlopen(address) as answer:
        answer.read()
    return time.perf_counter() - begun


def browser_paints(address: str) -> dict[str, list[float]]:
    """Milliseconds from the navigation to the first contentful paint, by path."""
    program = shutil.which("chromium")
    if program is None:
        return {}
    from playwright.sync_api import sync_playwright

    found: dict[str, list[float]] = {}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = browser.new_page()
        page.goto(address)
        for path in (*PAGES.values(), *INTERACTIONS.values()):
            for _ in range(REPEATS):
                page.goto(address + path)
                # The policy of the page forbids `wait_for_function`, which evaluates a text there.
                while (painted := page.evaluate(_FIRST_PAINT)) is None:
                    time.sleep(0.02)
                found.setdefault(path, []).append(painted)
        browser.close()
    return found


def fill(folder: Path, attempts: int, items: int) -> None:
    tasks = [make_task(f"suite/task{number}") for number in range(TASKS)]
    settings = CampaignSettings(
        ("suite",), "cpp", "composer", "value", -(-attempts // TASKS), 0, "cpu", 2, compiled=False
    )
    with Workspace(folder, create=True) as workspace:
        campaign = workspace.create_campaign(settings, [NewTask(t.id, t) for t in tasks])
        with workspace.writing() as database:
            source = packed({"model.py": "pass", "kernel.cpp": "// a kernel\n" * 60})
            database.execute("INSERT INTO sources VALUES ('digest', ?)", [source])
            verdict = packed(make_verdict(tasks[0].id, "digest", 1.5))
            context = packed(
                tuple(msgspec.structs.replace(hint, item=n + 1) for n, hint in enumerate(HINTS))
            )
            database.executemany(
                "INSERT INTO attempts (id, campaign, task, number, state, owner, claimed_at,"
                " done_at, stage, seed, parent, gate, reason, latency_ms, ratio, tokens_in,"
                " tokens_out, cost_usd, generate_seconds, build_seconds, wait_seconds,"
                " measure_seconds, origin, source, instruction, prediction, decisions, context)"
                " VALUES (?, ?, ?, ?, ?, '', ?, ?, 'refine', 1, ?, 'latency', ?, ?, ?, 0, 0, 0.0,"
                " 1.0, 1.0, 0.1, 5.0, 'composer', 'digest', '', '', '{}', ?)",
                (attempt_row(campaign.id, number, context) for number in range(attempts)),
            )
            database.executemany(
                "INSERT INTO verdicts VALUES (?, 'first', ?)",
                ((number + 1, verdict) for number in range(attempts)),
            )
            database.execute(
                "UPDATE campaign_tasks SET champion = (SELECT id FROM attempts a"
                " WHERE a.campaign = campaign_tasks.campaign AND a.task = campaign_tasks.task"
                " ORDER BY ratio DESC LIMIT 1)"
            )
            write_archive(database)
            write_items(database, items, attempts)


def attempt_row(campaign: int, number: int, context: bytes) -> tuple[object, ...]:
    passed = number % 3 > 0
    round_, task = divmod(number, TASKS)
    when = f"2026-01-01T00:00:{number % 60:02}.000+00:00"
    parent = number + 1 - TASKS if round_ else None
    reason = "" if passed else f"correctness: numerical: {number % 7} elements are wrong"
    ratio = 1.0 + number % 997 / 997 if passed else None
    latency = 1.0 / ratio if ratio else None
    state = "passed" if passed else "refused"
    place = (number + 1, campaign, task + 1, round_ + 1, state, when, when)
    return (*place, parent, reason, latency, ratio, context)


def write_archive(database: Transaction) -> None:
    """Two islands of every task, with an owner in each of the 256 behaviour cells."""
    cell = "(number % 4) || (number / 4 % 4) || (number / 16 % 4) || (number / 64 % 4)"
    vector = packed_vector(np.zeros(HashedWords().dimensions, np.float32))
    run = database.execute
    run(
        "INSERT INTO measurements SELECT id, 1, ratio, 0 FROM attempts WHERE ratio IS NOT NULL",
    )
    run(
        "INSERT INTO offspring (attempt, campaign, task, number, strategy, operator, island,"
        " parent, target, cell, outcome, speed, progress, vector) SELECT id, campaign, task,"
        f" number, 'evolve', 'edit', number % 2, parent, '', iif(ratio IS NULL, NULL, {cell}),"
        " iif(ratio IS NULL, 'failed', 'beaten'), ratio, 0.0, iif(ratio IS NULL, NULL, ?)"
        " FROM attempts",
        [vector],
    )
    run(
        "INSERT OR IGNORE INTO elites SELECT campaign, task, island, cell, attempt, number, vector"
        " FROM offspring WHERE cell IS NOT NULL ORDER BY speed DESC"
    )


def write_items(database: Transaction, items: int, attempts: int) -> None:
    vector = packed_vector(np.zeros(HashedWords().dimensions, np.float32))
    run = database.executemany
    run(
        "INSERT INTO items (id, kind, fingerprint, text, decisions, category, names, task, family,"
        " backend, generator, imported_from, subject, embedding, made_at, seen_at)"
        " VALUES (?, 'experience', ?, ?, '{}', '', '[]', 'suite/task', 'pointwise', 'cpp',"
        " 'composer', '', '', ?, '', '')",
        (
            (n, f"{n}", f"lesson {n}: {'keep the row in registers ' * 8}", vector)
            for n in range(1, items + 1)
        ),
    )
    run(
        "INSERT INTO item_values VALUES (?, 'draft', '', 0.5, 3)",
        ((n,) for n in range(1, items + 1)),
    )
    run(
        "INSERT OR IGNORE INTO shown_items VALUES (?, ?)",
        ((n * 7919 % items + 1, n % attempts + 1) for n in range(4 * attempts)),
    )


if __name__ == "__main__":
    main()
