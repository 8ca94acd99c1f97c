"""Writers of candidates: the built-in composer, and whatever is plugged in."""

from importlib.metadata import entry_points

from kernelmill.errors import UsageError
from kernelmill.generators.base import Generator

_GROUP = "kernelmill.generators"


def generator_names() -> tuple[str, ...]:
    return tuple(sorted(entry.name for entry in entry_points(group=_GROUP)))


def get_generator(name: str) -> Generator:
    """The generator behind an entry point, the built-in ones included."""
    for entry in entry_points(group=_GROUP, name=name):
        generator: Generator = entry.load()()
        return generator
    raise UsageError(f"no generator is called {name!r}; there are {', '.join(generator_names())}")
