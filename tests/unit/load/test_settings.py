"""
What a load test may be asked to do.
"""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path

import pytest

from cdk_sagemaker_llm.client import Timeouts
from cdk_sagemaker_llm.load.prompts import Prompts, read_prompts
from cdk_sagemaker_llm.load.settings import LoadSettings, address_of, lengths_of
from cdk_sagemaker_llm.local.aws.untyped import Untyped
from cdk_sagemaker_llm.simulation.traffic.trace import TracedRequest

TRACE = (TracedRequest(2.0, 10, 5, (1, "b")), TracedRequest(6.0, 10, 5))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"users": 0}, "users must be at least 1, got 0"),
        (
            {"users": 1, "arrival_rate": 1.0},
            "give either users or arrival_rate, not both",
        ),
        ({"arrival_rate": 0.0}, "arrival_rate must be more than 0, got 0.0"),
        ({"spawn_rate": 0.0}, "spawn_rate must be more than 0, got 0.0"),
        ({"run_time": 0.0}, "run_time must be more than 0, got 0.0"),
        (
            {"run_time": float("inf")},
            "run_time must be more than 0, got inf",
        ),
        ({"users": 2.5}, r"users must be a whole number, got 2.5 \(float\)"),
        ({"run_time": "60s"}, r"run_time must be a finite number, got '60s' \(str\)"),
        ({"prompts": "hello"}, r"prompts must be a list, got 'hello' \(str\)"),
        ({"prompt_words": -5}, r"prompt_words must be text, got -5 \(int\)"),
        ({"parameters": "x"}, "parameters must be a mapping from text, got"),
        ({"seed": "x"}, r"seed must be a whole number, got 'x' \(str\)"),
        (
            {"bind": "x y"},
            "bind must be HOST or HOST:PORT, such as 10.0.0.5, got 'x y'",
        ),
        ({"timeout": 0.0}, "timeout must be more than 0, got 0.0"),
        ({"think_time": -1.0}, "think_time must be at least 0, got -1.0"),
        ({"drain": -1.0}, "drain must be at least 0, got -1.0"),
        ({"processes": 0}, "processes must be at least 1, got 0"),
        ({"users": 2, "processes": 3}, "processes must be at most users, got 3 and 2"),
        ({"users": 1, "workers": 2}, "workers must be at most users, got 2 and 1"),
        ({"workers": 0}, "workers must be at least 1, got 0"),
        (
            {"workers": 1, "processes": 1},
            "give either processes or workers, not both",
        ),
        ({"join_within": 0.0}, "join_within must be more than 0, got 0.0"),
        ({"bind": ":1"}, "bind must be HOST or HOST:PORT, such as 10.0.0.5, got ':1'"),
        ({"max_new_tokens": 0}, "max_new_tokens must be at least 1, got 0"),
        (
            {"prompts": ("a",), "tokenizer": "tokenizer.json"},
            "give either prompts or tokenizer, not both",
        ),
        ({"trace": TRACE, "users": 1}, "give either trace or users, not both"),
        (
            {"trace": TRACE, "arrival_rate": 1.0},
            "give either trace or arrival_rate, not both",
        ),
        (
            {"trace": TRACE, "prompts": ("a",)},
            "give either trace or prompts, not both",
        ),
        (
            {"trace": TRACE, "prefix_words": 5},
            "give either trace or prefix_words, not both",
        ),
        (
            {"trace": TRACE, "think_time": 0.5},
            "give either trace or think_time, not both",
        ),
        (
            {"trace": TRACE, "turns": "2", "is_chat": True},
            "give either trace or turns, not both",
        ),
        ({"trace_speed": 0.0}, "trace_speed must be more than 0, got 0.0"),
        ({"trace": "x"}, r"trace must be a list, got 'x' \(str\)"),
        ({"trace": (1,)}, r"trace\[0\] must be a TracedRequest, got 1 \(int\)"),
        (
            {"prefixes": 2},
            "prefixes says how many beginnings there are; give prefix_words too",
        ),
        ({"turns": "2"}, "turns is for chats alone; set is_chat"),
        ({"tools": ({"type": "function"},)}, "tools is for chats alone; set is_chat"),
        (
            {"turns": "0", "is_chat": True},
            "turns must be such as 3, 2-6 or normal:4,1, got '0'",
        ),
        ({"prefix_words": 0}, "prefix_words must be at least 1, got 0"),
        ({"prefixes": 0}, "prefixes must be at least 1, got 0"),
        ({"schema": "x"}, "schema must be lmi or tgi or openai or chat, got 'x'"),
    ],
)
def test_what_is_no_load_is_refused(given: dict[str, Untyped], message: str) -> None:
    """
    By the name of the setting.
    """
    with pytest.raises(ValueError, match=message):
        LoadSettings(endpoint="chat", **given)


