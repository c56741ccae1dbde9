"""
How many copies served, where nobody can be asked.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from cdk_sagemaker_llm.load.deployed import Counting, copies_of
from cdk_sagemaker_llm.load.settings import LoadSettings
from tests.local.client.misbehaving import Behaviour, Misbehaving

CHAT = LoadSettings(endpoint="chat", region="us-east-1")
COMPONENT = LoadSettings(endpoint="chat", component="llama", region="us-east-1")


@contextmanager
def told(
    monkeypatch: pytest.MonkeyPatch, *documents: dict[str, object]
) -> Iterator[Misbehaving]:
    """
    Have SageMaker tell so, one document after the other.
    """
    answers: list[Behaviour] = [
        lambda peer, each=document: peer.whole(  # type: ignore[misc]  # a default
            json.dumps(each).encode(), 200 if each else 403
        )
        for document in documents
    ]
    with Misbehaving(*answers) as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL_SAGEMAKER", server.url)
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        yield server


def variants(**counts: int) -> dict[str, object]:
    """
    Write an endpoint's variants, of which more are wanted than there are.
    """
    return {
        "ProductionVariants": [
            {
                "VariantName": name,
                "CurrentInstanceCount": count,
                "DesiredInstanceCount": count + 1,
            }
            for name, count in counts.items()
        ]
    }


def copies(count: int) -> dict[str, object]:
    """
    Write a component's copies, of which more are wanted than there are.
    """
    return {"RuntimeConfig": {"CurrentCopyCount": count, "DesiredCopyCount": count + 1}}


def test_those_that_serve_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    And not those that are wanted; of several variants the one that is asked.
    """
    blue = LoadSettings(endpoint="chat", variant="blue", region="us-east-1")

    with told(monkeypatch, copies(4)) as server:
        assert copies_of(COMPONENT) == 4
    with told(monkeypatch, variants(green=2)):
        assert copies_of(CHAT) == 2
    with told(monkeypatch, variants(green=2, blue=3)):
        assert copies_of(blue) == 3
    assert json.loads(server.requests[0]) == {"InferenceComponentName": "llama"}


@pytest.mark.parametrize(
    ("settings", "document", "why"),
    [
        (CHAT, variants(green=2, blue=3), "has several variants; name one with --var"),
        (CHAT, variants(green=0), "could not be read .none is named."),
        (CHAT, variants(), "could not be read .none is named."),
        (COMPONENT, copies(0), "could not be read .none is named."),
        (COMPONENT, {"RuntimeConfig": {}}, "could not be read .none is named."),
    ],
)
def test_what_cannot_be_told_is_said(
    monkeypatch: pytest.MonkeyPatch,
    settings: LoadSettings,
    document: dict[str, object],
    why: str,
) -> None:
    """
    None at all serve nobody.
    """
    with told(monkeypatch, document), pytest.raises(LookupError, match=why):
        copies_of(settings)


def test_what_changed_once_is_not_known_any_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """
    Not even where it is again what it was, nor after nobody could be asked.
    """
    changed = "the copies changed from 4 to 8 while it was measured"
    with told(monkeypatch, copies(4), copies(4), copies(8), copies(4)):
        counting = Counting(COMPONENT)
        assert counting.found() == {"copies": 4, "copies_untold": ""}
        for _ in range(2):
            found = counting.found()
            assert found["copies"] is None
            assert found["copies_untold"].startswith(changed)
    with told(monkeypatch, copies(4), {}, copies(4)):
        counting = Counting(COMPONENT)
        for _ in range(2):
            found = counting.found()
            assert found["copies"] is None
            assert found["copies_untold"].startswith("how many copies served could n")


def test_without_boto3_nobody_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    It says so, and what to write.
    """
    monkeypatch.setitem(sys.modules, "boto3", None)

    assert Counting(LoadSettings(endpoint="chat")).found() == {
        "copies": None,
        "copies_untold": (
            "how many copies served could not be read (boto3 is missing); say it with "
            "--copies"
        ),
    }


def test_without_a_region_the_reason_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    As boto3 calls it.
    """
    for name in ("AWS_DEFAULT_REGION", "AWS_REGION", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", "none")
    found = Counting(LoadSettings(endpoint="chat")).found()

    assert "could not be read (NoRegionError)" in found["copies_untold"]
