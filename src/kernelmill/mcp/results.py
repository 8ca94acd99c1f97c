"""Answers of the MCP server's tools: structured, with one sentence on what to do next."""

from typing import Annotated

from pydantic import BaseModel, Field


class ToolResult(BaseModel):
    next_step: str = Field(description="What to do next, in one sentence.")


class AgentTask(BaseModel):
    task: str
    family: str
    state: str = Field(description="open, solved, spent, or why it cannot be worked on")
    attempts: int
    attempts_left: int
    best_speedup: float | None = Field(description="over the baseline; null while unsolved")


class TaskList(ToolResult):
    backend: str
    tasks: list[AgentTask]


class TaskText(ToolResult):
    task: str
    family: str
    source: str = Field(description="the PyTorch reference")
    inputs: list[str]
    outputs: list[str]
    parameters: dict[str, str]
    promises: list[str] = Field(description="what all inputs have in common")
    hidden_shapes: int = Field(description="how many other shapes are checked; they stay secret")
    candidate: str = Field(description="what a candidate must contain")


class LessonText(BaseModel):
    kind: str
    text: str
    value: float | None = Field(description="learned value for this stage; null where unvalued")
    visits: int
    why: str


class ParentText(BaseModel):
    attempt: int
    files: dict[str, str]
    verdict: str


class Recollection(ToolResult):
    task: str
    stage: str = Field(description="draft: nothing has passed yet; refine: make the parent faster")
    instruction: str
    lessons: list[LessonText]
    parent: ParentText | None


class VerdictText(ToolResult):
    submission: str
    state: str = Field(description="judging, passed, refused, or failed")
    attempt: int | None = None
    gate: str | None = None
    feedback: list[str] = []
    speedup: Annotated[float | None, Field(description="over the baseline")] = None
    interval: list[float] = []
    kernel_ms: float | None = None
    baseline_ms: float | None = None
    champion: Annotated[bool, Field(description="whether it is the best of its task now")] = False
    attempts_left: int | None = None


class ProfileText(ToolResult):
    attempt: int
    kernel_ms: float | None
    speed_of_light: float | None = Field(description="share of the roofline that is reached")
    bottleneck: str | None
    details: list[str]


class AttemptLine(BaseModel):
    attempt: int
    number: int
    state: str
    speedup: float | None
    parent: int | None
    reason: str
    approach: str


class BestText(ToolResult):
    task: str
    champion: AttemptLine | None
    files: dict[str, str]
    attempts: list[AttemptLine] = Field(description="all attempts; parent says what came of which")


class SkillLine(BaseModel):
    name: str
    title: str
    expects: str


class SkillList(ToolResult):
    skills: list[SkillLine]
    text: Annotated[str, Field(description="the instructions of the skill that was named")] = ""


class GuideText(ToolResult):
    chapters: list[str]
    chapter: str
    text: str
    machine: list[str]
