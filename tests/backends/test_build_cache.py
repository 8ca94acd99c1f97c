"""The build cache: the same sources build once, whether the compiler takes or refuses them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from judge.kernels import KERNEL, MODEL
from kernelmill.backends.base import BuildFailed, BuildInterrupted
from kernelmill.backends.cpp.backend import CppBackend
from kernelmill.backends.support import build_cache, building
from kernelmill.backends.support.build_cache import build_once, cache_key, load_artefact
from kernelmill.backends.support.building import compiler_failure
from kernelmill.records.candidate import Candidate, Origin
from kernelmill.records.verdict import LOST
from kernelmill.sandbox import Zygote

REFUSED = BuildFailed("compile-error", "the compiler refuses it", ("kernel.cpp:1: no",), "mend it")
KEY = cache_key(("sources", "flags"))


@pytest.fixture(autouse=True)
def cache_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path


class Compiler:
    """Answers as it is told, and counts how often it is asked."""

    def __init__(self, *answers: bytes | Exception) -> None:
        self._answers = list(answers)
        self.runs = 0

    def __call__(self) -> bytes:
        self.runs += 1
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def parts(failed: BuildFailed) -> tuple[Any, ...]:
    return failed.kind, failed.summary, failed.evidence, failed.hint


def test_an_artefact_is_built_once() -> None:
    compiler = Compiler(b"library")
    assert build_once(KEY, compiler) == (b"library", False)
    assert build_once(KEY, compiler) == (b"library", True)
    assert compiler.runs == 1


def test_a_refusal_is_remembered_word_for_word() -> None:
    compiler = Compiler(REFUSED)
    for _ in range(3):
        with pytest.raises(BuildFailed) as failure:
            build_once(KEY, compiler)
        assert parts(failure.value) == parts(REFUSED)
        assert not isinstance(failure.value, BuildInterrupted)
    assert compiler.runs == 1
    assert build_once(cache_key(("other",)), Compiler(b"library")).artefact == b"library"


@pytest.mark.parametrize("kind", ["time-out", "limit", "crash"])
def test_an_interruption_is_tried_again(kind: str) -> None:
    compiler = Compiler(BuildInterrupted(kind, "it did not end well", ()), b"library")
    with pytest.raises(BuildInterrupted):
        build_once(KEY, compiler)
    assert build_once(KEY, compiler) == (b"library", False)


def test_an_error_of_the_machine_is_not_remembered() -> None:
    compiler = Compiler(OSError("no space left"), b"library")
    with pytest.raises(OSError, match="no space"):
        build_once(KEY, compiler)
    assert build_once(KEY, compiler).artefact == b"library"


def test_a_damaged_record_is_no_record(cache_home: Path) -> None:
    with pytest.raises(BuildFailed):
        build_once(KEY, Compiler(REFUSED))
    (record,) = cache_home.rglob("*.failed.json")
    record.write_text('{"kind": "compile-')
    assert build_once(KEY, Compiler(b"library")).artefact == b"library"


def test_a_cache_that_cannot_be_written_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/nowhere")
    assert build_cache.cache_problem()
    for _ in range(2):
        with pytest.raises(BuildFailed):
            build_once(KEY, Compiler(REFUSED))
        assert build_once(KEY, Compiler(b"library")) == (b"library", False)
    assert load_artefact(KEY) is None


SOURCE_AT_FAULT = {
    "gcc": "kernel.cpp:3:5: error: 'y' was not declared\n    3 |   y;\n      |   ^\n",
    "nvcc": './kernel.cu(38): error: identifier "zero" is undefined\n',
    "linker": "kernel.cpp:(.text+0x5): undefined reference to `missing'\n",
}
MACHINE_AT_FAULT = {
    "no header": "kernel.cpp:1:10: fatal error: cmath: No such file or directory\n",
    "no host compiler": "nvcc fatal   : Failed to preprocess host compiler properties.\n",
    "no memory": "g++: fatal error: Killed signal terminated program cc1plus\n",
    "a bug": "kernel.cpp:3:5: internal compiler error: Segmentation fault\n",
    "silence": "",
}


@pytest.mark.parametrize("name", SOURCE_AT_FAULT)
def test_errors_in_the_source_are_final(name: str) -> None:
    failure = compiler_failure(1, SOURCE_AT_FAULT[name])
    assert (type(failure), failure.kind) == (BuildFailed, "compile-error")
    assert failure.evidence


@pytest.mark.parametrize("name", MACHINE_AT_FAULT)
def test_errors_of_the_machine_are_not_final(name: str) -> None:
    failure = compiler_failure(1, MACHINE_AT_FAULT[name])
    assert (type(failure), failure.kind) == (BuildInterrupted, "compile-error")


def test_a_killed_compiler_is_not_final() -> None:
    failure = compiler_failure(-9, "")
    assert (type(failure), failure.kind) == (BuildInterrupted, LOST)


class NoZygote:
    def spawn(self, *_: object) -> None:
        pytest.fail("a compiler is started")


@pytest.fixture(scope="module")
def zygote() -> Iterator[Zygote]:
    with Zygote(CppBackend.zygote_modules, threads=1) as zygote:
        yield zygote


@pytest.mark.compiler
def test_the_same_broken_candidate_starts_no_compiler(zygote: Zygote) -> None:
    broken = Candidate({"model.py": MODEL, "kernel.cpp": f"{KERNEL}\nbroken"}, Origin.FILE)
    with pytest.raises(BuildFailed) as first:
        CppBackend().build(broken, zygote)
    with pytest.raises(BuildFailed) as second:
        CppBackend().build(broken, NoZygote())  # type: ignore[arg-type]
    assert parts(second.value) == parts(first.value)
    assert first.value.kind == "compile-error"
    assert "broken" in first.value.evidence[0]


@pytest.mark.compiler
def test_a_build_that_timed_out_is_tried_again(
    zygote: Zygote, monkeypatch: pytest.MonkeyPatch
) -> None:
    candidate = Candidate({"model.py": MODEL, "kernel.cpp": KERNEL}, Origin.FILE)
    with monkeypatch.context() as hasty:
        hasty.setattr(building, "BUILD_SECONDS", 0.001)
        with pytest.raises(BuildInterrupted) as failure:
            CppBackend().build(candidate, zygote)
    assert failure.value.kind == "time-out"
    assert not CppBackend().build(candidate, zygote).cached
    assert CppBackend().build(candidate, zygote).cached
