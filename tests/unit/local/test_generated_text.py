"""
What LMI and TGI answer, and in which release they begin to: each on both sides.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from cdk_sagemaker_llm.local.aws.untyped import Untyped
from cdk_sagemaker_llm.local.engines.bodies import RefusedError
from cdk_sagemaker_llm.local.engines.containers import (
    Answer,
    ContainerRequest,
    EngineError,
    ServingContainer,
    serving_container,
)
from cdk_sagemaker_llm.local.engines.model_server import generate

REGISTRY = "763104351884.dkr.ecr.us-east-1.amazonaws.com"
CHAT: dict[str, Any] = {
    "messages": [{"role": "user", "content": "Hi there"}],
    "max_tokens": 2,
}
STREAMED = {**CHAT, "stream": True, "stream_options": {"include_usage": True}}
USAGE = {"prompt_tokens": 2, "completion_tokens": 2, "total_tokens": 4}
FIRST = '{"id":20090,"text":" Once","logprob":-1.365,"special":false}'
SECOND = '{"id":13463,"text":" there","logprob":-0.714,"special":false}'


def tgi(version: str, **variables: str) -> ServingContainer:
    """
    Return a container of TGI.
    """
    tag = f"2.1.1-tgi{version}-gpu-py310-cu121"
    image = f"{REGISTRY}/huggingface-pytorch-tgi-inference:{tag}"
    return known(serving_container(image, variables, {}))


def lmi(
    version: str, flavour: str = "lmi10.0.0-cu124", **options: str
) -> ServingContainer:
    """
    Return a container of LMI.
    """
    image = f"{REGISTRY}/djl-inference:{version}-{flavour}"
    return known(serving_container(image, {}, options))


def known(found: ServingContainer | None) -> ServingContainer:
    """
    Return a container that was recognised.
    """
    assert found is not None
    return found


def asked(container: ServingContainer, body: Untyped) -> Answer:
    """
    Ask a container.
    """
    text = body if isinstance(body, bytes) else json.dumps(body).encode()
    return generate(container, ContainerRequest(body=text))


def said(container: ServingContainer, body: Untyped) -> Untyped:
    """
    Ask a container, and return what it answers as JSON.
    """
    return json.loads(b"".join(asked(container, body).pieces))


def parts(container: ServingContainer, body: Untyped) -> list[Any]:
    """
    Ask a container for a stream, and return its parts.
    """
    texts = [piece.decode() for piece in asked(container, body).pieces]
    return [
        json.loads(one.removeprefix("data:")) for one in texts if "[DONE]" not in one
    ]


def refused(container: ServingContainer, body: Untyped) -> tuple[int, str]:
    """
    Ask a container what it refuses; return the status and the body.
    """
    with pytest.raises(RefusedError) as caught:
        asked(container, body)
    return caught.value.status, caught.value.body


def text(**parameters: Untyped) -> dict[str, Any]:
    """
    Write a request for two tokens.
    """
    return {"inputs": "Hi there", "parameters": {"max_new_tokens": 2, **parameters}}


@pytest.mark.parametrize(
    ("version", "first", "second", "rest"),
    [
        ("1.3.4", "", "", ""),
        ("1.4.0", '"index":1,', '"index":2,', ""),
        ("2.3.0", '"index":1,', '"index":2,', ""),
        ("2.3.1", '"index":1,', '"index":2,', ',"input_length":2'),
    ],
)
def test_tgi_streams_with_more_fields_by_and_by(
    version: str, first: str, second: str, rest: str
) -> None:
    """
    An index from 1.4.0 on, the length of what it was given from 2.3.1 on.
    """
    answer = asked(tgi(version), {**text(), "stream": True})

    assert (answer.content_type, answer.tokens) == ("text/event-stream", 2)
    assert [piece.decode() for piece in answer.pieces] == [
        f'data:{{{first}"token":{FIRST},"generated_text":null,"details":null}}\n\n',
        (
            f'data:{{{second}"token":{SECOND},"generated_text":" Once there","details":'
            f'{{"finish_reason":"length","generated_tokens":2,"seed":null{rest}}}}}\n\n'
        ),
    ]


def test_tgi_gives_details_where_they_are_asked_for() -> None:
    """
    In an array, as all that it does not stream under this path.
    """
    whole = asked(tgi("1.4.5"), text(details=True, return_full_text=True))

    assert (whole.content_type, whole.tokens) == ("application/json", 2)
    assert b"".join(whole.pieces).decode() == (
        '[{"generated_text":"Hi there Once there","details":{"finish_reason":"length",'
        '"generated_tokens":2,"seed":null,"prefill":[],"tokens":['
        f"{FIRST},{SECOND}]}}}}]"
    )
    assert said(tgi("1.4.5"), text()) == [{"generated_text": " Once there"}]


def test_tgi_shows_the_end_as_a_special_token() -> None:
    """
    Which it counts, and which is not part of the text.
    """
    told = said(tgi("1.4.5"), text(max_new_tokens=99))[0]["generated_text"]

    found = said(
        tgi("1.4.5"),
        {"inputs": told[:-1], "parameters": {"max_new_tokens": 9, "details": True}},
    )

    assert found[0]["generated_text"] == "."
    details = found[0]["details"]
    assert (details["finish_reason"], details["generated_tokens"]) == ("eos_token", 2)
    period, end = details["tokens"]
    assert (period["text"], period["special"]) == (".", False)
    assert (end["id"], end["text"], end["special"]) == (2, "</s>", True)


@pytest.mark.parametrize(
    ("version", "says_so", "takes"),
    [
        ("1.3.4", "true", False),
        ("1.4.0", "true", True),
        ("1.4.0", "false", False),
        ("2.3.9", "", False),
        ("2.4.0", "", True),
    ],
)
def test_tgi_takes_chats_by_a_variable_and_later_by_their_shape(
    version: str, says_so: str, *, takes: bool
) -> None:
    """
    From 1.4.0 on where it is told to, from 2.4.0 on what has no inputs.
    """
    container = tgi(version, **({"MESSAGES_API_ENABLED": says_so} if says_so else {}))
    if takes:
        assert said(container, CHAT)["choices"] == [
            {
                "index": 0,
                "message": {"role": "assistant", "content": " Once there"},
                "logprobs": None,
                "finish_reason": "length",
            }
        ]
    else:
        assert refused(container, CHAT) == (
            422,
            (
                "Failed to deserialize the JSON body into the target type: "
                "missing field `inputs`"
            ),
        )


def test_tgi_knows_a_chat_by_what_it_lacks() -> None:
    """
    A request with inputs is none, even beside messages.
    """
    both = {**CHAT, **text()}

    assert said(tgi("2.4.0"), both) == [{"generated_text": " Once there"}]
    assert refused(tgi("2.4.0"), {}) == (
        422,
        (
            "Failed to deserialize the JSON body into the target type: "
            "missing field `messages`"
        ),
    )


def test_a_chat_of_tgi_has_all_that_tgi_writes() -> None:
    """
    No id; its own version; a role in every part of a stream.
    """
    container = tgi("2.4.0", HF_MODEL_ID="org/model")
    whole = said(container, CHAT)
    streamed = parts(container, STREAMED)

    assert whole.pop("created") > 1_700_000_000
    assert whole == {
        "id": "",
        "object": "chat.completion",
        "model": "org/model",
        "system_fingerprint": "2.4.0-native",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": " Once there"},
                "logprobs": None,
                "finish_reason": "length",
            }
        ],
        "usage": USAGE,
    }
    assert {one["object"] for one in streamed} == {"chat.completion.chunk"}
    assert [one["choices"] for one in streamed] == [
        [
            {
                "index": 0,
                "delta": {"role": "assistant", "content": word},
                "logprobs": None,
                "finish_reason": reason,
            }
        ]
        for word, reason in ((" Once", None), (" there", "length"))
    ] + [[]]
    assert streamed[-1]["usage"] == USAGE
    assert asked(container, STREAMED).pieces[-1] == b"data: [DONE]\n\n"
    assert said(tgi("2.4.0"), CHAT)["model"] == "/opt/ml/model"


@pytest.mark.parametrize(
    ("container", "reason"),
    [
        (tgi("2.3.9", MESSAGES_API_ENABLED="true"), "eos_token"),
        (tgi("2.4.0"), "stop"),
        (lmi("0.34.0"), "eos_token"),
        (lmi("0.35.0"), "stop"),
    ],
)
def test_the_end_of_a_chat_is_called_otherwise_later(
    container: ServingContainer, reason: str
) -> None:
    """
    In TGI's own word before 2.4.0, and in the rolling batch of LMI.
    """
    found = said(container, {**CHAT, "max_tokens": 99})["choices"][0]

    assert found["finish_reason"] == reason


def test_a_chat_of_lmi_has_a_role_in_its_first_part() -> None:
    """
    The rolling batch with its first word, and counts nothing; the asynchronous service
    alone, and counts where it is asked to.
    """
    early = parts(lmi("0.34.0"), STREAMED)
    late = parts(lmi("0.35.0"), STREAMED)

    assert asked(lmi("0.34.0"), STREAMED).content_type == "application/jsonlines"
    assert [one["choices"][0]["delta"] for one in early] == [
        {"role": "assistant", "content": " Once"},
        {"content": " there"},
    ]
    assert "model" not in early[0]
    assert "stop_reason" not in early[0]["choices"][0]
    assert [one["choices"][0]["delta"] for one in late[:-1]] == [
        {"role": "assistant", "content": ""},
        {"content": " Once"},
        {"content": " there"},
    ]
    assert [one["choices"][0]["finish_reason"] for one in late[:-1]] == [
        *(None, None),
        "length",
    ]
    assert late[0]["choices"][0]["stop_reason"] is None
    assert (late[-1]["choices"], late[-1]["usage"]) == ([], USAGE)
    assert len(parts(lmi("0.35.0"), {**CHAT, "stream": True})) == 3


def test_lmi_calls_the_model_as_the_request_does() -> None:
    """
    And an adapter by its own name.
    """
    container = lmi("0.35.0", enable_lora="true")
    adapted = replace(container, adapter="german")

    assert said(container, CHAT)["model"] == "lmi"
    assert said(container, {**CHAT, "model": "mine"})["model"] == "mine"
    assert said(adapted, {**CHAT, "model": "mine"})["model"] == "german"


@pytest.mark.parametrize(
    "container", [lmi("0.35.0"), lmi("0.35.0", enable_lora="false"), tgi("2.4.0")]
)
def test_an_adapter_needs_a_place(container: ServingContainer) -> None:
    """
    Which LMI has where it is told to.
    """
    _, body = refused(replace(container, adapter="german"), CHAT)

    assert "LoRA adapter german not found in registry. Available adapters: []" in body


@pytest.mark.parametrize(
    ("version", "kind", "pieces"),
    [
        ("0.26.0", "application/json", ['{"generated_text": " Once', ' there"}']),
        (
            "0.27.0",
            "application/jsonlines",
            [
                '{"token": {"id": [20090], "text": " Once", "log_prob": -1.365}}\n',
                (
                    '{"token": {"id": [13463], "text": " there", "log_prob": -0.714}, '
                    '"generated_text": " Once there"}\n'
                ),
            ],
        ),
        (
            "0.28.0",
            "application/jsonlines",
            [
                '{"token": {"id": 20090, "text": " Once", "log_prob": -1.365}}\n',
                (
                    '{"token": {"id": 13463, "text": " there", "log_prob": -0.714}, '
                    '"generated_text": " Once there"}\n'
                ),
            ],
        ),
    ],
)
def test_lmi_looks_at_stream_since_0_27(
    version: str, kind: str, pieces: list[str]
) -> None:
    """
    Before, its option alone decides.
    """
    answer = asked(lmi(version), {**text(), "stream": True})

    assert answer.content_type == kind
    assert [piece.decode() for piece in answer.pieces] == pieces


def test_the_formatter_that_lmi_is_told_to_use_wins() -> None:
    """
    Whatever the request says; one that it does not know counts as none.
    """
    whole, stream = text(), {**text(), "stream": True}

    def kind(body: Untyped, **options: str) -> str:
        return asked(lmi("0.28.0", **options), body).content_type

    assert kind(whole, output_formatter="jsonlines") == "application/jsonlines"
    assert kind(whole, output_formatter="sse") == "text/event-stream"
    assert kind(stream, output_formatter="json") == "application/json"
    assert kind(stream, output_formatter="own") == "application/jsonlines"
    assert kind(stream, tgi_compat="TRUE") == "text/event-stream"
    assert kind(whole, tgi_compat="true") == "application/json"
    assert kind(stream, tgi_compat="false") == "application/jsonlines"


def test_tgi_compat_gives_details_unasked() -> None:
    """
    In an array, with the keys of TGI.
    """
    (found,) = said(lmi("0.28.0", tgi_compat="true"), text())

    assert found == {
        "generated_text": " Once there",
        "details": {
            "finish_reason": "length",
            "generated_tokens": 2,
            "inputs": "Hi there",
            "tokens": [
                {"id": 20090, "text": " Once", "logprob": -1.365},
                {"id": 13463, "text": " there", "logprob": -0.714},
            ],
        },
    }


@pytest.mark.parametrize(
    ("version", "whole"),
    [("0.26.0", " Once there"), ("0.27.0", "Hi there Once there")],
)
def test_lmi_repeats_the_prompt_since_0_27(version: str, whole: str) -> None:
    """
    Where it is asked to.
    """
    assert said(lmi(version), text(return_full_text=True))["generated_text"] == whole


def test_a_stream_of_lmi_may_have_details() -> None:
    """
    The asynchronous service counts the prompt's words.
    """
    lines = [
        json.loads(piece)
        for piece in asked(lmi("0.35.0"), {**text(details=True), "stream": True}).pieces
        if piece.strip()
    ]

    assert lines[-1]["details"] == {
        "finish_reason": "length",
        "seed": None,
        "generated_tokens": 3,
        "input_length": 2,
    }


@pytest.mark.parametrize(
    ("container", "tokens"),
    [
        (lmi("0.26.0", "tensorrtllm0.7.1-cu122"), 80),  # Of 128, the whole story.
        (lmi("0.27.0", "tensorrtllm0.8.0-cu124"), 30),
        (lmi("0.26.0", "deepspeed0.12.6-cu121"), 30),
        (tgi("1.4.5"), 80),  # Of 100.
    ],
)
def test_a_request_without_a_number_has_the_containers(
    container: ServingContainer, tokens: int
) -> None:
    """
    TensorRT-LLM's was another one.
    """
    assert asked(container, {"inputs": "Hi"}).tokens == tokens
    nothing = {"inputs": "Hi", "parameters": None}
    assert asked(container, nothing).tokens == tokens


def test_a_chat_without_a_number_has_all_the_room_of_a_late_release() -> None:
    """
    And both names of the number count there.
    """
    bare = {"messages": CHAT["messages"]}
    named = {**bare, "max_completion_tokens": 3}
    both = {**named, "max_tokens": 2}

    early, late = lmi("0.34.0"), lmi("0.35.0")

    assert (asked(early, bare).tokens, asked(late, bare).tokens) == (30, 79)
    assert (asked(early, named).tokens, asked(late, named).tokens) == (30, 3)
    assert (asked(early, both).tokens, asked(late, both).tokens) == (2, 2)


@pytest.mark.parametrize(
    ("version", "batch", "is_async"),
    [
        ("0.34.0", None, False),
        ("0.35.0", None, True),
        ("0.35.0", "auto", True),
        ("0.35.0", "vllm", False),
        ("0.32.0", "disable", False),
        ("0.33.0", "disable", True),
    ],
)
def test_the_asynchronous_service_is_chosen_by_the_batch(
    version: str, batch: str | None, *, is_async: bool
) -> None:
    """
    It is the default since 0.35, and can be had since 0.33.
    """
    container = lmi(version, **({"rolling_batch": batch} if batch else {}))

    assert container.is_async == is_async
    assert refused(container, b"{")[0] == (400 if is_async else 424)


@pytest.mark.parametrize("number", [0, -1, True, "2", 1.5])
def test_a_number_of_tokens_is_a_whole_one_from_one_on(number: Untyped) -> None:
    """
    Each server says so in its words.
    """
    why = "`max_tokens` must be strictly positive"
    error = {"error": f"Input validation error: {why}", "error_type": "validation"}
    compact = json.dumps(error, separators=(",", ":"))

    assert refused(tgi("2.4.0"), {**CHAT, "max_tokens": number}) == (422, compact)
    assert refused(lmi("0.34.0"), {**CHAT, "max_tokens": number}) == (
        424,
        json.dumps({"code": 424, "error": why}),
    )
    assert asked(lmi("0.34.0"), {**CHAT, "max_tokens": 1}).tokens == 1


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ([], "invalid type, expected a map"),
        ({"inputs": 7}, "missing field `inputs`"),
        (
            {"inputs": "Hi", "parameters": [1]},
            "invalid type for `parameters`, expected a map",
        ),
        (
            {"inputs": "Hi", "parameters": {"max_new_tokens": -1}},
            "`max_new_tokens` must be strictly positive",
        ),
        ({"messages": []}, "`messages` must be a list that is not empty"),
        ({"messages": [{"content": "Hi"}]}, "missing field `role`"),
        (
            {"messages": [{"role": "user", "content": 7}]},
            "`content` must be a text or a list of parts",
        ),
    ],
)
def test_what_is_no_request_is_refused_with_its_reason(body: Untyped, why: str) -> None:
    """
    By LMI with a 400, or with a 424 where it has a rolling batch.
    """
    assert refused(lmi("0.35.0"), body) == (
        400,
        json.dumps({"code": 400, "error": why}),
    )
    assert refused(lmi("0.34.0"), body) == (
        424,
        json.dumps({"code": 424, "error": why}),
    )


def test_letters_are_written_as_they_are() -> None:
    """
    Not by their numbers.
    """
    body = {"inputs": "Grüße", "parameters": {"return_full_text": True}}

    for container in (lmi("0.28.0"), tgi("1.4.5")):
        whole = b"".join(asked(container, body).pieces).decode()
        assert "Grüße" in whole


def test_an_engine_that_does_not_start_says_so_line_by_line() -> None:
    """
    As its log has it.
    """
    error = EngineError("one", "two")

    assert (str(error), error.lines) == ("one\ntwo", ("one", "two"))


@pytest.mark.parametrize(
    ("server", "flavour", "version", "count"),
    [
        ("tgi", "", (2, 0, 0), 100),
        ("lmi", "tensorrtllm0.7.1-cu122", (0, 26, 0), 128),
        ("lmi", "tensorrtllm0.8.0-cu122", (0, 27, 0), 30),
        ("lmi", "deepspeed0.12.6-cu121", (0, 26, 0), 30),
    ],
)
def test_an_answer_has_so_many_tokens_where_nothing_is_said(
    server: str, flavour: str, version: tuple[int, ...], count: int
) -> None:
    """
    By the server, and by the release.
    """
    found = ServingContainer(server=server, version=version, flavour=flavour)

    assert found.default_new_tokens == count
