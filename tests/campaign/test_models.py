"""Campaigns with a real judge, and a local endpoint in place of language models."""

import json
from pathlib import Path

import msgspec
import pytest

from generators.model import endpoint
from generators.model.endpoint import Behaviour, Handler, Server, say, serving, status
from judge.kernels import KERNEL, MODEL, TASK
from kernelmill.campaign import Components, Ending, RunLimits, Watcher, run_campaign
from kernelmill.campaign.preflight import describe_tasks, find_tasks
from kernelmill.generators.model.auditor import auditor_of
from kernelmill.generators.model.call_problems import CallProblem
from kernelmill.generators.model.generator import ModelGenerator
from kernelmill.generators.model.model_client import ModelClient, Unanswered
from kernelmill.generators.model.protocol import ChatMessage, Question
from kernelmill.generators.model.summariser import summariser_of
from kernelmill.judge import Judge
from kernelmill.records.attempt import State
from kernelmill.records.campaign import Campaign, EventKind
from kernelmill.records.model_calls import ModelCall
from kernelmill.records.model_settings import Model, ModelRole, ModelSettings, Patience, Price
from kernelmill.strategies import get_strategy
from kernelmill.workspace import Workspace
from samples import SETTINGS

pytest.importorskip("openai", reason="needs kernelmill[models]")
pytestmark = [pytest.mark.compiler, pytest.mark.isolation]
PRICE = Price(10.0, 100.0)
MOST = 2000
"""Tokens of an answer."""
PATIENCE = Patience(
    first_token_seconds=2.0,
    between_tokens_seconds=2.0,
    answer_seconds=10.0,
    tries=2,
    first_pause_seconds=0.01,
    failures_in_a_row=20,
)


def written(kernel: str) -> str:
    return (
        "Approach: rows in parallel\nExpect: memory\n\n"
        f"### model.py\n```python\n{MODEL}```\n\n### kernel.cpp\n```cpp\n{kernel}```\n"
    )


def writing(kernel: str = KERNEL) -> Behaviour:
    """The whole kernel with a new comment each time, so that it also counts as a change."""

    def behave(handler: Handler) -> None:
        number = len(handler.server.asked)
        say(written(f"{kernel}// {number}\n"), tokens_in=1000, tokens_out=500)(handler)

    return behave


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "one.py").write_text(TASK)
    (tmp_path / "two.py").write_text(TASK.replace("rows = 64", "rows = 32"))
    return Workspace(tmp_path / "workspace", create=True)


def begin(judge: Judge, workspace: Workspace, budget: int, tasks: int = 2) -> Campaign:
    names = ("one.py", "two.py")[:tasks]
    entries = find_tasks(tuple(str(workspace.folder.parent / name) for name in names))
    settings = msgspec.structs.replace(SETTINGS, budget=budget, generator="model")
    return workspace.create_campaign(settings, list(describe_tasks(judge, entries, "cpu")))


def components(judge: Judge, server: Server, *names: str, **settings: object) -> Components:
    models = tuple(
        Model(name, "openai", server.address, max_tokens=MOST, price=PRICE)
        for name in names or ("m",)
    )
    generator = ModelGenerator()
    generator.use(ModelSettings(models, patience=PATIENCE, **settings))
    return Components((judge,), generator, get_strategy("refine"), auditor_of(generator))


def problems(workspace: Workspace, campaign: Campaign) -> list[str]:
    return [
        call.problem.partition(":")[0]
        for task in (1, 2)
        for attempt in workspace.attempts(campaign, task)
        for call in workspace.calls(attempt.id)
    ]


