"""An agent over MCP: the official client drives a task from the list to a champion."""

import asyncio
import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="needs kernelmill[mcp]")

import yaml

from judge.kernels import KERNEL, MODEL, TASK
from kernelmill.mcp.agent_campaign import AgentCampaign, AgentCampaignSettings
from kernelmill.mcp.server import make_server
from kernelmill.memory import Memory, ValueRole
from kernelmill.records.campaign import CampaignSettings
from kernelmill.skills.agent_skill import AGENT_SKILL, install_agent_skill
from kernelmill.workspace import Workspace
from mcp import Client, StdioServerParameters

HONEST = {"model.py": MODEL, "kernel.cpp": KERNEL}
WRONG = {"model.py": MODEL, "kernel.cpp": KERNEL.replace("2 *", "3 *")}
Connect = Callable[[], AbstractAsyncContextManager[Client]]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "doubling.py").write_text(TASK)
    return tmp_path


def settings(home: Path, budget: int = 2) -> AgentCampaignSettings:
    campaign = CampaignSettings(
        suites=(str(home / "doubling.py"),), backend="cpp", generator="agent", strategy="value",
        budget=budget, seed=0, scale="cpu", threads=2, compiled=False, rounds=5,
    )  # fmt: skip
    return AgentCampaignSettings(campaign, home / "w")


async def call(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    assert result.structured_content is not None
    assert result.structured_content["next_step"].endswith(".")
    return result.structured_content


async def error(client: Client, tool: str, **arguments: Any) -> str:
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    text = "\n".join(getattr(part, "text", "") for part in result.content)
    assert "Traceback" not in text
    return text


async def verdict_on(client: Client, submission: str) -> dict[str, Any]:
    """Other programs of this machine may be timing: it may take several calls."""
    for _ in range(20):
        verdict = await call(client, "wait", submission=submission, seconds=60)
        if verdict["state"] != "judging":
            break
    return verdict


async def drive(client: Client) -> None:
    """From the list of tasks to a champion."""
    (line,) = (await call(client, "list_tasks"))["tasks"]
    assert (line["task"], line["state"], line["attempts_left"]) == ("doubling", "open", 2)
    task = await call(client, "read_task", task="doubling")
    assert "class Model" in task["source"] and "HIDDEN" not in task["source"]
    assert task["hidden_shapes"] == 3 and "ModelNew" in (await call(client, "guide"))["text"]
    recalled = await call(client, "recall", task="doubling")
    assert recalled["stage"] == "draft" and recalled["parent"] is None
    seen: list[float] = []

    async def progress(done: float, total: float | None, message: str | None) -> None:
        seen.append(done)

    submitted = await call(client, "submit", task="doubling", files=WRONG)
    assert submitted["state"] == "judging"
    again = await call(client, "submit", task="doubling", files=WRONG)
    assert again["submission"] == submitted["submission"], "by content"
    waiting = {"submission": submitted["submission"], "seconds": 2}
    result = await client.call_tool("wait", waiting, progress_callback=progress)
    assert not result.is_error
    verdict = await verdict_on(client, submitted["submission"])
    assert (verdict["state"], verdict["gate"]) == ("refused", "correctness")
    assert "numerical" in verdict["feedback"][0] and verdict["attempts_left"] == 1
    assert seen == sorted(seen) and seen
    recalled = await call(client, "recall", task="doubling")
    assert "3 *" in recalled["parent"]["files"]["kernel.cpp"]
    assert "numerical" in recalled["parent"]["verdict"]
    submitted = await call(
        client, "submit", task="doubling", files=HONEST, approach="the factor is two"
    )
    verdict = await verdict_on(client, submitted["submission"])
    assert verdict["state"] == "passed" and verdict["champion"] and verdict["speedup"] > 0
    profile = await call(client, "profile", attempt=verdict["attempt"])
    assert profile["kernel_ms"] > 0
    best = await call(client, "best", task="doubling")
    assert best["files"] == HONEST and best["champion"]["attempt"] == verdict["attempt"]
    assert [one["approach"] for one in best["attempts"]] == ["", "the factor is two"]
    skills = (await call(client, "skills"))["skills"]
    assert (await call(client, "skills", name=skills[0]["name"]))["text"]


async def complain(client: Client) -> None:
    """Calls that cannot be answered get one clear line, and the server stays."""
    assert "no task 'nothing'" in await error(client, "read_task", task="nothing")
    assert "budget" in await error(client, "submit", task="doubling", files={"model.py": "pass"})
    assert "no files" in await error(client, "submit", task="doubling", files={})
    assert "not a path" in await error(client, "submit", task="doubling", files={"../x.py": "pass"})
    assert "call submit first" in await error(client, "wait", submission="doubling:0")
    assert "no attempt 99" in await error(client, "profile", attempt=99)
    assert "no chapter" in await error(client, "guide", chapter="nothing")
    assert "no skill" in await error(client, "skills", name="nothing")
    for arguments in ({}, {"task": 7}, {"task": "doubling", "files": "text"}):
        result = await client.call_tool("submit", arguments)
        assert result.is_error
    assert (await call(client, "list_tasks"))["tasks"][0]["state"] == "spent"


@pytest.mark.compiler
@pytest.mark.isolation
def test_an_agent_in_process(home: Path) -> None:
    async def work(campaign: AgentCampaign) -> None:
        async with Client(make_server(campaign), raise_exceptions=True) as client:
            await drive(client)
        async with Client(make_server(campaign)) as client:
            await complain(client)

    with AgentCampaign(settings(home)) as campaign:
        asyncio.run(work(campaign))
    with Workspace(home / "w") as workspace:
        opened = workspace.campaign()
        wrong, honest = workspace.attempts(opened, 1)
        assert (wrong.gate, honest.parent) == ("correctness", wrong.id)
        assert honest.cost_usd is None, "an unknown price is unknown"
        assert workspace.calls(honest.id)[0].model.startswith("agent:")
        memory = Memory(workspace.database)
        learned = [item for item in memory.all_items() if item.provenance.attempt is not None]
        assert {item.provenance.generator for item in learned} == {"agent"}
        shown = [hint.item for hint in honest.context if hint.item is not None]
        valued = memory.values([item.id for item in learned] + shown, ValueRole.DRAFT)
        assert any(value.visits for value in valued.values()) or not shown
    assert (home / "w" / "best" / "cpp" / "doubling" / "kernel.cpp").read_text() == KERNEL
    assert (home / "w" / "report.html").is_file()
    with AgentCampaign(settings(home, budget=3)) as campaign:  # the same campaign, continued
        known = campaign.find(f"doubling:{honest.source}")
        assert known is not None and known.judged.result() == honest.id


def test_a_campaign_that_cannot_begin_says_why(home: Path) -> None:
    (home / "doubling.py").write_text("class Model: pass\n")

    async def work(campaign: AgentCampaign) -> None:
        async with Client(make_server(campaign)) as client:
            assert "none of the 1 tasks loads" in await error(client, "list_tasks")

    with AgentCampaign(settings(home)) as campaign:
        asyncio.run(work(campaign))


def command(home: Path, *options: str) -> list[str]:
    return [
        "-m", "kernelmill", "mcp", str(home / "doubling.py"), "--budget", "2", "--rounds", "5",
        "--workspace", str(home / "w"), *options,
    ]  # fmt: skip


@pytest.mark.slow
@pytest.mark.compiler
@pytest.mark.isolation
def test_an_agent_over_stdio(home: Path) -> None:
    parameters = StdioServerParameters(
        command=sys.executable, args=command(home), env=dict(os.environ)
    )

    async def work() -> None:
        async with Client(parameters) as client:
            await drive(client)

    asyncio.run(work())


@pytest.fixture
def http_server(home: Path) -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, *command(home, "--http", "--port", str(port))],
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.wait(30)


