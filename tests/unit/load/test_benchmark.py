"""
A sweep over numbers of users: its table, its file, and how sure it is.
"""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest

from cdk_sagemaker_llm.load import benchmark as measuring
from cdk_sagemaker_llm.load.benchmark import Benchmark, compare, row_of, run_benchmark
from cdk_sagemaker_llm.load.figures import Estimate, median_of, rate_of, share_of
from cdk_sagemaker_llm.load.result import LoadResult, asked_of
from cdk_sagemaker_llm.load.settings import LoadSettings
from cdk_sagemaker_llm.local.aws.untyped import Untyped
from tests.unit.load.examples import run_of

TABLE = """\
1 prompt of a file, at most 50 generated, 60 s per row. Tokens counted: 5 a prompt, \
11 an answer.

| concurrent users | requests | requests/s | median latency s | success |
| --- | --- | --- | --- | --- |
| 3 | 9 | 0.70 | 2.00 | 80% |
"""
COMPARED = """\
- Before: chat, 2027-01-17T12:00:00+00:00.
- After: chat, 2027-01-17T12:00:00+00:00.

| concurrent users | figure | before | after | change | verdict |
| --- | --- | --- | --- | --- | --- |
| 3 | requests/s | 0.7 (0.354 to 1.05) | 1.4 (1.2 to 1.6) | +100.0% | differs |
| 3 | median latency s | 2 (2 to 4) | 2.5 (2 to 3) | +25.0% | may be chance |
| 3 | median time to first token s | 0.5 (0.5 to 1) | 0.5 (0.5 to 1) | +0.0% | may be \
chance |
| 3 | success | 80% (49.02% to 94.33%) | 80% (49.02% to 94.33%) | +0.0% | may be \
chance |
"""


def benchmark() -> Benchmark:
    """
    Make one of a single row.
    """
    began = "2027-01-17T12:00:00+00:00"
    return Benchmark(endpoint="chat", began=began, rows=(row_of(run_of()),))


def test_the_table() -> None:
    """
    As benchmarks of endpoints are published.
    """
    assert benchmark().to_markdown() == TABLE


@pytest.mark.parametrize(
    ("good", "count", "written"),
    [
        (3000, 3000, "100%"),
        (99_999, 100_000, "99.99%"),
        (9_999, 10_000, "99.99%"),
        (2686, 2769, "97%"),
        (97, 100, "97%"),
        (975, 1000, "97.50%"),
        (1, 100_000, "0.01%"),
        (0, 100, "0%"),
    ],
)
def test_a_single_failure_is_seen(good: int, count: int, written: str) -> None:
    """
    No rounding makes it none.
    """
    row = replace(benchmark().rows[0], success=share_of(good, count))

    assert row.cells()[-1] == written


def test_a_benchmark_is_saved_and_read() -> None:
    """
    As it was.
    """
    made = benchmark()
    read = Benchmark.from_json(made.to_json())

    assert read == made
    assert read.remarks()[-1] == "3 users: 1 x ModelError 503: no room <here>"


def test_percentiles_are_kept_from_the_median_on() -> None:
    """
    Of eight answers: one of a second, six of two, one of four.
    """
    kept = benchmark().rows[0].facts["percents"]

    assert kept["latency"] == [2.0] * 38 + [4.0] * 13
    assert kept["first_token"] == [0.5] * 38 + [1.0] * 13
    # 0.5 s over 9 further tokens once, 1.5 s six times, and 3 s over 19.
    assert kept["output_token"] == [1.5 / 9] * 51


def test_of_a_row_in_which_nothing_ended_well_nothing_is_known() -> None:
    """
    But how many requests there were.
    """
    run = run_of()
    failed = [replace(one, failure="ModelError 503") for one in run.measured.records]
    run.measured.records = failed
    row = row_of(run)

    assert (row.users, row.seconds, row.requests) == (3, 10.0, 10)
    assert row.latency is row.first_token is row.facts["steady"] is None
    assert row.facts["percents"] == {
        "latency": [],
        "first_token": [],
        "output_token": [],
    }
    assert row.success is not None
    assert row.success.value == 0.0
    assert row.cells() == ("3", "10", "0.00", "-", "0%")


def test_what_is_steady_was_streamed() -> None:
    """
    Whole answers do not say when they began.
    """
    run = run_of()
    whole = [replace(one, first_token=None) for one in run.measured.records]
    run.measured.records = whole
    row = row_of(run)

    assert row.facts["steady"] is row.first_token is None
    assert row.latency is not None


