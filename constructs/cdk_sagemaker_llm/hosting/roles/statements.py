"""
What every execution role may do, and statements as plain values: united, counted,
and written as IAM has it.

What belongs here makes no resource; a placeholder is counted at the longest that it
can stand for. Placeholders of partition, region and account are asked for once: a call
into the CDK's Node process costs as much as a check. IAM names a key of KMS by its ARN,
never by its alias.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from aws_cdk import Aws

from cdk_sagemaker_llm.arguments import keep_copies

if TYPE_CHECKING:
    from aws_cdk import aws_kms as kms

TOKEN = re.compile(r"\$\{Token\[[^\]]+\]\}")
# The longest of each that there is: aws-us-gov, ap-southeast-2, twelve digits.
_LENGTHS = {"AWS::Partition": 10, "AWS::Region": 14, "AWS::AccountId": 12}
# An ECR repository's name has up to 256 characters; of all that models refer to, none
# has a longer ARN.
_LONGEST_REFERENCE = 320

_ALIAS = ":alias/"


@dataclass(frozen=True, kw_only=True, slots=True)
class Statement:
    """
    One thing that a role may do.

    Args:
        sid: A name that says what for.

        actions: The actions, each by its full name.

        resources: On what.

        conditions: Under which conditions.

        wildcard_reason:
            Why a resource has a ``*`` in it.
            It is what cdk-nag is told, at the policy.
    """

    sid: str
    actions: Sequence[str]
    resources: Sequence[str]
    conditions: Mapping[str, Mapping[str, Sequence[str]]] | None = None
    wildcard_reason: str = ""

    def __post_init__(self) -> None:
        keep_copies(self)

    def to_json(self) -> dict[str, Any]:
        """
        Render as IAM writes it.
        """
        conditions = {"Condition": self.conditions} if self.conditions else {}
        return {
            "Sid": self.sid,
            "Effect": "Allow",
            "Action": list(self.actions),
            "Resource": list(self.resources),
            **conditions,
        }

    def __str__(self) -> str:
        return f"{self.sid} ({', '.join(self.actions)})"


def covers(statements: Iterable[Statement], statement: Statement) -> bool:
    """
    Return whether a statement is among others already.
    """
    found = list(statements)
    # Most of what several models need is the same.
    if statement in found:
        return True
    return document_json(united([*found, statement])) == document_json(united(found))


def united(statements: Iterable[Statement]) -> list[Statement]:
    """
    Unite what differs in its resources, or in its key prefixes, alone; name what is
    left of one name by number.
    """
    found = _united_by(
        statements,
        lambda one: (one.sid, *one.actions, json.dumps(one.conditions or None)),
        lambda one, other: replace(
            one, resources=_together(one.resources, other.resources)
        ),
    )
    return _numbered(_united_by(found, _without_prefixes, _with_prefixes))


def prefix_condition(*prefixes: str) -> dict[str, dict[str, list[str]]]:
    """
    Return the condition that only keys of these forms are listed.
    """
    return {"StringLike": {"s3:prefix": list(prefixes)}}


def read_statements(
    what: str,
    bucket_name: str,
    keys: str,
    *,
    why: str,
    key: kms.IKey | None = None,
    listing: str = "List",
) -> list[Statement]:
    """
    Return what a role needs to read objects, and to be told that one is not there.

    ``why`` is the reason for the wildcard in ``keys``; without a ``key`` it may not
    decrypt with any. What lets objects be listed has a name that begins with
    ``listing``.
    """
    bucket = f"arn:{partition()}:s3:::{bucket_name}"
    return [
        Statement(
            sid=f"Read{what}",
            actions=["s3:GetObject"],
            resources=[f"{bucket}/{keys}"],
            wildcard_reason=why,
        ),
        Statement(
            sid=f"{listing}{what}",
            actions=["s3:ListBucket"],
            resources=[bucket],
            conditions=prefix_condition(keys),
        ),
        *key_access(
            f"Decrypt{what}", ["kms:Decrypt"], [] if key is None else [arn_of(key)]
        ),
    ]


def size_of(statements: Iterable[Statement]) -> int:
    """
    Count the characters that IAM counts: all but white space.
    """
    text = json.dumps(document_json(statements), separators=(",", ":"))
    for placeholder, name in own_names().items():
        text = text.replace(placeholder, "x" * _LENGTHS[name])
    return len(TOKEN.sub("x" * _LONGEST_REFERENCE, text))


def document_json(statements: Iterable[Statement]) -> dict[str, Any]:
    """
    Render a policy document, with single actions and resources as the CDK does.
    """
    rendered = [statement.to_json() for statement in statements]
    for each in rendered:
        for key in ("Action", "Resource"):
            if len(each[key]) == 1:
                (each[key],) = each[key]
    return {"Statement": rendered, "Version": "2012-10-17"}


def hosting_statements() -> list[Statement]:
    """
    Return what a role needs whatever it runs: to log in, to log, to publish metrics.
    """
    return [
        login_statement(),
        Statement(
            sid="WriteLogs",
            actions=[
                "logs:CreateLogGroup",
                "logs:CreateLogStream",
                "logs:DescribeLogStreams",
                "logs:PutLogEvents",
            ],
            resources=[
                f"{own_logs()}:/aws/sagemaker/Endpoints/*",
                f"{own_logs()}:/aws/sagemaker/InferenceComponents/*",
            ],
            wildcard_reason=(
                "SageMaker names the log group after the endpoint or component, which "
                "is created after the role"
            ),
        ),
        metrics_statement(),
    ]


def metrics_statement() -> Statement:
    """
    Return the statement that lets a role publish metrics of SageMaker's.

    The guide's page on execution roles names no namespace; AWS's own policy for roles
    that run models does (SageMakerStudioProjectRoleMachineLearningPolicy), and those of
    endpoints, components and jobs begin so (developer guide, monitoring-cloudwatch).
    """
    return Statement(
        sid="PublishMetrics",
        actions=["cloudwatch:PutMetricData"],
        resources=["*"],
        conditions={"StringLike": {"cloudwatch:namespace": ["/aws/sagemaker/*"]}},
        wildcard_reason=(
            "CloudWatch has no resource to name for metrics: the condition names "
            "SageMaker's namespaces"
        ),
    )


def login_statement() -> Statement:
    """
    Return the statement that lets a role log in to registries, to pull any image.
    """
    return Statement(
        sid="LogInToRegistries",
        actions=["ecr:GetAuthorizationToken"],
        resources=["*"],
        wildcard_reason="one login serves all registries: none can be named",
    )


@functools.cache
def address_names() -> Mapping[str, str]:
    """
    Return the placeholders that an image's address may have, with their names.
    """
    return {**own_names(), Aws.URL_SUFFIX: "AWS::URLSuffix"}


@functools.cache
def own_names() -> Mapping[str, str]:
    """
    Return the placeholders of partition, region and account, with their names.
    """
    return {
        partition(): "AWS::Partition",
        Aws.REGION: "AWS::Region",
        Aws.ACCOUNT_ID: "AWS::AccountId",
    }


@functools.cache
def own_logs() -> str:
    """
    Return the ARN's beginning of the log groups in the stack's account and region.
    """
    return f"arn:{partition()}:logs:{Aws.REGION}:{Aws.ACCOUNT_ID}:log-group"


@functools.cache
def own_alarms() -> str:
    """
    Return the ARN's beginning of the alarms in the stack's account and region.
    """
    return f"arn:{partition()}:cloudwatch:{Aws.REGION}:{Aws.ACCOUNT_ID}:alarm"


@functools.cache
def partition() -> str:
    """
    Return the placeholder of the partition.
    """
    return Aws.PARTITION


def volume_statements(key: kms.IKey) -> list[Statement]:
    """
    Return what a role needs where a key of the user's encrypts the instances' volumes.

    CreateEndpointConfig asks that the key allows the role; of the actions, AWS names
    kms:CreateGrant (API reference, RecommendationJobInputConfig$VolumeKmsKeyId), and
    SageMaker's documentation no condition on it.
    """
    return key_access("EncryptVolumes", ["kms:CreateGrant"], [arn_of(key)])


def arn_of(key: kms.IKey) -> str:
    """
    Return a key's ARN: of an alias that is defined in the app, its key's.
    """
    from aws_cdk import aws_kms as kms  # noqa: PLC0415 - slow to import

    return key.alias_target_key.key_arn if isinstance(key, kms.Alias) else key.key_arn


def key_access(
    sid: str, actions: Sequence[str], arns: Iterable[str]
) -> list[Statement]:
    """
    Return what lets a role use keys.
    """
    every = list(dict.fromkeys(arns))
    keys = [arn for arn in every if _ALIAS not in arn]
    found = [Statement(sid=sid, actions=actions, resources=keys)] if keys else []
    # KMS developer guide, alias-authorization: an alias in a policy's resource lets
    # nobody use the key.
    return found + [_by_alias(sid, actions, arn) for arn in every if _ALIAS in arn]


def _united_by(
    statements: Iterable[Statement],
    alike: Callable[[Statement], Hashable],
    unite: Callable[[Statement, Statement], Statement],
) -> list[Statement]:
    found: dict[Hashable, Statement] = {}
    for statement in statements:
        key = alike(statement)
        found[key] = unite(found[key], statement) if key in found else statement
    return list(found.values())


def _numbered(statements: Sequence[Statement]) -> list[Statement]:
    """
    Give each statement a name of its own: IAM refuses the same one twice in a policy.
    """
    counts: dict[str, int] = {}
    found = []
    for statement in statements:
        number = counts[statement.sid] = counts.get(statement.sid, 0) + 1
        # Most have one already, and a copy would be held to its kinds once more.
        sid = f"{statement.sid}{number}"
        found.append(statement if number == 1 else replace(statement, sid=sid))
    return found


def _without_prefixes(statement: Statement) -> Hashable:
    others = None if _prefixes_of(statement) is not None else statement.conditions
    return (
        statement.sid,
        tuple(statement.actions),
        tuple(statement.resources),
        json.dumps(others or None),
    )


def _with_prefixes(one: Statement, other: Statement) -> Statement:
    both = _together(_prefixes_of(one) or (), _prefixes_of(other) or ())
    return replace(one, conditions=prefix_condition(*both)) if both else one


def _by_alias(sid: str, actions: Sequence[str], arn: str) -> Statement:
    place, name = arn.split(_ALIAS, 1)
    return Statement(
        sid=f"{sid}ByAlias",
        actions=actions,
        resources=[f"{place}:key/*"],
        conditions={
            "ForAnyValue:StringEquals": {"kms:ResourceAliases": [f"alias/{name}"]}
        },
        wildcard_reason="the key is known by its alias, which the condition names",
    )


def _together(one: Sequence[str], other: Sequence[str]) -> list[str]:
    return list(dict.fromkeys([*one, *other]))


def _prefixes_of(statement: Statement) -> Sequence[str] | None:
    """
    Return the key prefixes of a statement that has no other condition.
    """
    conditions = statement.conditions or {}
    prefixes = conditions.get("StringLike", {}).get("s3:prefix")
    if prefixes is None or conditions != prefix_condition(*prefixes):
        return None
    return prefixes
