"""Language models of a campaign and their settings: stored with it, never with a key."""

import enum
from typing import Literal

import msgspec

MAX_TOKENS = 32_768
AT_ONCE = 4
PROMPT_TOKENS = 24_000
PRICE_WEIGHT = 0.2
Protocol = Literal["openai", "anthropic", "script"]


class ModelRole(enum.StrEnum):
    """The role a model is called in."""

    GENERATOR = "generator"
    """Writes a first candidate."""
    DIAGNOSER = "diagnoser"
    """Says why a candidate was refused."""
    REPAIRER = "repairer"
    """Repairs a refused candidate."""
    PLANNER = "planner"
    """Picks one method to make a candidate faster."""
    OPTIMIZER = "optimizer"
    """Makes a candidate faster."""
    AUDITOR = "auditor"
    """Looks for cheating that no rule detects."""
    SUMMARISER = "summariser"
    """Says what a verdict teaches. Only a model that is named for it is asked."""


WRITERS = (ModelRole.GENERATOR, ModelRole.REPAIRER, ModelRole.OPTIMIZER)
"""Roles whose answer is a candidate."""


class Price(msgspec.Struct, frozen=True):
    """US dollars per million tokens."""

    input_usd: float
    output_usd: float
    source: str = ""
    """Source of the price: the user's table, or a price list and its version."""

    def cost(self, tokens_in: int, tokens_out: int) -> float:
        return (tokens_in * self.input_usd + tokens_out * self.output_usd) / 1e6


class Model(msgspec.Struct, frozen=True):
    """One model behind one endpoint."""

    name: str
    """Its name at the endpoint."""
    protocol: Protocol
    endpoint: str
    """The base URL; for a script, the path of its file."""
    key_variable: str = ""
    """The environment variable with the key; empty where none is needed."""
    roles: tuple[ModelRole, ...] = ()
    """Roles it is named for; empty: it shares the roles that no model is named for."""
    effort: str = ""
    """Reasoning effort, in the endpoint's terms; empty: the endpoint's default."""
    thinking_tokens: int | None = None
    """Reasoning budget in tokens, for endpoints that take one."""
    temperature: float | None = None
    """None: the endpoint's default, the only one that reasoning models allow."""
    max_tokens: int = MAX_TOKENS
    """Longest answer, reasoning included."""
    price: Price | None = None
    """None where it is unknown."""
    requests_per_minute: float | None = None

    @property
    def reasons(self) -> bool:
        return bool(self.effort or self.thinking_tokens)


class Patience(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Time-outs and retries of model calls."""

    connect_seconds: float = 10.0
    first_token_seconds: float = 300.0
    """Reasoning that is not streamed counts as silence."""
    between_tokens_seconds: float = 90.0
    answer_seconds: float = 1200.0
    tries: int = 5
    first_pause_seconds: float = 1.0
    """Pause before the first retry; doubles with every retry. The actual pause is random, between
    half of that and all of it."""
    longest_pause_seconds: float = 60.0
    """An endpoint that asks to wait longer than this has declined."""
    failures_in_a_row: int = 24
    """After so many unanswered questions in a row, with pauses between them, the run ends."""


class ModelSettings(msgspec.Struct, frozen=True):
    """Models of a campaign, and how they are called."""

    models: tuple[Model, ...]
    audit: bool = False
    """Whether every candidate that builds is audited."""
    cached: bool = True
    """Whether answers to repeated prompts come from the cache on disk."""
    at_once: int = AT_ONCE
    """Number of concurrent calls."""
    prompt_tokens: int = PROMPT_TOKENS
    """Longest prompt; what matters least is left out, and the prompt says so."""
    patience: Patience = Patience()
    price_weight: float = PRICE_WEIGHT
    """Share of the price in the choice among models that share a role, from 0 to 1."""

    def for_role(self, role: ModelRole) -> tuple[Model, ...]:
        """The models named for a role, else those that are named for none."""
        named = tuple(model for model in self.models if role in model.roles)
        return named or tuple(model for model in self.models if not model.roles)
