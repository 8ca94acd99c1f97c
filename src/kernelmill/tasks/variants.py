"""Hidden variants of a task: sizes that its file declares, or that it turns out to accept.

Used inside sandboxes only.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch

from kernelmill.records.task import Constants, Variant
from kernelmill.tasks.module import TaskModule

_FRACTIONS = (0.37, 0.71)
_MOST_FOUND = 2
_MOST_SINGLE_ROW = 1


class HiddenSizes(NamedTuple):
    """Sizes of hidden variants, in the order in which they are tried."""

    declared: list[Constants]
    """The task must accept these."""
    tried: list[Constants]
    most: int
    """How many of those tried are taken."""


class HiddenVariant(NamedTuple):
    number: int
    """Among all sizes, the declared ones first."""
    variant: Variant


def hidden_sizes(module: TaskModule) -> HiddenSizes:
    declared = module.declared_hidden
    if declared is None:
        return HiddenSizes([], _smaller(module.free_constants()), _MOST_FOUND)
    return HiddenSizes(declared, _single_row(declared), _MOST_SINGLE_ROW)


def accepted_variants(
    sizes: HiddenSizes, run: Callable[[Constants], Variant]
) -> list[HiddenVariant]:
    """What `run` returns for sizes that it accepts. Raises what it raises for declared ones."""
    count = len(sizes.declared)
    found = [HiddenVariant(n, run(constants)) for n, constants in enumerate(sizes.declared)]
    for number, constants in enumerate(sizes.tried, count):
        if len(found) == count + sizes.most:
            break
        try:
            found.append(HiddenVariant(number, run(constants)))
        except torch.OutOfMemoryError:  # says nothing about the sizes
            raise
        except Exception:  # the task's own code may raise anything on sizes it does not allow
            continue
    return found


def _single_row(declared: list[Constants]) -> list[Constants]:
    """Sizes of which the first is 1, where the file declares none like it."""
    names = [name for constants in declared for name in constants]
    if not names or any(1 in constants.values() for constants in declared):
        return []
    return [{names[0]: 1}]


def _smaller(free: dict[str, int]) -> list[Constants]:
    """Smaller, odd sizes: all constants together first, then one at a time."""
    scaled: list[Constants] = [
        {name: max(1, int(value * fraction)) | 1 for name, value in free.items()}
        for fraction in _FRACTIONS
    ]
    single: list[Constants] = [{name: sizes[name]} for sizes in scaled for name in sizes]
    return [*scaled, *single] if free else []
