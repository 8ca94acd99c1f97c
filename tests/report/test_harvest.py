"""Refusals that recur are counted over campaigns, with their cures."""

from pathlib import Path

import msgspec

from kernelmill.records.attempt import Attempt, Result
from kernelmill.records.verdict import Feedback, Gate
from kernelmill.report.harvest import harvest
from kernelmill.workspace import Transaction, Workspace
from samples import SETTINGS, make_result, make_verdict, new_tasks


def ignore(_attempt: Attempt, _transaction: Transaction) -> None:
    pass


def refused(kind: str, summary: str) -> Result:
    feedback = (Feedback(Gate.BUILD, kind, summary),)
    verdict = msgspec.structs.replace(make_verdict(None), gate=Gate.BUILD, feedback=feedback)
    return msgspec.structs.replace(make_result(None), verdict=verdict)


def test_refusals_are_counted_without_their_numbers(tmp_path: Path) -> None:
    tasks = new_tasks("suite/one", "suite/two")
    with Workspace(tmp_path / "w", create=True) as workspace:
        settings = msgspec.structs.replace(SETTINGS, backend="triton_ascend")
        campaign = workspace.create_campaign(settings, tasks)
        results = [
            refused("ub-overflow", "it needs 196736 bytes"),
            refused("ub-overflow", "it needs 327680 bytes"),
            refused("unheard-of", "the moon is made of cheese"),
            make_result(2.0),
        ]
        for entry in workspace.tasks(campaign):
            assert entry.task is not None
            for result in results[:: 1 if entry.name == "suite/one" else 3]:
                claim = workspace.claim(campaign, entry.task)
                assert claim is not None
                workspace.complete(claim, result, ignore)
        assert entry.task is not None
        first = workspace.first_verdict("triton_ascend", entry.task)
        assert first is not None and first.passed
        assert workspace.first_verdict("cpp", entry.task) is None
    overflow, cheese = harvest(tmp_path / "w")
    assert (overflow.seen, overflow.tasks, overflow.cured) == (3, 2, 0)
    assert overflow.text == "ub-overflow: it needs N bytes"
    assert overflow.backend == "triton_ascend"
    assert not cheese.is_known
    assert [one.text for one in harvest(tmp_path / "w", 2)] == [overflow.text]
