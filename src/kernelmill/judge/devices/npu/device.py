"""Ascend NPUs as a device kind."""

from contextlib import ExitStack

from kernelmill.backends.base import Backend
from kernelmill.backends.support.ascend_devices import npu_device_files
from kernelmill.judge.devices.base import HarnessFactory, JudgedDevice
from kernelmill.judge.devices.npu.harness import NpuHarness
from kernelmill.judge.settings import JudgeSettings
from kernelmill.judge.spawning import RUNNER
from kernelmill.sandbox import Zygote


class NpuDevice(JudgedDevice):
    """References are described and compared on the processor, and timed on the NPU."""

    name = "npu"
    modules = (RUNNER, "kernelmill.judge.devices.npu.runner")
    is_separate = True

    def demand_usable(self, backend: Backend) -> None:
        backend.demand_requirements()

    def device_files(self) -> tuple[str, ...]:
        return npu_device_files()

    def environment(self, number: int) -> dict[str, str]:
        return {"ASCEND_RT_VISIBLE_DEVICES": str(number)}

    def harness_factory(
        self, backend: Backend, zygote: Zygote, settings: JudgeSettings, resources: ExitStack
    ) -> HarnessFactory:
        return lambda task: NpuHarness(task, zygote, settings, backend.run_environment())
