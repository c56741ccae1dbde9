"""
What an account lacks of what an app needs is found before anything is deployed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import boto3
import pytest
from botocore import xform_name
from botocore.model import OperationModel

from cdk_sagemaker_llm.account.preflight import (
    CALLS,
    Preflight,
    account_of,
    calls_for,
    preflight,
)
from cdk_sagemaker_llm.account.reader import AccountReader, policy_of
from cdk_sagemaker_llm.cli.app.needs import read_needs
from cdk_sagemaker_llm.local import EmbeddedAws
from tests.deployments import Deployer, example
from tests.local.near import NearAws
from tests.local.preflight_app import (
    REGION,
    TYPE,
    Ready,
    make_ready,
    make_service_role,
    write_app,
)

_EXAMPLES = (
    "one_model",
    "scale_to_zero",
    "canary_with_rollback",
    "in_a_vpc",
    "instance_pools",
    "staged_weights",
)


@pytest.fixture(name="aws")
def _aws() -> Iterator[EmbeddedAws]:
    """
    Give an account of its own to each test.
    """
    with NearAws() as aws:
        yield aws
        aws.clear_faults()


@pytest.fixture(name="ready")
def _ready(aws: EmbeddedAws) -> Ready:
    return make_ready(aws)


def _asked(aws: EmbeddedAws, path: Path) -> Preflight:
    session = boto3.Session("test", "test", region_name=REGION)
    reader = AccountReader(session, CALLS, endpoint_url=aws.url)
    account = account_of(reader)
    needs = read_needs(path, account=account, region=REGION, partition="aws")
    return preflight(needs, reader, account=account)


def _codes(found: Preflight) -> list[str]:
    return [finding.code for _, finding in found.findings]


def test_nothing_is_found_where_all_is_well(
    aws: EmbeddedAws, ready: Ready, tmp_path: Path
) -> None:
    """
    And nothing is left unasked.
    """
    found = _asked(aws, write_app(ready, tmp_path))

    assert (found.findings, found.not_asked) == ([], [])


def test_nothing_is_found_of_the_examples_where_all_is_well(
    aws: EmbeddedAws, tmp_path: Path
) -> None:
    """
    Of a bootstrapped account that has the weights they serve.
    """
    Deployer(aws)
    make_service_role(aws)
    aws.client("s3").create_bucket(Bucket="model-weights")
    aws.client("s3").put_object(Bucket="model-weights", Key="mistral-7b/x", Body=b"x")

    found = {
        name: _asked(aws, example(name, tmp_path / name)).findings for name in _EXAMPLES
    }

    assert {name: each for name, each in found.items() if each} == {}


def test_what_the_app_has_made_itself_is_well(aws: EmbeddedAws, tmp_path: Path) -> None:
    """
    Its endpoint has its name, and Application Auto Scaling has made its role.
    """
    deployer = Deployer(aws)
    paths = [
        example(name, tmp_path / name)
        for name in ("canary_with_rollback", "scale_to_zero")
    ]
    for path in paths:
        deployer.deploy(path).checked()

    assert [_asked(aws, path).findings for path in paths] == [[], []]


def _low_quota(aws: EmbeddedAws, _: Ready) -> None:
    aws.fault("quota", TYPE)


def _not_offered(aws: EmbeddedAws, _: Ready) -> None:
    aws.fault("not-offered", TYPE)


def _no_tag(aws: EmbeddedAws, _: Ready) -> None:
    aws.client("ecr").batch_delete_image(
        repositoryName="chat", imageIds=[{"imageTag": "1.0"}]
    )


def _no_object(aws: EmbeddedAws, ready: Ready) -> None:
    aws.client("s3").delete_object(
        Bucket=f"weights-{ready.account}", Key="chat/model.tar.gz"
    )


def _disabled_key(aws: EmbeddedAws, ready: Ready) -> None:
    aws.client("kms").disable_key(KeyId=ready.key.rpartition("/")[2])


def _empty_secret(aws: EmbeddedAws, _: Ready) -> None:
    secrets = aws.client("secretsmanager")
    secrets.delete_secret(SecretId="hub", ForceDeleteWithoutRecovery=True)
    secrets.create_secret(Name="hub")


def _full_subnet(aws: EmbeddedAws, ready: Ready) -> None:
    for _ in range(24):
        aws.client("ec2").create_network_interface(SubnetId=ready.subnet)


def _taken_name(aws: EmbeddedAws, _: Ready) -> None:
    sagemaker = aws.client("sagemaker")
    variant = {"VariantName": "A", "InstanceType": TYPE, "InitialInstanceCount": 1}
    sagemaker.create_endpoint_config(
        EndpointConfigName="other",
        ProductionVariants=[variant],
        ExecutionRoleArn=f"arn:aws:iam::{aws.account}:role/chat",
    )
    sagemaker.create_endpoint(EndpointName="chat", EndpointConfigName="other")


def _other_trust(aws: EmbeddedAws, _: Ready) -> None:
    trust = {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Effect": "Allow",
                "Principal": {"Service": "ec2.amazonaws.com"},
                "Action": "sts:AssumeRole",
            }
        ],
    }
    aws.client("iam").update_assume_role_policy(
        RoleName="chat", PolicyDocument=json.dumps(trust)
    )


def _expired_plan(aws: EmbeddedAws, _: Ready) -> None:
    aws.fault("plan-expired", "spring")


@pytest.mark.parametrize(
    ("seed", "code", "words"),
    [
        (_low_quota, "LLM561", "'ml.g5.12xlarge for endpoint usage' of us-east-1 is 0"),
        (_not_offered, "LLM662", "us-east-1 has no service quota"),
        (_no_tag, "LLM562", "chat:1.0 is not there (ImageNotFound)"),
        (_no_object, "LLM563", "/chat/model.tar.gz is not there"),
        (_disabled_key, "LLM566", "is Disabled, and must be Enabled"),
        (_empty_secret, "LLM564", "the secret hub is not there, or has no value yet"),
        (_full_subnet, "LLM570", "have 3 free addresses, and 4 instances must start"),
        (_taken_name, "LLM572", "an endpoint named chat is there, and stack Chat"),
        (_other_trust, "LLM568", "the role chat does not let sagemaker.amazonaws.com"),
        (_expired_plan, "LLM571", "the training plan spring is Expired: it ended on"),
    ],
)
def test_each_fault_of_an_account_is_found(
    seed: Callable[[EmbeddedAws, Ready], None],
    code: str,
    words: str,
    aws: EmbeddedAws,
    ready: Ready,
    tmp_path: Path,
) -> None:
    """
    By its own code, and no other one's.
    """
    seed(aws, ready)

    found = _asked(aws, write_app(ready, tmp_path))

    assert set(_codes(found)) == {code}
    assert any(words in finding.message for _, finding in found.findings)
    assert all(finding.remedy for _, finding in found.findings)


def test_all_calls_are_in_the_printed_policy(
    aws: EmbeddedAws, ready: Ready, tmp_path: Path
) -> None:
    """
    Whatever boto3 sends, its action is allowed there, and nothing else is.
    """
    called = set()

    def record(model: OperationModel, **_: object) -> None:
        called.add((model.service_model.service_name, xform_name(model.name)))

    session = boto3.Session("test", "test", region_name=REGION)
    session.events.register("before-call", record)
    needs = read_needs(
        write_app(ready, tmp_path),
        account=ready.account,
        region=REGION,
        partition="aws",
    )
    calls = calls_for(needs)
    reader = AccountReader(session, calls, endpoint_url=aws.url)

    account_of(reader)
    found = preflight(needs, reader, account=ready.account)

    actions = {(call.service, call.operation): call.actions for call in CALLS}
    statements = policy_of(calls)["Statement"]
    allowed = {action for one in statements for action in one["Action"]}
    assert found.not_asked == []
    assert {each for one in called for each in actions[one]} <= allowed
    assert [
        one["Resource"]
        for one in statements
        if "secretsmanager:GetSecretValue" in one["Action"]
    ] == [["arn:aws:secretsmanager:*:*:secret:hub-??????"]]


def test_no_call_changes_anything() -> None:
    """
    By what they are called.
    """
    reading = ("get_", "list_", "describe_", "head_", "batch_get_")

    assert all(call.operation.startswith(reading) for call in CALLS)
