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

KINDS = (
    "no-capacity, never-healthy, restarts, no-image, cannot-start, slow, errors, "
    "maintenance, quota, not-offered, plan-expired"
)
ANSWERS = "a status of 400 to 599, throttled or cut"


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
        "a fault has a kind and answer, available, rate, seconds, seed, symptom, "
        "target; got no kind"
    )
    with pytest.raises(ValueError, match=f"^{re.escape(told)}$"):
        Fault.of({})


def test_a_symptom_is_one_of_a_container_s_log() -> None:
    """
    What the container says then is the catalogue's example.
    """
    fault = Fault(kind="never-healthy", symptom="disk is full")
    assert "No space left on device" in fault.log[0]

    with pytest.raises(ValueError, match="such as disk is full, got 'disc is full'"):
        Fault(kind="never-healthy", symptom="disc is full")
    with pytest.raises(ValueError, match="symptom must be one of a container's log"):
        Fault(kind="never-healthy", symptom="quota of the instance type")


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


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ({"kind": "fire"}, f"kind must be one of {KINDS}, got fire"),
        ({"kind": "slow", "rate": -0.1}, "rate must be 0 to 1, got -0.1"),
        ({"kind": "slow", "rate": 1.1}, "rate must be 0 to 1, got 1.1"),
        ({"kind": "slow", "seconds": 0}, "seconds must be more than 0, got 0.0"),
        ({"kind": "slow", "seconds": "inf"}, "seconds must be more than 0, got inf"),
        (
            {"kind": "no-capacity", "available": -1},
            "available must be at least 0, got -1",
        ),
        ({"kind": "errors", "answer": 399}, f"answer must be {ANSWERS}, got 399"),
        ({"kind": "errors", "answer": 600}, f"answer must be {ANSWERS}, got 600"),
        ({"kind": "errors", "answer": "no"}, f"answer must be {ANSWERS}, got no"),
        (
            {"kind": "no-capacity", "target": "chat"},
            (
                "target of no-capacity must be an instance type such as "
                "ml.g5.12xlarge, got 'chat': there is none of that name"
            ),
        ),
        (
            {"kind": "slow", "target": "-chat"},
            (
                "target of slow must be the name of an endpoint, an inference "
                "component or a model, got '-chat': there is none of that name"
            ),
        ),
        ({"kind": "slow", "target": 3}, "target must be a name, got 3"),
        ("slow", "a fault is an object with a kind, got 'slow'"),
        (
            {"kind": "slow", "when": 1, "how": 2},
            (
                "a fault has a kind and answer, available, rate, seconds, seed, "
                "symptom, target; got how, when"
            ),
        ),
        ({"kind": "slow", "seed": 1.5}, "seed must be a whole number, got 1.5"),
        ({"kind": "slow", "seed": "x"}, "seed must be a whole number, got 'x'"),
        ({"kind": "slow", "available": True}, "available must be a whole number, got"),
        ({"kind": "slow", "rate": []}, "rate must be a number, got []"),
        ({"kind": "slow", "seconds": "1e999"}, "seconds must be more than 0, got inf"),
        ({"kind": "slow", "seed": float("inf")}, "seed must be a whole number, got"),
        ({"kind": "slow", "seconds": "soon"}, "seconds must be a number, got 'soon'"),
    ],
)
def test_what_is_no_fault_is_refused(told: Any, words: str) -> None:  # noqa: ANN401 - JSON
    """
    With what was told and what is right.
    """
    with pytest.raises(ValueError, match=f"^{re.escape(words)}"):
        Fault.of(told)


@pytest.mark.parametrize("kind", KINDS.split(", "))
def test_each_kind_of_fault_is_one(kind: str) -> None:
    """
    Without anything else it befalls all, always, and in the same way.
    """
    fault = Fault.parse(kind)

    assert fault == Fault(kind=kind)
    assert (fault.target, fault.available, fault.seconds) == ("", 0, None)
    assert (fault.answer, fault.rate, fault.seed) == ("500", 1.0, 0)
    assert fault.befalls(())


@pytest.mark.parametrize(
    "told",
    [
        {"kind": "errors", "rate": 0},
        {"kind": "errors", "rate": 1},
        {"kind": "slow", "seconds": 0.001},
        {"kind": "slow", "seconds": None},
        {"kind": "no-capacity", "available": 0, "target": "ml.inf2.48xlarge"},
        {"kind": "no-capacity", "target": "ml.trn1-n.32xlarge"},
        {"kind": "errors", "answer": 400},
        {"kind": "errors", "answer": 599},
        {"kind": "errors", "answer": "throttled"},
        {"kind": "errors", "answer": "cut"},
        {"kind": "slow", "target": "a"},
        {"kind": "slow", "target": "My--model-2"},
        {"kind": "slow", "seed": "7"},
    ],
)
def test_what_is_just_a_fault_is_taken(told: dict[str, Any]) -> None:
    """
    Each limit of it.
    """
    fault = Fault.of(told)

    assert {key: str(getattr(fault, key)) for key in told} == {
        key: str(float(value) if key == "rate" else value)
        for key, value in told.items()
    }


def test_a_setting_is_read_up_to_its_first_sign() -> None:
    """
    The rest is its value.
    """
    with pytest.raises(ValueError, match="^rate must be a number, got '1=2'$"):
        Fault.parse("errors,rate=1=2")
    with pytest.raises(ValueError, match="got a b$"):
        Fault.parse("errors,a b")


def test_chance_starts_where_its_seed_says() -> None:
    """
    Two of the same seed draw alike, and those of another otherwise.
    """

    def drawn(seed: int) -> list[str | None]:
        faults = Faults()
        faults.put(Fault(kind="errors", rate=0.5, seed=seed))
        return [faults.answer(()) for _ in range(30)]

    assert drawn(1) == drawn(1) != drawn(2)


def test_other_kinds_answer_nothing() -> None:
    """
    Nor do those of others; the listing has all that they are.
    """
    faults = Faults()
    faults.put(Fault(kind="slow", target="chat", seconds=3.0))
    faults.put(Fault(kind="errors", target="other", answer="cut"))

    assert faults.answer({"chat"}) is None
    found = faults.find("slow", iter(["x", "chat"]))
    assert found is not None
    assert found.seconds == 3.0
    assert faults.find("slow", {"other"}) is None
    assert faults.listed()[1] == {
        "kind": "errors",
        "target": "other",
        "available": 0,
        "seconds": None,
        "answer": "cut",
        "rate": 1.0,
        "seed": 0,
        "symptom": "",
    }
