"""
The house: imports lead down, never in a circle, and every room says what it is for.
"""

from __future__ import annotations

import pytest

from tools import architecture

TOOLS = architecture.ROOT / "tools"


def test_no_arrow_runs_up() -> None:
    """
    A room knows those below it, and none above.
    """
    assert architecture.upward() == []


def test_no_import_leads_back() -> None:
    """
    Not between two modules either, and not for types alone.
    """
    assert architecture.circles() == []


def test_no_import_of_the_tools_leads_back() -> None:
    """
    A package there has its own first module, which what is inside does not import.
    """
    assert architecture.circles(TOOLS) == []


def test_the_library_does_not_know_the_tools() -> None:
    """
    They stand above it.
    """
    users = [
        name
        for name, path in architecture.modules()
        if architecture.imports(path, TOOLS)
    ]

    assert users == []


def test_the_wings_of_serving_do_not_know_each_other() -> None:
    """
    What they share stands above them.
    """
    crossing = [
        (name, other)
        for name, path in architecture.modules()
        for other in architecture.imports(path)
        if {".".join(each.split(".")[:2]) for each in (name, other)}
        == {"serving.lmi", "serving.tgi"}
    ]

    assert crossing == []


@pytest.mark.parametrize("room", architecture.FLOORS)
def test_every_room_says_what_belongs_there(room: str) -> None:
    """
    In its first lines.
    """
    assert "What belongs here " in architecture.first_lines(room)


def test_the_list_of_rooms_is_whole() -> None:
    """
    A new room takes its place among the others.
    """
    rooms = {name.split(".")[0] for name, _ in architecture.modules()}

    assert rooms == set(architecture.FLOORS)


@pytest.mark.parametrize("inside", architecture.INNER_FLOORS)
def test_the_list_of_rooms_inside_a_room_is_whole(inside: str) -> None:
    """
    Likewise.
    """
    rooms = {
        name.split(".")[1]
        for name, _ in architecture.modules()
        if name.startswith(f"{inside}.")
    }

    assert rooms == set(architecture.INNER_FLOORS[inside])


def test_the_page_is_the_one_the_code_makes() -> None:
    """
    ``make docs`` writes it anew.
    """
    written = architecture.TARGET.read_text(encoding="utf-8")

    assert written == architecture.page()
