"""The sizes of a task's hidden variants: drawn in secret, once for as long as this process lives.

Those in the task's file are only where to start from. All benches of a task use the same ones, and
so does whoever compiles ahead of them.
"""

import random
import secrets

import msgspec

from kernelmill.tasks.task import Task, Variant

_TRIES = 3
_secret = secrets.token_hex(16)
_refused: dict[tuple[str, int], int] = {}
"""How many of the sizes drawn for a variant its module does not allow."""


def drawn(task: Task, number: int) -> Variant:
    """One hidden variant with its secret sizes; the file's own where no others are allowed."""
    variant = task.hidden[number]
    refused = _refused.get((task.digest, number), 0)
    if refused >= _TRIES:
        return variant
    chance = random.Random(f"{_secret} {task.digest} {number} {refused}")
    sizes = {
        name: chance.randint(-(-value // 2), value) if value > 1 else value
        for name, value in variant.constants.items()
        if isinstance(value, int)
    }
    return msgspec.structs.replace(variant, constants={**variant.constants, **sizes})


def draw_again(task: Task, number: int) -> bool:
    """The module does not allow these; returns whether there are others to try."""
    refused = _refused.get((task.digest, number), 0) + 1
    _refused[task.digest, number] = refused
    return refused <= _TRIES


def with_drawn_sizes(task: Task) -> Task:
    hidden = (drawn(task, number) for number in range(len(task.hidden)))
    return msgspec.structs.replace(task, variants=(task.shown, *hidden))
