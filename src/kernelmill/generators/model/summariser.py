"""The summariser that asks a model what a verdict teaches."""

from kernelmill.generators.base import Declined, Generator
from kernelmill.generators.model.bandit import choose_model
from kernelmill.generators.model.conversation import Conversation
from kernelmill.generators.model.generator import ModelGenerator
from kernelmill.generators.model.model_client import ModelClient
from kernelmill.generators.model.prompting import summary_prompt
from kernelmill.generators.model.structured import parse_lesson
from kernelmill.generators.summarising import Summariser
from kernelmill.records.errors import GeneratorUnavailable
from kernelmill.records.model_settings import ModelRole
from kernelmill.records.proposal import Draft, Proposal, Summary
from kernelmill.records.verdict import Verdict


class ModelSummariser(Summariser):
    def __init__(self, client: ModelClient) -> None:
        self._client = client

    def summarise(self, proposal: Proposal, draft: Draft, verdict: Verdict) -> Summary:
        settings = self._client.settings
        prompt = summary_prompt(proposal, draft, verdict)
        if prompt.tokens > settings.prompt_tokens:
            return Summary()
        seed = f"summary/{proposal.task.id}/{proposal.seed}"
        model = choose_model(settings.for_role(ModelRole.SUMMARISER), (), seed)
        conversation = Conversation(self._client, proposal)
        try:
            lesson = conversation.ask(ModelRole.SUMMARISER, model, prompt, parse_lesson)
        except (Declined, GeneratorUnavailable):
            return Summary(calls=conversation.calls)
        return Summary(lesson.lesson, conversation.calls)


def summariser_of(generator: Generator) -> Summariser | None:
    """The summariser of a generator that has a model named for this role; others have none."""
    if not isinstance(generator, ModelGenerator):
        return None
    models = generator.client.settings.models
    is_named = any(ModelRole.SUMMARISER in model.roles for model in models)
    return ModelSummariser(generator.client) if is_named else None
