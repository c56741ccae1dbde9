"""
Bounds that change with the clock.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from aws_cdk import App, CfnParameter, Stack, TimeZone
from aws_cdk import aws_applicationautoscaling as appscaling
from aws_cdk.assertions import Template

from cdk_sagemaker_llm import ScalableCopyCount
from tests.unit.hosting.scaling.made import component_on, copies_of, instances_of
from tests.unit.hosting.written import (
    codes_of,
    keywords_of,
    properties_of,
    required_keywords_of,
    warnings_of,
    written,
)

NIGHTLY = "cron(0 20 * * ? *)"


def actions(stack: Stack, name: str = "Count") -> list[dict[str, Any]]:
    """
    Return the scheduled actions of a target.
    """
    found: list[dict[str, Any]] = written(stack)[name]["Properties"]["ScheduledActions"]
    return found


@pytest.mark.parametrize("kind", ["copies", "instances"])
def test_every_keyword_reaches_the_template(stack: Stack, kind: str) -> None:
    """
    Inside the target, which CloudFormation changes in place.
    """
    count = copies_of(stack) if kind == "copies" else instances_of(stack)
    given: dict[str, Any] = {
        "schedule": NIGHTLY,
        "time_zone": "Europe/Berlin",
        "min_capacity": 2,
        "max_capacity": 3,
        "start": datetime(2027, 6, 1, tzinfo=timezone(timedelta(hours=2))),
        "end": datetime(2027, 9, 1, 12, tzinfo=UTC),
    }
    count.scale_on_schedule("Nights", **given)

    assert actions(stack) == [
        {
            "ScheduledActionName": "Nights",
            "Schedule": NIGHTLY,
            "Timezone": "Europe/Berlin",
            "ScalableTargetAction": {"MinCapacity": 2, "MaxCapacity": 3},
            "StartTime": "2027-05-31T22:00:00Z",
            "EndTime": "2027-09-01T12:00:00Z",
        }
    ]
    assert keywords_of(type(count).scale_on_schedule) == set(given)
    assert required_keywords_of(type(count).scale_on_schedule) == {"schedule"}


def test_the_cdks_own_schedule_and_time_zone_are_taken(stack: Stack) -> None:
    """
    As are plain texts.
    """
    count = copies_of(stack)
    count.scale_on_schedule(
        "Mornings",
        schedule=appscaling.Schedule.cron(hour="8", minute="0"),
        time_zone=TimeZone.ASIA_TOKYO,
        min_capacity=2,
    )
    count.scale_on_schedule("Daily", schedule="rate(1 day)", max_capacity=2)
    count.scale_on_schedule("Once", schedule="at(2030-12-24T18:00:00)", max_capacity=4)

    assert actions(stack) == [
        {
            "ScheduledActionName": "Mornings",
            "Schedule": "cron(0 8 * * ? *)",
            "Timezone": "Asia/Tokyo",
            "ScalableTargetAction": {"MinCapacity": 2},
        },
        {
            "ScheduledActionName": "Daily",
            "Schedule": "rate(1 day)",
            "ScalableTargetAction": {"MaxCapacity": 2},
        },
        {
            "ScheduledActionName": "Once",
            "Schedule": "at(2030-12-24T18:00:00)",
            "ScalableTargetAction": {"MaxCapacity": 4},
        },
    ]


def test_a_time_without_a_zone_is_utc(
    stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    Whatever clock the machine has: the same input makes the same template.
    """
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    copies_of(stack).scale_on_schedule(
        "Nights",
        schedule=NIGHTLY,
        min_capacity=1,
        start=datetime(2027, 6, 1),  # noqa: DTZ001 - the point of the test
    )

    assert actions(stack)[0]["StartTime"] == "2027-06-01T00:00:00Z"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"schedule": "cron(0 20 * * *)"}, "LLM304 .*has 5 fields; cron needs six"),
        ({"schedule": "cron(0 20 * * * *)"}, r"LLM304 .*must have \? in either day"),
        ({"schedule": "cron(0 24 * * ? *)"}, "LLM304 .*'24', which is not understood"),
        ({"schedule": "0 20 * * ? *"}, "LLM304 schedule must be cron"),
        ({"schedule": "rate(0 days)"}, "LLM304 schedule must be such as rate"),
        ({"schedule": "at(2026-02-30T18:00:00)"}, "LLM304 schedule must be such as at"),
        ({"time_zone": "Europe/Berlinn"}, "LLM304 time_zone must be a name .*Berlinn'"),
        ({"time_zone": "../etc"}, "LLM304 time_zone must be a name"),
        (
            {
                "start": datetime(2027, 6, 1, tzinfo=UTC),
                "end": datetime(2027, 6, 1, tzinfo=UTC),
            },
            "LLM304 end must be later than start",
        ),
        (
            {"min_capacity": None},
            "LLM105 a scheduled action must set min_capacity",
        ),
        (
            {"min_capacity": 3, "max_capacity": 2},
            "LLM105 max_capacity must be at least min_capacity",
        ),
        ({"min_capacity": -1}, "LLM105 min_capacity must be at least 0, got -1"),
        (
            {"min_capacity": None, "max_capacity": -1},
            "LLM105 max_capacity must be at least 0, got -1",
        ),
    ],
)
def test_fails_if_the_action_could_not_run(
    stack: Stack, given: dict[str, Any], message: str
) -> None:
    """
    It begins with the target's path, and nothing is scheduled.
    """
    everything = {"schedule": NIGHTLY, "min_capacity": 1, **given}
    with pytest.raises(ValueError, match=f"^Test/Count/Nights: {message}"):
        copies_of(stack).scale_on_schedule("Nights", **everything)

    assert "ScheduledActions" not in written(stack)["Count"]["Properties"]


