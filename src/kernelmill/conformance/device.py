"""Conformance suite of device kinds: a subclass in a test module names a backend of the kind.

Tests that need the backend's toolchain are skipped, with the reason, where it is missing.
"""

import gc
import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from unittest import SkipTest

from kernelmill.backends.base import Backend
from kernelmill.backends.reading import read_candidate
from kernelmill.judge import Judge, JudgeSettings
from kernelmill.judge.correctness import Correctness
from kernelmill.judge.devices import device_kinds, get_device
from kernelmill.judge.harness import Harness
from kernelmill.records.candidate import Candidate, Origin
from kernelmill.records.errors import BackendUnavailable
from kernelmill.records.task import Task
from kernelmill.records.verdict import Gate
from kernelmill.sandbox import Zygote
from kernelmill.tasks import load_suite, prober

_SETTINGS = JudgeSettings(rounds=5)


class DeviceConformance:
    """A subclass (named Test...) gives `backend()`, one whose `device` is the kind to test."""

    task = "starter/gelu"
    """A task for which the backend has an example."""
    other_task = "starter/softmax"
    """A task with the same signature, whose example is a wrong kernel for `task`."""

    def backend(self) -> Backend:
        raise NotImplementedError

    def test_its_name_is_that_of_its_entry_point(self) -> None:
        self.need_everything()
        backend = self.backend()
        assert backend.device_kind in device_kinds(), (
            "an entry point in the group kernelmill.devices"
        )
        assert get_device(backend).name == backend.device_kind

    def test_a_zygote_imports_its_modules(self) -> None:
        self.need_everything()
        device = get_device(self.backend())
        assert device.modules, "the program of its runners"
        with Zygote((*prober.MODULES, *device.modules), 1, device.environment(0)) as zygote:
            assert zygote.features.tier is not None

    def test_its_device_files_exist(self) -> None:
        self.need_everything()
        for path in get_device(self.backend()).device_files():
            assert Path(path).exists(), f"{path} is not there for a sandbox to open"

    def test_a_harness_says_what_it_holds(self) -> None:
        with self.open_judge() as judge, closing(judge.harness(self.describe(judge))) as harness:
            assert harness.clock, "verdicts name the clock"
            assert harness.held_bytes > 0
            assert harness.capacity_bytes > 0
            assert harness.open_files > 0
            seeds = list(harness.seeds)
            assert seeds and len(set(seeds)) == len(seeds), "every case has a seed of its own"

    def test_a_correct_kernel_passes(self) -> None:
        with self.open_judge() as judge:
            verdict = judge.verify(self.describe(judge), self.example(self.task), brief=True)
        assert verdict.passed, "\n".join(feedback.text() for feedback in verdict.feedback)
        assert verdict.trials
        assert (verdict.latency is not None) == self.backend().has_latency_gate
        if verdict.latency is not None:
            assert 0 < verdict.latency.floor_ms <= verdict.latency.candidate_ms
            assert verdict.latency.baseline_ms > 0

    def test_a_wrong_kernel_is_refused_at_correctness(self) -> None:
        with self.open_judge() as judge:
            verdict = judge.verify(self.describe(judge), self.example(self.other_task), brief=True)
        assert not verdict.passed
        assert verdict.gate is Gate.CORRECTNESS, [f.text() for f in verdict.feedback]
        assert verdict.feedback[0].summary

    def test_a_closed_harness_leaves_nothing_behind(self) -> None:
        """The first use may start processes that judge or backend keep; the second may not."""
        with self.open_judge() as judge:
            task = self.describe(judge)
            holdings = []
            for _ in range(2):
                checked = _use_harness(judge, task, self.example(self.task))
                assert checked.feedback is None, checked.feedback.text()
                holdings.append(_count_holdings())
        before, after = holdings
        assert after.processes <= before.processes, "processes outlive their harness"
        assert after.files <= before.files, "files stay open after their harness is closed"

    def describe(self, judge: Judge) -> Task:
        return judge.describe(load_suite(self.task)[0])

    def example(self, task: str) -> Candidate:
        return read_candidate(self.backend().examples() / task, Origin.SHIPPED)

    @contextmanager
    def open_judge(self) -> Iterator[Judge]:
        self.need_everything()
        with Judge(self.backend(), _SETTINGS) as judge:
            yield judge

    def need_everything(self) -> None:
        try:
            self.backend().demand_requirements()
        except BackendUnavailable as unavailable:
            raise SkipTest(str(unavailable)) from unavailable


def _use_harness(judge: Judge, task: Task, candidate: Candidate) -> Correctness:
    built = judge.backend.build(candidate, judge.zygote)
    harness: Harness[Any]
    with (
        closing(judge.harness(task)) as harness,
        harness.spawn_runner(candidate, built) as runner,
    ):
        return harness.check(runner, small=True)


class _Holdings(NamedTuple):
    processes: int
    files: int


def _count_holdings() -> _Holdings:
    """Processes below this one, and files that this one holds open."""
    gc.collect()  # a memory map keeps its file open until it is collected
    parents = dict(_parents())
    descendants = [pid for pid in parents if _descends(pid, parents)]
    return _Holdings(len(descendants), len(os.listdir("/proc/self/fd")))


def _parents() -> Iterator[tuple[int, int]]:
    """Every living process and its parent."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent, *_ = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended
        if state != "Z":
            yield int(stat.parent.name), int(parent)


def _descends(pid: int, parents: dict[int, int]) -> bool:
    while pid in parents:
        pid = parents[pid]
        if pid == os.getpid():
            return True
    return False
