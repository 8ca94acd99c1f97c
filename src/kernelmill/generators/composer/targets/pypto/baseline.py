"""The baseline for PyPTO: a kernel for every operator."""

from collections.abc import Iterator

from kernelmill.backends.modelled import OperatorsLacking
from kernelmill.generators.composer.baselines import missing_where_declined, traced
from kernelmill.generators.composer.plan import Plan
from kernelmill.generators.composer.targets.pypto.decisions import CATALOGUE
from kernelmill.generators.composer.targets.pypto.program import PyptoProgram, lacking_operators
from kernelmill.records.task import Task


def write_plain(task: Task) -> Iterator[dict[str, str]]:
    """A kernel in PyPTO for every operator, with the default tiles, then with ever smaller ones."""
    with missing_where_declined():
        graph = traced(task)
    if lacking := lacking_operators(graph):
        raise OperatorsLacking(lacking)
    for tile in CATALOGUE["tile"].choices:
        with missing_where_declined():
            yield PyptoProgram(graph, Plan({"tile": tile}, CATALOGUE)).files(task)
