"""Environments of tool chains: whole, or said to be not."""

import json
from pathlib import Path

import pytest

from kernelmill.backends.support.environments import Environment
from kernelmill.records.errors import BackendUnavailable


@pytest.fixture
def requirements(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Of nothing at all: such an environment can be made without a network."""
    monkeypatch.setenv("KERNELMILL_ENVIRONMENTS", str(tmp_path / "environments"))
    file = tmp_path / "requirements.txt"
    file.write_text("# nothing\n")
    return file


def test_what_is_not_there_is_said_with_its_remedy(requirements: Path) -> None:
    environment = Environment("chain", requirements)
    assert environment.found == ""
    with pytest.raises(BackendUnavailable, match="not installed: kernelmill backend install chain"):
        environment.demand()


def test_an_environment_is_made_once_and_mended(requirements: Path) -> None:
    environment = Environment("chain", requirements)
    assert environment.install()
    assert environment.trouble() == ""
    assert Path(environment.python).exists()
    assert not environment.install()

    (environment.folder / "kernelmill.json").unlink()
    assert environment.trouble() == "only partly installed"
    assert environment.install()

    (environment.folder / "bin" / "python").unlink()
    assert "damaged" in environment.trouble()
    assert environment.install()
    assert environment.trouble() == ""


def test_other_requirements_make_an_environment_stale(requirements: Path) -> None:
    environment = Environment("chain", requirements)
    folder = environment.folder
    folder.mkdir(parents=True)
    (folder / "kernelmill.json").write_text(json.dumps({"requirements": "old", "python": "3.1"}))
    assert "another version" in environment.trouble()


@pytest.mark.parametrize("record", ["", "{", "[]", '{"requirements": 1}'])
def test_a_broken_record_is_no_record(requirements: Path, record: str) -> None:
    environment = Environment("chain", requirements)
    environment.folder.mkdir(parents=True)
    (environment.folder / "kernelmill.json").write_text(record)
    assert environment.trouble() == "only partly installed"


def test_what_does_not_install_leaves_no_environment(requirements: Path) -> None:
    requirements.write_text("not a requirement at all\n")
    environment = Environment("chain", requirements)
    with pytest.raises(BackendUnavailable, match="did not install"):
        environment.install()
    assert environment.trouble() == "only partly installed"


def test_comments_are_no_pins(requirements: Path) -> None:
    requirements.write_text("# why\nnumpy==1.0  # because\n\nscipy==2.0\n")
    assert Environment("chain", requirements).pins() == ["numpy==1.0", "scipy==2.0"]
