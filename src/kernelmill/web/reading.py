"""The contents of the pages, read from the workspace page by page."""

import difflib
import itertools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from kernelmill.memory import Memory
from kernelmill.memory.items import Item
from kernelmill.records.attempt import VerdictKind
from kernelmill.records.calibration import Calibration, Prediction, calibrate
from kernelmill.records.campaign import Campaign, Failure
from kernelmill.records.errors import UsageError
from kernelmill.records.proposal import Hint
from kernelmill.records.task import Task
from kernelmill.records.verdict import Verdict
from kernelmill.report.curves import Curve, CurvePoint, comparable_campaigns
from kernelmill.skills.library import load_library
from kernelmill.storage.packing import decoded, unpacked
from kernelmill.storage.sql import Queries
from kernelmill.workspace import Workspace
from kernelmill.workspace.database import clear_errors
from kernelmill.workspace.owners import is_alive

PAGE = 60
_MOST_NODES = 400
"""Attempts in a tree; of a task with more, the champion's line and its neighbours are drawn."""
_MOST_USES = 200
_MOST_DIFF_LINES = 4000
_MOST_PREDICTIONS = 500
_CONTEXT = 3
"""Equal lines that are shown on each side of a change."""
_query = Queries(Path(__file__).parent / "queries")


class Page(NamedTuple):
    """Some rows of many."""

    rows: Sequence[Any]
    number: int
    total: int
    """Of all pages."""

    @property
    def pages(self) -> int:
        return max(1, -(-self.total // PAGE))


class TaskCard(NamedTuple):
    """A task in the grid."""

    position: int
    name: str
    outcome: str
    attempts: int
    claimed: int
    champion: int | None
    ratio: str
    speed_of_light: float | None
    note: str


class LineageNode(NamedTuple):
    """An attempt in the tree of a task."""

    id: int
    number: int
    state: str
    ratio: float | None
    is_champion: bool
    depth: int
    """The number of its ancestors."""


class DiffLine(NamedTuple):
    """One line of two texts side by side."""

    left_number: int | None
    left: str
    right_number: int | None
    right: str
    kind: str
    """`equal`, `changed`, `removed`, `added`, or `skipped` for some that are equal."""


class ItemUse(NamedTuple):
    attempt: int
    task: str
    stage: str
    state: str
    ratio: float | None
    done_at: str
    value: float | None
    """The item's value when it was shown."""
    similarity: float | None
    why: str


def rows(workspace: Workspace, name: str, **values: object) -> list[dict[str, Any]]:
    with clear_errors():
        found = workspace.database.execute(_query(name), values).fetchall()
    return [dict(row) for row in found]


def count_of(workspace: Workspace, name: str, **values: object) -> int:
    return int(rows(workspace, name, **values)[0]["count"])


def task_cards(workspace: Workspace, campaign: Campaign, page: int, search: str) -> Page:
    key = {"campaign": campaign.id, "search": search}
    found = rows(workspace, "task_page", **key, most=PAGE, skip=PAGE * (page - 1))
    cards = [_card(workspace, campaign, row) for row in found]
    return Page(cards, page, count_of(workspace, "task_count", **key))


def _card(workspace: Workspace, campaign: Campaign, row: dict[str, Any]) -> TaskCard:
    verdict = None if row["champion"] is None else champion_verdict(workspace, row["champion"])
    latency = None if verdict is None else verdict.latency
    light = None
    if latency is not None and latency.candidate_ms > 0:
        light = max(latency.floor_ms, latency.arithmetic_ms) / latency.candidate_ms
    failures: list[Failure] = []
    if row["champion"] is None and row["task"] is not None:
        failures = workspace.failures(campaign, row["task"], 1)
    if latency is not None:
        outcome = latency.over_baseline.verdict
    elif row["champion"] is not None:
        outcome = "correct"
    elif row["set_aside"]:
        outcome = "set aside"
    elif failures:
        outcome = failures[0].gate or failures[0].state
    else:
        outcome = "open"
    return TaskCard(
        row["position"],
        row["name"],
        outcome,
        row["attempts"],
        row["claimed"],
        row["champion"],
        "" if latency is None else str(latency.over_baseline),
        light or None,
        row["set_aside"] or (failures[0].reason if failures else ""),
    )


def champion_verdict(workspace: Workspace, attempt: int) -> Verdict | None:
    final = workspace.verdict(attempt, VerdictKind.FINAL)
    return final if final is not None and final.passed else workspace.verdict(attempt)


class TaskOfCampaign(NamedTuple):
    position: int
    name: str
    task: int | None
    described: Task | None
    set_aside: str | None
    champion: int | None


def task_at(workspace: Workspace, campaign: Campaign, position: int) -> TaskOfCampaign:
    """Raises UsageError."""
    for entry in workspace.tasks(campaign):
        if entry.position == position:
            return TaskOfCampaign(
                entry.position,
                entry.name,
                entry.task,
                entry.described,
                entry.set_aside,
                entry.champion,
            )
    raise UsageError(f"campaign {campaign.id} has no task at position {position}")


def attempt_page(workspace: Workspace, campaign: Campaign, task: int, page: int) -> Page:
    key = {"campaign": campaign.id, "task": task}
    found = rows(workspace, "attempt_page", **key, most=PAGE, skip=PAGE * (page - 1))
    return Page(found, page, len(rows(workspace, "attempt_nodes", **key)))


def attempt_tree(
    workspace: Workspace, campaign: Campaign, task: int, champion: int | None
) -> list[LineageNode]:
    """The attempts of a task by descent: each is followed by its children, one level deeper.

    A list, because a line of descent may be longer than a recursion can be deep.
    """
    found = rows(workspace, "attempt_nodes", campaign=campaign.id, task=task)
    if len(found) > _MOST_NODES:
        found = _around_champion(found, champion)
    known = {row["id"] for row in found}
    children: dict[int | None, list[dict[str, Any]]] = {}
    for row in found:
        parent = row["parent"] if row["parent"] in known else None
        children.setdefault(parent, []).append(row)
    nodes: list[LineageNode] = []
    waiting = [(row, 0) for row in reversed(children.get(None, []))]
    while waiting:
        row, depth = waiting.pop()
        is_champion = row["id"] == champion
        nodes.append(
            LineageNode(row["id"], row["number"], row["state"], row["ratio"], is_champion, depth)
        )
        waiting += [(child, depth + 1) for child in reversed(children.get(row["id"], []))]
    return nodes


def _around_champion(found: list[dict[str, Any]], champion: int | None) -> list[dict[str, Any]]:
    """The champion's nearest ancestors, and the latest attempts."""
    by_id = {row["id"]: row for row in found}
    kept: dict[int, dict[str, Any]] = {}
    while champion is not None and champion in by_id and len(kept) < _MOST_NODES // 2:
        kept[champion] = by_id[champion]
        champion = by_id[champion]["parent"]
    for row in reversed(found):
        if len(kept) >= _MOST_NODES:
            break
        kept[row["id"]] = row
    return sorted(kept.values(), key=lambda row: int(row["number"]))


def side_by_side(before: str, after: str) -> list[DiffLine]:
    """Two texts line by line; of what both have in a row, the lines next to a change remain."""
    left, right = before.splitlines(), after.splitlines()
    lines: list[DiffLine] = []
    matcher = difflib.SequenceMatcher(None, left, right, autojunk=len(left) > _MOST_DIFF_LINES)
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        if len(lines) > _MOST_DIFF_LINES:
            break
        for offset in range(max(i2 - i1, j2 - j1)):
            i, j = i1 + offset, j1 + offset
            has_left, has_right = i < i2, j < j2
            both = "equal" if tag == "equal" else "changed"
            lines.append(
                DiffLine(
                    i + 1 if has_left else None,
                    left[i] if has_left else "",
                    j + 1 if has_right else None,
                    right[j] if has_right else "",
                    both if has_left and has_right else "removed" if has_left else "added",
                )
            )
    return _without_long_runs(lines)


def _without_long_runs(lines: list[DiffLine]) -> list[DiffLine]:
    """One line in place of the middle of many equal ones; those at both ends have one neighbour."""
    kept: list[DiffLine] = []
    groups = [
        list(group) for _, group in itertools.groupby(lines, lambda line: line.kind == "equal")
    ]
    for index, group in enumerate(groups):
        before = _CONTEXT if index else 0
        after = _CONTEXT if index < len(groups) - 1 else 0
        left_out = len(group) - before - after
        if group[0].kind != "equal" or left_out < 2:
            kept += group
            continue
        text = f"{left_out} equal lines"
        skipped = DiffLine(None, text, None, text, "skipped")
        kept += [*group[:before], skipped, *group[len(group) - after :]]
    return kept


class TaskCurves(NamedTuple):
    """The best of a task over its attempts, beside that of `best-of-n` where there is one."""

    speedup: tuple[Curve, ...]
    latency: tuple[Curve, ...]


def task_curves(workspace: Workspace, campaign: Campaign, task: int) -> TaskCurves:
    latest = {
        strategy: some[-1] for strategy, some in comparable_campaigns(workspace, campaign).items()
    }
    latest[campaign.settings.strategy] = campaign
    speedup, latency = [], []
    for strategy, one in latest.items():
        found = rows(workspace, "attempt_nodes", campaign=one.id, task=task)
        speedup.append(_best_so_far(strategy, found, "ratio", max))
        latency.append(_best_so_far(strategy, found, "latency_ms", min))
    return TaskCurves(
        tuple(curve for curve in speedup if curve.points),
        tuple(curve for curve in latency if curve.points),
    )


def _best_so_far(
    name: str, found: list[dict[str, Any]], column: str, better: Callable[[float, float], float]
) -> Curve:
    best: float | None = None
    points = []
    for row in found:
        value = row[column] if row["ratio"] is not None else None
        if value is not None:
            best = value if best is None else better(best, value)
        if best is not None:
            points.append(CurvePoint(row["number"], best))
    return Curve(name, tuple(points))


def owned_cells(workspace: Workspace, campaign: Campaign) -> dict[int, int]:
    """Behaviour cells that have an owner, by the position of their task."""
    found = rows(workspace, "archived_tasks", campaign=campaign.id)
    return {row["position"]: row["cells"] for row in found}


def item_page(workspace: Workspace, kind: str, search: str, page: int) -> Page:
    """Items, the latest first; one row more than a page says that there are further ones."""
    key = {"kind": kind, "search": search}
    found = rows(workspace, "item_page", **key, most=PAGE + 1, skip=PAGE * (page - 1))
    values = rows(
        workspace, "item_values", items=msgspec.json.encode([r["id"] for r in found]).decode()
    )
    by_item: dict[int, dict[str, dict[str, Any]]] = {}
    for value in values:
        by_item.setdefault(value["item"], {})[value["stage"]] = value
    for row in found:
        row["values"] = by_item.get(row["id"], {})
    return Page(found[:PAGE], page, PAGE * (page - 1) + len(found))


def item_uses(workspace: Workspace, item: int) -> list[ItemUse]:
    """The attempts it was shown to, the latest first, with its value at that time."""
    uses = []
    for row in rows(workspace, "item_uses", item=item, most=_MOST_USES):
        hints = unpacked(row["context"], tuple[Hint, ...])
        why = next((hint.why for hint in hints if hint.item == item), None)
        uses.append(
            ItemUse(
                row["id"],
                row["task"],
                row["stage"],
                row["state"],
                row["ratio"],
                row["done_at"],
                None if why is None else why.value,
                None if why is None else why.similarity,
                "" if why is None else why.reason,
            )
        )
    return uses


def find_item(workspace: Workspace, number: int) -> tuple[Item, dict[str, str]]:
    """An item and its code. Raises UsageError."""
    memory = Memory(workspace.database)
    found = memory.items([number])
    if not found:
        raise UsageError(f"the memory has no item {number}")
    return found[0], memory.source_files(found[0].source)


class ModelCalibration(NamedTuple):
    """What a writer expected of its kernels, and what was measured."""

    model: str
    """Empty for a generator that asks no model."""
    figures: Calibration
    latest: tuple[Prediction, ...]


def model_calibrations(workspace: Workspace) -> list[ModelCalibration]:
    by_model: dict[str, list[Prediction]] = {}
    for one in workspace.predictions():
        by_model.setdefault(one.model, []).append(one)
    return [
        ModelCalibration(model, calibrate(some), tuple(some[-_MOST_PREDICTIONS:]))
        for model, some in sorted(by_model.items())
    ]


def skill_records(workspace: Workspace) -> list[dict[str, Any]]:
    """The methods with what was learned of them."""
    records: dict[str, dict[str, Any]] = {}
    for method in load_library().methods.values():
        records[method.name] = {
            "name": method.name,
            "title": method.front.title,
            "backends": " ".join(method.front.backends),
            "values": [],
        }
    for row in rows(workspace, "skill_records"):
        for name in decoded(row["names"], list[str]):
            if name in records and (row["visits"] or row["shown"]):
                records[name]["values"].append(row)
    return sorted(records.values(), key=lambda one: (not one["values"], one["name"]))


def leases(workspace: Workspace) -> list[dict[str, Any]]:
    """Attempts under way, and whether the process that holds each is alive."""
    found = rows(workspace, "leases")
    for row in found:
        try:
            row["alive"] = is_alive(workspace.folder / "owners", row["owner"])
        except OSError:
            row["alive"] = None
    return found
