"""
Charts and tables, apart from any report.
"""

from __future__ import annotations

import re

import pytest

from cdk_sagemaker_llm.pages import (
    Panel,
    bullets,
    chart,
    marks,
    numbers,
    page,
    span_of,
    step_of,
    table,
)

MINUTE, HOUR, DAY = 60.0, 3600.0, 86_400.0


@pytest.mark.parametrize(
    ("end", "most", "step"),
    [
        (1, 4, 0.5),
        (4, 4, 1),
        (4.1, 4, 2),
        (5, 6, 1),
        (6, 6, 1),
        (6.1, 6, 2),
        (100, 6, 20),
        (0.0003, 4, 0.0001),
        (11_937, 4, 5000),
        (9.9, 4, 5),
        (39, 4, 10),
        (41, 4, 20),
        (0.3, 3, 0.1),
        (1e12, 4, 5e11),
    ],
)
def test_steps_are_round(end: float, most: int, step: float) -> None:
    """
    The smallest of 1, 2 and 5, times a power of ten, that gets there.
    """
    assert step_of(end, most) == pytest.approx(step)


@pytest.mark.parametrize(
    ("seconds", "step"),
    [
        (MINUTE, MINUTE),
        (6 * MINUTE, MINUTE),
        (7 * MINUTE, 2 * MINUTE),
        (2 * HOUR, 20 * MINUTE),
        (3 * HOUR, 30 * MINUTE),
        (DAY, 4 * HOUR),
        (3 * DAY, 12 * HOUR),
        (3 * DAY + 1, DAY),
        (6 * DAY, DAY),
        (7 * DAY, 2 * DAY),
        (30 * DAY, 5 * DAY),
    ],
)
def test_steps_of_time_are_round(seconds: float, step: float) -> None:
    """
    Minutes, hours or days, six steps at most.
    """
    assert span_of(seconds, 6) == step


def test_marks_begin_at_zero_and_do_not_pass_the_end() -> None:
    """
    A sum of tenths, too, has its last one.
    """
    assert marks(5, 2) == [0, 2, 4]
    assert marks(4, 2) == [0, 2, 4]
    assert len(marks(0.3, 0.1)) == 4


def drawn(panel: Panel, kind: str) -> list[str]:
    """
    Return the outlines of one kind in a chart.
    """
    return re.findall(
        rf'<path class="{kind} c\d" d="([^"]+)"', chart(panel).split("role=")[1]
    )


def test_a_curve_is_interrupted_where_there_is_nothing() -> None:
    """
    What stands alone is a dot, which a line of no length is.
    """
    panel = Panel("requests", [("all", [0, 4, None, 2])], [0, 1, 2, 3], "seconds")

    assert drawn(panel, "curve") == ["M0.0 200.0h0 L240.0 0.0 M720.0 100.0h0"]
    assert drawn(panel, "dots") == ["M0.0 200.0h0M240.0 0.0h0M720.0 100.0h0"]


def test_many_points_are_no_dots() -> None:
    """
    Up to 24 are.
    """
    few = Panel("requests", [("all", [1.0] * 24)], range(24), "seconds")
    many = Panel("requests", [("all", [1.0] * 25)], range(25), "seconds")

    assert drawn(few, "dots")
    assert not drawn(many, "dots")
    assert drawn(many, "curve")


def test_the_largest_of_many_values_is_drawn() -> None:
    """
    A peak is not lost where points are put together.
    """
    values = [1.0] * 1501
    values[1001] = 8.0
    panel = Panel("requests", [("all", values)], range(1501), "seconds")
    (outline,) = drawn(panel, "curve")

    assert outline.count("L") == 750
    assert "L480.0 0.0" in outline


def test_an_empty_chart_still_has_its_axes() -> None:
    """
    Nothing known is no error, and draws no curve.
    """
    panel = Panel("seconds", [("p50", [None, None]), ("p95", [0, 0])], [0, 1], "s")
    written = chart(panel)

    assert 'aria-label="seconds: p50 up to 0, p95 up to 0"' in written
    assert drawn(panel, "curve") == ["M0.0 200.0h0 L720.0 200.0"]
    assert (
        '<div class="ys" aria-hidden="true"><span>0</span><span>0.5</span>' in written
    )


def test_a_clock_writes_the_moments() -> None:
    """
    At round minutes, up to the end that is given.
    """
    panel = Panel(
        *("requests", [("all", [1, 2])], [0, 60], "minutes", 120),
        lambda seconds: f"{seconds / 60:g} min",
    )

    assert re.findall(r"left:([\d.]+)%\">([^<]+)<", chart(panel)) == [
        ("0.00", "0 min"),
        ("50.00", "1 min"),
        ("100.00", "2 min"),
    ]
    assert drawn(panel, "curve") == ["M0.0 100.0h0 L360.0 0.0"]


def test_names_are_no_markup() -> None:
    """
    Wherever a name is written.
    """
    panel = Panel("<u>", [("<c>", [1])], [0], "<x>")
    written = page("<t>", chart(panel) + numbers(panel) + bullets(["<b>"]))

    assert not re.search("<[utcbx]>", written)
    assert "<title>&lt;t&gt;</title>" in written
    assert "<li>&lt;b&gt;</li>" in written


def test_numbers_are_folded_away() -> None:
    """
    A row each; of more than 120 the most of as many as make it 120.
    """
    few = Panel("requests", [("all", [1, None, 0.12345])], [0, 1, 2], "second")
    many = Panel("requests", [("all", range(121))], range(121), "second")

    large = Panel("tokens", [("all", [9999.4, 12_345.6])], [0, 1], "second")

    assert "<summary>Numbers: requests</summary>" in numbers(few)
    assert re.findall("<td>([^<]*)</td>", numbers(large)) == ["9999", "12346"]
    assert "tokens: all up to 12346" in chart(large)
    assert re.findall("<td>([^<]*)</td>", numbers(few)) == ["1", "", "0.1235"]
    assert "<summary>Numbers: requests, the most of each 2</summary>" in numbers(many)
    assert re.findall("<td>([^<]*)</td>", numbers(many))[:2] == ["1", "3"]
    assert numbers(many).count("<tr>") == 1 + 61


def test_long_cells_are_read_from_the_left() -> None:
    """
    As the first column is; 24 letters are not long yet.
    """
    written = table("a", ("b", "c", "d"), [("1", "x" * 24, "x" * 25)])

    assert '<th scope="col">c</th><th scope="col" class="text">d</th>' in written
    assert f'<td class="text">1</td><td>{"x" * 24}</td><td class="text">' in written
    assert 'tabindex="0" role="region" aria-label="a"' in written


def test_cells_and_labels_are_no_markup() -> None:
    """
    Whatever a server said.
    """
    written = table("<a>", ("<b>",), [("<c>",)])

    assert not re.search("<[abc]>", written)
    assert "&lt;c&gt;</td>" in written
    assert 'aria-label="&lt;a&gt;"' in written


def test_a_page_may_ask_for_nothing() -> None:
    """
    The browser itself refuses it.
    """
    assert (
        'http-equiv="Content-Security-Policy" content="default-src \'none\'; style-src'
    ) in page("t", "")


def test_a_fourth_curve_looks_like_the_first() -> None:
    """
    In the drawing and beside its name.
    """
    curves = [(name, [1.0, 2.0]) for name in "abcd"]
    written = chart(Panel("requests", curves, [0, 1], "seconds"))

    assert [*re.findall(r'class="curve (c\d)"', written)] == [
        "c0",
        "c1",
        "c2",
        "c0",
    ] * 2
    assert re.findall("</svg> (.)</span>", written) == ["a", "b", "c", "d"]
