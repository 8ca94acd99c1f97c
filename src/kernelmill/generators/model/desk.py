"""Where questions are asked: one place for the cache, the money, the pace and the tries."""

import threading
import time
from collections.abc import Callable

import msgspec

from kernelmill.errors import GeneratorUnavailable
from kernelmill.generators.calls import Call
from kernelmill.generators.model import cache
from kernelmill.generators.model.clients import open_client
from kernelmill.generators.model.keys import hide_key
from kernelmill.generators.model.pacing import Pace, pause
from kernelmill.generators.model.protocol import Answer, Client, Failed, Message, Question
from kernelmill.generators.model.settings import Model, ModelSettings, Role
from kernelmill.generators.model.waiting import receive
from kernelmill.generators.money import EarlyPurse, NoMoney, Purse

_MESSAGE_TOKENS = 16
"""What an endpoint may add to each message by itself."""
_HELLO = Message("user", "Answer with the word ready.")


class Unanswered(Exception):
    """Nobody answered, however often it was asked."""


class _Line(msgspec.Struct):
    """The way to one model."""

    client: Client
    pace: Pace


class Desk:
    """Asks the models of one campaign. May be used from several threads at once."""

    def __init__(
        self, settings: ModelSettings, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self.settings = settings
        self.purse: Purse = EarlyPurse()
        self._sleep = sleep
        self._lines: dict[Model, _Line] = {}
        self._lock = threading.Lock()
        self._places = threading.BoundedSemaphore(settings.at_once)
        self._failures = 0

    def fund(self, purse: Purse) -> None:
        """From now on this purse pays, and for what was asked so far too."""
        before, self.purse = self.purse, purse
        for cost in before.spent if isinstance(before, EarlyPurse) else ():
            purse.book(cost)

    def ask(self, question: Question, calls: list[Call]) -> Answer:
        """The answer; every try is added to the calls.

        Raises Unanswered, NoMoney or GeneratorUnavailable.
        """
        if self.settings.cached and (known := cache.load(question)) is not None:
            calls.append(_call(question, known, 0.0, 0.0, cached=True))
            return known
        answer = self._try(question, calls)
        if self.settings.cached:
            cache.store(question, answer)
        return answer

    def greet(self, model: Model) -> None:
        """One tiny question, so that a wrong key, name or setting is found before all else."""
        try:
            self._try(Question(model, Role.GENERATOR, "", (_HELLO,), model.max_tokens, 0), [])
        except (Unanswered, NoMoney) as error:
            raise GeneratorUnavailable(f"model {model.name}: {error}") from error

    def _try(self, question: Question, calls: list[Call]) -> Answer:
        patience, line = self.settings.patience, self._line(question.model)
        for tries in range(1, patience.tries + 1):
            try:
                answer = self._once(question, line, calls)
            except Failed as failure:
                wait = pause(patience, tries, failure.wait) if failure.again else None
                if wait is None or tries == patience.tries:
                    self._count_failure(question.model, failure)
                    raise Unanswered(f"{failure} (asked {tries} times)") from failure
                if failure.wait is not None:
                    line.pace.rest(wait)
                self._sleep(wait)
            else:
                self._failures = 0
                return answer
        raise AssertionError("the last try returns or raises")

    def _once(self, question: Question, line: _Line, calls: list[Call]) -> Answer:
        model = question.model
        with self._places:
            line.pace.wait()
            hold = self.purse.hold(most := _most(question), question.role is Role.AUDITOR)
            cost, begun = most, time.monotonic()
            try:
                answer = receive(line.client, question, self.settings.patience)
                cost = _cost(question, answer)
            except Failed as failure:
                cost = most if failure.charged else 0.0
                calls.append(_failed_call(question, failure, cost, time.monotonic() - begun))
                raise
            except GeneratorUnavailable:
                cost = 0.0
                raise
            finally:
                self.purse.settle(hold, cost)
        answer = msgspec.structs.replace(answer, text=hide_key(answer.text, model))
        calls.append(_call(question, answer, cost, time.monotonic() - begun))
        return answer

    def _count_failure(self, model: Model, failure: Failed) -> None:
        with self._lock:
            self._failures += 1
            if self._failures >= self.settings.patience.failures_in_a_row:
                raise GeneratorUnavailable(
                    f"{self._failures} questions in a row were not answered; the last, to "
                    f"{model.name}: {failure}"
                ) from failure

    def _line(self, model: Model) -> _Line:
        with self._lock:
            if model not in self._lines:
                client = open_client(model, self.settings.patience)
                self._lines[model] = _Line(client, Pace(model, self._sleep))
            return self._lines[model]


def _most(question: Question) -> float | None:
    """The most a question can cost: no token is shorter than a byte."""
    price = question.model.price
    if price is None:
        return None
    tokens_in = question.bytes + _MESSAGE_TOKENS * len(question.messages)
    return price.cost(tokens_in, question.max_tokens)


def _cost(question: Question, answer: Answer) -> float | None:
    """Where the endpoint does not say how long it was, the most it can have been."""
    price, usage = question.model.price, answer.usage
    if price is None or usage is None:
        return _most(question)
    return price.cost(usage.tokens_in, usage.tokens_out)


def _call(
    question: Question, answer: Answer, cost: float | None, seconds: float, cached: bool = False
) -> Call:
    usage = answer.usage
    return Call(
        question.role,
        question.model.name,
        None if usage is None else usage.tokens_in,
        None if usage is None else usage.tokens_out,
        cost,
        seconds,
        cached=cached,
    )


def _failed_call(question: Question, failure: Failed, cost: float | None, seconds: float) -> Call:
    tokens = None if failure.charged else 0
    return Call(question.role, question.model.name, tokens, tokens, cost, seconds, str(failure))
