"""
What a model server gets of a request that is forwarded to it, and what comes of what it
says: without an embedded AWS before it.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any

import pytest
from werkzeug.datastructures import Headers

from cdk_sagemaker_llm.local.aws.forwards import Forward
from cdk_sagemaker_llm.local.engines.bodies import RefusedError
from cdk_sagemaker_llm.local.runtime import forwarding
from tests.local.model_server import ModelServer, model_server

CHAT = b'{"messages": []}'


@pytest.fixture(name="shared", scope="module")
def _shared() -> Iterator[ModelServer]:
    with model_server() as server:
        yield server


@pytest.fixture(name="server")
def _server(shared: ModelServer) -> ModelServer:
    shared.reset()
    return shared


def asked(
    server: ModelServer, body: bytes, adapter: str | None = None, **fields: str
) -> forwarding.Reply:
    """
    Send a body on, with header fields.
    """
    headers = Headers({name.replace("_", "-"): it for name, it in fields.items()})
    return forwarding.ask(Forward("chat", server.url), body, headers, adapter)


def refused(
    server: ModelServer, body: bytes, adapter: str | None = None
) -> tuple[int, str]:
    """
    Send a body on that the server refuses; return the status and its words.
    """
    with pytest.raises(RefusedError) as caught:
        asked(server, body, adapter)
    return caught.value.status, caught.value.body


def test_fields_for_a_container_alone_are_passed_on(server: ModelServer) -> None:
    """
    Its type, which is JSON if nothing is said.
    """
    asked(server, b"{}").whole()
    asked(
        server,
        b"{}",
        Content_Type="application/x-own",
        Accept="text/plain",
        X_Amzn_SageMaker_Custom_Attributes="a=b",
        X_Amzn_SageMaker_Session_Id="one",
        Authorization="no",
    ).whole()

    fields = [{*it.items()} for _, _, it in server.seen]
    assert ("content-type", "application/json") in fields[0]
    assert {
        ("content-type", "application/x-own"),
        ("accept", "text/plain"),
        ("x-amzn-sagemaker-custom-attributes", "a=b"),
    } <= fields[1]
    names = {name for name, _ in fields[1]}
    assert names == {
        *("accept", "accept-encoding", "content-length", "content-type", "host"),
        "x-amzn-sagemaker-custom-attributes",
    }
    assert "accept" not in dict(fields[0])


@pytest.mark.parametrize(
    ("body", "path", "model"),
    [
        (b'{"messages": [], "prompt": "Hi"}', "/v1/chat/completions", "tiny"),
        (b'{"messages": null, "prompt": "Hi"}', "/v1/completions", "tiny"),
        (b'{"prompt": "", "input": "Hi"}', "/v1/completions", "tiny"),
        (b'{"input": "Hi"}', "/v1/embeddings", "tiny"),
        (b'{"input": "Hi", "model": null}', "/v1/embeddings", "tiny"),
        (b'{"input": "Hi", "model": ""}', "/v1/embeddings", "tiny"),
        (b'{"input": "Hi", "model": "own"}', "/v1/embeddings", "own"),
        (b'{"inputs": "Hi"}', "/invocations", None),
    ],
)
def test_a_body_has_its_route(
    server: ModelServer, body: bytes, path: str, model: str | None
) -> None:
    """
    By the first of its fields that says something; a name that it has stays, and an
    empty one is none.
    """
    asked(server, body).whole()

    ((seen_path, seen, _),) = server.seen
    assert (seen_path, seen.get("model")) == (path, model)


@pytest.mark.parametrize("body", [CHAT, b'{"prompt": "Hi"}', b"{}"])
def test_a_path_that_is_called_is_asked_at(server: ModelServer, body: bytes) -> None:
    """
    Whatever the body has.
    """
    forward = Forward("chat", server.url)

    forwarding.ask(forward, body, Headers(), None, "/v1/chat/completions").whole()

    ((path, seen, _),) = server.seen
    assert (path, seen["model"]) == ("/v1/chat/completions", "tiny")


def test_a_text_is_passed_on_as_it_is_written(server: ModelServer) -> None:
    """
    Also beside a name that is added.
    """
    reply = asked(server, '{"prompt": "Grüße"}'.encode())

    assert reply.kind == "application/json; charset=utf-8"
    assert b"by tiny" in reply.whole()
    assert server.seen[0][1] == {"prompt": "Grüße", "model": "tiny"}


def test_the_name_of_an_adapter_is_the_models(server: ModelServer) -> None:
    """
    Unless the request names one; a server that does not know it is not asked again.
    """
    asked(server, CHAT, "german").whole()
    asked(server, b'{"messages": [], "model": "mine"}', "german").whole()
    server.behaviour = "pinned"
    status, words = refused(server, CHAT, "german")

    names = [body.get("model") for _, body, _ in server.seen]
    assert names == ["german", "mine", "german"]
    assert (status, words) == (400, '{"detail": "I am not \'german\'."}')


@pytest.mark.parametrize("status", [300, 400, 404, 500])
def test_a_refusal_of_something_else_is_the_answer(
    server: ModelServer, status: int
) -> None:
    """
    The server is asked again only where it does not know the name that it listed.
    """
    server.status = status

    assert refused(server, CHAT) == (
        status,
        '{"error": {"message": "too hot", "type": "Overheated"}}',
    )
    assert len(server.seen) == 1


def test_what_is_no_list_of_models_names_none(server: ModelServer) -> None:
    """
    The request goes on without a name.
    """
    server.model = None

    asked(server, CHAT).whole()

    assert server.seen[0][1] == {"messages": []}


def test_a_path_that_a_server_lacks_is_named(server: ModelServer) -> None:
    """
    With what would be taken, where no field said which.
    """
    server.status = 404
    lacks = f"the model server at {server.url}, to which chat is forwarded, has no "

    assert refused(server, b'{"prompt": "Hi"}') == (404, f"{lacks}/v1/completions")
    assert refused(server, b'{"inputs": "Hi"}') == (
        404,
        (
            f"{lacks}/invocations, where a body goes that has none of messages, "
            'prompt, input; ask with schema="openai" (--schema openai), or for a '
            "chat (--chat)"
        ),
    )


def test_a_refusal_that_breaks_off_has_its_status(server: ModelServer) -> None:
    """
    And the reason that HTTP has for it.
    """
    server.status, server.behaviour = 503, "cut"

    assert refused(server, CHAT) == (503, "Service Unavailable")


def test_a_server_that_says_nothing_or_is_not_there_is_named(
    server: ModelServer,
) -> None:
    """
    The first is a bad gateway, the second not available.
    """
    server.behaviour = "silent"
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        nobody = Forward("chat", f"http://127.0.0.1:{unused.getsockname()[1]}")

    ended = (
        f"the model server at {server.url}, to which chat is forwarded, ended the "
        "connection without an answer: Remote end closed connection without response"
    )
    assert refused(server, CHAT) == (502, ended)
    with pytest.raises(RefusedError) as caught:
        forwarding.ask(nobody, CHAT, Headers(), None)
    assert (caught.value.status, caught.value.body) == (
        503,
        (
            f"no model server answers at {nobody.url}, to which chat is forwarded: "
            "Connection refused; start it, or correct --forward"
        ),
    )


def test_an_answer_that_is_shorter_than_announced_is_none(server: ModelServer) -> None:
    """
    Python itself says nothing of it.
    """
    server.behaviour = "cut"

    with pytest.raises(forwarding.BrokenOffError):
        asked(server, CHAT).whole()


def test_a_path_of_its_own_takes_all(server: ModelServer) -> None:
    """
    No model is asked for.
    """
    forward = Forward("chat", f"{server.url}/predict")

    forwarding.ask(forward, CHAT, Headers(), "german").whole()

    found: list[tuple[str, dict[str, Any], dict[str, str]]] = server.seen
    assert [(path, body) for path, body, _ in found] == [("/predict", {"messages": []})]
