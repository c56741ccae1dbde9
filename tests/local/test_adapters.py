"""
LoRA adapters on the embedded AWS: on their base's copies, by names of their own.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, Self

import pytest
from aws_cdk import App, DefaultStackSynthesizer, Environment, Stack
from aws_cdk.assertions import Template
from botocore.exceptions import ClientError

from cdk_sagemaker_llm import (
    CustomContainer,
    InferenceComponentEndpoint,
    ResourceRequirements,
)
from cdk_sagemaker_llm.hosting.models.artifact import tarball
from cdk_sagemaker_llm.local.aws.untyped import Untyped
from tests.deployments import ROOT, Deployer, synthesised
from tests.local.hosting_requests import (
    LMI_36,
    TGI,
    make_component,
    make_config,
    make_endpoint,
    make_model,
    prompt,
    unique,
)
from tests.local.stacks import Stacks

if TYPE_CHECKING:
    from cdk_sagemaker_llm.local import EmbeddedAws

APP = ROOT / "examples" / "lora_adapters" / "app.py"
FILES = ("adapter_config.json", "adapter_model.safetensors")
LORA = {"Environment": {"OPTION_ENABLE_LORA": "true"}}


def put_adapters(aws: EmbeddedAws, bucket: str, *folders: str) -> None:
    """
    Put adapters into a bucket, as PEFT saves them.
    """
    s3 = aws.client("s3")
    s3.create_bucket(Bucket=bucket)
    for folder in folders:
        for name in FILES:
            s3.put_object(Bucket=bucket, Key=f"{folder}{name}", Body=b"{}")


@pytest.fixture(name="bucket", scope="module")
def _bucket(embedded_aws: EmbeddedAws) -> str:
    bucket = unique("bucket")
    put_adapters(embedded_aws, bucket, "a/", "b/")
    archive = {"Bucket": bucket, "Key": "c.tar.gz", "Body": b"c"}
    embedded_aws.client("s3").put_object(**archive)
    return bucket


@pytest.fixture(name="endpoint", scope="module")
def _endpoint(embedded_aws: EmbeddedAws) -> str:
    return make_endpoint(embedded_aws, make_config(embedded_aws))


@pytest.fixture(name="base")
def _base(embedded_aws: EmbeddedAws, endpoint: str) -> Iterator[str]:
    """
    A base of its own for each test, gone with its adapters when the test is.
    """
    model = make_model(embedded_aws, image=LMI_36, container=LORA)
    base = make_component(embedded_aws, endpoint, model=model)
    yield base
    sagemaker = embedded_aws.client("sagemaker")
    found = sagemaker.list_inference_components(EndpointNameEquals=endpoint)
    names = [each["InferenceComponentName"] for each in found["InferenceComponents"]]
    for name in sorted(names, key=lambda name: name == base):
        sagemaker.delete_inference_component(InferenceComponentName=name)


def adapt(
    aws: EmbeddedAws, endpoint: str, base: str, artifact: str, **more: Untyped
) -> str:
    """
    Create an adapter as the developer guide does, and return its name.
    """
    name = unique("adapter")
    aws.client("sagemaker").create_inference_component(
        InferenceComponentName=name,
        EndpointName=endpoint,
        Specification={
            "BaseInferenceComponentName": base,
            "Container": {"ArtifactUrl": artifact},
            **more,
        },
    )
    return name


def described(aws: EmbeddedAws, name: str) -> Untyped:
    """
    Return what DescribeInferenceComponent shows.
    """
    return aws.client("sagemaker").describe_inference_component(
        InferenceComponentName=name
    )


def invoke(aws: EmbeddedAws, endpoint: str, component: str, body: bytes) -> Untyped:
    """
    Call a component and read its JSON.
    """
    answered = aws.client("sagemaker-runtime").invoke_endpoint(
        ContentType="application/json",
        EndpointName=endpoint,
        InferenceComponentName=component,
        Body=body,
    )
    return json.loads(answered["Body"].read())


def chat_with(aws: EmbeddedAws, endpoint: str, component: str) -> dict[str, Any]:
    """
    Ask a component who it is.
    """
    messages = [{"role": "user", "content": "Who are you?"}]
    body = json.dumps({"messages": messages, "max_tokens": 8}).encode()
    answer: dict[str, Any] = invoke(aws, endpoint, component, body)
    return answer


def text_of(answer: dict[str, Any]) -> str:
    """
    Return what was said.
    """
    text: str = answer["choices"][0]["message"]["content"]
    return text


@pytest.mark.parametrize("key", ["a/", "c.tar.gz"], ids=["folder", "archive"])
def test_an_adapter_answers_as_its_base_does_under_its_own_name(
    embedded_aws: EmbeddedAws, endpoint: str, base: str, bucket: str, key: str
) -> None:
    """
    A chat names the adapter as its model, as vLLM does; the rest is the base's.
    """
    adapter = adapt(embedded_aws, endpoint, base, f"s3://{bucket}/{key}")

    ours = chat_with(embedded_aws, endpoint, adapter)
    theirs = chat_with(embedded_aws, endpoint, base)
    assert (ours["model"], theirs["model"]) == (adapter, "lmi")
    assert text_of(ours) == text_of(theirs)
    body = prompt("Who are you?")
    assert invoke(embedded_aws, endpoint, adapter, body) == invoke(
        embedded_aws, endpoint, base, body
    )


def test_an_adapter_is_described_and_listed_beside_its_base(
    embedded_aws: EmbeddedAws, endpoint: str, base: str, bucket: str
) -> None:
    """
    On its base's variant, with its base's copies.
    """
    adapter = adapt(embedded_aws, endpoint, base, f"s3://{bucket}/a/")

    found = described(embedded_aws, adapter)
    assert found["InferenceComponentStatus"] == "InService"
    assert found["VariantName"] == "AllTraffic"
    assert found["Specification"] == {
        "BaseInferenceComponentName": base,
        "Container": {"ArtifactUrl": f"s3://{bucket}/a/"},
    }
    assert found["RuntimeConfig"] == {"DesiredCopyCount": 1, "CurrentCopyCount": 1}
    listed = embedded_aws.client("sagemaker").list_inference_components(
        EndpointNameEquals=endpoint
    )
    names = {each["InferenceComponentName"] for each in listed["InferenceComponents"]}
    assert {adapter, base} <= names


def test_an_adapter_sleeps_with_its_base(
    embedded_aws: EmbeddedAws, endpoint: str, base: str, bucket: str
) -> None:
    """
    Without copies of the base nobody answers.
    """
    adapter = adapt(embedded_aws, endpoint, base, f"s3://{bucket}/a/")
    sagemaker = embedded_aws.client("sagemaker")
    sagemaker.update_inference_component_runtime_config(
        InferenceComponentName=base, DesiredRuntimeConfig={"CopyCount": 0}
    )

    with pytest.raises(ClientError, match="has no capacity to process this request"):
        chat_with(embedded_aws, endpoint, adapter)
    found = described(embedded_aws, adapter)["RuntimeConfig"]
    assert found == {"DesiredCopyCount": 0, "CurrentCopyCount": 0}


def test_an_adapters_files_are_replaced_in_place(
    embedded_aws: EmbeddedAws, endpoint: str, base: str, bucket: str
) -> None:
    """
    The update names the new files alone, as AWS's own example does.
    """
    adapter = adapt(embedded_aws, endpoint, base, f"s3://{bucket}/a/")
    embedded_aws.client("sagemaker").update_inference_component(
        InferenceComponentName=adapter,
        Specification={"Container": {"ArtifactUrl": f"s3://{bucket}/b/"}},
    )

    found = described(embedded_aws, adapter)["Specification"]
    assert found["BaseInferenceComponentName"] == base
    assert found["Container"]["ArtifactUrl"] == f"s3://{bucket}/b/"
    with pytest.raises(ClientError, match="Could not find the artifact"):
        embedded_aws.client("sagemaker").update_inference_component(
            InferenceComponentName=adapter,
            Specification={"Container": {"ArtifactUrl": f"s3://{bucket}/d/"}},
        )


def test_an_adapter_needs_a_base_on_its_endpoint(
    embedded_aws: EmbeddedAws, endpoint: str, base: str, bucket: str
) -> None:
    """
    One that is there, is not an adapter itself, and reserves what it needs alone.
    """
    url = f"s3://{bucket}/a/"
    adapter = adapt(embedded_aws, endpoint, base, url)
    other = make_endpoint(embedded_aws, make_config(embedded_aws))

    with pytest.raises(ClientError, match='Could not find inference component ".*/no"'):
        adapt(embedded_aws, endpoint, "no", url)
    with pytest.raises(ClientError, match="is an adapter itself and cannot be a base"):
        adapt(embedded_aws, endpoint, adapter, url)
    with pytest.raises(ClientError, match="is not on endpoint"):
        adapt(embedded_aws, other, base, url)
    needs = {"MinMemoryRequiredInMb": 1024}
    with pytest.raises(ClientError, match="omit ComputeResourceRequirements"):
        adapt(embedded_aws, endpoint, base, url, ComputeResourceRequirements=needs)


def test_a_base_that_does_not_serve_takes_no_adapters(
    embedded_aws: EmbeddedAws, endpoint: str, bucket: str
) -> None:
    """
    It has to be in service before the adapter comes.
    """
    model = make_model(embedded_aws, image=LMI_36, container=LORA)
    embedded_aws.fault("cannot-start", model)
    try:
        base = make_component(embedded_aws, endpoint, model=model)
        with pytest.raises(ClientError, match="to take adapters, and is Failed"):
            adapt(embedded_aws, endpoint, base, f"s3://{bucket}/a/")
    finally:
        embedded_aws.clear_faults()


def test_an_adapter_without_its_files_fails(
    embedded_aws: EmbeddedAws, endpoint: str, base: str, bucket: str
) -> None:
    """
    It is there, and says why it cannot serve.
    """
    adapter = adapt(embedded_aws, endpoint, base, f"s3://{bucket}/d/")

    found = described(embedded_aws, adapter)
    assert found["InferenceComponentStatus"] == "Failed"
    assert found["FailureReason"] == (
        f'Could not find the artifact of the adapter at "s3://{bucket}/d/".'
    )


@pytest.mark.parametrize("image", [LMI_36, TGI], ids=["LoRA is off", "TGI"])
def test_a_base_without_lora_knows_no_adapters(
    embedded_aws: EmbeddedAws, endpoint: str, bucket: str, image: str
) -> None:
    """
    The container was not told, or cannot.
    """
    model = make_model(embedded_aws, image=image)
    base = make_component(embedded_aws, endpoint, model=model)
    adapter = adapt(embedded_aws, endpoint, base, f"s3://{bucket}/a/")

    with pytest.raises(ClientError, match=f"LoRA adapter {adapter} not found in reg"):
        invoke(embedded_aws, endpoint, adapter, prompt("Who are you?"))


def test_a_base_stays_while_it_has_adapters(
    embedded_aws: EmbeddedAws, endpoint: str, base: str, bucket: str
) -> None:
    """
    They go first.
    """
    adapter = adapt(embedded_aws, endpoint, base, f"s3://{bucket}/a/")
    sagemaker = embedded_aws.client("sagemaker")

    with pytest.raises(ClientError, match=f"while it is the base of {adapter}"):
        sagemaker.delete_inference_component(InferenceComponentName=base)
    sagemaker.delete_inference_component(InferenceComponentName=adapter)
    with pytest.raises(ClientError, match="Could not find inference component"):
        described(embedded_aws, adapter)


def test_an_adapter_has_no_copies_to_count(
    embedded_aws: EmbeddedAws, endpoint: str, base: str, bucket: str
) -> None:
    """
    They are its base's.
    """
    adapter = adapt(embedded_aws, endpoint, base, f"s3://{bucket}/a/")

    with pytest.raises(ClientError, match="is an adapter and has no copies of its own"):
        embedded_aws.client("sagemaker").update_inference_component_runtime_config(
            InferenceComponentName=adapter, DesiredRuntimeConfig={"CopyCount": 2}
        )


class Callers:
    """
    Requests in flight, one after the other from each caller, until the end.
    """

    def __init__(self, aws: EmbeddedAws, endpoint: str) -> None:
        self._aws, self._endpoint = aws, endpoint
        self._threads: list[Thread] = []
        self._ends = Event()
        self.outcomes: list[str] = []

    def __enter__(self) -> Self:
        """
        Nobody calls yet.
        """
        return self

    def __exit__(self, *_: object) -> None:
        """
        Let all callers end.
        """
        self._ends.set()
        for thread in self._threads:
            thread.join()

    def keep_calling(self, component: str) -> None:
        """
        Have one more caller call a component, and wait for its first answer.
        """
        called = Event()
        self._threads.append(Thread(target=self._call, args=(component, called)))
        self._threads[-1].start()
        assert called.wait(30)

    def _call(self, component: str, called: Event) -> None:
        is_over = False
        while not is_over:
            try:
                chat_with(self._aws, self._endpoint, component)
            except ClientError as error:
                self.outcomes.append(str(error))
            else:
                self.outcomes.append("answered")
            called.set()
            is_over = self._ends.wait(0.02)


def renamed(bucket: str, base_name: str) -> dict[str, object]:
    """
    Return the template of a base of this name, with two adapters that have none.
    """
    stack = Stack(
        App(analytics_reporting=False),
        "Renamed",
        env=Environment(account="123456789012", region="us-east-1"),
        synthesizer=DefaultStackSynthesizer(generate_bootstrap_version_rule=False),
    )
    host = InferenceComponentEndpoint(stack, "Host", instance_type="ml.p4d.24xlarge")
    base = host.add_model(
        "Chat",
        # A container without an artifact, which the template alone deploys.
        serving=CustomContainer.from_uri(LMI_36, environment={"HF_MODEL_ID": "a/b"}),
        resources=ResourceRequirements(accelerators=1),
        inference_component_name=base_name,
    )
    for key in ("a/", "c.tar.gz"):
        base.add_adapter(f"Adapter{key[0]}", artifact=f"s3://{bucket}/{key}")
    return dict(Template.from_stack(stack).to_json())


def test_adapters_move_with_a_base_that_is_replaced(
    embedded_aws: EmbeddedAws, bucket: str
) -> None:
    """
    New ones come with the new base; the old ones go before the old base does.
    """
    stacks, name, old, new = Stacks(embedded_aws), *map(unique, ("stack", "old", "new"))
    assert stacks.create(name, renamed(bucket, old)) == "CREATE_COMPLETE"
    before = {*stacks.physical_ids(name).values()}
    assert stacks.update(name, renamed(bucket, new)) == "UPDATE_COMPLETE"

    gone = [
        logical
        for logical, status, _ in stacks.events(name)
        if status == "DELETE_COMPLETE"
    ]
    assert [("Adapter" in logical) for logical in gone] == [True, True, False]
    listed = embedded_aws.client("sagemaker").list_inference_components()
    arns = {each["InferenceComponentArn"] for each in listed["InferenceComponents"]}
    assert not before & arns
    assert stacks.delete(name) == "DELETE_COMPLETE"


def test_the_example_is_deployed_grows_by_a_tenant_and_goes(
    embedded_aws: EmbeddedAws, deployer: Deployer, tmp_path: Path
) -> None:
    """
    The second deployment touches nothing of the base, and the last
    deletes adapters first.
    """
    tenants = ("bakery", "library", "museum", "theatre")
    s3 = embedded_aws.client("s3")
    s3.create_bucket(Bucket="example-adapters")
    for tenant in tenants:
        key = f"adapters/{tenant}.tar.gz"
        packed = tarball(dict.fromkeys(FILES, b"{}"))
        s3.put_object(Bucket="example-adapters", Key=key, Body=packed)
    more = tmp_path / "app.py"
    more.write_text(APP.read_text().replace('"Museum"]', '"Museum", "Theatre"]'))
    stacks = Stacks(embedded_aws)

    deployer.deploy(synthesised(APP, tmp_path / "first")).checked()
    names = stacks.outputs("LoraAdapters")
    before = described(embedded_aws, names["BaseName"])
    answers = {
        tenant: chat_with(embedded_aws, names["EndpointName"], names[f"{tenant}Name"])
        for tenant in ("Bakery", "Library", "Museum", "Base")
    }
    with Callers(embedded_aws, names["EndpointName"]) as callers:
        for name in (names["BaseName"], names["BakeryName"]):
            callers.keep_calling(name)
        second = deployer.deploy(synthesised(more, tmp_path / "second"))
    second.checked()
    changed = [
        logical
        for logical, status, _ in stacks.events("LoraAdapters")
        if status.startswith(("UPDATE_IN", "CREATE_IN"))
    ]
    theatre = stacks.outputs("LoraAdapters")["TheatreName"]
    after = described(embedded_aws, names["BaseName"])
    spoken = chat_with(embedded_aws, names["EndpointName"], theatre)
    deployer.destroy(tmp_path / "second").checked()

    assert [answers[each]["model"] for each in ("Bakery", "Library", "Museum")] == [
        names["BakeryName"],
        names["LibraryName"],
        names["MuseumName"],
    ]
    assert len(callers.outcomes) > 2
    assert set(callers.outcomes) == {"answered"}
    assert answers["Base"]["model"] == "HuggingFaceH4/zephyr-7b-beta"
    assert len({text_of(answer) for answer in answers.values()}) == 1
    assert spoken["model"] == theatre
    assert before["LastModifiedTime"] == after["LastModifiedTime"]
    assert "HostChatComponentTheatre" in changed[-1]
    assert "LoraAdapters" in changed[-2]
