"""Interleaved timing on the CPU: candidate and baselines in turn, with checks of the outputs."""

from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from typing import NamedTuple

import msgspec
import numpy as np

from kernelmill.judge.cases import HostCase
from kernelmill.judge.compare import compare
from kernelmill.judge.devices.cpu.kept_state import KeptState
from kernelmill.judge.devices.cpu.profiling import Sampler
from kernelmill.judge.devices.cpu.template import CandidateTemplate, Template
from kernelmill.judge.input_ring import InputRing
from kernelmill.judge.placement import judge_first, pin
from kernelmill.judge.protocol import OutputTensor, WarmUpRequest
from kernelmill.judge.runner_handle import RunnerHandle, Timing, attributed_to_reference
from kernelmill.judge.settings import JudgeSettings
from kernelmill.judge.timing import (
    REPEATS,
    Samples,
    StateKept,
    TimedAnswerWrong,
    TimedOutputsShared,
    TooManyProcessors,
    is_clear,
    is_hopeless,
    is_settled,
    outputs_overlap,
)
from kernelmill.sandbox import SandboxProtocolError

_CHECKED_ELEMENTS = 2048
"""Elements of an output that are compared in most rounds, in all calls together."""
_THOROUGH_ROUNDS = 3
"""Rounds in which every element of one call is compared."""
_PROFILED_ROUNDS = 10
"""Rounds in which the candidate is looked at instead of timed; it cannot know which."""
_MOST_PROFILED_ROUNDS = 80
"""Profiling continues after the timed rounds until it is decided whose code the candidate runs."""
_LASTING_PROCESSES = 3
_LASTING_BATCHES = 3
"""Processes at the end, and the batches that each answers at least, as in a user's program."""
_WARM_UP_ROUNDS = 2
_MOST_WAITED_SHARE = 0.04
"""A round is disturbed where a runner waited for a processor for more than this share of it."""
_LEAST_ROUNDS = 10
"""Number of undisturbed rounds below which disturbed ones are used too."""
_PROCESSOR_SLACK = 1.1
_PROCESSOR_TOLERANCE = 500_000
"""Factor and nanoseconds by which processor time may exceed that of all threads in a batch."""


class TimedInputs(NamedTuple):
    ring: InputRing
    buffers: tuple[str, ...]
    """Names of the task's buffers."""
    unlike: list[HostCase]
    """Cases of other distributions than those whose calls are timed."""


class TimedCandidate(NamedTuple):
    template: CandidateTemplate
    outputs: list[OutputTensor]
    """Types and strides of its outputs."""


class _WarmFork(NamedTuple):
    """A fork that has made one call, and is stopped."""

    runner: RunnerHandle
    pointers: list[list[int]]
    """The outputs of that call, which it holds."""


class _ReadyFork(NamedTuple):
    """A warm fork of the candidate, and what its libraries held then."""

    runner: RunnerHandle
    warm_pointers: list[list[int]]
    state: KeptState


class _Forks(NamedTuple):
    """One of the candidate and one of each baseline."""

    candidate: _ReadyFork
    baselines: list[RunnerHandle]


