"""The auditor that asks a model to look for dishonest code that no static rule finds."""

from kernelmill.generators.auditing import Auditor
from kernelmill.generators.base import Declined, Generator, Unaffordable
from kernelmill.generators.model.bandit import choose_model
from kernelmill.generators.model.conversation import Conversation
from kernelmill.generators.model.generator import ModelGenerator
from kernelmill.generators.model.model_client import ModelClient
from kernelmill.generators.model.prompting import audit_prompt
from kernelmill.generators.model.structured import parse_opinion
from kernelmill.records.candidate import Candidate
from kernelmill.records.model_settings import ModelRole
from kernelmill.records.proposal import Audit, Proposal


class ModelAuditor(Auditor):
    """Objects to nothing where no usable answer comes: the calls of the audit record why."""

    def __init__(self, client: ModelClient) -> None:
        self._client = client

    def audit(self, proposal: Proposal, candidate: Candidate) -> Audit:
        settings = self._client.settings
        prompt = audit_prompt(proposal.task, proposal.backend, candidate)
        if prompt.tokens > settings.prompt_tokens:
            return Audit(
                f"it is too long to be audited: the prompt takes {prompt.tokens} tokens, and "
                f"prompt_tokens allows {settings.prompt_tokens}"
            )
        seed = f"audit/{proposal.task.id}/{proposal.seed}"
        model = choose_model(settings.for_role(ModelRole.AUDITOR), (), seed)
        conversation = Conversation(self._client, proposal)
        try:
            opinion = conversation.ask(ModelRole.AUDITOR, model, prompt, parse_opinion)
        except Unaffordable:
            raise
        except Declined:
            return Audit("", conversation.calls)
        return Audit("" if opinion.valid else opinion.reason, conversation.calls)


def auditor_of(generator: Generator) -> Auditor | None:
    """The auditor that a generator's model settings ask for.

    It shares the generator's model client, and so its rate limits and its cost budget.
    """
    if not isinstance(generator, ModelGenerator) or not generator.client.settings.audit:
        return None
    return ModelAuditor(generator.client)
