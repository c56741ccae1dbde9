"""
What a run is written as.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from PIL import Image

from cdk_sagemaker_llm.load.objective import Objective
from cdk_sagemaker_llm.load.reading import reading_of
from cdk_sagemaker_llm.load.reports import (
    draw,
    draw_benchmark,
    page_of,
    page_of_benchmark,
    panels_of,
    panels_of_benchmark,
)
from cdk_sagemaker_llm.load.settings import LoadSettings
from cdk_sagemaker_llm.pages import check_ending
from tests.unit.load.examples import BEGIN, histogram, run_of
from tests.unit.load.sweeps import row, sweep

MARKDOWN = """\
| figure | value |
| --- | --- |
| requests | 9 |
| never answered | 1 |
| success | 80.00% |
| requests a second | 0.70 |
| tokens a second | 6.7 |
| tokens an answer | 11.2 |
| tokens a prompt | 5.0 |

| seconds | p50 | p90 | p95 | p99 | longest |
| --- | --- | --- | --- | --- | --- |
| latency | 2.000 | 4.000 | 4.000 | 4.000 | 4.000 |
| time to first token | 0.500 | 1.000 | 1.000 | 1.000 | 1.000 |
| time per output token | 0.167 | 0.167 | 0.167 | 0.167 | 0.167 |
| time between tokens | 0.100 | 0.200 | 0.200 | 0.200 | 0.200 |

