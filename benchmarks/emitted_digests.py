"""Digests of everything the composer emits: what a change of its inner structure must not change.

    python benchmarks/emitted_digests.py after.txt [starter basic] [--seeds 5] [--every 1]
    python benchmarks/emitted_digests.py after.txt --against before.txt --keep sources/

Every task is traced, and written for every backend with the default decisions and with some drawn
by seed. A line names one file of one candidate and its digest. With --against, the files that
differ from an earlier record are listed, and the exit status is 1.
"""

import argparse
import hashlib
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import ShapeEnv

from kernelmill.generators.base import Declined
from kernelmill.generators.composer.emitters import Emitter, get_emitter
from kernelmill.generators.composer.ir.graph import Graph
from kernelmill.generators.composer.plan import Plan
from kernelmill.generators.composer.tracing.trace import trace_task
from kernelmill.plugins import plugin_names
from kernelmill.records.decisions import Decisions
from kernelmill.records.task import Task, TensorSpec, Variant, tensor_specs
from kernelmill.tasks import load_suite
from kernelmill.tasks.loader import TaskFile, suite_names
from kernelmill.tasks.module import TaskModule
from kernelmill.tensors.torch_side import describe_value

BACKENDS = plugin_names("kernelmill.emitters")


class Emission(NamedTuple):
    """One file of one candidate."""

    name: str
    """`starter/gelu cpp default kernel.cpp`."""
    text: str

    @property
    def line(self) -> str:
        return f"{self.name} {hashlib.sha256(self.text.encode()).hexdigest()[:16]}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("record", type=Path)
    parser.add_argument("suites", nargs="*", default=list(suite_names()))
    parser.add_argument("--backends", nargs="*", default=list(BACKENDS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--every", type=int, default=1, help="take every k-th task")
    parser.add_argument("--against", type=Path, help="an earlier record")
    parser.add_argument("--keep", type=Path, help="a folder for the sources themselves")
    arguments = parser.parse_args()
    torch.set_grad_enabled(False)
    files = [file for suite in arguments.suites for file in load_suite(suite)]
    with arguments.record.open("w") as record:
        for file in files[:: arguments.every]:
            for emission in _emissions(file, arguments.backends, arguments.seeds):
                record.write(f"{emission.line}\n")
                if arguments.keep:
                    _keep(emission, arguments.keep)
            record.flush()
    return _compare(arguments.against, arguments.record) if arguments.against else 0


def _emissions(file: TaskFile, backends: list[str], seeds: int) -> Iterator[Emission]:
    try:
        task = _task(file, TaskModule(file.source, "cpu"))
        graph = trace_task(task.source, task.scale)
    except Exception as error:  # as the sandboxed tracer reports it
        yield Emission(f"{file.id} trace - -", f"{type(error).__name__}")
        return
    for backend in backends:
        emitter = get_emitter(backend)
        assert emitter is not None
        for seed in range(seeds + 1):
            where = f"{file.id} {backend} {seed or 'default'}"
            for name, text in _files(emitter, graph, task, seed).items():
                if not name.endswith(".hpp"):  # copied, not written
                    yield Emission(f"{where} {name}", text)


def _files(emitter: Emitter, graph: Graph, task: Task, seed: int) -> dict[str, str]:
    rng = random.Random(f"{task.id} {seed}")
    drawn: Decisions = {
        name: rng.choice(decision.choices) for name, decision in emitter.catalogue.items() if seed
    }
    try:
        return emitter.program(graph, Plan(drawn, emitter.catalogue)).files(task)
    except Declined as declined:
        return {"declined": str(declined)}
    except Exception as error:  # a record of all others is worth more than a traceback
        return {"failed": type(error).__name__}


def _task(file: TaskFile, module: TaskModule) -> Task:
    """As much of its description as emitters read."""
    with FakeTensorMode(shape_env=ShapeEnv(), allow_non_fake_inputs=True):
        model, inputs = module.model(1), module.inputs(1)
    state: dict[str, TensorSpec] = {
        name: tensor_specs([tensor])[0] for name, tensor in model.state_dict().items()
    }
    shown = Variant({}, describe_value(inputs, []), (), False)
    buffers = tuple(name for name, _ in model.named_buffers())
    return Task(
        file.id, "", "", module.source, "cpu", (shown,), (), (), state, (), 0, buffers=buffers
    )


def _keep(emission: Emission, folder: Path) -> None:
    path = folder / emission.name.replace(" ", "/")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(emission.text)


def _compare(before: Path, after: Path) -> int:
    old, new = (dict(_split(line) for line in path.open()) for path in (before, after))
    changed = [name for name, digest in new.items() if old.get(name) != digest]
    for name in changed:
        print(f"{'differs' if name in old else 'is new'}: {name}")
    print(f"{len(new) - len(changed)} of {len(new)} files are the same")
    return 1 if changed else 0


def _split(line: str) -> tuple[str, str]:
    name, _, digest = line.strip().rpartition(" ")
    return name, digest


if __name__ == "__main__":
    sys.exit(main())
