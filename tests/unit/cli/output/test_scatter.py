"""
Pictures of points, apart from what they show.
"""

from __future__ import annotations

import pytest

from cdk_sagemaker_llm.cli.output.scatter import Axis, Group, Point, Scatter, front_of


@pytest.mark.parametrize(
    ("values", "marks"),
    [
        ([1000, 5000], [1000, 2000, 4000, 8000]),
        ([0.066, 0.387], [0.05, 0.1, 0.2, 0.4]),
        ([3], [2, 4]),
        ([2], [2, 4]),
        ([1, 2], [1, 2]),
        ([1, 64], [1, 2, 4, 8, 16, 32, 64]),
        ([1, 65], [1, 4, 16, 64, 256]),
        ([0], [1, 2]),
        ([0, 8], [5, 10]),
        ([1e-9, 1e12], [1e-9 * 2.0 ** (12 * n) for n in range(7)]),
    ],
    ids=str,
)
def test_marks_double(values: list[float], marks: list[float]) -> None:
    """
    From a round number on, in at most six steps that hold all values.
    """
    axis = Axis.of(values, 6)

    assert list(axis.marks) == pytest.approx(marks)
    assert all(0 <= axis.place(value) <= 1 for value in values)


def test_what_costs_twice_as_much_stands_as_far_from_its_half() -> None:
    """
    And what costs nothing stands at the start.
    """
    axis = Axis([1, 2, 4, 8])

    assert [axis.place(x) for x in (0, 1, 2, 4, 8)] == pytest.approx(
        [0, 0, 1 / 3, 2 / 3, 1]
    )


def test_the_front_is_what_nothing_beats() -> None:
    """
    Of equal cost the sooner, of equal time the cheaper.
    """
    points = [
        Point(x, y, f"{x}, {y}")
        for x, y in ((3, 1), (1, 4), (2, 4), (2, 2), (2, 3), (4, 1), (5, 5))
    ]

    assert [(one.x, one.y) for one in front_of(points)] == [(1, 4), (2, 2), (3, 1)]


def test_each_point_says_what_it_is() -> None:
    """
    Whatever its name holds, and the front is joined by steps.
    """
    front = Group(
        "front", "c0", [Point(1, 4, "a <b> & c"), Point(4, 1, "d")], is_joined=True
    )
    text = Scatter("dollars", "seconds", [front, Group("none", "c1", [])]).draw()

    assert "<title>a &lt;b&gt; &amp; c</title>" in text
    assert 'class="curve c0" d="M0.0 0.0H720.0V200.0"' in text
    assert 'aria-label="front: 1 to 4 dollars, 1 to 4 seconds"' in text
    assert "none" not in text.replace('preserveAspectRatio="none"', "")


def test_without_points_nothing_is_drawn() -> None:
    """
    No axis either.
    """
    assert Scatter("dollars", "seconds", [Group("none", "c1", [])]).draw() == ""
