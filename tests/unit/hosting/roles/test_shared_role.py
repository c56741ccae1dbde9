"""
One role of many models: one policy, which is there before and after them.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable
from typing import Any

import pytest
from aws_cdk import App, Environment, NestedStack, Stack, Stage
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from aws_cdk.assertions import Template
from constructs import Construct

from cdk_sagemaker_llm import (
    EndpointConfig,
    HuggingFaceModel,
    InferenceComponentEndpoint,
    LlmEndpoint,
    Model,
    Network,
    ProductionVariant,
    ResourceRequirements,
    S3Model,
    Tgi,
)
from cdk_sagemaker_llm.hosting.roles.access import access_of
from cdk_sagemaker_llm.hosting.roles.statements import Statement
from tests.conftest import ACCOUNT, REGION, STRICT
from tests.unit.hosting.expected import (
    ATTACH_TO_VPC,
    ENCRYPT_VOLUMES,
    LOG_IN,
    PUBLISH_METRICS,
    WRITE_LOGS,
    policy,
)
from tests.unit.hosting.written import written

TGI = Tgi("3.3.6")
ONE = ResourceRequirements(accelerators=1)
ENVIRONMENT = Environment(account=ACCOUNT, region=REGION)
SAGEMAKER = iam.ServicePrincipal("sagemaker.amazonaws.com")


def add(host: InferenceComponentEndpoint, names: Iterable[str]) -> None:
    """
    Add a model for each name, whose weights are under that prefix.
    """
    for name in names:
        weights = S3Model(f"s3://weights/{name}/")
        host.add_model(name[:1].upper(), model=weights, serving=TGI, resources=ONE)


def statements_of(stack: Stack, name: str = "HostAccess") -> dict[str, Any]:
    """
    Return the statements of a policy by their names.
    """
    (found,) = (
        resource["Properties"]["PolicyDocument"]["Statement"]
        for key, resource in written(stack, "IAM::Policy").items()
        if key == name
    )
    return {statement["Sid"]: statement for statement in found}


def dependencies_of(stack: Stack, kind: str) -> list[list[str]]:
    """
    Return what each resource of a type waits for.
    """
    return [each.get("DependsOn", []) for each in written(stack, kind).values()]


def test_a_host_without_models_may_attach_and_log(
    stack: Stack, network: Network
) -> None:
    """
    The endpoint is created before the first model, and deleted after the last one.
    """
    InferenceComponentEndpoint(
        stack, "Host", instance_type="ml.p4d.24xlarge", network=network
    )

    kept = "RetainExceptOnCreate"
    assert written(stack, "IAM::Policy") == {
        "HostAccess": {
            **policy(
                "HostAccess",
                "${HostRole}",
                LOG_IN,
                WRITE_LOGS,
                PUBLISH_METRICS,
                ATTACH_TO_VPC,
            ),
            "DeletionPolicy": kept,
            "UpdateReplacePolicy": "Retain",
        }
    }
    assert dependencies_of(stack, "SageMaker::EndpointConfig") == [["HostAccess"]]


def test_models_add_to_the_hosts_policy(
    stack: Stack, host: InferenceComponentEndpoint
) -> None:
    """
    United and without repeats; each model waits for it.
    """
    add(host, ["a", "b"])

    found = statements_of(stack)

    assert list(found) == [
        "LogInToRegistries",
        "WriteLogs",
        "PublishMetrics",
        "PullImage",
        "ReadWeights",
        "ListWeights",
    ]
    bucket = "arn:${AWS::Partition}:s3:::weights"
    assert found["ReadWeights"]["Resource"] == [f"{bucket}/a/*", f"{bucket}/b/*"]
    assert found["ListWeights"] == {
        "Sid": "ListWeights",
        "Effect": "Allow",
        "Action": "s3:ListBucket",
        "Resource": bucket,
        "Condition": {"StringLike": {"s3:prefix": ["a/*", "b/*"]}},
    }
    assert dependencies_of(stack, "SageMaker::Model") == [["HostAccess"]] * 2


def test_the_policys_place_does_not_depend_on_the_models() -> None:
    """
    None, one, or two in another order: it is updated in place.
    """
    places = []
    for names in ("", "a", "ab", "ba"):
        stack = Stack(App(), "Test")
        host = InferenceComponentEndpoint(
            stack, "Host", instance_type="ml.p4d.24xlarge"
        )
        add(host, names)
        places.append(
            set(Template.from_stack(stack).find_resources("AWS::IAM::Policy"))
        )

    assert places == [places[0]] * 4
    assert len(places[0]) == 1


def test_a_model_more_leaves_what_the_others_have(
    stack: Stack, host: InferenceComponentEndpoint
) -> None:
    """
    Nothing of theirs moves from one policy to another.
    """
    other = Stack(App(), "Other", env=ENVIRONMENT)
    without = InferenceComponentEndpoint(other, "Host", instance_type="ml.p4d.24xlarge")
    names = [f"{letter}{'x' * 500}" for letter in "abcde"]
    add(without, names)
    add(host, [*names, "z"])

    before, after = (
        {
            key: _resources(each)
            for key, each in written(one).items()
            if each["Type"] in {"AWS::IAM::Policy", "AWS::IAM::ManagedPolicy"}
        }
        for one in (other, stack)
    )

    assert set(before) == {"HostAccess", "HostAccess1"}
    assert {key: before[key] - after[key] for key in before} == {
        "HostAccess": set(),
        "HostAccess1": set(),
    }


def _resources(resource: dict[str, Any]) -> set[str]:
    return {
        value
        for statement in resource["Properties"]["PolicyDocument"]["Statement"]
        for value in (
            [statement["Resource"]]
            if isinstance(statement["Resource"], str)
            else statement["Resource"]
        )
    }


def test_twelve_models_on_s3_fit_one_policy(stack: Stack) -> None:
    """
    A policy each passed what IAM allows a role at the seventh.
    """
    host = InferenceComponentEndpoint(
        stack, "Host", instance_type="ml.p4d.24xlarge", instance_count=2
    )
    add(host, "abcdefghijkl")
    template = Template.from_stack(stack)

    template.resource_count_is("AWS::IAM::Policy", 1)
    template.resource_count_is("AWS::IAM::ManagedPolicy", 0)


def test_what_does_not_fit_goes_to_managed_policies(stack: Stack) -> None:
    """
    Each is within its limit, attached to the role, and waited for by those who need it.
    """
    host = InferenceComponentEndpoint(
        stack, "Host", instance_type="ml.p4d.24xlarge", instance_count=2
    )
    add(host, [f"{letter}{'x' * 500}" for letter in "abcdefghijkl"])
    inline = written(stack, "IAM::Policy")
    managed = written(stack, "IAM::ManagedPolicy")

    assert list(inline) == ["HostAccess"]
    assert list(managed) == ["HostAccess1", "HostAccess2"]
    assert [each["Properties"]["Roles"] for each in managed.values()] == [
        ["${HostRole}"]
    ] * 2
    waits = dependencies_of(stack, "SageMaker::Model")
    assert waits[0] == ["HostAccess"]
    assert waits[-1] == ["HostAccess", "HostAccess1", "HostAccess2"]


def test_more_than_a_role_may_have_is_refused(stack: Stack) -> None:
    """
    Ten managed policies is the default quota: it says so at synth.
    """
    role = iam.Role(stack, "Role", assumed_by=SAGEMAKER)

    def define(number: int) -> None:
        weights = S3Model(f"s3://weights/{'x' * 980}{number}/")
        Model(stack, f"M{number}", model=weights, serving=TGI, role=role)

    with pytest.raises(ValueError, match=r"LLM189 the models of one role need more"):
        deque(map(define, range(40)), maxlen=0)
    assert len(written(stack, "IAM::ManagedPolicy")) == 10


def test_a_models_own_role_can_be_shared(stack: Stack) -> None:
    """
    The policy beside the role has what both need.
    """
    one = Model(stack, "One", model=S3Model("s3://weights/a/"), serving=TGI)
    Model(stack, "Other", model=S3Model("s3://weights/b/"), serving=TGI, role=one.role)

    assert list(written(stack, "IAM::Policy")) == ["OneAccess"]
    assert dependencies_of(stack, "SageMaker::Model") == [["OneAccess"]] * 2


def test_a_role_of_another_stack_has_a_policy_in_each(app: App) -> None:
    """
    What a model needs may be made in its own stack: the role's must not wait for it.
    """
    shared, one, other = (Stack(app, name) for name in ("Shared", "One", "Other"))
    role = iam.Role(shared, "Role", assumed_by=SAGEMAKER)
    for stack in (one, other):
        weights = S3Model.from_bucket(s3.Bucket(stack, "Bucket"), "a")
        Model(stack, "Model", model=weights, serving=TGI, role=role)

    assert written(shared, "IAM::Policy") == {}
    for stack in (one, other):
        (name,) = written(stack, "IAM::Policy")
        assert name == "SageMakerAccessOfSharedRolePolicy"


def test_components_of_another_stack_do_not_wait_for_themselves(app: App) -> None:
    """
    A nested stack has its own policy for its parent's role, and no circle.
    """
    parent = Stack(app, "Parent")
    role = iam.Role(parent, "Role", assumed_by=SAGEMAKER)
    EndpointConfig(
        parent,
        "Config",
        variants=[ProductionVariant(instance_type="ml.p4d.24xlarge")],
        execution_role=role,
    )
    nested = NestedStack(parent, "Nested")
    Model(nested, "Model", model=S3Model("s3://weights/a/"), serving=TGI, role=role)

    assert list(written(parent, "IAM::Policy")) == ["SageMakerAccessOfRolePolicy"]
    assert list(written(nested, "IAM::Policy")) == ["SageMakerAccessOfParentRolePolicy"]


def test_two_stages_of_one_app_write_the_same() -> None:
    """
    A role is named by its path in the stage, not in the app.
    """
    app = App(context=STRICT)
    found = []
    for name in ("Test", "Production"):
        stage = Stage(app, name)
        stack, shared = Stack(stage, "Models"), Stack(stage, "Shared")
        near = iam.Role(stack, "Role", assumed_by=SAGEMAKER)
        far = iam.Role(shared, "Role", assumed_by=SAGEMAKER)
        for number, role in enumerate((near, far)):
            weights = HuggingFaceModel("gpt2")
            Model(stack, f"M{number}", model=weights, serving=TGI, role=role)
        found.append(set(Template.from_stack(stack).find_resources("AWS::IAM::Policy")))

    assert len(found[0]) == 2
    assert found[0] == found[1]


def test_a_role_may_invoke_what_it_runs(
    stack: Stack, host: InferenceComponentEndpoint
) -> None:
    """
    Its policy for hosting does not wait for the endpoint, though another does.
    """
    add(host, "a")
    host.endpoint.grant_invoke(host.role)

    assert set(written(stack, "IAM::Policy")) == {"HostAccess", "HostRoleDefaultPolicy"}


def test_a_hosts_policy_leaves_room_for_others(
    stack: Stack, host: InferenceComponentEndpoint
) -> None:
    """
    IAM counts inline policies together: what others grant to the role has half.
    """
    add(host, [f"{letter}{'x' * 500}" for letter in "abcdefgh"])
    (access,) = written(stack, "IAM::Policy").values()
    document = access["Properties"]["PolicyDocument"]
    text = json.dumps(document, separators=(",", ":"))

    assert 4000 < len(text.replace("${AWS::Partition}", "aws-us-gov")) <= 5120


def test_a_key_of_the_volumes_is_the_roles_to_use(stack: Stack, key: kms.IKey) -> None:
    """
    The configuration waits until it is: the volumes are made with the endpoint.
    """
    LlmEndpoint(
        stack,
        "Llm",
        model=HuggingFaceModel("gpt2"),
        serving=TGI,
        instance_type="ml.p3.2xlarge",
        kms_key=key,
    )

    assert statements_of(stack, "LlmModelAccess")["EncryptVolumes"] == ENCRYPT_VOLUMES
    assert dependencies_of(stack, "SageMaker::EndpointConfig") == [["LlmModelAccess"]]


def test_a_key_of_the_volumes_is_every_models_roles_to_use(
    stack: Stack, key: kms.IKey
) -> None:
    """
    Each variant's instances have volumes, and the configuration waits for both roles.
    """
    variants = [
        ProductionVariant(
            instance_type="ml.p3.2xlarge",
            variant_name=name,
            model=Model(stack, name, model=HuggingFaceModel("gpt2"), serving=TGI),
        )
        for name in ("Blue", "Green")
    ]
    EndpointConfig(stack, "Config", variants=variants, kms_key=key)

    for name in ("BlueAccess", "GreenAccess"):
        assert statements_of(stack, name)["EncryptVolumes"] == ENCRYPT_VOLUMES
    assert dependencies_of(stack, "SageMaker::EndpointConfig") == [
        ["BlueAccess", "GreenAccess"]
    ]


def test_a_key_of_shared_volumes_is_the_hosts_role_to_use(
    stack: Stack, key: kms.IKey
) -> None:
    """
    Whatever models come and go.
    """
    hosts = ProductionVariant(instance_type="ml.p3.16xlarge")
    role = iam.Role(stack, "Role", assumed_by=SAGEMAKER)
    EndpointConfig(stack, "Config", variants=[hosts], execution_role=role, kms_key=key)
    (name,) = written(stack, "IAM::Policy")

    assert statements_of(stack, name)["EncryptVolumes"] == ENCRYPT_VOLUMES
    assert dependencies_of(stack, "SageMaker::EndpointConfig") == [[name]]


def test_roles_of_one_path_in_two_places_are_two(app: App, stack: Stack) -> None:
    """
    One in a stack of that name, the other in a construct of that name.
    """
    far = iam.Role(Stack(app, "Shared", env=ENVIRONMENT), "Role", assumed_by=SAGEMAKER)
    near = iam.Role(Construct(stack, "Shared"), "Role", assumed_by=SAGEMAKER)
    for number, role in enumerate((far, near)):
        weights = HuggingFaceModel("gpt2")
        Model(stack, f"M{number}", model=weights, serving=TGI, role=role)
    policies = Template.from_stack(stack).find_resources("AWS::IAM::Policy").values()

    assert [len(each["Properties"]["Roles"]) for each in policies] == [1, 1]


@pytest.mark.parametrize(("statements", "managed"), [(4, 0), (5, 1)])
def test_what_is_asked_for_at_once_goes_to_several_policies_too(
    stack: Stack, statements: int, managed: int
) -> None:
    """
    Half of what IAM allows inline is 5,120 characters; each statement here has some
    1,080.
    """
    sagemaker = iam.ServicePrincipal("sagemaker.amazonaws.com")
    role = iam.Role(stack, "Role", assumed_by=sagemaker)
    actions = ("GetObject", "PutObject", "DeleteObject", "GetObjectAcl", "PutObjectAcl")
    asked = [
        Statement(
            sid=name, actions=[f"s3:{name}"], resources=[f"arn:aws:s3:::b/{'x' * 1000}"]
        )
        for name in actions[:statements]
    ]
    access_of(stack, role).allow(asked)
    template = Template.from_stack(stack)

    template.resource_count_is("AWS::IAM::Policy", 1)
    template.resource_count_is("AWS::IAM::ManagedPolicy", managed)
