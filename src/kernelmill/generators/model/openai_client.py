"""The endpoint client for OpenAI's protocol, which nearly every server speaks."""

from collections.abc import Iterator
from typing import Any

import msgspec

from kernelmill.generators.model.http import (
    NO_KEY,
    HttpEndpointClient,
    open_http_client,
    stream_error,
    translate_errors,
)
from kernelmill.generators.model.keys import read_key
from kernelmill.generators.model.protocol import AnswerChunk, Question, StopReason, Usage
from kernelmill.generators.model.sse import decode_events
from kernelmill.records.model_settings import Model, Patience

_SEED_BITS = 31
_STOP_REASONS = {
    "stop": StopReason.END,
    "eos": StopReason.END,
    "length": StopReason.LENGTH,
    "content_filter": StopReason.REFUSAL,
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


class OpenAIClient(HttpEndpointClient):
    """Streams chat completions of one model."""

    def __init__(self, model: Model, patience: Patience) -> None:
        import openai

        super().__init__(model, frozenset({"max_completion_tokens", "reasoning_effort"}))
        self._library = openai
        self._client = openai.OpenAI(
            api_key=read_key(model) or NO_KEY,
            base_url=model.endpoint,
            max_retries=0,
            http_client=open_http_client(patience),
        )

    def _fields(self, question: Question) -> dict[str, Any]:
        model = self._model
        # Most servers know the older name only; OpenAI's own models accept the newer one only.
        length = "max_completion_tokens" if "max_tokens" in self._rejected else "max_tokens"
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

    def _send(self, question: Question, fields: dict[str, Any]) -> Iterator[AnswerChunk]:
        completions = self._client.chat.completions.with_streaming_response
        messages: Any = [
            {"role": message.speaker, "content": message.text} for message in question.messages
        ]
        with (
            translate_errors(self._library, self._model),
            completions.create(
                model=self._model.name, messages=messages, stream=True, extra_body=fields
            ) as response,
        ):
            for chunk in decode_events(response.iter_lines(), _Chunk):
                if chunk.error is not None:
                    raise stream_error(chunk.error.message, self._model)
                yield _answer_chunk(chunk)


def _answer_chunk(chunk: _Chunk) -> AnswerChunk:
    text, stop = "", None
    if chunk.choices:
        choice = chunk.choices[0]
        text = choice.delta.content or choice.delta.refusal or ""
        if choice.delta.refusal:
            stop = StopReason.REFUSAL
        elif choice.finish_reason is not None:
            stop = _STOP_REASONS.get(choice.finish_reason, StopReason.END)
    return AnswerChunk(text, stop, _usage(chunk.usage))


def _usage(usage: _Usage | None) -> Usage | None:
    if usage is None or min(usage.prompt_tokens, usage.completion_tokens) < 0:
        return None
    return Usage(usage.prompt_tokens, usage.completion_tokens)
