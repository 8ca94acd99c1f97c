"""The dashboard in a real browser, while a real campaign runs (make test-browser)."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

pytest.importorskip("playwright", reason="needs playwright")

from playwright.sync_api import Browser, Page, Route, sync_playwright

from judge.kernels import KERNEL, MODEL, TASK
from kernelmill.workspace import Workspace
from web.filling import HOSTILE, fill
from web.serving import serving

pytestmark = [pytest.mark.browser, pytest.mark.timeout(900)]
ATTEMPTS = 4
SHOTS = Path(os.environ["KERNELMILL_SHOTS"]) if "KERNELMILL_SHOTS" in os.environ else None


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        pytest.skip("needs a browser: apt-get install chromium")
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page of which every request to elsewhere is recorded and blocked."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    opened = context.new_page()
    elsewhere: list[str] = []
    messages: list[str] = []

    def guard(route: Route) -> None:
        if route.request.url.startswith(("http://127.0.0.1:", "data:")):
            route.continue_()
        else:
            elsewhere.append(route.request.url)
            route.abort()

    context.route("**/*", guard)
    opened.on("console", lambda message: messages.append(message.text))
    opened.on("pageerror", lambda error: messages.append(str(error)))
    yield opened
    context.close()
    assert elsewhere == [], "nothing is loaded from elsewhere"
    # The server of a test ends before its page, which then looks for it in vain.
    assert [text for text in messages if "net::ERR_" not in text] == []


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("browser") / "w"
    fill(folder, attempts=6, strategies=("value", "best-of-n"))
    return folder


def shoot(page: Page, name: str) -> None:
    if SHOTS is not None:
        SHOTS.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=SHOTS / f"{name}.png")


def test_a_way_through_the_pages(filled: Path, page: Page) -> None:
    with serving(filled) as url:
        page.goto(url)
        page.get_by_role("link", name="1: starter").click()
        page.get_by_text("Best speedup, geometric mean").wait_for()
        assert page.locator("svg polyline").count() == 4, "two curves of two campaigns"
        shoot(page, "campaign")
        page.get_by_label("Find a task").fill("softmax")
        page.keyboard.press("Enter")
        page.get_by_role("link", name="starter/softmax").click()
        tree = page.locator("#tree")
        tree.get_by_role("link", name="champion").wait_for()
        shoot(page, "task")
        tree.get_by_role("link", name="champion").click()
        page.get_by_role("heading", name="Changes from attempt").wait_for()
        assert page.locator(".diff tr.changed").count() >= 1
        page.get_by_text("answer", exact=False).first.click()
        shoot(page, "attempt")
        assert page.title().startswith("Attempt"), "no script of a candidate ran"
        assert page.locator("main script, main img").count() == 0
        assert "<script>document.title" in page.locator(".diff").first.inner_text()
        page.get_by_role("link", name="Memory").click()
        page.get_by_label("Find").first.fill("lesson 5")
        page.keyboard.press("Enter")
        page.wait_for_url("**search=lesson*")
        assert page.locator("tbody tr").count() == 1
        page.locator("[data-row]").click()
        page.get_by_role("heading", name="Values").wait_for()
        shoot(page, "item")


def test_keys_reach_search_and_rows(filled: Path, page: Page) -> None:
    with serving(filled) as url:
        page.goto(f"{url}memory")
        page.keyboard.press("j")
        page.keyboard.press("j")
        focused = page.evaluate("document.activeElement.textContent")
        assert focused == page.locator("[data-row]").nth(1).inner_text()
        page.keyboard.press("/")
        assert page.evaluate("document.activeElement.type") == "search"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phones_width_and_both_colour_schemes(
    filled: Path, browser: Browser, scheme: str
) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 800}, color_scheme=scheme)
    opened = context.new_page()
    with serving(filled) as url:
        for path in ("", "campaigns/1", "campaigns/1/tasks/0", "attempts/6", "memory", "skills"):
            opened.goto(f"{url}{path}")
            width = opened.evaluate("document.documentElement.scrollWidth")
            assert width <= 390, f"/{path} is {width} wide"
            ink, paper = opened.evaluate(
                "[getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor]"
            )
            assert ink != paper
        shoot(opened, f"phone-{scheme}")
    context.close()


def test_every_control_has_a_name(filled: Path, page: Page) -> None:
    with serving(filled) as url:
        for path in ("", "campaigns/1", "memory", "compare?campaign=1&campaign=2"):
            page.goto(f"{url}{path}")
            for control in page.locator("a, button, input, select, meter, svg").all():
                label = control.evaluate(
                    "e => e.getAttribute('aria-label') || e.innerText || e.labels?.[0]?.innerText"
                    " || e.value || ''"
                )
                assert str(label).strip(), control.evaluate("e => e.outerHTML")
            assert page.locator("h1").count() == 1


class RunningCampaign(NamedTuple):
    """A real campaign in another process, over recordings whose sources are hostile."""

    workspace: Path
    process: subprocess.Popen[bytes]

    def wait_for(self, attempts: int) -> None:
        """Until so many attempts have been judged."""
        while True:
            ended = self.process.poll()
            with Workspace(self.workspace) as opened:
                campaigns = opened.campaigns()
                if campaigns and opened.totals(campaigns[-1]).done >= attempts:
                    return
            assert ended is None, "it ended early"
            time.sleep(0.2)


@pytest.fixture
def running(tmp_path: Path) -> Iterator[RunningCampaign]:
    (tmp_path / "doubling.py").write_text(TASK)
    for number in range(1, ATTEMPTS + 1):
        recording = tmp_path / "recorded" / "doubling" / str(number)
        recording.mkdir(parents=True)
        (recording / "model.py").write_text(MODEL)
        (recording / "kernel.cpp").write_text(f"{KERNEL}\n// recording {number}: {HOSTILE}\n")
    Workspace(tmp_path / "w", create=True).close()
    command = [
        sys.executable, "-m", "kernelmill", "run", str(tmp_path / "doubling.py"),
        "--generator", f"replay:{tmp_path / 'recorded'}", "--strategy", "value",
        "--budget", str(ATTEMPTS), "--rounds", "5", "--no-compile",
        "--workspace", str(tmp_path / "w"),
    ]  # fmt: skip
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        yield RunningCampaign(tmp_path / "w", process)
    finally:
        process.terminate()
        process.wait(60)


@pytest.mark.compiler
@pytest.mark.isolation
def test_the_pages_of_a_running_campaign(running: RunningCampaign, page: Page) -> None:
    """Everything that a reader does is done while it runs; no page is loaded twice to see news."""
    with serving(running.workspace) as url:
        running.wait_for(2)
        page.goto(f"{url}campaigns/1")
        page.locator("#figures dd", has_text=f"2 of {ATTEMPTS}").wait_for(timeout=600_000)
        curve = page.locator("#curves polyline").first
        points = len(str(curve.get_attribute("points")).split())
        page.get_by_role("link", name="doubling").click()
        page.locator("#tree a").nth(1).click()
        page.get_by_role("heading", name="Changes from attempt").wait_for()
        assert page.locator(".diff tr.changed").count() >= 1
        assert "<script>document.title" in page.locator(".diff").first.inner_text()
        page.get_by_role("link", name="Memory").click()
        page.get_by_label("Find").first.fill("passed every gate")
        page.keyboard.press("Enter")
        page.wait_for_url("**search=passed*")
        assert page.locator("[data-row]").count() >= 1
        assert running.process.poll() is None, "it ran all the while"
        page.goto(f"{url}campaigns/1")
        before = page.evaluate("performance.timeOrigin")
        page.locator("#figures dd", has_text=f"{ATTEMPTS} of {ATTEMPTS}").wait_for(timeout=600_000)
        assert len(str(curve.get_attribute("points")).split()) > points, "the curve has grown"
        assert page.evaluate("performance.timeOrigin") == before, "it was not loaded again"
        assert page.locator("#pulse").inner_text() == "live"
        assert page.title().startswith("Campaign"), "no script of a candidate ran"
