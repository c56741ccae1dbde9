"""
How an application reaches a model: as values, as outputs, as a parameter.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from aws_cdk import App, Environment, Stack, Stage
from aws_cdk import aws_iam as iam
from aws_cdk.assertions import Template

from cdk_sagemaker_llm import (
    AsyncInference,
    Connection,
    ConnectionParameter,
    CustomContainer,
    Endpoint,
    HuggingFaceModel,
    InferenceComponent,
    InferenceComponentBase,
    InferenceComponentEndpoint,
    LlmEndpoint,
    LmiVllm,
    ResourceRequirements,
    Schema,
    TensorRtLlm,
    Tgi,
)
from tests.conftest import ACCOUNT, REGION
from tests.linting import lint
from tests.unit.hosting.written import written

GPT2 = HuggingFaceModel("gpt2")
# One that takes adapters.
SMALL = HuggingFaceModel("Qwen/Qwen2.5-1.5B-Instruct")
OWN = CustomContainer.from_uri("111111111111.dkr.ecr.us-east-1.amazonaws.com/vllm:1")
CHAT = Connection(
    endpoint_name="chat", region="eu-west-1", schema=Schema.TGI, takes_chats=True
)
PART = replace(CHAT, inference_component_name="llama")


def filled(scope: Stack, serving: Tgi | CustomContainer | None = None) -> LlmEndpoint:
    """
    Define an endpoint that one model fills.
    """
    return LlmEndpoint(
        scope,
        "Llm",
        model=GPT2,
        serving=serving or Tgi("3.3.6"),
        instance_type="ml.g5.xlarge",
    )


def component(scope: Stack) -> InferenceComponent:
    """
    Define a component that takes adapters.
    """
    host = InferenceComponentEndpoint(scope, "Host", instance_type="ml.p4d.24xlarge")
    return host.add_model(
        "Gpt",
        model=SMALL,
        serving=LmiVllm(enable_lora=True),
        resources=ResourceRequirements(accelerators=1),
    )


def outputs_of(stack: Stack) -> dict[str, Any]:
    """
    Return the outputs of a stack.
    """
    outputs: dict[str, Any] = Template.from_stack(stack).to_json()["Outputs"]
    return outputs


def test_of_an_endpoint() -> None:
    """
    Everything written out.
    """
    base = "https://runtime.sagemaker.eu-west-1.amazonaws.com"

    assert CHAT.openai_base_url == f"{base}/endpoints/chat/openai/v1"
    assert CHAT.litellm_params == {
        "model": "sagemaker_chat/chat",
        "aws_region_name": "eu-west-1",
    }
    assert CHAT.langchain_kwargs == {
        "endpoint_name": "chat",
        "region_name": "eu-west-1",
    }
    assert json.loads(CHAT.to_json()) == {
        "endpoint_name": "chat",
        "region": "eu-west-1",
        "schema": "tgi",
        "openai_base_url": CHAT.openai_base_url,
        "litellm": CHAT.litellm_params,
        "langchain": CHAT.langchain_kwargs,
    }


def test_of_a_component() -> None:
    """
    Each library has its own word for it.
    """
    assert PART.openai_base_url == (
        "https://runtime.sagemaker.eu-west-1.amazonaws.com/endpoints/chat"
        "/inference-components/llama/openai/v1"
    )
    assert PART.litellm_params == {
        "model": "sagemaker_chat/chat",
        "aws_region_name": "eu-west-1",
        "model_id": "llama",
    }
    assert PART.langchain_kwargs == {
        "endpoint_name": "chat",
        "region_name": "eu-west-1",
        "inference_component_name": "llama",
    }
    assert json.loads(PART.to_json())["inference_component_name"] == "llama"


@pytest.mark.parametrize(
    ("schema", "provider"),
    [
        (Schema.LMI, "sagemaker/chat"),
        (Schema.TGI, "sagemaker/chat"),
        (Schema.OPENAI, None),
        (None, None),
    ],
)
def test_without_chats_there_is_no_address_of_openai(
    schema: Schema | None, provider: str | None
) -> None:
    """
    LiteLLM writes ``inputs`` then, where the container is known to read them.
    """
    plain = replace(CHAT, schema=schema, takes_chats=False)

    assert plain.openai_base_url is None
    assert (plain.litellm_params or {}).get("model") == provider
    assert "openai_base_url" not in plain.to_json()
    assert ("litellm" in plain.to_json()) == (provider is not None)


@pytest.mark.parametrize(
    ("region", "is_there"),
    [
        ("us-east-1", True),
        ("eu-central-2", True),
        ("cn-north-1", False),
        ("us-gov-west-1", False),
        ("us-iso-east-1", False),
        ("eusc-de-east-1", False),
    ],
)
def test_openais_path_is_in_the_commercial_partition(
    region: str,
    is_there: bool,  # noqa: FBT001 - a column of the table
) -> None:
    """
    AWS has announced it for no other.
    """
    assert (replace(CHAT, region=region).openai_base_url is not None) == is_there


def test_what_is_not_known_can_be_said() -> None:
    """
    OpenAI's schema and chats alone say that chats are taken; the others nothing of it.
    """
    unknown = Connection(endpoint_name="chat", region="eu-west-1")

    assert unknown.spoken(None) is unknown
    assert unknown.spoken("openai") == replace(
        unknown, schema=Schema.OPENAI, takes_chats=True
    )
    assert unknown.spoken("chat") == replace(
        unknown, schema=Schema.CHAT, takes_chats=True
    )
    assert unknown.spoken("tgi") == replace(unknown, schema=Schema.TGI)
    assert CHAT.spoken("lmi") == replace(CHAT, schema=Schema.LMI)


def test_fails_for_an_unknown_schema() -> None:
    """
    Those that there are are listed.
    """
    message = "schema must be one of 'lmi', 'tgi', 'openai', 'chat', got 'gpt'"

    with pytest.raises(ValueError, match=message):
        CHAT.spoken("gpt")


def test_an_endpoint_knows_its_own(stack: Stack) -> None:
    """
    The pattern and its endpoint say the same.
    """
    llm = filled(stack)

    assert llm.connection == Connection(
        endpoint_name=llm.endpoint_name,
        region=REGION,
        schema=Schema.TGI,
        takes_chats=True,
    )
    assert llm.endpoint.connection == llm.connection


def test_a_component_and_its_adapter_are_asked_alike(stack: Stack) -> None:
    """
    Their names are what differs.
    """
    base = component(stack)
    adapter = base.add_adapter("Voice", artifact="s3://bucket/a/b/")
    expected = Connection(
        endpoint_name=base.endpoint.endpoint_name,
        inference_component_name=base.inference_component_name,
        region=REGION,
        schema=Schema.LMI,
        takes_chats=True,
    )

    assert base.connection == expected
    assert stack.resolve(adapter.connection.litellm_params) == stack.resolve(
        replace(
            expected, inference_component_name=adapter.inference_component_name
        ).litellm_params
    )


def test_a_host_does_not_know_how_its_components_are_asked(stack: Stack) -> None:
    """
    Nobody answers who is asked without a component.
    """
    found = component(stack).endpoint.connection

    assert (found.schema, found.openai_base_url, found.litellm_params) == (None,) * 3


def test_of_what_is_imported_the_names_are_known(stack: Stack) -> None:
    """
    And the region, where an ARN tells it.
    """
    arn = f"arn:aws:sagemaker:eu-west-1:{ACCOUNT}:endpoint/chat"
    chat = Endpoint.from_endpoint_arn(stack, "Chat", arn)
    part = InferenceComponentBase.from_inference_component_name(
        stack, "Part", "llama", endpoint=chat
    )

    assert chat.connection == Connection(endpoint_name="chat", region="eu-west-1")
    assert part.connection.inference_component_name == "llama"


def test_fails_where_requests_lie_on_s3(stack: Stack) -> None:
    """
    No client of this kind gets an answer.
    """
    waiting = LlmEndpoint(
        stack,
        "Llm",
        model=GPT2,
        instance_type="ml.g5.xlarge",
        async_inference=AsyncInference(output="s3://bucket"),
    )

    with pytest.raises(ValueError, match="Test/Llm/Endpoint has no connection"):
        waiting.store_connection()


@pytest.mark.parametrize("prefix", ["a", "Chat:v-1", "a" * 232])
def test_export_names_that_cloudformation_takes(stack: Stack, prefix: str) -> None:
    """
    Up to their limit, which counts the longest of the names.
    """
    filled(stack).output_connection(export_prefix=prefix)

    exported = [each["Export"]["Name"] for each in outputs_of(stack).values()]
    assert f"{prefix}:Connection" in exported


@pytest.mark.parametrize("prefix", ["", "chat_1", "früh", "a b", "a\n", "a" * 233])
def test_fails_for_export_names_that_cloudformation_refuses(
    stack: Stack, prefix: str
) -> None:
    """
    At synth, and not in the middle of a deployment.
    """
    told = "export_prefix must be 1 to 232 letters, digits, ':' and '-', got"
    with pytest.raises(ValueError, match=told):
        filled(stack).output_connection(export_prefix=prefix)


def test_outputs_of_an_endpoint(stack: Stack) -> None:
    """
    Written out, with a name and an export for each.
    """
    llm = filled(stack)
    told = llm.output_connection(export_prefix="chat")
    name = {
        "Fn::GetAtt": [stack.get_logical_id(llm.endpoint.cfn_endpoint), "EndpointName"]
    }
    found = outputs_of(stack)
    base = "https://runtime.sagemaker.us-east-1.amazonaws.com/endpoints/"
    key = '"openai_base_url"'

    assert list(told) == ["EndpointName", "OpenAiBaseUrl", "Connection"]
    ids = {each: stack.get_logical_id(output) for each, output in told.items()}
    assert found[ids["EndpointName"]] == {
        "Value": name,
        "Export": {"Name": "chat:EndpointName"},
    }
    assert found[ids["OpenAiBaseUrl"]] == {
        "Value": {"Fn::Join": ["", [base, name, "/openai/v1"]]},
        "Export": {"Name": "chat:OpenAiBaseUrl"},
    }
    assert found[ids["Connection"]]["Value"] == {
        "Fn::Join": [
            "",
            [
                '{"endpoint_name": "',
                name,
                f'", "region": "us-east-1", "schema": "tgi", {key}: "{base}',
                name,
                '/openai/v1", "litellm": {"model": "sagemaker_chat/',
                name,
                '", "aws_region_name": "us-east-1"}, "langchain": {"endpoint_name": "',
                name,
                '", "region_name": "us-east-1"}}',
            ],
        ]
    }


def test_outputs_have_stable_ids(stack: Stack) -> None:
    """
    Frozen on purpose: scripts read them.
    """
    filled(stack).output_connection()
    component(stack).output_connection("Names")

    assert {name[:-8] for name in outputs_of(stack)} == {
        "LlmConnectionOutputsEndpointName",
        "LlmConnectionOutputsOpenAiBaseUrl",
        "LlmConnectionOutputsConnection",
        "HostGptComponentNamesEndpointName",
        "HostGptComponentNamesInferenceComponentName",
        "HostGptComponentNamesOpenAiBaseUrl",
        "HostGptComponentNamesConnection",
    }
    assert not any("Export" in each for each in outputs_of(stack).values())


def test_a_container_without_chats_has_no_address_in_the_outputs(stack: Stack) -> None:
    """
    Unless its owner says that it takes OpenAI's requests.
    """
    llm = filled(stack, OWN)

    assert list(llm.output_connection()) == ["EndpointName", "Connection"]
    assert list(llm.output_connection("Known", schema="openai")) == [
        "EndpointName",
        "OpenAiBaseUrl",
        "Connection",
    ]


@pytest.mark.parametrize(
    ("name", "ending"), [("/llm/chat", "/llm/chat"), ("chat", "/chat")]
)
def test_a_connection_of_another_app_is_read(
    stack: Stack, name: str, ending: str
) -> None:
    """
    By its name alone, with one action.
    """
    stored = ConnectionParameter.from_parameter_name(stack, "Stored", name)
    user = iam.Role(
        stack, "Caller", assumed_by=iam.ServicePrincipal("lambda.amazonaws.com")
    )
    stored.grant_read(user)
    policy = written(stack, "IAM::Policy")["CallerDefaultPolicy"]["Properties"]

    assert stored.parameter_name == name
    assert policy["PolicyDocument"]["Statement"] == [
        {
            "Action": "ssm:GetParameter",
            "Effect": "Allow",
            "Resource": "arn:${AWS::Partition}:ssm:us-east-1:"
            f"{ACCOUNT}:parameter{ending}",
        }
    ]


@pytest.mark.parametrize("name", ["", "a b", "/aws/it", "arn:aws:ssm:::parameter/a", 5])
def test_fails_if_no_parameter_has_such_a_name(stack: Stack, name: object) -> None:
    """
    As where it is stored.
    """
    with pytest.raises(ValueError, match="parameter_name must"):
        ConnectionParameter.from_parameter_name(stack, "Stored", name)  # type: ignore[arg-type] # the mistake


def test_a_parameter_of_an_endpoint(stack: Stack) -> None:
    """
    Written out: a plain string, which a role reads by one action.
    """
    llm = LlmEndpoint(
        stack,
        "Llm",
        model=HuggingFaceModel("HuggingFaceH4/zephyr-7b-beta"),
        serving=TensorRtLlm("0.26.0", tensor_parallel_degree=4),
        instance_type="ml.g5.12xlarge",
    )
    stored = llm.store_connection(parameter_name="/llm/chat")
    user = iam.Role(
        stack, "Caller", assumed_by=iam.ServicePrincipal("lambda.amazonaws.com")
    )
    stored.grant_read(user)
    found = written(stack, "SSM::Parameter", "IAM::Policy")
    policy = found["CallerDefaultPolicy"]["Properties"]["PolicyDocument"]

    assert stored.connection == llm.connection
    assert found["LlmConnectionParameter"] == {
        "Type": "AWS::SSM::Parameter",
        "Properties": {
            "Name": "/llm/chat",
            "Type": "String",
            "Description": "How to reach a language model: cdk_sagemaker_llm.client",
            "Value": '{"endpoint_name": "${LlmEndpoint.EndpointName}", '
            '"region": "us-east-1", "schema": "lmi", '
            '"litellm": {"model": "sagemaker/${LlmEndpoint.EndpointName}", '
            '"aws_region_name": "us-east-1"}, '
            '"langchain": {"endpoint_name": "${LlmEndpoint.EndpointName}", '
            '"region_name": "us-east-1"}}',
        },
    }
    assert policy["Statement"] == [
        {
            "Action": "ssm:GetParameter",
            "Effect": "Allow",
            # The name begins with the slash.
            "Resource": "arn:${AWS::Partition}:ssm:us-east-1:"
            f"{ACCOUNT}:parameter${{LlmConnectionParameter}}",
        }
    ]


def test_a_parameter_without_a_name(stack: Stack) -> None:
    """
    CloudFormation makes one, which is handed on by reference.
    """
    stored = component(stack).store_connection()
    (parameter,) = written(stack, "SSM::Parameter").values()

    assert "Name" not in parameter["Properties"]
    assert stack.resolve(stored.parameter_name).keys() == {"Ref"}


def test_another_stack_stores_it(app: App, stack: Stack) -> None:
    """
    The names are exported and imported.
    """
    web = Stack(app, "Web", env=Environment(account=ACCOUNT, region=REGION))
    ConnectionParameter(
        web, "Llm", connection=component(stack).connection, parameter_name="chat"
    )
    (parameter,) = written(web, "SSM::Parameter").values()

    assert "Fn::ImportValue" in json.dumps(parameter["Properties"]["Value"])


def test_another_region_stores_a_name_of_ones_own(app: App, stack: Stack) -> None:
    """
    The region is still the endpoint's.
    """
    there = Stack(app, "Web", env=Environment(account=ACCOUNT, region="eu-west-1"))
    llm = LlmEndpoint(
        stack,
        "Llm",
        model=GPT2,
        serving=Tgi("3.3.6"),
        instance_type="ml.g5.xlarge",
        endpoint_name="chat",
    )
    ConnectionParameter(there, "Chat", connection=llm.connection)
    (parameter,) = written(there, "SSM::Parameter").values()

    assert json.loads(parameter["Properties"]["Value"]) == {
        "endpoint_name": "chat",
        "region": "us-east-1",
        "schema": "tgi",
        "openai_base_url": "https://runtime.sagemaker.us-east-1.amazonaws.com"
        "/endpoints/chat/openai/v1",
        "litellm": {"model": "sagemaker_chat/chat", "aws_region_name": "us-east-1"},
        "langchain": {"endpoint_name": "chat", "region_name": "us-east-1"},
    }


def test_a_stack_for_any_region_leaves_it_to_deployment(agnostic_stack: Stack) -> None:
    """
    The domain too, which differs between partitions.
    """
    filled(agnostic_stack).store_connection()
    (parameter,) = written(agnostic_stack, "SSM::Parameter").values()
    told = json.loads(parameter["Properties"]["Value"])

    assert told["region"] == "${AWS::Region}"
    assert told["openai_base_url"] == (
        "https://runtime.sagemaker.${AWS::Region}.${AWS::URLSuffix}"
        "/endpoints/${LlmEndpoint.EndpointName}/openai/v1"
    )


@pytest.mark.parametrize("make", [filled, component], ids=["one", "many"])
def test_stages_write_the_same(
    app: App, make: Callable[[Stack], LlmEndpoint | InferenceComponent]
) -> None:
    """
    Nothing of the stage goes into the parameter or the outputs.
    """
    templates = []
    for name in ("Test", "Production"):
        env = Environment(account=ACCOUNT, region=REGION)
        stack = Stack(Stage(app, name), "Models", env=env)
        made = make(stack)
        made.store_connection()
        made.output_connection()
        templates.append(Template.from_stack(stack).to_json())

    assert templates[0] == templates[1]


def test_the_template_passes_cfn_lint(stack: Stack) -> None:
    """
    Neither errors nor warnings.
    """
    for each in (filled(stack), component(stack)):
        each.output_connection()
        each.store_connection()
    text = json.dumps(Template.from_stack(stack).to_json())

    assert [str(found) for found in lint(text)] == []


@pytest.mark.parametrize(
    "name", ["chat", "/llm/chat", "a.b-c_d", "/" + "/".join("a" * 15), "a" * 1011]
)
def test_names_that_systems_manager_takes(stack: Stack, name: str) -> None:
    """
    Up to their limits.
    """
    ConnectionParameter(stack, "It", connection=CHAT, parameter_name=name)
    (parameter,) = written(stack, "SSM::Parameter").values()

    assert parameter["Properties"]["Name"] == name


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("", "must be letters, digits"),
        ("llm/chat", "must be letters, digits"),
        ("/llm/", "must be letters, digits"),
        ("/llm chat", "must be letters, digits"),
        ("/" + "/".join("a" * 16), "up to 15 parts"),
        ("a" * 1012, "must have at most 1011 characters, got 1012"),
        ("/aws/chat", "must not begin with aws or ssm"),
        ("SSM-chat", "must not begin with aws or ssm"),
        ("${Token[TOKEN.1]}", "must be known at synth"),
    ],
)
def test_fails_for_a_name_that_systems_manager_refuses(
    stack: Stack, name: str, message: str
) -> None:
    """
    Before anything is made.
    """
    with pytest.raises(ValueError, match=message):
        ConnectionParameter(stack, "It", connection=CHAT, parameter_name=name)
