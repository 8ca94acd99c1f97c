"""The generator that answers with recordings."""

from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from kernelmill.candidate import Origin
from kernelmill.errors import GeneratorUnavailable, UsageError
from kernelmill.generators import get_generator
from kernelmill.generators.base import Declined, Draft, Generator, Hint, Proposal, Stage
from kernelmill.generators.conformance import GeneratorConformance
from kernelmill.workspace import Result, Seconds, Workspace
from samples import SETTINGS, make_result, make_task, new_tasks


def propose(task: str, seed: int = 0, context: tuple[Hint, ...] = ()) -> Proposal:
    return Proposal(make_task(task), "cpp", Stage.DRAFT, seed, context=context)


class TestReplay(GeneratorConformance):
    def generator(self) -> Generator:
        return get_generator("replay")

    def proposals(self) -> Sequence[Proposal]:
        return [propose("starter/gelu"), propose("starter/softmax"), propose("none/such")]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("1", "2"):
        (tmp_path / "suite" / "task" / name).mkdir(parents=True)
        (tmp_path / "suite" / "task" / name / "model.py").write_text(f"# {name}")
    return tmp_path


def test_shipped_examples_are_ours_and_recordings_are_not(folder: Path) -> None:
    shipped = get_generator("replay").write(propose("starter/gelu"))
    assert shipped.candidate.origin == Origin.SHIPPED
    recorded = get_generator(f"replay:{folder}").write(propose("suite/task"))
    assert recorded.candidate.origin == Origin.FILE


def test_it_shows_each_recording_once_and_then_declines(folder: Path) -> None:
    generator = get_generator(f"replay:{folder}")
    context: tuple[Hint, ...] = ()
    seen = set()
    for seed in (5, 6):
        draft = generator.write(propose("suite/task", seed, context))
        seen.add(draft.candidate.files["model.py"])
        context += (Hint("trace", "", decisions=draft.decisions),)
    assert seen == {"# 1", "# 2"}
    with pytest.raises(Declined, match="all recordings"):
        generator.write(propose("suite/task", 7, context))


def test_mistakes_are_said_before_anything_runs(folder: Path) -> None:
    with pytest.raises(GeneratorUnavailable, match="there is no folder"):
        get_generator(f"replay:{folder}/nothing").check("cpp")
    with pytest.raises(UsageError, match="no generator is called 'poet'"):
        get_generator("poet:x")


def test_a_recorded_campaign_is_played_again(tmp_path: Path) -> None:
    with Workspace(tmp_path / "w", create=True) as workspace:
        campaign = workspace.create_campaign(SETTINGS, new_tasks("suite/task"))
        for text in ("# first", "# second"):
            claim = workspace.claim(campaign, 1)
            assert claim is not None
            workspace.complete(claim, make_result(text=text), lambda *_: None)
        claim = workspace.claim(campaign, 1)
        assert claim is not None
        declined = Result(propose("suite/task"), Seconds(), declined="no words")
        workspace.complete(claim, declined, lambda *_: None)
    generator = get_generator(f"replay:{tmp_path / 'w'}")
    generator.check("cpp")

    def play(number: int) -> Draft:
        return generator.write(msgspec.structs.replace(propose("suite/task"), number=number))

    assert play(1).candidate.files == {"model.py": "# first"}
    assert play(2).candidate.files == {"model.py": "# second"}
    assert play(2).decisions == {"tile": 8}
    assert play(2).calls == ()
    with pytest.raises(Declined, match="was declined then: no words"):
        play(3)
    with pytest.raises(Declined, match="holds no attempt 4 of suite/task"):
        play(4)