def test_a_campaign_survives_a_hostile_endpoint(judge: Judge, workspace: Workspace) -> None:
    campaign = begin(judge, workspace, budget=4)
    hostile = (
        writing(), status(429, retry_after="0"), endpoint.silent, endpoint.half_closed,
        endpoint.garbled, say(""), endpoint.ten_megabytes, say("No."), say("No!"),
        endpoint.broken_off, status(500), status(400, "too long for me"),
    )  # fmt: skip
    with serving(*hostile) as server:
        server.otherwise = writing()
        limits = RunLimits(pauses=(0.01,))
        ending = run_campaign(workspace, campaign, components(judge, server), limits, Watcher())
        asked = len(server.asked)
    assert ending is Ending.COMPLETE
    assert workspace.totals(campaign).done == 8
    found = problems(workspace, campaign)
    assert len(found) == asked
    for problem in (
        CallProblem.RATE_LIMITED, CallProblem.TIME_OUT, CallProblem.BROKEN_OFF, CallProblem.NOT_UNDERSTOOD,
        CallProblem.EMPTY, CallProblem.TOO_LONG, CallProblem.NO_BLOCK, CallProblem.SERVER_ERROR,
        CallProblem.BAD_REQUEST,
    ):  # fmt: skip
        assert problem in found
    attempts = [a for task in (1, 2) for a in workspace.attempts(campaign, task)]
    declined = [a for a in attempts if a.state is State.DECLINED]
    assert declined and all(a.reason and a.cost_usd is not None for a in declined)
    # A decline of today is no reason not to ask tomorrow.
    assert all(entry.set_aside is None for entry in workspace.tasks(campaign))
    assert workspace.totals(campaign).passed
    spending = workspace.spending(campaign)
    assert sum(one.calls for one in spending) == asked
    total = sum(one.cost_usd or 0.0 for one in spending)
    assert total == pytest.approx(workspace.totals(campaign).known_usd)
    assert total == pytest.approx(workspace.expenses(campaign).spent_usd)


@pytest.mark.parametrize("max_usd", [0.0, 0.05, 0.7, 1.5])
def test_the_cost_limit_holds_whatever_an_endpoint_charges(
    judge: Judge, workspace: Workspace, max_usd: float
) -> None:
    """Every answer costs its upper bound, by the server's own account."""
    campaign = begin(judge, workspace, budget=6)

    def most_expensive(handler: Handler) -> None:
        text = written(f"{KERNEL}// {len(handler.server.asked)}\n")
        say(text, tokens_in=len(handler.prompt.encode()), tokens_out=MOST)(handler)

    with serving() as server:
        server.otherwise = most_expensive
        limits = RunLimits(max_usd=max_usd)
        ending = run_campaign(workspace, campaign, components(judge, server), limits, Watcher())
        billed = sum(PRICE.cost(len(one.prompt.encode()), MOST) for one in server.asked)
    assert ending is Ending.OUT_OF_MONEY
    assert billed <= max_usd
    said = [event.text for event in workspace.events(campaign) if event.kind is EventKind.NO_MONEY]
    assert max_usd != 0.05 or "the next call may cost" in said[0]
    assert workspace.expenses(campaign).spent_usd == pytest.approx(billed)
    assert workspace.totals(campaign).claimed == 0
    assert bool(server.asked) == (max_usd > 0.5)


def test_what_a_killed_attempt_cost_is_not_forgotten(judge: Judge, workspace: Workspace) -> None:
    campaign = begin(judge, workspace, budget=2)
    lost = workspace.expenses(campaign).reserve(0.6, None)
    assert lost is not None
    with serving() as server:
        server.otherwise = writing()
        limits = RunLimits(max_usd=0.7)
        ending = run_campaign(workspace, campaign, components(judge, server), limits, Watcher())
        assert (ending, server.asked) == (Ending.OUT_OF_MONEY, [])


