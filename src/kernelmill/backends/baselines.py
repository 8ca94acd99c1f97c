"""Writers of baseline kernels, for tool chains that cannot compile the PyTorch reference."""

from collections.abc import Callable, Iterator
from importlib.metadata import entry_points

from kernelmill.backends.modelled import BaselineMissing
from kernelmill.records.task import Task

_GROUP = "kernelmill.baselines"

BaselineWriter = Callable[[Task], Iterator[dict[str, str]]]
"""Writes the files of plain candidates for a task, the preferred one first: one with smaller tiles
stands behind one that may not fit. Raises BaselineMissing if there is none."""


def write_baselines(backend: str, task: Task) -> Iterator[dict[str, str]]:
    """Files of plain candidates, from the backend's entry point `kernelmill.baselines`.

    Raises BaselineMissing.
    """
    for entry in entry_points(group=_GROUP, name=backend):
        writer: BaselineWriter = entry.load()
        return writer(task)
    raise BaselineMissing(f"no plug-in writes baseline kernels for backend {backend}")