def test_a_file_may_lack_what_came_later() -> None:
    """
    It is read as if that were not known.
    """
    made = replace(benchmark(), copies=8, copies_untold="")
    facts = json.loads(made.to_json())
    del facts["copies"], facts["copies_untold"]

    assert Benchmark.from_json(made.to_json()).copies == 8
    assert Benchmark.from_json(json.dumps(facts)) == benchmark()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "this is no JSON; name a file that sagemaker-llm benchmark --save wrote"),
        ("[]", "this is no saved benchmark; name a file"),
        ("{}", "this is no saved benchmark; name a file"),
        (run_of().to_json(), "no saved benchmark, but cdk-sagemaker-llm/load-test;"),
        (
            benchmark().to_json().replace('"version": 1', '"version": 2', 1),
            "in version 2 of the format, and this release reads version 1; measure",
        ),
        (
            '{"format": "cdk-sagemaker-llm/benchmark", "version": 1, "rows": [{}]}',
            "a saved benchmark of which something is missing or changed; write another",
        ),
    ],
)
def test_another_file_is_refused(text: str, message: str) -> None:
    """
    With what it is, and what it should be.
    """
    with pytest.raises(ValueError, match=message):
        Benchmark.from_json(text)


def test_a_row_that_was_cut_short_says_so() -> None:
    """
    The example's run of 60 seconds was measured for ten.
    """
    row = benchmark().rows[0]

    assert row.cut() == ["ended after 10 s of 60 s"]
    assert replace(row, seconds=59.4).cut() == []
    assert replace(row, seconds=59.3).cut() == ["ended after 59 s of 60 s"]


@pytest.mark.parametrize(
    ("changed", "line"),
    [
        ({}, "3 prompts of a file, at most 50 generated, 90 s per row."),
        ({"prompts": 0}, "1000 prompt words, at most 50 generated, 90 s per row."),
        (
            {"prompts": 0, "tokenizer": "chat/tokenizer.json"},
            "1000 prompt tokens, at most 50 generated, 90 s per row.",
        ),
        (
            {"max_new_tokens": None, "run_time": 1.5},
            "3 prompts of a file, answers of any length, 1.5 s per row.",
        ),
    ],
)
def test_what_was_asked_stands_above(changed: dict[str, Untyped], line: str) -> None:
    """
    Tokens where they were counted, and words where not.
    """
    settings = {
        "prompts": 3,
        "prompt_words": "1000",
        "max_new_tokens": 50,
        "run_time": 90.0,
        **changed,
    }
    figures = {"requests": 1, "tokens": None, "prompt_tokens": None}
    counted = {"requests": 3, "tokens": 49.6, "prompt_tokens": None}

    assert asked_of([{"settings": settings, "figures": figures}]) == line
    assert asked_of(
        [
            {"settings": settings, "figures": figures},
            {"settings": settings, "figures": counted},
        ]
    ) == (f"{line} Tokens counted: 50 an answer.")
    assert asked_of([]) == "Nothing was measured."


def test_two_are_compared() -> None:
    """
    What chance explains is no difference.
    """
    before = benchmark()
    row = replace(
        before.rows[0], rate=Estimate(1.4, 1.2, 1.6), latency=Estimate(2.5, 2.0, 3.0)
    )
    after = replace(before, rows=(row,))

    assert compare(before, after) == COMPARED
    with pytest.raises(ValueError, match="no number of users in common"):
        compare(before, replace(before, rows=(replace(row, users=4),)))


def test_what_was_asked_otherwise_is_told() -> None:
    """
    And who was measured only once; not on which endpoint or by which processes.
    """
    before = benchmark()
    row = before.rows[0]
    settings = {**row.facts["settings"], "prompt_words": "20", "seed": 7, "region": "x"}
    changed = replace(row, facts={**row.facts, "settings": settings})
    after = replace(before, rows=(changed, replace(row, users=5)))
    lines = compare(replace(before, rows=(row, replace(row, users=4))), after)

    assert lines.splitlines()[2:5] == [
        "- Asked otherwise: prompt words was 100, and is 20.",
        "- Only before: 4 users.",
        "- Only after: 5 users.",
    ]


def test_a_median_lies_between_ranks() -> None:
    """
    Of a hundred: ten ranks below and ten above.
    """
    assert median_of([]) is None
    assert median_of([5.0]) == Estimate(5.0, 5.0, 5.0)
    assert median_of([float(n) for n in range(1, 101)]) == Estimate(50.0, 41.0, 61.0)