@pytest.mark.parametrize(
    "fields",
    ["0 8 ? * FRI-MON *", "0 22-2 * * ? *", "0 8 1 NOV-FEB ? *", "0 8 L-3 * ? *"],
)
def test_what_may_be_right_is_not_refused(stack: Stack, fields: str) -> None:
    """
    Quartz reads it, and nothing says that the service does not.
    """
    expression = f"cron({fields})"
    copies_of(stack).scale_on_schedule("It", schedule=expression, min_capacity=1)

    assert actions(stack)[0]["Schedule"] == expression


@pytest.mark.parametrize("fields", ["0 25-2 * * ? *", "0 8 ? * FRI-MOM *"])
def test_fails_if_a_range_has_no_such_end(stack: Stack, fields: str) -> None:
    """
    Whichever way around.
    """
    with pytest.raises(ValueError, match="LLM304 .* which is not understood"):
        copies_of(stack).scale_on_schedule(
            "It", schedule=f"cron({fields})", min_capacity=1
        )


def test_all_that_is_wrong_is_told_together(stack: Stack) -> None:
    """
    The zone, the name and the bounds.
    """
    with pytest.raises(ValueError, match="3 errors") as caught:
        copies_of(stack).scale_on_schedule(
            "a:b", schedule=NIGHTLY, time_zone="Mars", min_capacity=-2
        )

    assert [code in str(caught.value) for code in ("LLM304", "LLM106", "LLM105")] == [
        True,
        True,
        True,
    ]


@pytest.mark.parametrize("name", ["a", "Nights at 8", "a" * 256])
def test_names_that_the_service_takes_pass(stack: Stack, name: str) -> None:
    """
    Also with blanks inside.
    """
    copies_of(stack).scale_on_schedule(name, schedule=NIGHTLY, min_capacity=1)

    assert actions(stack)[0]["ScheduledActionName"] == name


@pytest.mark.parametrize("name", ["", " a", "a ", "a:b", "a/b", "a|b", "a" * 257])
def test_fails_if_the_service_refuses_the_name(stack: Stack, name: str) -> None:
    """
    By the pattern of its API.
    """
    with pytest.raises(ValueError, match="LLM106 the id of a scheduled action must be"):
        copies_of(stack).scale_on_schedule(name, schedule=NIGHTLY, min_capacity=1)


def test_fails_if_a_name_is_taken(stack: Stack) -> None:
    """
    Names are unique within the target, and policies have names of their own.
    """
    count = copies_of(stack)
    count.scale_on_concurrency("Nights", per_copy=4)
    count.scale_on_schedule("Nights", schedule=NIGHTLY, min_capacity=1)

    with pytest.raises(ValueError, match="LLM301 .* a scheduled action 'Nights' alre"):
        count.scale_on_schedule("Nights", schedule=NIGHTLY, min_capacity=1)


