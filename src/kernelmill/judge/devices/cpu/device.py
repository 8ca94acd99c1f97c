"""The CPU of this machine as a device kind."""

from contextlib import ExitStack
from functools import cache

from kernelmill.backends.base import Backend
from kernelmill.judge.devices.base import HarnessFactory, JudgedDevice
from kernelmill.judge.devices.cpu.code_identity import ALLOWED_CALLS, learn_known_code
from kernelmill.judge.devices.cpu.harness import CpuHarness
from kernelmill.judge.settings import JudgeSettings
from kernelmill.judge.spawning import RUNNER
from kernelmill.sandbox import Zygote


class CpuDevice(JudgedDevice):
    name = "cpu"
    modules = (RUNNER, ALLOWED_CALLS)
    is_scarce = False

    def harness_factory(
        self, backend: Backend, zygote: Zygote, settings: JudgeSettings, resources: ExitStack
    ) -> HarnessFactory:
        known_code = cache(lambda: learn_known_code(zygote, settings.threads))
        return lambda task: CpuHarness(task, zygote, settings, known_code)
