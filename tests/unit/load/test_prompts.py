"""
What users have in common, say turn by turn, and what a trace has them say.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cdk_sagemaker_llm.client import ToolCall
from cdk_sagemaker_llm.load.prompts import Prompts, read_tools
from cdk_sagemaker_llm.load.settings import LoadSettings
from cdk_sagemaker_llm.local.aws.untyped import Untyped
from cdk_sagemaker_llm.simulation.traffic.trace import TracedRequest


def prompts(number: int = 1, **given: Untyped) -> Prompts:
    """
    Make those of a process.
    """
    return Prompts(LoadSettings(endpoint="chat", **given), number)


def test_a_beginning_is_shared_by_all_processes() -> None:
    """
    What follows is each one's own.
    """
    first, second = (
        prompts(number, prompt_words="5", prefix_words=40).converse().prompt().split()
        for number in (1, 2)
    )

    assert len(first) == len(second) == 45
    assert first[:40] == second[:40]
    assert first[40:] != second[40:]


def test_there_may_be_several_beginnings() -> None:
    """
    One at random for each conversation; each as often as another.
    """
    made = prompts(prompt_words="1", prefix_words=6, prefixes=3)
    found = [made.converse().prompt().rsplit(" ", 1)[0] for _ in range(300)]
    counts = sorted(map(found.count, {*found}))

    assert len(counts) == 3
    assert counts[0] > 70


def test_without_a_beginning_there_is_none() -> None:
    """
    Neither a message of the system nor words.
    """
    talk = prompts(prompt_words="2").converse()

    assert len(talk.prompt().split()) == 2
    assert [one["role"] for one in talk.messages()] == ["user"]


def test_a_conversation_sends_all_that_was_said() -> None:
    """
    The system's message first, and what was answered; it is over after its turns.
    """
    made = prompts(is_chat=True, turns="3", prompt_words="2", prefix_words=4)
    talk = made.converse()
    sent = []
    for answer in ("one", "two", "three"):
        assert not talk.is_over
        sent.append([dict(one) for one in talk.messages()])
        talk.answered(answer, ())

    assert talk.is_over
    assert talk.turn == 3
    assert [[one["role"] for one in each] for each in sent] == [
        ["system", "user"],
        ["system", "user", "assistant", "user"],
        ["system", "user", "assistant", "user", "assistant", "user"],
    ]
    assert len(sent[0][0]["content"].split()) == 4
    assert sent[2][2]["content"] == "one"
    assert sent[2][:4] == sent[1]


def test_a_turn_that_failed_ends_it() -> None:
    """
    Nothing can follow what was not said.
    """
    talk = prompts(is_chat=True, turns="3").converse()
    talk.messages()
    talk.end()

    assert talk.is_over


def test_conversations_have_turns_between_bounds() -> None:
    """
    Each number of them.
    """
    made = prompts(is_chat=True, turns="2-4")
    counts = set()
    for _ in range(60):
        talk = made.converse()
        while not talk.is_over:
            talk.messages()
        counts.add(talk.turn)

    assert counts == {2, 3, 4}


def test_tools_answer_in_the_next_turn() -> None:
    """
    Each call by its id, or by its name where the engine gave none; no user speaks then.
    """
    talk = prompts(is_chat=True, turns="2", prompt_words="3").converse()
    talk.messages()
    talk.answered(
        "", [ToolCall("weather", '{"city": "Rome"}', "a"), ToolCall("now", "")]
    )
    user, assistant, *results = talk.messages()

    assert user["role"] == "user"
    assert assistant == {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {
                "id": "a",
                "type": "function",
                "function": {"name": "weather", "arguments": '{"city": "Rome"}'},
            },
            {
                "id": "now",
                "type": "function",
                "function": {"name": "now", "arguments": ""},
            },
        ],
    }
    assert [(one["role"], one["tool_call_id"]) for one in results] == [
        ("tool", "a"),
        ("tool", "now"),
    ]
    assert {len(one["content"].split()) for one in results} == {3}


def test_a_traced_prompt_begins_as_its_blocks_say() -> None:
    """
    512 words each, in every process; the last may be cut, and what no block stands for
    is nobody else's.
    """
    one = prompts(1).traced(TracedRequest(0.0, 1100, 1, (3, 4, 5))).split()
    two = prompts(2).traced(TracedRequest(9.0, 1500, 1, (3, 4, "x"))).split()
    free = prompts(1).traced(TracedRequest(0.0, 600, 1, (3,))).split()

    assert (len(one), len(two), len(free)) == (1100, 1500, 600)
    assert one[:1024] == two[:1024]
    assert one[1024:] != two[1024:1100]
    assert free[:512] == one[:512]
    assert free[512:] != one[512:600]


def test_more_blocks_than_tokens_add_none() -> None:
    """
    A trace's own numbers may not agree.
    """
    found = prompts().traced(TracedRequest(0.0, 512, 1, (3, 4)))

    assert len(found.split()) == 512
    assert found == found.strip()


def test_tools_are_read(tmp_path: Path) -> None:
    """
    As OpenAI's form has them.
    """
    path = tmp_path / "tools.json"
    tools = [{"type": "function", "function": {"name": "weather"}}]
    path.write_text(json.dumps(tools), encoding="utf-8")

    assert read_tools(path) == tuple(tools)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[", "is no JSON in UTF-8"),
        ("[]", 'must be a list of tools, each such as {"type": "function"'),
        ("{}", "must be a list of tools"),
        ('[{"function": {}}]', "must be a list of tools"),
        ("[1]", "must be a list of tools"),
    ],
)
def test_what_are_no_tools_is_refused(tmp_path: Path, text: str, message: str) -> None:
    """
    With what they look like.
    """
    path = tmp_path / "tools.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"tools.json ") as caught:
        read_tools(path)

    assert message in str(caught.value)


def test_a_file_of_tools_must_be_there(tmp_path: Path) -> None:
    """
    Else it says so.
    """
    with pytest.raises(ValueError, match="cannot be read: No such file"):
        read_tools(tmp_path / "tools.json")
