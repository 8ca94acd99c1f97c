"""Exceptions that a caller of Kernelmill may see.

Every message is one or two sentences that say what is wrong and what to do. The command line
prints them without a traceback and ends with exit code 2.
"""

from kernelmill.records.text import clean_line, clean_text


class KernelmillError(Exception):
    """Base of all errors that are not bugs of Kernelmill itself.

    A message may quote foreign text, so it is cleaned here, once for all places that print it.
    """

    def __init__(self, message: str = "") -> None:
        super().__init__(clean_text(message))


class UsageError(KernelmillError):
    """The user asked for something that does not exist or does not fit together."""


class TaskError(KernelmillError):
    """A task file cannot be used: not Python, no Model, get_inputs raises, not deterministic..."""

    def __init__(self, message: str) -> None:
        super().__init__(clean_line(message))


class CandidateError(KernelmillError):
    """A candidate cannot be read: missing folder, no model.py, files too large."""


class BackendUnavailable(KernelmillError):
    """The backend's tool chain or device is not usable on this machine."""


class IsolationError(KernelmillError):
    """This machine does not grant the isolation that the origin of a candidate requires."""


class SandboxUnavailable(KernelmillError):
    """The zygote, which sandboxes fork from, does not start; the message has its last line."""


class GeneratorUnavailable(KernelmillError):
    """A generator cannot be used here: something it needs is missing."""


class WorkspaceError(KernelmillError):
    """A folder is not a workspace, or not one that this version can open."""
