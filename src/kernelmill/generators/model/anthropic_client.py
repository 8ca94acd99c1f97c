"""The endpoint client for Anthropic's protocol."""

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

_STOP_REASONS = {
    "max_tokens": StopReason.LENGTH,
    "model_context_window_exceeded": StopReason.LENGTH,
    "refusal": StopReason.REFUSAL,
}


class _Usage(msgspec.Struct):
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None

    @property
    def tokens_in(self) -> int:
        parts = (self.input_tokens, self.cache_read_input_tokens, self.cache_creation_input_tokens)
        return sum(max(0, part or 0) for part in parts)


class _Message(msgspec.Struct):
    usage: _Usage = msgspec.field(default_factory=_Usage)


class _Delta(msgspec.Struct):
    text: str | None = None
    stop_reason: str | None = None


class _Error(msgspec.Struct):
    message: str = ""


class _Event(msgspec.Struct):
    type: str
    message: _Message | None = None
    delta: _Delta | None = None
    usage: _Usage | None = None
    error: _Error | None = None


class AnthropicClient(HttpEndpointClient):
    """Streams `messages` of one model."""

    def __init__(self, model: Model, patience: Patience) -> None:
        import anthropic

        needed = {"output_config"} | ({"thinking"} if model.thinking_tokens else set())
        super().__init__(model, frozenset(needed))
        self._library = anthropic
        self._client = anthropic.Anthropic(
            api_key=read_key(model) or NO_KEY,
            base_url=model.endpoint,
            max_retries=0,
            http_client=open_http_client(patience),
        )

    def _fields(self, question: Question) -> dict[str, Any]:
        model = self._model
        fields: dict[str, Any] = {}
        if model.effort:
            fields["output_config"] = {"effort": model.effort}
            fields["thinking"] = {"type": "adaptive"}
        if model.thinking_tokens:
            budget = min(model.thinking_tokens, question.max_tokens - 1)
            fields["thinking"] = {"type": "enabled", "budget_tokens": budget}
        if model.temperature is not None and not model.reasons:
            fields["temperature"] = model.temperature
        return fields

    def _send(self, question: Question, fields: dict[str, Any]) -> Iterator[AnswerChunk]:
        system = [m.text for m in question.messages if m.speaker == "system"]
        conversation: Any = [
            {"role": message.speaker, "content": message.text}
            for message in question.messages
            if message.speaker != "system"
        ]
        tokens_in = 0
        with (
            translate_errors(self._library, self._model),
            self._client.messages.with_streaming_response.create(
                model=self._model.name,
                max_tokens=question.max_tokens,
                messages=conversation,
                stream=True,
                extra_body=fields | ({"system": "\n\n".join(system)} if system else {}),
            ) as response,
        ):
            for event in decode_events(response.iter_lines(), _Event):
                if event.error is not None:
                    raise stream_error(event.error.message, self._model)
                if event.message is not None:
                    tokens_in = event.message.usage.tokens_in
                if event.type != "ping":
                    yield _answer_chunk(event, tokens_in)


def _answer_chunk(event: _Event, tokens_in: int) -> AnswerChunk:
    delta = event.delta or _Delta()
    stop = (
        None if delta.stop_reason is None else _STOP_REASONS.get(delta.stop_reason, StopReason.END)
    )
    usage = None
    if event.type == "message_delta" and event.usage is not None:
        tokens_out = event.usage.output_tokens
        usage = None if tokens_out is None or tokens_out < 0 else Usage(tokens_in, tokens_out)
    return AnswerChunk(delta.text or "", stop, usage)
