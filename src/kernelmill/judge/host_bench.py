"""A bench on the processor: reference runners and candidates share files in memory."""

import math
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from kernelmill.backends.base import Built
from kernelmill.candidate import Candidate
from kernelmill.errors import TaskError
from kernelmill.judge.bench import Bench, Competition
from kernelmill.judge.cases import Case, HostCaseBook, Ring
from kernelmill.judge.correctness import Correctness, check_correctness, run_on_host
from kernelmill.judge.latency import Contest, Contestant, summarise
from kernelmill.judge.loading import load_candidate, open_cell
from kernelmill.judge.protocol import OutputTensor, TrialDone
from kernelmill.judge.reference import init_arguments, start_reference
from kernelmill.judge.roofline import least_milliseconds
from kernelmill.judge.settings import Settings
from kernelmill.judge.subject import RunnerRaised, Subject, blaming_reference
from kernelmill.sandbox import CellFailure, Zygote
from kernelmill.tasks.task import Task

_SECONDS = 120.0
_COMPILE_SECONDS = 300.0
_BATCH_NANOSECONDS = 8_000_000
_MOST_SLOTS = 8
_MOST_RING_BYTES = 512 << 20
_PROCESS_BYTES = 128 << 20
"""What a reference runner has to itself, beside the framework it shares; about, and at most."""
_PROCESS_FILES = 4


class HostBench(Bench[Subject]):
    clock = "host clock of the judge; the runner lives only inside it"
    device = ""

    def __init__(self, task: Task, zygote: Zygote, settings: Settings) -> None:
        self.task = task
        self._zygote = zygote
        self._settings = settings
        self._compiled: Contestant | None = None
        self._compiles = True
        self._subjects: list[Subject] = []
        self.init = init_arguments(task, zygote)
        reference = self._start(compiled=False)
        self.book = HostCaseBook(task, reference)
        self.eager = self._contestant(reference)
        self.ring = self._make_ring()

    @property
    def seeds(self) -> list[int]:
        return self.book.seeds

    @property
    def bytes(self) -> int:
        return self.book.bytes + self.ring.bytes + len(self._subjects) * _PROCESS_BYTES

    @property
    def most_bytes(self) -> int:
        return self._settings.bench_bytes

    @property
    def files(self) -> int:
        return self.book.files + 2 + len(self._subjects) * _PROCESS_FILES

    @contextmanager
    def seat(self, candidate: Candidate, built: Built) -> Iterator[Subject]:
        with open_cell(self._zygote, self._settings) as cell:
            yield load_candidate(cell, candidate, built, self.init, self._settings)

    def check(self, subject: Subject, small: bool) -> Correctness:
        hidden = [case for case in self.book.trials if case.variant.hidden]
        return self._run(subject, hidden if small and hidden else self.book.trials)

    def check_again(self, subject: Subject) -> Correctness:
        subject.cell.resume()
        return self._run(subject, self.book.stock[1:])

    def _run(self, subject: Subject, cases: list[Case]) -> Correctness:
        seconds = self._settings.seconds
        return check_correctness(
            cases, lambda case, first: run_on_host(subject, case, seconds, first)
        )

    def prepare(self, compiled: bool) -> None:
        self.baselines(compiled)

    def compete(
        self,
        subject: Subject,
        outputs: list[OutputTensor],
        built: Built,
        compiled: bool,
        repeats: int,
    ) -> Competition:
        contest = Contest(
            Contestant(subject, outputs),
            self.baselines(compiled),
            self.ring,
            self.book.stock[0],
            frozenset(built.artefacts),
            self._settings,
        )
        with self.stopped():
            contest.attach()
            samples = contest.measure(self._settings.rounds, repeats)
        floor = least_milliseconds(self.task, self._settings.threads)
        latency = summarise(samples, floor, self.ring.slots)
        return Competition(latency, samples.profile, None)

    def renew(self) -> None:
        self.book.renew()

    def baselines(self, compiled: bool) -> list[Contestant]:
        """Eager, and torch.compile where wanted: compiled on first use, left out where it fails."""
        if compiled and self._compiled is None and self._compiles:
            try:
                self._compiled = self._contestant(self._start(compiled=True), _COMPILE_SECONDS)
            except TaskError:
                self._compiles = False
        chosen = [self._compiled] if compiled and self._compiled is not None else []
        return [self.eager, *chosen]

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """For contests, which stop the reference runners; afterwards they can be asked again."""
        try:
            yield
        finally:
            with blaming_reference():
                for contestant in (self.eager, self._compiled):
                    if contestant is not None:
                        contestant.subject.cell.resume()

    def close(self) -> None:
        for subject in self._subjects:
            subject.close()
        self.book.close()
        self.ring.close()
        self.init.close()

    def _start(self, compiled: bool) -> Subject:
        subject = start_reference(self.task, self._zygote, self._settings, compiled)
        self._subjects.append(subject)
        return subject

    def _contestant(self, subject: Subject, seconds: float = _SECONDS) -> Contestant:
        case = self.book.stock[0]
        body = {
            "layout": msgspec.to_builtins(case.given.layout),
            "inputs": msgspec.to_builtins(case.inputs),
            "state": case.state,
            "poison": [],
            "watched": False,
        }
        try:
            done: TrialDone = subject.trial(body, case.given.file, seconds)
        except (CellFailure, RunnerRaised) as error:
            raise TaskError(f"{self.task.id}: the reference does not run: {error}") from error
        return Contestant(subject, done.tensors)

    def _make_ring(self) -> Ring:
        """As many slots as make a batch long enough for the clock, within reason."""
        single = Ring(self.book.stock, 1, self.task.buffers)
        subject = self.eager.subject
        subject.attach(single.request(), single.file, _SECONDS)
        subject.cell.stop()
        subject.batch(1, _SECONDS)
        took = min(subject.batch(1, _SECONDS).nanoseconds for _ in range(3))
        subject.cell.resume()
        layout = self.book.stock[0].given.layout
        wanted = math.ceil(_BATCH_NANOSECONDS / max(1, took))
        fitting = max(1, _MOST_RING_BYTES // layout.bytes)
        slots = max(1, min(wanted, fitting, _MOST_SLOTS))
        if slots == 1:
            return single
        single.close()
        return Ring(self.book.stock, slots, self.task.buffers)
