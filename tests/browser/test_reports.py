"""
Every report in headless Chromium: drawn, legible, narrow, by keyboard and on paper.
"""

from __future__ import annotations

import io
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from playwright.sync_api import Page

from tests.browser import looking
from tests.browser.conftest import Open

# The first of them waits for all reports, each of which is a run.
pytestmark = pytest.mark.timeout(900)

WIDTHS = (320, 390, 640, 1280)  # 640 is 1280 at twice the size.
SCHEMES = ("light", "dark")
# Of WCAG 2.2, level AA: of text, and of what a drawing needs to be understood.
TEXT, DRAWN = 4.5, 3.0
# What is left of A4 between Chromium's own margins, in CSS pixels.
PAPER = 718


def test_it_asks_for_nothing_and_complains_of_nothing(
    report: Path, open_page: Open
) -> None:
    """
    One request, for the file itself, and an empty console.
    """
    heard: list[str] = []
    page = open_page(report, heard=heard)
    page.wait_for_load_state("networkidle")

    assert heard == [f"asks for {report.as_uri()}"]


def test_its_policy_would_stop_a_request(report: Path, open_page: Open) -> None:
    """
    What a page might be made to ask for is refused by the browser, and heard here.
    """
    heard: list[str] = []
    page = open_page(report, heard=heard)
    page.evaluate("document.body.append(Object.assign(new Image(), {src: '/x.png'}))")
    is_drawn = page.evaluate(
        "document.images[0].decode().then(() => true, () => false)"
    )

    assert not is_drawn
    assert any(one.startswith("error: Loading the image") for one in heard)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_curve_is_seen(report: Path, open_page: Open, scheme: str) -> None:
    """
    Each has its colour on the screen, and all of it is within its chart.
    """
    page = open_page(report, color_scheme=scheme)
    charts = page.locator("figure.chart").all()

    assert charts
    for chart in charts:
        svg = chart.locator("svg[role=img]")
        chart.scroll_into_view_if_needed()
        picture = Image.open(io.BytesIO(svg.screenshot())).convert("RGB")
        assert picture.width > 500
        assert picture.height > 100
        drawn = svg.evaluate(looking.CURVES)
        assert drawn
        for curve in drawn:
            assert curve["outside"] < 0.05, curve  # As finely as it is written.
            assert _pixels(picture, curve["colour"]) >= 3, curve


@pytest.mark.parametrize("width", WIDTHS)
def test_no_label_of_a_chart_is_cut_off_or_covered(
    report: Path, open_page: Open, width: int
) -> None:
    """
    They are as large as on a wide page, too.
    """
    page = open_page(report, width=width)

    for chart in page.locator("figure.chart").all():
        labels = chart.evaluate(looking.LABELS)
        assert len(labels) >= 5
        assert all(one["left"] >= 0 and one["right"] <= width for one in labels), labels
        assert all(one["size"] >= 12 for one in labels)
        covered = [
            (one["text"], other["text"])
            for one, other in combinations(labels, 2)
            if _overlap(one, other)
        ]
        assert covered == []


@pytest.mark.parametrize("width", WIDTHS)
def test_the_page_never_scrolls_sideways(
    report: Path, open_page: Open, width: int
) -> None:
    """
    Tables scroll by themselves; everything else is within the page.
    """
    page = open_page(report, width=width)
    _unfold(page)

    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(looking.BEYOND) == []


def test_larger_letters_fit_too(report: Path, open_page: Open) -> None:
    """
    Twice as large letters on a narrow page, as set in a browser's own settings.
    """
    page = open_page(report, width=390)
    page.add_style_tag(content="html { font-size: 200% }")

    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_the_keyboard_reaches_everything(report: Path, open_page: Open) -> None:
    """
    In the order of the page, and where it is can be seen.
    """
    page = open_page(report, width=390)
    wanted = page.evaluate(looking.REACHABLE)
    reached = []
    for _ in wanted:
        page.keyboard.press("Tab")
        reached.append(page.evaluate(looking.FOCUSED))

    assert wanted
    assert [one["name"] for one in reached] == wanted
    assert len(set(wanted)) == len(wanted)
    for one in reached:
        assert one["outline"] >= 2, one
        assert one["contrast"] >= DRAWN, one


def test_a_table_scrolls_by_keyboard(report: Path, open_page: Open) -> None:
    """
    Where it is wider than the page.
    """
    page = open_page(report, width=320)
    wide = [one for one in page.locator(".wide").all() if one.evaluate(looking.SCROLLS)]

    for table in wide:
        table.focus()
        page.keyboard.press("ArrowRight")
        assert table.evaluate(looking.SCROLLED)


def test_what_is_folded_away_opens_by_keyboard(report: Path, open_page: Open) -> None:
    """
    By Enter and by Space, and shuts again.
    """
    page = open_page(report)

    for details in page.locator("details").all():
        summary = details.locator("summary")
        for key in ("Enter", "Space"):
            summary.press(key)
            assert details.evaluate("each => each.open")
            assert details.locator("table").is_visible()
            summary.press(key)
            assert not details.evaluate("each => each.open")


@pytest.mark.parametrize("scheme", SCHEMES)
def test_everything_stands_out(report: Path, open_page: Open, scheme: str) -> None:
    """
    Text and curves against what is behind them.
    """
    page = open_page(report, color_scheme=scheme)
    _unfold(page)
    is_dark = page.evaluate(looking.BEHIND) < 0.2

    assert is_dark is (scheme == "dark")
    for need, what in ((TEXT, looking.TEXTS), (DRAWN, looking.STROKES)):
        found: list[dict[str, Any]] = page.evaluate(what)
        assert found
        assert [one for one in found if one["contrast"] < need] == []


def test_it_is_understood_without_being_seen(report: Path, open_page: Open) -> None:
    """
    A language, a title, headings in order, and a text for each drawing.
    """
    page = open_page(report)
    levels = page.evaluate(
        "[...document.querySelectorAll('h1,h2,h3,h4,h5,h6')].map(e => +e.tagName[1])"
    )

    assert page.locator("html").get_attribute("lang") == "en"
    assert page.title() == page.locator("h1").inner_text()
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert page.locator("main").count() == 1
    assert page.evaluate(looking.NAMELESS) == []


def test_it_prints_whole(report: Path, open_page: Open) -> None:
    """
    On white paper, whatever the screen's colours are, and with nothing cut off.
    """
    page = open_page(report, width=PAPER, color_scheme="dark")
    page.emulate_media(media="print")

    assert page.evaluate(looking.BEHIND) > 0.95
    assert page.evaluate("document.documentElement.scrollWidth") <= PAPER
    assert page.evaluate(looking.BEYOND) == []
    assert page.evaluate(looking.CUT) == []
    assert page.pdf(format="A4").startswith(b"%PDF-")


def _unfold(page: Page) -> None:
    page.evaluate("document.querySelectorAll('details').forEach(e => e.open = true)")


def _pixels(picture: Image.Image, colour: list[int]) -> int:
    # The edges of a line are blended with what is behind it.
    counted: Any = picture.getcolors(picture.width * picture.height)
    return sum(
        count
        for count, pixel in counted
        if all(
            abs(ours - theirs) <= 24 for ours, theirs in zip(pixel, colour, strict=True)
        )
    )


def _overlap(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return bool(
        one["left"] < other["right"]
        and other["left"] < one["right"]
        and one["top"] < other["bottom"]
        and other["top"] < one["bottom"]
    )
