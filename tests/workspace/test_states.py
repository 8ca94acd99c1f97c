"""Any order of claims, completions, deaths and reopenings leaves every attempt counted once."""

import shutil
import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    invariant,
    multiple,
    precondition,
    rule,
)

from kernelmill.records.attempt import Claim
from kernelmill.workspace import Workspace
from samples import SETTINGS, make_result, new_tasks
from workspace.test_workspace import die, ignore

TASKS = (1, 2)
SIDES = (0, 1)


class Claims(RuleBasedStateMachine):
    """Two processes on one campaign of two tasks."""

    claims = Bundle("claims")

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.sides = [Workspace(self.folder / "w", create=True) for _ in SIDES]
        self.campaign = self.sides[0].create_campaign(SETTINGS, new_tasks("a", "b"))
        self.lives = [0, 0]
        self.done = dict.fromkeys(TASKS, 0)
        self.held: dict[int, tuple[int, int]] = {}

    @rule(target=claims, side=st.sampled_from(SIDES), task=st.sampled_from(TASKS))
    def claim(self, side: int, task: int) -> object:
        claim = self.sides[side].claim(self.campaign, task)
        if claim is None:
            return multiple()
        holder = self.held.get(claim.attempt)
        assert holder is None or self.lives[holder[0]] != holder[1], "it is held by the living"
        self.held[claim.attempt] = (side, self.lives[side])
        return (claim, task)

    @rule(taken=consumes(claims), ratio=st.sampled_from([None, 0.5, 2.0]))
    def complete(self, taken: tuple[Claim, int], ratio: float | None) -> None:
        claim, task = taken
        side = self._holder(claim)
        if side is not None:
            self.sides[side].complete(claim, make_result(ratio), ignore)
            del self.held[claim.attempt]
            self.done[task] += 1

    @rule(taken=consumes(claims))
    def release(self, taken: tuple[Claim, int]) -> None:
        side = self._holder(taken[0])
        if side is not None:
            self.sides[side].release(taken[0])
            del self.held[taken[0].attempt]

    @rule(side=st.sampled_from(SIDES))
    def be_killed_and_reopen(self, side: int) -> None:
        die(self.sides[side])
        self.lives[side] += 1
        self.sides[side] = Workspace(self.folder / "w")

    @precondition(lambda self: not self.held)
    @rule(side=st.sampled_from(SIDES))
    def close_and_reopen(self, side: int) -> None:
        self.sides[side].close()
        self.sides[side] = Workspace(self.folder / "w")

    @invariant()
    def every_attempt_counts_once(self) -> None:
        totals = self.sides[0].totals(self.campaign)
        assert totals.done == sum(self.done.values())
        assert totals.claimed == len(self.held)
        for task in TASKS:
            numbers = [a.number for a in self.sides[1].attempts(self.campaign, task)]
            assert len(set(numbers)) == len(numbers) == self.done[task] <= SETTINGS.budget

    def teardown(self) -> None:
        assert self.sides[0]._connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
        assert self.sides[0]._connection.execute("PRAGMA foreign_key_check").fetchall() == []
        for side in self.sides:
            side.close()
        shutil.rmtree(self.folder)

    def _holder(self, claim: Claim) -> int | None:
        """The living process that holds a claim; None where it died, or the claim was lost."""
        side, life = self.held.get(claim.attempt, (0, -1))
        return side if self.lives[side] == life else None


TestClaims = Claims.TestCase
TestClaims.settings = settings(max_examples=30, stateful_step_count=25)
