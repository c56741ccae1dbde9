"""
``sagemaker-llm choose --html``: the page says what the JSON says.
"""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from tests.running import run

MODEL = "HuggingFaceH4/zephyr-7b-beta"
QUICK = (
    *("--rate", "2/s", "--duration", "10m"),
    *("--instance-type", "ml.g6e.xlarge", "--instance-type", "ml.g5.12xlarge"),
)


class Page(HTMLParser):
    """
    Collects the cells of tables, the regions and what has no end.
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.regions: list[str] = []
        self.texts: dict[str, list[str]] = {}
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        if found.get("role") == "region":
            self.regions.append(found.get("aria-label") or "")
        if tag == "tr":
            self.rows.append([])
        if tag == "td":
            self.rows[-1].append("")
        if tag not in {"meta", "link", "path", "br"}:
            self.open.append(tag)
        if tag in {"title", "h1", "h2", "h3", "h4", "p", "li", "code"}:
            self.texts.setdefault(tag, []).append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        if tag != "path":
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "td" in self.open:
            self.rows[-1][-1] += data
        elif self.open and self.open[-1] in self.texts:
            self.texts[self.open[-1]][-1] += data


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], str]:
    """
    Return one answer as JSON and as a page.
    """
    path = tmp_path_factory.mktemp("page") / "é.html"
    done = run("choose", MODEL, *QUICK, "--json", "--html", path)
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout), path.read_text(encoding="utf-8")


def test_each_row_is_a_choice_of_the_json(made: tuple[dict[str, Any], str]) -> None:
    """
    In the same order, with the same figures, rounded.
    """
    facts, text = made
    rows = [row for row in Page(text).rows if len(row) == 11]

    assert len(rows) == len(facts["choices"]) > 3
    for row, one in zip(rows, facts["choices"], strict=True):
        assert one["name"].startswith(f"{row[1]} on {row[0]}; {row[2]}")
        assert row[3].rstrip("*") == f"{one['usd_per_month']:,.0f}"
        assert row[4] == f"{one['kept']:.1%}"
        assert row[5:9] == [
            f"{one[kind][share]:.3f}"
            for kind in ("ttft", "tpot")
            for share in ("p50", "p95")
        ]
        assert one["method"] in row[9]
        assert row[10] == (one["reason"] or "it is the one")


def test_the_calls_notes_and_reasons_are_those_of_the_json(
    made: tuple[dict[str, Any], str],
) -> None:
    """
    The text to copy, to the letter.
    """
    facts, text = made
    page = Page(text)

    assert page.texts["code"][0] == facts["construct_call"]
    assert page.texts["code"][1].startswith("sagemaker-llm simulate cdk.out --traffic")
    assert set(facts["notes"]) <= set(page.texts["li"])
    assert [row for row in page.rows if len(row) == 2] == [
        [one["what"], one["why"]] for one in facts["left_out"]
    ]


def test_each_point_of_the_picture_is_a_choice(
    made: tuple[dict[str, Any], str],
) -> None:
    """
    With what it is as its title; the chosen and those on the front twice, as both.
    """
    facts, text = made
    figures = text.split("<figure")[1:]

    assert len(figures) == 2
    for figure in figures:
        titles = re.findall(r"<title>(.*?)</title>", figure.split("</figure>")[0])
        names = {title.split(": ")[0] for title in titles}
        assert names == {one["name"] for one in facts["choices"]}
        assert figure.count('class="dots best c0"') == 2  # The key's, and its own.


def test_it_needs_nothing_from_elsewhere(made: tuple[dict[str, Any], str]) -> None:
    """
    No script, no request; each region has a name of its own, and one title is the
    heading.
    """
    _, text = made
    page = Page(text)

    assert "<script" not in text
    assert not re.search(r"""(src|href)=["'](?!data:)""", text)
    assert len(set(page.regions)) == len(page.regions) >= 3
    assert page.texts["title"][0] == page.texts["h1"][0]
    assert page.texts["h1"] == [f"What to deploy for {MODEL}"]
    assert page.open == []


def test_a_page_without_a_choice_says_so(tmp_path: Path) -> None:
    """
    Nothing has a price, and nothing is drawn.
    """
    prices, path = tmp_path / "prices.json", tmp_path / "page.html"
    prices.write_text('{"ml.p5.48xlarge": 1}', encoding="utf-8")
    done = run("choose", MODEL, *QUICK, "--prices", prices, "--html", path)
    text = path.read_text(encoding="utf-8")

    assert done.returncode == 1
    assert "Nothing keeps the objective within the bounds." in text
    assert "Without a known price, in no order" in text
    assert "<figure" not in text
    assert Page(text).open == []


def test_a_page_is_written_over_and_an_app_is_not(tmp_path: Path) -> None:
    """
    Somebody may have gone on with the code.
    """
    path = tmp_path / "there"
    path.write_text("before", encoding="utf-8")

    refused = run("choose", MODEL, *QUICK, "--write", path)
    assert refused.returncode == 2
    assert f"--write {path} must be a new file, got one that exists" in refused.stderr
    assert path.read_text(encoding="utf-8") == "before"

    assert run("choose", MODEL, *QUICK, "--html", path).returncode == 0
    assert MODEL in path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--html", "gone/page.html"), "there is no folder gone"),
        (("--html", "."), "it is a folder"),
        (("--write", "."), "it is a folder"),
        (("--endpoint", "chat"), "--endpoint is one of an app"),
        (
            ("--rate", "1/s"),
            "--rate must be given once for each model, in order, got 2",
        ),
        (("--duration", "93d"), "--duration must be at most 92d, got 93d"),
        (("--peak", "0/s"), "--peak of a day must be at least --rate"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else None,
)
def test_misuse_is_refused_before_anything_is_computed(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    said: str,
) -> None:
    """
    And what is there stays as it was.
    """
    monkeypatch.chdir(tmp_path)
    Path("here.py").write_text("mine", encoding="utf-8")
    done = run("choose", MODEL, *QUICK, *arguments)

    assert done.returncode == 2
    assert said in done.stderr
    assert Path("here.py").read_text(encoding="utf-8") == "mine"
