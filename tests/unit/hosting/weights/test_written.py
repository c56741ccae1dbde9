"""
Every property of what staging writes, and what waits for what.
"""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from aws_cdk import App, Duration, RemovalPolicy, SecretValue, Stack
from aws_cdk import aws_codebuild as codebuild
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecr as ecr
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_secretsmanager as secretsmanager
from aws_cdk.assertions import Annotations, Match

from cdk_sagemaker_llm import (
    HuggingFaceModel,
    InstanceType,
    Network,
    StagedModel,
    TensorRtLlm,
)
from cdk_sagemaker_llm.catalog.instances import find_instance_type
from cdk_sagemaker_llm.hosting.weights.compiling import volume_gib_of
from tests.unit.hosting.weights.test_compiling import compiled, order
from tests.unit.hosting.weights.test_staged_model import (
    BASE,
    COMMIT,
    a_bucket,
    a_stack,
    of_type,
    only,
    staged,
    statements,
    tails,
    variables,
)

_HASH = re.compile(r"([0-9a-f]{8})?[0-9A-F]{8}$")
INSTALL = (
    "python3 -m pip install --quiet --require-hashes --only-binary :all: "
    "--requirement requirements.txt"
)
ASSETS = "cdk-hnb659fds-assets-111111111111-us-east-1"


def short(name: str) -> str:
    """
    Return a logical id without its hashes.
    """
    return _HASH.sub("", name)


def waits(stack: Stack, kind: str) -> list[set[str]]:
    """
    Return what the resources of a type wait for.
    """
    return [set(map(short, one.get("DependsOn", ()))) for one in of_type(stack, kind)]


def shortened(value: Any) -> Any:  # noqa: ANN401 - JSON
    """
    Write references as text.
    """
    if isinstance(value, list):
        return [shortened(one) for one in value]
    if not isinstance(value, dict):
        return value
    if set(value) == {"Ref"}:
        return short(value["Ref"])
    if set(value) == {"Fn::GetAtt"}:
        return ".".join([short(value["Fn::GetAtt"][0]), value["Fn::GetAtt"][1]])
    return {key: shortened(one) for key, one in value.items()}


def test_the_project_is_all_that_it_is() -> None:
    """
    Made when its role may what it does: CodeBuild looks at the VPC with it.
    """
    stack = a_stack()
    staged(stack)
    project = shortened(only(stack, "AWS::CodeBuild::Project"))
    source = project.pop("Source")

    assert re.fullmatch(ASSETS + r"/[0-9a-f]{64}\.zip", source["Location"])
    assert source["Type"] == "S3"
    assert json.loads(source["BuildSpec"]) == {
        "version": "0.2",
        "phases": {
            "install": {
                "runtime-versions": {"python": "3.12"},
                "commands": [
                    INSTALL,
                ],
            },
            "build": {"commands": ["python3 -m cdk_sagemaker_llm.staging"]},
        },
    }
    project.pop("EncryptionKey", None)
    assert project == {
        "Artifacts": {"Type": "NO_ARTIFACTS"},
        "Description": "Brings one revision of a model into a bucket",
        "Environment": {
            "ComputeType": "BUILD_GENERAL1_LARGE",
            "EnvironmentVariables": [
                {"Name": "HF_HUB_DISABLE_TELEMETRY", "Type": "PLAINTEXT", "Value": "1"}
            ],
            "Image": "aws/codebuild/amazonlinux-x86_64-standard:5.0",
            "ImagePullCredentialsType": "CODEBUILD",
            "Type": "LINUX_CONTAINER",
        },
        "LogsConfig": {
            "CloudWatchLogs": {"GroupName": "WeightsBuildLog", "Status": "ENABLED"}
        },
        "QueuedTimeoutInMinutes": 480,
        "ServiceRole": "WeightsBuildRole.Arn",
        "TimeoutInMinutes": 60,
    }
    assert waits(stack, "AWS::CodeBuild::Project") == [{"WeightsBuildAccess"}]


