"""
The CDK's own custom resources do here what they do on AWS.
"""

from __future__ import annotations

import io
import json
import zipfile
from typing import TYPE_CHECKING, Any

import pytest
from aws_cdk import App, Environment, RemovalPolicy, Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3
from botocore.exceptions import ClientError

from tests.local.conftest import REGION
from tests.local.hosting_requests import unique
from tests.local.stacks import Stacks, Template

if TYPE_CHECKING:
    from pathlib import Path

    from cdk_sagemaker_llm.local import EmbeddedAws
    from cdk_sagemaker_llm.local.aws.untyped import Untyped
    from tests.deployments import Deployer

RESTRICT = "@aws-cdk/aws-ec2:restrictDefaultSecurityGroup"


@pytest.fixture(name="stacks", scope="module")
def _stacks(near_aws: EmbeddedAws) -> Stacks:
    return Stacks(near_aws)


def test_the_handlers_of_an_app_do_their_work(
    near_aws: EmbeddedAws, near_deployer: Deployer, tmp_path: Path
) -> None:
    """
    A VPC's default group is closed, a bucket notifies EventBridge, and
    what no stand-in does is recorded.
    """
    outdir = tmp_path / "cdk.out"
    app = App(outdir=str(outdir), analytics_reporting=False, context={RESTRICT: True})
    stack = Stack(
        app, "Handlers", env=Environment(account=near_aws.account, region=REGION)
    )
    ec2.Vpc(stack, "Vpc", nat_gateways=0, availability_zones=["us-east-1a"])
    s3.Bucket(
        stack,
        "Bucket",
        bucket_name="notifying",
        event_bridge_enabled=True,
        removal_policy=RemovalPolicy.DESTROY,
    )
    iam.OpenIdConnectProvider(stack, "Provider", url="https://example.com")
    app.synth()

    deployed = near_deployer.deploy(outdir).checked()
    group = default_group(near_aws)
    near_deployer.destroy(outdir).checked()

    assert group["IpPermissions"] == group["IpPermissionsEgress"] == []
    assert (
        "Custom::AWSCDKOpenIdConnectProvider was recorded, not run" in deployed.events
    )
    assert deployed.events.count("was recorded, not run") == 1
    assert "Cannot find module '@aws-sdk/client-iam'" in deployed.events


def default_group(aws: EmbeddedAws) -> Untyped:
    """
    Return the default group of the VPC that has one subnet group of the CDK's.
    """
    client = aws.client("ec2")
    names = [{"Name": "tag:Name", "Values": ["Handlers/Vpc"]}]
    (vpc,) = client.describe_vpcs(Filters=names)["Vpcs"]
    filters = [
        {"Name": "vpc-id", "Values": [vpc["VpcId"]]},
        {"Name": "group-name", "Values": ["default"]},
    ]
    (group,) = client.describe_security_groups(Filters=filters)["SecurityGroups"]
    return group


def test_the_default_group_is_opened_again(
    near_aws: EmbeddedAws, stacks: Stacks
) -> None:
    """
    Where its resource goes and the VPC stays.
    """
    name = unique("stack")
    closed = vpc_and(closes={"Fn::GetAtt": ["Vpc", "DefaultSecurityGroup"]})
    stacks.create(name, closed)
    vpc = {"Name": "vpc-id", "Values": [stacks.physical_ids(name)["Vpc"]]}
    client = near_aws.client("ec2")

    assert [len(rules) for rules in rules_of(client, vpc)] == [0, 0]
    stacks.update(name, vpc_and())
    assert [len(rules) for rules in rules_of(client, vpc)] == [1, 1]


def vpc_and(closes: Any = None) -> Template:  # noqa: ANN401 - an intrinsic function
    """
    Declare a VPC, and what closes a group.
    """
    vpc = {"Type": "AWS::EC2::VPC", "Properties": {"CidrBlock": "10.0.0.0/16"}}
    resources: dict[str, Any] = {"Vpc": vpc}
    if closes:
        resources["Closes"] = {
            "Type": "Custom::VpcRestrictDefaultSG",
            "Properties": {
                "ServiceToken": "none",
                "DefaultSecurityGroupId": closes,
                "Account": {"Ref": "AWS::AccountId"},
            },
        }
    return {"Resources": resources}


