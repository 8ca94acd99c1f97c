"""The part that all HTTP endpoint clients share: connection limits and translation of errors."""

import email.utils
import functools
import ssl
import threading
import time
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any, cast

import httpx2

from kernelmill.generators.model.call_problems import CallProblem
from kernelmill.generators.model.keys import redact_key
from kernelmill.generators.model.protocol import (
    AnswerChunk,
    EndpointClient,
    Question,
    RequestFailed,
)
from kernelmill.generators.model.streaming import cancelled
from kernelmill.records.errors import GeneratorUnavailable
from kernelmill.records.model_settings import Model, Patience

NO_KEY = "none"
"""A placeholder: the providers' libraries insist on a key where the endpoint needs none."""
_MOST_BYTES = 64 << 20
"""The longest response that is read. An event with one token takes some hundred bytes."""
_MOST_ERROR_BYTES = 1 << 16
_MOST_ERROR_CHARACTERS = 300
_NO_CREDIT_CODES = {"insufficient_quota", "billing_error"}
_BUSY_CODES = {"rate_limit_exceeded", "rate_limit_error", "overloaded_error"}
"""Their messages may speak of billing, which would raise the limit."""
_NO_CREDIT_SIGNS = ("insufficient_quota", "credit balance", "billing")
_REJECTED = (400, 413, 422)
_BUSY = (409, 425, 429, 529)
_LATE = (408, 504)


class RequestRejected(RequestFailed):
    """The endpoint does not accept the request; its message says what of it."""

    def __init__(self, message: str) -> None:
        super().__init__(CallProblem.BAD_REQUEST, message, retryable=False)
        self.message = message


class HttpEndpointClient(EndpointClient):
    """Repeats a request without the optional fields that its endpoint rejects."""

    def __init__(self, model: Model, needed: frozenset[str]) -> None:
        """`needed` fields are never left out: the user set them, or the cost depends on them."""
        self._model = model
        self._needed = needed
        self._rejected: set[str] = set()

    def stream(self, question: Question) -> Iterator[AnswerChunk]:
        while True:
            fields = self._fields(question)
            accepted = {name: fields[name] for name in fields.keys() - self._rejected}
            try:
                yield from self._send(question, accepted)
            except RequestRejected as error:
                named = {name for name in accepted if name in error.message} - self._needed
                if not named:
                    raise
                self._rejected |= named
            else:
                return

    @abstractmethod
    def _fields(self, question: Question) -> dict[str, Any]:
        """The fields of a request beside the model and the messages."""

    @abstractmethod
    def _send(self, question: Question, fields: dict[str, Any]) -> Iterator[AnswerChunk]:
        """One request with these fields; raises RequestRejected where a field is not accepted."""


class _LimitedStream(httpx2.SyncByteStream):
    """The body of a response, cut off when it is too long or no longer wanted."""

    def __init__(
        self, body: httpx2.SyncByteStream, cancelled: threading.Event, is_error: bool
    ) -> None:
        self._body = body
        self._cancelled = cancelled
        self._is_error = is_error
        self._left = _MOST_ERROR_BYTES if is_error else _MOST_BYTES

    def __iter__(self) -> Iterator[bytes]:
        for chunk in self._body:
            self._left -= len(chunk)
            if self._left < 0 and self._is_error:
                return  # what was read is enough for a message
            if self._left < 0 or self._cancelled.is_set():
                raise httpx2.ReadError(f"the response is longer than {_MOST_BYTES >> 20} MiB")
            yield chunk

    def close(self) -> None:
        self._body.close()


def _limit_response(response: httpx2.Response) -> None:
    if response.headers.get("content-encoding", "identity") != "identity":
        raise httpx2.DecodingError("the response is compressed, though that was not asked for")
    body = cast(httpx2.SyncByteStream, response.stream)
    response.stream = _LimitedStream(body, cancelled.get(), response.is_error)


def open_http_client(patience: Patience) -> httpx2.Client:
    """Follows no redirect: a key goes to the endpoint it is for, and nowhere else.

    Keeps no connection open: the endpoint may close it just when it is used again.
    """
    longest_gap = max(patience.first_token_seconds, patience.between_tokens_seconds)
    return httpx2.Client(
        verify=_ssl_context(),
        limits=httpx2.Limits(max_keepalive_connections=0),
        timeout=httpx2.Timeout(longest_gap, connect=patience.connect_seconds, pool=None),
        event_hooks={"response": [_limit_response]},
        headers={"accept-encoding": "identity"},
    )


