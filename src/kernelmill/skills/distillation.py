"""Distillation of strictly faster kernels into drafts of methods, which a person may accept.

Drafts are derived from the stored attempts. An accepted draft becomes a method file.
"""

import difflib
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import jinja2
import msgspec

from kernelmill.memory.embedding_text import decisions_text
from kernelmill.records.attempt import Attempt, State
from kernelmill.records.decisions import Decisions
from kernelmill.records.errors import UsageError
from kernelmill.records.proposal import Parent
from kernelmill.records.target import backend_name
from kernelmill.records.task import Task
from kernelmill.skills.explanation import stored_parent
from kernelmill.skills.library import METHODS, RULES, SHIPPED, Library, load_library
from kernelmill.skills.metric_reading import read_metrics
from kernelmill.skills.metrics import Metrics, MetricSource, backend_metrics
from kernelmill.skills.rule_matching import RuleMatch, match_rules
from kernelmill.tasks import suite_names
from kernelmill.workspace import Workspace

_NAME = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")
_MOST_CHANGED_LINES = 24
_DEFAULT_EXPECTATION = "gigabytes_per_second up"


class DraftMethod(NamedTuple):
    """A change that made kernels faster, with the attempts it was seen in."""

    attempt: int
    """The attempt with the largest gain: its files become the code case."""
    backend: str
    case: str
    """The task of that attempt."""
    gain: float
    """Geometric mean over all attempts with this change."""
    seen: int
    """Number of attempts with this change."""
    tasks: tuple[str, ...]
    rule: str
    """Name of the case that fired for the parent."""
    where: str
    """Bottleneck and headroom of the parent."""
    structure: str
    change: str
    """The changed decisions, or else the changed lines."""
    decisions: Decisions
    expects: str


class _Win(NamedTuple):
    """One attempt that is strictly faster than its parent: their intervals do not overlap."""

    task: Task
    start: Parent
    end: Parent
    match: RuleMatch
    before: Metrics
    after: Metrics
    gain: float

    @property
    def changed(self) -> Decisions:
        before = self.start.decisions
        return {name: one for name, one in self.end.decisions.items() if before.get(name) != one}


def find_drafts(workspace: Workspace) -> list[DraftMethod]:
    """Drafts, the largest gain first. Attempts that followed a known method are left out."""
    library = load_library()
    groups: dict[tuple[str, ...], list[_Win]] = {}
    for win in _wins(workspace, library):
        change = decisions_text(win.changed) or str(win.end.attempt)
        groups.setdefault((win.end.verdict.backend, change), []).append(win)
    found = [_draft(group) for group in groups.values()]
    return sorted(found, key=lambda draft: -draft.gain)


def find_draft(workspace: Workspace, attempt: int) -> DraftMethod:
    """The draft with the number of an attempt. Raises UsageError where there is none."""
    for draft in find_drafts(workspace):
        if draft.attempt == attempt:
            return draft
    raise UsageError(f"there is no draft {attempt}: `kernelmill skills drafts` lists them")


def accept_draft(workspace: Workspace, draft: DraftMethod, name: str, folder: Path) -> Path:
    """Write a method file and a rule that allows it; return the path of the method.

    Raises UsageError for a name that is taken or malformed.
    """
    path = folder / METHODS / f"{name}.md"
    if not _NAME.fullmatch(name) or path.exists() or name in load_library().methods:
        raise UsageError(
            f"{name!r} is no name for a new method: use lower-case words joined by dashes, and a "
            "name that no method has"
        )
    end = stored_parent(workspace, draft.attempt)
    start = workspace.attempt(draft.attempt).parent
    before = None if start is None else stored_parent(workspace, start)
    if end is None or before is None:
        raise UsageError(f"attempt {draft.attempt} or its parent has no stored source any more")
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
    before = read_metrics(task, start.candidate, start.verdict)
    after = read_metrics(task, end.candidate, end.verdict)
    if was is None or now is None or before is None or after is None:
        return None
    match = match_rules(library.table(end.verdict.backend), before)
    if match.case is None or now.over_baseline.low <= was.over_baseline.high:
        return None
    gain = now.over_baseline.ratio / was.over_baseline.ratio
    return _Win(task, start, end, match, before, after, gain)


def _draft(wins: list[_Win]) -> DraftMethod:
    best = max(wins, key=lambda win: win.gain)
    bottleneck, headroom, structure = best.match.classification
    built_in = best.task.id.partition("/")[0] in suite_names()
    return DraftMethod(
        attempt=best.end.attempt,
        backend=backend_name(best.end.verdict.backend),
        case=best.task.id if built_in else best.task.path,
        gain=math.exp(sum(math.log(win.gain) for win in wins) / len(wins)),
        seen=len(wins),
        tasks=tuple(sorted({win.task.id for win in wins})),
        rule=best.match.case.name if best.match.case is not None else "",
        where=f"the bottleneck is {bottleneck} and the headroom {headroom}",
        structure=structure or "",
        change=decisions_text(best.changed) or _changed_lines(best),
        decisions=best.changed,
        expects=_expectation(best),
    )


def _expectation(win: _Win) -> str:
    """The first metric of the source that the change moved, and its direction."""
    for name, metric in backend_metrics(win.end.verdict.backend).items():
        was, now = win.before[name], win.after[name]
        if (
            metric.read_from is MetricSource.SOURCE
            and was is not None
            and now is not None
            and was != now
        ):
            return f"{name} {'up' if now > was else 'down'}"
    return _DEFAULT_EXPECTATION


def _changed_lines(win: _Win) -> str:
    lines: list[str] = []
    for name, text in win.end.candidate.files.items():
        before = win.start.candidate.files.get(name, "").splitlines()
        changed = difflib.unified_diff(before, text.splitlines(), name, name, n=0, lineterm="")
        lines += [line for line in changed if not line.startswith(("---", "+++", "@@"))]
    return "\n".join(lines[:_MOST_CHANGED_LINES])


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
