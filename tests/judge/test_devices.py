"""Device kinds conform, and another one needs nothing but an entry point."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib.metadata import EntryPoint, EntryPoints

import pytest

from judge.kernels import candidate
from kernelmill import plugins
from kernelmill.backends import get_backend
from kernelmill.backends.base import Backend, Built
from kernelmill.backends.cpp.backend import CppBackend
from kernelmill.conformance.device import DeviceConformance
from kernelmill.judge import Judge, JudgeSettings
from kernelmill.judge.correctness import Correctness
from kernelmill.judge.devices import device_kinds, get_device
from kernelmill.judge.devices.base import HarnessFactory, JudgedDevice
from kernelmill.judge.harness import Harness, Measurement
from kernelmill.judge.protocol import OutputTensor
from kernelmill.records.candidate import Candidate
from kernelmill.records.errors import BackendUnavailable
from kernelmill.records.task import Task
from kernelmill.records.verdict import Feedback, Gate, Interval, Latency, Profile, Trial
from kernelmill.sandbox import Zygote
from kernelmill.tasks import load_suite


@pytest.mark.compiler
class TestCpu(DeviceConformance):
    def backend(self) -> Backend:
        return get_backend("cpp")


class TestRvv(DeviceConformance):
    def backend(self) -> Backend:
        return get_backend("rvv")


@pytest.mark.npu("pallas")
class TestPallas(DeviceConformance):
    def backend(self) -> Backend:
        return get_backend("pallas")


@pytest.mark.gpu
class TestCuda(DeviceConformance):
    def backend(self) -> Backend:
        return get_backend("cuda")


class AbacusHarness(Harness[Candidate]):
    """Judges by the name of a candidate. Shares nothing with the built-in harnesses."""

    clock = "beads per call"
    device = "an abacus"
    seeds = (1, 2)
    held_bytes = open_files = 1
    capacity_bytes = 10

    def __init__(self, task: Task) -> None:
        self.task = task
        self.closed = False

    @contextmanager
    def spawn_runner(self, candidate: Candidate, built: Built) -> Iterator[Candidate]:
        yield candidate

    def check(self, runner: Candidate, small: bool) -> Correctness:
        wrong = Feedback(Gate.CORRECTNESS, "numerical", "a bead too many")
        return Correctness((Trial(False, "plain", 0.5),), wrong if "1" in runner.name else None, [])

    def check_again(self, runner: Candidate) -> Correctness:
        return self.check(runner, small=False)

    def prepare(self, compiled: bool) -> None:
        pass

    def measure(
        self,
        runner: Candidate,
        outputs: list[OutputTensor],
        built: Built,
        compiled: bool,
        repeats: int,
    ) -> Measurement:
        latency = Latency(5.0, 10.0, None, Interval.exactly(2.0), None, 0.1, 0.1, 1, 1)
        return Measurement(latency, Profile(0, 0.0, 0.0, 0.0), None)

    def renew(self) -> None:
        pass

    def close(self) -> None:
        self.closed = True


class AbacusDevice(JudgedDevice):
    name = "abacus"
    modules = ("kernelmill.judge.runner",)
    opened: list[AbacusHarness] = []
    ended: list[str] = []

    def environment(self, number: int) -> dict[str, str]:
        return {"ABACUS": str(number)}

    def harness_factory(
        self, backend: Backend, zygote: Zygote, settings: JudgeSettings, resources: ExitStack
    ) -> HarnessFactory:
        resources.callback(self.ended.append, backend.name)
        return self.open_harness

    def open_harness(self, task: Task) -> AbacusHarness:
        self.opened.append(AbacusHarness(task))
        return self.opened[-1]


class AbacusBackend(CppBackend):
    device_kind = "abacus"


@pytest.fixture
def plugged_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """An entry point of this module, beside those that are installed."""
    point = EntryPoint("abacus", f"{__name__}:AbacusDevice", "kernelmill.devices")
    installed = plugins.entry_points

    def entry_points(**wanted: str) -> EntryPoints:
        return EntryPoints((*installed(**wanted), *EntryPoints((point,)).select(**wanted)))

    monkeypatch.setattr(plugins, "entry_points", entry_points)


@pytest.mark.usefixtures("plugged_in")
@pytest.mark.compiler
def test_a_device_kind_is_used_once_it_has_an_entry_point() -> None:
    assert {*device_kinds()} == {"abacus", "cpu", "cuda", "modelled", "npu"}
    assert isinstance(get_device(AbacusBackend()), AbacusDevice)
    with Judge(AbacusBackend(), JudgeSettings(device=3)) as judge:
        task = judge.describe(load_suite("starter/gelu")[0])
        right, wrong = candidate(), Candidate(candidate().files, candidate().origin, "1 too many")
        passed, refused = judge.verify(task, right), judge.verify(task, wrong)
        assert judge.is_ready_for(task)
    assert passed.passed and passed.latency is not None
    assert passed.latency.over_baseline.ratio == 2
    assert (passed.evidence.clock, passed.evidence.device) == ("beads per call", "an abacus")
    assert (refused.gate, refused.feedback[0].summary) == (Gate.CORRECTNESS, "a bead too many")
    assert [harness.closed for harness in AbacusDevice.opened] == [True]
    assert AbacusDevice.ended == ["cpp"]


def test_a_device_kind_that_is_not_installed_is_named() -> None:
    with pytest.raises(BackendUnavailable, match="no device kind 'abacus' is installed"):
        get_device(AbacusBackend())
