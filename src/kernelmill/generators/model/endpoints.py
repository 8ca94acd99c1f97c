"""Construction of endpoint clients by protocol. Their libraries are imported on first use."""

from pathlib import Path

from kernelmill.generators.model.keys import read_key
from kernelmill.generators.model.protocol import EndpointClient
from kernelmill.records.errors import GeneratorUnavailable
from kernelmill.records.model_settings import Model, Patience


def open_endpoint(model: Model, patience: Patience) -> EndpointClient:
    """Raises GeneratorUnavailable where a library, a key or a script is missing."""
    if model.protocol == "script":
        from kernelmill.generators.model.script import ScriptClient, read_script

        return ScriptClient(read_script(Path(model.endpoint)))
    if model.key_variable and not read_key(model):
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
            f"asking a model needs {error.name}: pip install -e '.[models]' in the checkout"
        ) from error
