"""The library API: its public names, its errors, and one path with the command line."""

import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest

import kernelmill
from judge.kernels import KERNEL, MODEL, TASK
from kernelmill.api import verify_examples
from kernelmill.backends.base import Requirement
from kernelmill.campaign.limits import Ending
from kernelmill.campaign.readiness import Readiness, probe_machine
from kernelmill.records.campaign import Campaign, EventKind
from kernelmill.records.candidate import Origin
from kernelmill.records.errors import CandidateError, TaskError, UsageError, WorkspaceError
from kernelmill.report import summarise_campaign
from samples import SETTINGS, new_tasks

FILES = {"model.py": MODEL, "kernel.cpp": KERNEL}


def test_importing_the_package_is_light() -> None:
    code = (
        "import sys, kernelmill; "
        "heavy = {'torch', 'numpy', 'rich', 'typer', 'kernelmill.api'} & set(sys.modules); "
        "assert not heavy, heavy"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_using_the_package_loads_no_framework() -> None:
    code = "import sys, kernelmill; kernelmill.verify, kernelmill.Workspace; assert 'torch' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_public_names_are_there_and_typed() -> None:
    for name in kernelmill.__all__:
        assert getattr(kernelmill, name).__name__ == name
        assert name in dir(kernelmill)
    assert not hasattr(kernelmill, "verfiy")
    assert (files("kernelmill") / "py.typed").is_file()


@pytest.fixture
def task(tmp_path: Path) -> Path:
    path = tmp_path / "task.py"
    path.write_text(TASK)
    return path


def test_mistakes_are_errors_of_kernelmill(task: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"starter is 12 tasks: name one of them, e\.g\. starter/"):
        kernelmill.verify("starter", FILES)
    with pytest.raises(UsageError, match="rounds is 1, and must be at least 5"):
        kernelmill.verify(task, FILES, rounds=1)
    with pytest.raises(CandidateError, match="there is no candidate"):
        kernelmill.verify(task, tmp_path / "nothing")
    with pytest.raises(UsageError, match="ships no examples"):
        next(verify_examples(task))
    with pytest.raises(UsageError, match="budget is 0, and must be at least 1"):
        kernelmill.run(task, budget=0, workspace=tmp_path / "w")
    with pytest.raises(UsageError, match="composer asks no model"):
        kernelmill.run(task, models="m@ollama", workspace=tmp_path / "w")
    with pytest.raises(WorkspaceError, match="is not a workspace"):
        kernelmill.resume(tmp_path)
    (tmp_path / "no_task.py").write_text("x = 1\n")
    with pytest.raises(TaskError, match="is not a task"):
        kernelmill.verify(tmp_path / "no_task.py", FILES)
    assert issubclass(TaskError, kernelmill.KernelmillError)
    assert not (tmp_path / "w").exists()


@pytest.mark.compiler
def test_a_candidate_may_be_a_mapping_a_record_or_a_folder(task: Path, tmp_path: Path) -> None:
    broken = FILES | {"kernel.cpp": "this is no C++"}
    folder = tmp_path / "kernel"
    folder.mkdir()
    for name, text in broken.items():
        (folder / name).write_text(text)
    record = kernelmill.Candidate(broken, Origin.FILE)
    verdicts = [kernelmill.verify(str(task), given) for given in (broken, record, folder)]
    assert {verdict.gate for verdict in verdicts} == {"build"}
    assert len({verdict.candidate for verdict in verdicts}) == 1


@pytest.mark.compiler
@pytest.mark.isolation
def test_a_campaign_is_run_and_resumed(task: Path, tmp_path: Path) -> None:
    recorded = tmp_path / "recorded" / "task" / "honest"
    recorded.mkdir(parents=True)
    for name, text in FILES.items():
        (recorded / name).write_text(text)
    options = {"generator": f"replay:{tmp_path / 'recorded'}", "strategy": "best-of-n"}
    events = []

    class Recorder(kernelmill.Watcher):
        def loading(self, loaded: int, tasks: int) -> None:
            events.append(f"loaded {loaded} of {tasks}")

        def begun(self, workspace: Path, campaign: Campaign, *_: object) -> None:
            events.append(f"campaign {campaign.id} in {workspace.name}")

    result = kernelmill.run(
        [task], **options, budget=1, rounds=5, compiled=False, workspace=tmp_path / "w",
        watcher=Recorder(),
    )  # fmt: skip
    assert result.ending is Ending.COMPLETE and result.reason == ""
    assert events == ["loaded 0 of 1", "loaded 1 of 1", "campaign 1 in w"]
    assert result.report.is_file() and (result.best / "cpp" / "task" / "kernel.cpp").is_file()
    assert [entry.name for entry in result.summary.solved] == ["task"]
    again = kernelmill.resume(tmp_path / "w", budget=2)
    assert (again.campaign.id, again.summary.totals.done) == (1, 2)


def test_a_call_that_could_not_be_paid_is_named(tmp_path: Path) -> None:
    with kernelmill.Workspace(tmp_path, create=True) as workspace:
        campaign = workspace.create_campaign(SETTINGS, new_tasks("a"))
        workspace.note(campaign, EventKind.NO_MONEY, "the next call may cost 1.0000 USD")
        workspace.note(campaign, "ended", Ending.OUT_OF_MONEY)
        summary = summarise_campaign(workspace, campaign)
    result = kernelmill.RunResult(tmp_path, campaign, Ending.OUT_OF_MONEY, summary)
    assert result.reason == "the next call may cost 1.0000 USD"


def test_readiness_needs_a_backend_without_missing_requirements() -> None:
    found = probe_machine()
    assert set(found.requirements) >= {"cpp", "pallas"}
    missing = [Requirement("a compiler", "", "install one")]
    machine = Readiness(found.isolation, {"here": [], "elsewhere": missing})
    assert machine.usable_backends == ["here"]
    assert machine.is_ready is not bool(found.isolation.memory_reading)
    assert not Readiness(found.isolation, {"elsewhere": missing}).is_ready