def test_the_function_hears_of_builds_that_ended_badly() -> None:
    """
    Of its project alone; and its log, like the build's, goes with the stack.
    """
    stack = a_stack()
    staged(stack)
    function = shortened(only(stack, "AWS::Lambda::Function"))
    rule = shortened(only(stack, "AWS::Events::Rule"))
    del function["Code"]

    assert function == {
        "Description": "Starts the staging of a model, and tells how it ended",
        "Handler": "cdk_sagemaker_llm.staging.starting.handler",
        "LoggingConfig": {"LogGroup": "WeightsStarterLog"},
        "MemorySize": 256,
        "Role": "WeightsStarterRole.Arn",
        "Runtime": "python3.14",
        "Timeout": 900,
    }
    assert rule["EventPattern"] == {
        "source": ["aws.codebuild"],
        "detail-type": ["CodeBuild Build State Change"],
        "detail": {
            "project-name": ["WeightsBuild"],
            "build-status": ["FAILED", "FAULT", "STOPPED", "TIMED_OUT"],
        },
    }
    assert [one["Arn"] for one in rule["Targets"]] == ["WeightsStarter.Arn"]
    for log in of_type(stack, "AWS::Logs::LogGroup"):
        assert log["Properties"] == {"RetentionInDays": 90}
        assert log["DeletionPolicy"] == "Delete"


def test_nothing_starts_before_all_is_ready() -> None:
    """
    Neither before a role may, nor before the end of a build would be heard of.
    """
    stack = a_stack()
    staged(stack)
    condition = shortened(only(stack, "AWS::CloudFormation::WaitCondition"))

    assert waits(stack, "Custom::StagedModel") == [
        # It refers to the build and to the function, and waits for them by that.
        {
            "WeightsBuildFailed",
            "WeightsBuildFailedAllowEventRuleStackWeightsStarter9E8C4DA2",
            "WeightsStarterAccess",
        }
    ]
    assert waits(stack, "AWS::CloudFormation::WaitCondition") == [
        {"WeightsDownloadStart"}
    ]
    assert condition == {
        "Count": 1,
        "Handle": "WeightsDownloadHandle",
        "Timeout": "33300",
    }
    started = shortened(only(stack, "Custom::StagedModel"))
    assert started["Handle"] == "WeightsDownloadHandle"
    assert started["Project"] == "WeightsBuild"


def test_engines_are_compiled_when_their_weights_are_there() -> None:
    """
    By what may do so, when the end of the job would be heard of.
    """
    stack = a_stack()
    compiled(stack, TensorRtLlm("0.26.0", tensor_parallel_degree=4))
    download, compile_ = sorted(waits(stack, "Custom::StagedModel"), key=len)

    assert compile_ - download == {"EnginesDownloadDone"}
    assert {"EnginesCompileAccess", "EnginesJobEnded"} <= download


def test_images_of_ones_own_are_pulled_with_the_role() -> None:
    """
    From the repository that it names.
    """
    stack = a_stack()
    repository = ecr.Repository.from_repository_name(stack, "Images", "builders")
    image = codebuild.LinuxBuildImage.from_ecr_repository(repository, "1")
    staged(stack, build_image=image, compute_type=codebuild.ComputeType.MEDIUM)
    policies = json.dumps(of_type(stack, "AWS::IAM::Policy"))
    environment = only(stack, "AWS::CodeBuild::Project")["Environment"]

    assert "ecr:BatchGetImage" in policies
    assert ":repository/builders" in policies
    assert environment["ImagePullCredentialsType"] == "SERVICE_ROLE"
    assert environment["ComputeType"] == "BUILD_GENERAL1_MEDIUM"


@pytest.mark.parametrize(
    ("token", "value", "resource"),
    [
        (
            SecretValue.secrets_manager("team/token"),
            "team/token",
            ":secret:team/token-??????",
        ),
        (
            SecretValue.secrets_manager("team/token", json_field="hf"),
            "team/token:hf",
            ":secret:team/token-??????",
        ),
        (
            SecretValue.secrets_manager("it", json_field="hf", version_stage="OLD"),
            "it:hf:OLD",
            ":secret:it-??????",
        ),
        (
            SecretValue.secrets_manager("it", json_field="hf", version_id="1"),
            "it:hf::1",
            ":secret:it-??????",
        ),
        (
            SecretValue.secrets_manager(
                "arn:aws:secretsmanager:us-east-1:111111111111:secret:it-AbCdEf",
                json_field="hf",
            ),
            "arn:aws:secretsmanager:us-east-1:111111111111:secret:it-AbCdEf:hf",
            "arn:aws:secretsmanager:us-east-1:111111111111:secret:it-AbCdEf",
        ),
    ],
)
def test_a_token_is_named_and_may_be_read(
    token: SecretValue, value: str, resource: str
) -> None:
    """
    As CodeBuild wants it: secret, key, stage and version.
    """
    stack = a_stack()
    staged(stack, model=HuggingFaceModel("gpt2", revision=COMMIT, token=token))
    read = statements(stack, "BuildAccess")["ReadToken"]

    assert variables(stack)["HF_TOKEN"] == ("SECRETS_MANAGER", value)
    assert read["Action"] == "secretsmanager:GetSecretValue"
    assert resource in json.dumps(read["Resource"])


