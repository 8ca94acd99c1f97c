"""The components of a campaign: found by name, checked, and opened together."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import NamedTuple

from kernelmill.backends import get_backend
from kernelmill.backends.base import Backend
from kernelmill.campaign import measurement_lock
from kernelmill.campaign.preflight import check_devices, check_tools
from kernelmill.generators import get_generator
from kernelmill.generators.auditing import Auditor
from kernelmill.generators.base import Generator
from kernelmill.generators.model.auditor import auditor_of
from kernelmill.generators.model.model_specs import demand_prices
from kernelmill.generators.model.summariser import summariser_of
from kernelmill.generators.summarising import Summariser
from kernelmill.judge import Judge, JudgeSettings
from kernelmill.judge.devices import get_device
from kernelmill.records.campaign import CampaignSettings
from kernelmill.records.cost_budget import PreflightCostBudget
from kernelmill.strategies import Strategy, get_strategy
from kernelmill.strategies.sweeping import Sweeping


class Components(NamedTuple):
    """Everything that works on one campaign."""

    judges: tuple[Judge, ...]
    """One judge, or one per device."""
    generator: Generator
    strategy: Strategy
    auditor: Auditor | None = None
    summariser: Summariser | None = None

    @property
    def backend(self) -> Backend:
        return self.judges[0].backend


class Plugins(NamedTuple):
    """The plug-ins that the settings of a campaign name."""

    backend: Backend
    generator: Generator
    strategy: Strategy


def find_plugins(settings: CampaignSettings, spent_usd: float = 0.0) -> Plugins:
    """Find the plug-ins, and check them before anything is created or paid for."""
    plugins = Plugins(
        get_backend(settings.backend),
        get_generator(settings.generator, settings.models),
        Sweeping(get_strategy(settings.strategy), settings.sweep),
    )
    if settings.models is not None:
        demand_prices(settings.models, settings.max_usd)
    left_usd = None if settings.max_usd is None else settings.max_usd - spent_usd
    plugins.generator.fund(PreflightCostBudget(left_usd))
    check_tools(plugins.backend, plugins.generator)
    check_devices(plugins.backend, settings.devices)
    return plugins


@contextmanager
def open_components(settings: CampaignSettings, plugins: Plugins) -> Iterator[Components]:
    with open_judges(settings, plugins.backend) as judges:
        generator = plugins.generator
        yield Components(
            judges, generator, plugins.strategy, auditor_of(generator), summariser_of(generator)
        )


@contextmanager
def open_judges(settings: CampaignSettings, backend: Backend) -> Iterator[tuple[Judge, ...]]:
    """One judge, or one per device; several judges divide the processors among them."""
    devices = settings.devices or (None,)
    timing = measurement_lock.SharedTiming(measurement_lock.timing_of(get_device(backend)))
    threads = max(1, settings.threads // len(devices))
    processors = sorted(os.sched_getaffinity(0))
    with ExitStack() as stack:
        judges = []
        for index, device in enumerate(devices):
            judging = JudgeSettings(
                threads=threads,
                processors=tuple(processors[index * threads : (index + 1) * threads]),
                rounds=settings.rounds,
                device=device,
                allow_unsandboxed=settings.allow_unsandboxed,
            )
            judges.append(stack.enter_context(Judge(backend, judging, timing.hold)))
        yield tuple(judges)
