"""The generator `script`."""

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from generators.model.test_roles import EDIT, WHOLE, propose
from kernelmill.conformance.generator import GeneratorConformance
from kernelmill.generators import get_generator
from kernelmill.generators.base import Generator
from kernelmill.generators.model.auditor import auditor_of
from kernelmill.generators.model.model_specs import ModelSpec, resolve_models
from kernelmill.generators.model.script import read_script
from kernelmill.records.errors import GeneratorUnavailable, UsageError
from kernelmill.records.model_settings import ModelSettings
from kernelmill.records.proposal import Proposal

PAGE = Path(__file__).parents[3] / "docs" / "models.md"


def line(text: str, **conditions: object) -> str:
    lines = [f"{name} = {value!r}" for name, value in conditions.items()]
    return "\n".join(["[[answer]]", *lines, f"text = '''\n{text}'''\n"])


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "script.toml"
    path.write_text(
        line("Hm.", role="generator", turn=1)
        + line(WHOLE, role="generator", turn=2)
        + line(EDIT, role="optimizer", when="1.25x", task="suite/*")
        + line('{"valid": false, "reason": "no"}', role="auditor")
    )
    return path


class TestScript(GeneratorConformance):
    @pytest.fixture(autouse=True)
    def _script(self, script: Path) -> None:
        self._path = script

    def generator(self) -> Generator:
        return get_generator(f"script:{self._path}")

    def proposals(self) -> Sequence[Proposal]:
        return [propose(parent=False), propose(1.25), propose(None), propose(2.0)]


def test_answers_are_selected_by_role_task_and_turn(script: Path) -> None:
    generator = get_generator(f"script:{script}")
    draft = generator.write(propose(parent=False))
    assert [bool(call.problem) for call in draft.calls] == [True, False]
    assert [call.cost_usd for call in draft.calls] == [0.0, 0.0]
    assert "schedule(static)" in generator.write(propose(1.25)).candidate.files["kernel.cpp"]
    auditor = auditor_of(generator)
    assert auditor is not None
    assert auditor.audit(propose(parent=False), draft.candidate).objection == "no"


def test_the_seed_picks_among_those_that_fit(tmp_path: Path) -> None:
    path = tmp_path / "script.toml"
    path.write_text(line(WHOLE) + line(WHOLE.replace("one pass", "two passes")))
    generator = get_generator(f"script:{path}")
    approaches = {
        generator.write(Proposal(one.task, one.backend, one.stage, seed)).decisions["approach"]
        for one in (propose(parent=False),)
        for seed in range(4)
    }
    assert approaches == {"one pass over rows", "two passes over rows"}


def test_mistakes(tmp_path: Path, script: Path) -> None:
    bad = tmp_path / "bad.toml"
    bad.write_text("[[answer]]\ntext = 'x'\nrule = 'y'\n")
    with pytest.raises(GeneratorUnavailable, match=r"bad.toml is not a valid script: .*rule"):
        get_generator(f"script:{bad}")
    with pytest.raises(UsageError, match="script asks no model"):
        get_generator(f"script:{script}", ModelSettings(()))


def test_the_files_in_the_documentation_are_what_they_say(tmp_path: Path) -> None:
    models, script = re.findall(r"```toml\n(.*?)```", PAGE.read_text(), re.S)
    (tmp_path / "models.toml").write_text(models)
    settings = resolve_models(ModelSpec(("mine",), file=tmp_path / "models.toml"))
    assert settings is not None and settings.models[0].name == "Qwen/Qwen3-Coder-30B"
    (tmp_path / "script.toml").write_text(script)
    assert read_script(tmp_path / "script.toml").answer[0].turn == 1