def test_fails_if_there_are_too_many(stack: Stack) -> None:
    """
    Two hundred are the service's limit.
    """
    count = copies_of(stack)
    for number in range(200):
        count.scale_on_schedule(f"N{number}", schedule=NIGHTLY, min_capacity=1)

    with pytest.raises(ValueError, match="LLM105 .*at most 200 scheduled actions"):
        count.scale_on_schedule("Last", schedule=NIGHTLY, min_capacity=1)


def test_what_deployment_decides_is_not_guessed(stack: Stack) -> None:
    """
    Schedules, zones and bounds may be parameters.
    """
    text = CfnParameter(stack, "Text").value_as_string
    number = CfnParameter(stack, "Number", type="Number").value_as_number
    copies_of(stack).scale_on_schedule(
        "Nights",
        schedule=text,
        time_zone=text,
        min_capacity=number,  # type: ignore[arg-type] # a placeholder is a float
    )

    assert actions(stack) == [
        {
            "ScheduledActionName": "Nights",
            "Schedule": "${Text}",
            "Timezone": "${Text}",
            "ScalableTargetAction": {"MinCapacity": "${Number}"},
        }
    ]


def scheduled(
    least: tuple[int | None, int | None], *others: tuple[int | None, int | None]
) -> App:
    """
    Define copies from 1 to 4, and actions with such bounds.
    """
    app = App()
    count = copies_of(Stack(app, "Test"))
    for number, (low, high) in enumerate((least, *others)):
        count.scale_on_schedule(
            f"N{number}", schedule=NIGHTLY, min_capacity=low, max_capacity=high
        )
    return app


@pytest.mark.parametrize(
    "given",
    [
        [(4, None)],
        [(None, 1)],
        [(5, None), (None, 5)],
        [(5, 6)],
        [(0, 0)],
        [(None, 0), (0, None)],
    ],
)
def test_bounds_that_can_meet_pass(given: list[tuple[int | None, int | None]]) -> None:
    """
    What sets the other bound may come later.
    """
    assert scheduled(*given).synth()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((5, None), "'N0' sets min_capacity=5, and max_capacity is never above 4"),
        ((None, 0), "'N0' sets max_capacity=0, and min_capacity is never below 1"),
    ],
)
def test_fails_at_synth_if_the_bounds_never_meet(
    given: tuple[int | None, int | None], message: str
) -> None:
    """
    The service would refuse the action when it is due, in its log alone.
    """
    with pytest.raises(RuntimeError, match=f"LLM105 scheduled action {message}"):
        scheduled(given).synth()


def test_office_hours_are_two_actions(stack: Stack) -> None:
    """
    The most is the target's, and while it is closed there is one number.
    """
    count = copies_of(stack)
    count.office_hours(
        "Office",
        opens="08:30",
        closes="18:00",
        time_zone="Europe/Berlin",
        min_capacity=2,
        closed_capacity=0,
    )

    assert actions(stack) == [
        {
            "ScheduledActionName": "OfficeOpens",
            "Schedule": "cron(30 8 ? * MON-FRI *)",
            "Timezone": "Europe/Berlin",
            "ScalableTargetAction": {"MinCapacity": 2, "MaxCapacity": 4},
        },
        {
            "ScheduledActionName": "OfficeCloses",
            "Schedule": "cron(0 18 ? * MON-FRI *)",
            "Timezone": "Europe/Berlin",
            "ScalableTargetAction": {"MinCapacity": 0, "MaxCapacity": 0},
        },
    ]
    # Nothing wakes what is closed.
    assert [*written(stack)] == ["Count"]
    assert keywords_of(ScalableCopyCount.office_hours) == {
        "opens",
        "closes",
        "min_capacity",
        "closed_capacity",
        "time_zone",
        "days",
        "max_capacity",
    }


