"""The whole path of an Ascend C operator on a simulated accelerator, with a stand-in tool chain.

Build, run, compare, time and profile are the judge's own code. The chip is the processor, under
PyTorch's open-registration key; msopgen, the headers of Ascend C and msprof are stand-ins.
"""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from torch.utils.cpp_extension import include_paths, library_paths

from kernelmill.backends import get_backend
from kernelmill.backends.support import ascend_devices
from kernelmill.judge import Judge, JudgeSettings
from kernelmill.records.candidate import Candidate, Origin
from kernelmill.records.verdict import Gate, Verdict
from kernelmill.tasks import load_suite

pytestmark = [
    pytest.mark.npu("ascendc"),
    pytest.mark.compiler,
    pytest.mark.isolation,
    pytest.mark.timeout(3600),
]

STANDIN = Path(__file__).parent / "ascend_standin"
EXAMPLES = sorted((get_backend("ascendc").examples() / "starter").iterdir())
SOFTMAX = (get_backend("ascendc").examples() / "starter" / "softmax" / "model.py").read_text()
SECONDS = 300.0


def build_library(source: Path, target: Path, *options: str) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    command = ["g++", "-std=c++20", "-O1", "-w", "-fPIC", "-shared", str(source), "-o", str(target)]
    subprocess.run([*command, *options], check=True)


@pytest.fixture(scope="session")
def host(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the stand-ins, built."""
    folder = tmp_path_factory.mktemp("ascend") / "host"
    shutil.copytree(STANDIN, folder)
    build_library(
        folder / "torch_npu" / "device.cpp",
        folder / "torch_npu" / "lib" / "libtorch_npu.so",
        *(f"-I{path}" for path in include_paths()),
        *(f"-L{path}" for path in library_paths()),
        "-lc10",
        "-ltorch_cpu",
    )
    cann = folder / "cann"
    build_library(cann / "acl.cpp", cann / "lib64" / "libascendcl.so", f"-I{cann / 'include'}")
    return folder


@pytest.fixture(scope="module")
def judge(host: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Judge]:
    devices = tmp_path_factory.mktemp("dev")
    (devices / "davinci0").touch()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ascend_devices, "DEVICES", devices)
        patch.syspath_prepend(str(host))
        patch.setenv("ASCEND_HOME_PATH", str(host / "cann"))
        patch.setenv("PATH", f"{host / 'cann' / 'bin'}:/usr/bin:/bin")
        patch.setenv("LD_LIBRARY_PATH", f"{host / 'cann' / 'lib64'}:{host / 'torch_npu' / 'lib'}")
        settings = JudgeSettings(seconds=SECONDS, rounds=8)
        with Judge(get_backend("ascendc"), settings) as judge:
            yield judge


def judged(judge: Judge, text: str, task: str) -> Verdict:
    described = judge.describe(load_suite(f"starter/{task}")[0])
    return judge.verify(described, Candidate({"model.py": text}, Origin.FILE))


@pytest.mark.parametrize("folder", EXAMPLES, ids=lambda folder: folder.name)
def test_every_template_is_right(judge: Judge, folder: Path) -> None:
    verdict = judged(judge, (folder / "model.py").read_text(), folder.name)
    # The processor that stands in for the chip may be slower than eager; that is no refusal.
    assert verdict.passed, [feedback.text() for feedback in verdict.feedback]
    assert verdict.latency is not None and verdict.latency.candidate_ms > 0


def test_the_profile_comes_from_msprof(judge: Judge) -> None:
    verdict = judged(judge, SOFTMAX, "softmax")
    assert verdict.diagnosis is not None
    (kernel,) = verdict.diagnosis.kernels
    assert kernel.name == "SoftmaxCustom"
    assert kernel.launches == 1
    assert verdict.profile is not None and verdict.profile.kernel == 1.0


WRONG = {
    "numerical": ("1.0f / Scalar(fold)", "2.0f / Scalar(fold)"),
    "crash": ("SetGlobalBuffer((__gm__ float*)y, rows * columns)",
              "SetGlobalBuffer((__gm__ float*)y, columns / 2)"),
    "dummy-kernel": ("DataCopyPad", "Nothing"),
}  # fmt: skip
GATES = {"dummy-kernel": Gate.INTEGRITY}


@pytest.mark.parametrize("kind", WRONG)
def test_a_wrong_operator_gets_the_right_verdict(judge: Judge, kind: str) -> None:
    text = SOFTMAX.replace(*WRONG[kind])
    assert text != SOFTMAX
    verdict = judged(judge, text, "softmax")
    assert not verdict.passed
    assert verdict.gate is GATES.get(kind, Gate.CORRECTNESS)
    assert kind in {feedback.kind for feedback in verdict.feedback}, verdict.feedback


def test_a_compiler_error_is_quoted(judge: Judge) -> None:
    text = SOFTMAX.replace("Exp(y, y, columns);", "Expo(y, y, columns);")
    verdict = judged(judge, text, "softmax")
    assert verdict.gate is Gate.BUILD
    assert any("Expo" in feedback.text() for feedback in verdict.feedback)