@functools.cache
def _ssl_context() -> ssl.SSLContext:
    """Made once: making it takes longer than a request."""
    return httpx2.create_ssl_context()


@contextmanager
def translate_errors(library: ModuleType, model: Model) -> Iterator[None]:
    """Turn what a provider's library raises into our exceptions, without the key."""
    try:
        yield
    except library.APIStatusError as error:
        raise _by_status(error, model) from None
    except (library.APITimeoutError, httpx2.TimeoutException) as error:
        message = f"{model.endpoint} did not answer in time"
        raise RequestFailed(CallProblem.TIME_OUT, message, charged=_was_sent(error)) from None
    except library.APIConnectionError as error:
        message = redact_key(str(error.__cause__ or error), model)
        raise RequestFailed(CallProblem.UNREACHABLE, f"{model.endpoint}: {message}") from None
    except httpx2.RequestError as error:
        message = redact_key(str(error), model)
        raise RequestFailed(CallProblem.BROKEN_OFF, message, charged=True) from None


def _was_sent(error: Exception) -> bool:
    """Whether the request may have arrived before its time was up."""
    causes = (error, error.__cause__, error.__context__)
    return not any(isinstance(one, httpx2.ConnectTimeout | httpx2.PoolTimeout) for one in causes)


def stream_error(message: str, model: Model) -> RequestFailed:
    """For an error that the endpoint reports in the middle of an answer."""
    return RequestFailed(CallProblem.SERVER_ERROR, _error_text(message, model), charged=True)


def _by_status(error: Any, model: Model) -> Exception:
    status = int(error.status_code)
    text = _error_text(str(error.message), model)
    if status in (401, 403):
        return GeneratorUnavailable(f"{model.endpoint} refuses {_key_words(model)}: {text}")
    if status == 404:
        return GeneratorUnavailable(f"{model.endpoint} has no model {model.name!r}: {text}")
    if status == 402 or _is_unpaid(text, _codes(error.body)):
        return GeneratorUnavailable(f"{model.endpoint} answers only after payment: {text}")
    if status in _REJECTED:
        return RequestRejected(text)
    if status in _BUSY:
        retry_after = _retry_after(error.response.headers)
        return RequestFailed(CallProblem.RATE_LIMITED, text, retry_after=retry_after)
    if status in _LATE:
        return RequestFailed(CallProblem.TIME_OUT, text)
    if status >= 500:
        retry_after = _retry_after(error.response.headers)
        message = f"{status}: {text}"
        return RequestFailed(CallProblem.SERVER_ERROR, message, retry_after=retry_after)
    return RequestFailed(CallProblem.NOT_UNDERSTOOD, f"status {status}: {text}", retryable=False)


def _is_unpaid(text: str, codes: set[str]) -> bool:
    if codes & _NO_CREDIT_CODES:
        return True
    return not codes & _BUSY_CODES and any(sign in text for sign in _NO_CREDIT_SIGNS)


def _codes(body: object) -> set[str]:
    """What an error's body says of its kind: the whole, or its part `error`."""
    if not isinstance(body, dict):
        return set()
    inner = body.get("error")
    parts = (body, inner) if isinstance(inner, dict) else (body,)
    return {str(part[name]) for part in parts for name in ("code", "type") if part.get(name)}


def _key_words(model: Model) -> str:
    return f"the key in {model.key_variable}" if model.key_variable else "to answer without a key"


def _retry_after(headers: httpx2.Headers) -> float | None:
    """The header Retry-After, in seconds; it may hold a number or a date."""
    text = headers.get("retry-after", "")
    try:
        return max(0.0, float(text))
    except ValueError:
        pass
    try:
        return max(0.0, email.utils.parsedate_to_datetime(text).timestamp() - time.time())
    except ValueError:
        return None


def _error_text(message: str, model: Model) -> str:
    """An endpoint's message on one short line, without the key."""
    line = " ".join(redact_key(message, model).split())
    if len(line) <= _MOST_ERROR_CHARACTERS:
        return line
    return f"{line[:_MOST_ERROR_CHARACTERS]}..."
