"""API keys: read from the environment when they are needed, and stored nowhere."""

import math
import os
from collections import Counter

from kernelmill.records.model_settings import Model

_REDACTED = "[key]"
_LEAST_LENGTH = 16
_LEAST_ENTROPY = 2.5
"""Bits per character: random hexadecimal digits have more than 3, `xxxxxxxx-xxxx-4xxx` has 1."""


def read_key(model: Model) -> str:
    """The key for a model's endpoint; empty where it needs none, or none is set."""
    return os.environ.get(model.key_variable, "") if model.key_variable else ""


def redact_key(text: str, model: Model) -> str:
    """The text of an error without the key, which an endpoint may send back.

    Only for errors, which people read: an answer is never changed, since it may be source code.
    """
    return text.replace(read_key(model), _REDACTED) if contains_key(text, model) else text


def contains_key(text: str, model: Model) -> bool:
    """Whether a text holds the key; never where the key is a placeholder such as `none`."""
    key = read_key(model)
    return _is_secret(key) and key in text


def _is_secret(key: str) -> bool:
    """Whether it cannot be a word: local servers accept `none`, `EMPTY`, `sk-no-key-required`."""
    has_both = any(map(str.isdigit, key)) and any(map(str.isalpha, key))
    return len(key) >= _LEAST_LENGTH and has_both and _entropy(key) >= _LEAST_ENTROPY


def _entropy(text: str) -> float:
    """Shannon's, in bits per character."""
    shares = [count / len(text) for count in Counter(text).values()]
    return -sum(share * math.log2(share) for share in shares)
