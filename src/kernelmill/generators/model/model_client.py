"""The client for the models of a campaign: cache, cost budget, rate limits and retries."""

import threading
import time
from collections.abc import Callable
from typing import NamedTuple

from kernelmill.generators.model.answer_cache import AnswerCache
from kernelmill.generators.model.call_problems import CallProblem
from kernelmill.generators.model.endpoints import open_endpoint
from kernelmill.generators.model.keys import contains_key
from kernelmill.generators.model.protocol import (
    ChatMessage,
    EndpointClient,
    ModelAnswer,
    Question,
    RequestFailed,
)
from kernelmill.generators.model.rate_limiting import RateLimiter, retry_delay
from kernelmill.generators.model.streaming import receive_answer
from kernelmill.records.cost_budget import CostBudget, CostBudgetExceeded, PreflightCostBudget
from kernelmill.records.errors import GeneratorUnavailable
from kernelmill.records.model_calls import ModelCall, SaidText
from kernelmill.records.model_settings import Model, ModelRole, ModelSettings

_MESSAGE_TOKENS = 16
"""Tokens that an endpoint may add to each message by itself."""
_PROBE = ChatMessage("user", "Answer with the word ready.")


class Unanswered(Exception):
    """A question that got no answer from its endpoint, retries included."""

    def __init__(self, message: str, may_answer_later: bool) -> None:
        super().__init__(message)
        self.may_answer_later = may_answer_later
        """Whether the endpoint is down or busy; else it does not accept this question."""


class _Endpoint(NamedTuple):
    """The connection to one model."""

    client: EndpointClient
    limiter: RateLimiter


