"""What is no verdict on a kernel teaches nothing: no item, no value, no statistic changes."""

import signal
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from generators.model import endpoint
from generators.model.endpoint import Behaviour, Server, say, serving, status
from judge.kernels import KERNEL, MODEL, TASK
from kernelmill.campaign import Components, RunLimits, Watcher, run_campaign
from kernelmill.campaign.history import StoredHistory
from kernelmill.campaign.preflight import describe_tasks, find_tasks
from kernelmill.campaign.replay import ReplayGenerator
from kernelmill.generators.base import Generator
from kernelmill.generators.model.generator import ModelGenerator
from kernelmill.judge import Judge
from kernelmill.judge.correctness import failure_feedback
from kernelmill.memory import ItemKind, Memory
from kernelmill.records.attempt import Result, Seconds, State
from kernelmill.records.campaign import Campaign, NewTask
from kernelmill.records.model_settings import Model, ModelSettings, Patience, Price
from kernelmill.records.proposal import Draft, Proposal
from kernelmill.records.task import Task
from kernelmill.sandbox import SandboxCrashed
from kernelmill.strategies import Strategy, get_strategy
from kernelmill.workspace import Workspace
from samples import SETTINGS, make_candidate, make_result, make_task, make_verdict, observing

PATIENCE = Patience(
    first_token_seconds=1.0,
    between_tokens_seconds=1.0,
    answer_seconds=5.0,
    tries=2,
    first_pause_seconds=0.01,
    failures_in_a_row=99,
)
LEARNERS = ("value", "skill")
REFUSES_LATER = "if torch.initial_seed() > 1 << 32: __import__('os')._exit(3)\n        "


def learned(workspace: Workspace) -> object:
    """All that the memory holds, but for the guide."""
    memory = Memory(workspace.database)
    items = [item for item in memory.all_items() if item.kind is not ItemKind.API]
    return items, memory.all_values(), memory.all_statistics()


def add_campaign(workspace: Workspace, strategy: str, task: Task, budget: int = 3) -> Campaign:
    settings = msgspec.structs.replace(SETTINGS, strategy=strategy, budget=budget)
    return workspace.create_campaign(settings, [NewTask(task.id, task)])


def propose(workspace: Workspace, campaign: Campaign, strategy: Strategy, task: Task) -> Proposal:
    return strategy.propose(task, StoredHistory(workspace, campaign, 1, task.id, 1))


def store(workspace: Workspace, campaign: Campaign, strategy: Strategy, result: Result) -> None:
    claim = workspace.claim(campaign, 1)
    assert claim is not None
    workspace.complete(claim, result, observing(strategy))


@pytest.fixture
def experienced(tmp_path: Path) -> Workspace:
    """A workspace that has learned from one kernel that passed and one that was refused."""
    workspace = Workspace(tmp_path / "workspace", create=True)
    campaign = add_campaign(workspace, "value", make_task())
    for ratio in (None, 2.0):
        store(workspace, campaign, get_strategy("value"), make_result(ratio, text=str(ratio)))
    return workspace


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("signal_number", [signal.SIGKILL, None])
def test_a_lost_runner_teaches_nothing(
    experienced: Workspace, name: str, signal_number: int | None
) -> None:
    feedback = failure_feedback(SandboxCrashed(None, signal_number, ""))
    verdict = msgspec.structs.replace(make_verdict(None), feedback=(feedback,))
    strategy, task = get_strategy(name), make_task()
    campaign = add_campaign(experienced, name, task)
    proposal = propose(experienced, campaign, strategy, task)
    before = learned(experienced)
    result = Result(proposal, Seconds(), Draft(make_candidate("lost")), verdict)
    store(experienced, campaign, strategy, result)
    assert learned(experienced) == before
    (attempt,) = experienced.attempts(campaign, 1)
    assert attempt.state is State.REFUSED and not attempt.is_judged
    following = strategy.propose(task, StoredHistory(experienced, campaign, 1, task.id, 2))
    assert following.parent is None or following.parent.attempt != attempt.id
    assert not any("lost" in hint.text for hint in following.context)


def test_a_crash_of_the_kernel_is_a_verdict(experienced: Workspace) -> None:
    feedback = failure_feedback(SandboxCrashed(None, signal.SIGSEGV, ""))
    verdict = msgspec.structs.replace(make_verdict(None), feedback=(feedback,))
    strategy, task = get_strategy("value"), make_task()
    campaign = add_campaign(experienced, "value", task)
    proposal = propose(experienced, campaign, strategy, task)
    before = learned(experienced)
    result = Result(proposal, Seconds(), Draft(make_candidate("crash")), verdict)
    store(experienced, campaign, strategy, result)
    assert learned(experienced) != before