def test_a_trace_is_measured_until_it_ends() -> None:
    """
    With half a second before and after it; as long as is said, otherwise. What goes to
    another process comes back the same.
    """
    settings = LoadSettings(endpoint="chat", trace=TRACE)

    assert settings.seconds == 4.0 + 1.0
    assert replace(settings, trace_speed=2.0).seconds == 2.0 + 1.0
    assert replace(settings, run_time=7.0).seconds == 7.0
    assert LoadSettings(endpoint="chat").seconds == 60.0
    assert (settings.user_count, settings.process_count) == (0, 1)
    assert LoadSettings(endpoint="chat", trace=TRACE[::-1]) == settings
    packed = json.loads(json.dumps(settings.packed()))
    assert LoadSettings.unpacked(packed) == settings


def test_the_least_is_taken() -> None:
    """
    On the other side of each bound.
    """
    least = LoadSettings(
        endpoint="chat",
        users=1,
        processes=1,
        spawn_rate=0.1,
        run_time=0.1,
        timeout=0.1,
        think_time=0,
        drain=0,
        max_new_tokens=1,
    )

    assert least.user_count == least.process_count == 1
    assert LoadSettings(endpoint="chat", users=2, workers=2).process_count == 2


def test_an_endpoint_has_a_name() -> None:
    """
    Nothing is none.
    """
    with pytest.raises(ValueError, match=r"^endpoint must be a name, got ''$"):
        LoadSettings(endpoint="")


@pytest.mark.parametrize(
    ("given", "cores", "processes"),
    [
        ({"users": 100}, 8, 1),
        ({"users": 101}, 8, 2),
        ({"users": 5000}, 8, 8),
        ({"users": 5000}, None, 1),
        ({"arrival_rate": 0.5}, 8, 1),
        ({"arrival_rate": 201.0}, 8, 3),
        ({"users": 5000, "processes": 3}, 8, 3),
        ({"users": 5000, "workers": 12}, 8, 12),
    ],
)
def test_a_process_for_each_hundred_users(
    monkeypatch: pytest.MonkeyPatch,
    given: dict[str, Untyped],
    cores: int | None,
    processes: int,
) -> None:
    """
    Or requests a second, but no more than there are cores; unless it is said.
    """
    monkeypatch.setattr("os.cpu_count", lambda: cores)

    assert LoadSettings(endpoint="chat", **given).process_count == processes


def test_nobody_joins_from_elsewhere_unless_it_is_said() -> None:
    """
    And a request may take as long as the client's own default.
    """
    settings = LoadSettings(endpoint="chat")

    assert settings.bind == "127.0.0.1"
    assert settings.timeout == Timeouts().read == 120


def test_one_fault_is_told_once() -> None:
    """
    No users are not too few for a process besides.
    """
    with pytest.raises(ValueError, match=r"^users must be at least 1, got 0$"):
        LoadSettings(endpoint="chat", users=0)


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("10.0.0.5", ("10.0.0.5", 5557)),
        ("leader.example:1", ("leader.example", 1)),
        ("127.0.0.1:65535", ("127.0.0.1", 65535)),
    ],
)
def test_an_address(text: str, address: tuple[str, int]) -> None:
    """
    Its port is Locust's if it names none.
    """
    assert address_of(text) == address


