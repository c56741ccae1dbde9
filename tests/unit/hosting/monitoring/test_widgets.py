"""
Where the widgets of a dashboard lie.
"""

from __future__ import annotations

import pytest

from cdk_sagemaker_llm.hosting.monitoring.widgets import alarm_states, placed


def places_of(*sizes: tuple[int, int]) -> list[tuple[int, int]]:
    """
    Return where widgets of such widths and heights are placed.
    """
    widgets = [
        {"type": "metric", "width": width, "height": height} for width, height in sizes
    ]
    return [(one["x"], one["y"]) for one in placed(widgets)]


def test_a_row_is_filled_to_its_end() -> None:
    """
    Four of a quarter's width, and the fifth begins the next.
    """
    assert places_of((24, 1), *[(6, 6)] * 5) == [
        (0, 0),
        (0, 1),
        (6, 1),
        (12, 1),
        (18, 1),
        (0, 7),
    ]


def test_a_row_is_as_high_as_its_highest() -> None:
    """
    Wherever in it that one is.
    """
    assert places_of((12, 6), (12, 2), (24, 1)) == [(0, 0), (12, 0), (0, 6)]


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        (0, []),
        (7, [(7, 2)]),
        (8, [(8, 3)]),
        (100, [(100, 14)]),
        (101, [(100, 14), (1, 2)]),
    ],
)
def test_alarms_have_room(count: int, expected: list[tuple[int, int]]) -> None:
    """
    A line for each eight, and a hundred to a widget.
    """
    found = alarm_states([f"alarm-{number}" for number in range(count)])

    assert [
        (len(each["properties"]["alarms"]), each["height"]) for each in found
    ] == expected
