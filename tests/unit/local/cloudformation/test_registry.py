"""
Types that moto makes: what a stack takes away again, and what it names.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from cdk_sagemaker_llm.local.cloudformation.registry import (
    is_custom,
    must_replace,
    type_names,
)
from tests.local.hosting_requests import unique
from tests.local.stacks import Stacks, Template

if TYPE_CHECKING:
    from cdk_sagemaker_llm.local import EmbeddedAws
    from cdk_sagemaker_llm.local.aws.untyped import Untyped

FIRST = {"Fn::Select": [0, {"Fn::GetAZs": ""}]}


@pytest.fixture(name="ec2", scope="module")
def _ec2(near_aws: EmbeddedAws) -> Untyped:
    return near_aws.client("ec2")


def declared(kind: str, **properties: object) -> dict[str, Any]:
    """
    Declare a resource.
    """
    return {"Type": f"AWS::{kind}", "Properties": properties}


def ref(name: str) -> dict[str, str]:
    """
    Refer to a resource.
    """
    return {"Ref": name}


def network() -> dict[str, Any]:
    """
    Declare a network, and all that moto leaves behind when it goes.
    """
    document = {"Version": "2012-10-17", "Statement": []}
    return {
        "Vpc": declared("EC2::VPC", CidrBlock="10.0.0.0/16"),
        **{
            name: declared(
                "EC2::Subnet",
                VpcId=ref("Vpc"),
                CidrBlock=f"10.0.{number}.0/24",
                AvailabilityZone=FIRST,
            )
            for number, name in enumerate(("Subnet", "Other"))
        },
        "Table": declared("EC2::RouteTable", VpcId=ref("Vpc")),
        "Gateway": declared("EC2::InternetGateway"),
        "Attachment": declared(
            "EC2::VPCGatewayAttachment",
            VpcId=ref("Vpc"),
            InternetGatewayId=ref("Gateway"),
        ),
        "OtherTable": declared("EC2::RouteTable", VpcId=ref("Vpc")),
        **{
            f"{subnet}Association": declared(
                "EC2::SubnetRouteTableAssociation",
                SubnetId=ref(subnet),
                RouteTableId=ref("Table"),
            )
            for subnet in ("Subnet", "Other")
        },
        "Address": declared("EC2::EIP", Domain="vpc"),
        "Nat": declared(
            "EC2::NatGateway",
            SubnetId=ref("Subnet"),
            AllocationId={"Fn::GetAtt": ["Address", "AllocationId"]},
        ),
        "Endpoint": declared(
            "EC2::VPCEndpoint",
            VpcId=ref("Vpc"),
            ServiceName="com.amazonaws.us-east-1.sqs",
            PolicyDocument=document,
            VpcEndpointType="Interface",
            SubnetIds=[ref("Subnet")],
        ),
        "Interface": declared("EC2::NetworkInterface", SubnetId=ref("Other")),
    }


def test_each_part_of_a_network_goes_by_itself(stacks: Stacks, ec2: Untyped) -> None:
    """
    While the rest of it stays.
    """
    name, whole = unique("stack"), network()
    assert stacks.create(name, {"Resources": whole}) == "CREATE_COMPLETE"
    made = stacks.physical_ids(name)

    def there() -> dict[str, object]:
        nats = ec2.describe_nat_gateways(NatGatewayIds=[made["Nat"]])["NatGateways"]
        gateways = ec2.describe_internet_gateways()["InternetGateways"]
        attached = {one["InternetGatewayId"]: one["Attachments"] for one in gateways}
        endpoints = ec2.describe_vpc_endpoints()["VpcEndpoints"]
        mine = [
            one
            for one in endpoints
            if (one["VpcId"], one["State"]) == (made["Vpc"], "available")
        ]
        interfaces = ec2.describe_network_interfaces()["NetworkInterfaces"]
        return {
            "nats": [one["State"] for one in nats],
            "attached": [one["VpcId"] for one in attached[made["Gateway"]]],
            "endpoints": [json.loads(one["PolicyDocument"]) for one in mine],
            "addresses": len(ec2.describe_addresses()["Addresses"]),
            "interfaces": made["Interface"]
            in [one["NetworkInterfaceId"] for one in interfaces],
        }

    assert there() == {
        "nats": ["available"],
        "attached": [made["Vpc"]],
        "endpoints": [{"Version": "2012-10-17", "Statement": []}],
        "addresses": 1,
        "interfaces": True,
    }
    gone = ("SubnetAssociation", "Nat", "Address", "Endpoint", "Attachment")
    left = {k: v for k, v in whole.items() if k not in (*gone, "Interface")}
    assert stacks.update(name, {"Resources": left}) == "UPDATE_COMPLETE"
    after = there()
    assert after.pop("nats") in ([], ["deleted"])
    assert after == {
        "attached": [],
        "endpoints": [],
        "addresses": 0,
        "interfaces": False,
    }
    assert ("Nat", "DELETE_FAILED") not in [it[:2] for it in stacks.events(name)]
    assert stacks.delete(name) == "DELETE_COMPLETE"
    tables = [one["RouteTableId"] for one in ec2.describe_route_tables()["RouteTables"]]
    assert made["Table"] not in tables
    assert made["OtherTable"] not in tables
    gateways = ec2.describe_internet_gateways()["InternetGateways"]
    assert made["Gateway"] not in [one["InternetGatewayId"] for one in gateways]


def test_a_policy_goes_though_others_hold_it(
    near_aws: EmbeddedAws, stacks: Stacks
) -> None:
    """
    A role, a user and a group, which were given it by others.
    """
    iam, name = near_aws.client("iam"), unique("stack")
    statement = {"Effect": "Allow", "Action": "s3:Get*", "Resource": "*"}
    document = {"Version": "2012-10-17", "Statement": [statement]}
    policy = declared("IAM::ManagedPolicy", PolicyDocument=document)
    topic = declared("SNS::Topic")
    stacks.create(name, {"Resources": {"P": policy, "T": topic}})
    arn = stacks.physical_ids(name)["P"]
    iam.create_role(RoleName=name, AssumeRolePolicyDocument="{}")
    iam.create_user(UserName=name)
    iam.create_group(GroupName=name)
    iam.attach_role_policy(RoleName=name, PolicyArn=arn)
    iam.attach_user_policy(UserName=name, PolicyArn=arn)
    iam.attach_group_policy(GroupName=name, PolicyArn=arn)

    stacks.update(name, {"Resources": {"T": topic}})

    held = [
        iam.list_attached_role_policies(RoleName=name)["AttachedPolicies"],
        iam.list_attached_user_policies(UserName=name)["AttachedPolicies"],
        iam.list_attached_group_policies(GroupName=name)["AttachedPolicies"],
    ]
    assert held == [[], [], []]
    local = iam.list_policies(Scope="Local")["Policies"]
    assert arn not in [one["Arn"] for one in local]


def test_tags_come_in_the_form_of_the_service(
    near_aws: EmbeddedAws, stacks: Stacks
) -> None:
    """
    Those of a key from a list, those of a parameter from a map.
    """
    name = unique("stack")
    tags = [{"Key": "team", "Value": "a"}]
    key = declared("KMS::Key", KeyPolicy={"Statement": []}, Tags=tags)
    bare = declared("KMS::Key", KeyPolicy={"Statement": []})
    word = declared("SSM::Parameter", Type="String", Value="x", Tags={"team": "a"})
    resources = {"Key": key, "Bare": bare, "Word": word}
    assert stacks.create(name, {"Resources": resources}) == "CREATE_COMPLETE"
    made = stacks.physical_ids(name)
    kms, ssm = near_aws.client("kms"), near_aws.client("ssm")

    assert kms.list_resource_tags(KeyId=made["Key"])["Tags"] == [
        {"TagKey": "team", "TagValue": "a"}
    ]
    assert kms.list_resource_tags(KeyId=made["Bare"])["Tags"] == []
    found = ssm.list_tags_for_resource(
        ResourceType="Parameter", ResourceId=made["Word"]
    )
    assert found["TagList"] == tags


@pytest.mark.parametrize(
    ("attribute", "value", "reason"),
    [
        ("Value", "x", None),
        ("Nothing", None, "moto's AWS::SSM::Parameter has no attribute Nothing"),
    ],
)
def test_an_attribute_that_moto_lacks_is_read_of_the_properties(
    stacks: Stacks, attribute: str, value: str | None, reason: str | None
) -> None:
    """
    If it is one of them; what asks for another one fails.
    """
    name = unique("stack")
    word = declared("SSM::Parameter", Type="String", Value="x")
    got = {"Fn::GetAtt": ["Word", attribute]}
    other = declared("SSM::Parameter", Type="String", Value=got)
    template: Template = {"Resources": {"Word": word, "Other": other}}
    template["Outputs"] = {"Got": {"Value": got}}

    status = stacks.create(name, template)

    if reason is None:
        assert (status, stacks.outputs(name)) == ("CREATE_COMPLETE", {"Got": value})
    else:
        assert status == "ROLLBACK_COMPLETE"
        assert ("Other", "CREATE_FAILED", reason) in stacks.events(name)


def test_names_say_whose_they_are(near_aws: EmbeddedAws, stacks: Stacks) -> None:
    """
    The stack's and the resource's; a queue or a topic in order ends as its kind.
    """
    name = unique("aws-Stack")
    resources = {
        "Queue": declared("SQS::Queue"),
        "Fifo": declared("SQS::Queue", FifoQueue="true"),
        "Not": declared("SQS::Queue", FifoQueue="false"),
        "Topic": declared("SNS::Topic", FifoTopic=True),
        "Word": declared("SSM::Parameter", Type="String", Value="x"),
        "Repo": declared("ECR::Repository"),
    }
    assert stacks.create(name, {"Resources": resources}) == "CREATE_COMPLETE"
    made = stacks.physical_ids(name)

    assert f"/{name}-Queue-" in made["Queue"]
    endings = [made[key].endswith(".fifo") for key in ("Queue", "Fifo", "Not", "Topic")]
    assert endings == [False, True, False, True]
    assert made["Word"].startswith("CFN-Word-")
    assert made["Repo"].startswith(f"{name.lower()}-repo-")
    assert near_aws.client("sqs").get_queue_url(
        QueueName=made["Queue"].rpartition("/")[2]
    )


def test_what_nothing_stands_for_is_recorded(stacks: Stacks) -> None:
    """
    With a remark, except for what the CDK writes of itself; references resolve.
    """
    name = unique("stack")
    resources = {
        "Odd": declared("Odd::Thing", Size=1),
        "CDKMetadata": declared("CDK::Metadata", Analytics="v2:x"),
    }
    outputs = {
        "Id": ref("Odd"),
        "Arn": {"Fn::GetAtt": ["Odd", "SomeArn"]},
        "Size": {"Fn::GetAtt": ["Odd", "Size"]},
    }
    template: Template = {"Resources": resources}
    template["Outputs"] = {key: {"Value": value} for key, value in outputs.items()}
    assert stacks.create(name, template) == "CREATE_COMPLETE"

    found = stacks.outputs(name)
    assert found["Id"].startswith("Odd-")
    assert found["Arn"].startswith("arn:aws:not-emulated:us-east-1:")
    assert found["Arn"].endswith(f":{found['Id']}")
    assert found["Size"] == f"{found['Id']}.Size"
    remark = "AWS::Odd::Thing is not emulated: recorded, nothing was made."
    events = stacks.events(name)
    assert ("Odd", "CREATE_COMPLETE", remark) in events
    assert ("CDKMetadata", "CREATE_COMPLETE", "") in events
    resources["Odd"]["Properties"]["Size"] = 2
    assert stacks.update(name, template) == "UPDATE_COMPLETE"
    assert stacks.physical_ids(name)["Odd"] == found["Id"]
    assert stacks.delete(name) == "DELETE_COMPLETE"


def test_a_function_has_the_defaults_again_that_its_template_leaves_out(
    near_aws: EmbeddedAws, stacks: Stacks
) -> None:
    """
    moto keeps what it had.
    """
    name, client = unique("stack"), near_aws.client("lambda")
    role = f"arn:aws:iam::{near_aws.account}:role/any"

    def template(**settings: object) -> Template:
        function = declared(
            "Lambda::Function",
            FunctionName=name,
            Code={"ZipFile": "def handler(event, context): pass"},
            Handler="index.handler",
            Runtime="python3.12",
            Role=role,
            **settings,
        )
        return {"Resources": {"F": function}}

    near_aws.client("iam").create_role(
        RoleName="any", AssumeRolePolicyDocument=json.dumps(TRUST)
    )
    variables = {"Variables": {"A": "1"}}
    settings = {"Description": "d", "MemorySize": 256, "Timeout": 9}
    assert (
        stacks.create(name, template(**settings, Environment=variables))
        == "CREATE_COMPLETE"
    )
    assert stacks.update(name, template(Environment={})) == "UPDATE_COMPLETE"

    found = client.get_function_configuration(FunctionName=name)
    assert (found["Description"], found["MemorySize"], found["Timeout"]) == ("", 128, 3)
    assert found.get("Environment", {}).get("Variables", {}) == {}
    assert stacks.delete(name) == "DELETE_COMPLETE"
    listed = client.list_functions()["Functions"]
    assert name not in [one["FunctionName"] for one in listed]


TRUST = {
    "Version": "2012-10-17",
    "Statement": [
        {
            "Effect": "Allow",
            "Action": "sts:AssumeRole",
            "Principal": {"Service": "lambda.amazonaws.com"},
        }
    ],
}


def test_types_are_ours_and_those_of_moto() -> None:
    """
    And custom ones by their names.
    """
    found = set(type_names())

    assert {
        "AWS::SageMaker::Endpoint",
        "AWS::CloudFormation::WaitCondition",
        "AWS::CloudWatch::Alarm",
        "AWS::SNS::Subscription",
        "AWS::SQS::Queue",
    } <= found
    assert is_custom("Custom::Mine")
    assert is_custom("AWS::CloudFormation::CustomResource")
    assert not is_custom("AWS::CloudFormation::Stack")
    assert not is_custom("AWS::Custom::Mine")


@pytest.mark.parametrize(
    ("kind", "before", "after", "replaces"),
    [
        ("SSM::Parameter", {"Name": "a"}, {"Name": "b"}, True),
        ("SSM::Parameter", {"Value": "a"}, {"Value": "b"}, False),
        ("SQS::Queue", {"QueueName": "a"}, {}, True),
        ("SageMaker::EndpointConfig", {"KmsKeyId": "a"}, {"KmsKeyId": "b"}, True),
        ("SageMaker::Endpoint", {"Tags": []}, {"Tags": [1]}, False),
        # moto changes none in place; AWS replaces none for its tags.
        ("EC2::VPC", {"EnableDnsSupport": True}, {"EnableDnsSupport": False}, True),
        ("EC2::VPC", {"Tags": []}, {"Tags": [1]}, False),
        ("EC2::VPC", {"Tags": [], "A": 1}, {"Tags": [1], "A": 2}, True),
        ("Odd::Thing", {"A": 1}, {"A": 2}, False),
        # It has a name in moto, by which it is found.
        ("IAM::Role", {"RoleName": "a"}, {"RoleName": "b"}, True),
    ],
)
def test_a_change_replaces_where_the_registry_or_moto_says_so(
    kind: str, before: dict[str, Any], after: dict[str, Any], *, replaces: bool
) -> None:
    """
    Otherwise the resource stays the same.
    """
    assert must_replace(f"AWS::{kind}", before, after) is replaces
