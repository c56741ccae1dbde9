"""
One copy's batches, by numbers worked out by hand.

At one sequence a token takes 0.1 s, at two 0.15 s, at three 0.2 s; a token of a prompt
costs 0.01 s.
"""

from __future__ import annotations

import math

import pytest

from cdk_sagemaker_llm.simulation.service.batching import BatchingCopy
from cdk_sagemaker_llm.simulation.service.times import ServiceTimes

TIMES = ServiceTimes(
    decode=((1, 0.1), (2, 0.15)), max_sequences=3, prompt_seconds_per_token=0.01
)


def finished(copy: BatchingCopy) -> list[tuple[float, int]]:
    """
    Let a copy finish all it has; return when, and whose it was.
    """
    ends = []
    while copy.next < math.inf:
        due = copy.next
        ends.append((round(due, 9), copy.finish()[1]))
    return ends


def test_one_request_takes_its_prompt_and_its_tokens() -> None:
    """
    100 tokens of a prompt take 1 s, 20 of the answer 2 s.
    """
    copy = BatchingCopy(TIMES)
    copy.offer(5.0, 100, 20, 7)

    assert copy.outstanding == copy.running == 1
    assert finished(copy) == [(8.0, 7)]
    assert copy.outstanding == 0


def test_two_that_overlap_slow_each_other_down() -> None:
    """
    The first has 10 of its 20 tokens at 1 s; both then take 0.15 s a token: 2.5 s, and
    the second one's last 20 tokens are its own again: 4.5 s.
    """
    copy = BatchingCopy(TIMES)
    copy.offer(0.0, 0, 20, 1)
    copy.offer(1.0, 0, 30, 2)

    assert finished(copy) == [(2.5, 1), (4.5, 2)]


def test_a_prompt_lets_the_others_stand_still() -> None:
    """
    At 1 s a prompt of 200 tokens comes, until 3 s nobody has a token. The first one's
    last 10 take 1.5 s, the second one's last 20 take 2 s.
    """
    copy = BatchingCopy(TIMES)
    copy.offer(0.0, 0, 20, 1)
    copy.offer(1.0, 200, 30, 2)

    assert finished(copy) == [(4.5, 1), (6.5, 2)]


def test_prompts_are_worked_off_one_after_the_other() -> None:
    """
    The second one comes at 0.5 s, while the first one's prompt lasts until 1 s; both
    write from 2 s on, 10 tokens at 0.15 s.
    """
    copy = BatchingCopy(TIMES)
    copy.offer(0.0, 100, 10, 1)
    copy.offer(0.5, 100, 10, 2)

    assert finished(copy) == [(3.5, 1), (3.5, 2)]


def test_the_same_token_ends_two_before_the_next_prompt() -> None:
    """
    Both have their last one at 2 s; the third's prompt lasts until 3 s.
    """
    copy = BatchingCopy(
        ServiceTimes(decode=((1, 0.1),), max_sequences=2, prompt_seconds_per_token=0.01)
    )
    copy.offer(0.0, 0, 20, 1)
    copy.offer(0.0, 0, 20, 2)
    copy.offer(0.5, 100, 10, 3)

    assert finished(copy) == [(2.0, 1), (2.0, 2), (4.0, 3)]


def test_an_idle_copy_starts_afresh() -> None:
    """
    What was worked off before does not count.
    """
    copy = BatchingCopy(TIMES)
    copy.offer(0.0, 100, 10, 1)
    assert finished(copy) == [(2.0, 1)]
    copy.offer(10.0, 100, 10, 2)

    assert finished(copy) == [(12.0, 2)]


def test_no_more_than_the_batch_are_served_at_once() -> None:
    """
    Three of four have a place; the fourth starts at 2 s, when they are done.
    """
    copy = BatchingCopy(TIMES)
    for whose in range(4):
        copy.offer(0.0, 0, 10, whose)

    assert (copy.running, copy.waiting) == (3, 1)
    assert finished(copy) == [(2.0, 0), (2.0, 1), (2.0, 2), (3.0, 3)]


def test_the_room_of_the_cache_bounds_the_batch() -> None:
    """
    100 tokens hold one request of 60; the second waits until 6 s though there is a
    place, and so does the third, which would fit beside the first: it is in line.
    """
    bounded = ServiceTimes(decode=((1, 0.1), (2, 0.15)), max_sequences=3, kv_tokens=100)
    copy = BatchingCopy(bounded)
    copy.offer(0.0, 0, 60, 1)
    copy.offer(0.0, 20, 39, 2)
    copy.offer(0.0, 0, 40, 3)

    assert (copy.running, copy.waiting) == (1, 2)
    assert finished(copy) == [(6.0, 1), (11.85, 2), (11.95, 3)]


