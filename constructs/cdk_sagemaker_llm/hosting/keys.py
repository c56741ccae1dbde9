"""
What a role may do with keys of KMS: IAM names a key by its ARN, never by its alias.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from cdk_sagemaker_llm.hosting.statements import Statement

if TYPE_CHECKING:
    from aws_cdk import aws_kms as kms

_ALIAS = ":alias/"


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

    Args:
        sid: A name that says what for.

        actions: The actions.

        arns: The ARNs of keys, or of aliases that are known by their names alone.
    """
    every = list(dict.fromkeys(arns))
    keys = [arn for arn in every if _ALIAS not in arn]
    found = [Statement(sid=sid, actions=actions, resources=keys)] if keys else []
    # KMS developer guide, alias-authorization: an alias in a policy's resource lets
    # nobody use the key.
    return found + [_by_alias(sid, actions, arn) for arn in every if _ALIAS in arn]


def volume_statements(key: kms.IKey) -> list[Statement]:
    """
    Return what a role needs where a key of the user's encrypts the instances' volumes.

    CreateEndpointConfig asks that the key allows the role; of the actions, AWS names
    kms:CreateGrant (API reference, RecommendationJobInputConfig$VolumeKmsKeyId).
    """
    return key_access("EncryptVolumes", ["kms:CreateGrant"], [arn_of(key)])


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
