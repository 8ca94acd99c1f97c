"""Readiness of this machine: its isolation, and the requirements of every backend."""

from typing import NamedTuple

from kernelmill.backends import backend_names, get_backend
from kernelmill.backends.base import Requirement
from kernelmill.sandbox import Features, probe_features


class Readiness(NamedTuple):
    """What was found of everything that Kernelmill can use."""

    isolation: Features
    requirements: dict[str, list[Requirement]]
    """The requirements of each backend, by its name."""

    @property
    def usable_backends(self) -> list[str]:
        """The backends that miss nothing."""
        return [
            name for name, needs in self.requirements.items() if all(need.found for need in needs)
        ]

    @property
    def is_ready(self) -> bool:
        """Whether any backend can be judged here."""
        return bool(self.usable_backends) and not self.isolation.memory_reading


def probe_machine() -> Readiness:
    requirements = {name: get_backend(name).requirements() for name in backend_names()}
    return Readiness(probe_features(), requirements)
