"""The generator `script`: the generator `model`, with a script in place of an endpoint."""

from pathlib import Path

from kernelmill.generators.base import Generator
from kernelmill.generators.model.generator import ModelGenerator
from kernelmill.generators.model.model_client import ModelClient
from kernelmill.generators.model.script import read_script
from kernelmill.records.model_settings import Model, ModelRole, ModelSettings, Price


class ScriptGenerator(ModelGenerator):
    """`script:FILE` takes every answer from a script, so that a campaign runs without a model.

    It has an auditor where the script has answers for the role `auditor`.
    """

    name = "script"

    def __init__(self, file: str) -> None:
        super().__init__()
        path = Path(file).absolute()
        audit = any(answer.role is ModelRole.AUDITOR for answer in read_script(path).answer)
        model = Model(path.stem, "script", str(path), price=Price(0.0, 0.0, "a script is free"))
        self._client = ModelClient(ModelSettings((model,), audit, cached=False))

    def use(self, models: ModelSettings) -> None:
        Generator.use(self, models)
