"""What the composer writes when nobody tells it anything: baselines for chips without a compiler
that reads the reference."""

from kernelmill.backends.modelled import BaselineMissing
from kernelmill.generators.base import Declined
from kernelmill.generators.composer.composer import EMITTERS, Composer
from kernelmill.generators.composer.decisions import Plan
from kernelmill.tasks.task import Task

_IEEE = {"precision": "ieee"}


def plain_triton(task: Task) -> dict[str, str]:
    """Kernels in Triton, by the usual choices. Raises BaselineMissing."""
    composer = Composer()
    emitter = EMITTERS["triton"]
    try:
        graph = composer.trace(task)
        return emitter.program(graph, Plan(_IEEE, emitter.catalogue)).files(task)
    except Declined as declined:
        raise BaselineMissing(str(declined)) from declined
    finally:
        composer.close()
