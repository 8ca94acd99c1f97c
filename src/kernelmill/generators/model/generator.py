"""The generator that asks models: one call writes, or a plan or a diagnosis comes first."""

from collections.abc import Callable
from functools import partial
from typing import TypeVar

from kernelmill.backends import get_backend
from kernelmill.candidate import Candidate
from kernelmill.errors import GeneratorUnavailable
from kernelmill.generators.base import Auditor, Declined, Draft, Generator, Proposal
from kernelmill.generators.model.answers import parse_candidate, remark
from kernelmill.generators.model.auditor import ModelAuditor
from kernelmill.generators.model.bandit import choose
from kernelmill.generators.model.desk import Desk
from kernelmill.generators.model.prompting import Prompt, opening_role, prompt_for
from kernelmill.generators.model.protocol import Answer
from kernelmill.generators.model.settings import Model, ModelSettings, Role
from kernelmill.generators.model.structured import parse_diagnosis, parse_plan
from kernelmill.generators.model.talking import Talk
from kernelmill.generators.money import Purse
from kernelmill.generators.planning import Diagnosis, Plan

APPROACH = "approach"
"""The decision under which a model says what it did, so that the memory can speak of it."""
_T = TypeVar("_T")


class ModelGenerator(Generator):
    """Asks the models of a campaign, each in the roles it was named for."""

    name = "model"
    draws = True

    def __init__(self) -> None:
        self._desk: Desk | None = None

    @property
    def at_once(self) -> int:
        return self.desk.settings.at_once

    @property
    def desk(self) -> Desk:
        if self._desk is None:
            raise GeneratorUnavailable("generator model needs a model: name one with --model")
        return self._desk

    @property
    def auditor(self) -> Auditor | None:
        return ModelAuditor(self.desk) if self.desk.settings.audit else None

    def use(self, models: ModelSettings) -> None:
        self._desk = Desk(models)

    def fund(self, purse: Purse) -> None:
        self.desk.fund(purse)

    def check(self, backend: str) -> None:
        models = {(model.endpoint, model.name): model for model in self.desk.settings.models}
        for model in models.values():
            self.desk.greet(model)

    def write(self, proposal: Proposal) -> Draft:
        return _Writing(self.desk, proposal).draft()


class _Writing:
    """One proposal on its way to a draft."""

    def __init__(self, desk: Desk, proposal: Proposal) -> None:
        self._desk = desk
        self._proposal = proposal
        self._talk = Talk(desk, proposal)

    def draft(self) -> Draft:
        match opening_role(self._proposal):
            case Role.PLANNER:
                return self._written(Role.OPTIMIZER, plan=self._planned())
            case Role.DIAGNOSER:
                return self._written(Role.REPAIRER, diagnosis=self._diagnosed())
            case writer:
                return self._written(writer)

    def _planned(self) -> Plan:
        assert self._proposal.guidance is not None
        check = partial(parse_plan, guidance=self._proposal.guidance)
        return self._asked(Role.PLANNER, self._prompt(Role.PLANNER), check)

    def _diagnosed(self) -> Diagnosis:
        assert self._proposal.parent is not None
        check = partial(parse_diagnosis, verdict=self._proposal.parent.verdict)
        return self._asked(Role.DIAGNOSER, self._prompt(Role.DIAGNOSER), check)

    def _written(
        self, role: Role, plan: Plan | None = None, diagnosis: Diagnosis | None = None
    ) -> Draft:
        parent = self._proposal.parent
        before = {} if parent is None else parent.candidate.files
        prompt = self._prompt(role, plan, diagnosis)
        task, entry = self._proposal.task.id, get_backend(self._proposal.backend).entry

        def check(answer: Answer) -> tuple[Candidate, str]:
            return parse_candidate(answer, before, task, entry), answer.text

        candidate, text = self._asked(role, prompt, check)
        approach = remark(text, "approach")
        return Draft(
            candidate,
            {APPROACH: approach} if approach else {},
            plan.expects if plan is not None else remark(text, "expect"),
            plan,
            diagnosis,
            self._talk.calls,
        )

    def _asked(self, role: Role, prompt: Prompt, check: Callable[[Answer], _T]) -> _T:
        return self._talk.ask(role, self._model(role), prompt, check)

    def _prompt(
        self, role: Role, plan: Plan | None = None, diagnosis: Diagnosis | None = None
    ) -> Prompt:
        most = self._desk.settings.prompt_tokens
        try:
            return prompt_for(role, self._proposal, most, plan, diagnosis)
        except Declined as declined:
            raise Declined(str(declined), self._talk.calls) from declined

    def _model(self, role: Role) -> Model:
        """One named for the role, or one of those that share it: the same for a whole attempt."""
        models = self._desk.settings.for_role(role)
        lot = f"{self._proposal.task.id}/{self._proposal.seed}"
        return choose(models, self._proposal.standings, lot)
