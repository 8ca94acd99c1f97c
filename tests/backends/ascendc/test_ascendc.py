"""Ascend C without an Ascend: artefacts, rules, the project and recorded failures."""

import math
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kernelmill.backends import get_backend
from kernelmill.backends.ascendc.artefact import SECTIONS, Artefact, ArtefactError, read_artefact
from kernelmill.backends.ascendc.backend import build_operator
from kernelmill.backends.ascendc.cann import Cann
from kernelmill.backends.ascendc.diagnostics import classify_log, failure_patterns
from kernelmill.backends.ascendc.project import build_steps
from kernelmill.backends.ascendc.rules import check_artefact
from kernelmill.backends.base import BuildFailed
from kernelmill.judge import Judge
from kernelmill.judge.devices.npu.msprof import Operator, profile_of, read_summary
from kernelmill.records.candidate import Candidate, Origin
from kernelmill.records.errors import BackendUnavailable, UsageError
from kernelmill.sandbox import Zygote

HERE = Path(__file__).parent
BACKEND = get_backend("ascendc")
EXAMPLES = sorted((BACKEND.examples() / "starter").iterdir())
GELU = (BACKEND.examples() / "starter" / "gelu" / "model.py").read_text()
LOGS = sorted((HERE / "logs").glob("*.log"))


def written(sections: dict[str, str]) -> str:
    return "\n".join(f"{name} = {text!r}" for name, text in sections.items())


def sections_of(artefact: Artefact) -> dict[str, str]:
    return dict(zip(SECTIONS, artefact[1:], strict=True))


@pytest.mark.parametrize("folder", EXAMPLES, ids=lambda folder: folder.name)
def test_examples_are_unharmed(folder: Path) -> None:
    assert check_artefact(read_artefact((folder / "model.py").read_text())) == []


@given(st.lists(st.text(st.characters(codec="utf-8")), min_size=5, max_size=5))
def test_sections_come_out_as_they_went_in(texts: list[str]) -> None:
    prototype = read_artefact(GELU).prototype
    sections = dict(zip(SECTIONS, [prototype, *texts], strict=True))
    assert sections_of(read_artefact(written(sections))) == sections


@given(st.text())
def test_any_other_text_is_refused_and_nothing_else_happens(text: str) -> None:
    with pytest.raises(ArtefactError):
        read_artefact(text)


@pytest.mark.parametrize("name", SECTIONS)
def test_a_missing_section_is_named(name: str) -> None:
    sections = sections_of(read_artefact(GELU))
    del sections[name]
    with pytest.raises(ArtefactError, match=name):
        read_artefact(written(sections))


def test_an_artefact_is_never_executed(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    text = f"{GELU}\nopen({str(trace)!r}, 'w')\n"
    with pytest.raises(ArtefactError, match="six strings and no more"):
        read_artefact(text)
    assert not trace.exists()


def test_the_kernel_is_named_after_the_operator() -> None:
    for name, entry in {
        "GeluCustom": "gelu_custom",
        "Conv2dCustom": "conv2d_custom",
        "MSELoss": "mse_loss",
    }.items():
        text = GELU.replace('"op": "GeluCustom"', f'"op": "{name}"')
        assert read_artefact(text).operator.entry == entry


TRICKS = {
    "no-launch": ("EXEC_NPU_CMD(aclnnGeluCustom, x, y);", ""),
    "vendor-operator": ("EXEC_NPU_CMD(aclnnGeluCustom, x, y);",
                        "EXEC_NPU_CMD(aclnnGeluCustom, x, y);\n  EXEC_NPU_CMD(aclnnGelu, x, y);"),
    "framework": ("return y;", "return at::gelu(x);"),
    "framework-compute": ("return y;", "return x.relu();"),
    "no-kernel": ("return custom_ops_lib.gelu_custom(x.contiguous())", "return x"),
    "framework-layer": ("return custom_ops_lib.gelu_custom(x.contiguous())",
                        "return nn.GELU()(custom_ops_lib.gelu_custom(x))"),
    "kernel-language": ("custom_ops_lib.gelu_custom(x", "custom_ops_lib.other(x"),
    "kernel-entry": ("void gelu_custom(GM_ADDR x", "void gelu(GM_ADDR x"),
    "registration": ("OP_ADD(GeluCustom);", "OP_ADD(Gelu);"),
    "files": ("  for (uint32_t at = 0;", '  fopen("/etc/passwd", "r");\n  for (uint32_t at = 0;'),
    "import": ("import custom_ops_lib\n", "import custom_ops_lib\nimport os\n"),
}  # fmt: skip


@pytest.mark.parametrize("rule", TRICKS)
def test_rules_find_it(rule: str) -> None:
    text = GELU.replace(*TRICKS[rule])
    assert text != GELU
    findings = BACKEND.inspect_sources(Candidate({"model.py": text}, Origin.FILE))
    assert rule in {finding.rule for finding in findings}
    assert all(finding.instead for finding in findings)


def test_a_kernel_that_writes_nothing_is_a_dummy() -> None:
    text = re.sub(r"DataCopyPad\(.*?\);", "", GELU)
    assert {f.rule for f in check_artefact(read_artefact(text))} == {"dummy-kernel"}


def test_a_launch_in_a_comment_does_not_count() -> None:
    text = GELU.replace("EXEC_NPU_CMD(aclnn", "// EXEC_NPU_CMD(aclnn")
    assert {f.rule for f in check_artefact(read_artefact(text))} == {"no-launch"}


def test_without_cann_the_backend_says_what_is_missing() -> None:
    missing = [need for need in BACKEND.requirements() if not need.found]
    if not missing:
        pytest.skip("CANN is here")
    assert all(need.remedy for need in missing)
    with pytest.raises(BackendUnavailable, match=missing[0].name):
        BACKEND.toolchain()


def test_judging_without_an_npu_is_refused() -> None:
    if all(need.found for need in BACKEND.requirements()):
        pytest.skip("an Ascend host")
    with pytest.raises(BackendUnavailable, match="CANN"):
        Judge(BACKEND)


def test_a_summary_of_msprof_is_read() -> None:
    summary = (HERE / "op_summary.csv").read_text()
    softmax, move = read_summary(summary)
    assert softmax == Operator("SoftmaxCustom", 2, 31.5, 40)
    assert move == Operator("TensorMove", 1, 2.0, 8)
    profile = profile_of([softmax, move], ("SoftmaxCustom",), calls=2)
    assert profile.foreign == 0
    assert profile_of([softmax], ("GeluCustom",), calls=2).foreign == 1


HEADINGS = "Op Name,OP Type,Task Duration(us),Block Dim\n"
PARTS = ["Softmax", "1.5", "nan", "inf", "-1", "1e999", ",", "\n", "\r", '"', "\0", " " * 140_000]


@given(st.text(max_size=300) | st.lists(st.sampled_from(PARTS)).map("".join))
@example("\r0")
def test_any_summary_is_read_without_an_error(text: str) -> None:
    for summary in (text, HEADINGS + text):
        assert all(0 <= found.microseconds < math.inf for found in read_summary(summary))


def test_only_known_chips() -> None:
    assert get_backend("ascendc:Ascend310P3").requirements()
    with pytest.raises(UsageError, match="Ascend910B3"):
        get_backend("ascendc:H200")


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.stem)
def test_recorded_failures_are_classified(path: Path) -> None:
    step, _, kind = path.stem.partition(".")
    diagnosed = classify_log(step, path.read_text())
    assert diagnosed.kind == kind
    assert diagnosed.summary
    assert diagnosed.evidence
    assert all(len(line) <= 240 for line in diagnosed.evidence)


