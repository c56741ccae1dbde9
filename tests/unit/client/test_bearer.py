"""
Bearer tokens for SageMaker's route that OpenAI's clients ask.

``make clients`` holds them against those of the SageMaker SDK, and
``tests/local/test_openai_route.py`` has them taken.
"""

from __future__ import annotations

import base64
import os
from datetime import UTC, datetime
from typing import Any
from unittest import mock
from urllib.parse import parse_qs

import boto3
import pytest
from botocore import auth

from cdk_sagemaker_llm.client import RefusedError, bearer_token

NOON = datetime(2026, 7, 1, 12, tzinfo=UTC)


def session(token: str | None = None) -> boto3.Session:
    """
    Make a session with credentials, temporary ones if they have a token.
    """
    return boto3.Session("key", "secret", token, region_name="eu-west-1")


def parameters(token: str) -> dict[str, str]:
    """
    Return what the signed request in a token says.
    """
    start, text = token[: len("sagemaker-api-key-")], token.rpartition("-")[2]
    place, _, query = base64.b64decode(text).decode().partition("/?")
    assert (start, place) == ("sagemaker-api-key-", "sagemaker.amazonaws.com")
    return {name: value for name, (value,) in parse_qs(query).items()}


def test_it_is_a_signed_request() -> None:
    """
    For the session's region, and for twelve hours.
    """
    with mock.patch.object(auth, "get_current_datetime", return_value=NOON):
        found = parameters(bearer_token(session=session()))

    assert len(found.pop("X-Amz-Signature")) == 64
    assert found == {
        "Action": "CallWithBearerToken",
        "X-Amz-Algorithm": "AWS4-HMAC-SHA256",
        "X-Amz-Credential": "key/20260701/eu-west-1/sagemaker/aws4_request",
        "X-Amz-Date": "20260701T120000Z",
        "X-Amz-Expires": "43200",
        "X-Amz-SignedHeaders": "host",
        "Version": "1",
    }


def test_a_region_a_time_and_a_session_of_ones_own() -> None:
    """
    The token of temporary credentials comes along.
    """
    own = session("a/b+c")

    found = parameters(bearer_token("us-west-2", seconds=60, session=own))

    assert "/us-west-2/sagemaker/" in found["X-Amz-Credential"]
    assert found["X-Amz-Expires"] == "60"
    assert found["X-Amz-Security-Token"] == "a/b+c"


@pytest.mark.parametrize("seconds", [1, 43_200])
def test_it_holds_for_twelve_hours_at_most(seconds: int) -> None:
    """
    And for a second at least.
    """
    found = parameters(bearer_token(seconds=seconds, session=session()))

    assert found["X-Amz-Expires"] == str(seconds)


@pytest.mark.parametrize("seconds", [0, 43_201, -1])
def test_it_holds_for_no_other_time(seconds: int) -> None:
    """
    What the service would refuse is refused here.
    """
    message = rf"seconds must be 1 to 43200 \(12 hours\), got {seconds}"
    with pytest.raises(ValueError, match=message):
        bearer_token(seconds=seconds, session=session())


@pytest.mark.parametrize(
    ("region", "told"), [("", "a name, got ''"), (5, "a text, got 5")]
)
def test_it_is_for_a_region_with_a_name(region: Any, told: str) -> None:  # noqa: ANN401 - on purpose
    """
    An empty variable is not taken for the session's own.
    """
    message = f"^region must be {told}; leave it out for the session's$"
    with pytest.raises(ValueError, match=message):
        bearer_token(region, session=session())


def test_it_is_signed_by_a_session() -> None:
    """
    Nothing else has credentials.
    """
    with pytest.raises(ValueError, match=r"^session must be a boto3\.Session, got 5$"):
        bearer_token(session=5)  # type: ignore[arg-type] # on purpose


def test_it_needs_a_region_and_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    The message says where they come from.
    """
    for name in ("AWS_DEFAULT_REGION", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", os.devnull)
    nobody = session()
    with pytest.raises(RefusedError, match="name the endpoint's region"):
        bearer_token(session=boto3.Session("key", "secret"))
    with (
        mock.patch.object(nobody, "get_credentials", return_value=None),
        pytest.raises(RefusedError, match="set up credentials as for boto3"),
    ):
        bearer_token(session=nobody)
