"""
What a mirrored image writes into a template, and what is checked of it.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from aws_cdk import (
    App,
    Aws,
    CfnParameter,
    Duration,
    Environment,
    RemovalPolicy,
    Stack,
)
from aws_cdk import aws_codebuild as codebuild
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecr as ecr
from aws_cdk import aws_kms as kms
from aws_cdk.assertions import Annotations, Match, Template

from cdk_sagemaker_llm import (
    CustomContainer,
    HuggingFaceModel,
    ImageRelease,
    ImageSource,
    LlmEndpoint,
    LmiVllm,
    MirroredImage,
    Model,
    Network,
    ServingConfiguration,
    TensorRtLlm,
    Tgi,
    Vllm,
    find_image,
)
from tests.unit.hosting.written import awaited_in

DIGEST = "sha256:18998be4e1276d4eb6e98afe80798aa357c1cc37545150de5c210bc9111beb1d"
VLLM = find_image("vllm", "0.20.2")
MODEL = HuggingFaceModel("Qwen/Qwen3-0.6B")
TAG = "0.20.2-gpu-py312-cu130-ubuntu22.04-sagemaker-18998be4e127"
ARN = "arn:aws:ecr:us-east-1:111111111111:repository/mine"


def a_stack(region: str | None = "us-east-1", app: App | None = None) -> Stack:
    """
    Return a stack of a known environment, so that ARNs are short.
    """
    account = None if region is None else "111111111111"
    env = Environment(account=account, region=region)
    return Stack(app or App(), "Stack", env=env)


def mirrored(stack: Stack, **more: Any) -> MirroredImage:  # noqa: ANN401 - any keyword
    """
    Mirror an image.
    """
    return MirroredImage(stack, "Image", **{"image": VLLM, "digest": DIGEST, **more})


def in_mine(stack: Stack, **more: Any) -> MirroredImage:  # noqa: ANN401 - any keyword
    """
    Mirror it into a repository that was there before.
    """
    mine = ecr.Repository.from_repository_arn(stack, "Mine", ARN)
    return mirrored(stack, repository=mine, **more)


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


def order(stack: Stack) -> dict[str, str]:
    """
    Return what the worker is to do, of an order that deployment does not fill in.
    """
    found: dict[str, str] = json.loads(only(stack, "Custom::MirroredImage")["Order"])
    return found


def statements(stack: Stack, name: str) -> dict[str, dict[str, Any]]:
    """
    Return by their names the statements of the one policy whose id has a word.
    """
    policies = Template.from_stack(stack).find_resources("AWS::IAM::Policy")
    (found,) = (one for place, one in policies.items() if name in place)
    every = found["Properties"]["PolicyDocument"]["Statement"]
    return {one["Sid"]: one for one in every}


def warned(stack: Stack) -> list[str]:
    """
    Return the codes of all warnings.
    """
    found = Annotations.from_stack(stack).find_warning("*", Match.any_value())
    text = [str(one.entry.data) for one in found]
    return sorted({one.rpartition("cdk-sagemaker-llm:")[2][:6] for one in text})


def test_an_endpoint_is_made_after_the_copy_is_there() -> None:
    """
    It runs the copy by its digest, may pull it and nothing else, and waits for it.
    """
    stack = a_stack()
    copy = in_mine(stack)
    LlmEndpoint(
        stack,
        "Llm",
        model=MODEL,
        serving=Vllm("0.20.2", image=copy.image),
        instance_type="ml.g6.xlarge",
    )

    template = Template.from_stack(stack)
    (condition,) = template.find_resources("AWS::CloudFormation::WaitCondition")
    (model,) = of_type(stack, "AWS::SageMaker::Model")
    assert condition in model["DependsOn"]
    registry, suffix = "111111111111.dkr.ecr.us-east-1.", {"Ref": "AWS::URLSuffix"}
    assert stack.resolve(copy.image_uri) == {
        "Fn::Join": ["", [registry, suffix, f"/mine@{DIGEST}"]]
    }
    assert model["Properties"]["PrimaryContainer"]["Image"] == stack.resolve(
        copy.image_uri
    )
    (pull,) = [
        one
        for name, one in statements(stack, "LlmModel").items()
        if name.startswith("PullImage")
    ]
    assert pull["Resource"] == ARN
    assert warned(stack) == []


def test_the_copy_is_asked_for_when_all_that_it_needs_is_there() -> None:
    """
    A build may write with its role's policy; one that dies is told of by the rule,
    which may call the function; and the handle's address begins to expire then.
    """
    stack = a_stack()
    mirrored(stack)

    assert awaited_in(stack, "CodeBuild::Project") == [["ImageBuildAccess"]]
    for kind in ("CloudFormation::WaitConditionHandle", "Custom::MirroredImage"):
        assert awaited_in(stack, kind) == [
            [
                "ImageBuildAccess",
                "ImageBuildFailed",
                "ImageBuildFailedAllowEventRuleStackImageStarter",
                "ImageStarterAccess",
            ]
        ]


def test_the_order_is_what_the_worker_reads() -> None:
    """
    And the custom resource says which image is awaited, and where.
    """
    stack = a_stack()
    copy = in_mine(stack)

    properties = only(stack, "Custom::MirroredImage")
    assert properties["Repository"] == "mine"
    assert properties["Digest"] == DIGEST
    assert properties["Tag"] == TAG
    assert json.loads(properties["Order"]) == {
        "source_account": "763104351884",
        "source_region": "us-east-1",
        "source_url": "",
        "source_repository": "vllm",
        "source_tag": "0.20.2-gpu-py312-cu130-ubuntu22.04-sagemaker",
        "digest": DIGEST,
        "platform": "linux/amd64",
        "repository": "mine",
        "tag": TAG,
    }
    assert (copy.digest, copy.tag) == (DIGEST, TAG)
    condition = only(stack, "AWS::CloudFormation::WaitCondition")
    assert (condition["Count"], condition["Timeout"]) == (1, "33300")


def test_the_repository_that_is_made_keeps_what_it_has() -> None:
    """
    Tags that cannot be moved, a scan when an image comes, encrypted, kept.
    """
    stack = a_stack()
    mirrored(stack)

    (repository,) = of_type(stack, "AWS::ECR::Repository")
    assert repository["DeletionPolicy"] == "Retain"
    assert repository["UpdateReplacePolicy"] == "Retain"
    # Amazon ECR encrypts with AES-256 where nothing else is said.
    assert repository["Properties"] == {
        "ImageScanningConfiguration": {"ScanOnPush": True},
        "ImageTagMutability": "IMMUTABLE",
    }


def test_every_keyword_of_the_repository_is_written() -> None:
    """
    With a key, and to go with its stack.
    """
    stack = a_stack()
    key = kms.Key(stack, "Key")
    mirrored(stack, encryption_key=key, removal_policy=RemovalPolicy.DESTROY)

    (repository,) = of_type(stack, "AWS::ECR::Repository")
    assert repository["DeletionPolicy"] == "Delete"
    assert repository["Properties"]["EmptyOnDelete"] is True
    assert repository["Properties"]["EncryptionConfiguration"] == {
        "EncryptionType": "KMS",
        "KmsKey": stack.resolve(key.key_arn),
    }


def test_every_keyword_of_the_build_is_written() -> None:
    """
    The project with all that can be said of it.
    """
    stack = a_stack()
    vpc = ec2.Vpc(stack, "Vpc", max_azs=2)
    images = ecr.Repository.from_repository_name(stack, "Images", "builders")
    copy = in_mine(
        stack,
        timeout=Duration.minutes(90),
        compute_type=codebuild.ComputeType.X2_LARGE,
        build_image=codebuild.LinuxBuildImage.from_ecr_repository(images, "1"),
        network=Network(vpc=vpc),
    )

    project = only(stack, "AWS::CodeBuild::Project")
    assert project["Environment"]["ComputeType"] == "BUILD_GENERAL1_2XLARGE"
    assert project["Environment"]["ImagePullCredentialsType"] == "SERVICE_ROLE"
    assert project["TimeoutInMinutes"] == 90
    assert len(project["VpcConfig"]["Subnets"]) == 2
    assert list(json.loads(project["Source"]["BuildSpec"])["phases"]) == ["build"]
    condition = only(stack, "AWS::CloudFormation::WaitCondition")
    assert condition["Timeout"] == str((90 + 480 + 15) * 60)
    assert "AttachToVpc" in statements(stack, "BuildAccess")
    assert len(copy.connections.security_groups) == 1
    assert copy.grant_principal is not None


def test_what_is_left_out_has_its_default() -> None:
    """
    AWS's image as it is: no package registry is asked.
    """
    stack = a_stack()
    copy = in_mine(stack)

    project = only(stack, "AWS::CodeBuild::Project")
    assert project["Environment"]["ComputeType"] == "BUILD_GENERAL1_MEDIUM"
    assert project["Environment"]["EnvironmentVariables"] == []
    assert project["TimeoutInMinutes"] == 60
    assert json.loads(project["Source"]["BuildSpec"]) == {
        "version": "0.2",
        "phases": {
            "install": {"runtime-versions": {"python": "3.12"}},
            "build": {"commands": ["python3 -m cdk_sagemaker_llm.staging.images"]},
        },
    }
    assert "VpcConfig" not in project
    assert stack.resolve(copy.project_name)["Ref"].startswith("ImageBuild")


def test_the_roles_may_copy_one_repository_into_another() -> None:
    """
    Every statement of the build's role, and what the function may.
    """
    stack = a_stack()
    in_mine(stack)
    found = statements(stack, "BuildAccess")
    for name in ("ReadWorker", "LocateWorker", "LogBuilds"):
        del found[name]
    source = ":ecr:us-east-1:763104351884:repository/vllm"

    assert {name: (one["Action"], one["Resource"]) for name, one in found.items()} == {
        "LogInToRegistries": ("ecr:GetAuthorizationToken", "*"),
        "PushImage": (
            [
                "ecr:BatchCheckLayerAvailability",
                "ecr:BatchGetImage",
                "ecr:CompleteLayerUpload",
                "ecr:InitiateLayerUpload",
                "ecr:PutImage",
                "ecr:UploadLayerPart",
            ],
            ARN,
        ),
        "PullImage": (
            [
                "ecr:BatchCheckLayerAvailability",
                "ecr:BatchGetImage",
                "ecr:GetDownloadUrlForLayer",
            ],
            {"Fn::Join": ["", ["arn:", {"Ref": "AWS::Partition"}, source]]},
        ),
    }
    starter = statements(stack, "StarterAccess")
    assert sorted(starter) == ["FindImage", "LogStarts", "StartBuilds"]
    assert starter["FindImage"]["Resource"] == ARN
    (function,) = of_type(stack, "AWS::Lambda::Function")
    assert function["Properties"]["Handler"] == (
        "cdk_sagemaker_llm.staging.mirroring.handler"
    )


@pytest.mark.parametrize(
    ("region", "image", "named", "expected"),
    [
        ("us-east-1", VLLM, None, "us-east-1"),
        ("eu-west-3", VLLM, None, "eu-west-3"),
        ("us-east-1", VLLM, "ap-east-1", "ap-east-1"),
        (None, VLLM, None, "us-east-1"),
        # No registry there lists it: another region of the partition does.
        ("me-west-1", find_image("djl-lmi", "0.36.0"), None, "us-east-1"),
        ("cn-north-1", find_image("vllm", "0.28.0"), None, "cn-north-1"),
        (
            "us-gov-west-1",
            find_image("vllm", "0.28.0"),
            "us-gov-east-1",
            "us-gov-east-1",
        ),
    ],
)
def test_it_is_copied_from_a_registry_that_has_it(
    region: str | None, image: ImageRelease, named: str | None, expected: str
) -> None:
    """
    The stack's own, the one that was named, or another one of the partition.
    """
    stack = a_stack(region)
    source = ImageSource.region(named) if named else None
    mine = ecr.Repository.from_repository_name(stack, "Mine", "mine")
    mirrored(stack, image=image, source=source, repository=mine)

    assert order(stack)["source_region"] == expected
    assert order(stack)["source_account"] == image.account(expected)


def test_the_public_gallery_leads_into_other_partitions() -> None:
    """
    It asks for no account, so that the role needs nothing there.
    """
    stack = a_stack("cn-north-1")
    mine = ecr.Repository.from_repository_name(stack, "Mine", "mine")
    mirrored(stack, source=ImageSource.public_gallery(), repository=mine)

    said = order(stack)
    assert said["source_url"] == "https://public.ecr.aws"
    assert said["source_repository"] == "deep-learning-containers/vllm"
    assert said["source_account"] == ""
    assert "PullImage" not in statements(stack, "BuildAccess")
    assert warned(stack) == []


def test_an_image_of_another_account_is_copied_too() -> None:
    """
    From where its address says that it is.
    """
    stack = a_stack()
    theirs = ImageRelease.from_uri(
        f"222222222222.dkr.ecr.eu-west-1.amazonaws.com/team/own@{DIGEST}"
    )
    copy = in_mine(stack, image=theirs, digest=None)
    Model(stack, "Model", serving=CustomContainer(copy.image))

    said = order(stack)
    assert said["source_account"] == "222222222222"
    assert said["source_region"] == "eu-west-1"
    assert said["source_repository"] == "team/own"
    assert said["source_tag"] == ""
    (model,) = of_type(stack, "AWS::SageMaker::Model")
    (condition,) = Template.from_stack(stack).find_resources(
        "AWS::CloudFormation::WaitCondition"
    )
    assert condition in model["DependsOn"]


def test_an_image_may_be_described_by_its_digest() -> None:
    """
    Then it is named once.
    """
    stack = a_stack()
    image = ImageRelease.of("vllm", DIGEST, near="0.20.2")
    copy = in_mine(stack, image=image, digest=None)

    assert copy.tag == "0.20.2-18998be4e127"
    assert order(stack)["digest"] == DIGEST


def test_images_for_other_processors_are_told_apart() -> None:
    """
    The worker refuses a digest of the other ones.
    """
    stack = a_stack()
    image = find_image("llama-cpp-arm64", "1.0")
    in_mine(stack, image=image)

    assert order(stack)["platform"] == "linux/arm64"


@pytest.mark.parametrize(
    ("serving", "family", "version"),
    [
        (Vllm, "vllm", "0.20.2"),
        (Vllm, "vllm-server", "2.6"),
        (LmiVllm, "djl-lmi", "0.36.0-lmi28"),
        (TensorRtLlm, "djl-tensorrtllm", "0.26.0"),
        (Tgi, "huggingface-llm", "3.3.4"),
    ],
)
def test_the_copy_is_checked_as_the_image_that_it_is_of(
    serving: Any,  # noqa: ANN401 - a class with an image of its own
    family: str,
    version: str,
) -> None:
    """
    All that is found of the catalogue's image is found of the copy, and no more.
    """
    stack = a_stack()
    copy = in_mine(stack, image=find_image(family, version))
    own: ServingConfiguration = serving(version)
    given: ServingConfiguration = replace(own, image=copy.image)  # type: ignore[type-var] # all are data classes
    ours, theirs = given.prepare(MODEL, 1), own.prepare(MODEL, 1)

    assert ours.findings == theirs.findings
    assert ours.demand == theirs.demand
    assert ours.container is not None
    assert theirs.container is not None
    assert ours.container.environment == theirs.container.environment
    assert ours.container.image.cuda_version == theirs.container.image.cuda_version


def test_an_argument_that_the_version_does_not_have_is_refused() -> None:
    """
    As of the image that it is a copy of.
    """
    copy = in_mine(a_stack())
    serving = Vllm("0.20.2", image=copy.image, options={"no_such_argument": 1})
    found = serving.prepare(MODEL, 1).findings

    assert any("no_such_argument" in one.message for one in found)


def test_a_host_that_cannot_run_the_image_is_refused() -> None:
    """
    Processors and drivers are known of the copy.
    """
    stack = a_stack()
    copy = in_mine(stack)
    with pytest.raises(ValueError, match=r"image vllm 0.20.2 runs on NVIDIA GPUs"):
        LlmEndpoint(
            stack,
            "Neuron",
            model=MODEL,
            serving=Vllm("0.20.2", image=copy.image),
            instance_type="ml.inf2.xlarge",
        )
    LlmEndpoint(
        stack,
        "Llm",
        model=MODEL,
        serving=Vllm("0.20.2", image=copy.image),
        instance_type="ml.g6.xlarge",
    )
    (config,) = of_type(stack, "AWS::SageMaker::EndpointConfig")
    (variant,) = config["Properties"]["ProductionVariants"]
    # CUDA 13 does not start with the default driver of these instances.
    assert variant["InferenceAmiVersion"] == "al2023-ami-sagemaker-inference-gpu-4-1"


def test_a_copy_of_another_family_is_refused() -> None:
    """
    The default version is another image.
    """
    copy = in_mine(a_stack())
    (found,) = Vllm(image=copy.image).prepare(MODEL, 1).findings

    assert found.code == "LLM102"
    assert "image is of vllm 0.20.2, and what is written here is for images of " in (
        found.message
    )
    assert "write version='0.20.2'" in (found.remedy or "")


def test_a_custom_container_is_checked_as_the_copy_is() -> None:
    """
    Its variables are those of the version.
    """
    copy = in_mine(a_stack())
    custom = CustomContainer(copy.image, environment={"SM_VLLM_PORT": "9000"})
    same = CustomContainer(VLLM, environment={"SM_VLLM_PORT": "9000"})

    assert custom.prepare(MODEL, 1).findings == same.prepare(MODEL, 1).findings
    assert custom.prepare(MODEL, 1).findings


def test_alike_copies_of_two_apps_are_not_mixed_up() -> None:
    """
    Each model waits for the copy of its own stack.
    """
    for _ in range(2):
        stack = a_stack()
        copy = in_mine(stack)
        Model(stack, "Model", serving=Vllm("0.20.2", image=copy.image), model=MODEL)
        (model,) = of_type(stack, "AWS::SageMaker::Model")

        assert any("MirrorDone" in one for one in model["DependsOn"])


def test_a_copy_of_another_stack_is_waited_for() -> None:
    """
    The endpoint's stack is deployed after the one that mirrors.
    """
    app = App()
    env = Environment(account="111111111111", region="us-east-1")
    first, second = Stack(app, "First", env=env), Stack(app, "Second", env=env)
    copy = mirrored(first)
    Model(second, "Model", serving=Vllm("0.20.2", image=copy.image), model=MODEL)
    app.synth()

    assert first in second.dependencies


def test_another_digest_is_another_handle_and_the_same_resource() -> None:
    """
    A wait condition is never updated, and the repository stays.
    """
    ids = []
    for digest in (DIGEST, DIGEST[:7] + DIGEST[:6:-1]):
        stack = a_stack()
        mirrored(stack, digest=digest)
        template = Template.from_stack(stack)
        ids.append(
            [
                next(iter(template.find_resources(kind)))
                for kind in (
                    "AWS::CloudFormation::WaitCondition",
                    "AWS::CloudFormation::WaitConditionHandle",
                    "Custom::MirroredImage",
                    "AWS::ECR::Repository",
                )
            ]
        )
    (condition, handle, *rest), (condition2, handle2, *rest2) = ids
    assert condition != condition2
    assert handle != handle2
    assert rest == rest2


OTHER = "sha256:" + "0" * 64
BAD: dict[str, tuple[dict[str, object], str]] = {
    "no digest": ({"digest": None}, "digest must name the image, and was left out"),
    "a tag for a digest": ({"digest": "0.20.2"}, "digest must be 'sha256:' and 64"),
    "capitals": ({"digest": DIGEST.upper()}, "digest must be 'sha256:' and 64"),
    "too short": ({"digest": DIGEST[:-1]}, "digest must be 'sha256:' and 64"),
    "empty": ({"digest": ""}, "digest must be 'sha256:' and 64"),
    "two digests": (
        {"image": ImageRelease.of("vllm", OTHER, near="0.20.2")},
        f"digest is {DIGEST}, and the image was described by {OTHER}",
    ),
    "a token": ({"digest": Aws.STACK_NAME}, "digest is known only at deployment"),
    "no such region": (
        {"source": ImageSource.region("us-east-9")},
        "source: region 'us-east-9' has no registry with image vllm 0.20.2",
    ),
    "a region without it": (
        {"source": ImageSource.region("cn-north-1")},
        "source: image vllm 0.20.2 is not listed in cn-north-1",
    ),
    "a region that deployment decides": (
        {"source": ImageSource.region(Aws.REGION)},
        "source is a region that is known only at deployment",
    ),
    "another partition": (
        {
            "image": find_image("vllm", "0.28.0"),
            "source": ImageSource.region("us-gov-west-1"),
        },
        "source is us-gov-west-1 of the partition aws-us-gov, where no credentials",
    ),
    "an account that deployment decides": (
        {
            "image": ImageRelease.from_uri(
                "${AWS::AccountId}.dkr.ecr.eu-west-1.amazonaws.com/own:1"
            )
        },
        "the image's account or region is known only at deployment",
    ),
    "a source of an image that has one": (
        {
            "image": ImageRelease.from_uri(
                "222222222222.dkr.ecr.eu-west-1.amazonaws.com/own:1"
            ),
            "source": ImageSource.region("us-east-1"),
        },
        "source is given, and the image own:1 names its own registry",
    ),
    "another partition's account": (
        {
            "image": ImageRelease.from_uri(
                "222222222222.dkr.ecr.cn-north-1.amazonaws.com.cn/own:1"
            )
        },
        "source is cn-north-1 of the partition aws-cn",
    ),
    "too little time": (
        {"timeout": Duration.minutes(4)},
        "timeout must be from 5 to 690 minutes, got 4",
    ),
    "too much time": (
        {"timeout": Duration.minutes(691)},
        "timeout must be from 5 to 690 minutes, got 691",
    ),
    "a function for a machine": (
        {"compute_type": codebuild.ComputeType.LAMBDA_1GB},
        "compute_type must be SMALL",
    ),
    "an isolated network": (
        {"network": Network(isolated=True)},
        "network is isolated, and the build reads from one registry",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_fails_with_what_stands_in_the_way(name: str) -> None:
    """
    One clear line, before anything is made.
    """
    changed, words = BAD[name]
    stack = a_stack()
    with pytest.raises(ValueError) as fault:  # noqa: PT011 - its words are held below
        mirrored(stack, **changed)

    assert words in str(fault.value)
    assert stack.node.find_all() == [stack]


def test_fails_if_no_registry_of_the_partition_has_the_image() -> None:
    """
    With the way out.
    """
    with pytest.raises(ValueError, match=r"source=ImageSource.public_gallery\(\)"):
        mirrored(a_stack("cn-north-1"))


@pytest.mark.parametrize(
    ("arn", "words"),
    [
        (ARN.replace("us-east-1", "us-east-2"), "in the region us-east-2"),
        (ARN.replace("1" * 12, "2" * 12), "in the account 222222222222"),
    ],
)
def test_fails_if_the_repository_is_elsewhere(arn: str, words: str) -> None:
    """
    SageMaker pulls in its own region, and the build writes in its own account.
    """
    stack = a_stack()
    mine = ecr.Repository.from_repository_arn(stack, "Mine", arn)
    with pytest.raises(ValueError, match=words):
        mirrored(stack, repository=mine)


def test_a_repository_that_deployment_names_is_taken() -> None:
    """
    What is not known at synth is not guessed.
    """
    stack = a_stack()
    name = CfnParameter(stack, "Name").value_as_string
    mine = ecr.Repository.from_repository_name(stack, "Mine", name)
    copy = mirrored(stack, repository=mine)
    Model(stack, "Model", serving=Vllm("0.20.2", image=copy.image), model=MODEL)

    assert only(stack, "Custom::MirroredImage")["Repository"] == {"Ref": "Name"}
    assert "PullImage" in statements(stack, "ModelAccess")
    assert warned(stack) == []


@pytest.mark.parametrize(
    ("beside", "words"),
    [
        ({"removal_policy": RemovalPolicy.RETAIN}, "and removal_policy would be of"),
        ({"encryption_key": True}, "and encryption_key would be of"),
    ],
)
def test_fails_if_a_repository_is_given_and_described(
    beside: dict[str, object], words: str
) -> None:
    """
    What would be ignored is refused.
    """
    stack = a_stack()
    if "encryption_key" in beside:
        beside = {"encryption_key": kms.Key(stack, "Key")}
    with pytest.raises(ValueError, match=words):
        in_mine(stack, **beside)


def test_a_tag_that_moves_says_that_its_version_is_doubtful() -> None:
    """
    And one that does not says nothing.
    """
    stack = a_stack()
    in_mine(stack, image=find_image("vllm-server", "2"))

    assert warned(stack) == ["LLM841"]


def test_what_the_gallery_is_not_known_to_have_is_said() -> None:
    """
    It is tried all the same.
    """
    stack = a_stack()
    image = find_image("djl-lmi", "0.36.0")
    in_mine(stack, image=image, source=ImageSource.public_gallery())

    assert warned(stack) == ["LLM843"]
    assert order(stack)["source_repository"] == (
        "deep-learning-containers/djl-inference"
    )
