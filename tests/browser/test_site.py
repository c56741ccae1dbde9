"""
The documentation site in headless Chromium: quiet, narrow, by keyboard and by search.
"""

from __future__ import annotations

import functools
import http.server
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

ROOT = Path(__file__).parents[2]
AXE = ROOT / "tools" / "browser" / "node_modules" / "axe-core" / "axe.min.js"
QUESTIONS = json.loads((Path(__file__).parent / "questions.json").read_text())

# One of each kind of page.
KINDS = (
    "",
    "how-to/examples/in-a-vpc/",
    "reference/python/",
    "reference/python/llm-endpoint/",
    "reference/commands/simulate/",
    "reference/rules/llm101/",
    "reference/rules/llm850/",
    "checks/",
    "architecture/",
    "simulate/",
    "troubleshooting/",
)
SCHEMES = ("light", "dark")
WIDTHS = (320, 768, 1280)
# What axe finds, in a line each.
_VIOLATIONS = """async () => (await axe.run(document)).violations.flatMap(
  one => one.nodes.map(node => `${one.id}: ${node.target} ${node.failureSummary}`))"""

Visit = Callable[..., Page]


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """
        Say nothing: the test does.
        """


@pytest.fixture(name="site", scope="session")
def _site() -> Iterator[str]:
    """
    The built site on a port of this machine.
    """
    folder = ROOT / "site"
    assert (folder / "index.html").is_file(), "build it first: make docs-site"
    handler = functools.partial(_Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def _leaving(address: str, site: str) -> list[str]:
    is_here = address.startswith((site, "data:", "blob:"))
    return [] if is_here else [f"leaves: {address}"]


@pytest.fixture(name="visit")
def _visit(browser: Browser, site: str) -> Iterator[Visit]:
    """
    Open a page of the site in a context of its own, which is closed after the test.
    """
    contexts = []

    def visit(
        path: str,
        *,
        width: int = 1280,
        heard: list[str] | None = None,
        **options: Any,  # noqa: ANN401 - the driver's own
    ) -> Page:
        context = browser.new_context(
            viewport={"width": width, "height": 800}, **options
        )
        contexts.append(context)
        page = context.new_page()
        said = [] if heard is None else heard
        page.on("console", lambda one: said.append(f"{one.type}: {one.text}"))
        page.on("pageerror", lambda error: said.append(f"error: {error}"))
        page.on("requestfailed", lambda one: said.append(f"fails: {one.url}"))
        page.on("request", lambda one: said.extend(_leaving(one.url, site)))
        page.goto(f"{site}{path}")
        page.wait_for_load_state("networkidle")
        return page

    yield visit
    for context in contexts:
        context.close()


@pytest.mark.parametrize("path", KINDS)
def test_a_page_says_and_asks_for_nothing(path: str, visit: Visit) -> None:
    """
    No error on the console, and no request that leaves the machine.
    """
    heard: list[str] = []
    visit(path, heard=heard)

    assert heard == []


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_finds_its_page(question: str, visit: Visit, site: str) -> None:
    """
    Among the first three hits.
    """
    page = visit("")
    page.keyboard.press("/")
    page.keyboard.type(question)
    page.locator(".md-search-result__item").first.wait_for()
    page.wait_for_timeout(300)
    links = page.locator(".md-search-result__item").evaluate_all(
        "items => items.slice(0, 3).map(item => item.querySelector('a').href)"
    )
    found = [one.removeprefix(site).split("?")[0].split("#")[0] for one in links]

    assert QUESTIONS[question] in found


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("path", KINDS)
def test_a_page_does_not_scroll_sideways(path: str, width: int, visit: Visit) -> None:
    """
    On a phone, a tablet and a screen; what is wide scrolls within.
    """
    page = visit(path, width=width)
    wide = page.evaluate("() => document.scrollingElement.scrollWidth")

    assert wide <= width


def test_the_keyboard_reaches_search_and_navigation(visit: Visit) -> None:
    """
    By the tabulator alone: the way past the menu, the menu, and the search.
    """
    page = visit("checks/")
    reached = []
    for _ in range(40):
        page.keyboard.press("Tab")
        reached.append(
            page.evaluate(
                "() => { const e = document.activeElement; return e.className + ' '"
                " + (e.getAttribute('aria-label') || e.textContent.trim()); }"
            )
        )

    assert "Skip to content" in reached[0]
    assert any("md-search__input" in one for one in reached)
    assert any(
        one.startswith("md-tabs__link") and "Reference" in one for one in reached
    )
    assert any(one.startswith("md-nav__link") for one in reached)


def test_a_search_is_made_by_the_keyboard_alone(visit: Visit, site: str) -> None:
    """
    From the key to the page that was found.
    """
    page = visit("")
    page.keyboard.press("/")
    page.keyboard.type("LLM101")
    page.locator(".md-search-result__item").first.wait_for()
    page.wait_for_timeout(300)
    page.keyboard.press("Enter")
    page.wait_for_url(f"{site}reference/rules/llm101/**")

    assert page.locator("h1").inner_text().startswith("LLM101")


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("path", KINDS)
def test_axe_finds_nothing(path: str, scheme: str, visit: Visit) -> None:
    """
    Names, contrast, order of headings and the rest of its rules, in both palettes.
    """
    page = visit(path, color_scheme=scheme)
    is_dark = page.evaluate("() => document.body.dataset.mdColorScheme === 'slate'")
    page.evaluate(AXE.read_text(encoding="utf-8"))

    assert is_dark == (scheme == "dark")
    assert page.evaluate(_VIOLATIONS) == []
