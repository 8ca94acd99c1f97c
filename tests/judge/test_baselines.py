"""Baselines on the CPU: they are forked as candidates are, and have been called before."""

import os
import subprocess
import sys
from collections.abc import Iterator

import msgspec
import pytest

from kernelmill.judge import Judge
from kernelmill.judge.compare import compare
from kernelmill.judge.devices.cpu.baseline import start_baseline
from kernelmill.judge.devices.cpu.template import Template
from kernelmill.judge.devices.cpu.trials import trial_body
from kernelmill.judge.harness import Harness
from kernelmill.records.errors import TaskError
from kernelmill.records.task import Task
from kernelmill.tasks import load_suite

FAILS_WHEN_CALLED_OFTEN = """
import torch

class Model(torch.nn.Module):
    calls = 0

    def forward(self, x):
        Model.calls += 1
        if Model.calls > 4:
            raise RuntimeError("worn out")
        return x + 1

def get_inputs():
    return [torch.randn(64, 64)]

def get_init_inputs():
    return []
"""

FORK_AFTER_WORK = """
import os, torch
from kernelmill.judge.threads import end_threads

torch.set_grad_enabled(False)
x = torch.randn(512, 512)
before = (torch.nn.functional.gelu(x) @ x).sum()
threads = len(os.listdir("/proc/self/task"))
end_threads()
assert len(os.listdir("/proc/self/task")) == 1, "threads are left"
pid = os.fork()
if pid == 0:
    after = (torch.nn.functional.gelu(x) @ x).sum()
    more = len(os.listdir("/proc/self/task"))
    os._exit(0 if torch.equal(before, after) and more == threads else 1)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
"""


@pytest.fixture(scope="module")
def task(judge: Judge) -> Task:
    return judge.describe(load_suite("starter/gelu")[0])


@pytest.fixture(scope="module", params=[False, True], ids=["eager", "compiled"])
def baseline(judge: Judge, task: Task, request: pytest.FixtureRequest) -> Iterator[Template]:
    template = start_baseline(task, judge.zygote, judge.settings, compiled=request.param)
    yield template
    template.close()


@pytest.mark.compiler
def test_every_fork_of_a_baseline_answers(judge: Judge, task: Task, baseline: Template) -> None:
    harness: Harness = judge.harness(task)
    try:
        case = harness.cases.held_out[0]
        for _ in range(2):
            with baseline.fork() as runner:
                body = trial_body(case, poison=[], watched=False)
                done = runner.trial(body, case.given.file, seconds=60.0)
                assert compare(runner.read_output(done.tensors[0]), case.expected[0]).error <= 1
    finally:
        harness.close()


def test_a_reference_that_fails_when_called_again_is_a_bad_task(judge: Judge, task: Task) -> None:
    worn = msgspec.structs.replace(task, source=FAILS_WHEN_CALLED_OFTEN)
    with pytest.raises(TaskError, match="worn out"):
        start_baseline(worn, judge.zygote, judge.settings, compiled=False)


def test_a_process_has_one_thread_before_it_forks_and_its_fork_has_as_many_as_before() -> None:
    environment = {**os.environ, "OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "1"}
    subprocess.run(
        [sys.executable, "-c", FORK_AFTER_WORK], env=environment, check=True, timeout=120
    )
