"""
What is refused of LoRA adapters, word for word, and what their base's container says.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from cdk_sagemaker_llm.local.aws.untyped import Untyped
from tests.local.by_hand import HandRunAws, hand_run_aws
from tests.local.hosting_requests import (
    LMI_36,
    REGISTRY,
    make_component,
    make_config,
    make_endpoint,
    make_model,
    refusal,
    unique,
)

_VLLM = f"{REGISTRY}/vllm:server-sagemaker-cuda-v2.6"
_LORA = {
    "SM_VLLM_MODEL": "Qwen/Qwen3-0.6B",
    "SM_VLLM_ENABLE_LORA": "true",
    "SM_VLLM_MAX_LORA_RANK": "32",
    "VLLM_ALLOW_RUNTIME_LORA_UPDATING": "true",
}


@pytest.fixture(name="aws", scope="module")
def _aws() -> Iterator[HandRunAws]:
    with hand_run_aws(takes_time=False) as aws:
        yield aws


@pytest.fixture(name="bucket", scope="module")
def _bucket(aws: HandRunAws) -> str:
    """
    Keep adapters of ranks that fit and that do not, and an archive.
    """
    bucket, s3 = unique("bucket"), aws.client("s3")
    s3.create_bucket(Bucket=bucket)
    for folder, rank in (("fits/", 32), ("large/", 33)):
        told = json.dumps({"r": rank}).encode()
        s3.put_object(Bucket=bucket, Key=f"{folder}adapter_config.json", Body=told)
    s3.put_object(Bucket=bucket, Key="one.tar.gz", Body=b"x")
    return bucket


@pytest.fixture(name="endpoint", scope="module")
def _endpoint(aws: HandRunAws) -> str:
    return make_endpoint(aws, make_config(aws))


@pytest.fixture(name="base", scope="module")
def _base(aws: HandRunAws, endpoint: str) -> str:
    """
    Host LMI, which is asked for an adapter with the first request alone.
    """
    return make_component(aws, endpoint, model=make_model(aws, image=LMI_36))


@pytest.fixture(name="vllm", scope="module")
def _vllm(aws: HandRunAws, endpoint: str) -> str:
    """
    Host vLLM, which is asked when an adapter comes.
    """
    container = {"Environment": _LORA}
    model = make_model(aws, image=_VLLM, container=container)
    return make_component(aws, endpoint, model=model)


def request(endpoint: str, base: str, url: str, **more: Untyped) -> dict[str, Any]:
    """
    Ask for an adapter.
    """
    return {
        "InferenceComponentName": unique("adapter"),
        "EndpointName": endpoint,
        "Specification": {
            "BaseInferenceComponentName": base,
            "Container": {"ArtifactUrl": url},
            **more,
        },
    }


def adapt(sagemaker: Untyped, endpoint: str, base: str, url: str) -> dict[str, Any]:
    """
    Create an adapter, and return what is shown of it.
    """
    asked = request(endpoint, base, url)
    sagemaker.create_inference_component(**asked)
    name = asked["InferenceComponentName"]
    shown: dict[str, Any] = sagemaker.describe_inference_component(
        InferenceComponentName=name
    )
    return shown


def test_a_base_has_to_take_adapters(
    aws: HandRunAws, sagemaker: Untyped, arn: str, endpoint: str, base: str, bucket: str
) -> None:
    """
    It is there, on the same endpoint, and no adapter itself.
    """
    create, url = sagemaker.create_inference_component, f"s3://{bucket}/fits/"
    component = f"{arn}:inference-component"
    needs = {"MinMemoryRequiredInMb": 1024}
    asked = request(endpoint, base, url, ComputeResourceRequirements=needs)
    assert refusal(create, **asked) == (
        "An adapter uses the compute resources of its base: omit "
        "ComputeResourceRequirements."
    )
    assert refusal(create, **request(endpoint, "no", url)) == (
        f'Could not find inference component "{component}/no".'
    )
    other = make_endpoint(aws, make_config(aws))
    assert refusal(create, **request(other, base, url)) == (
        f'Inference component "{component}/{base}" is not on endpoint '
        f'"{arn}:endpoint/{other}".'
    )
    adapter = adapt(sagemaker, endpoint, base, url)["InferenceComponentName"]
    assert refusal(create, **request(endpoint, adapter, url)) == (
        f'Inference component "{component}/{adapter}" is an adapter itself and cannot '
        "be a base."
    )
    wrong = {"Environment": {"SM_VLLM_NO_SUCH": "1"}}
    model = make_model(aws, image=_VLLM, container=wrong)
    failed = make_component(aws, endpoint, model=model)
    assert refusal(create, **request(endpoint, failed, url)) == (
        f'Inference component "{component}/{failed}" must be InService to take '
        "adapters, and is Failed."
    )
    for name in (adapter, failed):
        sagemaker.delete_inference_component(InferenceComponentName=name)


def test_a_base_outlives_its_adapters(
    aws: HandRunAws, sagemaker: Untyped, arn: str, endpoint: str, bucket: str
) -> None:
    """
    They are named in their order; of another base nobody is.
    """
    url = f"s3://{bucket}/fits/"
    one, other = (
        make_component(aws, endpoint, model=make_model(aws, image=LMI_36))
        for _ in range(2)
    )
    names = sorted(
        adapt(sagemaker, endpoint, one, url)["InferenceComponentName"] for _ in range(3)
    )
    delete = sagemaker.delete_inference_component
    assert refusal(delete, InferenceComponentName=one) == (
        f'Cannot delete inference component "{arn}:inference-component/{one}" while it '
        f"is the base of {', '.join(names)}."
    )
    copies = sagemaker.update_inference_component_runtime_config
    asked = {"InferenceComponentName": names[0]}
    refused = refusal(copies, **asked, DesiredRuntimeConfig={"CopyCount": 2})
    assert refused == (
        f'Inference component "{arn}:inference-component/{names[0]}" is an adapter and '
        "has no copies of its own."
    )
    delete(InferenceComponentName=other)
    for name in (*names, one):
        delete(InferenceComponentName=name)


@pytest.mark.parametrize("key", ["fits/", "one.tar.gz"])
def test_an_adapter_whose_files_are_there_serves(
    sagemaker: Untyped, endpoint: str, base: str, bucket: str, key: str
) -> None:
    """
    A folder ends with a slash; anything else is an object.
    """
    shown = adapt(sagemaker, endpoint, base, f"s3://{bucket}/{key}")

    assert shown["InferenceComponentStatus"] == "InService"
    assert shown["RuntimeConfig"] == {"DesiredCopyCount": 1, "CurrentCopyCount": 1}
    sagemaker.delete_inference_component(
        InferenceComponentName=shown["InferenceComponentName"]
    )


def test_an_adapter_moves_to_other_files(
    sagemaker: Untyped, endpoint: str, base: str, bucket: str
) -> None:
    """
    It stays that of its base, and has no copies to replace.
    """
    shown = adapt(sagemaker, endpoint, base, f"s3://{bucket}/fits/")
    named = {"InferenceComponentName": shown["InferenceComponentName"]}
    moved = {"Container": {"ArtifactUrl": f"s3://{bucket}/one.tar.gz"}}
    sagemaker.update_inference_component(**named, Specification=moved)
    after = sagemaker.describe_inference_component(**named)

    assert after["InferenceComponentStatus"] == "InService"
    assert after["Specification"] == {"BaseInferenceComponentName": base, **moved}
    assert after["RuntimeConfig"] == shown["RuntimeConfig"]
    sagemaker.delete_inference_component(**named)


@pytest.mark.parametrize("key", ["fits", "one.tar.gz/", "none/"])
@pytest.mark.parametrize("image", ["base", "vllm"])
def test_an_adapter_whose_files_are_not_there_fails(
    sagemaker: Untyped,
    request: pytest.FixtureRequest,
    endpoint: str,
    bucket: str,
    key: str,
    image: str,
) -> None:
    """
    Whatever its base runs.
    """
    name = request.getfixturevalue(image)
    shown = adapt(sagemaker, endpoint, name, f"s3://{bucket}/{key}")

    assert shown["InferenceComponentStatus"] == "Failed"
    assert shown["FailureReason"] == (
        f'Could not find the artifact of the adapter at "s3://{bucket}/{key}".'
    )
    sagemaker.delete_inference_component(
        InferenceComponentName=shown["InferenceComponentName"]
    )


def said(aws: HandRunAws, base: str) -> list[str]:
    """
    Return what a component's container wrote of adapters.
    """
    logs = aws.client("logs")
    events = logs.get_log_events(
        logGroupName=f"/aws/sagemaker/InferenceComponents/{base}",
        logStreamName="AllTraffic/container-0",
    )["events"]
    lines = (event["message"] for event in events)
    return [line for line in lines if "LoRA adapter" in line]


def test_an_engine_says_when_an_adapter_comes_and_goes(
    aws: HandRunAws, sagemaker: Untyped, endpoint: str, vllm: str, bucket: str
) -> None:
    """
    By the component's name and the address of its files.
    """
    url = f"s3://{bucket}/fits/"
    shown = adapt(sagemaker, endpoint, vllm, url)
    name = shown["InferenceComponentName"]
    assert shown["InferenceComponentStatus"] == "InService"
    loaded = f"INFO Loaded new LoRA adapter: name '{name}', path '{url}'"
    assert said(aws, vllm) == [loaded]
    sagemaker.delete_inference_component(InferenceComponentName=name)
    assert said(aws, vllm) == [loaded, f"INFO Removed LoRA adapter: name '{name}'"]


def test_an_engine_refuses_what_it_cannot_load(
    sagemaker: Untyped, arn: str, endpoint: str, vllm: str, bucket: str
) -> None:
    """
    A new component fails; an update is refused, and the one that serves goes on.
    """
    url = f"s3://{bucket}/large/"
    told = (
        f'The container of inference component "{arn}:inference-component/{vllm}" '
        'refused the adapter with status 500: {"error":{"message":"LoRA rank 33 is '
        'greater than max_lora_rank 32."'
    )
    shown = adapt(sagemaker, endpoint, vllm, url)
    assert shown["InferenceComponentStatus"] == "Failed"
    assert shown["FailureReason"].startswith(told)
    good = adapt(sagemaker, endpoint, vllm, f"s3://{bucket}/fits/")
    name = good["InferenceComponentName"]
    refused = refusal(
        sagemaker.update_inference_component,
        InferenceComponentName=name,
        Specification={"Container": {"ArtifactUrl": url}},
    )
    assert refused.startswith(told)
    after = sagemaker.describe_inference_component(InferenceComponentName=name)
    assert after["Specification"] == good["Specification"]
    assert after["InferenceComponentStatus"] == "InService"
    for each in (name, shown["InferenceComponentName"]):
        sagemaker.delete_inference_component(InferenceComponentName=each)
