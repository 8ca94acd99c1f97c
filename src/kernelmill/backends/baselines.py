"""Who writes what candidates are compared with, where a tool chain cannot read the reference."""

from collections.abc import Callable
from importlib.metadata import entry_points

from kernelmill.backends.modelled import BaselineMissing
from kernelmill.tasks.task import Task

_GROUP = "kernelmill.baselines"

BaselineWriter = Callable[[Task], dict[str, str]]
"""The files of a candidate that computes a task in the plainest way. Raises BaselineMissing."""


def write_baseline(backend: str, task: Task) -> dict[str, str]:
    """By the writer behind the entry point of the backend's name."""
    for entry in entry_points(group=_GROUP, name=backend):
        writer: BaselineWriter = entry.load()
        return writer(task)
    raise BaselineMissing(f"nobody writes plain kernels for backend {backend}")
