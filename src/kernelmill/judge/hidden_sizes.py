"""Sizes of a task's hidden variants, drawn in secret once per process.

The sizes in the task's file are only upper bounds. All harnesses of a task use the same secret
sizes, and so do the compilers that run ahead of them.
"""

import random
import secrets

import msgspec

from kernelmill.records.task import Task, Variant

_TRIES = 3
_secret = secrets.token_hex(16)
_rejected: dict[tuple[str, int], int] = {}
"""Number of draws rejected, by the digest of a task and the number of a variant."""


def secret_variant(task: Task, number: int) -> Variant:
    """A hidden variant with secret sizes, or with the file's own where no others are accepted."""
    variant = task.hidden[number]
    rejected = _rejected.get((task.digest, number), 0)
    if rejected >= _TRIES:
        return variant
    rng = random.Random(f"{_secret} {task.digest} {number} {rejected}")
    sizes = {
        name: rng.randint(-(-value // 2), value) if value > 1 else value
        for name, value in variant.constants.items()
        if isinstance(value, int)
    }
    return msgspec.structs.replace(variant, constants={**variant.constants, **sizes})


def reject_sizes(task: Task, number: int) -> bool:
    """Draw other sizes from now on, since the task does not accept these.

    Returns whether there are others to try.
    """
    rejected = _rejected.get((task.digest, number), 0) + 1
    _rejected[task.digest, number] = rejected
    return rejected <= _TRIES


def with_secret_sizes(task: Task) -> Task:
    hidden = (secret_variant(task, number) for number in range(len(task.hidden)))
    return msgspec.structs.replace(task, variants=(task.shown, *hidden))