@pytest.mark.parametrize(
    ("opens", "closes", "days", "expected"),
    [
        ("8:00", "18:00", "*", ("0 8 ? * * *", "0 18 ? * * *")),
        (
            "22:15",
            "06:00",
            "MON-FRI",
            ("15 22 ? * MON-FRI *", "0 6 ? * TUE-SAT *"),
        ),
        ("22:00", "06:00", "sat, sun", ("0 22 ? * SAT,SUN *", "0 6 ? * MON,SUN *")),
        (
            "08:00",
            "18:00",
            "FRI-MON",
            ("0 8 ? * MON,FRI,SAT,SUN *", "0 18 ? * MON,FRI,SAT,SUN *"),
        ),
        ("08:00", "08:01", "TUE,THU", ("0 8 ? * TUE,THU *", "1 8 ? * TUE,THU *")),
        ("00:00", "23:59", "MON-SUN", ("0 0 ? * * *", "59 23 ? * * *")),
    ],
)
def test_hours_and_days_are_read(
    stack: Stack, opens: str, closes: str, days: str, expected: tuple[str, str]
) -> None:
    """
    Nights end on the next day.
    """
    copies_of(stack).office_hours(
        "Office",
        opens=opens,
        closes=closes,
        days=days,
        min_capacity=2,
        max_capacity=3,
        closed_capacity=1,
    )
    found = [action["Schedule"].removeprefix("cron(") for action in actions(stack)]

    assert found == [f"{each})" for each in expected]
    assert actions(stack)[0]["ScalableTargetAction"]["MaxCapacity"] == 3


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"opens": "24:00"}, "LLM304 opens must be a time such as 08:00, got '24:00'"),
        ({"closes": "18"}, "LLM304 closes must be a time such as 08:00, got '18'"),
        ({"closes": "18:60"}, "LLM304 closes must be a time"),
        ({"closes": "8:00"}, "LLM304 closes must be another time than opens"),
        ({"days": "MON-FRY"}, "LLM304 days must be days such as MON-FRI"),
        ({"days": ""}, "LLM304 days must be days such as MON-FRI"),
        ({"time_zone": "Berlin"}, "LLM304 time_zone must be a name"),
        ({"min_capacity": 5}, "LLM105 max_capacity must be at least min_capacity"),
        ({"closed_capacity": -1}, "LLM105 min_capacity must be at least 0, got -1"),
        ({"opens": "${Token[A.1]}"}, "LLM114 opens, closes and days must be known"),
    ],
)
def test_fails_if_office_hours_cannot_be_read(
    stack: Stack, given: dict[str, Any], message: str
) -> None:
    """
    In the words of the caller.
    """
    everything = {
        "opens": "08:00",
        "closes": "18:00",
        "min_capacity": 2,
        "closed_capacity": 0,
        **given,
    }
    with pytest.raises(ValueError, match=message):
        copies_of(stack).office_hours("Office", **everything)

    assert "ScheduledActions" not in written(stack)["Count"]["Properties"]


def test_instances_keep_one_while_it_is_closed(stack: Stack) -> None:
    """
    Real-time instances cannot go to zero, asynchronous ones can.
    """
    hours: dict[str, Any] = {
        "opens": "08:00",
        "closes": "18:00",
        "min_capacity": 2,
    }
    count = instances_of(stack)
    with pytest.raises(ValueError, match="LLM105 min_capacity must be at least 1, got"):
        count.office_hours("Office", **hours, closed_capacity=0)
    count.office_hours("Office", **hours, closed_capacity=1)

    apart = Stack(App(), "Apart")
    instances_of(apart, 0, is_asynchronous=True).office_hours(
        "Office", **hours, closed_capacity=0
    )
    assert actions(apart)[1]["ScalableTargetAction"] == {
        "MinCapacity": 0,
        "MaxCapacity": 0,
    }


@pytest.mark.parametrize(("most", "codes"), [(4, []), (5, ["LLM203"])])
def test_scheduled_bounds_are_held_against_the_room(
    stack: Stack, most: int, codes: list[str]
) -> None:
    """
    Four copies fit an ml.g5.12xlarge.
    """
    component = component_on(stack, min_instance_count=1)
    copies = component.auto_scale_copy_count(max_capacity=4)
    copies.scale_on_schedule(
        "Rush", schedule=NIGHTLY, min_capacity=2, max_capacity=most
    )
    found = [text for _, text in warnings_of(stack) if "LLM203" in text]

    assert [code for _, code in codes_of(stack) if code == "LLM203"] == codes
    if found:
        assert found[0].startswith(
            "max_capacity of 'Rush' is 5, but at most 4 copies fit the instances"
        )


