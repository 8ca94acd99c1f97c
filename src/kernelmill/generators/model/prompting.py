"""Prompts: templates filled with a proposal, within a budget of tokens."""

import functools
import re
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from kernelmill.backends import get_backend
from kernelmill.backends.base import Backend
from kernelmill.backends.reading import read_candidate
from kernelmill.generators.base import Declined
from kernelmill.generators.model.call_problems import UnusableAnswer
from kernelmill.generators.model.protocol import ChatMessage
from kernelmill.records.candidate import Candidate, Origin
from kernelmill.records.decisions import Decisions
from kernelmill.records.guidance import Diagnosis, Plan, TrajectoryStep
from kernelmill.records.model_settings import WRITERS, ModelRole
from kernelmill.records.proposal import Hint, Proposal
from kernelmill.records.task import Task
from kernelmill.tasks.shown import shown_source

CONTRACT = "contract"
"""The chapter of a guide that every prompt has."""
_BYTES_PER_TOKEN = 3.0
"""A low estimate for source code, so that tokens are rather over-counted."""
_FENCE = re.compile(r"(`{3,})")


class Prompt(msgspec.Struct, frozen=True):
    system: str
    user: str
    left_out: tuple[str, ...] = ()
    """The parts that did not fit."""

    @property
    def messages(self) -> tuple[ChatMessage, ...]:
        return (ChatMessage("system", self.system), ChatMessage("user", self.user))

    @property
    def tokens(self) -> int:
        """An estimate."""
        return round(len((self.system + self.user).encode()) / _BYTES_PER_TOKEN)


class _OptionalParts(msgspec.Struct, frozen=True):
    """The parts that may be left out of a prompt."""

    example: Candidate | None
    hints: tuple[Hint, ...]
    chapters: dict[str, str]
    steps: tuple[TrajectoryStep, ...]
    left_out: tuple[str, ...] = ()

    def reduced(self) -> "_OptionalParts | None":
        """All but the least important part; None where no part is left."""
        if self.example is not None:
            return self._without("the example", example=None)
        remembered = [hint for hint in self.hints if hint.item is not None]
        if remembered:
            kept = tuple(hint for hint in self.hints if hint is not remembered[-1])
            return self._without("a lesson from another attempt", hints=kept)
        if self.chapters:
            *others, last = self.chapters
            chapters = {name: self.chapters[name] for name in others}
            return self._without(f"the guide's chapter on {last}", chapters=chapters)
        if self.hints:
            return self._without("an early attempt on this task", hints=self.hints[1:])
        if self.steps:
            return self._without("an early step on this task", steps=self.steps[1:])
        return None

    def _without(self, part: str, **changes: Any) -> "_OptionalParts":
        return msgspec.structs.replace(self, **changes, left_out=(*self.left_out, part))


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
        "guidance": guidance,
        "plan": plan,
        "diagnosis": diagnosis,
    }
    chapters = {name: f"#{text}" for name, text in guide.items() if name != CONTRACT}
    parts: _OptionalParts | None = _OptionalParts(
        _example(proposal) if role is ModelRole.GENERATOR else None,
        _not_in_guide(proposal.context, guide),
        chapters if role in WRITERS else {},
        guidance.trajectory if guidance is not None and proposal.parent is not None else (),
    )
    while parts is not None:
        prompt = _rendered(role, facts, parts)
        if prompt.tokens <= most_tokens:
            return prompt
        parts = parts.reduced()
    raise Declined(
        f"the shortest prompt for the {role} takes {prompt.tokens} tokens, and {most_tokens} are "
        "allowed: raise prompt_tokens"
    )


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
    return _rendered(ModelRole.AUDITOR, facts, _OptionalParts(None, (), {}, ()))


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


def _rendered(role: ModelRole, facts: dict[str, Any], parts: _OptionalParts) -> Prompt:
    shown = facts | msgspec.structs.asdict(parts) | {"left_out": _counted(parts.left_out)}
    system, user = (
        environment().get_template(f"{role}.{part}.j2").render(shown) for part in ("system", "user")
    )
    return Prompt(_tidy(system), _tidy(user), parts.left_out)


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
    example = _shortest(target.examples(), target.entry, without="")
    others = set(() if example is None else example.files) - {target.entry}
    return (target.entry, *sorted(others))


def _example(proposal: Proposal) -> Candidate | None:
    """The shortest shipped candidate for another task."""
    target = get_backend(proposal.backend)
    return _shortest(target.examples(), target.entry, proposal.task.id)


@functools.cache
def _shortest(folder: Path, entry: str, without: str) -> Candidate | None:
    found = []
    for path in sorted(folder.rglob(entry)):
        name = str(path.parent.relative_to(folder))
        if name != without:
            found.append((name, read_candidate(path.parent, Origin.SHIPPED)))
    if not found:
        return None
    name, candidate = min(found, key=lambda pair: sum(map(len, pair[1].files.values())))
    return msgspec.structs.replace(candidate, name=name)


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
