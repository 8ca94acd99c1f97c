"""Writers of baseline kernels, for tool chains that cannot compile the PyTorch reference."""

from collections.abc import Callable
from importlib.metadata import entry_points

from kernelmill.backends.modelled import BaselineMissing
from kernelmill.records.task import Task

_GROUP = "kernelmill.baselines"

BaselineWriter = Callable[[Task], dict[str, str]]
"""Returns the files of a plain candidate for a task. Raises BaselineMissing if it cannot."""


def write_baseline(backend: str, task: Task) -> dict[str, str]:
    """The files of a plain candidate, from the backend's entry point `kernelmill.baselines`.

    Raises BaselineMissing.
    """
    for entry in entry_points(group=_GROUP, name=backend):
        writer: BaselineWriter = entry.load()
        return writer(task)
    raise BaselineMissing(f"no plug-in writes baseline kernels for backend {backend}")
