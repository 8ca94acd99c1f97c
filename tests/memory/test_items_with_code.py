"""Items carry code: kernels, changes with their gain, failures with what mended them."""

from pathlib import Path

import msgspec
import pytest

from kernelmill.memory import Item, ItemKind, Memory
from kernelmill.memory.failure_evidence import normalised
from kernelmill.memory.hints import hint_of
from kernelmill.memory.items import ACQUITTED, FAILURE
from kernelmill.memory.transfer import export_memory, import_memory
from kernelmill.records.model_calls import ModelCall
from kernelmill.records.proposal import HintCode
from kernelmill.records.verdict import Gate
from kernelmill.workspace import Workspace
from memory.helpers import attempt, by_kind
from samples import SETTINGS, new_tasks

DRAFT = {"model.py": "import kernel\n", "kernel.cpp": "a();\nint tail = 0;\nb();\n"}
FASTER = {**DRAFT, "kernel.cpp": "a();\nint tail = 0;\nfused_b();\n"}
BROKEN = {**DRAFT, "kernel.cpp": "a();\nint tail = missing;\nb();\n"}


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    opened = Workspace(tmp_path / "workspace", create=True)
    settings = msgspec.structs.replace(SETTINGS, budget=30)
    opened.create_campaign(settings, new_tasks("suite/task", "suite/other"))
    return opened


def code_of(workspace: Workspace, item: Item) -> HintCode:
    code = hint_of(Memory(workspace.database), item).code
    assert code is not None
    return code


def failures(workspace: Workspace) -> list[Item]:
    return [item for item in by_kind(workspace, ItemKind.EXPERIENCE) if item.category == FAILURE]


def test_a_trace_has_its_source_which_is_stored_once(workspace: Workspace) -> None:
    attempt(workspace, 1.0, files=DRAFT)
    attempt(workspace, 1.1, files=DRAFT, task="suite/other")
    for trace in by_kind(workspace, ItemKind.TRACE):
        assert code_of(workspace, trace).files == DRAFT
    (count,) = workspace.database.execute("SELECT count(*) FROM sources").fetchone()
    assert count == 1


def test_a_refused_kernel_is_never_shown_in_full(workspace: Workspace) -> None:
    attempt(workspace, None, files=DRAFT)
    (trace,) = by_kind(workspace, ItemKind.TRACE)
    assert hint_of(Memory(workspace.database), trace).code is None


def test_a_practice_has_its_change_its_gain_and_both_diagnoses(workspace: Workspace) -> None:
    start = attempt(workspace, 1.0, files=DRAFT)
    attempt(workspace, 2.0, parent=start, files=FASTER)
    (practice,) = by_kind(workspace, ItemKind.PRACTICE)
    code = code_of(workspace, practice)
    assert "-b();" in code.diff and "+fused_b();" in code.diff
    assert "import kernel" not in code.diff, "a file that did not change"
    assert code.effect == "2.00x as fast"
    assert code.diagnosis_before.startswith("1 ms;")
    assert code.diagnosis_after.startswith("0.5 ms;")
    assert practice.evidence.gain == pytest.approx(2.0)


def test_what_made_it_slower_has_its_change_too(workspace: Workspace) -> None:
    start = attempt(workspace, 2.0, files=FASTER)
    attempt(workspace, 1.0, parent=start, files=DRAFT)
    slower = by_kind(workspace, ItemKind.EXPERIENCE)[-1]
    code = code_of(workspace, slower)
    assert "-fused_b();" in code.diff and code.effect == "0.50x as fast"


def test_a_failure_has_the_lines_that_its_message_names(workspace: Workspace) -> None:
    message = "kernel.cpp:2:12: error: 'missing' was not declared in this scope"
    attempt(workspace, None, files=BROKEN, message="refused", evidence=(message,))
    (failure,) = failures(workspace)
    excerpt = code_of(workspace, failure).excerpt
    assert "kernel.cpp:2" in excerpt
    assert "> int tail = missing;" in excerpt and "  a();" in excerpt
    assert failure.evidence.error == "correctness numerical"


def test_a_failure_without_a_place_has_the_change_that_broke_it(workspace: Workspace) -> None:
    start = attempt(workspace, 1.0, files=DRAFT)
    attempt(workspace, None, parent=start, files=BROKEN)
    (failure,) = failures(workspace)
    assert "+int tail = missing;" in code_of(workspace, failure).excerpt


def test_complaints_of_a_compiler_are_told_apart(workspace: Workspace) -> None:
    """Their summary is always the same."""
    for line, name in ((3, "first"), (7, "first"), (9, "second")):
        complaint = f"kernel.cpp:{line}:1: error: '{name}' does not name a type"
        attempt(
            workspace,
            None,
            gate=Gate.BUILD,
            message="the compiler refuses the source",
            evidence=(complaint,),
            approach=str(line),
        )
    one, two = failures(workspace)
    assert (one.count, two.count) == (2, 1)
    assert one.evidence.message == (
        "the compiler refuses the source: error: 'first' does not name a type"
    )