class ModelClient:
    """Asks the models of one campaign. May be used from several threads at once."""

    def __init__(
        self, settings: ModelSettings, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self.settings = settings
        self.budget: CostBudget = PreflightCostBudget()
        self._cache = AnswerCache() if settings.cached else None
        self._sleep = sleep
        self._endpoints: dict[Model, _Endpoint] = {}
        self._lock = threading.Lock()
        self._slots = threading.BoundedSemaphore(settings.at_once)
        self._failures = 0
        """Unanswered questions since the last answer."""

    def fund(self, budget: CostBudget) -> None:
        """Pay from this budget from now on, and charge it with what was asked before it came."""
        before, self.budget = self.budget, budget
        for cost in before.spent if isinstance(before, PreflightCostBudget) else ():
            budget.charge(cost)

    def ask(self, question: Question, calls: list[ModelCall]) -> ModelAnswer:
        """The answer, from the cache or the endpoint; every request is appended to the calls.

        Raises Unanswered, CostBudgetExceeded or GeneratorUnavailable.
        """
        if self._cache is not None and (cached := self._cache.load(question)) is not None:
            calls.append(_answered_call(question, cached, 0.0, 0.0, cached=True))
            return cached
        answer = self._request(question, calls)
        if self._cache is not None:
            self._cache.store(question, answer)
        return answer

    def probe(self, model: Model) -> None:
        """Ask one tiny question, to find a wrong key, name or setting before a campaign begins.

        Raises GeneratorUnavailable.
        """
        try:
            self._request(
                Question(model, ModelRole.GENERATOR, "", (_PROBE,), model.max_tokens, 0), []
            )
        except (Unanswered, CostBudgetExceeded) as error:
            raise GeneratorUnavailable(f"model {model.name}: {error}") from error

    def _request(self, question: Question, calls: list[ModelCall]) -> ModelAnswer:
        """Ask the endpoint until it answers, or may not be asked again."""
        patience, endpoint = self.settings.patience, self._endpoint(question.model)
        for tries in range(1, patience.tries + 1):
            try:
                answer = self._request_once(question, endpoint, calls)
            except RequestFailed as failure:
                delay = None
                if failure.retryable and tries < patience.tries:
                    delay = retry_delay(patience, tries, failure.retry_after)
                if delay is None:
                    self._count_failure(question.model, failure)
                    text = f"{failure} (asked {tries} times)"
                    raise Unanswered(text, failure.retryable) from failure
                if failure.retry_after is not None:
                    endpoint.limiter.suspend(delay)
                self._sleep(delay)
            else:
                self._failures = 0
                return answer
        raise AssertionError("the last try returns or raises")

    def _request_once(
        self, question: Question, endpoint: _Endpoint, calls: list[ModelCall]
    ) -> ModelAnswer:
        with self._slots:
            endpoint.limiter.acquire()
            bound = _cost_bound(question)
            reservation = self.budget.reserve(bound, question.role is ModelRole.AUDITOR)
            cost, begun = bound, time.monotonic()
            try:
                answer = receive_answer(endpoint.client, question, self.settings.patience)
                _demand_no_key(answer, question.model)
                cost = _cost(question, answer)
            except RequestFailed as failure:
                cost = bound if failure.charged else 0.0
                calls.append(_failed_call(question, failure, cost, time.monotonic() - begun))
                raise
            except GeneratorUnavailable:
                cost = 0.0
                raise
            finally:
                self.budget.commit(reservation, cost)
        calls.append(_answered_call(question, answer, cost, time.monotonic() - begun))
        return answer

    def _count_failure(self, model: Model, failure: RequestFailed) -> None:
        with self._lock:
            self._failures += 1
            if self._failures >= self.settings.patience.failures_in_a_row:
                raise GeneratorUnavailable(
                    f"{self._failures} questions in a row were not answered; the last, to "
                    f"{model.name}: {failure}"
                ) from failure

    def _endpoint(self, model: Model) -> _Endpoint:
        with self._lock:
            if model not in self._endpoints:
                client = open_endpoint(model, self.settings.patience)
                self._endpoints[model] = _Endpoint(client, RateLimiter(model, self._sleep))
            return self._endpoints[model]


def _demand_no_key(answer: ModelAnswer, model: Model) -> None:
    """An answer is stored as it is: one that holds the key must not be. Raises RequestFailed."""
    if contains_key(answer.text, model):
        raise RequestFailed(
            CallProblem.KEY_IN_ANSWER,
            f"{model.endpoint} sent the key in {model.key_variable} back; its answer is not used",
            retryable=False,
            charged=True,
        )


def _cost_bound(question: Question) -> float | None:
    """The most a question can cost: no token is shorter than a byte."""
    price = question.model.price
    if price is None:
        return None
    tokens_in = question.bytes + _MESSAGE_TOKENS * len(question.messages)
    return price.cost(tokens_in, question.max_tokens)


def _cost(question: Question, answer: ModelAnswer) -> float | None:
    """The upper bound where the endpoint does not report the tokens it used."""
    price, usage = question.model.price, answer.usage
    if price is None or usage is None:
        return _cost_bound(question)
    return price.cost(usage.tokens_in, usage.tokens_out)


def _answered_call(
    question: Question,
    answer: ModelAnswer,
    cost: float | None,
    seconds: float,
    cached: bool = False,
) -> ModelCall:
    usage = answer.usage
    return ModelCall(
        question.role,
        question.model.name,
        None if usage is None else usage.tokens_in,
        None if usage is None else usage.tokens_out,
        cost,
        seconds,
        cached=cached,
        said=(*_asked(question), SaidText("answer", answer.text)),
    )


def _failed_call(
    question: Question, failure: RequestFailed, cost: float | None, seconds: float
) -> ModelCall:
    tokens = None if failure.charged else 0
    return ModelCall(
        question.role,
        question.model.name,
        tokens,
        tokens,
        cost,
        seconds,
        str(failure),
        said=_asked(question),
    )


def _asked(question: Question) -> tuple[SaidText, ...]:
    return tuple(SaidText(message.speaker, message.text) for message in question.messages)
