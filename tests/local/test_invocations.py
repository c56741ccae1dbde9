"""
What the runtime says of requests, to the letter, and the pages of the server's own.
"""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError, EventStreamError

from cdk_sagemaker_llm.local.aws.untyped import Untyped
from cdk_sagemaker_llm.local.runtime import answering
from tests.local.by_hand import HandRunAws, hand_run_aws
from tests.local.hosting_requests import (
    LMI_26,
    REGISTRY,
    Aws,
    make_component,
    make_config,
    make_endpoint,
    make_model,
    prompt,
    unchecked,
    unique,
)

if TYPE_CHECKING:
    from cdk_sagemaker_llm.local import EmbeddedAws

LMI_27 = f"{REGISTRY}/djl-inference:0.27.0-deepspeed0.12.6-cu121"
SIX = prompt("Who is it?", stream=True, max_new_tokens=6)


@pytest.fixture(name="own", scope="module")
def _own() -> Iterator[HandRunAws]:
    """
    Give an AWS inside the test's own process, in which nothing takes time.
    """
    with hand_run_aws(takes_time=False) as own:
        yield own


@pytest.fixture(name="aws")
def _aws(own: HandRunAws) -> Iterator[HandRunAws]:
    yield own
    own.clear_faults()


@pytest.fixture(name="names", scope="module")
def _names(own: HandRunAws) -> dict[str, str]:
    return names_in(own)


@pytest.fixture(name="account", scope="module")
def _account(own: HandRunAws) -> str:
    return str(own.client("sts").get_caller_identity()["Account"])


def names_in(aws: Aws) -> dict[str, str]:
    """
    Host a component; return what it and all around it are called.
    """
    model, variant = make_model(aws), unique("variant")
    config = make_config(aws, variant={"VariantName": variant})
    endpoint, component = make_endpoint(aws, config), unique("component")
    aws.client("sagemaker").create_inference_component(
        InferenceComponentName=component,
        EndpointName=endpoint,
        VariantName=variant,
        Specification={
            "ModelName": model,
            "ComputeResourceRequirements": {
                "NumberOfAcceleratorDevicesRequired": 1,
                "MinMemoryRequiredInMb": 1024,
            },
        },
        RuntimeConfig={"CopyCount": 1},
    )
    return {
        "endpoint": endpoint,
        "variant": variant,
        "component": component,
        "model": model,
    }


def served(aws: HandRunAws, image: str) -> str:
    """
    Make an endpoint of one model and return its name.
    """
    variant = {"ModelName": make_model(aws, image=image)}
    return make_endpoint(aws, make_config(aws, variant=variant))


def refused(aws: HandRunAws, endpoint: str, **settings: Untyped) -> dict[str, Any]:
    """
    Invoke an endpoint that refuses; return what boto3 has of it.
    """
    runtime = aws.client("sagemaker-runtime")
    with pytest.raises(ClientError) as caught:
        runtime.invoke_endpoint(EndpointName=endpoint, Body=prompt("Hi"), **settings)
    response: dict[str, Any] = {**caught.value.response}
    return response


@pytest.mark.parametrize("which", ["endpoint", "variant", "component", "model"])
def test_a_fault_befalls_whom_it_names(
    aws: HandRunAws, names: dict[str, str], which: str
) -> None:
    """
    Each of the names that a request goes by.
    """
    aws.fault("errors", names[which], answer="400")

    found = refused(aws, names["endpoint"], InferenceComponentName=names["component"])

    assert found["Error"]["Code"] == "ModelError"
    assert found["OriginalStatusCode"] == 400


@pytest.mark.parametrize(
    ("answer", "status", "kind"),
    [("", 500, "server"), ("499", 499, "client"), ("500", 500, "server")],
)
def test_an_error_of_the_model_has_all_that_the_runtime_says(
    aws: HandRunAws,
    account: str,
    names: dict[str, str],
    answer: str,
    status: int,
    kind: str,
) -> None:
    """
    The container's status and words, and where its log is.
    """
    endpoint = names["endpoint"]
    aws.fault("errors", endpoint, **({"answer": answer} if answer else {}))

    found = refused(aws, endpoint, InferenceComponentName=names["component"])

    group = f"/aws/sagemaker/Endpoints/{endpoint}"
    assert found["Error"] == {
        "Code": "ModelError",
        "Message": f"Received {kind} error ({status}) from primary with message "
        f'"this request was chosen to fail". See log group {group} in account '
        f"{account} for more information.",
    }
    assert found["OriginalStatusCode"] == status
    assert found["OriginalMessage"] == "this request was chosen to fail"
    assert found["LogStreamArn"] == (
        f"arn:aws:logs:us-east-1:{account}:log-group:{group}"
    )
    assert found["ResponseMetadata"]["HTTPStatusCode"] == 424


