"""Does a large memory stay fast? Retrieval, updates by several writers, disk and RAM.

    python benchmarks/memory_scale.py [--sizes 1000 100000 1000000] [--writers 8]

The items are synthetic: sentences of the words real ones use. Retrieval is all of it: embed the
question, search, read items and values, choose.
"""

import argparse
import itertools
import multiprocessing
import random
import resource
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from kernelmill.judge.evidence import processor_name
from kernelmill.memory import Item, ItemKind, Memory, NewItem, Provenance, Role
from kernelmill.memory.learning import move
from kernelmill.memory.retrieval import Query, Retriever, Settings
from kernelmill.workspace import Workspace

WORDS = (
    "softmax matmul convolution pooling norm relu gelu bias residual stride dilation transpose "
    "scan cumsum reduction mean variance tile unroll vector lanes accumulate parallel outer inner "
    "fuse epilogue cache block panel packed direct split rows columns batch depth "
    "float32 64 128 256 512"
).split()
FAMILIES = ("softmax", "matmul", "convolution", "normalisation", "reduction")
KINDS = (ItemKind.TRACE, ItemKind.EXPERIENCE, ItemKind.PRACTICE)
BATCH = 5_000
QUESTIONS = 300
SECONDS = 5.0


def new_items(count: int) -> Iterator[NewItem]:
    dice = random.Random(7)
    return (_item(number, dice) for number in range(count))


def _item(number: int, dice: random.Random) -> NewItem:
    text = " ".join(dice.choices(WORDS, k=12))
    family, kind = dice.choice(FAMILIES), KINDS[number % len(KINDS)]
    provenance = Provenance(f"suite/{number % 997}", family, "cpp", "composer")
    first = {Role.REFINE: dice.uniform(-1, 1)}
    return NewItem(kind, text, text, provenance, (str(number),), {}, 0.5, "memory", values=first)


def fill(folder: Path, size: int) -> float:
    begun = time.perf_counter()
    with Workspace(folder, create=True) as workspace:
        items = new_items(size)
        while batch := list(itertools.islice(items, BATCH)):
            with workspace.writing() as transaction:
                Memory(transaction).add_all(batch)
    return time.perf_counter() - begun


def anything(_item: Item) -> bool:
    return True


def ask(folder: Path) -> tuple[float, list[float]]:
    """Seconds for the first question, which reads all vectors, and for each of the others."""
    dice, took = random.Random(1), []
    with Workspace(folder) as workspace:
        memory, retriever = Memory(workspace.database), Retriever(Settings())
        for number in range(QUESTIONS + 1):
            text = " ".join(dice.choices(WORDS, k=12))
            query = Query(
                text, "suite/x", "softmax", "cpp", Role.REFINE, "memory", "", (), 5, 0, anything
            )
            begun = time.perf_counter()
            hints = retriever.retrieve(memory, query, random.Random(number))
            took.append(time.perf_counter() - begun)
            assert len(hints) == Settings().shown
    return took[0], took[1:]


def update(folder: Path, size: int, seed: int, done: "multiprocessing.Queue[int]") -> None:
    """Learn from attempts as fast as possible: five items each, in one transaction."""
    dice, count, end = random.Random(seed), 0, time.monotonic() + SECONDS
    with Workspace(folder) as workspace:
        while time.monotonic() < end:
            with workspace.writing() as transaction:
                memory = Memory(transaction)
                shown = [dice.randint(1, size) for _ in range(5)]
                move(memory, shown, Role.REFINE, "softmax", dice.uniform(-1, 1), lambda _n: 0.3)
                memory.set_statistics("cpp", memory.statistics("cpp").with_reward(0.1))
            count += 1
    done.put(count)


def write(folder: Path, size: int, writers: int) -> tuple[float, int]:
    """Updates a second by all writers together, and how many of them were lost."""
    context = multiprocessing.get_context("spawn")
    done: multiprocessing.Queue[int] = context.Queue()
    processes = [
        context.Process(target=update, args=(folder, size, n, done)) for n in range(writers)
    ]
    for process in processes:
        process.start()
    total = sum(done.get() for _ in processes)
    for process in processes:
        process.join()
    with Workspace(folder) as workspace:
        seen = Memory(workspace.database).statistics("cpp").count
    return total / SECONDS, total - seen


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 100_000, 1_000_000])
    parser.add_argument("--writers", type=int, default=8)
    arguments = parser.parse_args()
    table = Table(
        "items", "filled", "first question", "p50", "p99", "updates/s", "lost", "disk", "RAM",
        title=f"{arguments.writers} writers",
    )  # fmt: skip
    for size in arguments.sizes:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name) / "workspace"
            filled = fill(folder, size)
            first, others = ask(folder)
            rate, lost = write(folder, size, arguments.writers)
            disk = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
            table.add_row(
                f"{size:,}", f"{filled:.1f} s", f"{first:.2f} s",
                f"{1e3 * np.percentile(others, 50):.1f} ms",
                f"{1e3 * np.percentile(others, 99):.1f} ms",
                f"{rate:.0f}", str(lost), f"{disk >> 20} MiB", f"{memory >> 20} MiB",
            )  # fmt: skip
    console = Console(width=120)
    console.print(table)
    console.print(f"{processor_name()}")


if __name__ == "__main__":
    main()
