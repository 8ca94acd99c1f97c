"""Model specs of the command line, resolved to the model settings of a campaign."""

import functools
import os
import re
import tomllib
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

import msgspec

from kernelmill.generators.model.prices import find_price
from kernelmill.records.errors import UsageError
from kernelmill.records.model_settings import (
    AT_ONCE,
    MAX_TOKENS,
    PRICE_WEIGHT,
    PROMPT_TOKENS,
    Model,
    ModelRole,
    ModelSettings,
    Patience,
    Price,
)

KEY_VARIABLE = "KERNELMILL_API_KEY"
"""Holds the key for endpoints without a variable of their own; it may be unset."""
_WITH_ROLES = re.compile(r"([\w, -]+)=(.*)")
_WITH_ENDPOINT = re.compile(r"(.+?)@(https?://.+|[\w-]+)")
_MOST_PROMPT_TOKENS = 60_000
"""Longer prompts have other prices at some providers."""


class ModelSpec(msgspec.Struct, frozen=True):
    """The options of a command line that describe models."""

    models: tuple[str, ...] = ()
    """Each `[ROLE,...=]NAME[@ENDPOINT]`."""
    endpoint: str = ""
    effort: str = ""
    file: Path | None = None
    audit: bool = False
    cached: bool = True


class _KnownEndpoint(msgspec.Struct, frozen=True):
    """An entry of endpoints.toml."""

    endpoint: str
    protocol: Literal["openai", "anthropic"] = "openai"
    key_variable: str = ""
    models: tuple[str, ...] = ()
    """Prefixes of the names of models that are found there."""


class _Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One model in a file of models."""

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
    """A file of models, as `--models` takes it."""

    models: dict[str, _Entry] = {}
    at_once: int = AT_ONCE
    prompt_tokens: int = PROMPT_TOKENS
    patience: Patience = Patience()
    price_weight: float = PRICE_WEIGHT


def resolve_models(spec: ModelSpec) -> ModelSettings | None:
    """The settings that a spec asks for; None where it asks for no model. Raises UsageError."""
    if not spec.models:
        if spec != ModelSpec():
            raise UsageError("these options are for models, and none is named: add --model NAME")
        return None
    file = _read(spec.file) if spec.file is not None else _File()
    if not 0 < file.prompt_tokens <= _MOST_PROMPT_TOKENS:
        raise UsageError(f"prompt_tokens must be at least 1 and at most {_MOST_PROMPT_TOKENS}")
    if file.at_once < 1 or file.patience.tries < 1:
        raise UsageError("at_once and tries must be at least 1")
    if not 0.0 <= file.price_weight <= 1.0:
        raise UsageError("price_weight must be from 0 to 1")
    settings = ModelSettings(
        tuple(_model(text, spec, file) for text in spec.models),
        spec.audit,
        spec.cached,
        file.at_once,
        file.prompt_tokens,
        file.patience,
        file.price_weight,
    )
    _demand_all_roles(settings)
    return settings


def demand_prices(settings: ModelSettings, max_usd: float | None) -> None:
    """A limit on costs can be kept only where every price is known. Raises UsageError."""
    unknown = [model.name for model in settings.models if model.price is None]
    if max_usd is not None and unknown:
        raise UsageError(
            f"--max-usd needs prices, and the price of {', '.join(unknown)} is unknown: give "
            "input_usd and output_usd (per million tokens) in a file with --models"
        )


def _model(text: str, spec: ModelSpec, file: _File) -> Model:
    roles, text = _roles(text)
    placed = _WITH_ENDPOINT.fullmatch(text)
    label, place = placed.groups() if placed is not None else (text, "")
    entry = file.models.get(label, _Entry())
    name = entry.name or label
    if not name:
        raise UsageError(f"--model {text!r} names no model")
    endpoint = _endpoint(name, place or entry.endpoint or spec.endpoint)
    protocol = entry.protocol or endpoint.protocol
    effort = entry.effort or spec.effort
    if entry.thinking_tokens and protocol != "anthropic":
        raise UsageError(f"{name}: thinking_tokens is for Anthropic's protocol only; use effort")
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


def _roles(text: str) -> tuple[tuple[ModelRole, ...], str]:
    named = _WITH_ROLES.fullmatch(text)
    if named is None:
        return (), text
    before, name = named.groups()
    try:
        return tuple(ModelRole(role.strip()) for role in before.split(",")), name
    except ValueError:
        known = ", ".join(ModelRole)
        raise UsageError(
            f"--model {text}: {before!r} is not a role; the roles are {known}"
        ) from None


def _endpoint(name: str, place: str) -> _KnownEndpoint:
    known = _known_endpoints()
    if not place:
        for endpoint in known.values():
            if name.startswith(endpoint.models) and endpoint.models:
                return endpoint
        raise UsageError(
            f"model {name} needs an endpoint: give NAME@ENDPOINT or --endpoint, an address or one "
            f"of {', '.join(known)}"
        )
    if place in known:
        return known[place]
    address = urlsplit(place)
    if address.scheme not in ("http", "https") or not address.hostname:
        raise UsageError(
            f"{place!r} is not an endpoint: give an address like http://host:8000/v1, or one of "
            f"{', '.join(known)}"
        )
    if address.username or address.password or address.query:
        raise UsageError(
            f"an address is stored, so it must not contain a key: put the key into {KEY_VARIABLE}"
        )
    plain = place.rstrip("/")
    same = [endpoint for endpoint in known.values() if endpoint.endpoint == plain]
    return same[0] if same else _KnownEndpoint(plain, key_variable=_optional_key())


def _optional_key() -> str:
    """The variable where it is set: a server of one's own may need a key or not."""
    return KEY_VARIABLE if os.environ.get(KEY_VARIABLE) else ""


def _price(entry: _Entry, endpoint: str, name: str) -> Price | None:
    if entry.input_usd is None and entry.output_usd is None:
        return find_price(endpoint, name)
    if entry.input_usd is None or entry.output_usd is None:
        raise UsageError(f"{name}: input_usd and output_usd must be given together")
    if min(entry.input_usd, entry.output_usd) < 0:
        raise UsageError(f"{name}: a price cannot be negative")
    return Price(entry.input_usd, entry.output_usd, "the user's table")


def _demand_all_roles(settings: ModelSettings) -> None:
    shared = [model.name for model in settings.models if not model.roles]
    if len(set(shared)) < len(shared):
        raise UsageError("the same model is named twice with --model")
    for role in ModelRole:
        needed = role is not ModelRole.AUDITOR or settings.audit
        if needed and not settings.for_role(role):
            raise UsageError(
                f"no model is named for the {role}: add --model NAME without a role, for all others"
            )


def _read(path: Path) -> _File:
    try:
        return msgspec.convert(tomllib.loads(path.read_text()), _File)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, msgspec.ValidationError) as error:
        raise UsageError(f"{path}: {error}") from error


@functools.cache
def _known_endpoints() -> dict[str, _KnownEndpoint]:
    text = (Path(__file__).parent / "endpoints.toml").read_text()
    return msgspec.convert(tomllib.loads(text), dict[str, _KnownEndpoint])