def test_messages_are_normalised() -> None:
    message = "in /tmp/a1/b/kernel.cpp: 3 of 1,700 float32 at 0x7f12 are off by 2.5e-3"
    expected = "in kernel.cpp: N of N float32 at ADDRESS are off by N"
    assert normalised(message) == expected


def test_failures_of_models_merge_whatever_they_say_of_themselves(workspace: Workspace) -> None:
    attempt(workspace, None, message="3 elements are wrong", approach="rows in parallel")
    attempt(workspace, None, message="5 elements are wrong", task="suite/other", approach="columns")
    (failure,) = failures(workspace)
    assert (failure.count, failure.decisions) == (2, {})
    assert "Avoid" not in failure.full_text


def test_a_failure_that_was_mended_has_the_fix(workspace: Workspace) -> None:
    broken = attempt(workspace, None, files=BROKEN)
    assert failures(workspace)[0].change_to is None
    attempt(workspace, 1.0, parent=broken, files=DRAFT)
    (failure,) = failures(workspace)
    code = code_of(workspace, failure)
    assert "-int tail = missing;" in code.diff and "+int tail = 0;" in code.diff
    assert code.effect == "this change mended it"
    attempt(workspace, None, task="suite/other", files={"model.py": "another"})
    (failure,) = failures(workspace)
    assert failure.count == 2
    assert code_of(workspace, failure).diff == code.diff, "the next one finds it"


def test_what_gets_past_an_error_is_a_fix_until_a_better_one_comes(workspace: Workspace) -> None:
    unbuilt = attempt(workspace, None, gate=Gate.BUILD, message="no such name", files=BROKEN)
    further = {**BROKEN, "kernel.cpp": "wrong();\n"}
    attempt(workspace, None, parent=unbuilt, files=further)
    build, _ = failures(workspace)
    assert code_of(workspace, build).effect == "this change got past it, to a later gate"
    attempt(workspace, 1.0, parent=unbuilt, files={**BROKEN, "kernel.cpp": "long;\n" * 30})
    attempt(workspace, 1.0, parent=unbuilt, files=DRAFT)
    code = code_of(workspace, failures(workspace)[0])
    assert code.effect == "this change mended it"
    assert "+int tail = 0;" in code.diff, "the smaller one"
    attempt(workspace, None, parent=unbuilt, gate=Gate.BUILD, message="no such name", files=FASTER)
    assert code_of(workspace, failures(workspace)[0]).diff == code.diff, "that mended nothing"


def test_what_passes_later_is_no_longer_blamed(workspace: Workspace) -> None:
    attempt(workspace, None, moments="one-pass", lanes=64)
    assert failures(workspace)[0].decisions == {"moments": "one-pass", "lanes": 64}
    attempt(workspace, 1.0, moments="two-pass", lanes=64, task="suite/other")
    assert failures(workspace)[0].decisions == {"moments": "one-pass"}
    attempt(workspace, 1.0, moments="one-pass", lanes=8, task="suite/other")
    assert failures(workspace)[0].decisions == {"moments": "one-pass"}, "the only suspect there"
    attempt(workspace, 1.0, moments="one-pass", lanes=16)
    assert failures(workspace)[0].decisions == {}, "it passed where it had failed"
    assert "Avoid" not in failures(workspace)[0].full_text


def test_a_source_that_passes_later_did_not_fail(workspace: Workspace) -> None:
    attempt(workspace, None, files=DRAFT)
    attempt(workspace, 1.0, files=DRAFT)
    assert failures(workspace) == []
    assert by_kind(workspace, ItemKind.EXPERIENCE)[0].category == ACQUITTED


def test_provenance_names_the_model(workspace: Workspace) -> None:
    calls = (ModelCall("planner", "thinker"), ModelCall("optimizer", "writer"))
    attempt(workspace, 1.0, calls=calls)
    for kind in (ItemKind.TRACE, ItemKind.EXPERIENCE):
        assert [item.provenance.model for item in by_kind(workspace, kind)] == ["writer"]


def test_an_exported_memory_has_its_code_once(workspace: Workspace, tmp_path: Path) -> None:
    broken = attempt(workspace, None, files=BROKEN)
    start = attempt(workspace, 1.0, parent=broken, files=DRAFT)
    attempt(workspace, 2.0, parent=start, files=FASTER)
    file = tmp_path / "knowledge"
    export_memory(Memory(workspace.database), file, "here")
    with Workspace(tmp_path / "elsewhere", create=True) as elsewhere:
        with elsewhere.writing() as transaction:
            import_memory(Memory(transaction), file)
        (practice,) = by_kind(elsewhere, ItemKind.PRACTICE)
        assert "+fused_b();" in code_of(elsewhere, practice).diff
        (failure,) = failures(elsewhere)
        assert "+int tail = 0;" in code_of(elsewhere, failure).diff
        (count,) = elsewhere.database.execute("SELECT count(*) FROM sources").fetchone()
        assert count == 3
