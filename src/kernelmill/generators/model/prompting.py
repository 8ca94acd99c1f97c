"""Prompts: templates filled with a proposal, within a budget of tokens."""

import functools
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from kernelmill.backends import get_backend
from kernelmill.backends.base import Backend
from kernelmill.generators.base import Declined
from kernelmill.generators.model.allotment import allot, tokens_of
from kernelmill.generators.model.call_problems import UnusableAnswer
from kernelmill.generators.model.examples import examples_of, relevant_example
from kernelmill.generators.model.prompt_content import (
    ChosenContent,
    GuidePoint,
    PromptContent,
    guide_points,
)
from kernelmill.generators.model.protocol import ChatMessage
from kernelmill.records.candidate import Candidate
from kernelmill.records.decisions import Decisions
from kernelmill.records.guidance import Diagnosis, Plan
from kernelmill.records.model_settings import WRITERS, ModelRole
from kernelmill.records.proposal import Draft, Hint, Proposal
from kernelmill.records.source_diff import source_diff
from kernelmill.records.task import Task
from kernelmill.records.verdict import Verdict
from kernelmill.tasks.shown import shown_source

CONTRACT = "contract"
"""The chapter of a guide that every prompt has."""
_NOTHING = ChosenContent((), (), (), {}, None, (), "", ())
_FENCE = re.compile(r"(`{3,})")


class Prompt(msgspec.Struct, frozen=True):
    system: str
    user: str
    left_out: tuple[str, ...] = ()
    """The parts that did not fit."""
    items: tuple[int, ...] = ()
    """Ids of the memory's items that are shown."""
    without_items: str = ""
    """What is shown besides them: the task, the machine, the guide, the example."""

    @property
    def messages(self) -> tuple[ChatMessage, ...]:
        return (ChatMessage("system", self.system), ChatMessage("user", self.user))

    @property
    def tokens(self) -> int:
        """An estimate."""
        return tokens_of(self.system + self.user)


def prompt_for(
    role: ModelRole,
    proposal: Proposal,
    most_tokens: int,
    plan: Plan | None = None,
    diagnosis: Diagnosis | None = None,
) -> Prompt:
    """The prompt for a role. Raises Declined where it is too long without its optional parts."""
    guide = get_backend(proposal.backend).guide()
    guidance = proposal.guidance
    facts = _facts(proposal.task, proposal.backend, guide) | {
        "parent": proposal.parent,
        "instruction": proposal.instruction,
        "combinations": proposal.combinations,
        "calibration": proposal.calibration,
        "guidance": guidance,
        "plan": plan,
        "diagnosis": diagnosis,
    }
    hints = _not_in_guide(proposal.context, guide)
    content = PromptContent(
        hints,
        _guide(role, guide, proposal.context, most_tokens),
        relevant_example(get_backend(proposal.backend), proposal.task)
        if role is ModelRole.GENERATOR
        else None,
        guidance.trajectory if guidance is not None and proposal.parent is not None else (),
        task=proposal.task.id,
        family=proposal.task.family,
        backend=proposal.backend,
        shown_source="" if proposal.parent is None else proposal.parent.candidate.digest,
        case=_code_case(proposal, plan) if role is ModelRole.OPTIMIZER else "",
    )
    return _fitted(role, facts, content, most_tokens)


def _fitted(
    role: ModelRole, facts: dict[str, Any], content: PromptContent, most_tokens: int
) -> Prompt:
    """The prompt with the parts that fit. Their sizes are estimates: the last may go again."""
    bare = _rendered(role, facts, content.chosen(()))
    if bare.tokens > most_tokens:
        raise Declined(
            f"the shortest prompt for the {role} takes {bare.tokens} tokens, and {most_tokens} are "
            "allowed: raise prompt_tokens"
        )
    chosen = allot(content.parts, most_tokens - bare.tokens)
    while True:
        prompt = _rendered(role, facts, content.chosen(chosen))
        if prompt.tokens <= most_tokens or not chosen:
            return prompt
        chosen = chosen[:-1]


def _code_case(proposal: Proposal, plan: Plan | None) -> str:
    """The code of the method that was planned."""
    if proposal.guidance is None or plan is None:
        return ""
    return next((one.code for one in proposal.guidance.methods if one.name == plan.method), "")


