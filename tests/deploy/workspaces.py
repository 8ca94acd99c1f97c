"""Workspaces with composed champions, made without a judge."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import torch

from kernelmill.generators.composer.plan import Plan
from kernelmill.generators.composer.targets.cpp.decisions import CATALOGUE
from kernelmill.generators.composer.targets.cpp.program import CppProgram
from kernelmill.generators.composer.tracing.trace import trace_task
from kernelmill.records.attempt import Result, Seconds
from kernelmill.records.campaign import NewTask
from kernelmill.records.candidate import Candidate, Origin
from kernelmill.records.proposal import Draft, Proposal, Stage
from kernelmill.records.task import Task, Variant, tensor_specs
from kernelmill.tasks.module import TaskModule, tensors_in
from kernelmill.tensors.torch_side import describe_value
from kernelmill.workspace import Workspace
from samples import SETTINGS, make_verdict

SCALED_NORM = '''
"""A scaled RMS norm with its residual."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(width) + 0.5)

    def forward(self, x, residual):
        x = x + residual
        scale = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)
        return x * scale * self.weight, x


rows = 6
width = 8


def get_inputs():
    return [torch.randn(rows, width), torch.randn(rows, width)]


def get_init_inputs():
    return [width]
'''


def describe(name: str, source: str) -> Task:
    with torch.no_grad():
        module = TaskModule(source, "cpu")
        model, inputs = module.model(0), module.inputs(0)
        outputs = tensors_in(model(*inputs))
    given: list[torch.Tensor] = []
    shown = Variant({}, describe_value(inputs, given), tensor_specs(given), False)
    state = {name: tensor_specs([tensor])[0] for name, tensor in model.state_dict().items()}
    buffers = tuple(name for name, _ in model.named_buffers())
    return Task(
        name, "", "", source, "cpu", (shown,), (), tensor_specs(outputs), state, (), 0, buffers
    )


def compose(task: Task) -> Candidate:
    with torch.no_grad():
        program = CppProgram(trace_task(task.source, "cpu"), Plan({"specialise": False}, CATALOGUE))
    return Candidate(program.files(task), Origin.COMPOSER, task.id)


def store_champions(
    folder: Path,
    sources: dict[str, str],
    ratio: float | None = 2.0,
    candidates: Mapping[str, Candidate] = MappingProxyType({}),
) -> None:
    """A workspace with one campaign, whose tasks are solved by composed or the given candidates.

    Without a ratio, none of them has passed.
    """
    tasks = {name: describe(name, source) for name, source in sources.items()}
    with Workspace(folder, create=True) as workspace:
        new = [NewTask(name, task) for name, task in tasks.items()]
        campaign = workspace.create_campaign(SETTINGS, new)
        for entry in workspace.tasks(campaign):
            assert entry.task is not None and entry.described is not None
            claim = workspace.claim(campaign, entry.task)
            assert claim is not None
            candidate = candidates.get(entry.name) or compose(entry.described)
            proposal = Proposal(entry.described, "cpp", Stage.DRAFT, 1)
            verdict = make_verdict(ratio, entry.name)
            result = Result(
                proposal, Seconds(), Draft(candidate, {"tile": 8}), verdict,
                champion=ratio is not None,
            )  # fmt: skip
            workspace.complete(claim, result, lambda *_: None)
