"""
Chromium, and the reports as pages in it.

The browser's driver has an environment of its own, where the library is not: the
reports are made by the project's Python.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from tests.browser.reports import REPORTS

ROOT = Path(__file__).parents[2]
_PYTHON = ROOT / ".venv" / "bin" / "python"

# A page, opened as it is asked for; the driver's own options.
Open = Callable[..., Page]


@pytest.fixture(name="folder", scope="session")
def _folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """
    The reports, made by real runs.
    """
    folder = tmp_path_factory.mktemp("reports")
    subprocess.run(
        [_PYTHON, "-m", "tests.browser.making", folder],
        cwd=ROOT,
        check=True,
        timeout=600,
    )
    return folder


@pytest.fixture(name="browser", scope="session")
def _browser() -> Iterator[Browser]:
    """
    One Chromium for all tests, which share nothing else in it.
    """
    path = os.environ["CHROMIUM"]
    # As root there is no sandbox; only pages made here are opened.
    is_root = os.geteuid() == 0
    with sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=path, chromium_sandbox=not is_root
        )
        yield browser
        browser.close()


@pytest.fixture(name="open_page")
def _open_page(browser: Browser) -> Iterator[Callable[..., Page]]:
    """
    Open a file in a context of its own, which is closed after the test.
    """
    contexts = []

    def open_page(
        path: Path,
        *,
        width: int = 1280,
        heard: list[str] | None = None,
        **options: Any,  # noqa: ANN401 - the driver's own
    ) -> Page:
        viewport = {"width": width, "height": 800}
        context = browser.new_context(viewport=viewport, offline=True, **options)
        contexts.append(context)
        page = context.new_page()
        _listen(page, [] if heard is None else heard)
        page.goto(path.as_uri())
        return page

    yield open_page
    for context in contexts:
        context.close()


@pytest.fixture(name="report", params=REPORTS)
def _report(request: pytest.FixtureRequest, folder: Path) -> Path:
    """
    Each report's file.
    """
    return folder / f"{request.param}.html"


def _listen(page: Page, heard: list[str]) -> None:
    """
    Write down what a page says to the console, what fails, and what it asks for.
    """
    page.on("console", lambda said: heard.append(f"{said.type}: {said.text}"))
    page.on("pageerror", lambda error: heard.append(f"error: {error}"))
    page.on("request", lambda asked: heard.append(f"asks for {asked.url}"))