def test_declines_do_not_make_a_search_look_stale(experienced: Workspace) -> None:
    """Neither do they widen the pool, nor do they use up the patience with a base."""
    strategy, task = get_strategy("value"), make_task()
    campaign = add_campaign(experienced, "value", task, budget=30)
    first = propose(experienced, campaign, strategy, task)
    for _ in range(12):
        store(experienced, campaign, strategy, Result(first, Seconds(), declined="HTTP 503"))
    history = StoredHistory(experienced, campaign, 1, task.id, 1)
    again = strategy.propose(task, history)
    assert again.context == first.context


# With a real judge


@pytest.fixture
def tasks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "task.py").write_text(TASK)
    (tmp_path / "broken.py").write_text(
        TASK.replace("return 2 * x", f"{REFUSES_LATER}return 2 * x").replace(
            "rows = 64", "rows = 8"
        )
    )
    for name in ("task", "broken"):
        folder = tmp_path / "recorded" / name
        folder.mkdir(parents=True)
        (folder / "model.py").write_text(MODEL)
        (folder / "kernel.cpp").write_text(KERNEL)
    return tmp_path


def run(
    judge: Judge,
    workspace: Workspace,
    described: list[NewTask],
    generator: Generator,
    limits: Callable[[], RunLimits] = RunLimits,
) -> Campaign:
    settings = msgspec.structs.replace(SETTINGS, strategy="value", budget=1)
    campaign = workspace.create_campaign(settings, described)
    components = Components((judge,), generator, get_strategy("value"), None)
    run_campaign(workspace, campaign, components, limits(), Watcher())
    return campaign


def briefly() -> RunLimits:
    """An endpoint that does not answer is asked again, until the time is up."""
    return RunLimits(max_minutes=0.02, pauses=(0.01,))


def asking(server: Server, prompt_tokens: int = 24_000) -> ModelGenerator:
    generator = ModelGenerator()
    model = Model("m", "openai", server.address, max_tokens=1000, price=Price(10.0, 100.0))
    generator.use(
        ModelSettings((model,), patience=PATIENCE, prompt_tokens=prompt_tokens, cached=False)
    )
    return generator


NON_ANSWERS: dict[str, Behaviour] = {
    "unavailable": status(503),
    "server error": status(500),
    "bad request": status(400, "too long"),
    "rate limit": status(429, retry_after="0"),
    "silence": endpoint.silent,
    "broken off": endpoint.broken_off,
    "garbled": endpoint.garbled,
    "empty": say(""),
    "no files": say("I would rather not."),
    "refused": say("I'm sorry, I can't help with that."),
}


@pytest.mark.compiler
@pytest.mark.isolation
def test_only_verdicts_teach(judge: Judge, tasks: Path) -> None:
    pytest.importorskip("openai", reason="needs kernelmill[models]")
    workspace = Workspace(tasks / "workspace", create=True)
    recorded = ReplayGenerator(str(tasks / "recorded"))
    files = find_tasks(tuple(str(tasks / f"{name}.py") for name in ("task", "broken")))
    task, broken = ([one] for one in describe_tasks(judge, files, "cpu"))
    run(judge, workspace, task, recorded)
    before = learned(workspace)
    assert before != ([], [], {})

    for name, behaviour in NON_ANSWERS.items():
        with serving() as server:
            server.otherwise = behaviour
            campaign = run(judge, workspace, task, asking(server), briefly)
            assert server.asked, name
        attempts = workspace.attempts(campaign, 1)  # none where nothing was answered
        assert all(attempt.state is State.DECLINED for attempt in attempts), name
        assert learned(workspace) == before, name

    with serving() as server:
        too_long = asking(server, prompt_tokens=100)
        campaign = run(judge, workspace, task, too_long)
        assert not server.asked
        assert workspace.attempts(campaign, 1)[0].state is State.DECLINED
        assert learned(workspace) == before, "a prompt that does not fit"

        server.otherwise = say("nothing usable", tokens_in=1000, tokens_out=1000)
        run(judge, workspace, task, asking(server), lambda: RunLimits(max_usd=0.35))
        assert learned(workspace) == before, "an answer that cannot be paid"

    campaign = run(judge, workspace, broken, recorded)
    (entry,) = workspace.tasks(campaign)
    assert entry.set_aside
    assert learned(workspace) == before, "a reference that fails"
