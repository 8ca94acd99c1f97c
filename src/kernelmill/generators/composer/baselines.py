"""Baselines for chips without a compiler that reads the reference: what they have in common.

Each is a module of its target, behind the entry point `kernelmill.baselines`.
"""

import functools
from collections.abc import Iterator
from contextlib import contextmanager

from kernelmill.backends.modelled import BaselineMissing
from kernelmill.generators.base import Declined
from kernelmill.generators.composer.composer import Composer
from kernelmill.generators.composer.ir.graph import Graph
from kernelmill.records.task import Task


def traced(task: Task) -> Graph:
    """The graph of a task; raises Declined."""
    return _tracer().trace(task)


@contextmanager
def missing_where_declined() -> Iterator[None]:
    try:
        yield
    except Declined as declined:
        raise BaselineMissing(str(declined)) from declined


@functools.cache
def _tracer() -> Composer:
    """One for all tasks; its warm process ends with this one."""
    return Composer()
