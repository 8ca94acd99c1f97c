"""Ways to fool an evaluator that have a form of their own under an emulator: all refused.

The same form as the attacks on the processor.
"""

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from kernelmill.backends.reading import read_candidate
from kernelmill.judge import Judge
from kernelmill.records.candidate import Origin
from kernelmill.records.verdict import Gate
from kernelmill.tasks import load_suite

pytestmark = pytest.mark.isolation

ATTACKS = sorted((Path(__file__).parent.parent / "exploits" / "rvv_attacks").iterdir())


@cache
def attack_of(folder: Path) -> dict[str, Any]:
    return tomllib.loads((folder / "attack.toml").read_text())


def refusing_gate(judge: Judge, folder: Path) -> Gate | None:
    task = judge.describe(load_suite(attack_of(folder)["task"])[0])
    verdict = judge.verify(task, read_candidate(folder, Origin.FILE))
    return None if verdict.passed else verdict.gate


@pytest.mark.parametrize("folder", ATTACKS, ids=lambda folder: folder.name)
def test_every_attack_is_refused(emulating: Judge, folder: Path) -> None:
    assert refusing_gate(emulating, folder) == attack_of(folder)["refused_by"]


@pytest.mark.parametrize("folder", ATTACKS, ids=lambda folder: folder.name)
def test_attacks_are_refused_without_static_rules(lenient: Judge, folder: Path) -> None:
    assert refusing_gate(lenient, folder) == attack_of(folder)["behind_rules"]
