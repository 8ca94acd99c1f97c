"""The whole way of a model without a model: a script answers."""

from pathlib import Path

from kernelmill.generators.model.generator import ModelGenerator
from kernelmill.generators.model.settings import Model, ModelSettings, Price


class ScriptGenerator(ModelGenerator):
    """`script:FILE` asks a script, where the generator `model` would ask an endpoint."""

    name = "script"

    def __init__(self, file: str) -> None:
        super().__init__()
        path = Path(file).absolute()
        model = Model(path.stem, "script", str(path), price=Price(0.0, 0.0, "a script is free"))
        super().use(ModelSettings((model,), cached=False))
