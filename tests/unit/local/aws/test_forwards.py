"""
Model servers that answer in containers' places, by their addresses.
"""

from __future__ import annotations

import re

import pytest

from cdk_sagemaker_llm.local.aws.forwards import (
    Forward,
    Forwards,
    check_forwards,
    parse_forwards,
)

PARTS = "forward takes a scheme, a host, a port and a path, and nothing else, for chat"


@pytest.mark.parametrize(
    ("url", "is_near"),
    [
        ("http://localhost:8000", True),
        ("http://127.0.0.1:8000", True),
        ("http://127.9.9.9", True),
        ("http://[::1]:8000/v1", True),
        ("https://localhost:8000", False),
        ("http://10.0.0.1:8000", False),
        ("http://example.com", False),
        ("https://example.com:443/v1", False),
    ],
)
def test_a_server_is_near_on_this_machine_and_plainly(
    url: str, *, is_near: bool
) -> None:
    """
    What is not near has to be allowed.
    """
    assert Forward("chat", url).is_near is is_near
    check_forwards({"chat": url}, anywhere=True)
    if is_near:
        check_forwards({"chat": url}, anywhere=False)
    else:
        words = (
            "forward leads to http:// on this machine (localhost, 127.0.0.1, ::1) "
            f"unless forward_anywhere allows more, got {url} for chat"
        )
        with pytest.raises(ValueError, match=f"^{re.escape(words)}$"):
            check_forwards({"chat": url}, anywhere=False)


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("http://localhost:8000", None),
        ("http://localhost:8000/", None),
        ("http://localhost:8000/v1", None),
        ("http://localhost:8000/v1/", None),
        ("http://localhost:8000/v1/chat/completions", "/v1/chat/completions"),
        ("http://localhost:8000/predict/", "/predict/"),
    ],
)
def test_a_path_beyond_the_routes_of_openai_is_the_one_to_ask(
    url: str, path: str | None
) -> None:
    """
    The root and ``/v1`` are where those routes are.
    """
    forward = Forward("chat", url)

    assert forward.path == path
    assert (forward.parts.hostname, forward.parts.port) == ("localhost", 8000)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "localhost:8000",
        "ftp://localhost:8000",
        "http://",
        "http://:8000",
        "http://localhost:0",
        "http://localhost:70000",
        "http://[::1",
    ],
)
def test_what_is_no_address_of_a_server_is_refused(url: str) -> None:
    """
    With what it should lead to.
    """
    words = f"forward must lead to http://HOST:PORT, got {url!r} for chat"
    with pytest.raises(ValueError, match=f"^{re.escape(words)}$"):
        Forward("chat", url)


@pytest.mark.parametrize(
    "url",
    [
        "http://localhost:8000?a=1",
        "http://localhost:8000/v1#top",
        "http://user@localhost:8000",
        f"http://:{'word'}@localhost:8000",
    ],
)
def test_more_than_an_address_is_refused(url: str) -> None:
    """
    Without showing it: a password may be in it.
    """
    with pytest.raises(ValueError, match=f"^{PARTS}$"):
        Forward("chat", url)


@pytest.mark.parametrize(("name", "url"), [("", "http://localhost"), ("chat", None)])
def test_a_forward_has_a_name_and_a_text(name: str, url: str) -> None:
    """
    One as an example.
    """
    words = "forward must be a name and a URL, as chat=http://127.0.0.1:8000"
    with pytest.raises(ValueError, match=f"^{words}$"):
        Forward(name, url)


def test_forwards_are_read_from_texts() -> None:
    """
    Whatever else is in the address.
    """
    texts = ["chat=http://localhost:1/a=b", "other=http://localhost:2"]

    assert parse_forwards(texts) == {
        "chat": "http://localhost:1/a=b",
        "other": "http://localhost:2",
    }
    assert parse_forwards([]) == {}


@pytest.mark.parametrize("text", ["chat", "chat=", "=http://localhost:1", ""])
def test_a_text_that_is_no_forward_is_refused(text: str) -> None:
    """
    As it was written.
    """
    words = f"forward must be NAME=URL, as chat=http://127.0.0.1:8000, got {text!r}"
    with pytest.raises(ValueError, match=f"^{re.escape(words)}$"):
        parse_forwards([text])


def test_a_name_has_one_address() -> None:
    """
    Of two it is not known which is meant.
    """
    with pytest.raises(ValueError, match="^forward names chat twice; give it one addr"):
        parse_forwards(["chat=http://localhost:1", "chat=http://localhost:2"])


def test_the_first_name_that_has_a_server_counts() -> None:
    """
    Where none has, there is none.
    """
    one, other = "http://localhost:1", "http://localhost:2"
    forwards = Forwards({"part": one, "chat": other})

    assert forwards.find("part", "chat") == Forward("part", one)
    assert forwards.find(None, "", "else", "chat") == Forward("chat", other)
    assert forwards.find("else", None) is None
    assert Forwards().find("chat") is None
