"""
LoRA adapters: components without copies of their own, on the copies of a base.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from aws_cdk import App, CfnParameter, Environment, RemovalPolicy, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from aws_cdk.assertions import Template
from jsii._kernel.providers import process

from cdk_sagemaker_llm import (
    AdapterInferenceComponent,
    CustomContainer,
    Endpoint,
    EndpointConfig,
    HuggingFaceModel,
    InferenceComponent,
    InferenceComponentEndpoint,
    LmiDist,
    LmiVllm,
    LoraAdapter,
    Model,
    NeuronX,
    ProductionVariant,
    ResourceRequirements,
    S3Model,
    ServingConfiguration,
    TensorRtLlm,
    Tgi,
    Vllm,
)
from tests.unit.hosting.expected import KEY_ARN
from tests.unit.hosting.written import (
    keywords_of,
    required_keywords_of,
    warnings_of,
    written,
)

COMPONENT = "SageMaker::InferenceComponent"
MISTRAL = HuggingFaceModel("HuggingFaceH4/zephyr-7b-beta")
ONE = ResourceRequirements(accelerators=1)
LORA = LmiVllm(enable_lora=True)
FOLDER = "s3://bucket/adapters/a/"
READ = {
    "Sid": "ReadAdapters",
    "Effect": "Allow",
    "Action": "s3:GetObject",
    "Resource": "arn:${AWS::Partition}:s3:::bucket/adapters/*",
}
LIST = {
    "Sid": "ListAdapters",
    "Effect": "Allow",
    "Action": "s3:ListBucket",
    "Resource": "arn:${AWS::Partition}:s3:::bucket",
    "Condition": {"StringLike": {"s3:prefix": ["adapters/*"]}},
}


def base_of(
    stack: Stack,
    serving: ServingConfiguration = LORA,
    *,
    name: str | None = None,
    environment: dict[str, str] | None = None,
) -> InferenceComponent:
    """
    Define a host and a base on it.
    """
    host = InferenceComponentEndpoint(
        stack, "Host", instance_type="ml.g5.2xlarge", engine=serving
    )
    return host.add_model(
        "Chat",
        model=None if isinstance(serving, CustomContainer) else MISTRAL,
        serving=serving,
        resources=ONE,
        inference_component_name=name,
        environment=environment,
    )


def of_adapters(stack: Stack) -> dict[str, Any]:
    """
    Return the adapters that a stack writes, by their readable ids.
    """
    return {
        name: resource
        for name, resource in written(stack, COMPONENT).items()
        if "BaseInferenceComponentName" in resource["Properties"]["Specification"]
    }


def statements(stack: Stack, *sids: str) -> list[dict[str, Any]]:
    """
    Return the statements of these names in all policies.
    """
    policies = written(stack, "IAM::Policy", "IAM::ManagedPolicy").values()
    return [
        each
        for policy in policies
        for each in policy["Properties"]["PolicyDocument"]["Statement"]
        if each["Sid"] in sids
    ]


def test_an_adapter_names_its_base_and_its_artifact_alone(stack: Stack) -> None:
    """
    No variant, no resources, no copies: those are the base's. It waits for the base by
    its reference, and for the policy that lets its files be read.
    """
    base_of(stack).add_adapter("TenantA", artifact=FOLDER)

    assert of_adapters(stack) == {
        "HostChatComponentTenantA": {
            "Type": "AWS::SageMaker::InferenceComponent",
            "Properties": {
                "EndpointName": "${HostEndpoint.EndpointName}",
                "Specification": {
                    "BaseInferenceComponentName": {
                        "Fn::Select": [
                            1,
                            {"Fn::Split": ["/", "${HostChatComponent}"]},
                        ]
                    },
                    "Container": {"ArtifactUrl": FOLDER},
                },
            },
            "DependsOn": ["HostAccess"],
        }
    }
    assert statements(stack, "ReadAdapters", "ListAdapters") == [READ, LIST]


def test_every_keyword_reaches_the_template(stack: Stack) -> None:
    """
    By the pattern's method and by the class.
    """
    base = base_of(stack)
    every: dict[str, Any] = {
        "artifact": LoraAdapter("s3://bucket/a.tar.gz", rank=16),
        "inference_component_name": "tenant-a",
        "inference_component_name_prefix": None,
    }
    base.add_adapter("A", **every)
    adapter = AdapterInferenceComponent(
        stack, "B", base=base, artifact=FOLDER, inference_component_name_prefix="b"
    )

    first, second = (each["Properties"] for each in of_adapters(stack).values())
    assert first["InferenceComponentName"] == "tenant-a"
    assert re.fullmatch("b-[0-9a-f]{8}", second["InferenceComponentName"])
    assert adapter.base is base
    assert adapter.endpoint is base.endpoint
    made = AdapterInferenceComponent.__init__
    assert keywords_of(InferenceComponent.add_adapter) == set(every)
    assert keywords_of(made) == {"base", *every}
    assert required_keywords_of(made) == {"base", "artifact"}
    assert required_keywords_of(InferenceComponent.add_adapter) == {"artifact"}


def test_adapters_of_one_folder_share_a_permission(stack: Stack) -> None:
    """
    However many there are; at the top of a bucket each has its own, an archive without
    a wildcard.
    """
    base = base_of(stack)
    for number in range(20):
        base.add_adapter(f"A{number}", artifact=f"s3://bucket/adapters/{number}/")
    base.add_adapter("B", artifact="s3://bucket/adapters/b.tar.gz")
    base.add_adapter("C", artifact="s3://bucket/c.tar.gz")
    base.add_adapter("D", artifact="s3://bucket/d/")

    read, listed = statements(stack, "ReadAdapters", "ListAdapters")
    top = "arn:${AWS::Partition}:s3:::bucket/"
    assert read["Resource"] == [f"{top}adapters/*", f"{top}c.tar.gz", f"{top}d/*"]
    assert listed["Condition"] == {
        "StringLike": {"s3:prefix": ["adapters/*", "c.tar.gz", "d/*"]}
    }
    assert {tuple(each["DependsOn"]) for each in of_adapters(stack).values()} == {
        ("HostAccess",)
    }


def test_adapters_of_many_folders_wait_for_the_policy_that_has_theirs(
    stack: Stack,
) -> None:
    """
    What does not fit a role's inline policy is in a managed one.
    """
    base = base_of(stack)
    for number in range(60):
        folder = f"{number:02}{'x' * 80}"
        base.add_adapter(f"A{number}", artifact=f"s3://bucket/{folder}/a/")

    found = of_adapters(stack)
    assert len(statements(stack, "ReadAdapters")) > 1
    assert found["HostChatComponentA0"]["DependsOn"] == ["HostAccess"]
    assert "HostAccess1" in found["HostChatComponentA59"]["DependsOn"]


def test_each_adapter_of_a_folder_may_have_its_key(stack: Stack) -> None:
    """
    What was allowed for the first is not all that the second needs.
    """
    base = base_of(stack)
    arns = [KEY_ARN, f"{KEY_ARN[:-1]}0"]
    for number, arn in enumerate(arns):
        key = kms.Key.from_key_arn(stack, f"Key{number}", arn)
        uri = f"s3://bucket/adapters/{number}/"
        base.add_adapter(f"A{number}", artifact=LoraAdapter(uri, kms_key=key))

    (allowed,) = statements(stack, "DecryptAdapters")
    assert allowed["Resource"] == arns


def test_a_buckets_own_key_may_be_used(stack: Stack) -> None:
    """
    As that of weights is.
    """
    key = kms.Key.from_key_arn(stack, "Key", KEY_ARN)
    bucket = s3.Bucket.from_bucket_attributes(
        stack, "Bucket", bucket_name="bucket", encryption_key=key
    )
    adapter = LoraAdapter.from_bucket(bucket, "adapters/a/", rank=8)
    base_of(stack).add_adapter("A", artifact=adapter)

    assert (adapter.uri, adapter.rank) == (FOLDER, 8)
    assert statements(stack, "DecryptAdapters") == [
        {
            "Sid": "DecryptAdapters",
            "Effect": "Allow",
            "Action": "kms:Decrypt",
            "Resource": KEY_ARN,
        }
    ]


def test_a_bucket_of_the_same_stack_is_named_by_reference(stack: Stack) -> None:
    """
    The placeholder stands in the URI, and in the permission.
    """
    bucket = s3.Bucket(stack, "Bucket")
    base_of(stack).add_adapter(
        "A", artifact=LoraAdapter.from_bucket(bucket, "adapters/a/")
    )

    (adapter,) = of_adapters(stack).values()
    container = adapter["Properties"]["Specification"]["Container"]
    assert container == {"ArtifactUrl": "s3://${Bucket}/adapters/a/"}
    (read,) = statements(stack, "ReadAdapters")
    assert read["Resource"] == "arn:${AWS::Partition}:s3:::${Bucket}/adapters/*"


def test_a_key_that_deployment_decides_is_not_judged(stack: Stack) -> None:
    """
    It may end as it should; the folder before it is known.
    """
    key = CfnParameter(stack, "Key").value_as_string
    base_of(stack).add_adapter("A", artifact=f"s3://bucket/adapters/{key}")

    assert statements(stack, "ReadAdapters") == [READ]


@pytest.mark.parametrize(
    ("artifact", "told"),
    [
        ("s3://bucket/adapters/a", "with a slash at its end: without it"),
        ("s3://bucket/adapters/a.tgz", "got 's3://bucket/adapters/a.tgz'; name a"),
        ("s3://bucket/a/adapter_model.safetensors", "artifact must be 's3://bucket"),
        ("s3://bucket/", "got 's3://bucket/'"),
        ("s3://bucket//a/", "got 's3://bucket//a/'"),
        ("s3://bucket", "got 's3://bucket'"),
        ("https://bucket/a/", "got 'https://bucket/a/'"),
        ("bucket/adapters/a/", "got 'bucket/adapters/a/'"),
        ("s3://Bucket/a/", "whose bucket has at most 63 lower-case letters"),
        (f"s3://bucket/{'a' * 1012}/", "at most 1024 characters, got 1025"),
    ],
)
def test_fails_if_the_artifact_is_neither_folder_nor_archive(
    stack: Stack, artifact: str, told: str
) -> None:
    """
    Each with the way out.
    """
    base = base_of(stack)

    with pytest.raises(ValueError, match=re.escape(told)) as raised:
        base.add_adapter("A", artifact=artifact)
    assert "LLM325" in str(raised.value)


def test_an_artifact_may_have_1024_characters(stack: Stack) -> None:
    """
    The API's longest.
    """
    base_of(stack).add_adapter("A", artifact=f"s3://bucket/{'a' * 1011}/")

    assert len(of_adapters(stack)) == 1


def test_fails_if_the_bucket_is_hidden_in_a_placeholder(stack: Stack) -> None:
    """
    Nobody could say what the role is to read.
    """
    base, uri = base_of(stack), CfnParameter(stack, "Uri").value_as_string

    with pytest.raises(ValueError, match=r"LLM325 .* pass LoraAdapter.from_bucket"):
        base.add_adapter("A", artifact=uri)


@pytest.mark.parametrize(
    ("serving", "code", "told"),
    [
        (Tgi("3.3.6"), "LLM326", "TGI loads those that its own lora_adapters name"),
        (TensorRtLlm("0.30.0"), "LLM326", "the base runs trtllm, and only vLLM and"),
        (LmiVllm("0.30.0"), "LLM327", "LMI 0.30 does not read which adapter"),
        (LmiDist("0.30.0"), "LLM327", "LMI 0.30 does not read which adapter"),
        (
            LmiVllm("0.36.0", enable_lora=False),
            "LLM328",
            "the base is served with enable_lora=False; leave it out, or serve",
        ),
    ],
)
def test_fails_if_the_base_takes_no_adapters(
    stack: Stack, serving: ServingConfiguration, code: str, told: str
) -> None:
    """
    By its engine, its version or its own word; the error says what to write.
    """
    base = base_of(stack, serving)

    with pytest.raises(ValueError, match=re.escape(told)) as raised:
        base.add_adapter("A", artifact=FOLDER)
    assert f"{code} " in str(raised.value)


def test_fails_on_neuron(stack: Stack) -> None:
    """
    NeuronX knows no adapters.
    """
    host = InferenceComponentEndpoint(stack, "Host", instance_type="ml.inf2.48xlarge")
    base = host.add_model(
        "Chat",
        model=MISTRAL,
        serving=NeuronX("0.29.0", n_positions=2048, max_rolling_batch_size=4),
        resources=ResourceRequirements(accelerators=2),
    )

    with pytest.raises(ValueError, match="LLM326 the base runs neuronx"):
        base.add_adapter("A", artifact=FOLDER)


@pytest.mark.parametrize(
    "serving",
    [LmiVllm("0.31.0"), LmiDist("0.31.0"), LmiVllm("0.35.0"), LmiVllm()],
    ids=["0.31", "LMI-Dist", "0.35", "newest"],
)
def test_a_base_that_says_nothing_is_told_to_take_adapters(
    stack: Stack, serving: ServingConfiguration
) -> None:
    """
    Once, whatever else its environment has.
    """
    base = base_of(stack, serving, environment={"MY_OWN": "1"})
    base.add_adapter("A", artifact=FOLDER)
    base.add_adapter("B", artifact=FOLDER)

    (model,) = written(stack, "SageMaker::Model").values()
    container = model["Properties"]["PrimaryContainer"]
    assert container["Environment"] == {"MY_OWN": "1", "OPTION_ENABLE_LORA": "true"}
    definition = base.model.definition
    assert definition is not None
    assert definition.variables == container["Environment"]


def test_a_base_that_takes_adapters_stays_as_it_is(stack: Stack) -> None:
    """
    Adding one restarts nothing.
    """
    base_of(stack).add_adapter("A", artifact=FOLDER)

    (model,) = written(stack, "SageMaker::Model").values()
    assert "Environment" not in model["Properties"]["PrimaryContainer"]


def test_vllm_in_its_own_image_is_told_to_take_adapters(stack: Stack) -> None:
    """
    Once, whichever adapters follow.
    """
    base = base_of(stack, Vllm())
    base.add_adapter("A", artifact=FOLDER)
    base.add_adapter("B", artifact=FOLDER)

    (model,) = written(stack, "SageMaker::Model").values()
    assert model["Properties"]["PrimaryContainer"]["Environment"] == {
        "SM_VLLM_ENABLE_LORA": "true",
        "SM_VLLM_MODEL": "HuggingFaceH4/zephyr-7b-beta",
        "SM_VLLM_TENSOR_PARALLEL_SIZE": "1",
        "VLLM_ALLOW_RUNTIME_LORA_UPDATING": "true",
    }


def test_adapters_at_several_servers_are_refused(stack: Stack) -> None:
    """
    One of them alone would know an adapter that comes later: vLLM does not start.
    """
    base = base_of(stack, Vllm(options={"api_server_count": 2}))
    with pytest.raises(ValueError, match="LLM944.*api_server_count=2"):
        base.add_adapter("A", artifact=FOLDER)


@pytest.mark.parametrize("value", ["true", "false"])
def test_a_variable_says_it_as_well(stack: Stack, value: str) -> None:
    """
    It is LMI's other way to set an option.
    """
    base = base_of(stack, LmiVllm(), environment={"OPTION_ENABLE_LORA": value})
    if value == "false":
        with pytest.raises(ValueError, match="LLM328"):
            base.add_adapter("A", artifact=FOLDER)
        return
    base.add_adapter("A", artifact=FOLDER)

    (model,) = written(stack, "SageMaker::Model").values()
    environment = model["Properties"]["PrimaryContainer"]["Environment"]
    assert environment == {"OPTION_ENABLE_LORA": "true"}


def test_switching_it_on_is_checked_like_the_rest(stack: Stack) -> None:
    """
    A draft model and adapters exclude each other in LMI-Dist.
    """
    base = base_of(stack, LmiDist("0.31.0", speculative_draft_model="a/b"))

    with pytest.raises(ValueError, match="LLM139"):
        base.add_adapter("A", artifact=FOLDER)


@pytest.mark.parametrize(
    ("serving", "rank", "told"),
    [
        (LmiVllm(), 17, "the adapter's rank is 17, and its base takes ranks up to 16"),
        (LORA, 64, "serve the base with enable_lora=True and max_lora_rank=64"),
        (LORA, 65, "max_lora_rank=128"),
        (LORA, 257, "max_lora_rank=320"),
        (LORA, 513, "train an adapter of a smaller rank"),
        (
            LmiVllm(enable_lora=True, max_lora_rank=64),
            65,
            "the adapter's rank is 65, and its base takes ranks up to 64",
        ),
    ],
)
def test_fails_if_the_rank_is_above_the_bases(
    stack: Stack, serving: LmiVllm, rank: int, told: str
) -> None:
    """
    16 is what a base takes that says nothing.
    """
    base = base_of(stack, serving)

    with pytest.raises(ValueError, match=re.escape(told)) as raised:
        base.add_adapter("A", artifact=LoraAdapter(FOLDER, rank=rank))
    assert "LLM329 " in str(raised.value)


@pytest.mark.parametrize(
    ("serving", "rank"),
    [(LmiVllm(), 16), (LmiVllm(enable_lora=True, max_lora_rank=64), 64)],
)
def test_a_rank_may_be_the_bases_largest(
    stack: Stack, serving: LmiVllm, rank: int
) -> None:
    """
    And a rank that deployment decides is not judged.
    """
    base = base_of(stack, serving)
    later = CfnParameter(stack, "Rank", type="Number").value_as_number
    base.add_adapter("A", artifact=LoraAdapter(FOLDER, rank=rank))
    base.add_adapter("B", artifact=LoraAdapter(FOLDER, rank=later))  # type: ignore[arg-type]  # a placeholder is a float

    assert len(of_adapters(stack)) == 2


def test_fails_with_all_reasons_at_once(stack: Stack) -> None:
    """
    Rank, artifact, version and name.
    """
    base = base_of(stack, LmiVllm("0.30.0"))

    with pytest.raises(ValueError, match="Host/Chat/Component/A: 4 errors") as raised:
        base.add_adapter(
            "A",
            artifact=LoraAdapter("s3://bucket/a", rank=0),
            inference_component_name="a_b",
        )
    codes = re.findall(r"- (LLM\d+)", str(raised.value))
    assert codes == ["LLM105", "LLM325", "LLM327", "LLM106"]


def test_an_image_of_ones_own_is_not_judged(stack: Stack) -> None:
    """
    It may take adapters by other means, and is told nothing.
    """
    image = "111111111111.dkr.ecr.us-east-1.amazonaws.com/vllm:1"
    base = base_of(stack, CustomContainer.from_uri(image))
    base.add_adapter("A", artifact=LoraAdapter(FOLDER, rank=512))

    (model,) = written(stack, "SageMaker::Model").values()
    assert model["Properties"]["PrimaryContainer"] == {"Image": image}


def test_an_adapter_has_neither_copies_nor_adapters(stack: Stack) -> None:
    """
    Both are its base's, which the error says.
    """
    base = base_of(stack)
    adapter = base.add_adapter("A", artifact=FOLDER)

    with pytest.raises(
        ValueError, match="LLM330 an adapter has no copies .* scale its"
    ):
        adapter.auto_scale_copy_count(max_capacity=2)
    with pytest.raises(ValueError, match="C: LLM330 .* add the adapter to its base"):
        AdapterInferenceComponent(stack, "C", base=adapter, artifact=FOLDER)


def test_a_name_is_given_once_in_a_stack(stack: Stack) -> None:
    """
    Bases and adapters share their names' room.
    """
    base = base_of(stack, name="chat")

    with pytest.raises(ValueError, match="LLM183"):
        base.add_adapter("A", artifact=FOLDER, inference_component_name="Chat")


def test_fails_with_a_name_and_a_prefix(stack: Stack) -> None:
    """
    One is the whole, the other its beginning.
    """
    base = base_of(stack)

    with pytest.raises(ValueError, match="LLM113"):
        base.add_adapter(
            "A",
            artifact=FOLDER,
            inference_component_name="a",
            inference_component_name_prefix="a",
        )


def test_invoking_is_granted_for_one_adapter(stack: Stack) -> None:
    """
    A tenant calls its own.
    """
    user = iam.User(stack, "User")
    base_of(stack).add_adapter("A", artifact=FOLDER).grant_invoke(user)

    policy = written(stack, "IAM::Policy")["UserDefaultPolicy"]
    (statement,) = policy["Properties"]["PolicyDocument"]["Statement"]
    assert statement["Resource"] == ["${HostEndpoint}", "${HostChatComponentA}"]


def test_the_name_is_the_end_of_the_arn(stack: Stack) -> None:
    """
    As a base's is.
    """
    adapter = base_of(stack).add_adapter("A", artifact=FOLDER)

    logical_id = stack.get_logical_id(adapter.cfn_inference_component)
    assert stack.resolve(adapter.inference_component_arn) == {"Ref": logical_id}
    assert stack.resolve(adapter.inference_component_name) == {
        "Fn::Select": [1, {"Fn::Split": ["/", {"Ref": logical_id}]}]
    }


def test_an_imported_base_is_named_and_its_role_asked_for(stack: Stack) -> None:
    """
    Nothing here can let its endpoint's role read the adapter.
    """
    endpoint = Endpoint.from_endpoint_name(stack, "Endpoint", "chat")
    base = InferenceComponent.from_inference_component_name(
        stack, "Base", "llama", endpoint=endpoint
    )
    AdapterInferenceComponent(stack, "A", base=base, artifact=FOLDER)

    (adapter,) = of_adapters(stack).values()
    assert adapter["Properties"] == {
        "EndpointName": "chat",
        "Specification": {
            "BaseInferenceComponentName": "llama",
            "Container": {"ArtifactUrl": FOLDER},
        },
    }
    assert "DependsOn" not in adapter
    ((path, text),) = warnings_of(stack)
    assert path == "/Test/A"
    assert "LLM420" in text
    assert "the execution role of Base's endpoint is not known here" in text


def test_the_role_is_that_of_a_known_endpoint_or_model(stack: Stack) -> None:
    """
    One of both is enough, as they are the same.
    """
    host = InferenceComponentEndpoint(stack, "Host", instance_type="ml.g5.2xlarge")
    imported = InferenceComponent.from_inference_component_name(
        stack, "Imported", "llama", endpoint=host.endpoint
    )
    AdapterInferenceComponent(stack, "A", base=imported, artifact=FOLDER)
    elsewhere = Endpoint.from_endpoint_name(stack, "Elsewhere", "chat")
    own = InferenceComponent(
        stack,
        "Own",
        endpoint=elsewhere,
        model=Model(stack, "Model", model=MISTRAL, serving=LORA),
        resources=ONE,
    )
    own.add_adapter("B", artifact=FOLDER)

    found = of_adapters(stack)
    waits = {name[:3]: adapter["DependsOn"] for name, adapter in found.items()}
    assert waits == {"ARe": ["HostAccess"], "Own": ["ModelAccess"]}
    assert statements(stack, "ReadAdapters") == [READ, READ]
    assert [text for _, text in warnings_of(stack) if "LLM420" in text] == []


def test_a_base_of_another_stack_has_its_adapters_here(app: App) -> None:
    """
    The policy is here, too, so that no stack waits for the other in a circle.
    """
    env = Environment(account="111111111111", region="us-east-1")
    home, here = Stack(app, "Home", env=env), Stack(app, "Here", env=env)
    base = base_of(home)
    AdapterInferenceComponent(here, "A", base=base, artifact=FOLDER)

    (adapter,) = of_adapters(here).values()
    assert "Fn::ImportValue" in str(adapter["Properties"])
    (policy,) = written(here, "IAM::Policy")
    assert adapter["DependsOn"] == [policy]
    assert statements(here, "ReadAdapters") == [READ]
    assert statements(home, "ReadAdapters") == []


def test_removal_is_said_of_the_resource(stack: Stack) -> None:
    """
    Its id is not fixed, by which the CDK would find it.
    """
    adapter = base_of(stack).add_adapter("A", artifact=FOLDER)
    adapter.apply_removal_policy(RemovalPolicy.RETAIN)

    (resource,) = of_adapters(stack).values()
    assert resource["DeletionPolicy"] == "Retain"


def ids_of(make: Callable[[Stack], object]) -> str:
    """
    Return the logical id of the only adapter that is made.
    """
    stack = Stack(App(), "Test")
    make(stack)
    found = Template.from_stack(stack).find_resources(f"AWS::{COMPONENT}")
    (logical_id,) = (
        name
        for name, resource in found.items()
        if "BaseInferenceComponentName" in resource["Properties"]["Specification"]
    )
    return logical_id


def on_blocks(
    stack: Stack,
    *,
    variant: str = "AllTraffic",
    base_name: str | None = None,
    name: str | None = None,
    base_id: str = "Base",
    key: str = "a/",
) -> None:
    """
    Define an adapter beside its base, of building blocks.
    """
    host = InferenceComponentEndpoint(stack, "Role", instance_type="ml.g5.2xlarge")
    variants = [
        ProductionVariant(instance_type="ml.g5.2xlarge", variant_name=each)
        for each in ("AllTraffic", "Green")
    ]
    config = EndpointConfig(
        stack, "Config", variants=variants, execution_role=host.role
    )
    model = Model(
        stack, "Model", model=S3Model("s3://b/m/"), serving=LORA, role=host.role
    )
    base = InferenceComponent(
        stack,
        base_id,
        endpoint=Endpoint(stack, "Endpoint", endpoint_config=config),
        model=model,
        resources=ONE,
        variant_name=variant,
        inference_component_name=base_name,
    )
    AdapterInferenceComponent(
        stack,
        "It",
        base=base,
        artifact=f"s3://bucket/{key}",
        inference_component_name=name,
    )


def test_an_adapter_keeps_its_id_when_its_files_move() -> None:
    """
    The service can change that in place.
    """
    assert ids_of(on_blocks) == ids_of(lambda stack: on_blocks(stack, key="b/"))


@pytest.mark.parametrize(
    "changed",
    [
        {"variant": "Green"},
        {"base_name": "other"},
        {"name": "other"},
        {"base_id": "OtherBase"},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_an_adapter_is_another_one_wherever_it_must_be_replaced(
    changed: dict[str, str],
) -> None:
    """
    With its base, and with its own name.
    """
    assert ids_of(on_blocks) != ids_of(lambda stack: on_blocks(stack, **changed))


def test_one_of_hundreds_costs_five_calls_into_node(
    stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    Two constructs, a dependency by its node, and the reference.
    """
    base = base_of(stack)
    base.add_adapter("First", artifact=FOLDER)
    answer, calls = process._NodeProcess.send, Counter[str]()  # noqa: SLF001 - every call passes there

    def counted(*given: Any) -> Any:  # noqa: ANN401 - any request, any answer
        calls[type(given[1]).__name__] += 1
        return answer(*given)

    monkeypatch.setattr(process._NodeProcess, "send", counted)  # noqa: SLF001 - likewise
    for number in range(10):
        base.add_adapter(f"A{number}", artifact=f"s3://bucket/adapters/{number}/")

    assert calls == {"CreateRequest": 20, "GetRequest": 20, "InvokeRequest": 10}


def test_hundreds_are_told_of_once_before_a_stack_is_full(stack: Stack) -> None:
    """
    At the four hundredth, and no more than that; they need one permission.
    """
    base = base_of(stack)
    for number in range(401):
        base.add_adapter(f"A{number}", artifact=f"s3://bucket/adapters/{number}/")

    ((path, text),) = (each for each in warnings_of(stack) if "LLM421" in each[1])
    assert path == "/Test/Host/Chat/Component/A399"
    assert "this stack defines 400 adapters and more" in text
    assert statements(stack, "ReadAdapters", "ListAdapters") == [READ, LIST]
