"""Sandboxes for candidates: their start, and the loading of a built candidate."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

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
    runner = RunnerHandle(sandbox)
    with candidate_files(candidate, built, init) as loading:
        runner.load(loading.request, loading.files, settings.seconds)
    return runner


class Loading(NamedTuple):
    """The request that loads a candidate, and its files."""

    request: CandidateRequest
    files: tuple[int, ...]


@contextmanager
def candidate_files(candidate: Candidate, built: Built, init: InitArguments) -> Iterator[Loading]:
    """What a runner needs to load a candidate; the files are closed with the context."""
    request = CandidateRequest(
        sources=candidate.files,
        artefacts=list(built.artefacts),
        init_arguments=init.value,
        init_layout=init.tensors.layout,
        prebuilt_extensions=built.prebuilt_extensions,
    )
    files = [memory_file(content) for content in (built.compile_cache, *built.artefacts.values())]
    try:
        yield Loading(request, (init.tensors.file, *files))
    finally:
        close_files(files)