def rules_of(client: Untyped, vpc: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    """
    Return what the default group of a VPC lets in and out.
    """
    (group,) = client.describe_security_groups(Filters=[vpc])["SecurityGroups"]
    return group["IpPermissions"], group["IpPermissionsEgress"]


@pytest.mark.parametrize("is_meant", [True, False])
def test_a_repository_is_emptied_if_its_tag_says_so(
    near_aws: EmbeddedAws, stacks: Stacks, *, is_meant: bool
) -> None:
    """
    The tag is what the CDK sets; CloudFormation deletes no repository with images.
    """
    name = unique("repository")
    client = near_aws.client("ecr")
    client.create_repository(
        repositoryName=name,
        tags=[{"Key": "aws-cdk:auto-delete-images", "Value": str(is_meant).lower()}],
    )
    client.put_image(
        repositoryName=name,
        imageManifest=json.dumps({"schemaVersion": 2, "layers": [], "config": {}}),
        imageManifestMediaType="application/vnd.docker.distribution.manifest.v2+json",
        imageTag="one",
    )
    properties = {"ServiceToken": "none", "RepositoryName": name}
    cleaner = {"Type": "Custom::ECRAutoDeleteImages", "Properties": properties}

    stacks.create(name, {"Resources": {"Cleaner": cleaner}})
    before = client.list_images(repositoryName=name)["imageIds"]
    stacks.delete(name)

    assert len(before) == 1
    left = client.list_images(repositoryName=name)["imageIds"]
    assert left == ([] if is_meant else before)


def test_values_go_to_another_region_and_back_out(
    near_aws: EmbeddedAws, stacks: Stacks
) -> None:
    """
    The writer puts them where the reader is; both follow their updates.
    """
    name = unique("stack")
    ssm = near_aws.client("ssm", region_name="eu-west-1")
    cloudformation = near_aws.client("cloudformation", region_name="eu-west-1")
    first, second = (f"/cdk/exports/{name}/{which}" for which in ("First", "Second"))

    stacks.create(name, writing({first: "one"}))
    body = json.dumps(importing(name, first))
    cloudformation.create_stack(StackName=name, TemplateBody=body)
    (shown,) = cloudformation.describe_stacks(StackName=name)["Stacks"]
    assert shown["Outputs"][0]["OutputValue"] == "one"
    tags = ssm.list_tags_for_resource(ResourceType="Parameter", ResourceId=first)
    assert tags["TagList"] == [{"Key": f"aws-cdk:strong-ref:{name}", "Value": "true"}]

    stacks.update(name, writing({first: "one", second: "two"}))
    body = json.dumps(importing(name, second))
    cloudformation.update_stack(StackName=name, TemplateBody=body)
    (shown,) = cloudformation.describe_stacks(StackName=name)["Stacks"]
    assert shown["Outputs"][0]["OutputValue"] == "two"
    tags = ssm.list_tags_for_resource(ResourceType="Parameter", ResourceId=first)
    assert tags["TagList"] == []

    cloudformation.delete_stack(StackName=name)
    stacks.delete(name)
    for parameter in (first, second):
        with pytest.raises(ClientError, match="ParameterNotFound"):
            ssm.get_parameter(Name=parameter)


def writing(exports: dict[str, str]) -> Template:
    """
    Declare what writes values into another region.
    """
    properties = {"region": "eu-west-1", "exports": exports}
    writer = {
        "Type": "Custom::CrossRegionExportWriter",
        "Properties": {"ServiceToken": "none", "WriterProps": properties},
    }
    return {"Resources": {"Writer": writer}}


def importing(prefix: str, name: str) -> Template:
    """
    Declare what reads a value, and its output.
    """
    imports = {name: f"{{{{resolve:ssm:{name}}}}}"}
    properties = {"region": "eu-west-1", "prefix": prefix, "imports": imports}
    reader = {
        "Type": "Custom::CrossRegionExportReader",
        "Properties": {"ServiceToken": "none", "ReaderProps": properties},
    }
    value = {"Fn::GetAtt": ["Reader", name]}
    return {
        "Resources": {"Reader": reader},
        "Outputs": {"Value": {"Value": value}},
    }


def test_a_bucket_deployment_ships_and_prunes(
    near_aws: EmbeddedAws, stacks: Stacks
) -> None:
    """
    Markers are filled in, what is excluded is left alone, and nothing is retained if
    so declared.
    """
    name = unique("stack")
    client = near_aws.client("s3")
    client.create_bucket(Bucket=name)
    client.put_object(Bucket=name, Key="old.zip", Body=zipped(a="1 <<mark>>", b="2"))
    client.put_object(Bucket=name, Key="new.zip", Body=zipped(c="3", d="4"))
    client.put_object(Bucket=name, Key="site/mine", Body=b"stays")
    markers = [{"<<mark>>": "filled"}]

    stacks.create(name, deploying(name, "old.zip", SourceMarkers=markers))
    assert contents(client, name) == {"a": "1 filled", "b": "2", "mine": "stays"}
    assert stacks.outputs(name)["Arn"] == f"arn:aws:s3:::{name}"
    # What is excluded is neither shipped nor pruned; of two filters the later counts.
    rules = {"Exclude": ["mine", "b", "c", "d"], "Include": ["c"]}
    stacks.update(name, deploying(name, "new.zip", **rules))
    assert contents(client, name) == {"b": "2", "c": "3", "mine": "stays"}
    stacks.delete(name)

    assert contents(client, name) == {}


def deploying(bucket: str, key: str, **changes: Any) -> Template:  # noqa: ANN401 - lists
    """
    Declare what brings an archive into a folder of a bucket.
    """
    deployment = {
        "Type": "Custom::CDKBucketDeployment",
        "Properties": {
            "ServiceToken": "none",
            "SourceBucketNames": [bucket],
            "SourceObjectKeys": [key],
            "DestinationBucketName": bucket,
            "DestinationBucketKeyPrefix": "site",
            "DestinationBucketArn": f"arn:aws:s3:::{bucket}",
            "RetainOnDelete": False,
            "Exclude": ["mine"],
            **changes,
        },
    }
    arn = {"Fn::GetAtt": ["Deployment", "DestinationBucketArn"]}
    return {
        "Resources": {"Deployment": deployment},
        "Outputs": {"Arn": {"Value": arn}},
    }


def zipped(**files: str) -> bytes:
    """
    Pack texts by their names.
    """
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return written.getvalue()


def contents(client: Untyped, bucket: str) -> dict[str, str]:
    """
    Return the texts in the folder, by their names.
    """
    found = client.list_objects_v2(Bucket=bucket, Prefix="site/").get("Contents", ())
    return {
        each["Key"].removeprefix("site/"): client.get_object(
            Bucket=bucket, Key=each["Key"]
        )["Body"]
        .read()
        .decode()
        for each in found
    }