class InterleavedTiming:
    """One candidate against its baselines on one ring of inputs.

    Every batch runs in a new fork, of the candidate and of the baselines alike, which makes one
    call to get warm; then it is stopped, and the ring is refilled. A second batch in the
    same fork reads slower for the candidate than for a baseline.
    """

    def __init__(
        self,
        candidate: TimedCandidate,
        baselines: list[Template],
        inputs: TimedInputs,
        sampler: Sampler,
        settings: JudgeSettings,
    ) -> None:
        self._sampler = sampler
        self._candidate = candidate
        self._baselines = baselines
        self._rows: list[list[float]] = [[] for _ in range(1 + len(baselines))]
        self._waits: list[float] = []
        self._durations: list[int] = []
        """Nanoseconds of the candidate's batches."""
        self._ring = inputs.ring
        self._ring_request = inputs.ring.request(inputs.buffers)
        self._unlike = inputs.unlike
        self._seconds = settings.seconds
        self._threads = settings.threads
        self._processors = settings.thread_processors()
        self._rng = np.random.default_rng()
        self._thorough: set[int] = set()
        """Numbers of the rounds that are compared thoroughly."""

    def measure(self, rounds: int, repeats: int = REPEATS) -> Samples:
        """Run timed and profiled rounds in a secret order. Raises TimedCallRefused."""
        numbers = self._rng.choice(max(1, rounds // 2), _THOROUGH_ROUNDS)
        self._thorough = set(numbers.tolist())
        with judge_first():
            self._warm_up()
            self._run_schedule(rounds)
            for _ in range(repeats):
                if self._is_hopeless() or is_settled(self._samples(), rounds):
                    break
                for _ in range(rounds):
                    self._time()
            for _ in range(_MOST_PROFILED_ROUNDS - _PROFILED_ROUNDS):
                if self._sampler.is_decided:
                    break
                self._profile()
            self._run_on()
        return self._samples()

    def _warm_up(self) -> None:
        with self._forks(self._baselines) as forks:
            for number in range(_WARM_UP_ROUNDS):
                self._round(forks, candidate_first=number % 2 == 0)

    def _run_schedule(self, rounds: int) -> None:
        schedule = np.repeat([True, False], [rounds, _PROFILED_ROUNDS])
        for is_timed in self._rng.permutation(schedule).tolist():
            enough = self._is_hopeless() or self._is_clear(rounds)
            if enough and (is_timed or self._sampler.is_decided):
                continue
            if is_timed:
                self._time()
            else:
                self._profile()

    def _time(self) -> None:
        """One timed round, with a check of the candidate's outputs."""
        number = len(self._waits)
        with self._forks(self._baselines) as forks:
            timings = self._round(forks, number % 2 == 0, thorough=number in self._thorough)
        for row, timing in zip(self._rows, timings, strict=True):
            row.append(timing.nanoseconds / self._ring.slots)
        self._waits.append(max(t.waited / t.nanoseconds for t in timings))

    def _round(self, forks: _Forks, candidate_first: bool, thorough: bool = False) -> list[Timing]:
        self._ring.refill(self._rng)
        before = [] if candidate_first else self._time_baselines(forks.baselines[::-1])
        self._ring.warm_caches()
        timing = forks.candidate.runner.batch(self._ring.slots, self._seconds)
        self._durations.append(timing.nanoseconds)
        after = self._time_baselines(forks.baselines) if candidate_first else []
        self._check_processors(timing)
        whole = {int(self._rng.integers(self._ring.slots))} if thorough else set()
        self._check(forks.candidate, timing.pointers, whole)
        return [timing, *after, *reversed(before)]

    def _time_baselines(self, forks: list[RunnerHandle]) -> list[Timing]:
        timings = []
        for fork in forks:
            self._ring.warm_caches()
            with attributed_to_reference():
                timings.append(fork.batch(self._ring.slots, self._seconds))
        return timings

    @contextmanager
    def _forks(self, baselines: Sequence[Template]) -> Iterator[_Forks]:
        """New forks of the candidate and of these baselines, which get warm at the same time."""
        self._ring.refill_warm_up(self._rng)
        with ExitStack() as stack:
            with ThreadPoolExecutor(1 + len(baselines)) as pool:
                candidate, *others = [
                    pool.submit(stack.enter_context, self._warm_fork(template))
                    for template in (self._candidate.template, *baselines)
                ]
            warm = candidate.result()
            state = KeptState(warm.runner.sandbox, self._sampler.artefacts)
            with attributed_to_reference():
                runners = [baseline.result().runner for baseline in others]
            yield _Forks(_ReadyFork(warm.runner, warm.pointers, state), runners)

    @property
    def _warm_up_request(self) -> WarmUpRequest:
        slots = self._ring.slots
        output_bytes = sum(output.extent for output in self._candidate.outputs)
        return WarmUpRequest(slot=slots, calls=slots, output_bytes=output_bytes)

    @contextmanager
    def _warm_fork(self, template: Template) -> Iterator[_WarmFork]:
        with template.fork() as runner:
            runner.attach(self._ring_request, self._ring.file, self._seconds)
            pointers = runner.warm_up(self._warm_up_request, self._seconds)
            runner.sandbox.stop()
            pin(runner.sandbox, self._processors)
            yield _WarmFork(runner, pointers)

    def _profile(self) -> None:
        """One round in which the candidate is looked at; its fork may feel that."""
        with self._forks([]) as forks:
            fork = forks.candidate
            self._ring.refill(self._rng)
            calls = self._ring.slots
            moment = self._rng.uniform(0, float(np.median(self._durations))) / 1e9
            pointers = self._sampler.run(fork.runner, calls, self._seconds, moment)
            self._check(fork, pointers)

    def _run_on(self) -> None:
        """Let processes answer many calls, with new values at the same addresses.

        Their first batch is what a timed one is, but for the values: these are of the kinds that
        trials hold and the clock never sees. So no process can know that it may expect less.
        """
        numbers = self._rng.permutation(len(self._unlike)).tolist()
        waiting = [self._unlike[number] for number in numbers]
        for remaining in range(_LASTING_PROCESSES, 0, -1):
            share = -(-len(waiting) // remaining)
            mine, waiting = waiting[:share], waiting[share:]
            with self._forks([]) as forks:
                fork = forks.candidate
                for number in range(max(_LASTING_BATCHES, 1 + -(-share // self._ring.slots))):
                    first, mine = mine[: self._ring.slots], mine[self._ring.slots :]
                    # The second batch holds what is timed, even if there are many others.
                    if number == 1 and first:
                        first, mine = [], [*first, *mine]
                    self._ring.fill_with(first, self._rng)
                    timing = fork.runner.batch(self._ring.slots, self._seconds)
                    self._check(fork, timing.pointers, whole=set(range(self._ring.slots)))

    def _is_hopeless(self) -> bool:
        return is_hopeless(*self._rows[:2])

    def _is_clear(self, rounds: int) -> bool:
        return bool(self._waits) and is_clear(self._samples(), rounds)

    def _samples(self) -> Samples:
        """The undisturbed rounds, or all rounds where those are too few."""
        rows = np.asarray(self._rows)
        undisturbed = np.asarray(self._waits) <= _MOST_WAITED_SHARE
        chosen = rows[:, undisturbed] if undisturbed.sum() >= _LEAST_ROUNDS else rows
        disturbed = float(1 - undisturbed.mean())
        return Samples(chosen[0], list(chosen[1:]), disturbed, self._sampler.profile())

    def _check_processors(self, timing: Timing) -> None:
        allowed = _PROCESSOR_SLACK * self._threads * timing.nanoseconds + _PROCESSOR_TOLERANCE
        if timing.ran > allowed:
            used = timing.ran / timing.nanoseconds
            raise TooManyProcessors(
                f"a timed batch used {used:.1f} processors, its {self._threads} threads have "
                f"{self._threads}"
            )

    def _check(
        self, fork: _ReadyFork, pointers: list[list[int]], whole: Collection[int] = ()
    ) -> None:
        """Compare the candidate's outputs of every call with what its case expects, while it is
        stopped: a sample of the elements, and all of them in the calls `whole`."""
        outputs = self._candidate.outputs
        if len(pointers) != self._ring.slots or any(len(p) != len(outputs) for p in pointers):
            raise SandboxProtocolError("a timed batch without all its outputs")
        every = [address for addresses in pointers for address in addresses]
        if fork.runner.shares_memory(every):
            raise TimedOutputsShared("in a timed call an output shares memory with an input")
        if outputs_overlap([*fork.warm_pointers, *pointers], outputs):
            raise TimedOutputsShared("outputs of several calls share memory")
        if fork.state.has_changed():
            raise StateKept("a call has changed static variables of the kernel")
        for number, addresses in enumerate(pointers):
            for index, address in enumerate(addresses):
                self._compare(fork.runner, number, index, address, number in whole)

    def _compare(
        self, runner: RunnerHandle, call: int, index: int, address: int, thorough: bool
    ) -> None:
        expected = self._ring.case(call).expected[index]
        output = msgspec.structs.replace(self._candidate.outputs[index], address=address)
        count = expected.eager.size
        most = _CHECKED_ELEMENTS // self._ring.slots
        if thorough or count <= most:
            comparison = compare(runner.read_output(output), expected)
        else:
            positions = self._rng.integers(0, count, most, dtype=np.int64)
            comparison = compare(runner.read_elements(output, positions), expected.at(positions))
        if comparison.error <= 1:
            return
        if comparison.wrong:
            compared = count if thorough else min(count, most)
            raise TimedAnswerWrong(
                f"in a timed call {comparison.wrong} of {compared} compared elements are wrong"
            )
        raise TimedAnswerWrong(
            f"a timed call is too inexact: {comparison.error:.1f} times the error budget"
        )
