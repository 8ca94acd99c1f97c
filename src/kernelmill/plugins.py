"""Plug-ins: classes behind entry points, constructed from `name` or `name:argument`."""

import inspect
from importlib.metadata import entry_points
from typing import Any

from kernelmill.records.errors import UsageError


def plugin_names(group: str) -> tuple[str, ...]:
    return tuple(sorted(entry.name for entry in entry_points(group=group)))


def construct(group: str, what: str, spec: str) -> Any:
    """An instance of the plug-in that `spec` names; raises UsageError where there is none.

    `what` is what messages call a plug-in of this group.
    """
    name, colon, argument = spec.partition(":")
    for entry in entry_points(group=group, name=name):
        plugin = entry.load()
        arguments = (argument,) if colon else ()
        try:
            inspect.signature(plugin).bind(*arguments)
        except TypeError as error:
            need = "takes no argument" if arguments else f"needs an argument: {name}:..."
            raise UsageError(f"{what} {name} {need}") from error
        return plugin(*arguments)
    raise UsageError(f"no {what} is called {name!r}; there are {', '.join(plugin_names(group))}")
