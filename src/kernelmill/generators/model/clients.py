"""A client for each protocol, made when it is first needed: their libraries are heavy."""

from pathlib import Path

from kernelmill.errors import GeneratorUnavailable
from kernelmill.generators.model.keys import key_of
from kernelmill.generators.model.protocol import Client
from kernelmill.generators.model.settings import Model, Patience


def open_client(model: Model, patience: Patience) -> Client:
    """Raises GeneratorUnavailable where a library, a key or a script is missing."""
    if model.protocol == "script":
        from kernelmill.generators.model.script import ScriptedClient, read_script

        return ScriptedClient(read_script(Path(model.endpoint)))
    if model.key_variable and not key_of(model):
        raise GeneratorUnavailable(
            f"model {model.name} needs a key: set {model.key_variable} in the environment"
        )
    try:
        if model.protocol == "anthropic":
            from kernelmill.generators.model.anthropic_client import AnthropicClient

            return AnthropicClient(model, patience)
        from kernelmill.generators.model.openai_client import OpenAIClient

        return OpenAIClient(model, patience)
    except ModuleNotFoundError as error:
        raise GeneratorUnavailable(
            f"asking a model needs {error.name}: pip install 'kernelmill[models]'"
        ) from error