@pytest.mark.parametrize("has_key", [True, False])
def test_a_secret_is_decrypted_with_its_own_key(*, has_key: bool) -> None:
    """
    Where it has one.
    """
    stack = a_stack()
    key = kms.Key(stack, "Key") if has_key else None
    secret = secretsmanager.Secret(stack, "Token", encryption_key=key)
    staged(stack, model=HuggingFaceModel("gpt2", revision=COMMIT, token=secret))
    found = statements(stack, "BuildAccess")

    assert ("DecryptToken" in found) == has_key
    assert "ReadToken" in found
    assert variables(stack)["HF_TOKEN"][0] == "SECRETS_MANAGER"


def test_the_function_may_do_just_this() -> None:
    """
    With the bucket's key too, in its folder, and of its own revision what it removes.
    """
    stack = a_stack()
    key = kms.Key(stack, "Key")
    bucket = s3.Bucket.from_bucket_attributes(
        stack, "Own", bucket_name="bucket", encryption_key=key
    )
    staged(stack, bucket=bucket, removal_policy=RemovalPolicy.DESTROY)
    found = statements(stack, "StarterAccess")
    listed = found["ListStaged"]["Condition"]["StringLike"]["s3:prefix"]
    removed = statements(stack, "RemovalAccess")["RemoveWeights"]

    assert shortened(found["StartBuilds"]["Resource"]) == "WeightsBuild.Arn"
    assert found["StartBuilds"]["Action"] == [
        "codebuild:BatchGetBuilds",
        "codebuild:ListBuildsForProject",
        "codebuild:StartBuild",
        "codebuild:StopBuild",
    ]
    assert listed == ["models/*"]
    assert found["UseKey"]["Action"] == ["kms:Decrypt", "kms:GenerateDataKey"]
    assert tails(removed) == [f":s3:::bucket/{BASE}/*", f":s3:::bucket/{BASE}.jobs/*"]
    arn = {"Fn::Join": ["", ["arn:", "AWS::Partition", ":s3:::bucket"]]}
    assert shortened(found["ListStaged"]["Resource"]) == arn
    assert shortened(found["LogStarts"]["Resource"]) == "WeightsStarterLog.Arn"


def test_the_function_hands_on_one_role_and_lists_one_bucket() -> None:
    """
    That of the job, to SageMaker; and the bucket of the engines.
    """
    stack = a_stack()
    compiled(stack, TensorRtLlm("0.26.0", tensor_parallel_degree=4))
    found = statements(stack, "StarterAccess")

    arn = {"Fn::Join": ["", ["arn:", "AWS::Partition", ":s3:::bucket"]]}
    assert shortened(found["PassRole"]["Resource"]) == "EnginesCompileRole.Arn"
    assert shortened(found["ListJobs"]["Resource"]) == arn


def test_nothing_may_be_done_to_everything() -> None:
    """
    But what has no resource to name: logging in to a registry, metrics, and the
    network interfaces of a build in a VPC.
    """
    stack = a_stack()
    network = Network(vpc=ec2.Vpc(stack, "Vpc"))
    compiled(
        stack,
        TensorRtLlm("0.26.0", tensor_parallel_degree=4),
        network=network,
        removal_policy=RemovalPolicy.DESTROY,
    )
    open_ones = {
        each["Sid"]
        for policy in of_type(stack, "AWS::IAM::Policy")
        for each in policy["Properties"]["PolicyDocument"]["Statement"]
        if each["Resource"] == "*"
    }

    assert open_ones == {"AttachToVpc", "LogInToRegistries", "PublishMetrics"}


@pytest.mark.parametrize(
    ("asked", "is_taken"),
    [
        ({"timeout": Duration.seconds(299)}, False),
        ({"timeout": Duration.seconds(300)}, True),
        ({"timeout": Duration.seconds(41_400)}, True),
        ({"timeout": Duration.seconds(41_401)}, False),
        ({"folder": "a" * 200}, True),
        ({"folder": "a" * 201}, False),
        ({"folder": "a/b"}, True),
        ({"folder": "a//b"}, False),
        ({"folder": "a b"}, False),
        ({"include": [" "]}, False),
    ],
)
def test_limits_have_two_sides(asked: dict[str, Any], *, is_taken: bool) -> None:
    """
    What is just inside is taken, and what is just outside is not.
    """
    if is_taken:
        assert staged(a_stack(), **asked).project_name
        return
    with pytest.raises(ValueError, match=r"LLM7(65|69|71) "):
        staged(a_stack(), **asked)


