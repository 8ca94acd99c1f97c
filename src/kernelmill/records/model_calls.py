"""Calls to language models for an attempt, and their total cost."""

from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec


class SaidText(msgspec.Struct, frozen=True):
    """One message of a conversation with a model."""

    speaker: Literal["system", "user", "assistant", "answer"]
    """`answer`: what the model answered to the messages before."""
    text: str


class ModelCall(msgspec.Struct, frozen=True):
    """One call to one model, answered or not."""

    role: str
    model: str
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost_usd: float | None = None
    """None where the price is unknown; 0 where the answer came from the cache."""
    seconds: float = 0.0
    problem: str = ""
    """The reason why the answer could not be used; empty where it could."""
    cached: bool = False
    said: tuple[SaidText, ...] = ()
    """Prompt and answer. The workspace stores them apart from the call, and reads them on
    demand."""


class Bill(msgspec.Struct, frozen=True):
    """Totals over the calls of an attempt; None where that of one call is unknown."""

    tokens_in: int | None
    tokens_out: int | None
    cost_usd: float | None


def bill(calls: Sequence[ModelCall]) -> Bill:
    """Totals of the calls: all zero where there are none."""
    return Bill(
        _sum(call.tokens_in for call in calls),
        _sum(call.tokens_out for call in calls),
        None if any(call.cost_usd is None for call in calls) else _dollars(calls),
    )


def _sum(parts: Iterable[int | None]) -> int | None:
    total = 0
    for part in parts:
        if part is None:
            return None
        total += part
    return total


def _dollars(calls: Sequence[ModelCall]) -> float:
    return sum((call.cost_usd or 0.0 for call in calls), 0.0)
