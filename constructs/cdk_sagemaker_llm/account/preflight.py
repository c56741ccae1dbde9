"""
Whether an account has what an app needs, before anything of it costs money.

What is asked changes nothing: each call is in one table, from which the policy is made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

from cdk_sagemaker_llm.account.capacity import (
    Found,
    address_findings,
    network_findings,
    quota_findings,
    reservation_findings,
    type_findings,
)
from cdk_sagemaker_llm.account.contents import (
    data_findings,
    image_findings,
    model_findings,
    parameter_findings,
    secret_findings,
)
from cdk_sagemaker_llm.account.identities import (
    OwnResources,
    account_findings,
    key_findings,
    name_findings,
    role_findings,
    service_role_findings,
)
from cdk_sagemaker_llm.account.reader import (
    AccountReader,
    NotAsked,
    ReadCall,
    RefusedError,
)

if TYPE_CHECKING:
    from cdk_sagemaker_llm.account.hub import Hub
    from cdk_sagemaker_llm.account.needs import Needs


def _call(service: str, operation: str, action: str, why: str, *more: str) -> ReadCall:
    return ReadCall(
        service=service, operation=operation, actions=(action, *more), why=why
    )


CALLS = (
    _call("sts", "get_caller_identity", "sts:GetCallerIdentity", "whose account it is"),
    _call(
        "cloudformation",
        "list_stack_resources",
        "cloudformation:ListStackResources",
        "what the app's own stacks have made already",
    ),
    _call(
        "service-quotas",
        "list_service_quotas",
        "servicequotas:ListServiceQuotas",
        "how many instances of each type endpoints may use",
    ),
    _call(
        "service-quotas",
        "list_aws_default_service_quotas",
        "servicequotas:ListAWSDefaultServiceQuotas",
        "the same, where the account has no quota of its own",
    ),
    _call(
        "sagemaker",
        "list_endpoints",
        "sagemaker:ListEndpoints",
        "which other endpoints use the same quotas",
    ),
    _call(
        "sagemaker",
        "describe_endpoint",
        "sagemaker:DescribeEndpoint",
        "how many instances they run, and whether a name is taken",
    ),
    _call(
        "sagemaker",
        "describe_endpoint_config",
        "sagemaker:DescribeEndpointConfig",
        "of which type they are, and whether a name is taken",
    ),
    _call(
        "sagemaker",
        "describe_inference_component",
        "sagemaker:DescribeInferenceComponent",
        "whether a component's name is taken",
    ),
    _call(
        "sagemaker",
        "describe_model",
        "sagemaker:DescribeModel",
        "whether a model's name is taken",
    ),
    _call(
        "sagemaker",
        "describe_training_plan",
        "sagemaker:DescribeTrainingPlan",
        "state and dates of reserved capacity",
    ),
    _call(
        "ec2",
        "describe_instance_type_offerings",
        "ec2:DescribeInstanceTypeOfferings",
        "which types the region and its zones have",
    ),
    _call(
        "ec2",
        "describe_subnets",
        "ec2:DescribeSubnets",
        "how many addresses the subnets have",
    ),
    _call(
        "ec2",
        "describe_security_groups",
        "ec2:DescribeSecurityGroups",
        "whether the security groups are there",
    ),
    _call(
        "ecr",
        "batch_get_image",
        "ecr:BatchGetImage",
        "whether each image is there, as SageMaker pulls it",
    ),
    _call("s3", "head_object", "s3:GetObject", "whether objects are there"),
    _call(
        "s3", "list_objects_v2", "s3:ListBucket", "whether prefixes have any objects"
    ),
    _call("s3", "head_bucket", "s3:ListBucket", "whether buckets are there"),
    _call(
        "secretsmanager",
        "get_secret_value",
        "secretsmanager:GetSecretValue",
        "whether secrets have the form that is expected, which is all that is kept",
    ),
    _call("kms", "describe_key", "kms:DescribeKey", "whether keys are enabled"),
    _call("kms", "get_key_policy", "kms:GetKeyPolicy", "whom keys let use them"),
    _call(
        "iam",
        "get_role",
        "iam:GetRole",
        "whether roles are there, and whom they trust",
    ),
    _call(
        "ssm",
        "get_parameter",
        "ssm:GetParameter",
        "whether the CDK's bootstrap is there, and parameters that stacks read",
    ),
)


@dataclass(slots=True)
class Preflight:
    """
    What was found of an app in an account, and what could not be asked.

    Args:
        account: The account; empty if it could not be asked.

        findings: The place and the finding, in the order of the app.

        not_asked: What has no answer, and why.
    """

    account: str = ""
    findings: list[Found] = field(default_factory=list)
    not_asked: list[NotAsked] = field(default_factory=list)


def calls_for(needs: Needs, partition: str = "aws") -> list[ReadCall]:
    """
    Return the calls with the secrets, objects and roles that the app names, so that
    the policy allows nothing about others.
    """
    buckets = {f"arn:{partition}:s3:::{one.bucket}" for one in needs.data}
    buckets |= {
        f"arn:{partition}:s3:::{one.name}"
        for one in needs.names
        if one.kind == "bucket"
    }
    objects = {
        f"arn:{partition}:s3:::{one.bucket}/{one.key}"
        for one in needs.data
        if one.kind == "object"
    }
    secrets = {
        # A whole ARN ends in six characters that AWS chooses; one may be short of them.
        f"{one.name}{ending}"
        if one.name.startswith("arn:")
        else f"arn:{partition}:secretsmanager:*:*:secret:{one.name}-??????"
        for one in needs.secrets
        for ending in ("", "-??????")
    }
    narrow: Mapping[str, set[str]] = {
        "head_object": objects,
        "list_objects_v2": buckets,
        "head_bucket": buckets,
        "get_secret_value": secrets,
    }
    return [
        replace(one, resources=tuple(sorted(narrow[one.operation])))
        if one.operation in narrow
        else one
        for one in CALLS
        # A statement needs a resource: where there is none nothing is asked.
        if narrow.get(one.operation, {""})
    ]


def preflight(
    needs: Needs,
    reader: AccountReader,
    *,
    account: str = "",
    hub: Hub | str = "it was not to be asked",
    tell: Callable[[str], None] = lambda _: None,
) -> Preflight:
    """
    Ask the account about everything that the app needs of it.

    Args:
        account: The account, as ``account_of`` tells.

        hub: The Hub, or why it is not asked.

        tell: What is called with what is asked next.
    """
    found = Preflight(account=account)
    own = OwnResources(reader)
    tokens: dict[str, str] = {}
    steps: tuple[tuple[str, Sequence[object], Callable[[], Iterator[Found]]], ...] = (
        (
            "parameters and the CDK's bootstrap",
            needs.parameters,
            lambda: parameter_findings(needs, reader),
        ),
        (
            "images",
            needs.images,
            lambda: _each(needs.images, lambda one: image_findings(reader, one)),
        ),
        (
            "objects in S3",
            needs.data,
            lambda: _each(needs.data, lambda one: data_findings(reader, one)),
        ),
        (
            "secrets",
            needs.secrets,
            lambda: _each(
                needs.secrets, lambda one: secret_findings(reader, one, tokens)
            ),
        ),
        ("keys", needs.keys, lambda: key_findings(needs, reader, account)),
        ("roles", needs.roles, lambda: role_findings(needs, reader, account)),
        (
            "names",
            needs.names,
            lambda: _each(needs.names, lambda one: name_findings(reader, own, one)),
        ),
        (
            "subnets and security groups",
            [*needs.subnets, *needs.groups],
            lambda: network_findings(reader, needs.subnets, needs.groups),
        ),
        (
            "addresses",
            [one for one in needs.fleets if one.subnets],
            lambda: address_findings(reader, needs.fleets),
        ),
        (
            "reserved capacity",
            [one for one in needs.fleets if one.reservation],
            lambda: reservation_findings(reader, needs.fleets),
        ),
        ("instance types", needs.fleets, lambda: type_findings(reader, needs.fleets)),
        (
            "quotas, which may take half a minute",
            needs.fleets,
            lambda: quota_findings(reader, needs.fleets, own.endpoints(needs)),
        ),
        (
            "the role of scaling",
            needs.scaled,
            lambda: service_role_findings(needs, reader),
        ),
        (
            "models on the Hugging Face Hub",
            needs.models,
            lambda: model_findings(needs, reader, hub, tokens),
        ),
    )
    found.findings.extend(account_findings(needs, account))
    for what, things, ask in steps:
        if not things:
            continue
        tell(what)
        try:
            found.findings.extend(ask())
        except RefusedError as refusal:
            reader.not_asked.append(NotAsked(what, str(refusal)))
    found.not_asked = list(reader.not_asked)
    return found


def account_of(reader: AccountReader) -> str:
    """
    Return the account of the credentials; empty if it cannot be asked.
    """
    answer = reader.ask("sts", "get_caller_identity")
    return str(answer["Account"]) if answer else ""


def _each(
    things: Sequence[Any], judge: Callable[[Any], Iterator[Found]]
) -> Iterator[Found]:
    """
    Judge each thing once, wherever else in its region it is needed too.
    """
    alike: dict[tuple[object, ...], Any] = {}
    for one in things:
        others = [getattr(one, each.name) for each in fields(one)[1:]]
        alike.setdefault((one.place.region, *others), one)
    for one in alike.values():
        yield from judge(one)
