"""A bench on an NVIDIA GPU: an examiner beside the runners, all on one device."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from glob import glob

import msgspec

from kernelmill.backends.base import Built
from kernelmill.candidate import Candidate
from kernelmill.errors import TaskError
from kernelmill.judge.bench import Bench, Competition
from kernelmill.judge.cases import secret_seed
from kernelmill.judge.correctness import (
    Answer,
    Correctness,
    aliasing,
    check_answer,
    check_comparison,
    check_correctness,
    mutation,
)
from kernelmill.judge.cuda import nvml
from kernelmill.judge.cuda.contest import DeviceContest
from kernelmill.judge.cuda.diagnosis import diagnose, least_milliseconds
from kernelmill.judge.cuda.examined import DeviceCase, DeviceCaseBook, Examiner, requests_of
from kernelmill.judge.cuda.protocol import ArenaShared, Profiled, ShareRequest
from kernelmill.judge.cuda.reserve import Reserve, Wish
from kernelmill.judge.latency import Contestant, summarise
from kernelmill.judge.loading import REFERENCE_LIMITS, load_candidate, read_init_arguments
from kernelmill.judge.protocol import OutputTensor, ReferenceRequest, TrialDone
from kernelmill.judge.settings import Settings
from kernelmill.judge.subject import (
    ReferenceLost,
    RunnerRaised,
    Subject,
    blaming_reference,
    close_files,
)
from kernelmill.sandbox import (
    Cell,
    CellFailure,
    CellProtocolError,
    Limits,
    Policy,
    Zygote,
)
from kernelmill.tasks.task import Task

_EXAMINER = "kernelmill.judge.cuda.examiner:run_examiner"
_BASELINE = "kernelmill.judge.cuda.runner:run_baseline"
_SECONDS = 120.0
_COMPILE_SECONDS = 300.0
_BATCH_NANOSECONDS = 8_000_000
_MOST_SLOTS = 4096
_RING_SHARE = 12
"""The inputs of a batch take at most this part of the device's memory, and so do its answers."""
_ROOM = 8 << 30
"""What a candidate may use beside its answers, at least; or some times what a call moves."""
_ROOM_CALLS = 6
_ARENA_SHARE = 4
_RESERVE_SHARE = 5
"""The runner that waits for a candidate takes at most this part; larger ones come when called."""
_BENCHES_SHARE = 4
"""What all benches may hold of the device's memory between verdicts; one more is open then."""
_PROCESS_FILES = 6


