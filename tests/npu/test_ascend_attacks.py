"""Ways to fool an evaluator that have a form of their own on Ascend: all refused.

The same form as the attacks on the processor.
"""

import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from kernelmill.backends import get_backend
from kernelmill.backends.modelled import ModelledBackend
from kernelmill.backends.reading import read_candidate
from kernelmill.judge import Judge, JudgeSettings
from kernelmill.records.candidate import Origin
from kernelmill.records.verdict import Gate
from kernelmill.tasks import load_suite

ATTACKS = sorted((Path(__file__).parent.parent / "exploits" / "ascend_attacks").iterdir())
SECONDS = 300.0


@cache
def attack_of(folder: Path) -> dict[str, Any]:
    return tomllib.loads((folder / "attack.toml").read_text())


def attacks_on(backend: str) -> Any:
    folders = [folder for folder in ATTACKS if attack_of(folder)["backend"] == backend]
    return pytest.mark.parametrize("folder", folders, ids=lambda folder: folder.name)


def judging(backend_name: str, static_rules: bool) -> Judge:
    """A baseline is not needed to refuse an attack."""
    backend = get_backend(backend_name)
    assert isinstance(backend, ModelledBackend)
    backend.baselines = lambda *_: iter(())  # type: ignore[method-assign]
    return Judge(backend, JudgeSettings(seconds=SECONDS, static_rules=static_rules))


@pytest.fixture(scope="module", params=["with rules", "behind rules"])
def triton_judge(request: pytest.FixtureRequest) -> Iterator[Judge]:
    with judging("triton_ascend", request.param == "with rules") as judge:
        yield judge


@pytest.fixture(scope="module", params=["with rules", "behind rules"])
def pypto_judge(request: pytest.FixtureRequest) -> Iterator[Judge]:
    with judging("pypto", request.param == "with rules") as judge:
        yield judge


def refusing_gate(judge: Judge, folder: Path) -> Gate | None:
    task = judge.describe(load_suite(attack_of(folder)["task"])[0])
    verdict = judge.verify(task, read_candidate(folder, Origin.FILE))
    return None if verdict.passed else verdict.gate


def expected(judge: Judge, folder: Path) -> str:
    name = "refused_by" if judge.settings.static_rules else "behind_rules"
    return str(attack_of(folder)[name])


@pytest.mark.npu("triton_ascend")
@attacks_on("triton_ascend")
def test_attacks_on_triton_ascend(triton_judge: Judge, folder: Path) -> None:
    assert refusing_gate(triton_judge, folder) == expected(triton_judge, folder)


@pytest.mark.npu("pypto")
@attacks_on("pypto")
def test_attacks_on_pypto(pypto_judge: Judge, folder: Path) -> None:
    assert refusing_gate(pypto_judge, folder) == expected(pypto_judge, folder)
