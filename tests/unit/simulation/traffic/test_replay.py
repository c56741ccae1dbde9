"""
Requests that were seen, replayed.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cdk_sagemaker_llm.simulation import Replay
from cdk_sagemaker_llm.simulation.traffic.base import Arrival

SEEN = Replay(((0.0, 10, 1), (4.0, 20, 2), (6.0, 30, 3), (6.0, 40, 4)))


def drawn(traffic: Replay, duration: float = 100.0) -> list[Arrival]:
    """
    Return what comes.
    """
    return list(traffic.arrivals(np.random.default_rng(5), duration))


def written(tmp_path: Path, text: str) -> Path:
    """
    Write a file.
    """
    path = tmp_path / "requests.csv"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "rows",
    [
        "time,prompt_tokens,output_tokens\n100,10,1\n104.5,20,2\n",
        "output_tokens,time,prompt_tokens,user\n2,104.5,20,b\n1,100,10,a\n",
        (
            "time,prompt_tokens,output_tokens\n2026-01-05T08:00:00Z,10,1\n"
            "2026-01-05T09:00:04.5+01:00,20,2\n"
        ),
        (
            "\ufefftime,prompt_tokens,output_tokens\n2026-01-05 08:00:00,10,1\n"
            "2026-01-05T08:00:04.500,20,2\n"
        ),
    ],
    ids=["seconds", "any order", "zones", "no zone"],
)
def test_times_count_from_the_first_request(tmp_path: Path, rows: str) -> None:
    """
    In seconds or in ISO 8601; other columns do not matter.
    """
    found = Replay.from_csv(written(tmp_path, rows))

    assert found.requests == ((0.0, 10, 1), (4.5, 20, 2))


def test_it_gives_what_was_seen() -> None:
    """
    Up to the end of the run.
    """
    assert drawn(SEEN) == list(SEEN.requests)
    assert drawn(SEEN, 6.0) == [(0.0, 10, 1), (4.0, 20, 2)]


def test_more_are_spread_over_the_pause_that_follows() -> None:
    """
    Twice as many: each once more, half-way to the next.
    """
    assert drawn(SEEN.scaled(2)) == [
        (0.0, 10, 1),
        (2.0, 10, 1),
        (4.0, 20, 2),
        (5.0, 20, 2),
        (6.0, 30, 3),
        (6.0, 30, 3),
        (6.0, 40, 4),
        (6.0, 40, 4),
    ]


@pytest.mark.parametrize("factor", [0.0, 0.3, 1.0, 2.5])
def test_any_number_can_be_made_of_them(factor: float) -> None:
    """
    In order, across the pieces in which they are given; evenly over the day.
    """
    many = Replay(tuple((float(second), 10, 1) for second in range(20_000)))
    found = drawn(many.scaled(factor), 20_000)
    edges = np.array([0.0, 10_000.0, 20_000.0])

    assert found == sorted(found)
    assert len(found) == pytest.approx(20_000 * factor, rel=0.02)
    assert many.scaled(factor).expected(edges).requests.tolist() == pytest.approx(
        [10_000 * factor] * 2
    )


def test_the_lengths_are_those_of_its_requests() -> None:
    """
    Prompts stay with their answers.
    """
    prompts, answers = SEEN.typical(np.random.default_rng(0), 100, 100)

    assert set(zip(prompts.tolist(), answers.tolist(), strict=True)) == {
        (10, 1),
        (20, 2),
        (30, 3),
        (40, 4),
    }


HEAD = "time,prompt_tokens,output_tokens\n"
ISO = ", line 2: time must be seconds, or ISO 8601 as 2026-01-31T12:00:00"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "time,tokens\n",
            (
                ": the first line must name the columns time, prompt_tokens, "
                "output_tokens, and lacks prompt_tokens, output_tokens; it reads "
                "'time,tokens'"
            ),
        ),
        (
            f"{HEAD}0,1\n",
            ", line 2: output_tokens must be a whole number of at least 1, got nothing",
        ),
        (
            f"{HEAD}0,0,1\n",
            ", line 2: prompt_tokens must be a whole number of at least 1, got '0'",
        ),
        (
            f"{HEAD}0,1.5,1\n",
            ", line 2: prompt_tokens must be a whole number of at least 1, got '1.5'",
        ),
        (
            f"{HEAD}yesterday,1,1\n",
            f"{ISO}, got 'yesterday'",
        ),
        (
            f"{HEAD}nan,1,1\n",
            f"{ISO}, got 'nan'",
        ),
        (
            f"{HEAD}5,1,1\n2026-01-31T12:00:00,1,1\n",
            (
                ", line 3: time must be seconds, as in the rows before, got "
                "'2026-01-31T12:00:00'"
            ),
        ),
        (
            f"{HEAD}2026-01-31T12:00:00,1,1\n2026-01-31T12:00:00Z,1,1\n",
            (
                ", line 3: time must be ISO 8601 without a time zone, as in the rows "
                "before, got '2026-01-31T12:00:00Z'"
            ),
        ),
    ],
)
def test_fails_with_one_line_for_each_fault(
    tmp_path: Path, text: str, message: str
) -> None:
    """
    File, line, column, rule and value.
    """
    path = written(tmp_path, text)
    with pytest.raises(ValueError, match="must") as caught:
        Replay.from_csv(path)

    assert str(caught.value) == f"{path}{message}"


def test_tells_the_first_ten_faults_and_how_many_more(tmp_path: Path) -> None:
    """
    A file of another kind does not fill the screen.
    """
    path = written(tmp_path, HEAD + "0,0,1\n" * 12)
    with pytest.raises(ValueError, match="more rows") as caught:
        Replay.from_csv(path)

    lines = str(caught.value).splitlines()
    assert len(lines) == 11
    assert lines[-1] == f"{path}: 2 more rows are not as they must be"


def test_fails_if_there_is_no_request(tmp_path: Path) -> None:
    """
    A header alone is no traffic.
    """
    with pytest.raises(ValueError, match="has no requests"):
        Replay.from_csv(written(tmp_path, HEAD))


def test_what_comes_at_the_end_comes_no_more() -> None:
    """
    In neither way to play it out; at the moments in between a step begins.
    """
    seen = Replay(((0.0, 1, 2), (30.0, 3, 4), (60.0, 5, 6)))
    expected = seen.expected(np.array([0.0, 30.0, 60.0]))

    assert expected.requests.tolist() == [1.0, 1.0]
    assert expected.answers.tolist() == [2.0, 4.0]
    assert len(list(seen.arrivals(np.random.default_rng(0), 60.0))) == 2


@pytest.mark.parametrize("odd", [float("nan"), float("inf")])
def test_fails_if_a_moment_or_a_factor_is_no_number(odd: float) -> None:
    """
    It would be never, or have no order.
    """
    with pytest.raises(ValueError, match="requests must each have a moment"):
        Replay(((0.0, 1, 1), (odd, 1, 1)))
    with pytest.raises(ValueError, match=f"factor must be at least 0, got {odd}"):
        Replay(((0.0, 1, 1),), factor=odd)


def test_columns_are_found_however_they_are_capitalised(tmp_path: Path) -> None:
    """
    Spaces around them, and a byte order mark before, do not matter either.
    """
    text = "\ufeff Time ,PROMPT_TOKENS, Output_Tokens\n5,10,20\n"

    assert Replay.from_csv(written(tmp_path, text)).requests == ((0.0, 10, 20),)


def test_fails_if_it_is_no_text(tmp_path: Path) -> None:
    """
    With the file's name.
    """
    path = tmp_path / "latin.csv"
    path.write_bytes(f"{HEAD}1,10,\xe9\n".encode("latin-1"))
    with pytest.raises(ValueError, match=f"{path} is no CSV file in UTF-8: "):
        Replay.from_csv(path)
