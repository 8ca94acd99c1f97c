"""A conversation with one model in one role: asked, checked, and once told what was wrong."""

from collections.abc import Callable
from typing import TypeVar

import msgspec

from kernelmill.generators.base import Declined, Proposal, Unaffordable
from kernelmill.generators.calls import Call
from kernelmill.generators.model.desk import Desk, Unanswered
from kernelmill.generators.model.problems import Malformed
from kernelmill.generators.model.prompting import Prompt, mending
from kernelmill.generators.model.protocol import Answer, Message, Question
from kernelmill.generators.model.settings import Model, Role
from kernelmill.generators.money import NoMoney

_MOST_REPEATED = 20_000
"""Characters of a bad answer that are shown to whoever gave it."""
_T = TypeVar("_T")


class Talk:
    """All that is asked for one attempt, and its ledger."""

    def __init__(self, desk: Desk, proposal: Proposal) -> None:
        self._desk = desk
        self._proposal = proposal
        self._ledger: list[Call] = []

    @property
    def calls(self) -> tuple[Call, ...]:
        return tuple(self._ledger)

    def ask(self, role: Role, model: Model, prompt: Prompt, check: Callable[[Answer], _T]) -> _T:
        """What `check` makes of the answer. Raises Declined after two that it could not use."""
        messages = prompt.messages
        answer = self._answer(role, model, messages)
        try:
            return check(answer)
        except Malformed as malformed:
            self._book(malformed)
            messages += (Message("assistant", _repeated(answer)), mending(malformed))
        answer = self._answer(role, model, messages)
        try:
            return check(answer)
        except Malformed as malformed:
            self._book(malformed)
            raise Declined(
                f"the {role}'s answers cannot be used: {malformed}", self.calls
            ) from None

    def _answer(self, role: Role, model: Model, messages: tuple[Message, ...]) -> Answer:
        about, seed = self._proposal.task.id, self._proposal.seed
        question = Question(model, role, about, messages, model.max_tokens, seed)
        try:
            return self._desk.ask(question, self._ledger)
        except Unanswered as error:
            raise Declined(f"the {role} does not answer: {error}", self.calls) from error
        except NoMoney as error:
            raise Unaffordable(str(error), self.calls) from error

    def _book(self, malformed: Malformed) -> None:
        self._ledger[-1] = msgspec.structs.replace(self._ledger[-1], problem=str(malformed))


def _repeated(answer: Answer) -> str:
    text = answer.text.strip()
    if not text:
        return "(nothing)"
    return text if len(text) <= _MOST_REPEATED else f"{text[:_MOST_REPEATED]}\n(and so on)"
