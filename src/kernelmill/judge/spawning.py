"""Sandboxes for candidates: their start, and the loading of a built candidate."""

from kernelmill.backends.base import Built
from kernelmill.judge.protocol import CandidateRequest
from kernelmill.judge.runner_handle import RunnerHandle
from kernelmill.judge.settings import JudgeSettings
from kernelmill.records.candidate import Candidate
from kernelmill.sandbox import Policy, Sandbox, Zygote
from kernelmill.sandbox.channel import close_files
from kernelmill.tensors.arguments import InitArguments
from kernelmill.tensors.blob import memory_file

RUNNER = "kernelmill.judge.runner"
"""The module with the runner's program for the CPU, which is also that of references."""


def open_sandbox(zygote: Zygote, settings: JudgeSettings) -> Sandbox:
    """A sandbox that waits for a candidate, to be forked. Raises SandboxFailure."""
    policy = Policy(limits=settings.limits, forked=True)
    return zygote.spawn(f"{RUNNER}:run_candidate", {"threads": settings.threads}, policy)


def load_candidate(
    sandbox: Sandbox,
    candidate: Candidate,
    built: Built,
    init: InitArguments,
    settings: JudgeSettings,
) -> RunnerHandle:
    """Construct its ModelNew in the sandbox. Raises SandboxFailure or RunnerRaised."""
    request = CandidateRequest(
        sources=candidate.files,
        artefacts=list(built.artefacts),
        init_arguments=init.value,
        init_layout=init.tensors.layout,
        prebuilt_extensions=built.prebuilt_extensions,
    )
    files = [memory_file(content) for content in (built.compile_cache, *built.artefacts.values())]
    runner = RunnerHandle(sandbox)
    try:
        runner.load(request, (init.tensors.file, *files), settings.seconds)
    finally:
        close_files(files)
    return runner
