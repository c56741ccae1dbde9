"""
What a role may do with keys that are known by their ARN, or by an alias.
"""

from __future__ import annotations

from typing import Any

import pytest
from aws_cdk import App, Environment, Stack
from aws_cdk import aws_kms as kms
from aws_cdk.assertions import Template

from cdk_sagemaker_llm import (
    AsyncInference,
    DataCapture,
    HuggingFaceModel,
    LlmEndpoint,
    Tgi,
)
from cdk_sagemaker_llm.hosting.roles.statements import (
    arn_of,
    key_access,
    volume_statements,
)

GPT2 = HuggingFaceModel("gpt2")
PLACE = "arn:aws:kms:us-east-1:111111111111"
BY_ALIAS = {
    "Effect": "Allow",
    "Action": ["kms:Decrypt"],
    "Resource": [f"{PLACE}:key/*"],
    "Condition": {"ForAnyValue:StringEquals": {"kms:ResourceAliases": ["alias/a/b"]}},
}


@pytest.fixture(name="imported")
def _imported(app: App) -> kms.IAlias:
    """
    Return an alias of which its name alone is known.
    """
    environment = Environment(account="111111111111", region="us-east-1")
    stack = Stack(app, "Own", env=environment)
    return kms.Alias.from_alias_name(stack, "Alias", "alias/mine")


def test_a_key_is_named_and_an_alias_is_a_condition() -> None:
    """
    An alias in a resource would let nobody use its key.
    """
    arns = [f"{PLACE}:key/k", f"{PLACE}:alias/a/b", f"{PLACE}:key/k"]
    by_key, by_alias = key_access("Read", ["kms:Decrypt"], arns)

    assert by_key.to_json()["Resource"] == [f"{PLACE}:key/k"]
    assert by_alias.to_json() == {"Sid": "ReadByAlias", **BY_ALIAS}
    assert "alias" in by_alias.wildcard_reason
    assert key_access("Read", ["kms:Decrypt"], []) == []


def test_an_alias_of_the_app_is_its_key(stack: Stack) -> None:
    """
    Whose ARN is at hand.
    """
    key = kms.Key(stack, "Key")

    assert arn_of(key.add_alias("alias/mine")) == key.key_arn
    assert arn_of(key) == key.key_arn


def test_a_key_of_volumes_lets_sagemaker_grant(stack: Stack) -> None:
    """
    And nothing else.
    """
    (encrypt,) = volume_statements(kms.Key(stack, "Key"))

    assert str(encrypt) == "EncryptVolumes (kms:CreateGrant)"


@pytest.mark.parametrize("what", ["answers", "captured", "volumes"])
def test_an_imported_alias_can_be_used(what: str, imported: kms.IAlias) -> None:
    """
    By the role of the endpoint.
    """
    ways: dict[str, dict[str, Any]] = {
        "answers": {"async_inference": AsyncInference(kms_key=imported)},
        "captured": {
            "data_capture": DataCapture(bucket="s3://own/x", kms_key=imported)
        },
        "volumes": {
            "kms_key": imported,
            "serving": Tgi("1.4.5"),
            "instance_type": "ml.p3.8xlarge",
        },
    }
    given: dict[str, Any] = {"model": GPT2, "instance_type": "ml.g5.2xlarge"}
    given |= ways[what]
    stack = Stack.of(imported)
    LlmEndpoint(stack, "Llm", **given)
    (policy,) = Template.from_stack(stack).find_resources("AWS::IAM::Policy").values()
    (found,) = (
        each
        for each in policy["Properties"]["PolicyDocument"]["Statement"]
        if "kms:" in str(each["Action"])
    )

    assert found["Sid"].endswith("ByAlias")
    assert found["Resource"]["Fn::Join"][1][-1].endswith(":111111111111:key/*")
    assert found["Condition"] == {
        "ForAnyValue:StringEquals": {"kms:ResourceAliases": ["alias/mine"]}
    }
