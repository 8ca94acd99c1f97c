"""The dashboard as a Starlette application: one function per page."""

import functools
import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from msgspec.structs import replace
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from kernelmill import __version__
from kernelmill.archive.behaviour import axes_of
from kernelmill.memory.items import ItemKind
from kernelmill.records.errors import KernelmillError, UsageError
from kernelmill.report import money, plots, spending
from kernelmill.report.curves import Curve, CurvePoint, LearningCurves, campaign_curves
from kernelmill.report.listing import age, attempt_detail, campaign_line, campaign_lines
from kernelmill.report.tables import circumstances
from kernelmill.web import reading
from kernelmill.web.archive_map import archive_map
from kernelmill.web.cell_grid import cell_grid
from kernelmill.web.live import event_stream, stamp
from kernelmill.workspace import Workspace

_HERE = Path(__file__).parent
_MOST_COMPARED = 2
PageValues = dict[str, Any]
Show = Callable[[Request, Workspace], PageValues]


def make_app(folder: Path) -> Starlette:
    """The dashboard of one workspace. Raises WorkspaceError where there is none."""
    Workspace(folder).close()
    templates = _templates(folder)

    def page(path: str, template: str, show: Show) -> Route:
        return Route(path, partial(_respond, templates, folder, template, show))

    def events(request: Request) -> Response:
        return event_stream(request, folder)

    return Starlette(
        routes=[
            page("/", "campaigns", _campaigns),
            page("/campaigns/{campaign:int}", "campaign", _campaign),
            page("/campaigns/{campaign:int}/tasks/{position:int}", "task", _task),
            page("/campaigns/{campaign:int}/tasks/{position:int}/archive", "archive", _archive),
            page("/attempts/{attempt:int}", "attempt", _attempt),
            page("/compare", "compare", _compare),
            page("/memory", "memory", _memory),
            page("/memory/{item:int}", "item", _item),
            page("/skills", "skills", _skills),
            page("/models", "models", _models),
            page("/devices", "devices", _devices),
            Route("/events", events),
            Mount("/static", StaticFiles(directory=_HERE / "static")),
        ]
    )


def _templates(folder: Path) -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_HERE / "templates"),
        undefined=StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["exp"] = math.exp
    environment.globals.update(
        age=age,
        cell_grid=cell_grid,
        folder=folder,
        money=money,
        plots=plots,
        spending=spending,
        version=__version__,
    )
    return environment


def _respond(
    templates: Environment, folder: Path, template: str, show: Show, request: Request
) -> Response:
    """Render a page; what the user can correct is a page, too."""
    status, values = 200, {}
    try:
        with Workspace(folder) as workspace:
            values = show(request, workspace)
    except UsageError as error:
        status, template, values = 404, "error", {"message": str(error)}
    except KernelmillError as error:
        status, template, values = 500, "error", {"message": str(error)}
    text = templates.get_template(f"{template}.html.j2").render(
        **values, path=request.url.path, stamp=stamp(folder)
    )
    return HTMLResponse(text, status, headers={"cache-control": "no-store"})


def _number(request: Request, name: str, otherwise: int = 1) -> int:
    text = request.query_params.get(name, "")
    return max(1, int(text)) if text.isdecimal() and len(text) < 10 else otherwise


def _campaigns(_request: Request, workspace: Workspace) -> PageValues:
    lines = campaign_lines(workspace)[::-1]
    return {"lines": lines, "best": {line.id: _best(workspace, line.id) for line in lines}}


def _best(workspace: Workspace, campaign: int) -> dict[str, Any]:
    """The best speedup of a campaign, with the machine it was measured on."""
    rows = reading.rows(workspace, "best_of_campaign", campaign=campaign)
    if not rows:
        return {"ratio": None, "evidence": ""}
    verdict = reading.champion_verdict(workspace, rows[0]["id"])
    evidence = ""
    if verdict is not None and verdict.latency is not None:
        evidence = circumstances(verdict.evidence, [verdict.latency])
    return {"ratio": rows[0]["ratio"], "evidence": evidence}


@functools.lru_cache(maxsize=32)
def _curves(folder: Path, campaign: int, _stamp: str) -> LearningCurves:
    """Of all attempts of a campaign: read again only when the workspace has changed."""
    with Workspace(folder) as workspace:
        return campaign_curves(workspace, workspace.campaign(campaign))


def _campaign(request: Request, workspace: Workspace) -> PageValues:
    campaign = workspace.campaign(request.path_params["campaign"])
    search = request.query_params.get("search", "")
    return {
        "campaign": campaign,
        "line": campaign_line(workspace, campaign),
        "curves": _curves(workspace.folder, campaign.id, stamp(workspace.folder)),
        "cards": reading.task_cards(workspace, campaign, _number(request, "page"), search),
        "cells": reading.owned_cells(workspace, campaign),
        "search": search,
        "events": workspace.events(campaign)[::-1][:20],
        "models": spending.by_role(workspace.spending(campaign)),
    }


