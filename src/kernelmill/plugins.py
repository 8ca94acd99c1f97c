"""Finding what is plugged in: a class behind an entry point, and its one argument."""

import inspect
from importlib.metadata import entry_points
from typing import Any

from kernelmill.errors import UsageError


def plugin_names(group: str) -> tuple[str, ...]:
    return tuple(sorted(entry.name for entry in entry_points(group=group)))


def construct(group: str, what: str, spec: str) -> Any:
    """An instance of the class `name`; of `name:argument`, made with the argument."""
    name, colon, argument = spec.partition(":")
    for entry in entry_points(group=group, name=name):
        kind = entry.load()
        arguments = (argument,) if colon else ()
        try:
            inspect.signature(kind).bind(*arguments)
        except TypeError as error:
            need = "takes no argument" if arguments else f"needs an argument: {name}:..."
            raise UsageError(f"{what} {name} {need}") from error
        return kind(*arguments)
    raise UsageError(f"no {what} is called {name!r}; there are {', '.join(plugin_names(group))}")
