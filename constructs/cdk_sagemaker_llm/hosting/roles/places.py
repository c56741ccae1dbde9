"""
Places on S3 that an endpoint writes to or reads from, and what its role needs there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.hosting.roles import statements
from cdk_sagemaker_llm.hosting.roles.statements import (
    Statement,
    arn_of,
    key_access,
    partition,
)
from cdk_sagemaker_llm.serving.parameters import API
from cdk_sagemaker_llm.text import bucket_fault
from cdk_sagemaker_llm.tokens import is_unresolved

if TYPE_CHECKING:
    from aws_cdk import aws_kms as kms
    from aws_cdk import aws_s3 as s3

# botocore 1.44.5: DestinationS3Uri.
_LONGEST_URI = 512
_SCHEME = "s3://"

NOT_ON_S3 = Rule("LLM347", "an address is none of a bucket on S3 and a prefix", API)


@dataclass(frozen=True, slots=True)
class Place:
    """
    A bucket, or the keys in it that begin with a prefix.
    """

    uri: str
    key: kms.IKey | None = None

    @property
    def bucket_name(self) -> str:
        """
        The bucket's part of the address.
        """
        # The marker of a placeholder has no slash.
        return self.uri.removeprefix(_SCHEME).partition("/")[0]

    @property
    def objects(self) -> str:
        """
        The ARN of the objects, with the wildcard that stands for their names.
        """
        return f"arn:{partition()}:s3:::{self.bucket_name}/{self.keys}"

    @property
    def keys(self) -> str:
        """
        The pattern of the objects' keys.
        """
        prefix = self.uri.removeprefix(_SCHEME).partition("/")[2]
        return f"{prefix}/*" if prefix else "*"

    @property
    def whole_bucket(self) -> Place:
        """
        The bucket without a prefix.
        """
        return Place(f"{_SCHEME}{self.bucket_name}", self.key)


def place_of(place: s3.IBucket | str) -> Place:
    """
    Read a place that ``place_findings`` has nothing against: a bucket, or an address.
    """
    if isinstance(place, str):
        return Place(place.rstrip("/"))
    return Place(f"{_SCHEME}{place.bucket_name}", place.encryption_key)


def place_findings(parameter: str, place: s3.IBucket | str | None) -> list[Finding]:
    """
    Check an address of the user's; a bucket is one.
    """
    if not isinstance(place, str):
        return []
    if is_unresolved(place) and not place.startswith(_SCHEME):
        return [
            NOT_ON_S3.finding(
                f"{parameter} is known only at deployment, and the role needs its "
                "bucket at synth",
                "pass the bucket, or 's3://' and its name",
            )
        ]
    bucket = place.removeprefix(_SCHEME).partition("/")[0]
    if not place.startswith(_SCHEME) or not bucket:
        fault = "an address such as 's3://bucket/prefix'"
    elif wrong := bucket_fault(bucket):
        fault = f"of a bucket whose name is {wrong}"
    elif _is_too_long(place):
        fault = f"at most {_LONGEST_URI} characters"
    else:
        return []
    return [NOT_ON_S3.finding(f"{parameter} must be {fault}, got {place!r}")]


def prefix_findings(parameter: str, place: Place) -> list[Finding]:
    """
    Check the length of an address that a prefix was added to.
    """
    if not _is_too_long(place.uri):
        return []
    return [
        NOT_ON_S3.finding(
            f"{parameter} must leave the address of bucket and prefix at most "
            f"{_LONGEST_URI} characters, got {len(place.uri)}"
        )
    ]


def _is_too_long(address: str) -> bool:
    return len(address) > _LONGEST_URI and not is_unresolved(address)


def write_statement(sid: str, *places: Place) -> Statement:
    """
    Return what a role needs to write objects, large ones in parts.
    """
    return Statement(
        sid=sid,
        actions=["s3:AbortMultipartUpload", "s3:PutObject"],
        resources=list(dict.fromkeys(place.objects for place in places)),
        wildcard_reason="SageMaker names each object, under the place that it is given",
    )


def read_statements(what: str, place: Place) -> list[Statement]:
    """
    Return what a role needs to read a place, but for its key.
    """
    return statements.read_statements(
        what,
        place.bucket_name,
        place.keys,
        why="callers name each object, under the place that is theirs",
        listing="Find",
    )


def key_statements(sid: str, *keys: kms.IKey | None) -> list[Statement]:
    """
    Return what a role needs to read and write what these keys encrypt.
    """
    actions = ["kms:Decrypt", "kms:Encrypt", "kms:GenerateDataKey"]
    arns = [arn_of(key) for key in keys if key is not None]
    return key_access(sid, actions, arns)
