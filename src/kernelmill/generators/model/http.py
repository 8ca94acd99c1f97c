"""What both providers' libraries share: one kind of connection, one way to read their errors."""

import email.utils
import functools
import ssl
import time
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any, cast

import httpx2

from kernelmill.errors import GeneratorUnavailable
from kernelmill.generators.model.keys import hide_key
from kernelmill.generators.model.problems import Problem
from kernelmill.generators.model.protocol import Client, Failed, Piece, Question
from kernelmill.generators.model.settings import Model, Patience
from kernelmill.generators.model.waiting import Leash, leash

NO_KEY = "none"
"""The libraries insist on one, where the endpoint does not."""
_MOST_BYTES = 64 << 20
"""Of an answer as it travels: a token takes some hundred bytes."""
_MOST_ERROR_BYTES = 1 << 16
_MOST_WORDS = 300
_EXHAUSTED = ("insufficient_quota", "credit balance", "billing")
_BUSY = (409, 425, 429, 529)
_LATE = (408, 504)
_UNFIT = (400, 413, 422)


class Unfit(Failed):
    """The endpoint does not like the question; its words say what of it."""

    def __init__(self, words: str) -> None:
        super().__init__(Problem.BAD_REQUEST, words, again=False)
        self.words = words


class HttpClient(Client):
    """Asks again without those fields that an endpoint turns out not to take."""

    def __init__(self, model: Model, needed: frozenset[str]) -> None:
        """`needed` fields are never left out: somebody wants them, or money depends on them."""
        self._model = model
        self._needed = needed
        self._unwanted: set[str] = set()

    def stream(self, question: Question) -> Iterator[Piece]:
        while True:
            fields = self._fields(question)
            wanted = {name: fields[name] for name in fields.keys() - self._unwanted}
            try:
                yield from self._ask(question, wanted)
            except Unfit as unfit:
                named = {name for name in wanted if name in unfit.words} - self._needed
                if not named:
                    raise
                self._unwanted |= named
            else:
                return

    @abstractmethod
    def _fields(self, question: Question) -> dict[str, Any]:
        """What an endpoint may be told beside the question."""

    @abstractmethod
    def _ask(self, question: Question, fields: dict[str, Any]) -> Iterator[Piece]:
        """Once; raises Unfit where a field is not taken."""


class _Leashed(httpx2.SyncByteStream):
    """A body that ends when nobody waits for it any more, or when it never ends by itself."""

    def __init__(self, body: httpx2.SyncByteStream, held: Leash, error: bool) -> None:
        self._body = body
        self._leash = held
        self._error = error
        self._left = _MOST_ERROR_BYTES if error else _MOST_BYTES

    def __iter__(self) -> Iterator[bytes]:
        for chunk in self._body:
            self._left -= len(chunk)
            if self._left < 0 and self._error:
                return  # what was read is enough to say what is wrong
            if self._left < 0 or self._leash.cut:
                raise httpx2.ReadError("too much was sent")
            yield chunk

    def close(self) -> None:
        self._body.close()


def _put_on_leash(response: httpx2.Response) -> None:
    if response.headers.get("content-encoding", "identity") != "identity":
        raise httpx2.DecodingError("the answer is compressed, which nobody asked for")
    body = cast(httpx2.SyncByteStream, response.stream)
    response.stream = _Leashed(body, leash.get(), response.is_error)


def connect(patience: Patience) -> httpx2.Client:
    """Follows no redirection: a key goes to the endpoint it is for, and nowhere else.

    Keeps no connection either: the other side may close it just as it is used again.
    """
    silence = max(patience.first_token_seconds, patience.between_tokens_seconds)
    return httpx2.Client(
        verify=_trusted(),
        limits=httpx2.Limits(max_keepalive_connections=0),
        timeout=httpx2.Timeout(silence, connect=patience.connect_seconds, pool=None),
        event_hooks={"response": [_put_on_leash]},
        headers={"accept-encoding": "identity"},
    )


@functools.cache
def _trusted() -> ssl.SSLContext:
    """Takes longer to make than a question to ask."""
    return httpx2.create_ssl_context()


@contextmanager
def clear_failures(library: ModuleType, model: Model) -> Iterator[None]:
    """What a provider's library raises, in our words and without the key."""
    try:
        yield
    except library.APIStatusError as error:
        raise _by_status(error, model) from None
    except (library.APITimeoutError, httpx2.TimeoutException):
        raise Failed(Problem.TIME_OUT, f"{model.endpoint} is silent", charged=True) from None
    except library.APIConnectionError as error:
        words = hide_key(str(error.__cause__ or error), model)
        raise Failed(Problem.UNREACHABLE, f"{model.endpoint}: {words}") from None
    except httpx2.RequestError as error:
        raise Failed(Problem.BROKEN_OFF, hide_key(str(error), model), charged=True) from None


def _by_status(error: Any, model: Model) -> Exception:
    status = int(error.status_code)
    words = shorten(hide_key(str(error.message), model))
    if status in (401, 403):
        return GeneratorUnavailable(f"{model.endpoint} refuses {_key(model)}: {words}")
    if status == 404:
        return GeneratorUnavailable(f"{model.endpoint} knows no model {model.name!r}: {words}")
    if status == 402 or any(sign in words for sign in _EXHAUSTED):
        return GeneratorUnavailable(f"{model.endpoint} wants to be paid first: {words}")
    if status in _UNFIT:
        return Unfit(words)
    if status in _BUSY:
        return Failed(Problem.RATE_LIMITED, words, wait=_asked_to_wait(error.response.headers))
    if status in _LATE:
        return Failed(Problem.TIME_OUT, words)
    if status >= 500:
        wait = _asked_to_wait(error.response.headers)
        return Failed(Problem.SERVER_ERROR, f"{status}: {words}", wait=wait)
    return Failed(Problem.NOT_UNDERSTOOD, f"status {status}: {words}", again=False)


def _key(model: Model) -> str:
    return f"the key in {model.key_variable}" if model.key_variable else "to answer without a key"


def _asked_to_wait(headers: httpx2.Headers) -> float | None:
    """Retry-After, in seconds or as a date."""
    text = headers.get("retry-after", "")
    try:
        return max(0.0, float(text))
    except ValueError:
        pass
    try:
        return max(0.0, email.utils.parsedate_to_datetime(text).timestamp() - time.time())
    except ValueError:
        return None


def shorten(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _MOST_WORDS else f"{line[:_MOST_WORDS]}..."
