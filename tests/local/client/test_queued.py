"""
Asynchronous inference through the client, on the embedded AWS.
"""

from __future__ import annotations

import asyncio
import json
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import boto3
import pytest
from botocore.stub import Stubber

from cdk_sagemaker_llm.client import (
    AnswerTimeoutError,
    ContextTooLongError,
    LlmClient,
    ModelError,
    PendingAnswer,
    RefusedError,
    ThrottledError,
    read_body,
)
from cdk_sagemaker_llm.client import asynchronous as asking
from cdk_sagemaker_llm.client.answers import Generation
from tests.local.client.conftest import Connect, ConnectAsync
from tests.local.client.misbehaving import Misbehaving, Peer
from tests.local.hosting_requests import (
    LMI_28,
    make_config,
    make_endpoint,
    make_model,
    unique,
)

if TYPE_CHECKING:
    from cdk_sagemaker_llm.local import EmbeddedAws

PROMPT = "Who are you?"


@pytest.fixture(name="bucket", scope="module")
def _bucket(embedded_aws: EmbeddedAws) -> str:
    name = unique("bucket")
    embedded_aws.client("s3").create_bucket(Bucket=name)
    return name


@pytest.fixture(name="endpoint", scope="module")
def _endpoint(embedded_aws: EmbeddedAws, bucket: str) -> str:
    """
    An asynchronous endpoint of LMI.
    """
    output = {
        "S3OutputPath": f"s3://{bucket}/out",
        "S3FailurePath": f"s3://{bucket}/no",
    }
    config = make_config(
        embedded_aws,
        variant={"ModelName": make_model(embedded_aws, image=LMI_28)},
        AsyncInferenceConfig={"OutputConfig": output},
    )
    return make_endpoint(embedded_aws, config)


@pytest.fixture(name="client")
def _client(embedded_aws: EmbeddedAws, connect: Connect, endpoint: str) -> LlmClient:
    return connect(embedded_aws.url, endpoint)


def test_an_inline_request_is_answered(
    embedded_aws: EmbeddedAws, client: LlmClient, bucket: str
) -> None:
    """
    As one that is waited for, under the name that it was given.
    """
    pending = client.with_routing(inference_id="order-17").invoke_async(
        PROMPT, max_new_tokens=5, s3_endpoint_url=embedded_aws.url
    )

    assert pending.inference_id == "order-17"
    assert pending.output_location == f"s3://{bucket}/out/order-17.out"
    assert pending.failure_location == f"s3://{bucket}/no/order-17-error.out"
    answer = pending.result(timeout=10)
    assert answer.text
    assert answer.completion_tokens == 5
    assert answer == pending.result(timeout=0)


def test_a_request_is_written_to_a_place(
    embedded_aws: EmbeddedAws, client: LlmClient, bucket: str
) -> None:
    """
    Under a prefix by a name of its own; what lies there already is not written.
    """
    s3, url = embedded_aws.client("s3"), embedded_aws.url

    by_prefix = client.invoke_async(
        PROMPT,
        input_location=f"s3://{bucket}/in/",
        max_new_tokens=5,
        s3_endpoint_url=url,
    )
    named = f"s3://{bucket}/named.json"
    by_name = client.invoke_async(
        [{"role": "user", "content": PROMPT}],
        input_location=named,
        max_new_tokens=5,
        s3_endpoint_url=url,
    )
    again = client.invoke_async(input_location=named, s3_endpoint_url=url)

    (found,) = s3.list_objects_v2(Bucket=bucket, Prefix="in/")["Contents"]
    written = s3.get_object(Bucket=bucket, Key=found["Key"])["Body"].read()
    assert found["Key"].endswith(".json")
    assert json.loads(written)["inputs"] == PROMPT
    assert by_prefix.result(timeout=10).text
    assert by_name.result(timeout=10).text == again.result(timeout=10).text