@pytest.mark.parametrize(
    "text",
    ["", ":5557", "a:", "a:0", "a:65536", "a:b", "a:-1", " a", "http://a", "::1"],
)
def test_no_address(text: str) -> None:
    """
    What names no machine, or no port.
    """
    with pytest.raises(ValueError, match="must be HOST or HOST:PORT, such as"):
        address_of(text)


def test_all_users_begin_within_five_seconds() -> None:
    """
    If nothing else is said.
    """
    assert LoadSettings(endpoint="chat").user_count == 10
    assert LoadSettings(endpoint="chat").users_a_second == 2
    assert LoadSettings(endpoint="chat", users=500).users_a_second == 100
    assert LoadSettings(endpoint="chat", users=500, spawn_rate=3).users_a_second == 3
    assert LoadSettings(endpoint="chat", arrival_rate=3.0).user_count == 0


def test_settings_travel_whole() -> None:
    """
    As JSON, to another process.
    """
    settings = LoadSettings(
        endpoint="chat", prompts=("a", "b"), parameters={"top_k": 5}, users=7
    )
    packed = json.loads(json.dumps(settings.packed()))

    assert LoadSettings.unpacked(packed) == settings


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [("7", 7, 7), ("3-5", 3, 5), ("normal:9,0", 9, 9), ("normal:1,100", 1, 1000)],
)
def test_lengths_of_prompts(text: str, least: int, most: int) -> None:
    """
    One length, a range, or a bell curve, which never falls below one word.
    """
    draw, chance = lengths_of(text), random.Random(0)  # noqa: S311 - no secret
    found = [draw(chance) for _ in range(1000)]

    assert least <= min(found)
    assert max(found) <= most
    assert text != "3-5" or {*found} == {3, 4, 5}


@pytest.mark.parametrize(
    "text", ["", "0", "5-3", "a", "normal:5", "normal:0,1", "normal:5,-1", "-3", "3-"]
)
def test_what_is_no_length_is_refused(text: str) -> None:
    """
    With examples of what is.
    """
    with pytest.raises(ValueError, match="prompt_words must be such as 1000, 100-500"):
        LoadSettings(endpoint="chat", prompt_words=text)


def test_prompts_are_put_together() -> None:
    """
    Of as many words as are asked for, another each time, the same for the same seed.
    """
    settings = LoadSettings(endpoint="chat", prompt_words="12")
    prompts = Prompts(settings, 1)
    first, second = prompts.draw(), prompts.draw()

    assert len(first.split()) == len(second.split()) == 12
    assert first != second
    assert Prompts(settings, 1).draw() == first
    assert Prompts(settings, 2).draw() != first


def test_prompts_of_a_file(tmp_path: Path) -> None:
    """
    Lines, or JSON lines; blank ones do not count.
    """
    lines, documents = tmp_path / "a.txt", tmp_path / "b.jsonl"
    lines.write_text("one\n\n two \n", encoding="utf-8")
    documents.write_text(
        '"one"\n{"prompt": "two\\nlines"}\n{"inputs": "three"}\n', encoding="utf-8"
    )

    assert read_prompts(lines) == ("one", " two ")
    assert read_prompts(documents) == ("one", "two\nlines", "three")
    settings = LoadSettings(endpoint="chat", prompts=("one",))
    assert Prompts(settings).draw() == "one"


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.txt", "\n", "has no prompts; write one on each line"),
        ("a.jsonl", '"one"\n{"text": 1}', "a.jsonl:2 must be a JSON string"),
        ("a.jsonl", "one", "a.jsonl:1 must be a JSON string"),
    ],
)
def test_a_file_without_prompts_is_refused(
    tmp_path: Path, name: str, text: str, message: str
) -> None:
    """
    With the line that is wrong.
    """
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")

    with pytest.raises(ValueError, match=message):
        read_prompts(path)
