"""Modelled chips as a device kind: a simulator executes candidates, a model estimates latency."""

from contextlib import ExitStack

from kernelmill.backends.base import Backend
from kernelmill.judge.devices.base import HarnessFactory, JudgedDevice
from kernelmill.judge.devices.modelled.harness import ModelledHarness
from kernelmill.judge.settings import JudgeSettings
from kernelmill.judge.spawning import RUNNER
from kernelmill.sandbox import Zygote


class ModelledDevice(JudgedDevice):
    name = "modelled"
    modules = (RUNNER,)
    is_checked_ahead = True

    def harness_factory(
        self, backend: Backend, zygote: Zygote, settings: JudgeSettings, resources: ExitStack
    ) -> HarnessFactory:
        return lambda task: ModelledHarness(backend, task, zygote, settings)
