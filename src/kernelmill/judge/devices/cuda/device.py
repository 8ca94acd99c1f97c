"""NVIDIA GPUs as a device kind."""

from contextlib import ExitStack

from kernelmill.backends.base import Backend
from kernelmill.judge.devices.base import HarnessFactory, JudgedDevice
from kernelmill.judge.devices.cuda.device_files import nvidia_device_files
from kernelmill.judge.devices.cuda.footprint import Footprint
from kernelmill.judge.devices.cuda.harness import CudaHarness
from kernelmill.judge.devices.cuda.standby import StandbyRunner
from kernelmill.judge.settings import JudgeSettings
from kernelmill.judge.spawning import RUNNER
from kernelmill.records.numerics import Numerics
from kernelmill.records.task import Task
from kernelmill.sandbox import Zygote


class CudaDevice(JudgedDevice):
    name = "cuda"
    framework = "cuda"
    numerics = (Numerics.FRAMEWORK, Numerics.IEEE, Numerics.TF32, Numerics.HALF)
    modules = (
        RUNNER,
        "kernelmill.judge.devices.cuda.runner",
        "kernelmill.judge.devices.cuda.examiner",
    )
    is_separate = True

    def demand_usable(self, backend: Backend) -> None:
        backend.demand_requirements()

    def device_files(self) -> tuple[str, ...]:
        return nvidia_device_files()

    def environment(self, number: int) -> dict[str, str]:
        """Show one device, numbered as the driver's own tools number them."""
        return {"CUDA_DEVICE_ORDER": "PCI_BUS_ID", "CUDA_VISIBLE_DEVICES": str(number)}

    def bytes_needed(self, task: Task) -> int:
        return Footprint.of(task).needed

    def harness_factory(
        self, backend: Backend, zygote: Zygote, settings: JudgeSettings, resources: ExitStack
    ) -> HarnessFactory:
        standby = StandbyRunner(zygote)
        resources.callback(standby.close)
        return lambda task: CudaHarness(task, zygote, settings, standby)
