"""The tools of the MCP server, over one agent campaign."""

import functools
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import TimeoutError as StillJudging
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, ParamSpec, TypeVar

import anyio
from anyio import to_thread
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

from kernelmill import __version__
from kernelmill.mcp import answers
from kernelmill.mcp.agent_campaign import AgentCampaign, Submission
from kernelmill.mcp.results import (
    BestText,
    GuideText,
    ProfileText,
    Recollection,
    SkillList,
    TaskList,
    TaskText,
    VerdictText,
)
from kernelmill.records.candidate import Candidate, Origin
from kernelmill.records.errors import KernelmillError

MOST_WAIT = 300.0
_STEP = 1.0
_INSTRUCTIONS = Path(__file__).with_name("instructions.md")
_P = ParamSpec("_P")
_T = TypeVar("_T")

TaskName = Annotated[str, Field(description="The name of a task, from list_tasks.")]


def _clear_errors(tool: Callable[_P, Awaitable[_T]]) -> Callable[_P, Awaitable[_T]]:
    """What the agent can correct is an error of the tool, in one line."""

    @functools.wraps(tool)
    async def call(*arguments: _P.args, **options: _P.kwargs) -> _T:
        try:
            return await tool(*arguments, **options)
        except KernelmillError as error:
            raise ToolError(str(error)) from error

    return call


def make_server(campaign: AgentCampaign) -> MCPServer:
    """A server whose tools work on this campaign; the caller closes the campaign."""
    server: MCPServer = MCPServer(
        "kernelmill",
        title="Kernelmill",
        instructions=_INSTRUCTIONS.read_text(encoding="utf-8"),
        version=__version__,
        log_level="WARNING",
        lifespan=_no_lifespan,
    )
    for tool in _tools(campaign):
        server.tool()(tool)
    return server


@asynccontextmanager
async def _no_lifespan(_server: MCPServer) -> AsyncIterator[None]:
    yield


def _tools(campaign: AgentCampaign) -> list[Callable[..., Awaitable[object]]]:
    reading, writing = _reading_tools(campaign), _judging_tools(campaign)
    return [*reading, *writing]


def _reading_tools(campaign: AgentCampaign) -> list[Callable[..., Awaitable[object]]]:
    @_clear_errors
    async def list_tasks() -> TaskList:
        """List the tasks with attempts left and the best speedup so far."""
        return await to_thread.run_sync(answers.task_list, campaign)

    @_clear_errors
    async def read_task(task: TaskName) -> TaskText:
        """Read a task: the PyTorch reference, shapes, and what a candidate must contain."""
        return await to_thread.run_sync(answers.read_task, campaign, task)

    @_clear_errors
    async def recall(task: TaskName) -> Recollection:
        """Recall what was learned for the next attempt on a task: lessons chosen by their learned
        value, the attempt to start from with its verdict, and an instruction. Call it before each
        attempt: the outcome of your next submission teaches what these lessons are worth."""
        return await to_thread.run_sync(answers.recall, campaign, task)

    @_clear_errors
    async def profile(
        attempt: Annotated[int, Field(description="The number of an attempt.", ge=1)],
    ) -> ProfileText:
        """Where the time of an attempt that passed goes: roofline, bottleneck, profile."""
        return await to_thread.run_sync(answers.profile, campaign, attempt)

    @_clear_errors
    async def best(task: TaskName) -> BestText:
        """The best attempt on a task with its source, and all attempts with their parents."""
        return await to_thread.run_sync(answers.best, campaign, task)

    @_clear_errors
    async def skills(
        name: Annotated[str, Field(description="A skill to read in full; empty lists all.")] = "",
    ) -> SkillList:
        """Expert methods for this backend: list them, or read one."""
        return await to_thread.run_sync(answers.skills, campaign, name)

    @_clear_errors
    async def guide(
        chapter: Annotated[str, Field(description="A chapter; empty: the contract.")] = "",
    ) -> GuideText:
        """The guide to the backend: contract of a candidate, API facts, the machine."""
        return await to_thread.run_sync(answers.guide, campaign, chapter)

    return [list_tasks, read_task, recall, profile, best, skills, guide]


def _judging_tools(campaign: AgentCampaign) -> list[Callable[..., Awaitable[object]]]:
    @_clear_errors
    async def submit(
        task: TaskName,
        files: Annotated[
            dict[str, str], Field(description="Source files by name, all of the candidate.")
        ],
        context: Context,
        approach: Annotated[
            str, Field(description="One line on what the kernel does differently.", max_length=500)
        ] = "",
        cost_usd: Annotated[
            float | None, Field(description="What writing it cost, if you know.", ge=0)
        ] = None,
    ) -> VerdictText:
        """Submit a candidate to be judged. Returns at once; call wait for the verdict. The same
        candidate again is the same submission and uses no further attempt."""
        candidate = Candidate(files, Origin.AGENT, task)
        submission = await to_thread.run_sync(
            campaign.submit, task, candidate, approach, _agent_name(context), cost_usd
        )
        return await to_thread.run_sync(answers.verdict, campaign, submission)

    @_clear_errors
    async def wait(
        submission: Annotated[str, Field(description="What submit returned.")],
        context: Context,
        seconds: Annotated[
            float, Field(description="Wait at most this long.", ge=0, le=MOST_WAIT)
        ] = 60.0,
    ) -> VerdictText:
        """Wait for the verdict on a submission; after the time it says that it is still judging."""
        found = await to_thread.run_sync(campaign.find, submission)
        if found is None:
            raise ToolError(f"there is no submission {submission!r}: call submit first")
        await _wait(found, seconds, context)
        return await to_thread.run_sync(answers.verdict, campaign, found)

    return [submit, wait]


async def _wait(submission: Submission, seconds: float, context: Context) -> None:
    begun = time.monotonic()
    while (waited := time.monotonic() - begun) < seconds and not submission.judged.done():
        await context.report_progress(waited, seconds, f"judging {submission.entry.name}")
        step = min(_STEP, seconds - waited)
        with anyio.move_on_after(step + _STEP):
            await to_thread.run_sync(_wait_step, submission, step)


def _wait_step(submission: Submission, seconds: float) -> None:
    try:
        submission.judged.exception(seconds)
    except StillJudging:
        pass


def _agent_name(context: Context) -> str:
    """The name that the client gave itself."""
    parameters = getattr(context.session, "client_params", None)
    info = getattr(parameters, "client_info", None) or getattr(parameters, "clientInfo", None)
    name = getattr(info, "name", "") or "agent"
    return f"agent:{name}"[:100]
