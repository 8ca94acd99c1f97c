"""Peak memory of a call, as the kernel counts it: the candidate has no part in the reading."""

from kernelmill.judge.cases import HostCase
from kernelmill.judge.devices.cpu.template import CandidateTemplate
from kernelmill.judge.devices.cpu.trials import trial_body

_CALLS = 2
"""The first call maps the code that it runs, so that the second one's peak is that of its data."""


def peak_bytes(template: CandidateTemplate, case: HostCase, seconds: float) -> int | None:
    """Most memory that a new fork has resident during a call, beyond the process that the candidate
    was loaded into: parameters, inputs, outputs, scratch. None where the kernel does not tell.

    Pages of mapped files, which is mostly code, do not count. Raises SandboxFailure or
    RunnerRaised.
    """
    with template.fork() as runner:
        for _ in range(_CALLS):
            runner.trial(trial_body(case, poison=[]), case.given.file, seconds)
        after = runner.sandbox.resident_memory()
    if after is None or template.empty_bytes is None:
        return None
    return max(0, after.peak - after.files - template.empty_bytes)
