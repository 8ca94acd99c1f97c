"""Everything that can go wrong with a call to a model, by name."""

import enum


class CallProblem(enum.StrEnum):
    # No answer arrived.
    RATE_LIMITED = "rate limited"
    TIME_OUT = "time-out"
    UNREACHABLE = "unreachable"
    BROKEN_OFF = "broken off"
    SERVER_ERROR = "server error"
    BAD_REQUEST = "bad request"
    NOT_UNDERSTOOD = "not understood"
    # An answer arrived, and cannot be used.
    KEY_IN_ANSWER = "key in the answer"
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
    BAD_TEMPLATE = "bad template"
    NO_MATCH = "edit does not match"
    SEVERAL_MATCHES = "edit matches more than once"
    UNCHANGED = "nothing changed"
    INVALID_JSON = "invalid JSON"
    INVALID_FIELD = "invalid field"
    NOT_ALLOWED = "method not allowed"
    NO_EVIDENCE = "no evidence"
    NO_DIFFERENCE = "no difference stated"


class UnusableAnswer(Exception):
    """An answer that cannot be used. What is wrong with it goes back to the model that gave it."""

    def __init__(self, problem: CallProblem, found: str, instead: str) -> None:
        super().__init__(f"{problem}: {found}")
        self.problem = problem
        self.found = found
        """The fault, in words for the model."""
        self.instead = instead
        """The way out, in words for the model."""
