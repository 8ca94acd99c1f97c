"""The dashboard over HTTP: every page, hostile text, paging, who may connect."""

import http.client
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import pytest

pytest.importorskip("starlette", reason="needs kernelmill[web]")

from kernelmill.archive import Archive
from kernelmill.memory import Memory
from kernelmill.memory.items import ValueRole
from kernelmill.memory.values import ValueEstimate
from kernelmill.skills.library import load_library
from kernelmill.skills.method_values import ValueScope, add_method_item
from kernelmill.web.archive_map import HEATS, archive_map
from kernelmill.web.live import stamp
from kernelmill.web.reading import (
    PAGE,
    attempt_tree,
    model_calibrations,
    side_by_side,
    skill_records,
)
from kernelmill.workspace import Workspace
from web.filling import HOSTILE, NAMES, attempt, begin, fill, learn
from web.serving import serving


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    text: str


def get(address: str, path: str, **headers: str) -> Answer:
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=30)
    try:
        connection.request("GET", path, headers=headers)
        response = connection.getresponse()
        head = {name.lower(): value for name, value in response.getheaders()}
        return Answer(response.status, head, response.read().decode())
    finally:
        connection.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("dashboard") / "w"
    fill(path, attempts=4, strategies=("value", "best-of-n"))
    return path


@pytest.fixture(scope="module")
def address(folder: Path) -> Iterator[str]:
    with serving(folder) as url:
        yield url


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/", ["10 of 13", "starter", "value", "0.59 USD", "processor"]),
        ("/campaigns/1", ["best-of-n", "starter/softmax", "faster", "set aside", "correctness"]),
        ("/campaigns/1?search=norm", ["starter/layer_norm", "starter/rms_norm"]),
        (
            "/campaigns/1/tasks/0",
            ["champion", "#1", "refine", "Lineage", "Best latency", "best-of-n"],
        ),
        ("/campaigns/1/tasks/12", ["SyntaxError"]),
        ("/campaigns/1/tasks/0/archive", ["no elites yet"]),
        ("/attempts/4", ["Changes from attempt", "tile=32", "over torch.compile", "4.2 written"]),
        ("/attempts/1", ["it is &lt;wrong&gt;", "You write kernels."]),
        ("/memory?search=lesson+3", ["lesson 3", "+0.30"]),
        ("/memory?kind=practice", ["practice"]),
        ("/memory/1", ["Shown to 96 attempts", "starter/softmax", "Value over its uses"]),
        ("/skills", ["methods"]),
        (
            "/models",
            ["a-model", "generator", "Right to within a quarter", "measured over expected"],
        ),
        ("/devices", ["None.", "processor"]),
        ("/compare?campaign=1&campaign=2", ["second over first", "starter/gelu"]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_pages_show_what_is_stored_and_run_nothing(
    address: str, path: str, words: list[str]
) -> None:
    answer = get(address, path)
    assert answer.status == 200, answer.text
    for word in words:
        assert word in answer.text, word
    assert HOSTILE not in answer.text and "<img" not in answer.text
    assert re.findall(r"<script[^>]*>", answer.text) == ['<script src="/static/live.js" defer>']
    assert "style=" not in answer.text and "onclick" not in answer.text
    assert "http://" not in answer.text and "https://" not in answer.text
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy


@pytest.mark.parametrize(
    "path", ["/attempts/9999", "/campaigns/77", "/campaigns/1/tasks/99", "/memory/12345"]
)
def test_what_is_not_there_is_a_page_that_says_so(address: str, path: str) -> None:
    answer = get(address, path)
    assert answer.status == 404 and "cannot be shown" in answer.text


def test_odd_numbers_of_pages_are_harmless(address: str) -> None:
    for number in ("0", "-1", "x", "9" * 30, "99"):
        assert get(address, f"/memory?page={number}").status == 200


def test_rows_come_page_by_page(tmp_path: Path) -> None:
    with Workspace(tmp_path, create=True) as workspace:
        learn(workspace, PAGE + 5)
    with serving(tmp_path) as url:
        first, second = (get(url, f"/memory?page={number}").text for number in (1, 2))
    assert first.count("data-row") == PAGE and second.count("data-row") == 5
    assert 'rel="next"' in first and 'rel="next"' not in second


def test_reading_is_no_change(folder: Path, address: str) -> None:
    before = stamp(folder)
    get(address, "/campaigns/1")
    with Workspace(folder) as workspace:
        workspace.campaigns()
        assert stamp(folder) == before
    assert stamp(folder) == before


def test_events_tell_of_changes(tmp_path: Path) -> None:
    with Workspace(tmp_path, create=True) as workspace:
        campaign = begin(workspace)
        with serving(tmp_path) as url:
            connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=30)
            connection.request("GET", "/events")
            response = connection.getresponse()

            def next_event() -> str:
                while not (line := response.readline().decode()).startswith("id: "):
                    assert line
                return line

            first = next_event()
            attempt(workspace, campaign, 1, 2.0, [])
            assert next_event() != first
            connection.close()
            known = get_first_event(url, first.removeprefix("id: ").strip())
            assert known != first