class CudaBench(Bench[Subject]):
    clock = (
        "host clock of the judge around batches, less batches of calls that do nothing; the "
        "runner lives only inside it, and the device must be idle afterwards"
    )

    def __init__(self, task: Task, zygote: Zygote, settings: Settings, reserve: Reserve) -> None:
        self.task = task
        self._zygote = zygote
        self._reserve = reserve
        self._settings = settings
        self._subjects: list[Subject] = []
        self._compiled: Contestant | None = None
        self._compiles = True
        try:
            self._init = read_init_arguments(task, zygote)
            self._examiner = Examiner(self._start(_EXAMINER, may_execute=False))
            self._load(self._examiner.subject)
            self.hardware = self._examiner.hardware()
            self._book = DeviceCaseBook(task, self._examiner)
            self._make_ring()
            self._eager = self._baseline(compiled=False)
        except (CellFailure, RunnerRaised) as error:
            self._close_cells()
            raise TaskError(f"{task.id}: the reference does not work: {error}") from error
        except TaskError:
            self._close_cells()
            raise

    @property
    def device(self) -> str:
        return f"{self.hardware.name}, {nvml.state(self._settings.device or 0)}"

    @property
    def seeds(self) -> list[int]:
        return self._book.seeds

    @property
    def bytes(self) -> int:
        answers = len(self._subjects) * self._ring.slots * self._ring.answer_bytes
        return self._book.bytes + self._ring.given_bytes + answers

    @property
    def most_bytes(self) -> int:
        return self.hardware.memory_bytes // _BENCHES_SHARE

    @property
    def files(self) -> int:
        return _PROCESS_FILES * len(self._subjects)

    @contextmanager
    def seat(self, candidate: Candidate, built: Built) -> Iterator[Subject]:
        policy = self._policy(self._settings.limits, built.compiles_at_run_time)
        wish = Wish(self._settings.threads, self._arena_bytes(), policy)
        with self._empty_seat(wish) as cell:
            try:
                yield load_candidate(cell, candidate, built, self._init, self._settings)
            finally:
                if wish.arena_bytes <= self.hardware.memory_bytes // _RESERVE_SHARE:
                    self._reserve.fill(wish)
                cell.close()
                self._examiner.release()

    def _empty_seat(self, wish: Wish) -> Cell:
        """A runner whose memory the examiner reads; whatever fails so far is no candidate's."""
        with blaming_reference():
            cell = self._reserve.take(wish)
            try:
                self._share(Subject(cell))
            except (CellFailure, RunnerRaised, ReferenceLost):
                cell.close()
                raise
        return cell

    def check(self, subject: Subject, small: bool) -> Correctness:
        """All trials: a device can bear them."""
        return self._trials(subject, self._book.trials)

    def check_again(self, subject: Subject) -> Correctness:
        return self._trials(subject, self._book.stock[1:])

    def _trials(self, subject: Subject, cases: list[DeviceCase]) -> Correctness:
        return check_correctness(cases, lambda case, _: self._run(subject, case))

    def prepare(self, compiled: bool) -> None:
        self._baselines(compiled)

    def compete(
        self,
        subject: Subject,
        outputs: list[OutputTensor],
        built: Built,
        compiled: bool,
        repeats: int,
    ) -> Competition:
        baselines = self._baselines(compiled)
        if built.compiles_at_run_time:
            self._lock(subject)
        contest = DeviceContest(
            Contestant(subject, outputs),
            self._examiner,
            baselines,
            self._ring,
            self._book.stock[0].request,
            self._settings,
        )
        samples = contest.run(self._settings.rounds, repeats)
        floor = least_milliseconds(self.task, self.hardware)
        latency = summarise(samples, floor, self._ring.slots)
        if self.task.flops and self.task.dtype == "float32":
            latency = msgspec.structs.replace(latency, relaxed_ms=contest.relaxed() / 1e6)
        subject.cell.resume()
        seen = self._profile(subject)
        diagnosis, profile = diagnose(seen, built.kernels, self.task, latency, self.hardware)
        return Competition(latency, profile, diagnosis)

    def _profile(self, subject: Subject) -> Profiled:
        """Nothing where the driver does not let itself be profiled."""
        try:
            return subject.ask({"do": "profile"}, Profiled, self._settings.seconds)
        except RunnerRaised:
            return Profiled([], 1)

    def renew(self) -> None:
        self._book.renew()

    def close(self) -> None:
        self._close_cells()
        self._init.close()

    def _run(self, subject: Subject, case: DeviceCase) -> Answer:
        """One trial: the examiner gives the inputs, and looks at the answer of a stopped runner."""
        self._examiner.give(case.request)
        made = case.made
        body = {
            "layout": msgspec.to_builtins(made.layout),
            "inputs": msgspec.to_builtins(made.inputs),
            "state": made.state,
            "poison": [(kind.dtype, kind.shape) for kind in made.kinds],
        }
        done = subject.ask({"do": "trial", **body}, TrialDone, self._settings.seconds)
        subject.cell.stop()
        check_answer(done, made.outputs, made.kinds, case)
        compared = self._examiner.compare(case.request, done.tensors)
        if compared.changed is not None:
            raise mutation(compared.changed)
        if compared.foreign is not None:
            raise aliasing()
        for index, (one, kind) in enumerate(zip(compared.outputs, made.kinds, strict=True)):
            check_comparison(index, one, kind.shape, len(done.tensors))
        subject.cell.resume()
        return Answer(max(one.error for one in compared.outputs), done.tensors)

    def _baselines(self, compiled: bool) -> list[Contestant]:
        """Eager, and torch.compile where wanted: compiled on first use, left out where it fails."""
        if compiled and self._compiled is None and self._compiles:
            try:
                self._compiled = self._baseline(compiled=True)
            except (CellFailure, RunnerRaised):
                self._compiles = False
        chosen = [self._compiled] if compiled and self._compiled is not None else []
        return [self._eager, *chosen]

    def _baseline(self, compiled: bool) -> Contestant:
        subject = self._start(_BASELINE, may_execute=compiled)
        close_files(self._lend(subject)[1])
        self._load(subject, compiled)
        case = self._book.stock[0]
        self._examiner.give(case.request)
        body = {
            "do": "trial",
            "layout": msgspec.to_builtins(case.made.layout),
            "inputs": msgspec.to_builtins(case.made.inputs),
            "state": case.made.state,
            "poison": [],
            "watched": False,
        }
        done = subject.ask(body, TrialDone, _COMPILE_SECONDS)
        return Contestant(subject, done.tensors)

    def _lock(self, subject: Subject) -> None:
        """It has compiled what it needs: from here on nothing starts in its cell."""
        before = subject.cell.fewest_filters()
        subject.tell({"do": "lock"}, self._settings.seconds)
        filtered = subject.cell.fewest_filters() > before or before == 0
        if not filtered or subject.cell.company():
            raise CellProtocolError("it keeps processes beside itself")

    def _share(self, subject: Subject) -> None:
        """Before the candidate is in it: the runner's memory becomes readable to the examiner."""
        arena, files = self._lend(subject)
        try:
            if len(files) != 1:
                raise CellProtocolError("a runner without memory")
            self._examiner.adopt(arena, files[0])
        finally:
            close_files(files)

    def _lend(self, subject: Subject) -> tuple[ArenaShared, list[int]]:
        block = self._examiner.block()
        try:
            request = msgspec.to_builtins(ShareRequest(self._ring.given_bytes))
            return subject.ask_for_files(request, ArenaShared, _SECONDS, (block,))
        finally:
            os.close(block)

    def _start(self, entry: str, may_execute: bool) -> Subject:
        """One of the judge's own processes, which last as long as the bench."""
        arguments = {"threads": self._settings.threads}
        policy = self._policy(REFERENCE_LIMITS, may_execute)
        subject = Subject(self._zygote.spawn(entry, arguments, policy))
        self._subjects.append(subject)
        return subject

    def _policy(self, limits: Limits, may_execute: bool) -> Policy:
        return Policy(limits=limits, may_execute=may_execute, devices=device_files())

    def _load(self, subject: Subject, compiled: bool = False) -> None:
        request = ReferenceRequest(self.task.source, self.task.scale, secret_seed(), compiled)
        subject.load(request, (), _SECONDS)

    def _arena_bytes(self) -> int:
        ring = self._ring
        call = ring.answer_bytes + ring.given_bytes // ring.slots
        wanted = ring.slots * ring.answer_bytes * 5 // 4 + max(_ROOM, _ROOM_CALLS * call)
        return min(wanted, self.hardware.memory_bytes // _ARENA_SHARE)

    def _make_ring(self) -> None:
        shown, *_ = self._book.stock
        hidden = [case for case in self._book.trials if case.variant.hidden]
        self._ring = self._examiner.make_ring(
            stock=requests_of(self._book.stock),
            batch_ns=_BATCH_NANOSECONDS,
            most_bytes=self.hardware.memory_bytes // _RING_SHARE,
            most_slots=_MOST_SLOTS,
            case_bytes=max(case.make().layout.bytes for case in (shown, *hidden)),
            buffers=self.task.buffers,
        )

    def _close_cells(self) -> None:
        for subject in self._subjects:
            subject.close()


def only_device(number: int) -> dict[str, str]:
    """Numbered as the driver's own tools do it."""
    return {"CUDA_DEVICE_ORDER": "PCI_BUS_ID", "CUDA_VISIBLE_DEVICES": str(number)}


def device_files() -> tuple[str, ...]:
    """What a cell that computes on a GPU must open."""
    return tuple(sorted(glob("/dev/nvidia*")))