def test_the_evidence_is_what_the_compiler_said() -> None:
    log = (HERE / "logs" / "build.host-error.log").read_text()
    first, *drawn = classify_log("build", log).evidence
    assert "set_tiles" in first
    assert any("^~~~" in line for line in drawn)


def test_every_failure_pattern_has_a_recorded_log() -> None:
    recorded = {path.stem.partition(".")[2] for path in LOGS}
    known = {failure.kind for failure in failure_patterns()}
    assert recorded <= known
    assert len(known - recorded) <= 3, "record a log for every pattern"


@given(st.text(max_size=500), st.sampled_from(["msopgen", "build", "install", "binding", "run"]))
def test_every_log_gets_a_summary(log: str, step: str) -> None:
    assert classify_log(step, log).summary


@pytest.fixture(scope="module")
def zygote() -> Iterator[Zygote]:
    with Zygote(("kernelmill.backends.ascendc.build_program",), 1) as zygote:
        yield zygote


@pytest.fixture
def cann(tmp_path: Path) -> Cann:
    """Stand-ins for CANN's tools that leave the same files."""
    tools = {
        "msopgen": 'while [ "$1" != -out ]; do shift; done\nmkdir -p "$2/op_host" "$2/op_kernel"\n'
        'cat > "$2/build.sh" <<END\nset -e\ngrep -q aicore op_kernel/*.cpp\nmkdir build_out\n'
        "printf '#!/bin/sh\\\\nmkdir -p \"\\${2#--install-path=}/vendors\"\\\\n'"
        " > build_out/custom_opp_linux.run\nchmod +x build_out/custom_opp_linux.run\nEND\n",
        "cc": 'while [ "$1" != -o ]; do shift; done\necho library > "$2"\n',
    }
    for name, text in tools.items():
        (tmp_path / name).write_text(f"#!/bin/sh\nset -e\n{text}")
        (tmp_path / name).chmod(0o755)
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    return Cann(tmp_path, "8.0", "Ascend910B3", str(tmp_path / "cc"), (), (), environment)


def test_the_build_steps_write_every_section(cann: Cann) -> None:
    artefact = read_artefact(GELU)
    made = {name: text for step in build_steps(artefact, cann) for name, text in step.files.items()}
    assert made["GeluCustom/op_kernel/gelu_custom.cpp"] == artefact.kernel
    assert made["GeluCustom/op_host/gelu_custom_tiling.h"] == artefact.tiling
    assert "EXEC_NPU_CMD" in made["binding/pytorch_npu_helper.hpp"]
    assert build_steps(artefact, cann)[0].command[:2] == ("msopgen", "gen")


@pytest.mark.isolation
def test_the_steps_run_in_a_sandbox(zygote: Zygote, cann: Cann) -> None:
    archive = build_operator(read_artefact(GELU), cann, zygote)
    assert b"opp/vendors" in archive
    assert b"custom_ops_lib.so" in archive


@pytest.mark.isolation
def test_a_step_that_fails_ends_the_build(zygote: Zygote, cann: Cann) -> None:
    artefact = read_artefact(GELU)._replace(kernel="nothing\n")
    with pytest.raises(BuildFailed) as caught:
        build_operator(artefact, cann, zygote)
    assert caught.value.kind == "build"