@pytest.mark.compiler
@pytest.mark.isolation
def test_an_agent_over_http(http_server: str) -> None:
    async def work() -> None:
        async with Client(http_server) as client:
            await drive(client)
            await complain(client)

    asyncio.run(work())


def test_the_skill_for_agents_names_tools_that_exist(tmp_path: Path) -> None:
    text = AGENT_SKILL.read_text()
    _, front, body = text.split("---\n", 2)
    described = yaml.safe_load(front)
    assert described["name"] == "kernelmill" and len(described["description"]) <= 1024
    assert len(body.splitlines()) < 500

    class Unopened(AgentCampaign):
        def __init__(self) -> None:
            pass

    async def tools() -> set[str]:
        return {tool.name for tool in await make_server(Unopened()).list_tools()}

    exist = asyncio.run(tools())
    named = set(re.findall(r"`([a-z_]+)`", body))
    assert {"list_tasks", "recall", "submit", "wait"} <= named & exist
    fields = {"open", "solved", "contract", "approach", "judging", "next_step", "kernelmill",
              "attempts_left", "speed_of_light"}  # fmt: skip
    assert named <= exist | fields, named - exist - fields
    assert exist <= named, "a tool that the skill does not mention"
    path = install_agent_skill("claude", tmp_path)
    assert path == tmp_path / ".claude" / "skills" / "kernelmill" / "SKILL.md"
    assert path.parent.name == described["name"]


@pytest.mark.slow
@pytest.mark.compiler
@pytest.mark.isolation
def test_what_an_agent_wrote_still_passes(tmp_path: Path) -> None:
    """The kernels of docs/results/agent-over-mcp.md, judged anew."""
    recorded = Path(__file__).parent / "recorded"
    tasks = sorted(str(path.relative_to(recorded)) for path in recorded.glob("*/*"))
    replay = [
        sys.executable, "-m", "kernelmill", "run", *tasks, "--generator", f"replay:{recorded}",
        "--strategy", "refine", "--budget", "2", "--rounds", "5", "--no-compile",
        "--workspace", str(tmp_path / "w"),
    ]  # fmt: skip
    subprocess.run(replay, check=True, capture_output=True)
    with Workspace(tmp_path / "w") as workspace:
        totals = workspace.totals(workspace.campaign())
    assert (len(tasks), totals.solved, totals.passed) == (2, 2, 4)


def test_settings_for_agents_start_a_program_that_exists(tmp_path: Path) -> None:
    """An agent is seldom started from an activated environment."""
    install = [sys.executable, "-m", "kernelmill", "skills", "install", "--folder", str(tmp_path)]
    printed = subprocess.run(install, check=True, capture_output=True, text=True).stdout
    settings = json.loads(printed.strip().splitlines()[-1])
    server = settings["mcpServers"]["kernelmill"]
    help_text = subprocess.run(
        [server["command"], *server["args"][:-1], "--help"],
        check=True, capture_output=True, text=True, env={"PATH": ""},
    ).stdout  # fmt: skip
    assert "Model Context Protocol" in help_text
