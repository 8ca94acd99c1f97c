"""The `rewind` strategy: one decision is undone at a time, and its worth becomes a practice."""

from pathlib import Path

import pytest

from kernelmill.memory import ItemKind, Memory
from kernelmill.strategies.rewind import Rewind
from strategies.simulated_campaign import SimulatedCampaign


def test_each_step_backwards_is_a_practice_forwards(tmp_path: Path) -> None:
    campaign = SimulatedCampaign(tmp_path / "workspace", Rewind(), 24, seed=5)
    campaign.run()
    attempts = {one.id: one for one in campaign.attempts()}
    by_source = {one.source: one for one in reversed(attempts.values())}
    memory = Memory(campaign.workspace.database)
    rows = campaign.workspace.database.execute("SELECT id FROM items WHERE kind = 'practice'")
    practices = memory.items([row["id"] for row in rows])
    assert practices and all(one.kind is ItemKind.PRACTICE for one in practices)
    backwards = 0
    for one in practices:
        slow, fast = by_source[one.change_from], by_source[one.change_to]
        assert slow.ratio is not None and fast.ratio is not None and slow.ratio < fast.ratio
        assert one.evidence.gain == pytest.approx(fast.ratio / slow.ratio)
        assert one.decisions.items() <= fast.decisions.items()
        if "lines of source" in one.text:
            backwards += 1
            assert len(one.decisions) == 1, "one decision was undone"
            assert slow.id > fast.id, "the slower kernel was made from the faster one"
    assert backwards > 0
    asked = [
        (one.parent, one.instruction) for one in attempts.values() if "Undo" in one.instruction
    ]
    assert len(set(asked)) == len(asked) > 5