def test_a_task_awaits_its_answer(
    embedded_aws: EmbeddedAws, connect_async: ConnectAsync, endpoint: str
) -> None:
    """
    The same in asyncio.
    """

    async def main() -> list[Generation]:
        async with connect_async(embedded_aws.url, endpoint) as client:
            url = embedded_aws.url
            pending = [
                await client.invoke_async(PROMPT, max_new_tokens=5, s3_endpoint_url=url)
                for _ in range(3)
            ]
            assert len({one.output_location for one in pending}) == 3
            return await asyncio.gather(*(one.result(timeout=10) for one in pending))

    assert [one.completion_tokens for one in asyncio.run(main())] == [5, 5, 5]


def test_fails_if_the_model_refuses(
    embedded_aws: EmbeddedAws, client: LlmClient, bucket: str
) -> None:
    """
    The error object that lies in the answer's place, with the container's status.
    """
    url = embedded_aws.url
    embedded_aws.client("s3").put_object(Bucket=bucket, Key="spoilt", Body=b"{")

    pending = client.invoke_async(
        input_location=f"s3://{bucket}/spoilt", s3_endpoint_url=url
    )
    with pytest.raises(ModelError) as caught:
        pending.result(timeout=10)

    assert caught.value.status == 424
    missing = client.invoke_async(
        input_location=f"s3://{bucket}/none", s3_endpoint_url=url
    )
    with pytest.raises(ModelError, match="Failed to download the request from s3"):
        missing.result(timeout=10)


def test_the_words_of_an_error_object_are_read() -> None:
    """
    Such as that a prompt is too long, which the container said with its own status.
    """
    words = (
        'Received client error (400) from primary with message "{"error": {"message": '
        "\"This model's maximum context length is 10 tokens. However, you requested 20 "
        'tokens", "code": 400}}". See https://console.example/ for more information.'
    )
    error = asking._error(words)  # noqa: SLF001 - what result() raises

    assert isinstance(error, ContextTooLongError)
    assert (error.status, error.limit, error.requested) == (400, 10, 20)


@pytest.mark.parametrize(
    ("request_", "told"),
    [
        ({}, "messages must be a prompt or messages, got None; say what to ask"),
        ({"input_location": "s3://b/in/"}, "messages must be a prompt or messages"),
        ({"messages": "x", "input_location": "b/in/"}, "input_location must be such"),
        ({"messages": "x", "request_ttl": 0}, "request_ttl must be at least 1, got 0"),
        ({"messages": "x", "invocation_timeout": "1"}, "invocation_timeout must be a "),
        (
            {"messages": "x" * 128_000},
            "must be at most 128,000 bytes to be sent inline",
        ),
    ],
    ids=["nothing", "a prefix", "no place", "no time", "no number", "too much"],
)
def test_fails_if_a_request_cannot_be_sent(
    client: LlmClient, request_: dict[str, Any], told: str
) -> None:
    """
    In the caller's words, before anything is.
    """
    with pytest.raises(ValueError, match=told):
        client.invoke_async(**request_)


def test_both_sides_of_the_largest_inline_request(connect: Connect) -> None:
    """
    As the service takes it.
    """

    def accept(peer: Peer) -> None:
        peer.whole(
            b'{"InferenceId": "1"}', 202, X_Amzn_SageMaker_OutputLocation="s3://b/o"
        )

    with Misbehaving(accept) as server:
        client = connect(server.url)
        empty = client.invoke_async("", request_ttl=60, invocation_timeout=5)
        fits = 128_000 - len(server.requests[0])
        client.invoke_async("x" * fits)
        with pytest.raises(ValueError, match="got 128001; give a place on S3"):
            client.invoke_async("x" * (fits + 1))

    assert empty.failure_location is None
    assert len(server.requests[1]) == 128_000
    said = server.fields[0]
    assert said["x-amzn-sagemaker-requestttlseconds"] == "60"
    assert said["x-amzn-sagemaker-invocationtimeoutseconds"] == "5"


