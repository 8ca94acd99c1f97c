"""Code cases of all methods: they are correct, and move the metric that the method expects."""

import importlib.util
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kernelmill.generators.composer import Composer
from kernelmill.generators.composer.plan import Plan
from kernelmill.generators.composer.targets.cpp.decisions import CATALOGUE
from kernelmill.generators.composer.targets.cpp.program import CppProgram
from kernelmill.judge import Judge
from kernelmill.records.decisions import Choice
from kernelmill.records.guidance import Guidance, Method
from kernelmill.records.proposal import Parent, Proposal, Stage
from kernelmill.skills.features.source import source_metrics
from kernelmill.skills.method_files import CodeCase, MethodFile
from kernelmill.skills.metrics import MetricSource, backend_metrics
from kernelmill.tasks import load_suite
from samples import make_candidate, make_verdict
from skills.cases import LIBRARY, code_cases, methods

RUNNER = Path(__file__).parent / "run_case.py"
EVERYTHING = "starter/linear_gelu_residual_norm"
"""A task for which nearly every decision is open."""
PAIRS = [
    pytest.param(method, backend, id=f"{method.name}-{backend}")
    for method in LIBRARY.methods.values()
    for backend, part in method.front.backends.items()
    if any(case.backend == backend and case.which == "before" for case in method.cases)
    and backend_metrics(backend)[part.expectation.metric].read_from is MetricSource.SOURCE
]


def name_of(case: CodeCase) -> str:
    return case.candidate.name


@pytest.mark.parametrize(("method", "backend"), PAIRS)
def test_what_is_expected_of_the_source_comes_true(method: MethodFile, backend: str) -> None:
    metric, direction = method.front.backends[backend].expectation
    before, after = (
        source_metrics(case.candidate, backend)[metric]
        for case in sorted(method.cases, key=lambda case: case.which, reverse=True)
        if case.backend == backend
    )
    assert after > before if direction == "up" else after < before


@pytest.mark.compiler
@pytest.mark.parametrize("case", code_cases("cpp"), ids=name_of)
def test_cases_for_processors_pass_every_gate(judge: Judge, case: CodeCase) -> None:
    task = judge.describe(load_suite(case.task)[0])
    verdict = judge.verify(task, case.candidate, brief=True)
    assert verdict.passed, [feedback.text() for feedback in verdict.feedback]


@pytest.mark.parametrize("case", code_cases("triton"), ids=name_of)
def test_cases_in_triton_are_right(case: CodeCase, tmp_path: Path) -> None:
    run_interpreted(case, tmp_path, "triton")


@pytest.mark.parametrize("case", code_cases("pallas"), ids=name_of)
def test_cases_in_pallas_are_right(case: CodeCase, tmp_path: Path) -> None:
    run_interpreted(case, tmp_path, "jax")


@pytest.mark.parametrize("case", code_cases("cuda"), ids=name_of)
def test_cases_in_cuda_build(case: CodeCase, tmp_path: Path) -> None:
    if shutil.which("nvcc") is None:
        pytest.skip("needs nvcc: install the CUDA tool kit")
    write(case, tmp_path)
    sources = [name for name in case.candidate.files if name.endswith(".cu")]
    command = [
        "nvcc",
        "-std=c++17",
        "-arch=sm_90",
        "-shared",
        "-Xcompiler",
        "-fPIC",
        "-o",
        "kernel.so",
    ]
    done = subprocess.run([*command, *sources], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def run_interpreted(case: CodeCase, folder: Path, module: str) -> None:
    if importlib.util.find_spec(module) is None:
        pytest.skip(f"needs {module}: pip install {module}")
    write(case, folder)
    (task,) = load_suite(case.task)
    command = [sys.executable, str(RUNNER), case.backend, task.path, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def write(case: CodeCase, folder: Path) -> None:
    for name, text in case.candidate.files.items():
        (folder / name).write_text(text)


# The composer carries them out


@pytest.fixture(scope="module")
def composer() -> Iterator[Composer]:
    composer = Composer()
    yield composer
    composer.close()


@pytest.mark.compiler
@pytest.mark.parametrize(
    "method", [m for m in methods("cpp") if m.front.backends["cpp"].decisions], ids=lambda m: m.name
)
def test_the_composer_carries_out_its_decisions(
    method: MethodFile, composer: Composer, judge: Judge
) -> None:
    part = method.front.backends["cpp"]
    ((name, (choice, *_)),) = part.alternatives.items()
    for case in (part.case, EVERYTHING):
        task = judge.describe(load_suite(case)[0])
        default = composer.write(Proposal(task, "cpp", Stage.DRAFT, 0))
        if name in default.decisions:
            break
    graph = composer.trace(task)

    def code(one: Choice) -> dict[str, str]:
        plan = Plan(default.decisions | {name: one}, CATALOGUE)
        return CppProgram(graph, plan).files(task)

    other = next(one for one in CATALOGUE[name].choices if code(one) != code(choice))
    parent = Parent(1, make_candidate(), make_verdict(2.0), default.decisions | {name: other})
    allowed = Method(method.name, method.text("cpp"), part.expects, {name: choice})
    guidance = Guidance("rule", "memory", "high", "streaming", ("passes = 2",), (allowed,), {})
    draft = composer.write(Proposal(task, "cpp", Stage.REFINE, 1, parent, guidance=guidance))
    assert draft.plan is not None and draft.plan.method == method.name
    assert draft.decisions == default.decisions | {name: choice}
    assert (draft.plan.evidence, draft.prediction) == ("passes = 2", part.expects)
