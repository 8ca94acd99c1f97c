"""Writers of candidates: the built-in ones, and whatever is plugged in."""

import inspect
from importlib.metadata import entry_points

from kernelmill.errors import UsageError
from kernelmill.generators.base import Generator

_GROUP = "kernelmill.generators"


def generator_names() -> tuple[str, ...]:
    return tuple(sorted(entry.name for entry in entry_points(group=_GROUP)))


def get_generator(spec: str) -> Generator:
    """The generator behind an entry point; in `name:argument` its constructor gets the argument."""
    name, colon, argument = spec.partition(":")
    for entry in entry_points(group=_GROUP, name=name):
        arguments = (argument,) if colon else ()
        return _construct(name, entry.load(), arguments)
    raise UsageError(f"no generator is called {name!r}; there are {', '.join(generator_names())}")


def _construct(name: str, kind: type[Generator], arguments: tuple[str, ...]) -> Generator:
    try:
        inspect.signature(kind).bind(*arguments)
    except TypeError as error:
        need = "takes no argument" if arguments else f"needs an argument: {name}:..."
        raise UsageError(f"generator {name} {need}") from error
    return kind(*arguments)