def test_fails_if_the_endpoint_is_none_of_these(
    embedded_aws: EmbeddedAws, connect: Connect, client: LlmClient
) -> None:
    """
    One with components, and one that is not there.
    """
    with pytest.raises(ValueError, match="component must be left out for invoke_async"):
        connect(embedded_aws.url, "chat", "one").invoke_async(PROMPT)
    with pytest.raises(RefusedError, match="Endpoint none .* not found"):
        connect(embedded_aws.url, "none").invoke_async(PROMPT)
    with pytest.raises(RefusedError, match="NoSuchBucket"):
        client.invoke_async(
            PROMPT,
            input_location="s3://no-such-bucket-here/in/",
            s3_endpoint_url=embedded_aws.url,
        )


def test_what_is_throttled_is_sent_again(connect: Connect) -> None:
    """
    As often as the client was told to.
    """

    def throttle(peer: Peer) -> None:
        peer.refuse("ThrottlingException", "Rate exceeded", 400)

    def accept(peer: Peer) -> None:
        place = {"X_Amzn_SageMaker_OutputLocation": "s3://b/o"}
        peer.whole(b'{"InferenceId": "1"}', 202, **place)

    with Misbehaving(throttle, accept) as server:
        assert connect(server.url).invoke_async("x").inference_id == "1"
    with Misbehaving(throttle) as server, pytest.raises(ThrottledError):
        connect(server.url, retries=0).invoke_async("x")


class Looked:
    """
    S3 as one look after the other finds it, on a clock that jumps.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *codes: str) -> None:
        self.now = 0.0
        self.pauses: list[float] = []
        self.store = boto3.Session("test", "test").client("s3", "us-east-1")
        self._stub = Stubber(self.store)
        for code in codes:
            self._stub.add_client_error("get_object", code)
        self._stub.activate()
        clock = SimpleNamespace(monotonic=lambda: self.now, sleep=self._sleep)
        monkeypatch.setattr(asking, "time", clock)

    def _sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds

    def pending(self, failure_location: str | None = None) -> PendingAnswer:
        """
        Make what waits.
        """
        look = asking.Look(self.store, read_body, "s3://b/out", failure_location)
        return PendingAnswer("1", look)


def test_looks_become_rarer_and_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    From a quarter of a second to fifteen apart; the last is at the bound itself.
    """
    looked = Looked(monkeypatch, *["NoSuchKey"] * 40)
    with pytest.raises(
        AnswerTimeoutError, match="no answer at s3://b/out within 120 s"
    ):
        looked.pending().result(timeout=120)

    assert looked.pauses[:3] == [0.25, 0.375, 0.5625]
    assert max(looked.pauses) == 15
    assert sum(looked.pauses) == pytest.approx(120)
    assert looked.pauses[-1] == 0


@pytest.mark.parametrize(
    ("code", "failure", "remedy"),
    [
        ("NoSuchKey", None, "without an S3FailurePath no failure is written"),
        ("NoSuchKey", "s3://b/no", r"allow more time: result\(timeout=...\)"),
        ("AccessDenied", "s3://b/no", "list its bucket, without which S3 does not say"),
    ],
    ids=["no failure path", "slow", "forbidden"],
)
def test_fails_if_no_answer_comes(
    monkeypatch: pytest.MonkeyPatch, code: str, failure: str | None, remedy: str
) -> None:
    """
    The way out goes by what S3 said.
    """
    looked = Looked(monkeypatch, *[code] * 10)
    with pytest.raises(AnswerTimeoutError, match=remedy):
        looked.pending(failure).result(timeout=0)


def test_fails_if_s3_refuses_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    At once: waiting helps nothing.
    """
    looked = Looked(monkeypatch, "NoSuchBucket")
    with pytest.raises(
        RefusedError, match=r"refuses to read s3://b/out \(NoSuchBucket\)"
    ):
        looked.pending().result(timeout=60)
    assert looked.pauses == []
