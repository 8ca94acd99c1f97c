"""The conformance suite of backends: subclass it in a test module and name the backend.

What needs the tool chain is skipped, with the reason, on a machine that lacks it.
"""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from unittest import SkipTest

from kernelmill.backends.base import Backend, BuildFailed, Requirement
from kernelmill.backends.inspection import Inspector, inspection_modules
from kernelmill.backends.reading import read_candidate
from kernelmill.judge import Judge, JudgeSettings
from kernelmill.judge.devices import device_kinds
from kernelmill.records.candidate import Candidate, Origin
from kernelmill.records.errors import BackendUnavailable
from kernelmill.sandbox import Zygote
from kernelmill.tasks import load_suite

_NONSENSE = "this is neither )( Python nor any other language\n"
_ROUNDS = 5


class BackendConformance:
    """A subclass (named Test...) gives `backend()`."""

    def backend(self) -> Backend:
        raise NotImplementedError

    def test_it_says_what_it_is(self) -> None:
        backend = self.backend()
        assert backend.name.isidentifier(), "a name that can be typed"
        assert backend.title, "a title that people understand"

    def test_what_it_needs_can_be_had(self) -> None:
        for need in self.missing():
            assert need.remedy, f"{need.name} is missing: say how to get it"

    def test_its_tool_chain_has_a_version_or_is_missing(self) -> None:
        try:
            version, error = self.backend().toolchain(), ""
        except BackendUnavailable as unavailable:
            version, error = "", str(unavailable)
        assert version or error, "a verdict names what built the kernel"
        assert version or self.missing(), f"doctor shows nothing missing, but {error}"

    def test_its_guide_teaches(self) -> None:
        guide = self.backend().guide()
        assert "contract" in guide, "guide/contract.md says what a candidate is"
        for chapter, text in guide.items():
            assert text.startswith("# "), f"{chapter} begins with a heading"
            assert "\n- " in text, f"{chapter} has points, each an item of the memory"

    def test_its_examples_are_for_known_tasks(self) -> None:
        assert self.examples(), "ship at least one honest kernel: examples/SUITE/TASK"
        for folder in self.examples():
            assert load_suite(f"{folder.parent.name}/{folder.name}")

    def test_its_rules_find_nothing_in_its_examples(self) -> None:
        with self.inspector() as inspector:
            for folder in self.examples():
                findings = inspector.inspect_sources(read_candidate(folder))
                assert not findings, f"{folder.name}: {findings[0]}"

    def test_its_rules_find_nonsense_and_say_what_to_do(self) -> None:
        with self.inspector() as inspector:
            findings = inspector.inspect_sources(self.broken())
        assert findings, "no rule finds nonsense"
        assert all(f.rule and f.where and f.what and f.instead for f in findings)

    def test_nonsense_does_not_build_and_harms_nobody(self) -> None:
        self.need_everything()
        backend = self.backend()
        with Zygote(backend.zygote_modules, 1) as zygote:
            failure = _failure(backend, self.broken(), zygote)
        assert failure is not None, "nonsense builds"
        assert failure.kind and failure.summary

    def test_an_example_passes_the_judge(self) -> None:
        self.need_everything()
        if self.backend().device_kind not in device_kinds():
            raise SkipTest(f"nobody can judge on a device of kind {self.backend().device_kind} yet")
        folder = min(self.examples(), key=_size)
        with Judge(self.backend(), JudgeSettings(rounds=_ROUNDS)) as judge:
            task = judge.describe(load_suite(f"{folder.parent.name}/{folder.name}")[0])
            verdict = judge.verify(task, read_candidate(folder, Origin.SHIPPED), brief=True)
        assert verdict.passed, "\n".join(feedback.text() for feedback in verdict.feedback)

    def test_what_its_examples_become_is_fine_too(self) -> None:
        """Builds every example: the rules on artefacts must find nothing in honest kernels."""
        self.need_everything()
        backend = self.backend()
        modules = (*backend.zygote_modules, *inspection_modules(backend))
        with Zygote(modules, 1) as zygote, closing(Inspector(backend, zygote)) as inspector:
            for folder in self.examples():
                candidate = read_candidate(folder)
                findings = inspector.inspect_build(candidate, backend.build(candidate, zygote))
                assert not findings, f"{folder.name}: {findings[0]}"

    @contextmanager
    def inspector(self) -> Iterator[Inspector]:
        backend = self.backend()
        modules = inspection_modules(backend)
        with Zygote(modules, 1) as zygote, closing(Inspector(backend, zygote)) as inspector:
            yield inspector

    def examples(self) -> list[Path]:
        return sorted(path for path in self.backend().examples().glob("*/*") if path.is_dir())

    def broken(self) -> Candidate:
        """An example with nonsense in place of each of its files."""
        example = read_candidate(self.examples()[0])
        return Candidate(dict.fromkeys(example.files, _NONSENSE), Origin.SHIPPED, "nonsense")

    def missing(self) -> list[Requirement]:
        return [need for need in self.backend().requirements() if not need.found]

    def need_everything(self) -> None:
        if missing := self.missing():
            raise SkipTest(f"needs {missing[0].name}: {missing[0].remedy}")


def _failure(backend: Backend, candidate: Candidate, zygote: Zygote) -> BuildFailed | None:
    try:
        backend.build(candidate, zygote)
    except BuildFailed as failure:
        return failure
    return None


def _size(example: Path) -> int:
    return sum(len(text) for text in read_candidate(example).files.values())
