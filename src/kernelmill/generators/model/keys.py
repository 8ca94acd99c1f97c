"""Keys: read from the environment when they are needed, and kept nowhere else."""

import os

from kernelmill.generators.model.settings import Model

_HIDDEN = "[key]"
_LEAST = 4
"""Shorter values are placeholders, and hiding them would only garble texts."""


def key_of(model: Model) -> str:
    return os.environ.get(model.key_variable, "") if model.key_variable else ""


def hide_key(text: str, model: Model) -> str:
    """A hostile endpoint may send the key back: it must not end up in a file that way."""
    key = key_of(model)
    return text.replace(key, _HIDDEN) if len(key) >= _LEAST else text
