"""The pallas backend under the judge: honest kernels pass, bad ones get the right verdict."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

import kernelmill
from kernelmill.backends import get_backend
from kernelmill.backends.base import BuildFailed
from kernelmill.backends.pallas.protocol import CompiledKernel
from kernelmill.backends.pallas.session import CandidateSession
from kernelmill.backends.pallas.xla import baseline
from kernelmill.backends.pallas.xla.baseline import BaselineSession
from kernelmill.backends.reading import read_candidate
from kernelmill.generators.composer.ir.graph import Extent
from kernelmill.generators.composer.targets.pallas.keeping import kept_order
from kernelmill.judge import Judge, JudgeSettings
from kernelmill.records.candidate import Candidate, Origin
from kernelmill.records.task import Task
from kernelmill.records.verdict import Gate, Verdict
from kernelmill.tasks import load_suite

pytestmark = pytest.mark.npu("pallas")
HERE = Path(__file__).parent
KERNELS = HERE / "pallas_kernels"
EXAMPLES = get_backend("pallas").examples() / "starter"
SETTINGS = JudgeSettings(seconds=120.0)


class Expected(NamedTuple):
    gate: Gate
    kind: str
    words: str
    """Part of the feedback."""


REFUSED = {
    "abort": Expected(Gate.BUILD, "crash", "SIGABRT"),
    "inexact": Expected(Gate.CORRECTNESS, "numerical", "wrong in"),
    "endless": Expected(Gate.CORRECTNESS, "framework-compute", "a loop whose length"),
    "order": Expected(Gate.CORRECTNESS, "numerical", "wrong in"),
    "out_of_bounds": Expected(Gate.CORRECTNESS, "out-of-bounds", "Out-of-bounds read"),
    "outside": Expected(Gate.CORRECTNESS, "framework-compute", "mul outside of a kernel"),
    "race": Expected(Gate.CORRECTNESS, "race", "wait for a copy"),
    "unaligned": Expected(Gate.BUILD, "block-shape", "divisible by 8 and 128"),
    "unimplemented": Expected(Gate.BUILD, "unimplemented", "sort"),
    "uninitialised": Expected(Gate.CORRECTNESS, "numerical", "wrong in"),
    "vmem": Expected(Gate.BUILD, "vmem", "smaller blocks"),
}


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    with Judge(get_backend("pallas"), SETTINGS) as judge:
        yield judge


@pytest.fixture(scope="module")
def double(judge: Judge) -> Task:
    return judge.describe(load_suite(str(HERE / "double.py"))[0])


def kernel(name: str) -> Candidate:
    return read_candidate(KERNELS / f"{name}.py")


def feedback_of(verdict: Verdict) -> str:
    return "\n".join(feedback.text() for feedback in verdict.feedback)


@pytest.mark.parametrize("name", sorted(path.name for path in EXAMPLES.iterdir()))
def test_an_honest_kernel_passes_all_gates(judge: Judge, name: str) -> None:
    task = judge.describe(load_suite(f"starter/{name}")[0])
    verdict = judge.verify(task, read_candidate(EXAMPLES / name, Origin.FILE))
    assert verdict.passed, feedback_of(verdict)
    assert verdict.latency is not None and verdict.modelled is not None
    assert verdict.modelled.cycles > 0 and verdict.modelled.baseline_cycles > 0
    assert "libtpu" in verdict.modelled.model
    assert verdict.modelled.units


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_a_bad_kernel_is_refused_with_its_reason(judge: Judge, double: Task, name: str) -> None:
    verdict = judge.verify(double, kernel(name))
    expected = REFUSED[name]
    assert not verdict.passed
    assert (verdict.gate, verdict.feedback[0].kind) == (expected.gate, expected.kind), feedback_of(
        verdict
    )
    assert expected.words in feedback_of(verdict)


def test_a_compiler_that_takes_minutes_is_stopped(
    judge: Judge, double: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(CandidateSession, "compile_seconds", 5.0)
    verdict = judge.verify(double, kernel("slow"))
    assert (verdict.gate, verdict.feedback[0].kind) == (Gate.BUILD, "time-out"), feedback_of(
        verdict
    )


def test_bad_kernels_leave_nothing_behind(judge: Judge, double: Task) -> None:
    for name in ("abort", "race", "honest"):
        verdict = judge.verify(double, kernel(name))
    assert verdict.passed, feedback_of(verdict)


def test_only_a_traced_function_leaves_a_candidates_sandbox(double: Task) -> None:
    settings = JudgeSettings(seconds=120.0, static_rules=False)
    with Judge(get_backend("pallas"), settings) as lenient:
        verdict = lenient.verify(double, kernel("smuggled"))
    assert not verdict.passed
    assert "is not allowed in a traced kernel" in feedback_of(verdict)


def test_modelled_cycles_repeat(judge: Judge, double: Task) -> None:
    cycles = set()
    for _ in range(20):
        verdict = judge.verify(double, kernel("honest"))
        assert verdict.modelled is not None, feedback_of(verdict)
        cycles.add((verdict.modelled.cycles, verdict.modelled.bytes))
    assert len(cycles) == 1


def test_a_baseline_too_hard_for_the_profiler_is_compiled_in_its_favour(
    double: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    profiled: list[bool] = []
    compile_now = BaselineSession._compile_now

    def failing_at_first(session: BaselineSession, number: int) -> CompiledKernel:
        profiled.append(True)
        if len(profiled) == 1:
            raise BuildFailed("crash", "the compiler ended", ())
        return compile_now(session, number)

    monkeypatch.setattr(BaselineSession, "_compile_now", failing_at_first)
    monkeypatch.setattr(baseline, "load_artefact", lambda key: None)
    monkeypatch.setattr(baseline, "store_artefact", lambda key, content: None)
    with Judge(get_backend("pallas"), SETTINGS) as judge:
        verdict = judge.verify(double, kernel("honest"))
    assert verdict.modelled is not None, feedback_of(verdict)
    assert "precision high:" in verdict.modelled.notes[-1]


@pytest.mark.parametrize("chip", ["v6e", "v5p"])
def test_other_chips_have_other_cycles(judge: Judge, double: Task, chip: str) -> None:
    default = judge.verify(double, kernel("honest"))
    with Judge(get_backend(f"pallas:{chip}"), SETTINGS) as other_judge:
        other = other_judge.verify(double, kernel("honest"))
    assert other.passed, feedback_of(other)
    assert default.modelled is not None and other.modelled is not None
    assert default.modelled.cycles != other.modelled.cycles


SHAPES = (
    "17x96x15x30", "8x64x60x60", "4x3x224x224", "2x128x7x7", "16x32x16x16", "8x100x300", "3x5x17",
    "300x100", "64x1000x10", "4x6x10x12x14", "2x16x30x128", "100x3", "1x96x15x30", "17x8x15x30",
)  # fmt: skip


def test_native_layouts_match_the_composers_rule(tmp_path: Path) -> None:
    environment = get_backend("pallas").environment
    assert environment is not None
    package = str(Path(kernelmill.__file__).parents[1])
    done = subprocess.run(
        [environment.python, str(HERE / "layouts.py"), str(tmp_path), *SHAPES],
        env={"PYTHONPATH": package},
        capture_output=True,
        text=True,
        check=True,
    )
    expected = [
        list(kept_order([Extent(size, int(size)) for size in shape.split("x")])) for shape in SHAPES
    ]
    assert json.loads(done.stdout.splitlines()[-1]) == expected
