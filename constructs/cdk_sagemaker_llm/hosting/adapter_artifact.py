"""
Where a LoRA adapter's files are, and what it takes to read them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING

from cdk_sagemaker_llm._tokens import is_unresolved
from cdk_sagemaker_llm.arguments import held, hold_kinds
from cdk_sagemaker_llm.findings import Finding
from cdk_sagemaker_llm.hosting.arns import partition
from cdk_sagemaker_llm.hosting.keys import arn_of, key_access
from cdk_sagemaker_llm.hosting.limits import count_findings
from cdk_sagemaker_llm.hosting.statements import Statement, prefix_condition
from cdk_sagemaker_llm.serving.adapter_specification import (
    ADAPTER_ARTIFACT,
    ARCHIVE,
    SCHEME,
    address_findings,
)

if TYPE_CHECKING:
    from aws_cdk import aws_kms as kms
    from aws_cdk import aws_s3 as s3


@dataclass(frozen=True, slots=True)
class LoraAdapter:
    """
    A LoRA adapter's files on S3: ``adapter_config.json`` beside
    ``adapter_model.safetensors``, as PEFT saves them.

    ``LoraAdapter("s3://my-bucket/adapters/tenant-a.tar.gz", rank=16)``
    ``LoraAdapter.from_bucket(bucket, "adapters/tenant-a/")``

    Args:
        uri: A ``tar.gz`` of the files, or their folder with a slash at its end.

        rank:
            The adapter's rank, ``r`` in its ``adapter_config.json``.
            If left out, it is not held against what the base takes.

        kms_key:
            The key that encrypts the objects.
            If left out, the role may not decrypt with any.
    """

    uri: str
    _: KW_ONLY
    rank: int | None = None
    kms_key: kms.IKey | None = field(default=None)

    def __post_init__(self) -> None:
        """
        Hold each field to its kind.
        """
        hold_kinds(self)

    @classmethod
    @held
    def from_bucket(
        cls, bucket: s3.IBucket, key: str, *, rank: int | None = None
    ) -> LoraAdapter:
        """
        Name the folder or the ``tar.gz`` in a bucket, whose own encryption key is used.
        """
        uri = f"{SCHEME}{bucket.bucket_name}/{key}"
        return cls(uri, rank=rank, kms_key=bucket.encryption_key)

    @property
    def bucket_name(self) -> str:
        """
        The bucket's part of the URI.
        """
        return self.uri.removeprefix(SCHEME).partition("/")[0]

    @property
    def key(self) -> str:
        """
        What follows the bucket.
        """
        return self.uri.removeprefix(SCHEME).partition("/")[2]

    @property
    def readable(self) -> str:
        """
        What the role may read for it: all that lies beside it.

        The adapters of one folder share a permission, so that hundreds fit into a
        policy, and one more changes none. At the top of a bucket it is this one alone.
        """
        folder, slash, _ = self.key.rstrip("/").rpartition("/")
        if slash:
            return f"{folder}/*"
        return self.key if self.key.endswith(ARCHIVE) else f"{self.key}*"


def artifact_findings(adapter: LoraAdapter) -> Iterator[Finding]:
    """
    Check where an adapter is, as far as that is known at synth, and its rank.
    """
    yield from count_findings("rank", 1 if adapter.rank is None else adapter.rank, 1)
    if is_unresolved(adapter.uri) and not (
        adapter.uri.startswith(SCHEME) and adapter.key
    ):
        yield ADAPTER_ARTIFACT.finding(
            "artifact is known only at deployment, and its bucket must be known apart "
            "from what is in it",
            "pass LoraAdapter.from_bucket(Bucket.from_bucket_name(...), key)",
        )
        return
    yield from address_findings(adapter.uri)


def reading_statements(adapter: LoraAdapter) -> list[Statement]:
    """
    Return what a role needs to read an adapter.
    """
    bucket = f"arn:{partition()}:s3:::{adapter.bucket_name}"
    statements = [
        Statement(
            sid="ReadAdapters",
            actions=["s3:GetObject"],
            resources=[f"{bucket}/{adapter.readable}"],
            wildcard_reason="adapters of one folder come and go without a new policy",
        ),
        Statement(
            sid="ListAdapters",
            actions=["s3:ListBucket"],
            resources=[bucket],
            conditions=prefix_condition(adapter.readable),
        ),
    ]
    if adapter.kms_key is not None:
        arns = [arn_of(adapter.kms_key)]
        statements += key_access("DecryptAdapters", ["kms:Decrypt"], arns)
    return statements
