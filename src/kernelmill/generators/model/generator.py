"""The generator `model`: asks for a candidate, or for a plan or a diagnosis first."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple, TypeVar

from kernelmill.backends import get_backend
from kernelmill.generators.base import Declined, Generator
from kernelmill.generators.model.answers import ParsedCandidate, find_remark, parse_candidate
from kernelmill.generators.model.bandit import choose_model
from kernelmill.generators.model.conversation import Conversation
from kernelmill.generators.model.credit import find_credit
from kernelmill.generators.model.model_client import ModelClient
from kernelmill.generators.model.prompting import Prompt, opening_role, prompt_for
from kernelmill.generators.model.protocol import ModelAnswer
from kernelmill.generators.model.structured import parse_diagnosis, parse_plan
from kernelmill.records.candidate import Candidate
from kernelmill.records.cost_budget import CostBudget
from kernelmill.records.decisions import APPROACH
from kernelmill.records.errors import GeneratorUnavailable
from kernelmill.records.guidance import Diagnosis, Plan
from kernelmill.records.model_settings import Model, ModelRole, ModelSettings
from kernelmill.records.proposal import Draft, Proposal

_T = TypeVar("_T")


class ModelGenerator(Generator):
    """Asks the models of a campaign, each in the roles that the user gave it."""

    name = "model"
    declines_for_good = False

    def __init__(self) -> None:
        self._client: ModelClient | None = None

    @property
    def at_once(self) -> int:
        return self.client.settings.at_once

    @property
    def client(self) -> ModelClient:
        if self._client is None:
            raise GeneratorUnavailable("generator model needs a model: name one with --model")
        return self._client

    def use(self, models: ModelSettings) -> None:
        self._client = ModelClient(models)

    def fund(self, budget: CostBudget) -> None:
        self.client.fund(budget)

    def check(self, backend: str) -> None:
        models = {(model.endpoint, model.name): model for model in self.client.settings.models}
        for model in models.values():
            self.client.probe(model)

    def write(self, proposal: Proposal) -> Draft:
        return _DraftWriter(self.client, proposal).draft()


class _Written(NamedTuple):
    parsed: ParsedCandidate
    answer: str
    """The text that the candidate was read from."""

    @property
    def candidate(self) -> Candidate:
        return self.parsed.candidate


class _DraftWriter:
    """Asks one or two roles for the draft of one proposal."""

    def __init__(self, client: ModelClient, proposal: Proposal) -> None:
        self._client = client
        self._proposal = proposal
        self._conversation = Conversation(client, proposal)

    def draft(self) -> Draft:
        match opening_role(self._proposal):
            case ModelRole.PLANNER:
                return self._write(ModelRole.OPTIMIZER, plan=self._plan())
            case ModelRole.DIAGNOSER:
                return self._write(ModelRole.REPAIRER, diagnosis=self._diagnose())
            case writer:
                return self._write(writer)

    def _plan(self) -> Plan:
        assert self._proposal.guidance is not None
        parse = partial(parse_plan, guidance=self._proposal.guidance)
        return self._ask(ModelRole.PLANNER, self._prompt(ModelRole.PLANNER), parse)

    def _diagnose(self) -> Diagnosis:
        assert self._proposal.parent is not None
        parse = partial(parse_diagnosis, verdict=self._proposal.parent.verdict)
        return self._ask(ModelRole.DIAGNOSER, self._prompt(ModelRole.DIAGNOSER), parse)

    def _write(
        self, role: ModelRole, plan: Plan | None = None, diagnosis: Diagnosis | None = None
    ) -> Draft:
        parent = self._proposal.parent
        before = {} if parent is None else parent.candidate.files
        prompt = self._prompt(role, plan, diagnosis)
        task, entry = self._proposal.task.id, get_backend(self._proposal.backend).entry

        templates = self._proposal.combinations > 0

        def parse(answer: ModelAnswer) -> _Written:
            return _Written(parse_candidate(answer, before, task, entry, templates), answer.text)

        written = self._ask(role, prompt, parse)
        approach = find_remark(written.answer, "approach")
        return Draft(
            written.candidate,
            {APPROACH: approach} if approach else {},
            plan.expects if plan is not None else find_remark(written.answer, "expect"),
            plan,
            diagnosis,
            self._conversation.calls,
            find_credit(
                find_remark(written.answer, "used"),
                prompt.items,
                self._proposal.context,
                before,
                written.candidate.files,
                prompt.without_items,
            ),
            written.parsed.space,
        )

    def _ask(self, role: ModelRole, prompt: Prompt, parse: Callable[[ModelAnswer], _T]) -> _T:
        return self._conversation.ask(role, self._model(role), prompt, parse)

    def _prompt(
        self, role: ModelRole, plan: Plan | None = None, diagnosis: Diagnosis | None = None
    ) -> Prompt:
        most_tokens = self._client.settings.prompt_tokens
        try:
            return prompt_for(role, self._proposal, most_tokens, plan, diagnosis)
        except Declined as declined:
            raise Declined(str(declined), self._conversation.calls) from declined

    def _model(self, role: ModelRole) -> Model:
        """The model for a role; among the same models, the same one for the whole attempt."""
        settings, proposal = self._client.settings, self._proposal
        models = settings.for_role(role)
        if proposal.writer is not None:
            return models[proposal.writer % len(models)]
        seed = f"{proposal.task.id}/{proposal.seed}"
        return choose_model(models, proposal.model_scores, seed, settings.price_weight)
