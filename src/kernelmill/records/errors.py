"""Exceptions that a caller of Kernelmill may see.

Every message is one or two sentences that say what is wrong and what to do. The command line
prints them without a traceback and ends with exit code 2.
"""


class KernelmillError(Exception):
    """Base of all errors that are not bugs of Kernelmill itself."""


class UsageError(KernelmillError):
    """The user asked for something that does not exist or does not fit together."""


class TaskError(KernelmillError):
    """A task file cannot be used: not Python, no Model, get_inputs raises, not deterministic..."""


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