- the generator's own delay: half of its wake-ups were late by up to 1.0 ms, all but \
one in a hundred by up to 2.0 ms, the latest by 8.0 ms; its busiest process took 25% \
of a core
- 1 request was never answered, not even in the 60 s for the last answers, \
which counts against success
- 1 x ModelError 503: no room <here>
"""
CSV = """\
start,latency,first_token,tokens,prompt_tokens,failure,turn
-0.500000,1.000000,0.250000,7,3,,1
0.000000,2.000000,0.500000,10,5,,1
"""


def test_markdown() -> None:
    """
    Tables, and what else there is to know.
    """
    assert run_of().to_markdown() == MARKDOWN


def test_csv_has_a_row_for_each_request() -> None:
    """
    In the order in which they began.
    """
    written = run_of().to_csv()

    assert written.startswith(CSV)
    assert len(written.splitlines()) == 1 + 12
    assert "7.000000,0.500000,,0,,ModelError 503,1\n" in written


def test_goodput_is_a_row_where_there_is_an_objective() -> None:
    """
    And the part of what began that kept it.
    """
    objective = Objective(latency=2.0, first_token=0.5)
    run = replace(run_of(), objective=objective)
    facts = json.loads(run.to_json())

    assert (
        "| goodput | 0.70 requests/s (latency at most 2 s and time to first token at "
        "most 0.5 s) |\n| within all bounds | 70.00% |\n"
    ) in run.to_markdown()
    assert facts["goodput"] == {
        "requests_per_second": 0.7,
        "share": 0.7,
        "bounds": {"latency": 2.0, "first_token": 0.5},
    }


def test_json_has_the_figures_and_no_prompts() -> None:
    """
    The prompts are counted: they may be somebody's.
    """
    facts = json.loads(run_of().to_json())

    assert facts["began"] == "2027-01-17T12:00:00+00:00"
    assert facts["seconds"] == 10
    assert facts["settings"]["prompts"] == 1
    assert facts["settings"]["trace"] == facts["settings"]["tools"] == 0
    assert facts["settings"]["run_time"] == 60.0
    assert facts["goodput"] is None
    assert facts["figures"]["requests"] == 9
    assert facts["figures"]["latency"]["p50"] == 2.0
    assert facts["generator"] == {
        "p50": 0.001,
        "p99": 0.002,
        "longest": 0.008,
        "cpu": 0.25,
    }
    assert len(facts["course"]) == 10
    assert "secret" not in json.dumps(facts)


def test_a_bottleneck_is_said_first() -> None:
    """
    Before any other remark.
    """
    assert run_of(cpu=0.95).remarks()[0].startswith("the generator itself was the")
    assert not run_of().remarks()[0].startswith("the generator itself was the")


@pytest.mark.parametrize(
    ("late", "begins"),
    [
        (
            [0.051] * 100,
            "the generator's own delay is more than a tenth of p50 of time",
        ),
        ([0.020] * 100, "the generator's own delay: half"),
        ([0.001] * 50 + [0.401] * 50, "the generator itself was the bottleneck: the"),
        ([0.001] * 50 + [0.101] * 50, "the generator's own delay is more than a tenth"),
        ([0.201] * 51 + [0.202] * 49, "the generator itself was the bottleneck: the"),
    ],
    ids=["first token", "nowhere", "p99 of latency", "p99", "median of latency"],
)
def test_a_delay_is_a_bottleneck_where_it_shows_in_the_latency(
    late: list[float], begins: str
) -> None:
    """
    Elsewhere the figures are named that it shows in, and the others stand.
    """
    run = run_of()
    run.measured.gaps = histogram(0.6, 0.6, 5.0)
    run.measured.delays = {1: histogram(*late)}

    assert run.remarks()[0].startswith(begins)


def test_a_lost_worker_is_said_before_all_else() -> None:
    """
    By when it was last heard of.
    """
    run = run_of(cpu=0.95)
    run.measured.lost = {2: run.begin + 4.2}

    assert run.remarks()[0] == (
        "worker 2 was lost, last heard of 4 s after measuring began: its users asked "
        "no more, and what it had under way then is missing; run the test again"
    )
    assert run.remarks()[1].startswith("the generator itself was the bottleneck")
    run.measured.lost = {3: run.begin, 2: run.begin + 4.2}
    assert [each[:8] for each in run.remarks()[:2]] == ["worker 2", "worker 3"]


def test_the_figures_that_a_delay_shows_in_are_named() -> None:
    """
    Each with its percentiles.
    """
    run = run_of()
    run.measured.delays = {1: histogram(*[0.051] * 50, *[0.101] * 50)}

    assert run.remarks()[0] == (
        "the generator's own delay is more than a tenth of p50 and p99 of time to "
        "first token and of p50 and p99 of time between tokens: the endpoint is "
        "faster there, and its other figures stand; use more processes, or a "
        "machine with nothing else to do"
    )


class _Page(HTMLParser):
    """
    Collects what a page is made of.
    """

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str | None] = []
        self.labels: list[str | None] = []
        self.paths: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """
        Keep what is looked at.
        """
        given = dict(attrs)
        self.addresses += [given[name] for name in ("src", "href") if name in given]
        if tag == "svg" and given.get("role") == "img":
            self.labels.append(given.get("aria-label"))
        if tag == "path":
            self.paths.append(given.get("d") or "")


def test_the_page_has_charts_and_needs_nothing_else() -> None:
    """
    What cannot be seen is said; what a server said is no markup.
    """
    written = page_of(run_of())
    page = _Page()
    page.feed(written)

    assert page.addresses == ["data:,"]
    assert page.labels == [
        "requests a second: ended well up to 1, failed up to 1",
        "tokens a second: tokens up to 10",
        "requests under way: under way up to 2",
        (
            "seconds, median of each second: latency up to 2, time to first token "
            "up to 0.5"
        ),
        "seconds at most: latency up to 4, time to first token up to 1",
    ]
    assert all(path.startswith("M") for path in page.paths)
    assert "no room &lt;here&gt;" in written


@pytest.mark.parametrize(
    ("settings", "load"),
    [
        (LoadSettings(endpoint="chat", users=1), "1 user, token by token"),
        (
            LoadSettings(endpoint="chat", users=20, is_streamed=False),
            "20 users, whole answers",
        ),
        (
            LoadSettings(endpoint="chat", arrival_rate=2.5),
            "2.5 requests a second arriving at random, token by token",
        ),
    ],
)
def test_a_page_begins_with_what_was_asked(settings: LoadSettings, load: str) -> None:
    """
    By how many, how, for how long and when.
    """
    written = page_of(replace(run_of(), settings=settings, end=BEGIN + 9.6))

    assert "Load test of chat" in written
    assert (
        f"<p>{load}, measured for 10 s from 2027-01-17 12:00:00 UTC on.</p>" in written
    )


def test_a_picture_is_drawn(tmp_path: Path) -> None:
    """
    In the format that its name ends in.
    """
    path = tmp_path / "run.png"
    draw(run_of(), path)

    assert path.read_bytes().startswith(b"\x89PNG")


def test_a_title_is_not_cut_off(tmp_path: Path) -> None:
    """
    However long the endpoint's name is: the picture's edges stay white.
    """
    path = tmp_path / "run.png"
    run = run_of()
    draw(replace(run, settings=replace(run.settings, endpoint="x" * 63)), path)

    with Image.open(path) as picture:
        white = picture.convert("L")
        edges = [(0, 0, 1, white.height), (white.width - 1, 0, white.width, 60)]
        assert [white.crop(edge).getextrema() for edge in edges] == [(255, 255)] * 2


def test_what_is_left_of_a_second_is_not_drawn() -> None:
    """
    It would look like a fall; but something is drawn of less than a second.
    """
    run = run_of()
    (longer, shorter) = (replace(run, end=run.begin + end) for end in (10.4, 0.7))

    assert len(panels_of(run)[0].xs) == len(panels_of(longer)[0].xs) == 10
    assert len(panels_of(replace(run, end=run.begin + 9.995))[0].xs) == 10
    assert len(panels_of(shorter)[0].xs) == 1


def test_percentiles_are_of_what_began_in_time() -> None:
    """
    From the shortest of the eight to the longest.
    """
    panel = panels_of(run_of())[-1]
    (_, latency), (_, first) = panel.curves

    assert (panel.xs[0], panel.xs[-1]) == (0, 100)
    # One of a second, six of two, one of four.
    assert latency == [1.0] * 13 + [2.0] * 75 + [4.0] * 13
    assert first == [0.5] * 88 + [1.0] * 13


def test_of_nothing_that_ended_well_there_are_no_percentiles() -> None:
    """
    Nor is there a curve of first tokens.
    """
    run = run_of()
    run.measured.records = [replace(run.measured.records[0], failure="x")]
    *_, percentiles = panels_of(run)

    assert percentiles.curves == [("latency", [None] * 101)]
    assert percentiles.unit == "seconds at most"
    assert percentiles.x_unit == "percentile of the requests that ended well"


def test_a_picture_of_no_format_is_refused() -> None:
    """
    Before anything is measured.
    """
    check_ending(Path("run.svg"))
    with pytest.raises(ValueError, match="--png run.doc must end in the name of"):
        check_ending(Path("run.doc"))


def test_a_report_loads_neither_locust_nor_gevent() -> None:
    """
    They change Python's sockets, and are for a run's own processes.
    """
    code = (
        "import sys, cdk_sagemaker_llm.load.running, cdk_sagemaker_llm.load.reports;"
        "print([m for m in ('locust', 'gevent', 'boto3') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    assert done.stdout.strip() == "[]"


def test_the_page_of_a_benchmark() -> None:
    """
    The table, what it says, and curves over users; nothing from elsewhere.
    """
    rows = [row(20, rate=2.0, p50=2.0, failed=1), row(10, failed=100)]
    made = replace(sweep(*rows), endpoint="<chat>")
    written = page_of_benchmark(made, reading_of(made, Objective(latency=5.0)))
    page = _Page()
    page.feed(written)

    assert page.addresses == ["data:,"]
    assert page.labels == [
        "requests a second: ended well up to 2",
        (
            "seconds: latency p50 up to 2, latency p95 up to 3, time to first token "
            "p50 up to 0.2"
        ),
        "tokens a second: tokens up to 100",
    ]
    assert "Benchmark of &lt;chat&gt;" in written
    assert "<td>99%</td>" in written
    assert "None of the numbers of users tried is within the objective" in written
    # Users stand in their order, and a row without an answer has no point.
    assert [panel.xs for panel in panels_of_benchmark(rows)] == [[10.0, 20.0]] * 3
    assert panels_of_benchmark(rows)[1].curves[0] == ("latency p50", [None, 2.0])


def test_a_benchmark_without_streams_has_no_curve_of_first_tokens() -> None:
    """
    Nor one of times where nothing was answered.
    """
    whole = panels_of_benchmark([row(10, is_streamed=False)])
    failed = panels_of_benchmark([row(10, failed=100)])

    assert [name for name, _ in whole[1].curves] == ["latency p50", "latency p95"]
    assert [panel.unit for panel in failed] == ["requests a second", "tokens a second"]


def test_a_benchmark_is_drawn(tmp_path: Path) -> None:
    """
    In the format that its name ends in.
    """
    path = tmp_path / "sweep.svg"
    draw_benchmark(sweep(row(10), row(20, failed=100)), path)
    written = path.read_text(encoding="utf-8")

    assert "<svg" in written