def test_too_many_requests_are_refused_in_aws_words(
    aws: HandRunAws, names: dict[str, str]
) -> None:
    """
    Also of a stream.
    """
    aws.fault("errors", names["endpoint"], answer="throttled")
    runtime = aws.client("sagemaker-runtime")

    with pytest.raises(ClientError) as caught:
        runtime.invoke_endpoint_with_response_stream(
            EndpointName=names["endpoint"],
            InferenceComponentName=names["component"],
            Body=SIX,
        )

    assert caught.value.response["Error"] == {
        "Code": "ThrottlingException",
        "Message": "Rate exceeded",
    }


def streamed(aws: HandRunAws, endpoint: str) -> Iterator[bytes]:
    """
    Walk through the parts of a stream of six tokens.
    """
    answer = aws.client("sagemaker-runtime").invoke_endpoint_with_response_stream(
        EndpointName=endpoint, Body=SIX
    )
    assert answer["InvokedProductionVariant"] == "AllTraffic"
    yield from (event["PayloadPart"]["Bytes"] for event in answer["Body"])


@pytest.mark.parametrize(
    ("image", "parts", "cut"),
    # Every third part from the second on comes in two.
    [(LMI_26, 3, 1), (LMI_27, 8, 4)],
    ids=["0.26", "0.27"],
)
def test_lmi_0_26_writes_four_tokens_at_once(
    aws: HandRunAws, image: str, parts: int, cut: int
) -> None:
    """
    Later releases write each as it comes; a stream that is cut has half of them.
    """
    endpoint = served(aws, image)
    whole = list(streamed(aws, endpoint))
    aws.fault("errors", endpoint, answer="cut")

    found: list[bytes] = []
    with pytest.raises(EventStreamError, match="ModelStreamError"):
        found.extend(streamed(aws, endpoint))

    assert (len(whole), len(found)) == (parts, cut)
    assert found == whole[:cut]


@pytest.mark.parametrize(("seconds", "takes"), [({}, 10.0), ({"seconds": 3.0}, 3.0)])
def test_a_slow_model_takes_seconds_of_the_wall(
    aws: HandRunAws,
    monkeypatch: pytest.MonkeyPatch,
    seconds: dict[str, float],
    takes: float,
) -> None:
    """
    Where nothing else takes time: before a whole answer, or the first part of one.
    """
    slept: list[float] = []
    monkeypatch.setattr(answering, "time", SimpleNamespace(sleep=slept.append))
    endpoint, body = served(aws, LMI_27), prompt("Hi")
    runtime = aws.client("sagemaker-runtime")
    runtime.invoke_endpoint(EndpointName=endpoint, Body=body)["Body"].read()
    assert slept == []
    aws.fault("slow", endpoint, **seconds)
    runtime.invoke_endpoint(EndpointName=endpoint, Body=body)["Body"].read()
    assert slept == [takes]
    assert list(streamed(aws, endpoint))
    assert slept == [takes, takes]


@pytest.mark.parametrize("kind", [{}, {"ContentType": "application/json"}])
def test_a_request_that_says_no_type_is_json(
    aws: HandRunAws, kind: dict[str, str]
) -> None:
    """
    Which vLLM asks for.
    """
    variant = {
        "ModelName": make_model(
            aws,
            image=f"{REGISTRY}/vllm:server-sagemaker-cuda-v2.6",
            container={"Environment": {"SM_VLLM_MODEL": "Qwen/Qwen3-0.6B"}},
        )
    }
    endpoint = make_endpoint(aws, make_config(aws, variant=variant))

    answer = aws.client("sagemaker-runtime").invoke_endpoint(
        EndpointName=endpoint, Body=b'{"prompt": "Hi", "max_tokens": 1}', **kind
    )

    assert answer["ContentType"] == "application/json"
    assert json.loads(answer["Body"].read())["usage"]["completion_tokens"] == 1


