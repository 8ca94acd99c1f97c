"""Speed of a large memory: retrieval, updates by several writers, disk and RAM.

    python benchmarks/memory_scale.py [--sizes 1000 100000 1000000] [--writers 8]

The items are synthetic: sentences of the words that real ones use. A retrieval is timed as a whole:
embed the query, search, read items and values, choose. The first retrieval of a process builds the
index of all vectors; in every later process it loads the index that was saved.
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
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

from kernelmill.judge.evidence import processor_name
from kernelmill.memory import Item, ItemKind, Memory, NewItem, Provenance, ValueRole
from kernelmill.memory.learning import update_values
from kernelmill.memory.retrieval import Query, RetrievalSettings, Retriever
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
RETRIEVALS = 300
SECONDS = 5.0
"""Duration of the updates."""


def new_items(count: int) -> Iterator[NewItem]:
    rng = random.Random(7)
    return (_item(number, rng) for number in range(count))


def _item(number: int, rng: random.Random) -> NewItem:
    text = " ".join(rng.choices(WORDS, k=12))
    family, kind = rng.choice(FAMILIES), KINDS[number % len(KINDS)]
    provenance = Provenance(f"suite/{number % 997}", family, "cpp", "composer")
    first = {ValueRole.REFINE: rng.uniform(-1, 1)}
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


class Retrievals(NamedTuple):
    first: float
    """Seconds of the first retrieval, which builds or loads the index."""
    others: list[float]
    """Seconds of each of the others."""


def retrieve(folder: Path) -> Retrievals:
    rng, took = random.Random(1), []
    with Workspace(folder) as workspace:
        memory, retriever = Memory(workspace.database), Retriever(RetrievalSettings())
        for number in range(RETRIEVALS + 1):
            text = " ".join(rng.choices(WORDS, k=12))
            role = ValueRole.REFINE
            query = Query(text, "suite/x", "softmax", "cpp", role, "memory", "", (), 5, 0, anything)
            begun = time.perf_counter()
            hints = retriever.retrieve(memory, query, random.Random(number))
            took.append(time.perf_counter() - begun)
            assert len(hints) == RetrievalSettings().shown
    return Retrievals(took[0], took[1:])


def update(folder: Path, size: int, seed: int, done: "multiprocessing.Queue[int]") -> None:
    """Learn from attempts as fast as possible: five items each, in one transaction."""
    rng, count, end = random.Random(seed), 0, time.monotonic() + SECONDS
    with Workspace(folder) as workspace:
        while time.monotonic() < end:
            with workspace.writing() as transaction:
                memory = Memory(transaction)
                shown = [rng.randint(1, size) for _ in range(5)]
                reward = rng.uniform(-1, 1)
                update_values(memory, shown, ValueRole.REFINE, "softmax", reward, lambda _n: 0.3)
                memory.set_statistics("cpp", memory.statistics("cpp").with_reward(0.1))
            count += 1
    done.put(count)


class Updates(NamedTuple):
    per_second: float
    """Updates per second of all writers together."""
    lost: int


def write(folder: Path, size: int, writers: int) -> Updates:
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
    return Updates(total / SECONDS, total - seen)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 100_000, 1_000_000])
    parser.add_argument("--writers", type=int, default=8)
    arguments = parser.parse_args()
    table = Table(
        "items", "filled", "index built", "index loaded", "p50", "p99", "updates/s", "lost", "disk",
        "RAM",
        title=f"{arguments.writers} writers",
    )  # fmt: skip
    for size in arguments.sizes:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name) / "workspace"
            filled = fill(folder, size)
            built, loaded = retrieve(folder), retrieve(folder)
            others = built.others + loaded.others
            updates = write(folder, size, arguments.writers)
            disk = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
            table.add_row(
                f"{size:,}", f"{filled:.1f} s", f"{built.first:.2f} s", f"{loaded.first:.2f} s",
                f"{1e3 * np.percentile(others, 50):.1f} ms",
                f"{1e3 * np.percentile(others, 99):.1f} ms",
                f"{updates.per_second:.0f}", str(updates.lost), f"{disk >> 20} MiB",
                f"{memory >> 20} MiB",
            )  # fmt: skip
    console = Console(width=120)
    console.print(table)
    console.print(f"{processor_name()}")


if __name__ == "__main__":
    main()
