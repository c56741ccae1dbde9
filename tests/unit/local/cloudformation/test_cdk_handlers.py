"""
What each of the CDK's own custom resources makes of a request, its answer included.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError

from tests.local.hosting_requests import unique
from tests.unit.local.cloudformation.cdk_requests import Handlers

if TYPE_CHECKING:
    from cdk_sagemaker_llm.local import EmbeddedAws
    from cdk_sagemaker_llm.local.aws.untyped import Untyped

MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"


@pytest.fixture(name="ask", scope="module")
def _ask(near_aws: EmbeddedAws) -> Handlers:
    return Handlers(near_aws)


def code_of(act: Callable[[], object]) -> str:
    """
    Return the code of the refusal.
    """
    with pytest.raises(ClientError) as caught:
        act()
    return str(caught.value.response["Error"]["Code"])


@pytest.fixture(name="s3", scope="module")
def _s3(near_aws: EmbeddedAws) -> Untyped:
    return near_aws.client("s3")


class TestBuckets:
    """
    ``Custom::S3AutoDeleteObjects``.
    """

    def test_every_version_goes_and_every_mark_of_a_deletion(
        self, ask: Handlers, s3: Untyped
    ) -> None:
        """
        When the resource goes, and not before.
        """
        bucket = unique("versions")
        s3.create_bucket(Bucket=bucket)
        s3.put_bucket_versioning(
            Bucket=bucket, VersioningConfiguration={"Status": "Enabled"}
        )
        for body in (b"1", b"2"):
            s3.put_object(Bucket=bucket, Key="twice", Body=body)
        s3.put_object(Bucket=bucket, Key="gone", Body=b"")
        s3.delete_object(Bucket=bucket, Key="gone")

        for request in ("Create", "Update"):
            ask("S3AutoDeleteObjects", request, {"BucketName": bucket})
        before = s3.list_object_versions(Bucket=bucket)
        ask("S3AutoDeleteObjects", "Delete", {"BucketName": bucket})
        after = s3.list_object_versions(Bucket=bucket)

        assert (len(before["Versions"]), len(before["DeleteMarkers"])) == (3, 1)
        assert "Versions" not in after
        assert "DeleteMarkers" not in after
        # There is nothing to do for one that is empty.
        ask("S3AutoDeleteObjects", "Delete", {"BucketName": bucket})


class TestLogs:
    """
    ``Custom::LogRetention``.
    """

    def test_a_group_is_kept_for_days_or_for_good(
        self, near_aws: EmbeddedAws, ask: Handlers
    ) -> None:
        """
        Whether it is there already or not.
        """
        logs, name = near_aws.client("logs"), unique("/logs")
        properties = {"LogGroupName": name, "RetentionInDays": "7"}

        def days() -> object:
            (found,) = logs.describe_log_groups(logGroupNamePrefix=name)["logGroups"]
            return found.get("retentionInDays")

        made = ask("LogRetention", "Create", properties)
        assert made == {"PhysicalResourceId": name, "Data": {"LogGroupName": name}}
        assert days() == 7
        ask("LogRetention", "Update", {**properties, "RetentionInDays": "14"})
        assert days() == 14
        ask("LogRetention", "Update", {"LogGroupName": name})
        assert days() is None

    @pytest.mark.parametrize(("policy", "left"), [("destroy", 0), ("retain", 1)])
    def test_a_group_goes_if_it_is_to_be_destroyed(
        self, near_aws: EmbeddedAws, ask: Handlers, policy: str, left: int
    ) -> None:
        """
        Otherwise it outlives its resource.
        """
        logs, name = near_aws.client("logs"), unique("/logs")
        properties = {"LogGroupName": name, "RemovalPolicy": policy}
        ask("LogRetention", "Create", properties)

        answer = ask("LogRetention", "Delete", properties)

        assert answer == {"PhysicalResourceId": name}
        found = logs.describe_log_groups(logGroupNamePrefix=name)["logGroups"]
        assert len(found) == left
        other = unique("/logs")
        ask("LogRetention", "Create", {"LogGroupName": other})
        ask("LogRetention", "Delete", {"LogGroupName": other})
        assert logs.describe_log_groups(logGroupNamePrefix=other)["logGroups"]


def call(service: str = "SSM", action: str = "putParameter", **more: object) -> str:
    """
    Write a call as the construct does.
    """
    return json.dumps({"service": service, "action": action, **more})


class TestCalls:
    """
    ``Custom::AWS``.
    """

    def test_without_a_call_nothing_happens(self, ask: Handlers) -> None:
        """
        The id is the one there is, or the logical one.
        """
        assert ask("AWS", "Create", {}) == {"PhysicalResourceId": "Logical"}
        kept = ask("AWS", "Delete", {"Create": call()}, PhysicalResourceId="there")
        assert kept == {"PhysicalResourceId": "there"}

    @pytest.mark.parametrize(
        ("service", "action", "parameters", "key"),
        [
            ("@aws-sdk/client-ssm", "DescribeParametersCommand", {}, "Parameters"),
            ("SSM", "describeParameters", {}, "Parameters"),
            ("CloudWatchLogs", "describeLogGroups", {}, "logGroups"),
            ("@aws-sdk/client-cloudwatch-logs", "describeLogGroups", {}, "logGroups"),
            ("EventBridge", "listEventBuses", {}, "EventBuses"),
            ("CloudWatchEvents", "ListEventBuses", {}, "EventBuses"),
            ("SFN", "listStateMachines", {}, "stateMachines"),
            ("STS", "GetCallerIdentity", {}, "Account"),
            (
                "ApplicationAutoScaling",
                "DescribeScalableTargets",
                {"ServiceNamespace": "sagemaker"},
                "ScalableTargets",
            ),
        ],
    )
    def test_services_and_operations_have_the_names_of_javascript(
        self,
        ask: Handlers,
        service: str,
        action: str,
        parameters: dict[str, str],
        key: str,
    ) -> None:
        """
        Of either version of the SDK.
        """
        declared = call(service, action, parameters=parameters, outputPaths=[key])

        answer = ask("AWS", "Create", {"Create": declared})

        assert answer["PhysicalResourceId"] == "Logical"
        assert all(name.startswith(key) for name in answer["Data"])

    def test_an_answer_is_flat(self, near_aws: EmbeddedAws, ask: Handlers) -> None:
        """
        Items by their numbers, all as text, without what is about the answer itself.
        """
        name = unique("flat")
        put = {"Name": name, "Value": "v", "Type": "String", "Tier": "Standard"}
        ask("AWS", "Create", {"Create": call(parameters=put)})
        wanted = {"Names": [name], "WithDecryption": "FALSE:BOOLEAN"}

        answer = ask(
            "AWS",
            "Update",
            {"Update": call(action="getParameters", parameters=wanted)},
            PhysicalResourceId="there",
        )

        data = answer["Data"]
        assert answer["PhysicalResourceId"] == "there"
        assert data["Parameters.0.Name"] == name
        assert data["Parameters.0.Version"] == "1"
        assert not [key for key in data if "ResponseMetadata" in key]
        account = near_aws.account
        arn = f"arn:aws:ssm:us-east-1:{account}:parameter/{name}"
        assert data["Parameters.0.ARN"] == arn

    def test_an_id_comes_from_the_answer_or_from_the_call(self, ask: Handlers) -> None:
        """
        Or stays; of the answer only what is asked for is seen.
        """

        def answered(source: dict[str, str] | None, *paths: str) -> Untyped:
            parameters = {"Name": unique("id"), "Value": "v", "Type": "String"}
            declared = call(
                parameters=parameters, physicalResourceId=source, outputPaths=paths
            )
            return ask("AWS", "Create", {"Create": declared})

        found = answered({"responsePath": "Version"}, "Ver")
        assert found == {"PhysicalResourceId": "1", "Data": {"Version": "1"}}
        found = answered({"id": "mine"}, "Nothing")
        assert found == {"PhysicalResourceId": "mine", "Data": {}}
        found = answered({"responsePath": "No", "id": "mine"}, "Tier", "Version")
        assert found["PhysicalResourceId"] == "mine"
        assert found["Data"].keys() == {"Tier", "Version"}
        found = answered(None)
        assert found["PhysicalResourceId"] == "Logical"
        assert found["Data"].keys() == {"Tier", "Version"}

    def test_a_call_names_the_resource_and_its_region(
        self, near_aws: EmbeddedAws, ask: Handlers
    ) -> None:
        """
        A physical id where the construct has left a place for it.
        """
        name = unique("placed")
        parameters = {
            "Name": "PHYSICAL:RESOURCEID:",
            "Value": "v",
            "Type": "String",
            "Overwrite": "TRUE:BOOLEAN",
            "Tags": [],
        }
        declared = call(parameters=parameters, region="eu-west-1")
        for _ in range(2):
            ask("AWS", "Update", {"Update": declared}, PhysicalResourceId=name)

        there = near_aws.client("ssm", region_name="eu-west-1")
        assert there.get_parameter(Name=name)["Parameter"]["Version"] == 2
        here = near_aws.client("ssm")
        assert code_of(lambda: here.get_parameter(Name=name)) == "ParameterNotFound"

    @pytest.mark.parametrize(
        ("pattern", "is_ignored"),
        [("Parameter.*", True), ("NotFound", True), ("Other", False), (None, False)],
    )
    def test_an_error_is_ignored_by_its_code(
        self, ask: Handlers, pattern: str | None, *, is_ignored: bool
    ) -> None:
        """
        As far as the construct says so; there is no data then.
        """
        declared = call(
            action="deleteParameter",
            parameters={"Name": "none"},
            ignoreErrorCodesMatching=pattern,
            physicalResourceId={"responsePath": "Version"},
        )

        def ask_it() -> Untyped:
            return ask("AWS", "Delete", {"Delete": declared}, PhysicalResourceId="i")

        if is_ignored:
            assert ask_it() == {"PhysicalResourceId": "i", "Data": {}}
        else:
            assert code_of(ask_it) == "ParameterNotFound"


class TestGroups:
    """
    ``Custom::VpcRestrictDefaultSG``.
    """

    def test_a_group_is_closed_and_opened_again(
        self, near_aws: EmbeddedAws, ask: Handlers
    ) -> None:
        """
        Of two the one that is named now is closed.
        """
        ec2 = near_aws.client("ec2")

        def made() -> str:
            vpc = ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
            filters = [{"Name": "vpc-id", "Values": [vpc]}]
            (group,) = ec2.describe_security_groups(Filters=filters)["SecurityGroups"]
            return str(group["GroupId"])

        def rules(group: str) -> tuple[Untyped, Untyped]:
            found = ec2.describe_security_groups(GroupIds=[group])["SecurityGroups"][0]
            return found["IpPermissions"], found["IpPermissionsEgress"]

        def wanted(group: str) -> dict[str, str]:
            return {"DefaultSecurityGroupId": group, "Account": near_aws.account}

        kind, one, other = "VpcRestrictDefaultSG", made(), made()
        ask(kind, "Create", wanted(one))
        assert rules(one) == ([], [])
        ask(kind, "Create", wanted(one))
        ask(kind, "Update", wanted(one), old=wanted(one))
        assert rules(one) == ([], [])
        ask(kind, "Update", wanted(other), old=wanted(one))
        assert rules(other) == ([], [])
        ((inward,), (outward,)) = rules(one)
        assert (inward["IpProtocol"], outward["IpProtocol"]) == ("-1", "-1")
        assert inward["UserIdGroupPairs"][0]["GroupId"] == one
        assert inward["UserIdGroupPairs"][0]["UserId"] == near_aws.account
        assert [it["CidrIp"] for it in outward["IpRanges"]] == ["0.0.0.0/0"]
        ask(kind, "Delete", wanted(other))
        assert [len(one) for one in rules(other)] == [1, 1]
        refused = code_of(lambda: ask(kind, "Create", wanted("sg-0")))
        assert refused == "InvalidGroup.NotFound"


class TestExports:
    """
    ``Custom::CrossRegionExportWriter`` and ``Custom::CrossRegionExportReader``.
    """

    def test_only_what_is_new_is_written_and_what_is_gone_deleted(
        self, near_aws: EmbeddedAws, ask: Handlers
    ) -> None:
        """
        More than ten at a time too; in the region of the reader.
        """
        ssm = near_aws.client("ssm", region_name="eu-west-1")
        names = [f"/cdk/exports/{unique('many')}" for _ in range(12)]

        def wanted(**exports: str) -> dict[str, Any]:
            return {"WriterProps": {"region": "eu-west-1", "exports": exports}}

        def versions() -> dict[str, tuple[str, int]]:
            found = [
                one
                for start in (0, 10)
                for one in ssm.get_parameters(Names=names[start : start + 10])[
                    "Parameters"
                ]
            ]
            return {one["Name"]: (one["Value"], one["Version"]) for one in found}

        kind, first = "CrossRegionExportWriter", names[0]
        everything = wanted(**dict.fromkeys(names, "v"))
        ask(kind, "Create", everything)
        assert versions() == dict.fromkeys(names, ("v", 1))
        ask(kind, "Update", wanted(**{first: "v"}), old=everything)
        assert versions() == {first: ("v", 1)}
        ask(kind, "Create", wanted(**{first: "w"}))
        assert versions() == {first: ("w", 2)}
        ask(kind, "Delete", wanted(**{first: "w"}))
        assert versions() == {}

    def test_what_is_read_is_marked(self, near_aws: EmbeddedAws, ask: Handlers) -> None:
        """
        And no more when it is not; a parameter that is gone is passed over.
        """
        ssm = near_aws.client("ssm")
        one, other = (f"/cdk/exports/{unique('read')}" for _ in range(2))
        for name in (one, other):
            ssm.put_parameter(Name=name, Value="v", Type="String")

        def wanted(**imports: str) -> dict[str, Any]:
            properties = {"region": "us-east-1", "prefix": "me", "imports": imports}
            return {"ReaderProps": properties}

        def marks() -> list[list[Untyped]]:
            return [
                ssm.list_tags_for_resource(ResourceType="Parameter", ResourceId=name)[
                    "TagList"
                ]
                for name in (one, other)
            ]

        kind = "CrossRegionExportReader"
        mark = [{"Key": "aws-cdk:strong-ref:me", "Value": "true"}]
        made = ask(kind, "Create", wanted(**{one: "v"}))
        assert made == {"Data": {one: "v"}}
        assert marks() == [mark, []]
        ask(kind, "Update", wanted(**{other: "v"}), old=wanted(**{one: "v"}))
        assert marks() == [[], mark]
        gone = ask(kind, "Delete", wanted(**{other: "v", "/none": "v"}))
        assert gone == {"Data": {}}
        assert marks() == [[], []]
        refused = code_of(lambda: ask(kind, "Create", wanted(**{"/none": "v"})))
        assert refused == "InvalidResourceId"


class TestRepositories:
    """
    ``Custom::ECRAutoDeleteImages``.
    """

    def test_a_repository_is_emptied_when_its_resource_goes(
        self, near_aws: EmbeddedAws, ask: Handlers
    ) -> None:
        """
        One that is gone is passed over.
        """
        ecr, name = near_aws.client("ecr"), unique("repository")
        ecr.create_repository(
            repositoryName=name,
            tags=[{"Key": "aws-cdk:auto-delete-images", "Value": "true"}],
        )
        kind, wanted = "ECRAutoDeleteImages", {"RepositoryName": name}
        ask(kind, "Delete", wanted)
        ecr.put_image(
            repositoryName=name,
            imageManifest=json.dumps({"schemaVersion": 2, "layers": [], "config": {}}),
            imageManifestMediaType=MANIFEST,
            imageTag="one",
        )

        ask(kind, "Create", wanted)
        ask(kind, "Update", wanted)
        assert len(ecr.list_images(repositoryName=name)["imageIds"]) == 1
        ask(kind, "Delete", wanted)
        assert ecr.list_images(repositoryName=name)["imageIds"] == []
        ask(kind, "Delete", {"RepositoryName": unique("none")})