@pytest.mark.parametrize(("tokens", "waits"), [(40, False), (41, True)])
def test_room_is_filled_to_the_last_token(tokens: int, *, waits: bool) -> None:
    """
    60 and 40 of 100 fit, 60 and 41 do not.
    """
    copy = BatchingCopy(
        ServiceTimes(decode=((1, 0.1),), max_sequences=9, kv_tokens=100)
    )
    copy.offer(0.0, 0, 60)

    assert copy.must_wait(tokens) is waits
    copy.offer(0.0, 0, tokens)
    assert copy.waiting == waits


def test_who_waits_too_long_is_dropped() -> None:
    """
    The second one waits behind 30 s of work with a time-out of 10 s; the third came
    later and is served.
    """
    one = ServiceTimes(decode=((1, 1.0),), max_sequences=1)
    copy = BatchingCopy(one, timeout=10.0)
    copy.offer(0.0, 0, 30, 1)
    copy.offer(5.0, 0, 5, 2)
    copy.offer(25.0, 0, 5, 3)
    copy.give_up(14.9)

    assert copy.dropped == []
    copy.give_up(15.0)
    assert [asked[3] for asked in copy.dropped] == [2]
    assert finished(copy) == [(30.0, 1), (35.0, 3)]


def test_nobody_is_admitted_after_its_timeout() -> None:
    """
    Though nothing happened in between that would have dropped it.
    """
    one = ServiceTimes(decode=((1, 1.0),), max_sequences=1)
    copy = BatchingCopy(one, timeout=10.0)
    copy.offer(0.0, 0, 30, 1)
    copy.offer(5.0, 0, 5, 2)

    assert finished(copy) == [(30.0, 1)]
    assert [asked[3] for asked in copy.dropped] == [2]
    assert copy.outstanding == 0


def test_a_copy_that_stops_names_whom_it_leaves() -> None:
    """
    Those in the batch and those in line.
    """
    copy = BatchingCopy(ServiceTimes(decode=((1, 1.0),), max_sequences=1))
    for whose in range(3):
        copy.offer(0.0, 0, 30, whose)

    assert copy.stop() == [0, 1, 2]
    assert (copy.outstanding, copy.next) == (0, math.inf)


def test_patience_ends_before_the_overhead_does() -> None:
    """
    Of ten seconds one is spent outside: who waits for nine has none left.
    """
    times = ServiceTimes(decode=((1, 0.1),), max_sequences=1, overhead_seconds=1)
    copy = BatchingCopy(times, timeout=10)
    copy.offer(0.0, 1, 1000)
    copy.offer(0.0, 1, 1, 7)

    copy.give_up(8.9)
    assert (copy.dropped, copy.waiting) == ([], 1)
    copy.give_up(9.0)
    assert (copy.dropped, copy.waiting) == ([(0.0, 1, 1, 7)], 0)


def test_who_would_have_to_wait() -> None:
    """
    Nobody at an empty copy, however large; whoever comes behind somebody who waits;
    and, of those that find no room or no place, each.
    """
    times = ServiceTimes(decode=((1, 0.1),), max_sequences=2, kv_tokens=100)
    copy = BatchingCopy(times)
    assert not copy.must_wait(101)

    copy.offer(0.0, 50, 10)
    assert [copy.must_wait(tokens) for tokens in (40, 41)] == [False, True]
    copy.offer(0.0, 30, 11)
    assert (copy.running, copy.waiting) == (1, 1)
    assert copy.must_wait(1)

    full = BatchingCopy(times)
    full.offer(0.0, 1, 1)
    full.offer(0.0, 1, 1)
    assert (full.running, full.waiting, full.must_wait(1)) == (2, 0, True)


def test_who_is_admitted_takes_room_and_works_off_the_prompt() -> None:
    """
    Room for 100 tokens; each takes 0.1 s, each of a prompt 0.01 s.

    1 and 2 have 50 each; their prompts take 0.5 s, and 1 is done at 1.5. Then 3 fits
    exactly, and has everybody wait 0.4 s: done at 2.9. 4 needs 95, which is free when 2
    is done at 4.9: 0.6 and 3.5 s more. 5 is larger than the room and alone: 4.7 s.
    """
    times = ServiceTimes(
        decode=((1, 0.1),),
        max_sequences=3,
        prompt_seconds_per_token=0.01,
        kv_tokens=100,
    )
    copy = BatchingCopy(times)
    lengths = ((40, 10), (10, 40), (40, 10), (60, 35), (60, 41))
    for whose, (prompt, answer) in enumerate(lengths, start=1):
        copy.offer(0.0, prompt, answer, whose)

    assert (copy.running, copy.waiting) == (2, 3)
    assert finished(copy) == [(1.5, 1), (2.9, 3), (4.9, 2), (9.0, 4), (13.7, 5)]
    alone = BatchingCopy(times)
    assert alone.offer(0.0, 60, 41) == pytest.approx(4.7)
    assert (alone.running, alone.waiting) == (1, 0)
