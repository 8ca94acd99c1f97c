"""Attacks on the judge that need a GPU, or take another form there: all are refused.

They have the same form as the attacks on the CPU, and also name a backend.
"""

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from gpu.conftest import JudgeFor, described
from kernelmill.backends.reading import read_candidate
from kernelmill.records.candidate import Origin
from kernelmill.records.verdict import Gate

pytestmark = [pytest.mark.gpu, pytest.mark.isolation]


@cache
def attack_of(folder: Path) -> dict[str, Any]:
    return tomllib.loads((folder / "attack.toml").read_text())


def backend_and_name(folder: Path) -> tuple[str, str]:
    return attack_of(folder)["backend"], folder.name


ATTACKS = sorted(
    (Path(__file__).parent.parent / "exploits" / "gpu_attacks").iterdir(), key=backend_and_name
)


def refusing_gate(judge_for: JudgeFor, folder: Path, static_rules: bool) -> Gate | None:
    attack = attack_of(folder)
    judge = judge_for(attack["backend"], static_rules)
    verdict = judge.verify(described(judge, attack["task"]), read_candidate(folder, Origin.FILE))
    return None if verdict.passed else verdict.gate


@pytest.mark.parametrize("folder", ATTACKS, ids=lambda folder: folder.name)
def test_every_attack_is_refused(judge_for: JudgeFor, folder: Path) -> None:
    assert refusing_gate(judge_for, folder, True) == attack_of(folder)["refused_by"]


BEHIND_RULES = [folder for folder in ATTACKS if attack_of(folder)["behind_rules"] != "none"]


@pytest.mark.parametrize("folder", BEHIND_RULES, ids=lambda folder: folder.name)
def test_attacks_are_refused_without_static_rules(judge_for: JudgeFor, folder: Path) -> None:
    assert refusing_gate(judge_for, folder, False) is not None
