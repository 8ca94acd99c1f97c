"""Which models a campaign may ask, and how: stored with the campaign, never with a key."""

import enum
from typing import Literal

import msgspec

MAX_TOKENS = 32_768
AT_ONCE = 4
PROMPT_TOKENS = 24_000
Protocol = Literal["openai", "anthropic", "script"]


class Role(enum.StrEnum):
    """What a model is asked to be."""

    GENERATOR = "generator"
    """Writes a first candidate."""
    DIAGNOSER = "diagnoser"
    """Says why a candidate was refused."""
    REPAIRER = "repairer"
    """Changes a refused candidate until it passes."""
    PLANNER = "planner"
    """Picks one method to make a candidate faster."""
    OPTIMIZER = "optimizer"
    """Makes a candidate faster."""
    AUDITOR = "auditor"
    """Looks for tricks that no rule knows."""


WRITERS = (Role.GENERATOR, Role.REPAIRER, Role.OPTIMIZER)
"""Those whose answer is a candidate."""


class Price(msgspec.Struct, frozen=True):
    """US dollars for a million tokens."""

    input_usd: float
    output_usd: float
    source: str = ""
    """Where it was found: the user's table, or a price list and its version."""

    def cost(self, tokens_in: int, tokens_out: int) -> float:
        return (tokens_in * self.input_usd + tokens_out * self.output_usd) / 1e6


class Model(msgspec.Struct, frozen=True):
    """One model behind one endpoint."""

    name: str
    """As its endpoint calls it."""
    protocol: Protocol
    endpoint: str
    """The base address; of a script, its file."""
    key_variable: str = ""
    """The environment variable with the key; empty where none is needed."""
    roles: tuple[Role, ...] = ()
    """Empty: one of those that share every role nobody is named for."""
    effort: str = ""
    """How hard a reasoning model thinks, in the endpoint's words; empty: as it likes."""
    thinking_tokens: int | None = None
    """How long it may think, where the endpoint takes a number of tokens."""
    temperature: float | None = None
    """None: the endpoint's own, the only one that reasoning models allow."""
    max_tokens: int = MAX_TOKENS
    """The longest answer, thinking included."""
    price: Price | None = None
    """None where nobody knows it."""
    requests_per_minute: float | None = None

    @property
    def reasons(self) -> bool:
        return bool(self.effort or self.thinking_tokens)


class Patience(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How long to wait, and how often to try again."""

    connect_seconds: float = 10.0
    first_token_seconds: float = 300.0
    """Thinking that is not shown counts as silence."""
    between_tokens_seconds: float = 90.0
    answer_seconds: float = 1200.0
    tries: int = 5
    first_pause_seconds: float = 1.0
    """Doubles with every try, and is drawn between half and the whole of that."""
    longest_pause_seconds: float = 60.0
    """An endpoint that asks for more than this has declined."""
    failures_in_a_row: int = 6
    """After so many questions without any answer there is nobody to ask."""


class ModelSettings(msgspec.Struct, frozen=True):
    models: tuple[Model, ...]
    audit: bool = False
    """Whether every candidate that builds is shown to the auditor."""
    cached: bool = True
    """Whether a question that was answered before is answered from the disk."""
    at_once: int = AT_ONCE
    """Questions under way at the same time."""
    prompt_tokens: int = PROMPT_TOKENS
    """What a prompt may take; what matters least is left out, and said."""
    patience: Patience = Patience()

    def for_role(self, role: Role) -> tuple[Model, ...]:
        """Those named for a role, else those that share what is left."""
        named = tuple(model for model in self.models if role in model.roles)
        return named or tuple(model for model in self.models if not model.roles)
