"""Task harness of NVIDIA GPUs: an examiner and the runners share one device."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import msgspec

from kernelmill.backends.base import Built
from kernelmill.judge.cases import secret_seed
from kernelmill.judge.correctness import (
    Correctness,
    TrialResult,
    aliasing_refusal,
    check_answer,
    check_comparison,
    check_correctness,
    mutation_refusal,
)
from kernelmill.judge.devices.cuda import nvml
from kernelmill.judge.devices.cuda.device_cases import DeviceCase, DeviceCaseSet
from kernelmill.judge.devices.cuda.device_files import nvidia_device_files
from kernelmill.judge.devices.cuda.diagnosis import diagnose_profile, gpu_floor
from kernelmill.judge.devices.cuda.examiner_handle import ExaminerHandle
from kernelmill.judge.devices.cuda.exception_hints import EXCEPTION_HINTS
from kernelmill.judge.devices.cuda.footprint import (
    CONTEXT_BYTES,
    LEAST_WORKSPACE,
    REST_SHARE,
    Footprint,
)
from kernelmill.judge.devices.cuda.interleaved import DeviceTiming
from kernelmill.judge.devices.cuda.protocol import ArenaShared, Profiled, ShareRequest
from kernelmill.judge.devices.cuda.standby import RunnerSpec, StandbyRunner
from kernelmill.judge.harness import Harness, Measurement
from kernelmill.judge.protocol import OutputTensor, ReferenceRequest, TrialDone
from kernelmill.judge.reference import REFERENCE_LIMITS, read_init_arguments
from kernelmill.judge.runner_handle import (
    ReferenceLost,
    RunnerHandle,
    RunnerRaised,
    attributed_to_reference,
)
from kernelmill.judge.settings import JudgeSettings
from kernelmill.judge.spawning import load_candidate
from kernelmill.judge.timing import TimedRunner, summarise_latency
from kernelmill.records.candidate import Candidate
from kernelmill.records.errors import TaskError
from kernelmill.records.numerics import Numerics
from kernelmill.records.task import Task
from kernelmill.sandbox import (
    Policy,
    ResourceLimits,
    Sandbox,
    SandboxFailure,
    SandboxProtocolError,
    Zygote,
)
from kernelmill.sandbox.channel import close_files

_EXAMINER = "kernelmill.judge.devices.cuda.examiner:run_examiner"
_BASELINE = "kernelmill.judge.devices.cuda.runner:run_device_baseline"
_SECONDS = 120.0
_COMPILE_SECONDS = 300.0
_BATCH_NANOSECONDS = 8_000_000
_MOST_SLOTS = 4096
_RING_SHARE = 12
"""The inputs of a batch, like its outputs, take at most 1/12 of the device's memory."""
_WORKSPACE_CALLS = 6
"""A candidate may use this many times what a call moves, where there is room."""
_USED_SHARE = 0.95
"""How much of the device's memory is planned with."""
_ARENA_SHARE = 4
"""A runner takes at most 1/4 of the device's memory."""
_STANDBY_SHARE = 5
"""A runner that takes more than 1/5 of the device's memory is not kept on standby."""
_HARNESSES_SHARE = 4
"""All harnesses together hold at most 1/4 of the device's memory between verdicts."""
_FILES_PER_RUNNER = 6


class _Lent(NamedTuple):
    arena: ArenaShared
    files: list[int]


