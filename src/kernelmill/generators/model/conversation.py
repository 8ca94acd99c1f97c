"""The conversations with models for one attempt: ask, check the answer, correct it once."""

from collections.abc import Callable
from typing import TypeVar

import msgspec

from kernelmill.generators.base import Declined, NoAnswer, Unaffordable
from kernelmill.generators.model.call_problems import UnusableAnswer
from kernelmill.generators.model.model_client import ModelClient, Unanswered
from kernelmill.generators.model.prompting import Prompt, correction_message
from kernelmill.generators.model.protocol import ChatMessage, ModelAnswer, Question
from kernelmill.records.cost_budget import CostBudgetExceeded
from kernelmill.records.model_calls import ModelCall
from kernelmill.records.model_settings import Model, ModelRole
from kernelmill.records.proposal import Proposal

_MOST_REPEATED = 20_000
"""Characters of an unusable answer that are sent back with the correction."""
_T = TypeVar("_T")


class Conversation:
    """Asks models for one attempt, and records every call. For one thread."""

    def __init__(self, client: ModelClient, proposal: Proposal) -> None:
        self._client = client
        self._proposal = proposal
        self._calls: list[ModelCall] = []

    @property
    def calls(self) -> tuple[ModelCall, ...]:
        """The calls so far, in order."""
        return tuple(self._calls)

    def ask(
        self, role: ModelRole, model: Model, prompt: Prompt, parse: Callable[[ModelAnswer], _T]
    ) -> _T:
        """The answer as `parse` returns it; a second one, where that raised UnusableAnswer.

        Raises Declined where neither can be used, NoAnswer where there is none, and Unaffordable.
        """
        messages = prompt.messages
        answer = self._answer(role, model, messages)
        try:
            return parse(answer)
        except UnusableAnswer as unusable:
            self._record_problem(unusable)
            correction = correction_message(unusable)
            messages += (ChatMessage("assistant", _repeated(answer)), correction)
        answer = self._answer(role, model, messages)
        try:
            return parse(answer)
        except UnusableAnswer as unusable:
            self._record_problem(unusable)
            raise Declined(f"the {role}'s answers cannot be used: {unusable}", self.calls) from None

    def _answer(
        self, role: ModelRole, model: Model, messages: tuple[ChatMessage, ...]
    ) -> ModelAnswer:
        task, seed = self._proposal.task.id, self._proposal.seed
        question = Question(model, role, task, messages, model.max_tokens, seed)
        try:
            return self._client.ask(question, self._calls)
        except Unanswered as error:
            kind = NoAnswer if error.may_answer_later else Declined
            raise kind(f"the {role} does not answer: {error}", self.calls) from error
        except CostBudgetExceeded as error:
            raise Unaffordable(str(error), self.calls) from error

    def _record_problem(self, unusable: UnusableAnswer) -> None:
        """With the call that the unusable answer came from."""
        self._calls[-1] = msgspec.structs.replace(self._calls[-1], problem=str(unusable))


def _repeated(answer: ModelAnswer) -> str:
    text = answer.text.strip()
    if not text:
        return "(nothing)"
    return text if len(text) <= _MOST_REPEATED else f"{text[:_MOST_REPEATED]}\n(and so on)"
