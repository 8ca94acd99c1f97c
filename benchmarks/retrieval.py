"""Quality of retrieval: is what should be found among the first five?

    python benchmarks/retrieval.py [--suites basic fused] [--tasks 60]

Two questions, for every embedder that is installed:

- kernel: a trace of each task is in the memory. Of the five nearest to a task, other than its own,
  is one of its family?
- fix: for each message that a backend's guide names, a failure is in the memory, beside all traces.
  The same message, with other numbers and on another task, asks for it.

Tasks are described in a sandbox; nothing is judged.
"""

import argparse
import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from kernelmill.backends import get_backend
from kernelmill.campaign.preflight import describe_tasks, find_tasks
from kernelmill.judge import Judge
from kernelmill.memory.embedding import EMBEDDERS, Embedder
from kernelmill.memory.embedding_text import task_text
from kernelmill.memory.failure_evidence import normalised
from kernelmill.records.errors import UsageError
from kernelmill.records.task import Task
from learning import sample

FIRST = 5
BACKENDS = ("cpp", "triton", "cuda", "pallas", "pypto", "triton_ascend", "rvv")
MESSAGE = re.compile(r'"([^"\n]{15,})"')


class Quality(NamedTuple):
    kernel: float
    fix: float


def messages() -> list[str]:
    """Error messages that the guides name."""
    texts = [text for name in BACKENDS for text in get_backend(name).guide().values()]
    return list(dict.fromkeys(MESSAGE.findall("\n".join(texts))))


def described(suites: Sequence[str], count: int) -> list[Task]:
    with Judge(get_backend("cpp")) as judge:
        found: list[Task] = []
        for suite in suites:
            files = find_tasks(sample(suite, count, 0))
            found += [one.task for one in describe_tasks(judge, files, "cpu") if one.task]
    return found


def quality(embedder: Embedder, tasks: list[Task], errors: list[str]) -> Quality:
    traces = embedder.embed([task_text(task) for task in tasks])
    failures = embedder.embed(
        [f"{task_text(tasks[n % len(tasks)])} failure build {normalised(text)}"
         for n, text in enumerate(errors)]
    )  # fmt: skip
    memory = np.concatenate([traces, failures])
    kernels = []
    for number, task in enumerate(tasks):
        (query,) = embedder.embed([f"{task_text(task)} draft"])
        nearest = np.argsort(-(traces @ query), kind="stable")
        others = [one for one in nearest if one != number][:FIRST]
        kernels.append(any(tasks[one].family == task.family for one in others))
    fixes = []
    for number, text in enumerate(errors):
        task = tasks[(number + len(tasks) // 2) % len(tasks)]
        met = f"in /tmp/x{number}/model.py: {text} at 0x7f{number:04x}, {number + 3} times"
        (query,) = embedder.embed([f"{task_text(task)} draft build {normalised(met)}"])
        nearest = np.argsort(-(memory @ query), kind="stable")[:FIRST]
        fixes.append(len(tasks) + number in nearest)
    return Quality(float(np.mean(kernels)), float(np.mean(fixes)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--suites", nargs="+", default=["basic", "fused"])
    parser.add_argument("--tasks", type=int, default=60, help="tasks of each suite")
    arguments = parser.parse_args()
    tasks, errors = described(arguments.suites, arguments.tasks), messages()
    print(f"{len(tasks)} tasks, {len(errors)} messages; found among the first {FIRST}:")
    for name, made in EMBEDDERS.items():
        try:
            found = quality(made(), tasks, errors)
        except UsageError as error:
            print(f"{name}: {error}")
            continue
        print(f"{name}: a kernel of the family {found.kernel:.0%}, the fix {found.fix:.0%}")


if __name__ == "__main__":
    main()
