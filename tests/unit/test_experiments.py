"""The tables of experiments/: every arm can be run, and begins with a memory that there is."""

import sys
from pathlib import Path

import pytest

from kernelmill.strategies import get_strategy

EXPERIMENTS = Path(__file__).parent.parent.parent / "experiments"
TABLES = sorted(path.stem for path in (EXPERIMENTS / "tables").glob("*.toml"))


@pytest.mark.parametrize("name", TABLES)
def test_every_arm_of_a_table_can_be_run(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(EXPERIMENTS))
    monkeypatch.setattr(sys, "path", [*sys.path, str(EXPERIMENTS.parent / "benchmarks")])
    from run import paths_of, read_table

    table = read_table(name)
    above: list[str] = []
    for arm in table.arms:
        get_strategy(arm.strategy)
        assert arm.memory in ("", *above), f"{arm.memory} is no arm above {arm.name}"
        assert arm.suites in ("", *table.tasks)
        assert paths_of(table, arm, None)
        above.append(arm.name)
    assert len(set(above)) == len(above)
