"""Putting a built candidate into a cell of its own."""

import os

import msgspec

from kernelmill.backends.base import Built
from kernelmill.candidate import Candidate
from kernelmill.errors import TaskError
from kernelmill.judge.protocol import LoadRequest, ReferenceRequest
from kernelmill.judge.settings import Settings
from kernelmill.judge.subject import Subject
from kernelmill.sandbox import Cell, Limits, Policy, Zygote
from kernelmill.tasks.task import Task
from kernelmill.tensors.arguments import InitArguments
from kernelmill.tensors.blob import Blob, in_memory
from kernelmill.tensors.layout import Layout, Node

RUNNER = "kernelmill.judge.runner"
REFERENCE_LIMITS = Limits(memory_bytes=16 << 30, lifetime_seconds=24 * 3600)
_SECONDS = 120.0


def read_init_arguments(task: Task, zygote: Zygote) -> InitArguments:
    """Raises CellFailure, or TaskError where they are nonsense."""
    request = ReferenceRequest(task.source, task.scale, 0)
    entry = f"{RUNNER}:make_init_arguments"
    with zygote.spawn(entry, {}, Policy(limits=REFERENCE_LIMITS)) as cell:
        body, files = cell.request(msgspec.to_builtins(request), _SECONDS)
    try:
        layout = msgspec.convert(body["layout"], Layout)
        return InitArguments(
            msgspec.convert(body["arguments"], Node), Blob.received(files[0], layout)
        )
    except (msgspec.ValidationError, KeyError, IndexError, OSError) as error:
        raise TaskError(f"{task.id}: get_init_inputs answers nonsense") from error


def open_cell(zygote: Zygote, settings: Settings) -> Cell:
    """A cell that waits for a candidate. Raises CellFailure."""
    policy = Policy(limits=settings.limits)
    return zygote.spawn(f"{RUNNER}:run_candidate", {"threads": settings.threads}, policy)


def load_candidate(
    cell: Cell, candidate: Candidate, built: Built, init: InitArguments, settings: Settings
) -> Subject:
    """Construct its ModelNew inside. Raises CellFailure or RunnerRaised."""
    request = LoadRequest(
        sources=candidate.files,
        artefacts=list(built.artefacts),
        init_arguments=init.value,
        init_layout=init.tensors.layout,
        prebuilt_extensions=built.prebuilt_extensions,
    )
    files = [in_memory(content) for content in (built.workshop, *built.artefacts.values())]
    subject = Subject(cell)
    try:
        subject.load(request, (init.tensors.file, *files), settings.seconds)
    finally:
        for file in files:
            os.close(file)
    return subject
