"""
What principals are granted on endpoints and components, written out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from aws_cdk import App, Environment, Stack
from aws_cdk import aws_iam as iam

from cdk_sagemaker_llm import (
    Endpoint,
    InferenceComponent,
    InferenceComponentEndpoint,
    LlmEndpoint,
    ResourceRequirements,
    Tgi,
)
from tests.conftest import ACCOUNT
from tests.unit.hosting.components.test_adapters import base_of
from tests.unit.hosting.conftest import MISTRAL
from tests.unit.hosting.written import keywords_of, written

INVOKE = ["sagemaker:InvokeEndpoint", "sagemaker:InvokeEndpointWithResponseStream"]
ONE = ResourceRequirements(accelerators=1)
HERE = "arn:${AWS::Partition}:sagemaker:us-east-1:111111111111"
INSTANCES = "sagemaker:variant:DesiredInstanceCount"
COPIES = "sagemaker:inference-component:DesiredCopyCount"


@pytest.fixture(name="caller")
def _caller(stack: Stack) -> iam.Role:
    principal = iam.ServicePrincipal("lambda.amazonaws.com")
    return iam.Role(stack, "Caller", assumed_by=principal)


@pytest.fixture(name="component")
def _component(host: InferenceComponentEndpoint) -> InferenceComponent:
    return host.add_model("A", model=MISTRAL, serving=Tgi("3.3.6"), resources=ONE)


def granted(stack: Stack) -> list[dict[str, Any]]:
    """
    Return what the caller is granted.
    """
    policy = written(stack, "IAM::Policy")["CallerDefaultPolicy"]
    found: list[dict[str, Any]] = policy["Properties"]["PolicyDocument"]["Statement"]
    return found


def allowed(action: str | list[str], resource: str | list[str]) -> dict[str, Any]:
    """
    Return a statement as IAM writes it.
    """
    return {"Action": action, "Effect": "Allow", "Resource": resource}


def bounds_of(dimension: str) -> dict[str, Any]:
    """
    Return what lets a principal change bounds: of one number, of SageMaker's alone.
    """
    return {
        **allowed("application-autoscaling:RegisterScalableTarget", "*"),
        "Condition": {
            "StringEquals": {
                "application-autoscaling:scalable-dimension": dimension,
                "application-autoscaling:service-namespace": "sagemaker",
            }
        },
    }


@pytest.mark.parametrize("of", [lambda llm: llm, lambda llm: llm.endpoint])
def test_what_an_endpoint_grants(
    stack: Stack,
    endpoint: LlmEndpoint,
    caller: iam.Role,
    of: Callable[[LlmEndpoint], LlmEndpoint | Endpoint],
) -> None:
    """
    The pattern as the building block in it.
    """
    one = of(endpoint)
    one.grant_invoke(caller, streaming=False, bearer_token=True).assert_success()
    one.grant_describe(caller).assert_success()
    one.grant_scale(caller, scalable_target=True).assert_success()

    assert granted(stack) == [
        allowed("sagemaker:InvokeEndpoint", "${LlmEndpoint}"),
        allowed("sagemaker:CallWithBearerToken", "*"),
        allowed("sagemaker:DescribeEndpoint", "${LlmEndpoint}"),
        allowed("sagemaker:DescribeEndpointConfig", "${LlmConfig}"),
        allowed("sagemaker:UpdateEndpointWeightsAndCapacities", "${LlmEndpoint}"),
        bounds_of(INSTANCES),
    ]


def test_an_endpoint_grants_no_more_than_it_is_asked(
    stack: Stack, endpoint: LlmEndpoint, caller: iam.Role
) -> None:
    """
    Streams are granted with invoking; tokens and bounds are not.
    """
    endpoint.grant_invoke(caller)
    endpoint.grant_scale(caller)

    assert granted(stack) == [
        allowed(INVOKE, "${LlmEndpoint}"),
        allowed("sagemaker:UpdateEndpointWeightsAndCapacities", "${LlmEndpoint}"),
    ]


def test_streams_in_both_directions_are_granted_where_they_are_asked_for(
    stack: Stack, endpoint: LlmEndpoint, caller: iam.Role
) -> None:
    """
    By an action of their own, of this endpoint alone.
    """
    endpoint.grant_invoke(caller, streaming=False, bidirectional=True)

    actions = [
        "sagemaker:InvokeEndpoint",
        "sagemaker:InvokeEndpointWithBidirectionalStream",
    ]
    assert granted(stack) == [allowed(actions, "${LlmEndpoint}")]


def test_what_an_imported_endpoint_grants(stack: Stack, caller: iam.Role) -> None:
    """
    Its configuration is not known, so that it is not shown.
    """
    one = Endpoint.from_endpoint_name(stack, "Named", "Mine")
    one.grant_invoke(caller, bearer_token=True)
    one.grant_describe(caller)
    one.grant_scale(caller, scalable_target=True)

    assert granted(stack) == [
        allowed(INVOKE, f"{HERE}:endpoint/mine"),
        allowed("sagemaker:CallWithBearerToken", "*"),
        allowed("sagemaker:DescribeEndpoint", f"{HERE}:endpoint/mine"),
        allowed(
            "sagemaker:UpdateEndpointWeightsAndCapacities", f"{HERE}:endpoint/mine"
        ),
        bounds_of(INSTANCES),
    ]


def test_what_a_component_grants(
    stack: Stack, component: InferenceComponent, caller: iam.Role
) -> None:
    """
    A call names the endpoint too; all else is the component's own.
    """
    component.grant_invoke(caller, streaming=False, bearer_token=True)
    component.grant_describe(caller)
    component.grant_scale(caller, scalable_target=True)

    own = "${HostAComponent}"
    assert granted(stack) == [
        allowed("sagemaker:InvokeEndpoint", ["${HostEndpoint}", own]),
        allowed("sagemaker:CallWithBearerToken", "*"),
        allowed("sagemaker:DescribeInferenceComponent", own),
        allowed("sagemaker:UpdateInferenceComponentRuntimeConfig", own),
        bounds_of(COPIES),
    ]


def test_what_an_imported_component_grants(stack: Stack, caller: iam.Role) -> None:
    """
    As one that is defined here.
    """
    one = InferenceComponent.from_inference_component_name(
        stack,
        "Named",
        "mine",
        endpoint=Endpoint.from_endpoint_name(stack, "Host", "host"),
    )
    one.grant_invoke(caller)
    one.grant_describe(caller)
    one.grant_scale(caller)

    own = f"{HERE}:inference-component/mine"
    assert granted(stack) == [
        allowed(INVOKE, [f"{HERE}:endpoint/host", own]),
        allowed("sagemaker:DescribeInferenceComponent", own),
        allowed("sagemaker:UpdateInferenceComponentRuntimeConfig", own),
    ]


def test_what_a_host_grants_it_grants_on_later_models_too(
    stack: Stack, host: InferenceComponentEndpoint, caller: iam.Role
) -> None:
    """
    The token once, and the bounds of copies alone: SageMaker scales the instances.
    """
    host.grant_invoke(caller, streaming=False, bearer_token=True)
    host.grant_describe(caller)
    host.grant_scale(caller, scalable_target=True)
    host.add_model("A", model=MISTRAL, serving=Tgi("3.3.6"), resources=ONE)

    own = "${HostAComponent}"
    assert granted(stack) == [
        allowed("sagemaker:InvokeEndpoint", "${HostEndpoint}"),
        allowed("sagemaker:CallWithBearerToken", "*"),
        allowed("sagemaker:DescribeEndpoint", "${HostEndpoint}"),
        allowed("sagemaker:DescribeEndpointConfig", "${HostConfig}"),
        allowed("sagemaker:UpdateEndpointWeightsAndCapacities", "${HostEndpoint}"),
        allowed("sagemaker:InvokeEndpoint", own),
        allowed("sagemaker:DescribeInferenceComponent", own),
        allowed("sagemaker:UpdateInferenceComponentRuntimeConfig", own),
        bounds_of(COPIES),
    ]


def test_what_a_host_grants_it_grants_on_earlier_models(
    stack: Stack,
    host: InferenceComponentEndpoint,
    component: InferenceComponent,
    caller: iam.Role,
) -> None:
    """
    The grant that is returned covers all of them.
    """
    grants = (host.grant_describe(caller), host.grant_scale(caller))

    assert component in host.components
    assert all(grant.success for grant in grants)
    assert [statement["Resource"] for statement in granted(stack)] == [
        "${HostEndpoint}",
        "${HostConfig}",
        "${HostAComponent}",
        "${HostEndpoint}",
        "${HostAComponent}",
    ]


def test_an_adapter_is_described_and_not_scaled(stack: Stack, caller: iam.Role) -> None:
    """
    It has no copies of its own.
    """
    adapter = base_of(stack).add_adapter("A", artifact="s3://adapters/a/")
    adapter.grant_describe(caller)

    with pytest.raises(ValueError, match="an adapter has no copies of its own"):
        adapter.grant_scale(caller)
    assert granted(stack) == [
        allowed("sagemaker:DescribeInferenceComponent", "${HostChatComponentA}")
    ]


def test_patterns_and_building_blocks_grant_with_the_same_words() -> None:
    """
    Each keyword of one is a keyword of all.
    """
    for name, words in {
        "grant_invoke": {"streaming", "bearer_token", "bidirectional"},
        "grant_describe": set[str](),
        "grant_scale": {"scalable_target"},
    }.items():
        for one in (
            LlmEndpoint,
            Endpoint,
            InferenceComponentEndpoint,
            InferenceComponent,
        ):
            assert keywords_of(getattr(one, name)) == words


@pytest.mark.parametrize("word", ["streaming", "bearer_token", "bidirectional"])
def test_fails_if_a_switch_is_no_boolean(
    endpoint: LlmEndpoint, caller: iam.Role, word: str
) -> None:
    """
    ``"no"`` would be a yes.
    """
    with pytest.raises(ValueError, match=rf"LLM182 {word} must be True or False"):
        endpoint.grant_invoke(caller, **{word: "no"})  # type: ignore[arg-type]


def test_a_configuration_is_not_shown_to_another_environment(app: App) -> None:
    """
    It has no name that a stack there could write; the endpoint has one.
    """
    here = Stack(app, "Here", env=Environment(account=ACCOUNT, region="us-east-1"))
    there = Stack(app, "There", env=Environment(account=ACCOUNT, region="eu-west-1"))
    llm = LlmEndpoint(
        here,
        "Llm",
        model=MISTRAL,
        serving=Tgi("3.3.6"),
        instance_type="ml.g5.12xlarge",
        endpoint_name="chat",
    )
    principal = iam.ServicePrincipal("lambda.amazonaws.com")
    llm.grant_describe(iam.Role(there, "Caller", assumed_by=principal))

    assert granted(there) == [
        allowed(
            "sagemaker:DescribeEndpoint",
            f"arn:${{AWS::Partition}}:sagemaker:us-east-1:{ACCOUNT}:endpoint/chat",
        )
    ]
