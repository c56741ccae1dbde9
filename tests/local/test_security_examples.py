"""
Roles and keys of one's own, and a model of another app are deployed.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from cdk_sagemaker_llm.hosting.models.artifact import tarball
from cdk_sagemaker_llm.local.builds import functions
from cdk_sagemaker_llm.local.engines.story import continue_prompt
from tests.deployments import example
from tests.local.conftest import ACCOUNT, REGION

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from cdk_sagemaker_llm.local import EmbeddedAws
    from tests.deployments import Deployer

PROMPT = "Who are you?"
EVERYTHING = {"Effect": "Allow", "Action": "*", "Resource": "*"}
BOUNDARY = f"arn:aws:iam::{ACCOUNT}:policy/platform-boundary"


def deploy(deployer: Deployer, name: str, folder: Path) -> dict[str, dict[str, str]]:
    """
    Deploy all stacks of an example; return their outputs.
    """
    return deployer.deploy(example(name, folder / "cdk.out")).checked().outputs


def put_weights(aws: EmbeddedAws) -> None:
    """
    Lay down what the examples serve: SageMaker looks whether it is there.
    """
    s3 = aws.client("s3")
    s3.create_bucket(Bucket="model-weights")
    packed = tarball({"adapter_config.json": b"{}"})
    for key, body in (
        ("mistral-7b/config.json", b"{}"),
        ("adapters/bakery.tar.gz", packed),
    ):
        s3.put_object(Bucket="model-weights", Key=key, Body=body)


def delete(aws: EmbeddedAws, *stacks: str) -> None:
    """
    Delete stacks, so that the next test finds none of it.
    """
    for stack in stacks:
        aws.client("cloudformation").delete_stack(StackName=stack)


def uploaded(aws: EmbeddedAws, assembly: Path) -> bytes:
    """
    Return the code that was uploaded.
    """
    template = json.loads((assembly / "Web.template.json").read_text())
    (key,) = (
        resource["Properties"]["Code"]["S3Key"]
        for resource in template["Resources"].values()
        if resource["Type"] == "AWS::Lambda::Function"
    )
    bucket = f"cdk-hnb659fds-assets-{ACCOUNT}-{REGION}"
    body: bytes = aws.client("s3").get_object(Bucket=bucket, Key=key)["Body"].read()
    return body


def deployed(found: Mapping[str, Any], code: bytes) -> functions.Function:
    """
    Return a function as Lambda describes it, to be run here.
    """
    return functions.Function(
        arn=found["FunctionArn"],
        name=found["FunctionName"],
        runtime=found["Runtime"],
        handler=found["Handler"],
        code=code,
        environment=found["Environment"]["Variables"],
        timeout=found["Timeout"],
        memory=found["MemorySize"],
    )


def roles_of(aws: EmbeddedAws) -> dict[str, dict[str, Any]]:
    """
    Return every role that is there, by its name, but for those of services.
    """
    iam = aws.client("iam")
    roles = iam.list_roles()["Roles"]
    names = [role["RoleName"] for role in roles if role["Path"] == "/"]
    return {name: iam.get_role(RoleName=name)["Role"] for name in names}


def test_a_function_streams_from_another_apps_model(
    fresh_aws: EmbeddedAws,
    fresh_deployer: Deployer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """
    The deployed bytes run, with the deployed variables, and find the model by its
    parameter.
    """
    outputs = deploy(fresh_deployer, "use_from_another_app", tmp_path)
    name = outputs["Web"]["FunctionName"]
    for variable, value in fresh_aws.environment.items():
        monkeypatch.setenv(variable, value)
    function = fresh_aws.client("lambda").get_function_configuration(FunctionName=name)
    ran = functions.run_function(
        deployed(function, uploaded(fresh_aws, tmp_path / "cdk.out")),
        {"prompt": PROMPT},
    )
    role = function["Role"].rpartition("/")[2]
    iam = fresh_aws.client("iam")
    (policy,) = iam.list_role_policies(RoleName=role)["PolicyNames"]
    document = iam.get_role_policy(RoleName=role, PolicyName=policy)["PolicyDocument"]
    (endpoint,) = fresh_aws.client("sagemaker").list_endpoints()["Endpoints"]
    delete(fresh_aws, "Web", "Models")

    told = continue_prompt(PROMPT, 256)
    assert "error" not in ran.returned
    assert ran.returned["text"] == told.text
    assert ran.returned["tokens"] > 10
    assert ran.returned["seconds_to_first_token"] >= 0
    # The parameter has become the ARN, and nothing else of the model is open to it.
    assert document["Statement"] == [
        {
            "Action": [
                "sagemaker:InvokeEndpoint",
                "sagemaker:InvokeEndpointWithResponseStream",
            ],
            "Effect": "Allow",
            "Resource": endpoint["EndpointArn"],
        },
        {
            "Action": "sagemaker:CallWithBearerToken",
            "Effect": "Allow",
            "Resource": "*",
        },
        {
            "Action": "ssm:GetParameter",
            "Effect": "Allow",
            "Resource": f"arn:aws:ssm:{REGION}:{ACCOUNT}:parameter/llm/chat",
        },
    ]


def test_a_given_role_stays_and_others_are_bounded(
    fresh_aws: EmbeddedAws, fresh_deployer: Deployer, tmp_path: Path
) -> None:
    """
    No policy reaches the platform team's role, and every role that is made has the
    boundary.
    """
    put_weights(fresh_aws)
    iam = fresh_aws.client("iam")
    iam.create_policy(
        PolicyName="platform-boundary",
        PolicyDocument=json.dumps({"Version": "2012-10-17", "Statement": [EVERYTHING]}),
    )
    iam.create_role(RoleName="llm-runtime", AssumeRolePolicyDocument="{}")
    before = set(roles_of(fresh_aws))
    outputs = deploy(fresh_deployer, "bring_your_own_role", tmp_path)
    made = {
        name: role for name, role in roles_of(fresh_aws).items() if name not in before
    }
    inline = iam.list_role_policies(RoleName="llm-runtime")["PolicyNames"]
    sagemaker = fresh_aws.client("sagemaker")
    runs_by = {
        model["ModelName"]: sagemaker.describe_model(ModelName=model["ModelName"])
        for model in sagemaker.list_models()["Models"]
    }
    delete(fresh_aws, "Given", "Bounded")

    assert {stack for stack, values in outputs.items() if values} == {"Given"}
    assert inline == []
    assert f"arn:aws:iam::{ACCOUNT}:role/llm-runtime" in {
        model["ExecutionRoleArn"] for model in runs_by.values()
    }
    assert len(made) == 2
    assert {
        role["PermissionsBoundary"]["PermissionsBoundaryArn"] for role in made.values()
    } == {BOUNDARY}


def test_one_key_encrypts_all_that_lies_still(
    fresh_aws: EmbeddedAws, fresh_deployer: Deployer, tmp_path: Path
) -> None:
    """
    Volumes where the type has them, and no key where it has NVMe storage.
    """
    put_weights(fresh_aws)
    deploy(fresh_deployer, "customer_managed_key", tmp_path)
    sagemaker = fresh_aws.client("sagemaker")
    configs = [
        sagemaker.describe_endpoint_config(EndpointConfigName=one["EndpointConfigName"])
        for one in sagemaker.list_endpoint_configs()["EndpointConfigs"]
    ]
    keys = fresh_aws.client("kms").list_keys()["Keys"]
    delete(fresh_aws, "Encrypted", "Keys")

    by_type: dict[str, list[dict[str, Any]]] = {}
    for one in configs:
        (variant,) = one["ProductionVariants"]
        by_type.setdefault(variant["InstanceType"], []).append(one)
    (batch,) = by_type["ml.c7g.4xlarge"]
    assert batch["KmsKeyId"] in {key["KeyArn"] for key in keys}
    assert (
        batch["AsyncInferenceConfig"]["OutputConfig"]["KmsKeyId"] == (batch["KmsKeyId"])
    )
    assert [one.get("KmsKeyId") for one in by_type["ml.g5.2xlarge"]] == [None, None]
