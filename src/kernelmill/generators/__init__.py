"""Generators of candidates, the built-in ones and plug-ins alike."""

from kernelmill.generators.base import Generator
from kernelmill.generators.composer.emitters import get_emitter
from kernelmill.plugins import construct, plugin_names
from kernelmill.records.decisions import Catalogue
from kernelmill.records.model_settings import ModelSettings

_GROUP = "kernelmill.generators"


def generator_names() -> tuple[str, ...]:
    return plugin_names(_GROUP)


def get_generator(spec: str, models: ModelSettings | None = None) -> Generator:
    """The generator behind an entry point; for `name:argument`, made with the argument."""
    generator: Generator = construct(_GROUP, "generator", spec)
    if models is not None:
        generator.use(models)
    return generator


def decision_catalogue(backend: str) -> Catalogue:
    """The decisions that the composer takes for a backend; empty where it does not support it."""
    emitter = get_emitter(backend)
    return {} if emitter is None else emitter.catalogue
