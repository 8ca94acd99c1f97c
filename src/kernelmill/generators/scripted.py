"""The whole way of a model without a model: a script answers."""

from pathlib import Path

from kernelmill.generators.base import Generator
from kernelmill.generators.model.desk import Desk
from kernelmill.generators.model.generator import ModelGenerator
from kernelmill.generators.model.script import read_script
from kernelmill.generators.model.settings import Model, ModelSettings, Price, Role


class ScriptGenerator(ModelGenerator):
    """`script:FILE` asks a script where the generator `model` would ask an endpoint.

    Where the script has words for an auditor, there is one.
    """

    name = "script"

    def __init__(self, file: str) -> None:
        super().__init__()
        path = Path(file).absolute()
        audit = any(line.role is Role.AUDITOR for line in read_script(path).answer)
        model = Model(path.stem, "script", str(path), price=Price(0.0, 0.0, "a script is free"))
        self._desk = Desk(ModelSettings((model,), audit, cached=False))

    def use(self, models: ModelSettings) -> None:
        Generator.use(self, models)
