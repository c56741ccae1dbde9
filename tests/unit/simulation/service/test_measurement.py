"""
The file of measured service times: what is written is what is read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdk_sagemaker_llm.simulation import (
    Measurement,
    ServiceTimes,
    read_service_times,
    write_service_times,
)

MEASURED = Measurement(
    times=ServiceTimes(
        decode=((1, 0.0213), (8, 0.0302), (32, 0.0561)),
        max_sequences=64,
        overhead_seconds=0.031,
        prompt_seconds_per_token=0.00021,
        kv_tokens=44_304,
        source="benchmark of one endpoint",
    ),
    instance_type="ml.g5.2xlarge",
    model="mistralai/Mistral-7B-v0.1",
    engine="vllm",
    engine_version="0.10.2",
    date=date(2026, 11, 21),
    accelerators=1,
    prompt_tokens=512.5,
    output_tokens=128,
    requests=1200,
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """
    A file that is in order.
    """
    path = tmp_path / "times.json"
    write_service_times(path, MEASURED)
    return path


def test_what_is_written_is_what_is_read(file: Path) -> None:
    """
    To the last digit.
    """
    assert read_service_times(file) == MEASURED


@pytest.mark.parametrize("between", [(14, 17), (14, 14), (14, None), None])
def test_between_which_numbers_the_most_lies_is_kept(
    file: Path, between: tuple[int, int | None] | None
) -> None:
    """
    Where it is known; a file of earlier releases says nothing of it.
    """
    measured = replace(MEASURED, max_sequences_between=between)
    write_service_times(file, measured)

    assert read_service_times(file) == measured
    content = json.loads(file.read_text(encoding="utf-8"))
    del content["measured"]["max_sequences_between"]
    file.write_text(json.dumps(content), encoding="utf-8")
    assert read_service_times(file) == MEASURED


@pytest.mark.parametrize(
    "between", [[17, 14], [0, 14], [None, 14], [14], [14.5, 17], [True, 2], 14, "14"]
)
def test_numbers_that_are_out_of_order_are_refused(file: Path, between: object) -> None:
    """
    And what is no pair of numbers.
    """
    message = edited(
        lambda c: c["measured"].update(max_sequences_between=between), file
    )

    assert message == (
        "measured.max_sequences_between must be two whole numbers such as [14, 17] or "
        f"[14, null], got {json.dumps(between)}; {SHOWS}"
    )


@given(
    seconds=st.lists(st.floats(1e-6, 100), min_size=2, max_size=5),
    overhead=st.floats(0, 10),
    kv_tokens=st.none() | st.integers(1, 2**63),
    words=st.text(min_size=1).filter(str.isprintable),
    spread=st.none() | st.tuples(st.floats(0.1, 1), st.floats(1, 10)),
    is_estimate=st.booleans(),
)
def test_any_measurement_is_kept(
    tmp_path_factory: pytest.TempPathFactory,
    seconds: list[float],
    overhead: float,
    kv_tokens: int | None,
    words: str,
    spread: tuple[float, float] | None,
    *,
    is_estimate: bool,
) -> None:
    """
    Whatever the numbers and words.
    """
    times = ServiceTimes(
        decode=tuple(enumerate(sorted(seconds), start=1)),
        max_sequences=3,
        overhead_seconds=overhead,
        kv_tokens=kv_tokens,
        source=words,
        is_estimate=is_estimate,
        spread=spread,
    )
    given_one = Measurement(
        times=times,
        instance_type="ml.g5.2xlarge",
        model=words,
        engine="vllm",
        engine_version="0.10.2",
        date=date(2026, 1, 1),
        accelerators=2,
        prompt_tokens=overhead,
        output_tokens=1,
        requests=1,
        notes=words,
    )
    path = tmp_path_factory.mktemp("times") / "times.json"
    write_service_times(path, given_one)

    assert read_service_times(path) == given_one


def test_the_page_shows_a_file_that_is_read(root: Path, tmp_path: Path) -> None:
    """
    The example in docs/service-times.md.
    """
    page = (root / "docs" / "service-times.md").read_text(encoding="utf-8")
    block = re.search(r"```json\n(.*?)```", page, re.DOTALL)
    assert block is not None
    path = tmp_path / "times.json"
    path.write_text(block[1], encoding="utf-8")

    found = read_service_times(path)

    assert found.times.decode[0] == (1, 0.0213)
    for field in (*json.loads(block[1])["measured"], *json.loads(block[1])["times"]):
        assert f"| `{field}` |" in page


def edited(change: Callable[[dict[str, Any]], object], file: Path) -> str:
    """
    Change the file and return what reading it says.
    """
    content = json.loads(file.read_text(encoding="utf-8"))
    change(content)
    file.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(ValueError, match="times.json") as caught:
        read_service_times(file)
    return str(caught.value).removeprefix(f"{file}: ")


SHOWS = "docs/service-times.md shows a whole file"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda c: c.update(format="x"),
            f"format must be 'cdk-sagemaker-llm/service-times', got \"x\"; {SHOWS}",
        ),
        (
            lambda c: c.update(version=2),
            (
                "version must be 1, the version that this release reads, got 2; update "
                "the library, or measure anew"
            ),
        ),
        (
            lambda c: c.pop("times"),
            f"times must be an object, got null; {SHOWS}",
        ),
        (
            lambda c: c["measured"].pop("model"),
            f"measured.model must be text that is not empty, got nothing; {SHOWS}",
        ),
        (
            lambda c: c["measured"].update(date="today"),
            f'measured.date must be a date such as 2026-01-31, got "today"; {SHOWS}',
        ),
        (
            lambda c: c["measured"].update(requests=0),
            (f"measured.requests must be a whole number of at least 1, got 0; {SHOWS}"),
        ),
        (
            lambda c: c["measured"].update(accelerators=True),
            (
                "measured.accelerators must be a whole number of at least 1, got true; "
                f"{SHOWS}"
            ),
        ),
        (
            lambda c: c["times"].update(overhead_seconds=-1),
            f"times.overhead_seconds must be a number of at least 0, got -1; {SHOWS}",
        ),
        (
            lambda c: c["times"].update(overhead_seconds=float("nan")),
            f"times.overhead_seconds must be a number of at least 0, got NaN; {SHOWS}",
        ),
        (
            lambda c: c["times"].update(is_estimate="no"),
            f'times.is_estimate must be true or false, got "no"; {SHOWS}',
        ),
        *(
            (
                lambda c, spread=spread: c["times"].update(spread=spread),
                (
                    "times.spread must be two factors, the lower one first, got "
                    f"{json.dumps(spread)}; {SHOWS}"
                ),
            )
            for spread in ([1.3, 0.8], [0, 1], [0.8], [0.8, 1.1, 1.3], ["a", 1], 0.8)
        ),
        (
            lambda c: c["times"].update(decode={}),
            f"times.decode must be a list of rows, got {{}}; {SHOWS}",
        ),
        (
            lambda c: c["times"].update(decode=[]),
            (
                "times.decode must be in order (its rows must be at least one row of "
                f"sequences and seconds), got []; {SHOWS}"
            ),
        ),
        (
            lambda c: c["times"]["decode"][1].update(sequences="8"),
            (
                "times.decode[1].sequences must be a whole number of at least 1, got "
                f'"8"; {SHOWS}'
            ),
        ),
        (
            lambda c: c["times"]["decode"][0].update(seconds_per_token=None),
            (
                "times.decode[0].seconds_per_token must be a number of at least 0, got "
                f"null; {SHOWS}"
            ),
        ),
        (
            lambda c: c["times"].update(kv_tokns=5),
            (
                "times.kv_tokns must not be there: the fields are decode, is_estimate, "
                "kv_tokens, max_sequences, overhead_seconds, prompt_seconds_per_token, "
                f"source, spread, got 5; {SHOWS}"
            ),
        ),
    ],
)
def test_fails_with_file_field_value_and_rule(
    file: Path, change: Callable[[dict[str, Any]], object], message: str
) -> None:
    """
    One message, and the way out.
    """
    assert edited(change, file) == message


def test_fails_if_it_is_no_json(tmp_path: Path) -> None:
    """
    Where it ends to be any.
    """
    path = tmp_path / "times.json"
    path.write_text("{", encoding="utf-8")

    with pytest.raises(ValueError, match="times.json must be JSON in UTF-8: .*line 1"):
        read_service_times(path)


def test_fails_if_the_rows_fall_to_nothing(file: Path) -> None:
    """
    Beyond the last row the last slope goes on.
    """
    rows = [
        {"sequences": 1, "seconds_per_token": 0.2},
        {"sequences": 2, "seconds_per_token": 0.1},
    ]

    said = edited(lambda c: c["times"].update(decode=rows), file)

    assert said.startswith("times.decode must go on above 0 s (decode must stay above")
