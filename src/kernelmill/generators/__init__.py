"""Writers of candidates: the built-in ones, and whatever is plugged in."""

from kernelmill.generators.base import Generator
from kernelmill.generators.model.settings import ModelSettings
from kernelmill.plugins import construct, plugin_names

_GROUP = "kernelmill.generators"


def generator_names() -> tuple[str, ...]:
    return plugin_names(_GROUP)


def get_generator(spec: str, models: ModelSettings | None = None) -> Generator:
    """The generator behind an entry point; in `name:argument` its constructor gets the argument."""
    generator: Generator = construct(_GROUP, "generator", spec)
    if models is not None:
        generator.use(models)
    return generator
