"""Everything that can be wrong with an answer, by name."""

import enum


class Problem(enum.StrEnum):
    # No answer came.
    RATE_LIMITED = "rate limited"
    TIME_OUT = "time-out"
    UNREACHABLE = "unreachable"
    BROKEN_OFF = "broken off"
    SERVER_ERROR = "server error"
    BAD_REQUEST = "bad request"
    NOT_UNDERSTOOD = "not understood"
    # It came, and is no answer to what was asked.
    EMPTY = "empty"
    REFUSED = "refused"
    CUT_SHORT = "cut short"
    TOO_LONG = "too long"
    NO_BLOCK = "no block"
    UNNAMED_BLOCK = "unnamed block"
    UNKNOWN_FILE = "unknown file"
    MISSING_FILE = "missing file"
    TWICE = "twice the same file"
    BAD_EDIT = "bad edit"
    NO_MATCH = "edit does not match"
    SEVERAL_MATCHES = "edit matches more than once"
    UNCHANGED = "nothing changed"
    INVALID_JSON = "invalid JSON"
    INVALID_FIELD = "invalid field"
    NOT_ALLOWED = "method not allowed"
    NO_EVIDENCE = "no evidence"
    NO_DIFFERENCE = "no difference stated"


class Malformed(Exception):
    """An answer that cannot be used; its words go back to whoever gave it."""

    def __init__(self, problem: Problem, found: str, instead: str) -> None:
        super().__init__(f"{problem}: {found}")
        self.problem = problem
        self.found = found
        self.instead = instead
