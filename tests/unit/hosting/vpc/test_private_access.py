"""
Endpoints of a closed VPC: for whom, for what, and let in by whom.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from aws_cdk import App, Environment, NestedStack, Stack, Stage
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_secretsmanager as secretsmanager

from cdk_sagemaker_llm import (
    HuggingFaceModel,
    InferenceComponentEndpoint,
    Model,
    Network,
    PrivateAccess,
    ResourceRequirements,
    S3Model,
)
from tests.unit.hosting.vpc.closed import (
    ISOLATED,
    TGI,
    WEIGHTS,
    a_chat,
    a_function,
    a_vpc,
    endpoints_of,
    let_through,
)
from tests.unit.hosting.written import codes_of, keywords_of, properties_of, written

ENV = Environment(account="111111111111", region="us-east-1")
HOSTS = {"s3", "logs", "monitoring", "ecr.api", "ecr.dkr"}
OWN = {"StringEquals": {"aws:PrincipalAccount": "${AWS::AccountId}"}}
CHAT = "${ChatEndpoint}"
INVOKE = [
    "sagemaker:InvokeEndpoint",
    "sagemaker:InvokeEndpointWithResponseStream",
]
ARN = "arn:aws:iam::111111111111:role/other"
TGI_REPOSITORY = "huggingface-pytorch-tgi-inference"


def told(stack: Stack) -> list[tuple[str, str]]:
    """
    Return path and code of each warning, but that TGI is archived.
    """
    return [each for each in codes_of(stack) if each[1] != "LLM201"]


def services(stack: Stack) -> set[str]:
    """
    Return the services that a stack has endpoints of.
    """
    return set(endpoints_of(stack))


def rules(stack: Stack) -> list[tuple[str, str]]:
    """
    Return which group lets which in, by port 443.
    """
    found = written(stack, "EC2::SecurityGroupIngress").values()
    assert {each["Properties"]["FromPort"] for each in found} <= {443}
    assert {each["Properties"]["ToPort"] for each in found} <= {443}
    return sorted(
        (
            str(each["Properties"]["GroupId"]),
            str(each["Properties"]["SourceSecurityGroupId"]),
        )
        for each in found
    )


def test_a_model_alone_has_what_instances_call(stack: Stack) -> None:
    """
    Weights, image, lines and metrics; nobody asks it from inside.
    """
    vpc = a_vpc(stack)
    a_chat(stack, vpc)
    PrivateAccess(stack, "Private", vpc=vpc)

    assert services(stack) == HOSTS
    assert told(stack) == []


@pytest.mark.parametrize(
    "other",
    [Environment(account="111111111111", region="eu-west-1"), None],
    ids=["another region", "no region"],
)
def test_policies_of_other_environments_are_not_asked(
    other: Environment | None,
) -> None:
    """
    The CDK refuses to name a role there, which ended the synthesis.
    """
    app = App()
    stack, elsewhere = Stack(app, "Here", env=ENV), Stack(app, "There", env=other)
    role = iam.Role(elsewhere, "Role", assumed_by=iam.AccountRootPrincipal())
    role.add_to_policy(iam.PolicyStatement(actions=["s3:ListBucket"], resources=["*"]))
    vpc = a_vpc(stack)
    a_chat(stack, vpc)
    PrivateAccess(stack, "Private", vpc=vpc)

    app.synth()

    assert services(stack) == HOSTS


def test_each_endpoint_lets_through_what_the_roles_may_do(stack: Stack) -> None:
    """
    By the very resources that the roles are given.
    """
    vpc = a_vpc(stack)
    a_chat(stack, vpc).grant_invoke(a_function(stack, vpc))
    PrivateAccess(stack, "Private", vpc=vpc)

    ours, partition = "arn:${AWS::Partition}", "${AWS::Partition}"
    groups = f"arn:{partition}:logs:${{AWS::Region}}:${{AWS::AccountId}}:log-group:"
    login = ("ecr:GetAuthorizationToken", "*")
    pull = (
        [
            "ecr:BatchCheckLayerAvailability",
            "ecr:BatchGetImage",
            "ecr:GetDownloadUrlForLayer",
        ],
        f"{ours}:ecr:us-east-1:763104351884:repository/{TGI_REPOSITORY}",
    )
    expected = {
        "s3": [
            ("s3:GetObject", f"{ours}:s3:::bucket/weights/*"),
            ("s3:ListBucket", f"{ours}:s3:::bucket"),
            (
                "s3:GetObject",
                f"{ours}:s3:::prod-${{AWS::Region}}-starport-layer-bucket/*",
            ),
        ],
        "logs": [
            (
                [
                    "logs:CreateLogGroup",
                    "logs:CreateLogStream",
                    "logs:DescribeLogStreams",
                    "logs:PutLogEvents",
                ],
                [
                    f"{groups}/aws/sagemaker/Endpoints/*",
                    f"{groups}/aws/sagemaker/InferenceComponents/*",
                ],
            )
        ],
        "monitoring": [("cloudwatch:PutMetricData", "*")],
        "ecr.api": [login, pull],
        "ecr.dkr": [login, pull],
        "sagemaker.runtime": [(INVOKE, CHAT)],
    }
    assert {name: let_through(stack, name) for name in services(stack)} == expected


def test_a_functions_own_log_group_is_reached_outside_the_vpc(stack: Stack) -> None:
    """
    By Lambda itself; another group that its role may write to is reached from inside.
    """
    vpc = a_vpc(stack)
    asker = a_function(stack, vpc, log_group=logs.LogGroup(stack, "Own"))
    for group in (asker.log_group, logs.LogGroup(stack, "Other")):
        group.grant_write(asker)
    PrivateAccess(stack, "Private", vpc=vpc)

    assert let_through(stack, "logs") == [
        (["logs:CreateLogStream", "logs:PutLogEvents"], "${Other.Arn}")
    ]


def test_a_function_that_writes_its_own_lines_alone_needs_no_endpoint(
    stack: Stack,
) -> None:
    """
    Of CloudWatch Logs: each costs by the hour and zone.
    """
    vpc = a_vpc(stack)
    asker = a_function(stack, vpc, log_group=logs.LogGroup(stack, "Own"))
    asker.log_group.grant_write(asker)
    PrivateAccess(stack, "Private", vpc=vpc)

    assert services(stack) == {"sagemaker.runtime"}


def test_nobody_elses_credentials_are_let_through(stack: Stack) -> None:
    """
    But those of Amazon ECR, which signs for the layers of images itself.
    """
    vpc = a_vpc(stack)
    a_chat(stack, vpc)
    PrivateAccess(stack, "Private", vpc=vpc)

    statements = [
        statement
        for each in endpoints_of(stack).values()
        for statement in each["PolicyDocument"]["Statement"]
    ]
    others = [one for one in statements if one.get("Condition") != OWN]
    assert [one["Resource"].split(":::")[1] for one in others] == [
        "prod-${AWS::Region}-starport-layer-bucket/*"
    ]
    assert {(one["Effect"], one["Principal"]) for one in statements} == {("Allow", "*")}


def test_interfaces_are_private_and_behind_one_group(stack: Stack) -> None:
    """
    The names of AWS lead to them, and only who calls is let in.
    """
    vpc = a_vpc(stack)
    chat = a_chat(stack, vpc)
    chat.grant_invoke(a_function(stack, vpc))
    PrivateAccess(stack, "Private", vpc=vpc)

    found = endpoints_of(stack)
    gateway = found.pop("s3")
    assert gateway["VpcEndpointType"] == "Gateway"
    assert gateway["RouteTableIds"] == [
        "${VpcClosedSubnet1RouteTable}",
        "${VpcClosedSubnet2RouteTable}",
    ]
    assert {
        (each["VpcEndpointType"], each["PrivateDnsEnabled"]) for each in found.values()
    } == {("Interface", True)}
    assert [each["SecurityGroupIds"] for each in found.values()] == [
        ["${PrivateSecurityGroup.GroupId}"]
    ] * 5
    assert [each["SubnetIds"] for each in found.values()] == [
        ["${VpcClosedSubnet1Subnet}", "${VpcClosedSubnet2Subnet}"]
    ] * 5
    groups = written(stack, "EC2::SecurityGroup").values()
    assert [one for one in groups if "SecurityGroupIngress" in one["Properties"]] == []
    assert rules(stack) == [
        ("${PrivateSecurityGroup.GroupId}", "${AskerSecurityGroup.GroupId}"),
        ("${PrivateSecurityGroup.GroupId}", "${ChatModelSecurityGroup.GroupId}"),
    ]


def test_models_wait_for_what_their_instances_call(stack: Stack) -> None:
    """
    But not for the endpoint of the runtime, whose policy names the model's.
    """
    vpc = a_vpc(stack)
    a_chat(stack, vpc).grant_invoke(a_function(stack, vpc))
    PrivateAccess(stack, "Private", vpc=vpc)

    (endpoint,) = written(stack, "SageMaker::Endpoint").values()
    waits = sorted(endpoint["DependsOn"])
    assert [re.sub("(SecurityGroup)[0-9A-F]+$", r"\1", name) for name in waits] == [
        "PrivateEcrApi",
        "PrivateEcrDocker",
        "PrivateLogs",
        "PrivateMonitoring",
        "PrivateS3",
        "PrivateSecurityGroupfromTestAskerSecurityGroup",
        "PrivateSecurityGroupfromTestChatModelSecurityGroup",
        "VpcClosedSubnet1RouteTableAssociation",
        "VpcClosedSubnet2RouteTableAssociation",
    ]


def test_models_wait_for_the_secrets_that_their_containers_read(stack: Stack) -> None:
    """
    As they start, by the execution role.
    """
    vpc = a_vpc(stack)
    secret = secretsmanager.Secret(stack, "Secret")
    secret.grant_read(a_chat(stack, vpc).model.role)
    PrivateAccess(stack, "Private", vpc=vpc)

    (endpoint,) = written(stack, "SageMaker::Endpoint").values()
    assert "PrivateSecretsManager" in endpoint["DependsOn"]


def test_models_wait_for_nothing_where_their_instances_call_others(
    stack: Stack,
) -> None:
    """
    Who is let in to the runtime's endpoint is no matter of theirs.
    """
    vpc = a_vpc(stack)
    a_chat(stack, vpc).grant_invoke(a_function(stack, vpc))
    PrivateAccess(stack, "Private", vpc=vpc, without=sorted(HOSTS))

    assert services(stack) == {"sagemaker.runtime"}
    assert len(rules(stack)) == 2
    (endpoint,) = written(stack, "SageMaker::Endpoint").values()
    waits = endpoint.get("DependsOn", [])
    assert [name for name in waits if name.startswith("Private")] == []


def test_components_and_what_users_grant_are_seen(stack: Stack) -> None:
    """
    A container that reads a secret gets to it, by the secret's own ARN.
    """
    vpc = a_vpc(stack)
    network = Network(vpc=vpc, subnets=ISOLATED)
    host = InferenceComponentEndpoint(
        stack, "Host", instance_type="ml.g5.12xlarge", network=network
    )
    one = ResourceRequirements(accelerators=1)
    host.add_model("It", model=WEIGHTS, serving=TGI, resources=one)
    secretsmanager.Secret(stack, "Secret").grant_read(host)
    access = PrivateAccess(stack, "Private", vpc=vpc)

    assert services(stack) == {*HOSTS, "secretsmanager"}
    assert let_through(stack, "secretsmanager") == [
        (
            ["secretsmanager:GetSecretValue", "secretsmanager:DescribeSecret"],
            "${Secret}",
        )
    ]
    assert access.needed_services()["logs"] == (
        "Test/Host/Config",
        "Test/Host/It/Model",
    )


def test_keys_of_hosts_are_used_by_s3(stack: Stack, key: kms.IKey) -> None:
    """
    It asks KMS itself, outside the VPC.
    """
    vpc = a_vpc(stack)
    weights = S3Model("s3://bucket/weights/", kms_key=key)
    network = Network(vpc=vpc, subnets=ISOLATED)
    Model(stack, "It", model=weights, serving=TGI, network=network)
    PrivateAccess(stack, "Private", vpc=vpc)

    assert services(stack) == HOSTS


def test_a_role_that_stays_as_it_is_has_the_same_endpoints(stack: Stack) -> None:
    """
    What it needs is known, though no policy here says so.
    """
    vpc = a_vpc(stack)
    arn = "arn:aws:iam::111111111111:role/ours"
    role = iam.Role.from_role_arn(stack, "Ours", arn, mutable=False)
    a_chat(stack, vpc, role=role)
    PrivateAccess(stack, "Private", vpc=vpc)

    assert services(stack) == HOSTS
    assert told(stack) == [("/Test/SageMakerAccess:ours/Policy", "LLM237")]


def test_a_client_has_what_its_role_may_call(stack: Stack) -> None:
    """
    A connection of SSM, a role to take, a key, and what is described.
    """
    vpc = a_vpc(stack)
    chat, asker = a_chat(stack, vpc), a_function(stack, vpc)
    chat.store_connection().grant_read(asker)
    allowed = ["sts:AssumeRole", "kms:Decrypt", "sagemaker:DescribeEndpoint"]
    asker.add_to_role_policy(iam.PolicyStatement(actions=allowed, resources=["*"]))
    denied = iam.PolicyStatement(
        effect=iam.Effect.DENY,
        actions=["secretsmanager:GetSecretValue"],
        resources=["*"],
    )
    asker.add_to_role_policy(denied)
    PrivateAccess(stack, "Private", vpc=vpc)

    further = {"sagemaker.runtime", "sagemaker.api", "ssm", "sts", "kms"}
    assert services(stack) == HOSTS | further
    assert let_through(stack, "sts") == [("sts:AssumeRole", "*")]
    # It may not invoke anything yet: what the app has is what it may be let.
    assert let_through(stack, "sagemaker.runtime") == [
        ("sagemaker:InvokeEndpoint", CHAT)
    ]


def test_inline_policies_are_read(stack: Stack) -> None:
    """
    A role's own, beside those that the CDK attaches.
    """
    vpc = a_vpc(stack)
    statement = iam.PolicyStatement(actions=["sts:AssumeRole"], resources=[ARN])
    inline = {"Take": iam.PolicyDocument(statements=[statement])}
    role = iam.Role(
        stack,
        "Role",
        assumed_by=iam.ServicePrincipal("sagemaker.amazonaws.com"),
        inline_policies=inline,
    )
    a_chat(stack, vpc, role=role)
    PrivateAccess(stack, "Private", vpc=vpc)

    assert let_through(stack, "sts") == [("sts:AssumeRole", ARN)]


def test_named_clients_are_let_in(stack: Stack) -> None:
    """
    A group alone says nothing of permissions: it may invoke what the app has.
    """
    vpc = a_vpc(stack)
    a_chat(stack, vpc)
    group = ec2.SecurityGroup(stack, "Team", vpc=vpc, allow_all_outbound=False)
    asker = a_function(stack, vpc)
    access = PrivateAccess(stack, "Private", vpc=vpc, clients=[group, asker])

    (out,) = written(stack, "EC2::SecurityGroupEgress").values()
    assert len(rules(stack)) == 3
    assert out["Properties"]["GroupId"] == "${Team.GroupId}"
    assert out["Properties"]["FromPort"] == 443
    assert let_through(stack, "sagemaker.runtime") == [
        ("sagemaker:InvokeEndpoint", CHAT)
    ]
    # The function is found by itself, and counted once.
    assert access.needed_services()["sagemaker.runtime"] == ("Test/Asker", "Test/Team")


def test_a_group_of_unknown_permissions_may_invoke_beside_who_is_known(
    stack: Stack,
) -> None:
    """
    What another's role may do says nothing of it; only the endpoints in this VPC are
    let through.
    """
    vpc, other = a_vpc(stack), a_vpc(stack, "Other")
    asker = a_function(stack, vpc)
    a_chat(stack, vpc).grant_invoke(asker)
    a_chat(stack, other, "Elsewhere")
    group = ec2.SecurityGroup(stack, "Team", vpc=vpc)
    PrivateAccess(stack, "Private", vpc=vpc, clients=[group])

    assert let_through(stack, "sagemaker.runtime") == [
        (INVOKE, CHAT),
        ("sagemaker:InvokeEndpoint", CHAT),
    ]


def test_routes_change_for_who_calls_alone(stack: Stack) -> None:
    """
    Of a client whose subnets are not known, all without a way out of their own.
    """
    vpc = a_vpc(stack)
    one = ec2.SubnetSelection(subnets=[vpc.isolated_subnets[0]])
    network = Network(vpc=vpc, subnets=one)
    Model(stack, "It", model=WEIGHTS, serving=TGI, network=network)
    PrivateAccess(stack, "Private", vpc=vpc)
    other = a_vpc(stack, "Other")
    first = ec2.SubnetSelection(subnets=[other.isolated_subnets[0]])
    there = Network(vpc=other, subnets=first)
    Model(stack, "There", model=WEIGHTS, serving=TGI, network=there)
    group = ec2.SecurityGroup(stack, "Team", vpc=other)
    PrivateAccess(stack, "OtherPrivate", vpc=other, clients=[group])

    found = {
        each["Properties"]["VpcId"]: each["Properties"]["RouteTableIds"]
        for each in written(stack, "EC2::VPCEndpoint").values()
        if each["Properties"]["VpcEndpointType"] == "Gateway"
    }
    assert found == {
        "${Vpc}": ["${VpcClosedSubnet1RouteTable}"],
        "${Other}": [
            "${OtherClosedSubnet1RouteTable}",
            "${OtherClosedSubnet2RouteTable}",
        ],
    }


def test_subnets_with_a_way_out_are_served_too(stack: Stack) -> None:
    """
    Private ones, and public ones where a model may be; a function in one subnet changes
    the routes of that one.
    """
    vpc = ec2.Vpc(stack, "Vpc", max_azs=2)
    private = ec2.SubnetSelection(subnets=[vpc.private_subnets[0]])
    public = ec2.SubnetSelection(subnets=[vpc.public_subnets[1]])
    asker = lambda_.Function(
        stack,
        "Asker",
        runtime=lambda_.Runtime.PYTHON_3_14,
        handler="index.handler",
        code=lambda_.Code.from_inline("handler = print"),
        vpc=vpc,
        vpc_subnets=private,
    )
    s3.Bucket.from_bucket_name(stack, "Bucket", "bucket").grant_read(asker)
    network = Network(vpc=vpc, subnets=public)
    Model(stack, "It", model=WEIGHTS, serving=TGI, network=network)
    PrivateAccess(stack, "Private", vpc=vpc)

    assert services(stack) == {*HOSTS, "sagemaker.runtime"}
    assert endpoints_of(stack)["s3"]["RouteTableIds"] == [
        "${VpcPublicSubnet2RouteTable}",
        "${VpcPrivateSubnet1RouteTable}",
    ]


@pytest.mark.parametrize("named", [(), ("s3",)], ids=["alone", "named"])
def test_layers_of_images_alone_are_let_through_where_nothing_else_is_read(
    stack: Stack, named: tuple[str, ...]
) -> None:
    """
    Of a model that has nothing on S3; unless the user says that more is called there.
    """
    vpc = a_vpc(stack)
    network = Network(vpc=vpc, subnets=ISOLATED)
    hub = HuggingFaceModel("gpt2")
    Model(stack, "It", model=hub, serving=TGI, network=network)
    PrivateAccess(stack, "Private", vpc=vpc, services=named)

    layers = "arn:${AWS::Partition}:s3:::prod-${AWS::Region}-starport-layer-bucket/*"
    assert services(stack) == HOSTS
    assert let_through(stack, "s3") == [
        *([("s3:*", "*")] if named else []),
        ("s3:GetObject", layers),
    ]


def test_images_are_let_through_where_they_are_pulled(stack: Stack) -> None:
    """
    A function that reads a bucket pulls none.
    """
    vpc = a_vpc(stack)
    asker = a_function(stack, vpc)
    bucket = s3.Bucket.from_bucket_name(stack, "Bucket", "bucket")
    bucket.grant_read(asker, "docs/*")
    PrivateAccess(stack, "Private", vpc=vpc)

    resources = [each for _, each in let_through(stack, "s3")]
    assert len(resources) == 1
    assert "starport" not in str(resources)
    # Nobody waits for what no instance calls.
    assert services(stack) == {"s3", "sagemaker.runtime"}


def test_keys_of_hosts_are_not_let_through_beside_those_of_clients(
    stack: Stack, key: kms.IKey
) -> None:
    """
    A host's are used by S3, outside the VPC.
    """
    vpc = a_vpc(stack)
    weights = S3Model("s3://bucket/weights/", kms_key=key)
    network = Network(vpc=vpc, subnets=ISOLATED)
    Model(stack, "It", model=weights, serving=TGI, network=network)
    asker = a_function(stack, vpc)
    own = "arn:aws:kms:us-east-1:111111111111:key/own"
    allowed = iam.PolicyStatement(actions=["kms:Encrypt"], resources=[own])
    asker.add_to_role_policy(allowed)
    PrivateAccess(stack, "Private", vpc=vpc)

    assert let_through(stack, "kms") == [("kms:Encrypt", own)]


def test_the_same_is_let_through_once(stack: Stack) -> None:
    """
    Two models of one prefix, and another one's beside it.
    """
    vpc = a_vpc(stack)
    network = Network(vpc=vpc, subnets=ISOLATED)
    for name, uri in (("A", "one"), ("B", "one"), ("C", "two")):
        model = S3Model(f"s3://bucket/{uri}/")
        Model(stack, name, model=model, serving=TGI, network=network)
    PrivateAccess(stack, "Private", vpc=vpc)

    ours = "arn:${AWS::Partition}:s3:::"
    assert let_through(stack, "s3")[:2] == [
        ("s3:GetObject", [f"{ours}bucket/one/*", f"{ours}bucket/two/*"]),
        ("s3:ListBucket", f"{ours}bucket"),
    ]


def test_managed_policies_of_the_app_are_read(stack: Stack) -> None:
    """
    Those of one's own role alone; what says all but these actions, or these resources,
    says nothing of any.
    """
    vpc = a_vpc(stack)
    asker, other = a_function(stack, vpc), a_function(stack, a_vpc(stack, "Other"), "B")
    for name, who, service in (("Our", asker, "ssm"), ("Their", other, "sts")):
        statement = iam.PolicyStatement(actions=[f"{service}:Get*"], resources=[ARN])
        policy = iam.ManagedPolicy(stack, name, statements=[statement])
        policy.attach_to_role(_role_of(who))
    asker.add_to_role_policy(iam.PolicyStatement(not_actions=["a:b"], resources=["*"]))
    nowhere = iam.PolicyStatement(actions=["kms:Decrypt"], not_resources=[ARN])
    asker.add_to_role_policy(nowhere)
    PrivateAccess(stack, "Private", vpc=vpc)

    assert services(stack) == {"sagemaker.runtime", "ssm"}
    assert let_through(stack, "ssm") == [("ssm:Get*", ARN)]


def _role_of(function: lambda_.Function) -> iam.IRole:
    assert function.role is not None
    return function.role


def test_services_without_a_caller_take_the_accounts_calls(stack: Stack) -> None:
    """
    Clients of another app, of which nothing is known here.
    """
    vpc = a_vpc(stack)
    given = ["sagemaker.runtime", "ssm"]
    PrivateAccess(stack, "Private", vpc=vpc, services=given)

    assert services(stack) == set(given)
    assert let_through(stack, "sagemaker.runtime") == [
        ("sagemaker:InvokeEndpoint*", "*")
    ]
    assert let_through(stack, "ssm") == [("ssm:*", "*")]


def test_existing_endpoints_are_left_out(stack: Stack) -> None:
    """
    Those that the VPC has already.
    """
    vpc = a_vpc(stack)
    a_chat(stack, vpc)
    access = PrivateAccess(stack, "Private", vpc=vpc, without=["s3", "logs"])

    assert services(stack) == {"monitoring", "ecr.api", "ecr.dkr"}
    assert set(access.needed_services()) == HOSTS


def test_an_imported_vpc_gets_endpoints(stack: Stack) -> None:
    """
    By whichever object stands for it, and one route for each table.
    """
    first, second = (
        ec2.Vpc.from_vpc_attributes(
            stack,
            name,
            vpc_id="vpc-12345678",
            availability_zones=["us-east-1a", "us-east-1b"],
            isolated_subnet_ids=["subnet-11111111", "subnet-22222222"],
            isolated_subnet_route_table_ids=["rtb-11111111", "rtb-11111111"],
        )
        for name in ("One", "Two")
    )
    a_chat(stack, first)
    PrivateAccess(stack, "Private", vpc=second)

    assert services(stack) == HOSTS
    assert endpoints_of(stack)["s3"]["RouteTableIds"] == ["rtb-11111111"]


def test_subnets_and_group_of_ones_own(stack: Stack) -> None:
    """
    Interfaces go where they are told, and behind the group that is given.
    """
    vpc = a_vpc(stack)
    a_chat(stack, vpc)
    given = ec2.SecurityGroup.from_security_group_id(stack, "Given", "sg-12345678")
    one = ec2.SubnetSelection(subnets=[vpc.isolated_subnets[0]])
    access = PrivateAccess(stack, "Private", vpc=vpc, subnets=one, security_group=given)

    found = endpoints_of(stack)["logs"]
    assert found["SubnetIds"] == ["${VpcClosedSubnet1Subnet}"]
    assert found["SecurityGroupIds"] == ["sg-12345678"]
    (group,) = access.connections.security_groups
    assert group.security_group_id == "sg-12345678"
    assert access.security_group.security_group_id == "sg-12345678"
    assert access.vpc is vpc
    assert rules(stack) == [("sg-12345678", "${ChatModelSecurityGroup.GroupId}")]


def test_each_keyword_is_tried() -> None:
    """
    By the tests above.
    """
    assert keywords_of(PrivateAccess.__init__) == {
        "vpc",
        "subnets",
        "clients",
        "services",
        "without",
        "security_group",
    }


def test_two_vpcs_have_endpoints_of_their_own(stack: Stack) -> None:
    """
    Each for the models that are in it.
    """
    for name in ("Red", "Blue"):
        vpc = a_vpc(stack, name)
        a_chat(stack, vpc, f"{name}Chat")
        PrivateAccess(stack, f"{name}Private", vpc=vpc)

    found = written(stack, "EC2::VPCEndpoint")
    assert len(found) == 2 * len(HOSTS)
    assert {each["Properties"]["VpcId"] for each in found.values()} == {
        "${Red}",
        "${Blue}",
    }
    (chat, other) = written(stack, "SageMaker::Endpoint").values()
    assert {name[:3] for name in chat["DependsOn"]} == {"Red"}
    assert {name[:4] for name in other["DependsOn"]} == {"Blue"}


@pytest.mark.parametrize(
    ("region", "names"),
    [
        (
            "cn-north-1",
            {
                "cn.com.amazonaws.cn-north-1.sagemaker.runtime",
                "cn.com.amazonaws.cn-north-1.ecr.api",
                "cn.com.amazonaws.cn-north-1.ecr.dkr",
                "cn.com.amazonaws.cn-north-1.monitoring",
                "com.amazonaws.cn-north-1.logs",
                "com.amazonaws.${AWS::Region}.s3",
            },
        ),
        (
            "us-gov-west-1",
            {
                "com.amazonaws.us-gov-west-1.sagemaker.runtime",
                "com.amazonaws.us-gov-west-1.ecr.api",
                "com.amazonaws.us-gov-west-1.ecr.dkr",
                "com.amazonaws.us-gov-west-1.monitoring",
                "com.amazonaws.us-gov-west-1.logs",
                "com.amazonaws.${AWS::Region}.s3",
            },
        ),
    ],
)
def test_services_are_named_as_the_region_does(
    app: App, region: str, names: set[str]
) -> None:
    """
    China's begin otherwise.
    """
    stack = Stack(app, "There", env=Environment(account="1" * 12, region=region))
    vpc = a_vpc(stack)
    a_chat(stack, vpc).grant_invoke(a_function(stack, vpc))
    PrivateAccess(stack, "Private", vpc=vpc)

    found = written(stack, "EC2::VPCEndpoint").values()
    assert {each["Properties"]["ServiceName"] for each in found} == names


def test_a_stack_without_a_region_gets_them_too(agnostic_stack: Stack) -> None:
    """
    The region is filled in at deployment.
    """
    vpc = a_vpc(agnostic_stack)
    a_chat(agnostic_stack, vpc)
    PrivateAccess(agnostic_stack, "Private", vpc=vpc)

    assert services(agnostic_stack) == HOSTS


def test_a_stage_is_by_itself(app: App) -> None:
    """
    What another stage defines is not deployed with it.
    """
    stacks = []
    for name in ("Test", "Production"):
        stack = Stack(Stage(app, name, env=ENV), "Stack")
        vpc = a_vpc(stack)
        a_chat(stack, vpc)
        PrivateAccess(stack, "Private", vpc=vpc)
        stacks.append(stack)

    assert [services(stack) for stack in stacks] == [HOSTS, HOSTS]


def test_in_the_vpcs_stack_it_waits_for_no_model(app: App) -> None:
    """
    Those who call depend on it, let themselves in, and are not named.
    """
    closed, models = Stack(app, "Closed", env=ENV), Stack(app, "Models", env=ENV)
    vpc = a_vpc(closed)
    PrivateAccess(closed, "Private", vpc=vpc)
    bucket = s3.Bucket(models, "Bucket")
    weights = S3Model.from_bucket(bucket, "weights")
    network = Network(vpc=vpc, subnets=ISOLATED)
    Model(models, "It", model=weights, serving=TGI, network=network)
    a_chat(models, vpc).grant_invoke(a_function(models, vpc))
    app.synth()

    assert services(closed) == {*HOSTS, "sagemaker.runtime"}
    assert rules(closed) == []
    assert len(rules(models)) == 3
    assert told(closed) == [("/Closed/Private", "LLM802")] * 2
    own = endpoints_of(closed)["sagemaker.runtime"]["PolicyDocument"]["Statement"]
    assert [one["Resource"] for one in own] == ["*"]
    assert own[0]["Condition"]["StringEquals"] == {
        "aws:PrincipalAccount": "${AWS::AccountId}",
        "aws:ResourceAccount": "${AWS::AccountId}",
    }


def test_in_the_models_stack_it_names_them(app: App) -> None:
    """
    The VPC and a group come from a stack that this one depends on anyway.
    """
    closed, models = Stack(app, "Closed", env=ENV), Stack(app, "Models", env=ENV)
    vpc = a_vpc(closed)
    group = ec2.SecurityGroup(closed, "Group", vpc=vpc)
    a_chat(models, vpc, groups=(group,)).grant_invoke(a_function(models, vpc))
    PrivateAccess(models, "Private", vpc=vpc)
    app.synth()

    assert told(models) == []
    assert rules(closed) == []
    assert len(rules(models)) == 2
    assert let_through(models, "sagemaker.runtime") == [(INVOKE, CHAT)]


def test_a_group_that_lets_nothing_out_is_let_out_in_the_later_stack(app: App) -> None:
    """
    Else the VPC's would depend on this one.
    """
    closed, models = Stack(app, "Closed", env=ENV), Stack(app, "Models", env=ENV)
    vpc = a_vpc(closed)
    group = ec2.SecurityGroup(closed, "Group", vpc=vpc, allow_all_outbound=False)
    a_chat(models, vpc, groups=(group,))
    PrivateAccess(models, "Private", vpc=vpc)
    app.synth()

    assert written(closed, "EC2::SecurityGroupEgress") == {}
    assert len(written(models, "EC2::SecurityGroupEgress")) == 1
    assert models not in closed.dependencies


def test_a_stack_that_is_told_to_be_later_names_what_is_before(app: App) -> None:
    """
    As the user says; and that models are deployed first is told.
    """
    closed, models = Stack(app, "Closed", env=ENV), Stack(app, "Models", env=ENV)
    later = Stack(app, "Later", env=ENV)
    later.add_dependency(models)
    vpc = a_vpc(closed)
    a_chat(models, vpc).grant_invoke(a_function(models, vpc))
    PrivateAccess(later, "Private", vpc=vpc)
    app.synth()

    assert told(later) == [("/Later/Private", "LLM805")]
    ((action, resource),) = let_through(later, "sagemaker.runtime")
    assert action == INVOKE
    assert "ExportsOutput" in str(resource)


def test_a_service_that_is_named_needs_no_caller(stack: Stack) -> None:
    """
    The way to S3 is then that of all subnets without a way of their own.
    """
    PrivateAccess(stack, "Private", vpc=a_vpc(stack), services=["s3"])

    assert endpoints_of(stack)["s3"]["RouteTableIds"] == [
        "${VpcClosedSubnet1RouteTable}",
        "${VpcClosedSubnet2RouteTable}",
    ]


def test_in_a_stack_of_its_own_models_wait_for_it(app: App) -> None:
    """
    Its stack is deployed before theirs.
    """
    closed, models = Stack(app, "Closed", env=ENV), Stack(app, "Models", env=ENV)
    between = Stack(app, "Between", env=ENV)
    vpc = a_vpc(closed)
    a_chat(models, vpc)
    PrivateAccess(between, "Private", vpc=vpc)
    app.synth()

    assert services(between) == HOSTS
    assert between in models.dependencies
    assert models not in between.dependencies


def test_warns_if_models_are_deployed_first(app: App) -> None:
    """
    Their stack has the VPC, which this stack cannot be before.
    """
    models, later = Stack(app, "Models", env=ENV), Stack(app, "Later", env=ENV)
    vpc = a_vpc(models)
    a_chat(models, vpc).grant_invoke(a_function(models, vpc))
    PrivateAccess(later, "Private", vpc=vpc)
    app.synth()

    assert told(later) == [("/Later/Private", "LLM805")]


def test_a_nested_stack_is_served(stack: Stack) -> None:
    """
    Its models wait for what the parent has.
    """
    vpc = a_vpc(stack)
    nested = NestedStack(stack, "Nested")
    a_chat(nested, vpc)
    PrivateAccess(stack, "Private", vpc=vpc)

    assert services(stack) == HOSTS
    (child,) = written(stack, "CloudFormation::Stack").values()
    assert {"PrivateS3", "PrivateLogs"} <= set(child["DependsOn"])


def test_a_function_in_no_vpc_is_not_served(stack: Stack) -> None:
    """
    It calls AWS from outside.
    """
    vpc = a_vpc(stack)
    lambda_.Function(
        stack,
        "Outside",
        runtime=lambda_.Runtime.PYTHON_3_14,
        handler="index.handler",
        code=lambda_.Code.from_inline("handler = print"),
    )
    access = PrivateAccess(stack, "Private", vpc=vpc)

    assert access.needed_services() == {}
    assert written(stack, "EC2::VPCEndpoint") == {}


def test_what_is_known_in_part_is_not_named_by_an_earlier_stack(app: App) -> None:
    """
    The other resource is one of the later stack.
    """
    closed, models = Stack(app, "Closed", env=ENV), Stack(app, "Models", env=ENV)
    vpc = a_vpc(closed)
    PrivateAccess(closed, "Private", vpc=vpc)
    secret = secretsmanager.Secret(models, "Secret")
    read = ["secretsmanager:GetSecretValue"]
    both = iam.PolicyStatement(actions=read, resources=[ARN, secret.secret_arn])
    a_function(models, vpc).add_to_role_policy(both)
    app.synth()

    assert let_through(closed, "secretsmanager") == [(read[0], "*")]
    assert ("/Closed/Private", "LLM802") in told(closed)


def test_who_is_elsewhere_is_not_served(stack: Stack) -> None:
    """
    Functions and models of another VPC, or of none.
    """
    vpc, other = a_vpc(stack), a_vpc(stack, "Other")
    a_chat(stack, other).grant_invoke(a_function(stack, other))
    hub = HuggingFaceModel("gpt2")
    Model(stack, "Free", model=hub, serving=TGI)
    PrivateAccess(stack, "Private", vpc=vpc)

    assert written(stack, "EC2::VPCEndpoint") == {}
    assert [code for path, code in told(stack) if path == "/Test/Private"] == ["LLM804"]


def _synthesis(stack: Stack) -> Callable[[], object]:
    app = stack.node.root
    assert isinstance(app, App)
    return app.synth


def test_fails_if_an_endpoint_is_there_already(stack: Stack) -> None:
    """
    The VPC's own gateway, or another private access: EC2 refuses the second.
    """
    vpc = a_vpc(stack)
    vpc.add_gateway_endpoint("S3", service=ec2.GatewayVpcEndpointAwsService.S3)
    a_chat(stack, vpc)
    PrivateAccess(stack, "Private", vpc=vpc)

    with pytest.raises(
        RuntimeError, match=r"LLM702 the VPC has an endpoint of s3 already, at Test/Vpc"
    ):
        _synthesis(stack)()


@pytest.mark.parametrize("kind", [None, "Gateway"])
def test_fails_if_a_gateway_is_there_already(stack: Stack, kind: str | None) -> None:
    """
    One that is left without a type is a gateway, too (EC2 API reference).
    """
    vpc = a_vpc(stack)
    ec2.CfnVPCEndpoint(
        stack,
        "Own",
        vpc_id=vpc.vpc_id,
        service_name="com.amazonaws.us-east-1.s3",
        route_table_ids=[
            each.route_table.route_table_id for each in vpc.isolated_subnets
        ],
        vpc_endpoint_type=kind,
    )
    a_chat(stack, vpc)
    PrivateAccess(stack, "Private", vpc=vpc)

    with pytest.raises(
        RuntimeError, match=r"LLM702 the VPC has an endpoint of s3 already, at Test/Own"
    ):
        _synthesis(stack)()


def test_an_endpoint_without_private_dns_is_in_nobodys_way(stack: Stack) -> None:
    """
    Two of one service may be side by side, as long as one has the names; a gateway to
    S3 may be beside interfaces.
    """
    vpc = a_vpc(stack)
    vpc.add_interface_endpoint("S3", service=ec2.InterfaceVpcEndpointAwsService.S3)
    vpc.add_interface_endpoint(
        "Logs",
        service=ec2.InterfaceVpcEndpointAwsService.CLOUDWATCH_LOGS,
        private_dns_enabled=False,
    )
    a_chat(stack, vpc)
    PrivateAccess(stack, "Private", vpc=vpc)

    assert len(written(stack, "EC2::VPCEndpoint")) == len(HOSTS) + 2


def test_fails_if_route_tables_are_not_known(stack: Stack) -> None:
    """
    A gateway is a line in them.
    """
    vpc = ec2.Vpc.from_vpc_attributes(
        stack,
        "Vpc",
        vpc_id="vpc-12345678",
        availability_zones=["us-east-1a"],
        isolated_subnet_ids=["subnet-11111111"],
    )
    a_chat(stack, vpc)
    PrivateAccess(stack, "Private", vpc=vpc)

    with pytest.raises(RuntimeError, match=r"LLM703 .* that of subnet-11111111 is not"):
        _synthesis(stack)()


@pytest.mark.parametrize("given", ["enable_dns_hostnames", "enable_dns_support"])
def test_fails_if_the_vpc_resolves_no_names(stack: Stack, given: str) -> None:
    """
    Private DNS needs both.
    """
    off: dict[str, Any] = {given: False}
    vpc = a_vpc(stack, **off)

    with pytest.raises(ValueError, match=r"Test/Private: LLM704 vpc must resolve"):
        PrivateAccess(stack, "Private", vpc=vpc)


@pytest.mark.parametrize("parameter", ["services", "without"])
def test_fails_if_a_service_is_not_known(stack: Stack, parameter: str) -> None:
    """
    Of a name that nothing is called by, nothing could be left out either.
    """
    vpc = a_vpc(stack)
    given: dict[str, Any] = {parameter: ["s3", "ecr"]}

    with pytest.raises(
        ValueError, match=rf"LLM705 {parameter} must name .* got 'ecr'; use s3, logs,"
    ):
        PrivateAccess(stack, "Private", vpc=vpc, **given)


def test_fails_if_a_client_is_nowhere_in_the_app(stack: Stack) -> None:
    """
    Connections alone have no stack to write a rule in.
    """
    vpc = a_vpc(stack)
    group = ec2.SecurityGroup(stack, "Group", vpc=vpc)

    with pytest.raises(TypeError, match="clients must be constructs, got Connections"):
        PrivateAccess(stack, "Private", vpc=vpc, clients=[group.connections])


def test_its_group_lets_nothing_out(stack: Stack) -> None:
    """
    Endpoints answer, and call nobody.
    """
    PrivateAccess(stack, "Private", vpc=a_vpc(stack))

    group = properties_of(stack, "EC2::SecurityGroup")
    assert [one["CidrIp"] for one in group["SecurityGroupEgress"]] == [
        "255.255.255.255/32"
    ]
    assert "SecurityGroupIngress" not in group
