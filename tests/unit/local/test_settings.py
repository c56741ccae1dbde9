"""
What an embedded AWS is set to, and how that reaches its server.
"""

from __future__ import annotations

import re
from typing import Any

import pytest

from cdk_sagemaker_llm.local.aws.faults import Fault, Faults
from cdk_sagemaker_llm.local.aws.settings import Latency, Settings
from cdk_sagemaker_llm.simulation.fleet import ByType, FleetTimes


@pytest.mark.parametrize(
    "settings",
    [
        Settings(faults=[]),
        Settings(clock="by hand", times=FleetTimes.instant(), faults=[]),
        Settings(
            speed=60.0,
            times=FleetTimes(
                provision=ByType(otherwise=1.0, types={"ml.g5.xlarge": 2.0})
            ),
            latency=Latency(first_token=1.0, per_token=0.5),
            faults=[Fault(kind="errors", target="chat", rate=0.5, seed=3)],
            forward={"chat": "http://10.0.0.1:8000"},
            forward_anywhere=True,
        ),
    ],
)
def test_settings_are_written_and_read(settings: Settings) -> None:
    """
    To the last member.
    """
    assert Settings.from_json(settings.to_json()) == settings


def test_an_answer_takes_what_its_tokens_take() -> None:
    """
    A quarter of a second to the first, 20 ms for each after it; none is as one.
    """
    found = [Latency().seconds(count) for count in (0, 1, 2, 11)]

    assert found == pytest.approx([0.25, 0.25, 0.27, 0.45])


def test_nothing_takes_time_unless_it_is_said() -> None:
    """
    With a speed or by hand things take what they take by default.
    """
    assert Settings().fleet_times == FleetTimes.instant()
    assert Settings(speed=1.0).fleet_times == FleetTimes()
    assert Settings(clock="by hand").fleet_times == FleetTimes()
    assert not Settings().takes_time
    assert not Settings(speed=1.0).is_by_hand


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"speed": 0}, "speed must be more than 0 and at most 86400, got 0"),
        ({"speed": 86_401}, "speed must be more than 0 and at most 86400, got 86401"),
        ({"speed": "1"}, "speed must be a finite number, got '1' (str); write 1"),
        ({"clock": "fast"}, "clock must be 'by hand' or left out, got 'fast'"),
        ({"faults": ["slow"]}, "faults[0] must be a Fault, got 'slow' (str)"),
        (
            {"clock": "by hand", "speed": 1.0},
            (
                "speed and latency are for a clock that runs by itself, not for "
                "clock='by hand', where answers take no time; leave them out"
            ),
        ),
        (
            {"times": FleetTimes()},
            "times and latency need a speed: without one nothing takes any time",
        ),
        (
            {"latency": Latency()},
            "times and latency need a speed: without one nothing takes any time",
        ),
    ],
)
def test_settings_that_contradict_say_so(given: dict[str, Any], words: str) -> None:
    """
    With what was given and what is right.
    """
    with pytest.raises(ValueError, match=f"^{re.escape(words)}$"):
        Settings(**given)


@pytest.mark.parametrize("name", ["first_token", "per_token"])
def test_a_latency_is_not_negative(name: str) -> None:
    """
    Nothing is a latency.
    """
    Latency(**{name: 0.0})
    with pytest.raises(ValueError, match=f"{name} must be at least 0, got -0.1"):
        Latency(**{name: -0.1})


def test_a_fault_has_a_kind() -> None:
    """
    And says what else it may have.
    """
    told = (
        "a fault has a kind and answer, available, rate, seconds, seed, target; got "
        "no kind"
    )
    with pytest.raises(ValueError, match=f"^{re.escape(told)}$"):
        Fault.of({})


def test_a_fault_is_read_from_text_and_numbers() -> None:
    """
    Each member in its own type; the rest is by default.
    """
    assert Fault.of({"kind": "errors"}) == Fault(kind="errors", answer="500", rate=1.0)
    assert Fault.parse("errors,rate=0,answer=cut") == Fault(
        kind="errors", rate=0.0, answer="cut"
    )
    assert Fault.of({"kind": "errors", "answer": 599, "rate": 1}) == Fault(
        kind="errors", answer="599", rate=1.0
    )
    assert Fault.parse("slow,seconds=0.5") == Fault(kind="slow", seconds=0.5)
    assert Fault.parse("no-capacity,available=2") == Fault(
        kind="no-capacity", available=2
    )


def test_faults_befall_what_they_name() -> None:
    """
    Or all; the first that befalls counts, and each draws its own lots.
    """
    faults = Faults()
    faults.put(Fault(kind="errors", target="chat", answer="429"))
    faults.put(Fault(kind="errors", answer="503", rate=0.5, seed=1))
    faults.put(Fault(kind="no-capacity", target="ml.g5.xlarge", available=2))

    assert [faults.answer({"chat"}) for _ in range(3)] == ["429"] * 3
    others = [faults.answer({"other"}) for _ in range(100)]
    assert set(others) == {"503", None}
    assert 35 < others.count("503") < 65
    assert faults.find("slow", {"chat"}) is None
    assert faults.available("ml.g5.xlarge") == 2
    assert faults.available("ml.g5.2xlarge") == float("inf")
    assert [one["kind"] for one in faults.listed()] == [
        "errors",
        "errors",
        "no-capacity",
    ]
    faults.clear()
    assert faults.listed() == []