def _task(request: Request, workspace: Workspace) -> PageValues:
    campaign = workspace.campaign(request.path_params["campaign"])
    entry = reading.task_at(workspace, campaign, request.path_params["position"])
    if entry.task is None:
        return {"campaign": campaign, "entry": entry, "tree": [], "page": None, "cells": 0}
    return {
        "campaign": campaign,
        "entry": entry,
        "tree": reading.attempt_tree(workspace, campaign, entry.task, entry.champion),
        "page": reading.attempt_page(workspace, campaign, entry.task, _number(request, "page")),
        "curves": reading.task_curves(workspace, campaign, entry.task),
        "cells": reading.owned_cells(workspace, campaign).get(entry.position, 0),
    }


def _archive(request: Request, workspace: Workspace) -> PageValues:
    campaign = workspace.campaign(request.path_params["campaign"])
    entry = reading.task_at(workspace, campaign, request.path_params["position"])
    if entry.task is None:
        raise UsageError(f"{entry.name} was set aside: {entry.set_aside}")
    return {
        "campaign": campaign,
        "entry": entry,
        "map": archive_map(workspace, campaign, entry.task),
        "axes": axes_of(campaign.settings.backend),
    }


def _attempt(request: Request, workspace: Workspace) -> PageValues:
    attempt = workspace.attempt(request.path_params["attempt"])
    detail = attempt_detail(workspace, attempt)
    against = _number(request, "against", attempt.parent or 0) or None
    before: dict[str, str] = {}
    if against is not None:
        candidate = workspace.candidate(workspace.attempt(against))
        before = {} if candidate is None else candidate.files
    campaign = workspace.campaign(attempt.campaign)
    position = next(
        (one.position for one in workspace.tasks(campaign) if one.task == attempt.task), 0
    )
    return {
        "detail": detail,
        "attempt": attempt,
        "position": position,
        "against": against,
        "diffs": {
            name: reading.side_by_side(before.get(name, ""), detail.files.get(name, ""))
            for name in sorted({*before, *detail.files})
        }
        if before
        else {},
    }


def _compare(request: Request, workspace: Workspace) -> PageValues:
    chosen = [text for text in request.query_params.getlist("campaign") if text.isdecimal()]
    campaigns = [workspace.campaign(int(text)) for text in chosen[:_MOST_COMPARED]]
    curves = [campaign_curves(workspace, one) for one in campaigns]
    rows: dict[str, list[float | None]] = {}
    for index, campaign in enumerate(campaigns):
        for row in reading.rows(workspace, "ratios", campaign=campaign.id):
            rows.setdefault(row["name"], [None] * len(campaigns))[index] = row["ratio"]
    named = [
        [replace(curve, name=f"campaign {one.id}: {curve.name}") for curve in part[:1]]
        for one, parts in zip(campaigns, curves, strict=True)
        for part in (parts.solved, parts.speedup)
    ]
    return {
        "campaigns": campaigns,
        "lines": campaign_lines(workspace)[::-1],
        "tasks": rows,
        "solved": [curve for part in named[::2] for curve in part],
        "speedup": [curve for part in named[1::2] for curve in part],
    }


def _memory(request: Request, workspace: Workspace) -> PageValues:
    kind, search = (request.query_params.get(name, "") for name in ("kind", "search"))
    return {
        "kinds": [str(kind) for kind in ItemKind],
        "counts": reading.rows(workspace, "item_counts"),
        "kind": kind,
        "search": search,
        "page": reading.item_page(workspace, kind, search, _number(request, "page")),
    }


def _item(request: Request, workspace: Workspace) -> PageValues:
    number = request.path_params["item"]
    item, files = reading.find_item(workspace, number)
    uses = reading.item_uses(workspace, number)
    values = {}
    for stage in ("draft", "refine"):
        valued = [use.value for use in reversed(uses) if use.stage == stage]
        known = [value for value in valued if value is not None]
        points = tuple(CurvePoint(index, value) for index, value in enumerate(known))
        if len(points) > 1:
            values[stage] = Curve(stage, points)
    return {
        "item": item,
        "files": files,
        "uses": uses,
        "count": reading.count_of(workspace, "item_use_count", item=number),
        "estimates": reading.rows(workspace, "item_family_values", item=number),
        "values": values,
    }


def _skills(_request: Request, workspace: Workspace) -> PageValues:
    return {"records": reading.skill_records(workspace)}


@functools.lru_cache(maxsize=2)
def _calibrations(folder: Path, _stamp: str) -> list[reading.ModelCalibration]:
    with Workspace(folder) as workspace:
        return reading.model_calibrations(workspace)


def _models(_request: Request, workspace: Workspace) -> PageValues:
    return {
        "models": reading.rows(workspace, "models"),
        "calibrations": _calibrations(workspace.folder, stamp(workspace.folder)),
    }


def _devices(_request: Request, workspace: Workspace) -> PageValues:
    machines: dict[str, int] = {}
    for line in campaign_lines(workspace):
        evidence = _best(workspace, line.id)["evidence"]
        if evidence:
            machines[evidence] = line.id
    return {"leases": reading.leases(workspace), "machines": machines}