def test_a_rate_is_as_sure_as_its_parts_are_alike() -> None:
    """
    What is outside of the time does not count.
    """
    steady = [0.5 + number for number in range(10)]

    assert rate_of([-0.1, *steady, 10.0], 0.0, 10.0) == Estimate(1.0, 1.0, 1.0)
    # The last moment before the end is in the last part, also by binary fractions.
    assert rate_of([math.nextafter(0.9, 0.0)], 0.0, 0.9).value == pytest.approx(1 / 0.9)
    # Nothing happens less often than never.
    assert rate_of([0.5], 0.0, 10.0).low == 0.0
    uneven = rate_of(steady[::2] * 2, 0.0, 10.0)
    assert uneven.value == 1.0
    # Parts of 2 and 0: a standard deviation of 1.054 among ten.
    assert uneven.high - 1.0 == pytest.approx(2.262 * 1.0541 / 10**0.5, rel=1e-4)


def test_a_share_has_the_interval_of_wilson() -> None:
    """
    Also where nothing failed.
    """
    assert share_of(0, 0) is None
    half, whole = share_of(50, 100), share_of(100, 100)
    assert half is not None
    assert whole is not None
    assert (half.low, half.high) == pytest.approx((0.4038, 0.5962), abs=1e-4)
    assert (whole.low, whole.value, whole.high) == pytest.approx(
        (0.9630, 1.0, 1.0), abs=1e-4
    )


@pytest.mark.parametrize("count", [6, 11, 21, 100])
def test_a_share_is_within_its_interval(count: int) -> None:
    """
    By binary fractions, too.
    """
    none, whole = share_of(0, count), share_of(count, count)
    assert none is not None
    assert whole is not None

    assert (none.low, whole.high) == pytest.approx((0.0, 1.0))
    assert none.low <= 0.0
    assert whole.high >= 1.0


@pytest.mark.parametrize(
    ("value", "differs"),
    [
        (1.2, False),
        # The root of the sum of both squares is 0.283.
        (1.28, False),
        (1.29, True),
        (1.5, True),
        (0.8, False),
        (0.72, False),
        (0.71, True),
        (0.5, True),
    ],
)
def test_a_difference_is_more_than_both_intervals(
    *, value: float, differs: bool
) -> None:
    """
    In either direction.
    """
    one = Estimate(1.0, 0.8, 1.2)
    other = Estimate(value, value - 0.2, value + 0.2)

    assert other.differs_from(one) is differs
    assert one.differs_from(other) is differs


def test_of_two_intervals_the_sides_between_them_count() -> None:
    """
    What was 1, and may have been 2, does not differ from 1.5; 0.5 does.
    """
    one = Estimate(1.0, 0.9, 2.0)
    more, less = Estimate(1.5, 1.4, 3.0), Estimate(0.5, 0.4, 0.6)

    assert not one.differs_from(more)
    assert not more.differs_from(one)
    assert one.differs_from(less)
    assert less.differs_from(one)


def test_what_was_nothing_has_no_change_in_per_cent() -> None:
    """
    And what was not measured both times is left out.
    """
    before = benchmark()
    old = replace(before.rows[0], rate=Estimate(0.0, 0.0, 0.0), latency=None)
    told = compare(replace(before, rows=(old,)), before)

    assert "| 3 | requests/s | 0 (0 to 0) | 0.7 (0.354 to 1.05) | - | differs |" in told
    assert "median latency" not in told
    assert "median latency" not in compare(before, replace(before, rows=(old,)))


def test_tokens_are_counted_by_requests() -> None:
    """
    A row of three counts three times as much as one of a single request.
    """
    settings = benchmark().rows[0].facts["settings"]
    rows = [
        {
            "settings": settings,
            "figures": {"requests": count, "tokens": tokens, "prompt_tokens": None},
        }
        for count, tokens in ((1, 10.0), (3, 50.0))
    ]

    assert asked_of(rows).endswith("Tokens counted: 40 an answer.")


def test_a_row_does_not_keep_its_course() -> None:
    """
    Its figures are enough for a file of many.
    """
    assert "course" in run_of().to_facts()
    assert "course" not in benchmark().rows[0].facts


def test_a_row_that_was_interrupted_is_the_last(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """
    Who presses Ctrl-C wants no other; who says the copies is believed.
    """
    asked: list[int | None] = []

    def run(settings: LoadSettings, on_progress: object) -> LoadResult:
        assert on_progress is None
        asked.append(settings.users)
        whole = run_of()
        seconds = 10 if len(asked) < 2 else 9.8
        return replace(whole, settings=settings, end=whole.begin + seconds)

    monkeypatch.setattr(measuring, "run_load", run)
    told: list[int] = []
    settings = LoadSettings(endpoint="chat", run_time=10)
    found = run_benchmark(
        settings, [3, 4, 5], lambda one: told.append(len(one.rows)), copies=8
    )

    assert asked == [3, 4]
    assert told == [1, 2]
    assert (found.copies, [row.users for row in found.rows]) == (8, [3, 4])