@pytest.mark.parametrize(
    ("region", "is_taken"),
    [
        ("us-east-1", True),
        (None, True),
        # The CDK's word for one that it does not know.
        ("unknown-region", True),
        ("us-east-2", False),
    ],
)
def test_a_bucket_is_of_the_same_region(region: str | None, *, is_taken: bool) -> None:
    """
    As far as that is known.
    """
    stack = a_stack()
    bucket = s3.Bucket.from_bucket_attributes(
        stack, "Own", bucket_name="bucket", region=region
    )
    if is_taken:
        assert staged(stack, bucket=bucket).project_name
        return
    with pytest.raises(ValueError, match=r"LLM763 bucket is in us-east-2"):
        staged(stack, bucket=bucket)


@pytest.mark.parametrize(("minutes", "is_told"), [(31, True), (32, False)])
def test_a_short_time_is_told(minutes: int, *, is_told: bool) -> None:
    """
    Mixtral takes 32 minutes.
    """
    stack = a_stack()
    large = HuggingFaceModel("mistralai/Mixtral-8x7B-v0.1", revision=COMMIT)
    staged(stack, model=large, timeout=Duration.minutes(minutes))
    found = Annotations.from_stack(stack).find_warning("*", Match.any_value())

    assert any("LLM861" in str(one.entry.data) for one in found) == is_told


def test_a_bucket_of_no_known_region_is_taken() -> None:
    """
    Its stack may be deployed to this one.
    """
    app = App()
    bucket = s3.Bucket.from_bucket_name(Stack(app, "Agnostic"), "Own", "bucket")

    assert staged(a_stack(app), bucket=bucket).project_name


@pytest.mark.parametrize("removal_policy", RemovalPolicy)
def test_weights_are_removed_by_one_policy_alone(removal_policy: RemovalPolicy) -> None:
    """
    Whatever others there are.
    """
    stack = a_stack()
    bucket = a_bucket(stack)
    model = HuggingFaceModel("gpt2", revision=COMMIT)
    StagedModel(stack, "It", model=model, bucket=bucket, removal_policy=removal_policy)
    expected = "false" if removal_policy is RemovalPolicy.DESTROY else "true"

    assert only(stack, "Custom::StagedModel")["Keep"] == expected


@pytest.mark.parametrize(
    ("weight_bytes", "type_name", "expected"),
    [
        # Three times what it is, and 30 GiB.
        (10 * 2**30, "ml.g5.12xlarge", 60),
        (10 * 2**30 + 1, "ml.g5.12xlarge", 61),
        (None, "ml.g5.12xlarge", 500),
        # SageMaker API reference, ProcessingClusterConfig: no more than the instance's
        # own storage, which is mounted in place of a volume.
        (None, "ml.g5.xlarge", 250),
        (None, "ml.g4dn.xlarge", 125),
        (100 * 2**30, "ml.g6.xlarge", 250),
        # A type of network volumes.
        (None, "ml.p3.8xlarge", 500),
    ],
)
def test_a_volume_holds_three_copies_where_it_may(
    weight_bytes: int | None, type_name: str, expected: int
) -> None:
    """
    The weights, their checkpoint and the engines.
    """
    assert volume_gib_of(find_instance_type(type_name), weight_bytes) == expected


def test_a_volume_of_an_unknown_type_is_not_limited() -> None:
    """
    Nothing is known of its storage.
    """
    newer = InstanceType.of("ml.p9.4xlarge", accelerators=1, vcpus=16, memory_gib=256)

    assert volume_gib_of(newer, None) == 500


def test_the_order_of_a_small_type_asks_for_what_it_has() -> None:
    """
    A model of unknown size on one A10G.
    """
    stack = a_stack()
    model = HuggingFaceModel(
        "org/unknown", revision=COMMIT, architecture="MistralForCausalLM"
    )
    serving = TensorRtLlm("0.26.0", tensor_parallel_degree=1)
    compiled(stack, serving, "ml.g5.xlarge", model=model)

    assert order(stack)["volume_gib"] == 250
