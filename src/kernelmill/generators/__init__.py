"""Generators of candidates, the built-in ones and plug-ins alike."""

from kernelmill.generators.base import Generator
from kernelmill.generators.composer.emitters import get_emitter
from kernelmill.plugins import construct
from kernelmill.records.decisions import Catalogue
from kernelmill.records.model_settings import ModelSettings

_GROUP = "kernelmill.generators"


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
