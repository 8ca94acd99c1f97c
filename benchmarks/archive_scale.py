"""Time of one proposal of `evolve` and `auto` beside many attempts of the same task.

    python benchmarks/archive_scale.py [--attempts 100000] [--proposals 20]

The attempts are copies of those of a short simulated campaign, with contexts and sources. What is
timed is all that a campaign does for the next attempt, from history to proposal: processor time,
which a busy machine does not change, and wall time.
"""

import argparse
import random
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from kernelmill.judge.evidence import processor_name
from kernelmill.records.sweep import SweepSettings
from kernelmill.strategies import get_strategy
from kernelmill.strategies.sweeping import Sweeping
from kernelmill.workspace import Workspace
from strategies.simulated_campaign import SimulatedCampaign

REAL = 40
BATCH = 10_000


def fill(workspace: Workspace, attempts: int) -> None:
    """Copy the last attempts of the task until there are enough."""
    names = [row["name"] for row in workspace.database.execute("PRAGMA table_info(attempts)")]
    copied = ", ".join(name for name in names if name not in ("id", "number"))
    rng = random.Random(1)
    (last,) = workspace.database.execute("SELECT max(id) FROM attempts").fetchone()
    for first in range(REAL + 1, attempts + 1, BATCH):
        numbers = range(first, min(first + BATCH, attempts + 1))
        with workspace.writing() as database:
            database.executemany(
                f"INSERT INTO attempts (id, number, {copied}) "
                f"SELECT :id, :number, {copied} FROM attempts WHERE id = :like",
                [
                    {"id": last + number, "number": number, "like": 1 + number % REAL}
                    for number in numbers
                ],
            )
            database.executemany(
                "INSERT INTO verdicts (attempt, kind, body) "
                "SELECT ?, kind, body FROM verdicts WHERE attempt = ?",
                [(last + number, 1 + number % REAL) for number in numbers],
            )
            database.executemany(
                "INSERT INTO measurements (attempt, position, ratio, counted) VALUES (?, 1, ?, 0)",
                [(last + number, rng.uniform(0.5, 1.0)) for number in numbers],
            )
            database.executemany(
                "INSERT INTO offspring (attempt, campaign, task, number, strategy, operator, "
                "island, parent, target, cell, outcome, speed, gain, progress, vector) "
                "SELECT :id, campaign, task, :number, strategy, operator, :island, parent, target, "
                "cell, outcome, speed * 0.9, gain, 0.0, vector FROM offspring "
                "WHERE campaign = 1 AND task = 1 AND number = :like",
                [
                    {"id": last + number, "number": number, "island": number % 2}
                    | {"like": 1 + number % REAL}
                    for number in numbers
                ],
            )
    workspace.database.execute("ANALYZE")


class Proposal(NamedTuple):
    """Milliseconds that one proposal took."""

    processor: float
    wall: float


def time_proposals(
    campaign: SimulatedCampaign, strategy: str, number: int, count: int
) -> list[Proposal]:
    (entry,) = campaign.workspace.tasks(campaign.campaign)
    assert entry.described is not None
    times, chosen = [], Sweeping(get_strategy(strategy), SweepSettings())
    for next_number in range(number + 1, number + 2 + count):
        wall, processor = time.perf_counter(), time.process_time()
        chosen.propose(entry.described, campaign.history(1, entry.described, next_number))
        times.append(
            Proposal(1e3 * (time.process_time() - processor), 1e3 * (time.perf_counter() - wall))
        )
    return times[1:]  # the first one loads templates


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--attempts", type=int, default=100_000)
    parser.add_argument("--proposals", type=int, default=20)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        campaign = SimulatedCampaign(
            Path(folder) / "workspace", get_strategy("evolve"), arguments.attempts, 0.02
        )
        campaign.run(most=REAL)
        fill(campaign.workspace, arguments.attempts)
        print(f"{processor_name()}, {arguments.attempts} attempts of one task")
        for strategy in ("evolve", "auto:arms=evolve"):
            times = time_proposals(campaign, strategy, arguments.attempts, arguments.proposals)
            processor = [one.processor for one in times]
            wall = [one.wall for one in times]
            print(
                f"{strategy}: processor time median {statistics.median(processor):.1f} ms, worst "
                f"{max(processor):.1f} ms; wall time median {statistics.median(wall):.1f} ms",
                flush=True,
            )


if __name__ == "__main__":
    main()