def get_first_event(url: str, last: str) -> str:
    """What a client is told that comes back with the id of the last event it has seen."""
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=30)
    connection.request("GET", "/events", headers={"last-event-id": last})
    response = connection.getresponse()
    while not (line := response.readline().decode()).startswith("id: "):
        assert line
    connection.close()
    return line


def test_only_this_machine_may_connect_without_a_token(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(folder) as url:
        assert get(url, "/", host="evil.example").status == 421
        assert get(url, "/", origin="http://evil.example").status == 403
    monkeypatch.setenv("KERNELMILL_TOKEN", "a secret")
    with serving(folder, "0.0.0.0") as url:
        here = url.replace("0.0.0.0", "127.0.0.1")
        assert get(here, "/").status == 401
        assert get(here, "/?token=wrong").status == 401
        opened = get(here, "/memory?token=a+secret&kind=trace")
        assert opened.status == 303 and opened.headers["location"] == "/memory?kind=trace"
        cookie = opened.headers["set-cookie"].partition(";")[0]
        assert "HttpOnly" in opened.headers["set-cookie"]
        assert get(here, "/", cookie=cookie).status == 200
        assert get(here, "/", authorization="Bearer a secret").status == 200


def test_the_dashboard_of_an_unknown_address_has_a_new_token(folder: Path) -> None:
    with serving(folder, "0.0.0.0") as url:
        assert len(url.partition("?token=")[2]) >= 32


def test_a_long_line_of_descent_is_drawn(tmp_path: Path) -> None:
    with Workspace(tmp_path, create=True) as workspace:
        campaign = begin(workspace)
        first = attempt(workspace, campaign, 1, 1.1, [])
        with workspace.writing() as database:
            columns = (
                "campaign, task, state, owner, claimed_at, done_at, stage, seed, gate, reason,"
                " ratio, decisions, context, instruction, prediction"
            )
            for number in range(2, 1202):
                database.execute(
                    f"INSERT INTO attempts (id, number, parent, {columns})"
                    f" SELECT ?, ?, ?, {columns} FROM attempts WHERE id = ?",
                    [number, number, number - 1, first],
                )
        nodes = attempt_tree(workspace, campaign, 1, 1200)
        assert len(nodes) == 400 and max(node.depth for node in nodes) >= 199
        assert [node.id for node in nodes if node.is_champion] == [1200]
    with serving(tmp_path) as url:
        assert get(url, "/campaigns/1/tasks/0").status == 200


def test_the_archive_shows_what_each_cell_holds_and_how_it_fills(tmp_path: Path) -> None:
    with Workspace(tmp_path, create=True) as workspace:
        campaign = begin(workspace, "evolve")
        ratios = [1.5, 2.0, 1.8, None, 3.0, 1.1]
        done = [attempt(workspace, campaign, 1, ratio, []) for ratio in ratios]
        found = archive_map(workspace, campaign, 1)
        elites = Archive(workspace.database, campaign.id, 1).elites()
    owners = [cell.owner.attempt for cell in found.cells if cell.owner is not None]
    assert owners[0] == done[4], "the fastest first"
    assert sorted(owners) == sorted(elite.attempt for elite in elites)
    assert len({cell.cell for cell in found.cells}) > 1
    assert sum(cell.kernels for cell in found.cells) == 5, "what failed is in no cell"
    heats = {cell.owner.attempt: cell.heat for cell in found.cells if cell.owner is not None}
    assert heats[done[4]] == HEATS - 1 and min(heats.values()) == 0
    for island, curve in zip(found.islands, found.reached, strict=True):
        assert curve.points[-1].y == len(island.cells) and curve.points[0].y == 0
        assert [point.y for point in curve.points] == sorted(point.y for point in curve.points)
    (operator,) = found.operators
    assert (operator["operator"], operator["tries"], operator["failed"]) == ("edit", 6, 1)
    with serving(tmp_path) as url:
        page = get(url, "/campaigns/1/tasks/0/archive").text
        assert page.count("<svg") == len(found.islands) + 1
        assert page.count('class="cell heat') == len(elites)
        assert f'href="/attempts/{done[4]}" aria-label="cell' in page
        assert "Island 1" in page and "parallel_loops" in page
        assert f"{len(elites)} cells have an owner" in get(url, "/campaigns/1/tasks/0").text
        assert f"{len(elites)} cells</a>" in get(url, "/campaigns/1").text
        assert get(url, "/campaigns/1/tasks/12/archive").status == 404


def test_models_are_compared_with_what_they_expected(folder: Path, address: str) -> None:
    with Workspace(folder) as workspace:
        (model,) = model_calibrations(workspace)
    assert (model.model, model.figures.predictions) == ("a-model", len(model.latest))
    passed = sum(one.measured is not None for one in model.latest)
    assert model.figures.refused == model.figures.predictions - passed > 0
    page = get(address, "/models").text
    assert page.count('<circle class="passed"') == passed
    assert f"{model.figures.median:.2f}" in page


def test_skills_show_what_came_of_them(tmp_path: Path) -> None:
    with Workspace(tmp_path, create=True) as workspace:
        campaign = begin(workspace)
        with workspace.writing() as transaction:
            memory = Memory(transaction)
            method = load_library().methods["fuse-the-passes"]
            scope = ValueScope("cpp", "processor", "softmax")
            item = add_method_item(memory, "cpp-memory-reduction", method, scope)
            memory.set_value(item, ValueRole.REFINE, "", ValueEstimate(0.25, 3))
        first = attempt(workspace, campaign, 1, 1.5, [])
        for ratio in (2.0, 1.2, None):
            attempt(workspace, campaign, 1, ratio, [item], parent=first)
        (row,) = next(r for r in skill_records(workspace) if r["name"] == method.name)["values"]
        assert (row["shown"], row["passed"], row["faster"], row["visits"]) == (3, 2, 1, 3)
    with serving(tmp_path) as url:
        page = get(url, "/skills").text
    assert "shown 3 times, 2 passed, 1 faster than before" in page and "refine +0.25" in page


def test_texts_side_by_side() -> None:
    lines = side_by_side("a\nb\nc", "a\nB\nc\nd")
    assert [(line.kind, line.left, line.right) for line in lines] == [
        ("equal", "a", "a"), ("changed", "b", "B"), ("equal", "c", "c"), ("added", "", "d"),
    ]  # fmt: skip
    assert len(NAMES) == 12


def test_long_equal_parts_of_texts_are_left_out() -> None:
    lines = [f"line {number}" for number in range(40)]
    found = side_by_side("\n".join(lines), "\n".join([*lines[:20], "new", *lines[21:]]))
    kinds = [line.kind for line in found]
    assert kinds == ["skipped", *["equal"] * 3, "changed", *["equal"] * 3, "skipped"]
    assert (found[0].left, found[-1].right) == ("17 equal lines", "16 equal lines")
    assert (found[4].left_number, found[4].right) == (21, "new")
    (whole,) = side_by_side("a\nb\nc", "a\nb\nc")
    assert whole.left == "3 equal lines"
