"""Anthropic's own protocol."""

from collections.abc import Iterator
from typing import Any

import msgspec

from kernelmill.generators.model.http import NO_KEY, HttpClient, clear_failures, connect, shorten
from kernelmill.generators.model.keys import hide_key, key_of
from kernelmill.generators.model.problems import Problem
from kernelmill.generators.model.protocol import Failed, Piece, Question, Stop, Usage
from kernelmill.generators.model.settings import Model, Patience
from kernelmill.generators.model.sse import events

_STOPS = {
    "max_tokens": Stop.LENGTH,
    "model_context_window_exceeded": Stop.LENGTH,
    "refusal": Stop.REFUSAL,
}


class _Usage(msgspec.Struct):
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None

    @property
    def all_in(self) -> int:
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


class AnthropicClient(HttpClient):
    def __init__(self, model: Model, patience: Patience) -> None:
        import anthropic

        asked_for = {"output_config"} | ({"thinking"} if model.thinking_tokens else set())
        super().__init__(model, frozenset(asked_for))
        self._library = anthropic
        self._client = anthropic.Anthropic(
            api_key=key_of(model) or NO_KEY,
            base_url=model.endpoint,
            max_retries=0,
            http_client=connect(patience),
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

    def _ask(self, question: Question, fields: dict[str, Any]) -> Iterator[Piece]:
        system = [m.text for m in question.messages if m.speaker == "system"]
        talk: Any = [
            {"role": message.speaker, "content": message.text}
            for message in question.messages
            if message.speaker != "system"
        ]
        tokens_in = 0
        with (
            clear_failures(self._library, self._model),
            self._client.messages.with_streaming_response.create(
                model=self._model.name,
                max_tokens=question.max_tokens,
                messages=talk,
                stream=True,
                extra_body=fields | ({"system": "\n\n".join(system)} if system else {}),
            ) as response,
        ):
            for event in events(response.iter_lines(), _Event):
                if event.error is not None:
                    words = shorten(hide_key(event.error.message, self._model))
                    raise Failed(Problem.SERVER_ERROR, words, charged=True)
                if event.message is not None:
                    tokens_in = event.message.usage.all_in
                if event.type != "ping":
                    yield _piece(event, tokens_in)


def _piece(event: _Event, tokens_in: int) -> Piece:
    delta = event.delta or _Delta()
    stop = None if delta.stop_reason is None else _STOPS.get(delta.stop_reason, Stop.END)
    usage = None
    if event.type == "message_delta" and event.usage is not None:
        out = event.usage.output_tokens
        usage = None if out is None or out < 0 else Usage(tokens_in, out)
    return Piece(delta.text or "", stop, usage)
