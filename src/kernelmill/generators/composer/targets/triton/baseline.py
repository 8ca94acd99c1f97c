"""The baseline for Triton on chips whose compiler does not read the reference."""

from collections.abc import Iterator

from kernelmill.generators.composer.baselines import missing_where_declined, traced
from kernelmill.generators.composer.plan import Plan
from kernelmill.generators.composer.targets.triton.emitter import EMITTER
from kernelmill.records.decisions import Catalogue, Decision, Decisions
from kernelmill.records.task import Task

_ON_ASCEND: Decisions = {"precision": "ieee", "moments": "two-pass"}
"""What Triton-Ascend compiles: it has no reductions of several values at once."""
SHRINK = Decision((1, 2, 4, 8, 16, 32), "divide the sides of all tiles, for a chip with less room")
_SHRINKING: Catalogue = {**EMITTER.catalogue, "shrink": SHRINK}


def write_plain(task: Task) -> Iterator[dict[str, str]]:
    """Kernels in Triton, by the defaults; then with ever smaller tiles, then without fusion."""
    known = set()
    for fuse in (True, False):
        for shrink in SHRINK.choices:
            plan = Plan({**_ON_ASCEND, "fuse": fuse, "shrink": shrink}, _SHRINKING)
            with missing_where_declined():
                files = EMITTER.program(traced(task), plan).files(task)
            if files["model.py"] not in known:
                known.add(files["model.py"])
                yield files