def _guide(
    role: ModelRole, guide: dict[str, str], context: tuple[Hint, ...], most_tokens: int
) -> list[GuidePoint]:
    """The guide without its contract, for the roles that write."""
    chapters = {name: f"#{text}" for name, text in guide.items() if name != CONTRACT}
    return guide_points(chapters, context, most_tokens) if role in WRITERS else []


def opening_role(proposal: Proposal) -> ModelRole:
    """The role that is asked first for a proposal."""
    parent, guidance = proposal.parent, proposal.guidance
    if parent is None:
        return ModelRole.GENERATOR
    if not parent.verdict.passed:
        return ModelRole.REPAIRER if guidance is None else ModelRole.DIAGNOSER
    return ModelRole.PLANNER if guidance is not None and guidance.methods else ModelRole.OPTIMIZER


def audit_prompt(task: Task, backend: str, candidate: Candidate) -> Prompt:
    guide = get_backend(backend).guide()
    facts = _facts(task, backend, guide) | {"candidate": candidate}
    return _rendered(ModelRole.AUDITOR, facts, _NOTHING)


def summary_prompt(proposal: Proposal, draft: Draft, verdict: Verdict) -> Prompt:
    guide = get_backend(proposal.backend).guide()
    parent, candidate = proposal.parent, draft.candidate
    facts = _facts(proposal.task, proposal.backend, guide) | {
        "candidate": candidate,
        "verdict": verdict,
        "parent": parent,
        "diff": "" if parent is None else source_diff(parent.candidate.files, candidate.files),
    }
    return _rendered(ModelRole.SUMMARISER, facts, _NOTHING)


def correction_message(unusable: UnusableAnswer) -> ChatMessage:
    """The message that says what is wrong with an answer, and asks for another."""
    template = environment().get_template("correction.user.j2")
    return ChatMessage(
        "user",
        template.render(problem=unusable.problem, found=unusable.found, instead=unusable.instead),
    )


def _facts(task: Task, backend: str, guide: dict[str, str]) -> dict[str, Any]:
    target = get_backend(backend)
    return {
        "task": task,
        "source": shown_source(task),
        "backend": backend,
        "title": target.title,
        "machine": target.machine(),
        "file_names": _file_names(target),
        "clock": target.clock,
        "baseline": target.baseline,
        "contract": re.sub(r"^# .*\n+", "", guide.get(CONTRACT, "")),
    }


def _rendered(role: ModelRole, facts: dict[str, Any], content: ChosenContent) -> Prompt:
    shown = facts | content._asdict() | {"left_out": _counted(content.left_out)}
    system, user = (
        environment().get_template(f"{role}.{part}.j2").render(shown) for part in ("system", "user")
    )
    other = "\n".join((facts["source"], *content.chapters.values(), *_texts(content.example)))
    return Prompt(_tidy(system), _tidy(user), content.left_out, content.items, other)


def _texts(candidate: Candidate | None) -> Iterable[str]:
    return () if candidate is None else candidate.files.values()


def _tidy(text: str) -> str:
    """The text without runs of empty lines, except in fenced blocks, which stay as they are."""
    lines: list[str] = []
    fence = ""
    for line in text.strip().splitlines():
        mark = _FENCE.match(line)
        if mark is not None and (not fence or line.strip() == fence):
            fence = "" if fence else mark[1]
        if fence or line.strip() or (lines and lines[-1].strip()):
            lines.append(line)
    return "\n".join(lines) + "\n"


def _counted(left_out: tuple[str, ...]) -> list[str]:
    counts = Counter(left_out)
    return [part if count == 1 else f"{part} ({count} times)" for part, count in counts.items()]


def _not_in_guide(hints: tuple[Hint, ...], guide: dict[str, str]) -> tuple[Hint, ...]:
    """The hints without the facts that the memory took from the guide, which is shown itself."""
    whole = "\n".join(guide.values())
    return tuple(hint for hint in hints if hint.kind != "api" or hint.text not in whole)


def _file_names(target: Backend) -> tuple[str, ...]:
    """The file names of a typical candidate, its entry first."""
    shortest = min(examples_of(target), key=lambda example: example.size, default=None)
    others = set(() if shortest is None else shortest.candidate.files) - {target.entry}
    return (target.entry, *sorted(others))


def _described(decisions: Decisions) -> str:
    return ", ".join(f"{name}={choice}" for name, choice in sorted(decisions.items()))


@functools.cache
def environment() -> Environment:
    """The templates; an undefined name in one of them is an error."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent.parent / "prompts"),
        undefined=StrictUndefined,
        autoescape=False,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["described"] = _described
    return environment
