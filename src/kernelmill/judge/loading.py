"""Putting a built candidate into a cell of its own."""

import os

from kernelmill.backends.base import Built
from kernelmill.candidate import Candidate
from kernelmill.judge.bench import RUNNER, Bench
from kernelmill.judge.protocol import LoadRequest
from kernelmill.judge.settings import Settings
from kernelmill.judge.subject import Subject
from kernelmill.sandbox import Cell, Policy, Zygote


def open_cell(zygote: Zygote, settings: Settings) -> Cell:
    """A cell that waits for a candidate. Raises CellFailure."""
    policy = Policy(limits=settings.limits)
    return zygote.spawn(f"{RUNNER}:run_candidate", {"threads": settings.threads}, policy)


def load_candidate(
    cell: Cell, candidate: Candidate, built: Built, bench: Bench, settings: Settings
) -> Subject:
    """Construct its ModelNew inside. Raises CellFailure or RunnerRaised."""
    request = LoadRequest(
        sources=candidate.files,
        artefacts=list(built.artefacts),
        init_arguments=bench.init_arguments,
        init_layout=bench.init_layout,
        prebuilt_extensions=built.prebuilt_extensions,
    )
    files = [_in_memory(content) for content in built.artefacts.values()]
    subject = Subject(cell)
    try:
        subject.load(request, (bench.init_file, *files), settings.seconds)
    finally:
        for file in files:
            os.close(file)
    return subject


def _in_memory(content: bytes) -> int:
    file = os.memfd_create("artefact", os.MFD_CLOEXEC)
    os.write(file, content)
    os.lseek(file, 0, os.SEEK_SET)
    return file
