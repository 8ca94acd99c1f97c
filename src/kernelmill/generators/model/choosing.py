"""From what a user says of models to the settings of a campaign."""

import functools
import os
import re
import tomllib
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

import msgspec

from kernelmill.errors import UsageError
from kernelmill.generators.model.prices import find_price
from kernelmill.generators.model.settings import (
    AT_ONCE,
    MAX_TOKENS,
    PROMPT_TOKENS,
    Model,
    ModelSettings,
    Patience,
    Price,
    Role,
)

KEY_VARIABLE = "KERNELMILL_API_KEY"
"""For endpoints that nobody has named a variable for; it may be missing there."""
_NAMED = re.compile(r"([\w, -]+)=(.*)")
_PLACED = re.compile(r"(.+?)@(https?://.+|[\w-]+)")
_MOST_PROMPT_TOKENS = 60_000
"""Beyond that some providers ask for other prices."""


class Wish(msgspec.Struct, frozen=True):
    """What a command line says of models."""

    models: tuple[str, ...] = ()
    """Each `[ROLE,...=]NAME[@ENDPOINT]`."""
    endpoint: str = ""
    effort: str = ""
    file: Path | None = None
    audit: bool = False
    cached: bool = True


class _Endpoint(msgspec.Struct, frozen=True):
    endpoint: str
    protocol: Literal["openai", "anthropic"] = "openai"
    key_variable: str = ""
    models: tuple[str, ...] = ()


class _Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a file says of one model."""

    name: str = ""
    endpoint: str = ""
    protocol: Literal["openai", "anthropic"] | None = None
    key_variable: str | None = None
    effort: str = ""
    thinking_tokens: int | None = None
    temperature: float | None = None
    max_tokens: int = MAX_TOKENS
    input_usd: float | None = None
    output_usd: float | None = None
    requests_per_minute: float | None = None


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    models: dict[str, _Entry] = {}
    at_once: int = AT_ONCE
    prompt_tokens: int = PROMPT_TOKENS
    patience: Patience = Patience()


def choose_models(wish: Wish) -> ModelSettings | None:
    """None where nothing is wished for. Raises UsageError."""
    if not wish.models:
        if wish != Wish():
            raise UsageError("these options speak of a model, and none is named: add --model NAME")
        return None
    file = _read(wish.file) if wish.file is not None else _File()
    if not 0 < file.prompt_tokens <= _MOST_PROMPT_TOKENS:
        raise UsageError(f"prompt_tokens must be at most {_MOST_PROMPT_TOKENS}")
    if file.at_once < 1 or file.patience.tries < 1:
        raise UsageError("at_once and tries must be at least 1")
    settings = ModelSettings(
        tuple(_model(text, wish, file) for text in wish.models),
        wish.audit,
        wish.cached,
        file.at_once,
        file.prompt_tokens,
        file.patience,
    )
    _demand_somebody(settings)
    return settings


def demand_prices(settings: ModelSettings, max_usd: float | None) -> None:
    """A limit of money is a promise that only known prices can keep. Raises UsageError."""
    unknown = [model.name for model in settings.models if model.price is None]
    if max_usd is not None and unknown:
        raise UsageError(
            f"--max-usd is a promise, and nobody knows the price of {', '.join(unknown)}: give "
            "input_usd and output_usd (for a million tokens) in a file with --models"
        )


def _model(text: str, wish: Wish, file: _File) -> Model:
    roles, text = _roles(text)
    placed = _PLACED.fullmatch(text)
    label, place = placed.groups() if placed is not None else (text, "")
    entry = file.models.get(label, _Entry())
    name = entry.name or label
    if not name:
        raise UsageError(f"--model {text!r} names no model")
    endpoint = _endpoint(name, place or entry.endpoint or wish.endpoint)
    protocol = entry.protocol or endpoint.protocol
    effort = entry.effort or wish.effort
    if entry.thinking_tokens and protocol != "anthropic":
        raise UsageError(f"{name}: thinking_tokens is for anthropic's protocol; use effort")
    key_variable = endpoint.key_variable if entry.key_variable is None else entry.key_variable
    return Model(
        name,
        protocol,
        endpoint.endpoint,
        key_variable,
        roles,
        effort,
        entry.thinking_tokens,
        entry.temperature,
        entry.max_tokens,
        _price(entry, endpoint.endpoint, name),
        entry.requests_per_minute,
    )


def _roles(text: str) -> tuple[tuple[Role, ...], str]:
    named = _NAMED.fullmatch(text)
    if named is None:
        return (), text
    before, name = named.groups()
    try:
        return tuple(Role(role.strip()) for role in before.split(",")), name
    except ValueError:
        known = ", ".join(Role)
        raise UsageError(f"--model {text}: {before!r} is no role; there are {known}") from None


def _endpoint(name: str, place: str) -> _Endpoint:
    known = _known_endpoints()
    if not place:
        for endpoint in known.values():
            if name.startswith(endpoint.models) and endpoint.models:
                return endpoint
        raise UsageError(
            f"where is {name}? Say NAME@ENDPOINT, or --endpoint: an address, or one of "
            f"{', '.join(known)}"
        )
    if place in known:
        return known[place]
    address = urlsplit(place)
    if address.scheme not in ("http", "https") or not address.hostname:
        raise UsageError(
            f"{place!r} is no endpoint: give an address like http://host:8000/v1, or one of "
            f"{', '.join(known)}"
        )
    if address.username or address.password or address.query:
        raise UsageError(
            f"a key does not belong in an address, which is stored: put it into {KEY_VARIABLE}"
        )
    plain = place.rstrip("/")
    same = [endpoint for endpoint in known.values() if endpoint.endpoint == plain]
    return same[0] if same else _Endpoint(plain, key_variable=_optional_key())


def _optional_key() -> str:
    """A server of one's own may want a key or not: the variable counts where it is set."""
    return KEY_VARIABLE if os.environ.get(KEY_VARIABLE) else ""


def _price(entry: _Entry, endpoint: str, name: str) -> Price | None:
    if entry.input_usd is None and entry.output_usd is None:
        return find_price(endpoint, name)
    if entry.input_usd is None or entry.output_usd is None:
        raise UsageError(f"{name}: input_usd and output_usd go together")
    if min(entry.input_usd, entry.output_usd) < 0:
        raise UsageError(f"{name}: a price cannot be negative")
    return Price(entry.input_usd, entry.output_usd, "the user's table")


def _demand_somebody(settings: ModelSettings) -> None:
    plain = [model.name for model in settings.models if not model.roles]
    if len(set(plain)) < len(plain):
        raise UsageError("the same model is named twice with --model")
    for role in Role:
        needed = role is not Role.AUDITOR or settings.audit
        if needed and not settings.for_role(role):
            raise UsageError(
                f"nobody is named for the {role}: add --model NAME for all that is left"
            )


def _read(path: Path) -> _File:
    try:
        return msgspec.convert(tomllib.loads(path.read_text()), _File)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, msgspec.ValidationError) as error:
        raise UsageError(f"{path}: {error}") from error


@functools.cache
def _known_endpoints() -> dict[str, _Endpoint]:
    text = (Path(__file__).parent / "endpoints.toml").read_text()
    return msgspec.convert(tomllib.loads(text), dict[str, _Endpoint])