def test_an_objection_is_a_refusal_at_the_gate_of_integrity(
    judge: Judge, workspace: Workspace
) -> None:
    campaign = begin(judge, workspace, budget=2, tasks=1)

    def behave(handler: Handler) -> None:
        if "You audit compute kernels" not in handler.prompt:
            writing()(handler)
            return
        opinion = {
            "valid": "// 1" not in handler.prompt,
            "reason": "it fills the output with a constant",
        }
        say(json.dumps(opinion))(handler)

    with serving() as server:
        server.otherwise = behave
        audited = components(judge, server, audit=True)
        run_campaign(workspace, campaign, audited, RunLimits(), Watcher())
        # Only what the rules let through and what builds is worth an audit.
        assert sum("You audit" in one.prompt for one in server.asked) == 2
    refused, passed = workspace.attempts(campaign, 1)
    assert (refused.state, passed.state) == (State.REFUSED, State.PASSED)
    assert refused.gate == "integrity"
    assert refused.reason == "integrity: audit: it fills the output with a constant"
    roles = [call.role for a in (refused, passed) for call in workspace.calls(a.id)]
    assert roles.count("auditor") == 2


def test_a_summariser_writes_what_a_verdict_teaches(judge: Judge, workspace: Workspace) -> None:
    """Its words are shown in place of the bare facts, and its calls are paid with the attempt."""
    campaign = begin(judge, workspace, budget=2, tasks=1)
    broken = KERNEL.replace("2 * x", "3 * x")

    def behave(handler: Handler) -> None:
        if "You write one entry for the memory" in handler.prompt:
            say(json.dumps({"lesson": "The factor in `run` is 3 instead of 2."}))(handler)
        else:
            writing(broken)(handler)

    with serving() as server:
        server.otherwise = behave
        models = tuple(
            Model(name, "openai", server.address, roles=roles, max_tokens=MOST, price=PRICE)
            for name, roles in (("strong", ()), ("cheap", (ModelRole.SUMMARISER,)))
        )
        generator = ModelGenerator()
        generator.use(ModelSettings(models, patience=PATIENCE))
        summarised = Components(
            (judge,), generator, get_strategy("value"), summariser=summariser_of(generator)
        )
        run_campaign(workspace, campaign, summarised, RunLimits(), Watcher())
        prompts = [one.prompt for one in server.asked]
    assert sum("You write one entry" in prompt for prompt in prompts) == 2
    (last,) = [p for p in prompts[2:] if "You write one entry" not in p]
    assert "The factor in `run` is 3 instead of 2." in last
    first, _ = workspace.attempts(campaign, 1)
    assert [(call.role, call.model) for call in workspace.calls(first.id)] == [
        ("generator", "strong"), ("summariser", "cheap"),
    ]  # fmt: skip


def test_a_campaign_that_is_repeated_asks_nobody_anew(judge: Judge, workspace: Workspace) -> None:
    with serving() as server:
        server.otherwise = writing()
        for _ in range(2):
            campaign = begin(judge, workspace, budget=1, tasks=1)
            run_campaign(workspace, campaign, components(judge, server), RunLimits(), Watcher())
        assert len(server.asked) == 1
    first, second = workspace.campaigns()
    (before,), (after,) = (workspace.attempts(one, 1) for one in (first, second))
    assert before.source == after.source
    (call,) = workspace.calls(after.id)
    assert call.cached and after.cost_usd == 0.0 and before.cost_usd


def test_two_attempts_never_share_an_answer(judge: Judge, workspace: Workspace) -> None:
    """Not even where their prompts are identical."""
    campaign = begin(judge, workspace, budget=3, tasks=1)
    with serving() as server:
        server.otherwise = writing()
        independent = components(judge, server)._replace(strategy=get_strategy("best-of-n"))
        run_campaign(workspace, campaign, independent, RunLimits(), Watcher())
        prompts = {one.prompt for one in server.asked}
        assert (len(prompts), len(server.asked)) == (1, 3)
    assert len({attempt.source for attempt in workspace.attempts(campaign, 1)}) == 3


