"""
The sample.
"""

from __future__ import annotations

from tools.mutants.changes import fertile
from tools.mutants.drawing import draw, shares
from tools.mutants.own_operators import own_changes
from tools.mutants.source import Source

CODE = "\n".join(f"x{number} = f(a, b={number}, c=[1, 2])" for number in range(40))
CHANGES = fertile(own_changes(Source("module.py", CODE)))


def test_the_same_seed_draws_the_same() -> None:
    """
    And another seed others.
    """
    first = draw(CHANGES, 10, "1 room")

    assert first == draw(CHANGES, 10, "1 room")
    assert first != draw(CHANGES, 10, "2 room")


def test_no_line_is_changed_twice() -> None:
    """
    So there are never more mutants than lines.
    """
    drawn = draw(CHANGES, 100, "1 room")

    assert len(drawn) == len({mutant.line for mutant in drawn}) == 40


def test_words_are_drawn_last() -> None:
    """
    More often than not.
    """
    code = CODE + "".join(f"\ny{number} = f'{{a}} is b'" for number in range(40))
    drawn = draw(fertile(own_changes(Source("module.py", code))), 30, "1 room")
    words = [mutant for mutant in drawn if mutant.operator == "empty_words"]

    assert len(words) <= 5


def test_a_small_room_has_a_share_all_the_same() -> None:
    """
    One that is not there has none.
    """
    lines = {"big": 9900, "small": 100, "gone": 0}

    assert shares(lines, 300) == {"big": 297, "small": 12, "gone": 0}
