"""
Requests, in the words of each family of containers.
"""

from __future__ import annotations

import json

import pytest

from cdk_sagemaker_llm.client import ChatOptions, Options, Schema
from cdk_sagemaker_llm.client.requests import chat_body, embedding_body, prompt_body

ALL: Options = {
    "max_new_tokens": 9,
    "temperature": 0.5,
    "top_p": 0.9,
    "top_k": 5,
    "stop": ["\n"],
    "seed": 1,
}


def test_lmi_and_tgi_differ_in_the_name_of_stop() -> None:
    """
    Sampling has to be switched on for the old ones; details bring the reason.
    """
    parameters = {
        "max_new_tokens": 9,
        "temperature": 0.5,
        "top_p": 0.9,
        "top_k": 5,
        "seed": 1,
        "do_sample": True,
        "details": True,
    }

    assert json.loads(prompt_body(Schema.LMI, "é", ALL, stream=False)) == {
        "inputs": "é",
        "parameters": {**parameters, "stop_sequences": ["\n"]},
    }
    assert json.loads(prompt_body(Schema.TGI, "é", ALL, stream=True)) == {
        "inputs": "é",
        "parameters": {**parameters, "stop": ["\n"]},
        "stream": True,
    }


@pytest.mark.parametrize("name", ["temperature", "top_p", "top_k"])
def test_each_way_to_sample_switches_it_on(name: str) -> None:
    """
    A seed alone does not.
    """
    sampled: Options = {name: 1}  # type: ignore[misc]  # one of three
    bodies = [
        json.loads(prompt_body(Schema.LMI, "a", each, stream=False))
        for each in (sampled, Options(seed=1))
    ]

    assert bodies[0]["parameters"] == {name: 1, "do_sample": True, "details": True}
    assert bodies[1]["parameters"] == {"seed": 1, "details": True}


def test_details_may_be_left_out() -> None:
    """
    Where somebody says so.
    """
    body = prompt_body(Schema.LMI, "a", {"details": False}, stream=False)
    bare = prompt_body(Schema.OPENAI, "a", {"details": False}, stream=False)

    assert json.loads(body)["parameters"] == {"details": False}
    assert json.loads(bare) == {"prompt": "a"}


def test_letters_are_sent_as_they_are() -> None:
    """
    A request may have so many bytes, and an escape takes twice as many.
    """
    assert prompt_body(Schema.OPENAI, "é", {}, stream=False) == (
        '{"prompt": "é"}'.encode()
    )


def test_completions() -> None:
    """
    Everything beside the prompt; what is counted comes with a stream.
    """
    options: Options = {**ALL, "details": True, "parameters": {"min_p": 0.1}}

    assert json.loads(prompt_body(Schema.OPENAI, "a", options, stream=True)) == {
        "prompt": "a",
        "max_tokens": 9,
        "temperature": 0.5,
        "top_p": 0.9,
        "top_k": 5,
        "stop": ["\n"],
        "seed": 1,
        "logprobs": 1,
        "min_p": 0.1,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    assert json.loads(prompt_body(Schema.OPENAI, "a", {}, stream=False)) == {
        "prompt": "a"
    }


def test_chats() -> None:
    """
    A text alone is the user's message.
    """
    tools = [{"type": "function", "function": {"name": "f"}}]
    options: ChatOptions = {
        "tools": tools,
        "tool_choice": "auto",
        "model": "m",
        "details": True,
        "parameters": {"chat_template_kwargs": {}},
    }

    assert json.loads(chat_body("Hi", options, stream=False)) == {
        "messages": [{"role": "user", "content": "Hi"}],
        "tools": tools,
        "tool_choice": "auto",
        "model": "m",
        "logprobs": True,
        "top_logprobs": 1,
        "chat_template_kwargs": {},
    }


def test_embeddings() -> None:
    """
    ``input`` for OpenAI's schema, ``inputs`` for the others.
    """
    assert json.loads(embedding_body(Schema.OPENAI, ["a"], {"dimensions": 3})) == {
        "input": ["a"],
        "dimensions": 3,
    }
    assert json.loads(embedding_body(Schema.LMI, ["a"], {})) == {"inputs": ["a"]}


def test_the_containers_own_words_win() -> None:
    """
    What is in ``parameters`` is sent as it is.
    """
    options: Options = {"max_new_tokens": 9, "parameters": {"max_new_tokens": 5}}
    body = json.loads(prompt_body(Schema.LMI, "a", options, stream=False))

    assert body["parameters"]["max_new_tokens"] == 5


def test_fails_if_an_option_is_unknown() -> None:
    """
    A container might ignore it in silence.
    """
    mistyped = {"max_tokens": 9}

    with pytest.raises(TypeError, match=r"unknown option 'max_tokens'; what only"):
        prompt_body(Schema.LMI, "a", mistyped, stream=False)  # type: ignore[arg-type]  # on purpose
    with pytest.raises(TypeError, match="unknown option 'tools'"):
        prompt_body(Schema.LMI, "a", {"tools": []}, stream=False)  # type: ignore[typeddict-unknown-key]  # on purpose


def test_a_prompt_is_the_users_message_where_chats_alone_are_taken() -> None:
    """
    With every option in OpenAI's words.
    """
    options: Options = {**ALL, "details": True, "parameters": {"min_p": 0.1}}

    assert json.loads(prompt_body(Schema.CHAT, "é", options, stream=True)) == {
        "messages": [{"role": "user", "content": "é"}],
        "temperature": 0.5,
        "top_p": 0.9,
        "top_k": 5,
        "seed": 1,
        "max_tokens": 9,
        "stop": ["\n"],
        "stream": True,
        "stream_options": {"include_usage": True},
        "logprobs": True,
        "top_logprobs": 1,
        "min_p": 0.1,
    }


def test_what_was_begun_is_written_on() -> None:
    """
    Behind the prompt, or as the assistant's message, which is to go on.
    """
    bodies = {
        schema: json.loads(prompt_body(schema, "a", {}, stream=False, begun="b"))
        for schema in Schema
    }

    assert bodies[Schema.LMI]["inputs"] == bodies[Schema.TGI]["inputs"] == "ab"
    assert bodies[Schema.OPENAI] == {"prompt": "ab"}
    assert bodies[Schema.CHAT] == {
        "messages": [
            {"role": "user", "content": "a"},
            {"role": "assistant", "content": "b"},
        ],
        "continue_final_message": True,
        "add_generation_prompt": False,
    }


def test_fails_for_a_prompt_that_is_no_text_in_a_chat_too() -> None:
    """
    A list would be taken for messages.
    """
    with pytest.raises(ValueError, match="prompt must be a text, got 1"):
        prompt_body(Schema.CHAT, 1, {}, stream=False)  # type: ignore[arg-type]  # on purpose


def test_embeddings_of_what_takes_chats_alone_go_by_openais_name() -> None:
    """
    As those of the same engine elsewhere.
    """
    assert json.loads(embedding_body(Schema.CHAT, ["a"], {})) == {"input": ["a"]}
