"""Thread-safe parsing of Python source."""

import ast
import threading

_LOCK = threading.Lock()
"""Python 3.11 adds up the recursion depth of all parsing threads, and may refuse valid source."""


def parse_python(source: str) -> ast.Module:
    """The syntax tree of a module. Raises what `ast.parse` does."""
    with _LOCK:
        return ast.parse(source)


def parse_expression(source: str) -> ast.expr:
    """The syntax tree of one expression. Raises what `ast.parse` does."""
    (statement,) = parse_python(source.strip()).body
    if not isinstance(statement, ast.Expr):
        raise SyntaxError(f"not an expression: {source}")
    return statement.value


def names_in(source: str) -> set[str]:
    """The variables, functions and modules that a piece of Python reads or writes."""
    return {node.id for node in ast.walk(parse_python(source)) if isinstance(node, ast.Name)}