def test_what_is_past_the_room_is_told_once(stack: Stack) -> None:
    """
    An action that keeps the target's own maximum adds nothing to what it was told.
    """
    component = component_on(stack, min_instance_count=1)
    copies = component.auto_scale_copy_count(max_capacity=5)
    copies.scale_on_schedule("Rush", schedule=NIGHTLY, min_capacity=2, max_capacity=5)
    found = [text for _, text in warnings_of(stack) if "LLM203" in text]

    assert len(found) == 1
    assert found[0].startswith("max_capacity is 5, but at most 4 copies fit")


def test_an_action_past_the_room_is_told_of_once(stack: Stack) -> None:
    """
    Where its minimum is too many, its maximum is so all the more.
    """
    component = component_on(stack, min_instance_count=1)
    copies = component.auto_scale_copy_count(max_capacity=4)
    copies.scale_on_schedule("Rush", schedule=NIGHTLY, min_capacity=5, max_capacity=6)
    found = [text for _, text in warnings_of(stack) if "LLM203" in text]

    assert len(found) == 1
    assert found[0].startswith("max_capacity of 'Rush' is 6, but at most 4 copies fit")


def test_a_scheduled_zero_needs_its_host(stack: Stack) -> None:
    """
    Its minimum has to be said, be it zero or not.
    """
    copies = component_on(stack).auto_scale_copy_count(max_capacity=4)

    with pytest.raises(
        ValueError,
        match="LLM305 min_capacity=0 of 'OfficeCloses' .*pass min_instance_count=0",
    ):
        copies.office_hours(
            "Office",
            opens="08:00",
            closes="18:00",
            min_capacity=2,
            closed_capacity=0,
        )


@pytest.mark.parametrize("minimum", [0, 1])
def test_a_scheduled_zero_wakes_by_the_clock(stack: Stack, minimum: int) -> None:
    """
    No alarm wakes what may have no copy.
    """
    copies = component_on(
        stack, min_instance_count=minimum, max_instance_count=1
    ).auto_scale_copy_count(max_capacity=4)
    copies.scale_on_schedule("Off", schedule=NIGHTLY, min_capacity=0, max_capacity=0)

    Template.from_stack(stack).resource_count_is("AWS::CloudWatch::Alarm", 0)
    assert copies.waking is None


@pytest.mark.parametrize("most", [None, 2])
def test_a_scheduled_minimum_of_zero_wakes_by_requests(
    stack: Stack, most: int | None
) -> None:
    """
    Copies may go and come, and nothing else would bring the first one back.
    """
    copies = component_on(stack, min_instance_count=0).auto_scale_copy_count(
        max_capacity=4
    )
    copies.scale_on_schedule(
        "Nights", schedule=NIGHTLY, min_capacity=0, max_capacity=most
    )
    copies.scale_on_schedule("Again", schedule="rate(1 day)", min_capacity=0)

    Template.from_stack(stack).resource_count_is("AWS::CloudWatch::Alarm", 1)
    assert copies.waking is not None
    assert "LLM402" in {code for _, code in codes_of(stack)}


def test_ranges_around_the_end_of_a_year_or_week_are_let_through(stack: Stack) -> None:
    """
    Quartz, whose language it is, reads them: of each month, and of each day.
    """
    months = ("FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV")
    days = ("MON", "TUE", "WED", "THU", "FRI", "SAT")
    count = copies_of(stack)
    expressions = [
        *(f"cron(0 6 1 {month}-JAN ? *)" for month in (*months, "DEC")),
        *(f"cron(0 6 ? * {day}-SUN *)" for day in days),
        "cron(0 6 1 11-2 ? *)",
        "cron(0 6 L-3 * ? *)",
    ]
    for number, expression in enumerate(expressions):
        count.scale_on_schedule(f"A{number}", schedule=expression, min_capacity=1)

    actions = properties_of(stack, "ApplicationAutoScaling::ScalableTarget")
    written = [each["Schedule"] for each in actions["ScheduledActions"]]
    assert written == expressions