def test_what_is_not_there_is_named(aws: HandRunAws, names: dict[str, str]) -> None:
    """
    A variant, or a component of this endpoint: another's does not count.
    """
    plain, endpoint = served(aws, LMI_26), names["endpoint"]
    other = make_endpoint(aws, make_config(aws))
    elsewhere = make_component(aws, other)

    assert refused(aws, plain, TargetVariant="none")["Error"] == {
        "Code": "ValidationError",
        "Message": f"Variant none of endpoint {plain} not found.",
    }
    for name in ("none", elsewhere):
        found = refused(aws, endpoint, InferenceComponentName=name)
        assert found["Error"] == {
            "Code": "ValidationError",
            "Message": f"Inference Component {name} of endpoint {endpoint} not found.",
        }


def test_an_asynchronous_request_needs_an_input(aws: HandRunAws, account: str) -> None:
    """
    Which boto3 knows; other clients are told.
    """
    output: dict[str, Any] = {"OutputConfig": {}}
    variant = {"ModelName": make_model(aws)}
    config = make_config(aws, variant=variant, AsyncInferenceConfig=output)
    endpoint = make_endpoint(aws, config)
    runtime = unchecked(aws, "sagemaker-runtime")

    with pytest.raises(ClientError) as caught:
        runtime.invoke_endpoint_async(EndpointName=endpoint)
    told = runtime.invoke_endpoint_async(
        EndpointName=endpoint,
        InputLocation="s3://none/in.json",
        S3OutputPathExtension="/a/b/",
        InferenceId="one",
    )

    assert caught.value.response["Error"] == {
        "Code": "ValidationError",
        "Message": "Provide exactly one of Body and InputLocation.",
    }
    # Without a place of its own: the bucket that SageMaker has for each account.
    assert told["OutputLocation"] == (f"s3://sagemaker-us-east-1-{account}/a/b/one.out")
    assert "FailureLocation" not in told


def page(
    aws: EmbeddedAws, method: str, name: str, body: bytes | None = None
) -> tuple[int, str]:
    """
    Ask for a page; return its status and text.
    """
    url = f"{aws.url}/_embedded/{name}"
    request = urllib.request.Request(url, method=method, data=body)  # noqa: S310 - ours
    try:
        with urllib.request.urlopen(request) as answer:  # noqa: S310 - the same
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


@pytest.mark.parametrize(
    ("method", "name", "body", "status", "words"),
    [
        ("GET", "nothing", None, 404, "there is no such page"),
        (
            "PUT",
            "clock",
            b'{"advance": 1}',
            400,
            "time passes by itself: there is no clock by hand\n",
        ),
        ("PUT", "faults", b"{}", 400, "faults come as a JSON list, got {}\n"),
        (
            "PUT",
            "faults",
            b"{",
            400,
            (
                "faults come as a JSON list: Expecting property name enclosed in "
                "double quotes: line 1 column 2 (char 1)\n"
            ),
        ),
        ("GET", "health", None, 200, "ok"),
    ],
)
def test_pages_say_what_they_do_not_take(
    embedded_aws: EmbeddedAws,
    method: str,
    name: str,
    body: bytes | None,
    status: int,
    words: str,
) -> None:
    """
    In words, for whoever asks.
    """
    assert page(embedded_aws, method, name, body) == (status, words)


def test_pages_show_their_state_as_json(embedded_aws: EmbeddedAws) -> None:
    """
    The clock, what is hosted, and what was put into it.
    """
    names = names_in(embedded_aws)
    _, clock = page(embedded_aws, "GET", "clock")
    _, hosted = page(embedded_aws, "GET", "hosting")
    _, log = page(embedded_aws, "GET", "log")

    shown = json.loads(clock)
    assert shown.pop("now") > 1_700_000_000
    assert shown == {"speed": None, "by_hand": False}
    assert names["endpoint"] in hosted
    steps = json.loads(log)[names["endpoint"]][names["variant"]]
    assert steps[0]["what"] == "instances"