@pytest.mark.parametrize(
    ("code", "message"),
    [(401, "revoked"), (429, "You exceeded your current quota")],
    ids=str,
)
def test_an_endpoint_that_is_gone_ends_the_run_at_once_and_loses_nothing(
    code: int, message: str, judge: Judge, workspace: Workspace
) -> None:
    campaign = begin(judge, workspace, budget=2, tasks=1)
    with serving(writing(), status(code, message, kind="insufficient_quota")) as server:
        server.otherwise = writing()
        workers = components(judge, server)
        ending = run_campaign(workspace, campaign, workers, RunLimits(), Watcher())
        assert ending is Ending.NO_GENERATOR
        assert len(server.asked) == 2, "it is not asked again"
        totals = workspace.totals(campaign)
        assert (totals.done, totals.claimed) == (1, 0)
        said = [e.text for e in workspace.events(campaign) if e.kind is EventKind.NO_GENERATOR]
        assert message in said[0]
        assert run_campaign(workspace, campaign, workers, RunLimits(), Watcher()) is Ending.COMPLETE
    assert workspace.totals(campaign).done == 2


class Pauses(Watcher):
    def __init__(self) -> None:
        self.said: list[tuple[str, float]] = []

    def paused(self, reason: str, seconds: float) -> None:
        self.said.append((reason, seconds))


def test_a_campaign_pauses_while_its_endpoint_does_not_answer(
    judge: Judge, workspace: Workspace
) -> None:
    campaign = begin(judge, workspace, budget=1, tasks=1)
    # Two tries per question: the first two questions get no answer.
    with serving(*[status(503, "overloaded")] * 4) as server:
        server.otherwise = writing()
        watcher, limits = Pauses(), RunLimits(pauses=(0.01, 0.02))
        ending = run_campaign(workspace, campaign, components(judge, server), limits, watcher)
    assert ending is Ending.COMPLETE
    assert [seconds for _, seconds in watcher.said] == [0.01, 0.02]
    assert all("overloaded" in reason for reason, _ in watcher.said)
    assert [e.kind for e in workspace.events(campaign)].count(EventKind.PAUSED) == 2
    (attempt,) = workspace.attempts(campaign, 1)
    assert attempt.state is State.PASSED
    # The calls in vain are told of, and cost nothing.
    assert len(workspace.calls(attempt.id)) == 5
    assert attempt.cost_usd == pytest.approx(PRICE.cost(1000, 500))


def test_a_run_ends_paused_where_its_endpoint_stays_away(
    judge: Judge, workspace: Workspace
) -> None:
    campaign = begin(judge, workspace, budget=2)
    patience = msgspec.structs.replace(PATIENCE, tries=1, failures_in_a_row=3)
    with serving() as server:
        server.otherwise = status(503, "overloaded")
        model = Model("m", "openai", server.address, max_tokens=MOST, price=PRICE)
        generator = ModelGenerator()
        generator.use(ModelSettings((model,), patience=patience))
        workers = Components((judge,), generator, get_strategy("refine"))
        limits = RunLimits(pauses=(0.01,))
        ending = run_campaign(workspace, campaign, workers, limits, Watcher())
        assert ending is Ending.NO_GENERATOR
        assert workspace.totals(campaign).done == workspace.totals(campaign).claimed == 0
        assert workspace.expenses(campaign).spent_usd == 0.0
        server.otherwise = writing()
        ending = run_campaign(workspace, campaign, workers, RunLimits(), Watcher())
    assert ending is Ending.COMPLETE and workspace.totals(campaign).done == 4


def test_a_connection_that_is_never_made_costs_nothing() -> None:
    """The address is reserved for documentation: nobody is there."""
    model = Model("m", "openai", "http://192.0.2.1:9/v1", max_tokens=MOST, price=PRICE)
    patience = msgspec.structs.replace(PATIENCE, connect_seconds=0.05, tries=1)
    client = ModelClient(ModelSettings((model,), patience=patience, cached=False))
    calls: list[ModelCall] = []
    question = Question(model, ModelRole.GENERATOR, "", (ChatMessage("user", "?"),), MOST, 0)
    with pytest.raises(Unanswered):
        client.ask(question, calls)
    assert [call.cost_usd for call in calls] == [0.0]
