"""Modules that are copied beside kernels that leave: the standard library and torch are all they
import."""

from pathlib import Path

_FOLDER = Path(__file__).parent


def shipped_source(name: str) -> str:
    """The text of one of these modules."""
    return (_FOLDER / f"{name}.py").read_text(encoding="utf-8")
