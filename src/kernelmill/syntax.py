"""Python source as a tree, from any thread."""

import ast
import threading

_ONE_AT_A_TIME = threading.Lock()
"""Python 3.11 counts the depth of all threads' trees together, and refuses a right one."""


def parse(source: str) -> ast.Module:
    """Raises what `ast.parse` does."""
    with _ONE_AT_A_TIME:
        return ast.parse(source)