class CudaHarness(Harness[RunnerHandle]):
    clock = (
        "host clock of the judge around batches, less batches of calls that do nothing; the "
        "runner lives only inside it, and the device must be idle afterwards"
    )
    exception_hints = EXCEPTION_HINTS

    def __init__(
        self, task: Task, zygote: Zygote, settings: JudgeSettings, standby: StandbyRunner
    ) -> None:
        self.task = task
        self._zygote = zygote
        self._standby = standby
        self._settings = settings
        self._runners: list[RunnerHandle] = []
        self._compiled: TimedRunner | None = None
        self._compiles = True
        self._footprint = Footprint.of(task)
        try:
            self._init = read_init_arguments(task, zygote)
            self._examiner = ExaminerHandle(self._start(_EXAMINER, may_execute=False))
            self._load(self._examiner.runner)
            self.hardware = self._examiner.hardware()
            if self._footprint.is_large(self.hardware.memory_bytes):
                standby.close()
            self._cases = DeviceCaseSet(task, self._examiner)
            self._make_ring()
            self._eager = self._baseline(compiled=False)
        except (SandboxFailure, RunnerRaised) as error:
            self._close_sandboxes()
            raise TaskError(f"{task.id}: the reference does not work: {error}") from error
        except TaskError:
            self._close_sandboxes()
            raise

    @property
    def device(self) -> str:
        return f"{self.hardware.name}, {nvml.state(self._settings.device or 0)}"

    @property
    def seeds(self) -> list[int]:
        return self._cases.seeds

    @property
    def held_bytes(self) -> int:
        cases = min(self._cases.bytes, int(self.hardware.memory_bytes * REST_SHARE))
        ring = self._ring.given_bytes + self._footprint.ring_cases * self._footprint.given
        return cases + ring + len(self._runners) * CONTEXT_BYTES

    @property
    def capacity_bytes(self) -> int:
        return self.hardware.memory_bytes // _HARNESSES_SHARE

    @property
    def total_bytes(self) -> int:
        return self.hardware.memory_bytes

    @property
    def open_files(self) -> int:
        return _FILES_PER_RUNNER * len(self._runners)

    @contextmanager
    def spawn_runner(self, candidate: Candidate, built: Built) -> Iterator[RunnerHandle]:
        policy = self._policy(self._settings.limits, built.compiles_at_run_time)
        spec = RunnerSpec(self._settings.threads, self._arena_bytes(), policy)
        with self._empty_runner(spec) as sandbox:
            try:
                yield load_candidate(sandbox, candidate, built, self._init, self._settings)
            finally:
                if spec.arena_bytes <= self.hardware.memory_bytes // _STANDBY_SHARE:
                    self._standby.refill(spec)
                sandbox.close()
                self._examiner.release_arena()

    def _empty_runner(self, spec: RunnerSpec) -> Sandbox:
        """A runner without a candidate, whose memory the examiner reads. Raises ReferenceLost."""
        with attributed_to_reference():
            sandbox = self._standby.take(spec)
            try:
                self._share(RunnerHandle(sandbox))
            except (SandboxFailure, RunnerRaised, ReferenceLost):
                sandbox.close()
                raise
        return sandbox

    def check(self, runner: RunnerHandle, small: bool) -> Correctness:
        """Run all trials, since a GPU is fast enough for them."""
        return self._check(runner, self._cases.trials)

    def check_again(self, runner: RunnerHandle) -> Correctness:
        return self._check(runner, self._cases.held_out[1:])

    def _check(self, runner: RunnerHandle, cases: list[DeviceCase]) -> Correctness:
        return check_correctness(
            cases, lambda case: self._run_trial(runner, case), self.exception_hints
        )

    def prepare(self, compiled: bool) -> None:
        self._baselines(compiled)

    def measure(
        self,
        runner: RunnerHandle,
        outputs: list[OutputTensor],
        built: Built,
        compiled: bool,
        repeats: int,
    ) -> Measurement:
        baselines = self._baselines(compiled)
        self._examiner.rest()
        if built.compiles_at_run_time:
            self._forbid_programs(runner)
        timing = DeviceTiming(
            TimedRunner(runner, outputs),
            self._examiner,
            baselines,
            self._ring,
            self._cases.held_out[0].request,
            self._settings,
        )
        samples = timing.run(self._settings.rounds, repeats)
        floor = gpu_floor(self.task, self.hardware)
        latency = summarise_latency(samples, floor, self._ring.slots)
        if self.task.is_rounded:
            ieee_ms = timing.time_eager(Numerics.IEEE, afterwards=self.task.numerics) / 1e6
            latency = msgspec.structs.replace(latency, ieee_ms=ieee_ms)
        self._rest_baselines()
        runner.sandbox.resume()
        diagnosis, profile = diagnose_profile(
            self._profile(runner), built.kernels, self.task, latency, self.hardware
        )
        return Measurement(latency, profile, diagnosis)

    def _profile(self, runner: RunnerHandle) -> Profiled:
        """The profile of some calls; empty where the driver does not allow profiling."""
        try:
            return runner.ask({"do": "profile"}, Profiled, self._settings.seconds)
        except RunnerRaised:
            return Profiled([], 1)

    def renew(self) -> None:
        self._cases.renew()
        self._examiner.rest()
        self._rest_baselines()

    def close(self) -> None:
        self._close_sandboxes()
        self._init.close()

    def _run_trial(self, runner: RunnerHandle, case: DeviceCase) -> TrialResult:
        """One trial: the examiner writes the inputs, and compares while the runner is stopped."""
        self._examiner.write_inputs(case.request)
        made = case.made
        poison = [(spec.dtype, spec.shape) for spec in made.output_specs]
        body = case.trial_request(poison=poison)
        done = runner.ask(body, TrialDone, self._settings.seconds)
        runner.sandbox.stop()
        check_answer(done, made.outputs, made.output_specs, case)
        compared = self._examiner.compare(case.request, done.tensors)
        if compared.changed is not None:
            raise mutation_refusal(compared.changed)
        if compared.foreign is not None:
            raise aliasing_refusal()
        for index, (one, spec) in enumerate(zip(compared.outputs, made.output_specs, strict=True)):
            check_comparison(index, one, spec.shape, len(done.tensors), case.variant.hidden)
        runner.sandbox.resume()
        return TrialResult(max(one.error for one in compared.outputs), done.tensors)

    def _baselines(self, compiled: bool) -> list[TimedRunner]:
        """Eager, and torch.compile where wanted: compiled on first use, left out where it fails."""
        if compiled and self._compiled is None and self._compiles:
            try:
                self._compiled = self._baseline(compiled=True)
            except (SandboxFailure, RunnerRaised):
                self._compiles = False
        chosen = [self._compiled] if compiled and self._compiled is not None else []
        return [self._eager, *chosen]

    def _baseline(self, compiled: bool) -> TimedRunner:
        """Start a reference and run it once, to compile it and to learn its outputs' strides."""
        runner = self._start(_BASELINE, may_execute=compiled)
        close_files(self._lend_inputs(runner).files)
        self._load(runner, compiled)
        case = self._cases.held_out[0]
        self._examiner.write_inputs(case.request)
        body = case.trial_request(poison=[], watched=False)
        done = runner.ask(body, TrialDone, _COMPILE_SECONDS)
        runner.tell({"do": "rest"}, _SECONDS)
        return TimedRunner(runner, done.tensors)

    def _rest_baselines(self) -> None:
        """Have them give back the memory of their outputs."""
        with attributed_to_reference():
            for baseline in self._baselines(compiled=False):
                baseline.runner.tell({"do": "rest"}, _SECONDS)
            if self._compiled is not None:
                self._compiled.runner.tell({"do": "rest"}, _SECONDS)

    def _forbid_programs(self, runner: RunnerHandle) -> None:
        """Let nothing start in its sandbox from now on: it has compiled what it needs."""
        before = runner.sandbox.fewest_seccomp_filters()
        runner.tell({"do": "lock"}, self._settings.seconds)
        filtered = runner.sandbox.fewest_seccomp_filters() > before or before == 0
        if not filtered or runner.sandbox.other_processes():
            raise SandboxProtocolError("it keeps other processes running in its sandbox")

    def _share(self, runner: RunnerHandle) -> None:
        """Let the examiner read the runner's memory, before a candidate is loaded."""
        arena, files = self._lend_inputs(runner)
        try:
            if len(files) != 1:
                raise SandboxProtocolError("a runner without device memory to share")
            self._examiner.import_arena(arena, files[0])
        finally:
            close_files(files)

    def _lend_inputs(self, runner: RunnerHandle) -> _Lent:
        """Let a runner map the block of inputs. Returns the arena that it shares."""
        block = self._examiner.export_inputs()
        try:
            request = msgspec.to_builtins(ShareRequest(self._ring.given_bytes))
            return _Lent(*runner.ask_for_files(request, ArenaShared, _SECONDS, (block,)))
        finally:
            os.close(block)

    def _start(self, entry: str, may_execute: bool) -> RunnerHandle:
        """Start a process of the judge's own, which lasts as long as the harness."""
        arguments = {"threads": self._settings.threads}
        policy = self._policy(REFERENCE_LIMITS, may_execute)
        runner = RunnerHandle(self._zygote.spawn(entry, arguments, policy))
        self._runners.append(runner)
        return runner

    def _policy(self, limits: ResourceLimits, may_execute: bool) -> Policy:
        return Policy(limits=limits, may_execute=may_execute, devices=nvidia_device_files())

    def _load(self, runner: RunnerHandle, compiled: bool = False) -> None:
        task = self.task
        request = ReferenceRequest(task.source, task.scale, secret_seed(), compiled, task.numerics)
        runner.load(request, (), _SECONDS)

    def _arena_bytes(self) -> int:
        ring, memory = self._ring, self.hardware.memory_bytes
        call = ring.output_bytes + ring.given_bytes // ring.slots
        outputs = ring.slots * ring.output_bytes * 5 // 4
        wanted = outputs + max(LEAST_WORKSPACE, _WORKSPACE_CALLS * call)
        beside = self._footprint.beside_runner(ring.given_bytes)
        room = max(outputs + LEAST_WORKSPACE, int(memory * _USED_SHARE) - beside)
        return min(wanted, room, memory // _ARENA_SHARE)

    def _make_ring(self) -> None:
        shown, *_ = self._cases.held_out
        hidden = [case for case in self._cases.trials if case.variant.hidden]
        self._ring = self._examiner.make_ring(
            cases=[case.request for case in self._cases.held_out][: self._footprint.ring_cases],
            batch_ns=_BATCH_NANOSECONDS,
            most_bytes=self.hardware.memory_bytes // _RING_SHARE,
            most_slots=_MOST_SLOTS,
            case_bytes=max(case.make().layout.bytes for case in (shown, *hidden)),
            buffers=self.task.buffers,
        )

    def _close_sandboxes(self) -> None:
        for runner in self._runners:
            runner.close()
