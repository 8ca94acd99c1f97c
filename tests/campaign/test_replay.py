"""The generator `replay`."""

from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from kernelmill.conformance.generator import GeneratorConformance
from kernelmill.generators import get_generator
from kernelmill.generators.base import Declined, Generator
from kernelmill.records.attempt import Result, Seconds
from kernelmill.records.candidate import Origin
from kernelmill.records.errors import GeneratorUnavailable, UsageError
from kernelmill.records.proposal import Hint, Proposal, Stage
from kernelmill.workspace import Workspace
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


def record(folder: Path, *texts: str, backend: str = "cpp") -> None:
    """A campaign on one task with these candidates, and a declined attempt after them."""
    with Workspace(folder, create=True) as workspace:
        settings = msgspec.structs.replace(SETTINGS, backend=backend)
        campaign = workspace.create_campaign(settings, new_tasks("suite/task"))
        results = [make_result(text=text) for text in texts]
        declined = Result(propose("suite/task"), Seconds(), declined="no words")
        for result in (*results, declined):
            claim = workspace.claim(campaign, 1)
            assert claim is not None
            workspace.complete(claim, result, lambda *_: None)


def numbered(number: int, backend: str = "cpp") -> Proposal:
    return msgspec.structs.replace(propose("suite/task"), number=number, backend=backend)


class TestReplayOfACampaign(GeneratorConformance):
    @pytest.fixture(autouse=True)
    def _workspace(self, tmp_path: Path) -> None:
        self._folder = tmp_path / "w"
        record(self._folder, "# first")

    def generator(self) -> Generator:
        return get_generator(f"replay:{self._folder}")

    def proposals(self) -> Sequence[Proposal]:
        return [numbered(number) for number in range(1, 4)]


def test_a_recorded_campaign_is_repeated(tmp_path: Path) -> None:
    record(tmp_path / "w", "# first", "# second")
    generator = get_generator(f"replay:{tmp_path / 'w'}")
    generator.check("cpp")
    first, second = (generator.write(numbered(number)) for number in (1, 2))
    assert first.candidate.files == {"model.py": "# first"}
    assert second.candidate.files == {"model.py": "# second"}
    assert second.decisions == {"tile": 8}
    assert second.calls == ()
    with pytest.raises(Declined, match="was declined then: no words"):
        generator.write(numbered(3))
    with pytest.raises(Declined, match="has no attempt 4 of suite/task"):
        generator.write(numbered(4))
    assert not generator.declines_for_good, "the attempt after a declined one may be recorded"


def test_only_campaigns_on_the_same_backend_are_repeated(tmp_path: Path) -> None:
    record(tmp_path / "w", "# old")
    record(tmp_path / "w", "# cpp")
    record(tmp_path / "w", "# tpu", backend="pallas:v5e")
    generator = get_generator(f"replay:{tmp_path / 'w'}")
    assert generator.write(numbered(1)).candidate.files == {"model.py": "# cpp"}
    another_chip = numbered(1, "pallas:v6e")
    assert generator.write(another_chip).candidate.files == {"model.py": "# tpu"}
    generator.check("pallas")
    with pytest.raises(GeneratorUnavailable, match="has no campaign for triton"):
        generator.check("triton")


def test_a_workspace_that_cannot_be_read_is_said_before_anything_runs(tmp_path: Path) -> None:
    (tmp_path / "kernelmill.db").write_text("not a database" * 100)
    with pytest.raises(GeneratorUnavailable, match=r"replay: .*kernelmill\.db"):
        get_generator(f"replay:{tmp_path}").check("cpp")


def test_a_recording_that_cannot_be_read_is_declined(folder: Path) -> None:
    (folder / "suite" / "task" / "1" / "model.py").write_bytes(b"\xff\xfe")
    (folder / "suite" / "task" / "2" / "model.py").unlink()
    with pytest.raises(Declined, match=r"a recording of suite/task cannot be read: .*not a text"):
        get_generator(f"replay:{folder}").write(propose("suite/task"))


def test_a_backend_names_the_file_that_every_recording_has() -> None:
    proposal = msgspec.structs.replace(propose("starter/cumsum"), backend="rvv")
    assert "kernel.cpp" in get_generator("replay").write(proposal).candidate.files
