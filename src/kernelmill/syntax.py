"""Thread-safe parsing of Python source."""

import ast
import threading

_LOCK = threading.Lock()
"""Python 3.11 adds up the recursion depth of all parsing threads, and may refuse valid source."""


def parse_python(source: str) -> ast.Module:
    """The syntax tree of a module. Raises what `ast.parse` does."""
    with _LOCK:
        return ast.parse(source)
