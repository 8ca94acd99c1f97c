"""Strictly faster lineages, distilled into drafts of methods that a person may accept.

Drafts are read from the stored attempts, never stored themselves; an accepted one is a file.
"""

import difflib
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import jinja2
import msgspec

from kernelmill.errors import UsageError
from kernelmill.generators.base import Parent
from kernelmill.generators.decisions import Decisions
from kernelmill.memory.subjects import described
from kernelmill.skills.explaining import stored_parent
from kernelmill.skills.library import METHODS, RULES, SHIPPED, Library, load_library
from kernelmill.skills.measuring import measure
from kernelmill.skills.metrics import From, Metrics, of_backend
from kernelmill.skills.ruling import Ruling, rule_on
from kernelmill.tasks import suite_names
from kernelmill.tasks.task import Task
from kernelmill.workspace import Attempt, State, Workspace

_NAME = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")
_MOST_LINES = 24
_FALLBACK = "gigabytes_per_second up"


class DraftMethod(NamedTuple):
    attempt: int
    """The one that gained most: its files are the code case."""
    backend: str
    case: str
    """The task of that attempt."""
    gain: float
    """Geometric mean over all that changed the same."""
    seen: int
    tasks: tuple[str, ...]
    rule: str
    """The case that fired on what was improved."""
    where: str
    structure: str
    change: str
    decisions: Decisions
    expects: str


class _Win(NamedTuple):
    """One attempt that beat its parent beyond doubt."""

    task: Task
    start: Parent
    end: Parent
    ruling: Ruling
    before: Metrics
    after: Metrics
    gain: float

    @property
    def changed(self) -> Decisions:
        before = self.start.decisions
        return {name: one for name, one in self.end.decisions.items() if before.get(name) != one}


def drafts(workspace: Workspace) -> list[DraftMethod]:
    """The largest gain first. What followed a method that is known already is none."""
    library = load_library()
    groups: dict[tuple[str, ...], list[_Win]] = {}
    for win in _wins(workspace, library):
        alone = described(win.changed) or str(win.end.attempt)
        groups.setdefault((win.end.verdict.backend, alone), []).append(win)
    found = [_draft(group) for group in groups.values()]
    return sorted(found, key=lambda draft: -draft.gain)


def accept(workspace: Workspace, draft: DraftMethod, name: str, folder: Path) -> Path:
    """Write it as a method and a rule that allows it. Raises UsageError for a taken name."""
    path = folder / METHODS / f"{name}.md"
    if not _NAME.fullmatch(name) or path.exists() or name in load_library().methods:
        raise UsageError(
            f"{name!r} is no name for a new method: small words with dashes, not taken"
        )
    end = stored_parent(workspace, draft.attempt)
    start = workspace.attempt(draft.attempt).parent
    before = None if start is None else stored_parent(workspace, start)
    if end is None or before is None:
        raise UsageError(f"attempt {draft.attempt} has no source any more")
    text = _template().render(
        name=name,
        title=name.replace("-", " ").capitalize(),
        draft=draft,
        before=before.candidate.files,
        after=end.candidate.files,
    )
    rule = {"backends": [draft.backend], "additions": {draft.rule: [name]}}
    for file, content in ((path, text), (folder / RULES / f"{name}.yaml", _yaml(rule))):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
    return path


def _wins(workspace: Workspace, library: Library) -> Iterator[_Win]:
    for campaign in workspace.campaigns():
        for entry in workspace.tasks(campaign):
            if entry.task is None or entry.described is None:
                continue
            for attempt in workspace.attempts(campaign, entry.task):
                win = _win(workspace, library, entry.described, attempt)
                if win is not None:
                    yield win


def _win(workspace: Workspace, library: Library, task: Task, attempt: Attempt) -> _Win | None:
    if attempt.state != State.PASSED or attempt.parent is None:
        return None
    planned = workspace.planned(attempt.id)
    start, end = stored_parent(workspace, attempt.parent), stored_parent(workspace, attempt)
    if (planned is not None and planned.plan is not None) or start is None or end is None:
        return None
    was, now = start.verdict.latency, end.verdict.latency
    before = measure(task, start.candidate, start.verdict)
    after = measure(task, end.candidate, end.verdict)
    if was is None or now is None or before is None or after is None:
        return None
    ruling = rule_on(library.table(end.verdict.backend), before)
    if ruling.case is None or now.over_eager.low <= was.over_eager.high:
        return None
    gain = now.over_eager.ratio / was.over_eager.ratio
    return _Win(task, start, end, ruling, before, after, gain)


def _draft(wins: list[_Win]) -> DraftMethod:
    best = max(wins, key=lambda win: win.gain)
    bottleneck, headroom, structure = best.ruling.standing
    built_in = best.task.id.partition("/")[0] in suite_names()
    return DraftMethod(
        attempt=best.end.attempt,
        backend=best.end.verdict.backend,
        case=best.task.id if built_in else best.task.path,
        gain=math.exp(sum(math.log(win.gain) for win in wins) / len(wins)),
        seen=len(wins),
        tasks=tuple(sorted({win.task.id for win in wins})),
        rule=best.ruling.case.name if best.ruling.case is not None else "",
        where=f"the bottleneck is {bottleneck} and the headroom {headroom}",
        structure=structure or "",
        change=described(best.changed) or _difference(best),
        decisions=best.changed,
        expects=_expectation(best),
    )


def _expectation(win: _Win) -> str:
    """The first metric of the source that the change moved."""
    for name, metric in of_backend(win.end.verdict.backend).items():
        was, now = win.before[name], win.after[name]
        if metric.read_from is From.SOURCE and was is not None and now is not None and was != now:
            return f"{name} {'up' if now > was else 'down'}"
    return _FALLBACK


def _difference(win: _Win) -> str:
    lines: list[str] = []
    for name, text in win.end.candidate.files.items():
        before = win.start.candidate.files.get(name, "").splitlines()
        changed = difflib.unified_diff(before, text.splitlines(), name, name, n=0, lineterm="")
        lines += [line for line in changed if not line.startswith(("---", "+++", "@@"))]
    return "\n".join(lines[:_MOST_LINES])


def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(SHIPPED),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template("draft.md.j2")


def _yaml(value: object) -> str:
    return msgspec.yaml.encode(value).decode()
