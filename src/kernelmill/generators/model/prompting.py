"""What a model is sent: templates filled with a proposal, within a budget of tokens."""

import functools
import re
from pathlib import Path
from typing import Any

import msgspec
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from kernelmill.backends import get_backend
from kernelmill.backends.base import Backend
from kernelmill.candidate import Candidate, Origin, read_candidate
from kernelmill.generators.base import Declined, Hint, Proposal
from kernelmill.generators.decisions import Decisions
from kernelmill.generators.model.problems import Malformed
from kernelmill.generators.model.protocol import Message
from kernelmill.generators.model.settings import WRITERS, Role
from kernelmill.generators.planning import Diagnosis, Plan, Step
from kernelmill.tasks.shown import shown_source
from kernelmill.tasks.task import Task

CONTRACT = "contract"
"""The chapter of a guide that nobody can do without."""
_BYTES_A_TOKEN = 3.0
"""Of code; a guess on the safe side."""
_FENCE = re.compile(r"(`{3,})")


class Prompt(msgspec.Struct, frozen=True):
    system: str
    user: str
    left_out: tuple[str, ...] = ()

    @property
    def messages(self) -> tuple[Message, ...]:
        return (Message("system", self.system), Message("user", self.user))

    @property
    def tokens(self) -> int:
        return round(len((self.system + self.user).encode()) / _BYTES_A_TOKEN)


class _Room(msgspec.Struct, frozen=True):
    """What may be left out of a prompt."""

    example: Candidate | None
    hints: tuple[Hint, ...]
    chapters: dict[str, str]
    steps: tuple[Step, ...]
    left_out: tuple[str, ...] = ()

    def smaller(self) -> "_Room | None":
        """Without the least of what is left; None where nothing is."""
        if self.example is not None:
            return self._without("the example", example=None)
        remembered = [hint for hint in self.hints if hint.item is not None]
        if remembered:
            kept = tuple(hint for hint in self.hints if hint is not remembered[-1])
            return self._without("a lesson of another attempt", hints=kept)
        if self.chapters:
            *others, last = self.chapters
            chapters = {name: self.chapters[name] for name in others}
            return self._without(f"the guide's chapter on {last}", chapters=chapters)
        if self.hints:
            return self._without("an early attempt on this task", hints=self.hints[1:])
        if self.steps:
            return self._without("an early step on this task", steps=self.steps[1:])
        return None

    def _without(self, what: str, **changes: Any) -> "_Room":
        return msgspec.structs.replace(self, **changes, left_out=(*self.left_out, what))


def prompt_for(
    role: Role,
    proposal: Proposal,
    most_tokens: int,
    plan: Plan | None = None,
    diagnosis: Diagnosis | None = None,
) -> Prompt:
    """Raises Declined where even the least that must be said takes too much."""
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
    room: _Room | None = _Room(
        _example(proposal) if role is Role.GENERATOR else None,
        _not_in_guide(proposal.context, guide),
        chapters if role in WRITERS else {},
        guidance.trajectory if guidance is not None and proposal.parent is not None else (),
    )
    while room is not None:
        prompt = _rendered(role, facts, room)
        if prompt.tokens <= most_tokens:
            return prompt
        room = room.smaller()
    raise Declined(
        f"the prompt of the {role} takes {prompt.tokens} tokens at the least, and {most_tokens} "
        "are allowed: raise prompt_tokens"
    )


def opening_role(proposal: Proposal) -> Role:
    """Who is asked first."""
    parent, guidance = proposal.parent, proposal.guidance
    if parent is None:
        return Role.GENERATOR
    if not parent.verdict.passed:
        return Role.REPAIRER if guidance is None else Role.DIAGNOSER
    return Role.PLANNER if guidance is not None and guidance.methods else Role.OPTIMIZER


def audit_prompt(task: Task, backend: str, candidate: Candidate) -> Prompt:
    guide = get_backend(backend).guide()
    facts = _facts(task, backend, guide) | {"candidate": candidate}
    return _rendered(Role.AUDITOR, facts, _Room(None, (), {}, ()))


def mending(malformed: Malformed) -> Message:
    """What is said to an answer that cannot be used."""
    template = environment().get_template("mend.user.j2")
    return Message(
        "user",
        template.render(
            problem=malformed.problem, found=malformed.found, instead=malformed.instead
        ),
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


def _rendered(role: Role, facts: dict[str, Any], room: _Room) -> Prompt:
    shown = facts | msgspec.structs.asdict(room) | {"left_out": _counted(room.left_out)}
    system, user = (
        environment().get_template(f"{role}.{part}.j2").render(shown) for part in ("system", "user")
    )
    return Prompt(_tidy(system), _tidy(user), room.left_out)


def _tidy(text: str) -> str:
    """Never more than one empty line, but for blocks of code, which stay as they are."""
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
    counts = {what: left_out.count(what) for what in left_out}
    return [what if count == 1 else f"{what} ({count} times)" for what, count in counts.items()]


def _not_in_guide(hints: tuple[Hint, ...], guide: dict[str, str]) -> tuple[Hint, ...]:
    """The guide is shown whole: facts that the memory took from it would be said twice."""
    whole = "\n".join(guide.values())
    return tuple(hint for hint in hints if hint.kind != "api" or hint.text not in whole)


def _file_names(target: Backend) -> tuple[str, ...]:
    """Of a usual candidate, where its work begins first."""
    example = _shortest(target.examples(), target.entry, without="")
    others = set(() if example is None else example.files) - {target.entry}
    return (target.entry, *sorted(others))


def _example(proposal: Proposal) -> Candidate | None:
    """The shortest shipped candidate of another task."""
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
    name, candidate = min(found, key=lambda one: sum(map(len, one[1].files.values())))
    return msgspec.structs.replace(candidate, name=name)


def _described(decisions: Decisions) -> str:
    return ", ".join(f"{name}={choice}" for name, choice in sorted(decisions.items()))


@functools.cache
def environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent.parent / "prompts"),
        undefined=StrictUndefined,
        autoescape=False,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["described"] = _described
    return environment
