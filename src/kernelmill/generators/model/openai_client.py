"""OpenAI's protocol, which nearly every server speaks."""

from collections.abc import Iterator
from typing import Any

import msgspec

from kernelmill.generators.model.http import NO_KEY, HttpClient, clear_failures, connect, shorten
from kernelmill.generators.model.keys import hide_key, key_of
from kernelmill.generators.model.problems import Problem
from kernelmill.generators.model.protocol import Failed, Piece, Question, Stop, Usage
from kernelmill.generators.model.settings import Model, Patience
from kernelmill.generators.model.sse import events

_SEED_BITS = 31
_STOPS = {
    "stop": Stop.END,
    "eos": Stop.END,
    "length": Stop.LENGTH,
    "content_filter": Stop.REFUSAL,
}


class _Delta(msgspec.Struct):
    content: str | None = None
    refusal: str | None = None


class _Choice(msgspec.Struct):
    delta: _Delta = msgspec.field(default_factory=_Delta)
    finish_reason: str | None = None


class _Usage(msgspec.Struct):
    prompt_tokens: int = -1
    completion_tokens: int = -1


class _Error(msgspec.Struct):
    message: str = ""


class _Chunk(msgspec.Struct):
    choices: list[_Choice] = []
    usage: _Usage | None = None
    error: _Error | None = None


class OpenAIClient(HttpClient):
    def __init__(self, model: Model, patience: Patience) -> None:
        import openai

        super().__init__(model, frozenset({"max_completion_tokens", "reasoning_effort"}))
        self._library = openai
        self._client = openai.OpenAI(
            api_key=key_of(model) or NO_KEY,
            base_url=model.endpoint,
            max_retries=0,
            http_client=connect(patience),
        )

    def _fields(self, question: Question) -> dict[str, Any]:
        model = self._model
        # The older name is what most servers know; OpenAI's own models want the newer one.
        length = "max_completion_tokens" if "max_tokens" in self._unwanted else "max_tokens"
        fields: dict[str, Any] = {
            length: question.max_tokens,
            "stream_options": {"include_usage": True},
            "seed": question.seed % (1 << _SEED_BITS),
        }
        if model.effort:
            fields["reasoning_effort"] = model.effort
        elif model.temperature is not None:
            fields["temperature"] = model.temperature
        return fields

    def _ask(self, question: Question, fields: dict[str, Any]) -> Iterator[Piece]:
        completions = self._client.chat.completions.with_streaming_response
        messages: Any = [
            {"role": message.speaker, "content": message.text} for message in question.messages
        ]
        with (
            clear_failures(self._library, self._model),
            completions.create(
                model=self._model.name, messages=messages, stream=True, extra_body=fields
            ) as response,
        ):
            for chunk in events(response.iter_lines(), _Chunk):
                if chunk.error is not None:
                    words = shorten(hide_key(chunk.error.message, self._model))
                    raise Failed(Problem.SERVER_ERROR, words, charged=True)
                yield _piece(chunk)


def _piece(chunk: _Chunk) -> Piece:
    text, stop = "", None
    if chunk.choices:
        choice = chunk.choices[0]
        text = choice.delta.content or choice.delta.refusal or ""
        if choice.delta.refusal:
            stop = Stop.REFUSAL
        elif choice.finish_reason is not None:
            stop = _STOPS.get(choice.finish_reason, Stop.END)
    return Piece(text, stop, _usage(chunk.usage))


def _usage(usage: _Usage | None) -> Usage | None:
    if usage is None or min(usage.prompt_tokens, usage.completion_tokens) < 0:
        return None
    return Usage(usage.prompt_tokens, usage.completion_tokens)
