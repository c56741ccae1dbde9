"""
ARNs of the stack's own partition, region and account.

Each placeholder is asked for once: a call into the CDK's Node process costs as much
as a check, and an app of many stacks needs the same three over and over.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping

from aws_cdk import Aws


@functools.cache
def partition() -> str:
    """
    Return the placeholder of the partition.
    """
    return Aws.PARTITION


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
def address_names() -> Mapping[str, str]:
    """
    Return the placeholders that an image's address may have, with their names.
    """
    return {**own_names(), Aws.URL_SUFFIX: "AWS::URLSuffix"}


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
