"""
What CloudFormation does with one role of many models, step by step.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

import pytest
from aws_cdk import App, DefaultStackSynthesizer, Environment, Stack
from aws_cdk.assertions import Template

from cdk_sagemaker_llm import (
    InferenceComponentEndpoint,
    ResourceRequirements,
    S3Model,
    Tgi,
)
from tests.local.hosting_requests import put_weights, unique
from tests.local.stacks import Stacks

if TYPE_CHECKING:
    from cdk_sagemaker_llm.local import EmbeddedAws

LONG = "x" * 500


@pytest.fixture(name="stacks", scope="module")
def _stacks(embedded_aws: EmbeddedAws) -> Stacks:
    return Stacks(embedded_aws)


def host_of(prefixes: Sequence[str]) -> dict[str, object]:
    """
    Return the template of an endpoint that hosts a model of each prefix.
    """
    stack = Stack(
        App(analytics_reporting=False),
        "Host",
        env=Environment(account="123456789012", region="us-east-1"),
        synthesizer=DefaultStackSynthesizer(generate_bootstrap_version_rule=False),
    )
    host = InferenceComponentEndpoint(
        stack, "Host", instance_type="ml.p4d.24xlarge", instance_count=2
    )
    for prefix in prefixes:
        host.add_model(
            f"Model{prefix[0].upper()}",
            model=S3Model(f"s3://weights/{prefix}/"),
            serving=Tgi("3.3.6"),
            resources=ResourceRequirements(accelerators=1),
        )
    return dict(Template.from_stack(stack).to_json())


def only(stacks: Stacks, name: str, beginning: str) -> str:
    """
    Return the physical id of the only resource whose logical id begins so.
    """
    (found,) = (
        physical
        for logical, physical in stacks.physical_ids(name).items()
        if logical.startswith(beginning)
    )
    return found


def order_of(stacks: Stacks, name: str, status: str) -> list[str]:
    """
    Return which resources reached a status, one after the other.
    """
    return [
        logical[:-8] for logical, reached, _ in stacks.events(name) if reached == status
    ]


def test_the_policy_is_there_before_and_after_all_models(
    stacks: Stacks, embedded_aws: EmbeddedAws
) -> None:
    """
    Without models, with two, with another one, with many, and to the end.
    """
    iam, name = embedded_aws.client("iam"), unique("stack")
    many = [f"{letter}{LONG}" for letter in "abcdefghijkl"]
    put_weights(embedded_aws, "weights", "a", "b", "c", *many)

    def allowed() -> str:
        role = only(stacks, name, "HostRole")
        (policy,) = iam.list_role_policies(RoleName=role)["PolicyNames"]
        shown = iam.get_role_policy(RoleName=role, PolicyName=policy)
        return json.dumps(shown["PolicyDocument"])

    assert stacks.create(name, host_of([])) == "CREATE_COMPLETE"
    created = order_of(stacks, name, "CREATE_COMPLETE")
    assert created.index("HostAccess") < created.index("HostConfig")
    assert "logs:PutLogEvents" in allowed()
    endpoint = only(stacks, name, "HostEndpoint")

    assert stacks.update(name, host_of(["a", "b"])) == "UPDATE_COMPLETE"
    assert "weights/a/*" in allowed()
    assert "weights/b/*" in allowed()

    assert stacks.update(name, host_of(["b", "c"])) == "UPDATE_COMPLETE"
    assert "weights/a/*" not in allowed()
    assert "weights/c/*" in allowed()

    assert stacks.update(name, host_of(many)) == "UPDATE_COMPLETE"
    role = only(stacks, name, "HostRole")
    attached = iam.list_attached_role_policies(RoleName=role)["AttachedPolicies"]
    assert len(attached) == 2
    assert only(stacks, name, "HostEndpoint") == endpoint

    assert stacks.update(name, host_of(["b"])) == "UPDATE_COMPLETE"
    attached = iam.list_attached_role_policies(RoleName=role)["AttachedPolicies"]
    assert attached == []

    assert stacks.update(name, host_of(many)) == "UPDATE_COMPLETE"
    stack_id = stacks.describe(name)["StackId"]
    assert stacks.delete(name) == "DELETE_COMPLETE"
    gone = order_of(stacks, stack_id, "DELETE_COMPLETE")
    last_first = [
        gone[::-1].index(f"Host{part}")
        for part in ("Role", "Access", "Config", "Endpoint")
    ]
    assert last_first == sorted(last_first)
