"""
What a staged model writes into a template.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from aws_cdk import App, Duration, Environment, RemovalPolicy, SecretValue, Stack, Stage
from aws_cdk import aws_codebuild as codebuild
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecr as ecr
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_secretsmanager as secretsmanager
from aws_cdk.assertions import Annotations, Match, Template

from cdk_sagemaker_llm import (
    HuggingFaceModel,
    LlmEndpoint,
    Network,
    S3Model,
    StagedModel,
    Vllm,
)
from tests.unit.hosting.written import awaited_in

COMMIT = "0123456789abcdef0123456789abcdef01234567"
MODEL = HuggingFaceModel("Qwen/Qwen3-0.6B", revision=COMMIT)
BASE = f"models/Qwen--Qwen3-0.6B/{COMMIT}"


def a_stack(app: App | None = None) -> Stack:
    """
    Return a stack of a known environment, so that ARNs are short.
    """
    env = Environment(account="111111111111", region="us-east-1")
    return Stack(app or App(), "Stack", env=env)


def a_bucket(stack: Stack, name: str = "bucket") -> s3.IBucket:
    """
    Return a bucket that was there before.
    """
    return s3.Bucket.from_bucket_name(stack, f"Bucket{name}", name)


def staged(stack: Stack, **more: Any) -> StagedModel:  # noqa: ANN401 - any keyword
    """
    Stage a small model.
    """
    given = {"model": MODEL, "bucket": a_bucket(stack), **more}
    return StagedModel(stack, "Weights", **given)


def of_type(stack: Stack, kind: str) -> list[dict[str, Any]]:
    """
    Return the resources of a type.
    """
    found = Template.from_stack(stack).find_resources(kind)
    return [dict(one) for one in found.values()]


def only(stack: Stack, kind: str) -> dict[str, Any]:
    """
    Return the properties of the one resource of a type.
    """
    (found,) = of_type(stack, kind)
    properties: dict[str, Any] = found["Properties"]
    return properties


def statements(stack: Stack, name: str) -> dict[str, dict[str, Any]]:
    """
    Return by their names the statements of the one policy whose id has a word.
    """
    policies = Template.from_stack(stack).find_resources("AWS::IAM::Policy")
    (found,) = (one for place, one in policies.items() if name in place)
    every = found["Properties"]["PolicyDocument"]["Statement"]
    return {one["Sid"]: one for one in every}


def tails(statement: dict[str, Any]) -> list[str]:
    """
    Return how the resources of a statement end: what stands after the last token.
    """
    found = statement["Resource"]
    every = found if isinstance(found, list) else [found]
    return [one if isinstance(one, str) else one["Fn::Join"][1][-1] for one in every]


def variables(stack: Stack) -> dict[str, tuple[str, Any]]:
    """
    Return the build's variables: their types and values.
    """
    project = only(stack, "AWS::CodeBuild::Project")
    every = project["Environment"]["EnvironmentVariables"]
    return {one["Name"]: (one["Type"], one["Value"]) for one in every}


def test_a_model_is_made_after_its_weights_are_there() -> None:
    """
    The endpoint reads the prefix, has no token, and waits for the condition.
    """
    stack = a_stack()
    weights = staged(stack)
    LlmEndpoint(
        stack,
        "Llm",
        model=weights.model,
        instance_type="ml.g6.xlarge",
        network=Network(isolated=True),
    )

    template = Template.from_stack(stack)
    (condition,) = template.find_resources("AWS::CloudFormation::WaitCondition")
    (model,) = of_type(stack, "AWS::SageMaker::Model")
    assert condition in model["DependsOn"]
    source = model["Properties"]["PrimaryContainer"]["ModelDataSource"]
    assert source["S3DataSource"]["S3Uri"] == f"s3://bucket/{BASE}/"
    assert "HF_TOKEN" not in model["Properties"]["PrimaryContainer"]["Environment"]
    assert weights.s3_uri == f"s3://bucket/{BASE}/"
    assert weights.manifest_uri == f"s3://bucket/{BASE}.json"
    assert weights.model == weights.weights
    assert weights.serving is None


def test_a_revision_is_asked_for_when_all_that_it_needs_is_there() -> None:
    """
    A build may write with its role's policy; one that dies is told of by the rule,
    which may call the function; and the handle's address begins to expire then.
    """
    stack = a_stack()
    staged(stack)

    assert awaited_in(stack, "CodeBuild::Project") == [["WeightsBuildAccess"]]
    for kind in ("CloudFormation::WaitConditionHandle", "Custom::StagedModel"):
        assert awaited_in(stack, kind) == [
            [
                "WeightsBuildFailed",
                "WeightsBuildFailedAllowEventRuleStackWeightsStarter",
                "WeightsStarterAccess",
            ]
        ]


def test_the_order_is_what_the_worker_reads() -> None:
    """
    And the custom resource says where, which project, and what becomes of it.
    """
    stack = a_stack()
    staged(stack, include=["*.json", "*.safetensors"], exclude=["b*"])

    properties = only(stack, "Custom::StagedModel")
    base = f"{BASE}-e9972ae8"
    assert properties["Base"] == base
    assert properties["Bucket"] == "bucket"
    assert properties["Keep"] == "true"
    assert json.loads(properties["Order"]) == {
        "model_id": "Qwen/Qwen3-0.6B",
        "revision": COMMIT,
        "bucket": "bucket",
        "prefix": f"{base}/",
        "manifest": f"{base}.json",
        "include": ["*.json", "*.safetensors"],
        "exclude": ["b*"],
    }


def test_the_build_may_write_its_prefix_and_nothing_else() -> None:
    """
    Every statement of the build's role.
    """
    stack = a_stack()
    staged(stack)
    (project_log, _) = sorted(
        Template.from_stack(stack).find_resources("AWS::Logs::LogGroup")
    )
    assets = "cdk-hnb659fds-assets-111111111111-us-east-1"
    found = statements(stack, "BuildAccess")
    worker = found.pop("ReadWorker")
    arn = {"Ref": "AWS::Partition"}

    assert worker["Action"] == ["s3:GetObject", "s3:GetObjectVersion"]
    assert f":s3:::{assets}/" in json.dumps(worker["Resource"])
    assert found == {
        "LocateWorker": {
            "Sid": "LocateWorker",
            "Effect": "Allow",
            "Action": "s3:GetBucketLocation",
            "Resource": {"Fn::Join": ["", ["arn:", arn, f":s3:::{assets}"]]},
        },
        "LogBuilds": {
            "Sid": "LogBuilds",
            "Effect": "Allow",
            "Action": ["logs:CreateLogStream", "logs:PutLogEvents"],
            "Resource": {"Fn::GetAtt": [project_log, "Arn"]},
        },
        "WriteWeights": {
            "Sid": "WriteWeights",
            "Effect": "Allow",
            "Action": ["s3:AbortMultipartUpload", "s3:GetObject", "s3:PutObject"],
            "Resource": [
                {"Fn::Join": ["", ["arn:", arn, f":s3:::bucket/{BASE}/*"]]},
                {"Fn::Join": ["", ["arn:", arn, f":s3:::bucket/{BASE}.json"]]},
            ],
        },
        "FindWeights": {
            "Sid": "FindWeights",
            "Effect": "Allow",
            "Action": "s3:ListBucket",
            "Resource": {"Fn::Join": ["", ["arn:", arn, ":s3:::bucket"]]},
            "Condition": {"StringLike": {"s3:prefix": [f"{BASE}/*", f"{BASE}.json"]}},
        },
    }


@pytest.mark.parametrize(
    ("policy", "keep", "may_remove"),
    [
        (RemovalPolicy.RETAIN, "true", False),
        (RemovalPolicy.DESTROY, "false", True),
    ],
)
def test_only_what_may_be_removed_lets_the_function_remove(
    policy: RemovalPolicy, keep: str, *, may_remove: bool
) -> None:
    """
    Kept weights are out of its reach.
    """
    stack = a_stack()
    staged(stack, removal_policy=policy)

    assert only(stack, "Custom::StagedModel")["Keep"] == keep
    policies = Template.from_stack(stack).find_resources("AWS::IAM::Policy")
    assert any("RemovalAccess" in each for each in policies) == may_remove
    assert sorted(statements(stack, "StarterAccess")) == [
        "ListStaged",
        "LogStarts",
        "MarkOwners",
        "ReadManifest",
        "StartBuilds",
    ]


def test_the_function_may_remove_its_own_revision_and_nothing_else() -> None:
    """
    Its files, what jobs left, and the manifest, which is put back where another stack
    comes in between; the request for the revision waits for that.
    """
    stack = a_stack()
    staged(stack, removal_policy=RemovalPolicy.DESTROY)
    found = statements(stack, "RemovalAccess")
    (start,) = of_type(stack, "Custom::StagedModel")

    written = {sid: (each["Action"], tails(each)) for sid, each in found.items()}
    assert written == {
        "RemoveWeights": (
            "s3:DeleteObject",
            [f":s3:::bucket/{BASE}/*", f":s3:::bucket/{BASE}.jobs/*"],
        ),
        "RemoveWeights2": (
            ["s3:DeleteObject", "s3:PutObject"],
            [f":s3:::bucket/{BASE}.json"],
        ),
    }
    assert any("RemovalAccess" in each for each in start["DependsOn"])


def test_another_revision_is_another_policy_of_removal() -> None:
    """
    CloudFormation has the revision before released as long as its own policy is there.
    """
    names = []
    for revision in (COMMIT, "f" * 40):
        stack = a_stack()
        model = HuggingFaceModel("Qwen/Qwen3-0.6B", revision=revision)
        staged(stack, model=model, removal_policy=RemovalPolicy.DESTROY)
        policies = Template.from_stack(stack).find_resources("AWS::IAM::Policy")
        names += [each for each in policies if "RemovalAccess" in each]

    assert len(set(names)) == 2


@pytest.mark.parametrize(
    ("folder", "home"), [("team/llm", "team/llm/"), ("", "Qwen--Qwen3-0.6B/")]
)
def test_the_revision_before_can_be_released(folder: str, home: str) -> None:
    """
    CloudFormation asks for it when the policy is the new revision's: it is of the
    whole folder, or of the model where there is none.
    """
    stack = a_stack()
    staged(stack, folder=folder, removal_policy=RemovalPolicy.DESTROY)
    found = statements(stack, "StarterAccess")

    resources = {
        sid: json.dumps(found[sid]["Resource"]).partition(":s3:::")[2].partition('"')[0]
        for sid in ("MarkOwners", "ReadManifest")
    }
    assert resources == {
        "MarkOwners": f"bucket/{home}*.owners/*",
        "ReadManifest": f"bucket/{home}*.json",
    }
    condition = found["ListStaged"]["Condition"]["StringLike"]["s3:prefix"]
    assert condition in (f"{home}*", [f"{home}*"])


def test_every_keyword_is_written() -> None:
    """
    The project with all that can be said of it.
    """
    stack = a_stack()
    vpc = ec2.Vpc(stack, "Vpc", max_azs=2)
    repository = ecr.Repository.from_repository_name(stack, "Images", "builders")
    key = kms.Key(stack, "Key")
    bucket = s3.Bucket(stack, "Own", encryption_key=key)
    weights = staged(
        stack,
        bucket=bucket,
        folder="team/models",
        include=["*.safetensors"],
        exclude=["original/*"],
        removal_policy=RemovalPolicy.DESTROY,
        timeout=Duration.minutes(90),
        compute_type=codebuild.ComputeType.X2_LARGE,
        hub_url="https://hub.example.com",
        build_image=codebuild.LinuxBuildImage.from_ecr_repository(repository, "1"),
        network=Network(vpc=vpc),
    )

    project = only(stack, "AWS::CodeBuild::Project")
    assert project["Environment"]["ComputeType"] == "BUILD_GENERAL1_2XLARGE"
    assert project["Environment"]["ImagePullCredentialsType"] == "SERVICE_ROLE"
    assert project["TimeoutInMinutes"] == 90
    assert len(project["VpcConfig"]["Subnets"]) == 2
    assert len(project["VpcConfig"]["SecurityGroupIds"]) == 1
    # What the image has is not installed.
    assert list(json.loads(project["Source"]["BuildSpec"])["phases"]) == ["build"]
    assert variables(stack) == {
        "HF_HUB_DISABLE_TELEMETRY": ("PLAINTEXT", "1"),
        "HF_ENDPOINT": ("PLAINTEXT", "https://hub.example.com"),
    }
    condition = only(stack, "AWS::CloudFormation::WaitCondition")
    # Eight hours in the queue and a quarter to tell.
    assert condition["Timeout"] == str((90 + 480 + 15) * 60)
    assert weights.model.prefix == f"team/{BASE}-57e0c722/"
    assert weights.model.kms_key is not None
    used = statements(stack, "BuildAccess")
    assert used["EncryptWeights"]["Action"] == ["kms:Decrypt", "kms:GenerateDataKey"]
    assert "AttachToVpc" in used
    assert len(weights.connections.security_groups) == 1
    assert weights.grant_principal is not None


def test_what_is_left_out_has_its_default() -> None:
    """
    AWS's image, the worker's packages by their hashes, and time by the model's size.
    """
    stack = a_stack()
    staged(stack)

    project = only(stack, "AWS::CodeBuild::Project")
    assert project["Environment"]["ComputeType"] == "BUILD_GENERAL1_LARGE"
    assert project["Environment"]["ImagePullCredentialsType"] == "CODEBUILD"
    assert project["TimeoutInMinutes"] == 60
    phases = json.loads(project["Source"]["BuildSpec"])["phases"]
    (install,) = phases["install"]["commands"]
    assert "--require-hashes --only-binary :all: --requirement requirements.txt" in (
        install
    )
    assert phases["build"]["commands"] == ["python3 -m cdk_sagemaker_llm.staging"]
    assert "VpcConfig" not in project
    condition = only(stack, "AWS::CloudFormation::WaitCondition")
    assert (condition["Count"], condition["Timeout"]) == (1, "33300")
    assert project["QueuedTimeoutInMinutes"] == 480


def test_the_estimate_is_said_at_synth() -> None:
    """
    From the weights' bytes; nothing where they are not known.
    """
    stack = a_stack()
    large = HuggingFaceModel("mistralai/Mixtral-8x7B-v0.1", revision=COMMIT)
    StagedModel(stack, "Large", model=large, bucket=a_bucket(stack, "other"))
    unknown = HuggingFaceModel("example/unknown", revision=COMMIT)
    StagedModel(stack, "Unknown", model=unknown, bucket=a_bucket(stack, "third"))

    found = Annotations.from_stack(stack)
    found.has_info(
        "/Stack/Large",
        "mistralai/Mixtral-8x7B-v0.1 is staged once: 93.4 GB of weights take some 32 "
        "minutes of a build at 50 MB/s",
    )
    found.has_no_info("/Stack/Unknown", Match.any_value())
    minutes = [
        one["Properties"]["TimeoutInMinutes"]
        for one in of_type(stack, "AWS::CodeBuild::Project")
    ]
    assert sorted(minutes) == [128, 690]


def test_another_revision_is_another_handle_and_the_same_resource() -> None:
    """
    A wait condition is never updated: its id changes with what is asked for, and the
    custom resource's does not.
    """
    ids = []
    for commit in (COMMIT, COMMIT[::-1]):
        stack = a_stack()
        staged(stack, model=HuggingFaceModel("Qwen/Qwen3-0.6B", revision=commit))
        template = Template.from_stack(stack)
        ids.append(
            [
                next(iter(template.find_resources(kind)))
                for kind in (
                    "AWS::CloudFormation::WaitConditionHandle",
                    "AWS::CloudFormation::WaitCondition",
                    "Custom::StagedModel",
                )
            ]
        )
    (handle, condition, resource), (handle2, condition2, resource2) = ids
    assert handle != handle2
    assert condition != condition2
    assert resource == resource2


def test_patterns_in_another_order_are_the_same_prefix() -> None:
    """
    And others are another one.
    """
    chosen: list[list[str]] = [["a", "b"], ["b", "a", "a"], ["a"], []]
    prefixes = [staged(a_stack(), include=include).s3_uri for include in chosen]
    assert prefixes[0] == prefixes[1]
    assert len(set(prefixes)) == 3


def test_stages_and_several_models_stand_side_by_side() -> None:
    """
    Two models in a stack, in two stages of an app.
    """
    app = App()
    for place in ("One", "Two"):
        stage = Stage(app, place)
        stack = Stack(stage, "Stack")
        bucket = s3.Bucket(stack, "Bucket")
        for name, model in (("A", "gpt2"), ("B", "Qwen/Qwen3-0.6B")):
            pinned = HuggingFaceModel(model, revision=COMMIT)
            StagedModel(stack, name, model=pinned, bucket=bucket)
        template = Template.from_stack(stack)
        template.resource_count_is("AWS::CodeBuild::Project", 2)
        template.resource_count_is("AWS::CloudFormation::WaitCondition", 2)


def test_weights_of_another_stack_are_waited_for() -> None:
    """
    The endpoint's stack is deployed after the one that stages.
    """
    app = App()
    env = Environment(account="111111111111", region="us-east-1")
    first, second = Stack(app, "First", env=env), Stack(app, "Second", env=env)
    weights = staged(first)
    LlmEndpoint(
        second, "Llm", model=weights.model, serving=Vllm(), instance_type="ml.g6.xlarge"
    )
    app.synth()

    assert first in second.dependencies


def test_an_imported_deployment_is_waited_for() -> None:
    """
    Whatever else puts weights in place can be named.
    """
    stack = a_stack()
    custom = secretsmanager.Secret(stack, "Anything")
    model = S3Model("s3://bucket/prefix/", depends_on=custom)
    LlmEndpoint(stack, "Llm", model=model, instance_type="ml.g6.xlarge")

    (made,) = of_type(stack, "AWS::SageMaker::Model")
    (waited,) = Template.from_stack(stack).find_resources("AWS::SecretsManager::Secret")
    assert waited in made["DependsOn"]


@pytest.mark.parametrize(
    ("minutes", "queued", "waited"),
    [(5, 480, 500), (225, 480, 720), (226, 479, 720), (690, 15, 720)],
)
def test_a_build_waits_for_others_as_long_as_cloudformation_waits(
    minutes: int, queued: int, waited: int
) -> None:
    """
    Eight hours at most, and twelve with the build itself.
    """
    stack = a_stack()
    staged(stack, timeout=Duration.minutes(minutes))

    project = only(stack, "AWS::CodeBuild::Project")
    condition = only(stack, "AWS::CloudFormation::WaitCondition")
    assert project["QueuedTimeoutInMinutes"] == queued
    assert condition["Timeout"] == str(waited * 60)


def test_another_timeout_is_another_wait_condition() -> None:
    """
    CloudFormation refuses to update one.
    """
    names = set()
    for minutes in (60, 90):
        stack = a_stack()
        staged(stack, timeout=Duration.minutes(minutes))
        template = Template.from_stack(stack)
        names |= set(template.find_resources("AWS::CloudFormation::WaitCondition"))

    assert len(names) == 2


def test_nothing_is_warned_of_that_nobody_can_change() -> None:
    """
    The worker's key is of its contents, so that the CDK's doubt is none.
    """
    stack = a_stack()
    staged(stack)

    Annotations.from_stack(stack).has_no_warning("*", Match.any_value())


@pytest.mark.parametrize("is_private", [False, True])
def test_an_image_of_another_registry_is_pulled_with_its_credentials(
    *, is_private: bool
) -> None:
    """
    By the role, which may read the secret that a private one asks for.
    """
    stack = a_stack()
    secret = secretsmanager.Secret.from_secret_complete_arn(
        stack,
        "Registry",
        "arn:aws:secretsmanager:us-east-1:111111111111:secret:registry-AbCdEf",
    )
    image = codebuild.LinuxBuildImage.from_docker_registry(
        "registry.example.com/builder:1",
        secrets_manager_credentials=secret if is_private else None,
    )
    staged(stack, build_image=image)

    environment = only(stack, "AWS::CodeBuild::Project")["Environment"]
    assert environment["ImagePullCredentialsType"] == "SERVICE_ROLE"
    expected = {
        "Credential": "arn:aws:secretsmanager:us-east-1:111111111111:"
        "secret:registry-AbCdEf",
        "CredentialProvider": "SECRETS_MANAGER",
    }
    assert environment.get("RegistryCredential") == (expected if is_private else None)
    allowed = json.dumps(of_type(stack, "AWS::IAM::Policy"))
    assert ("secretsmanager:GetSecretValue" in allowed) == is_private


def test_an_image_of_codebuild_is_pulled_by_codebuild() -> None:
    """
    The role's credentials are for registries that are not AWS's own.
    """
    stack = a_stack()
    staged(stack, build_image=codebuild.LinuxBuildImage.STANDARD_7_0)

    environment = only(stack, "AWS::CodeBuild::Project")["Environment"]
    assert environment["ImagePullCredentialsType"] == "CODEBUILD"


BEGINNING = "arn:aws:secretsmanager:us-east-1:111111111111:secret:"


def test_a_field_of_a_secret_of_the_app_is_the_token() -> None:
    """
    By a reference to its ARN, which the role may read.
    """
    stack = a_stack()
    secret = secretsmanager.Secret(stack, "Token")
    ref = {"Ref": stack.get_logical_id(secret.node.default_child)}  # type: ignore[arg-type] # it is one
    token = secret.secret_value_from_json("token")
    staged(stack, model=HuggingFaceModel("a/b", revision=COMMIT, token=token))

    project = only(stack, "AWS::CodeBuild::Project")
    (found,) = (
        one
        for one in project["Environment"]["EnvironmentVariables"]
        if one["Name"] == "HF_TOKEN"
    )
    assert found == {
        "Name": "HF_TOKEN",
        "Type": "SECRETS_MANAGER",
        "Value": {"Fn::Join": ["", [ref, ":token"]]},
    }
    assert statements(stack, "BuildAccess")["ReadToken"]["Resource"] == ref


@pytest.mark.parametrize(
    ("ending", "resource"),
    [("hf-AbCdEf", "hf-AbCdEf"), ("hf", "hf-??????")],
)
def test_a_secret_by_its_arn_is_read_with_all_of_it(ending: str, resource: str) -> None:
    """
    IAM knows a secret with the six characters at the end of its ARN alone.
    """
    stack = a_stack()
    token = SecretValue.secrets_manager(BEGINNING + ending, json_field="token")
    staged(stack, model=HuggingFaceModel("a/b", revision=COMMIT, token=token))

    assert variables(stack)["HF_TOKEN"] == (
        "SECRETS_MANAGER",
        f"{BEGINNING}{ending}:token",
    )
    read = statements(stack, "BuildAccess")["ReadToken"]
    assert read["Resource"] == BEGINNING + resource


def test_metrics_are_of_the_project() -> None:
    """
    Duration as an average, failures as a sum, each as asked for.
    """
    stack = a_stack()
    weights = staged(stack)
    taken = weights.metric_duration(period=Duration.hours(1))
    failed = weights.metric_failed_builds(label="Failed", color="#1f77b4")

    assert (taken.namespace, taken.metric_name) == ("AWS/CodeBuild", "Duration")
    assert taken.statistic == "Average"
    assert taken.period.to_minutes() == 60
    assert (failed.metric_name, failed.statistic) == ("FailedBuilds", "Sum")
    assert (failed.label, failed.color) == ("Failed", "#1f77b4")
    assert stack.resolve(taken.dimensions) == {
        "ProjectName": stack.resolve(weights.project_name)
    }
