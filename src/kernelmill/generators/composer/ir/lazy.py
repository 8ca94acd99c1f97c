"""Attributes that are computed when they are first asked for."""

from collections.abc import Callable
from typing import Any, Generic, TypeVar

Computed = TypeVar("Computed")


class lazy(Generic[Computed]):  # noqa: N801 - a decorator, as `property` is
    """`functools.cached_property` without its lock, which costs more than most trees do.

    Two threads may compute the same value at once, and either is kept.
    """

    def __init__(self, compute: Callable[[Any], Computed]) -> None:
        self._compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, owner: type | None = None) -> Computed:
        value = self._compute(instance)
        instance.__dict__[self._name] = value
        return value
