"""
Where a LoRA adapter's files are, and what it takes to read them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING

from cdk_sagemaker_llm._s3 import bucket_fault
from cdk_sagemaker_llm._tokens import is_unresolved
from cdk_sagemaker_llm.arguments import held, hold_kinds
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.hosting.arns import partition
from cdk_sagemaker_llm.hosting.limits import count_findings
from cdk_sagemaker_llm.hosting.statements import Statement, prefix_condition

if TYPE_CHECKING:
    from aws_cdk import aws_kms as kms
    from aws_cdk import aws_s3 as s3

_SCHEME = "s3://"
_ARCHIVE = ".tar.gz"
# botocore 1.44.5: InferenceComponentContainerSpecification$ArtifactUrl.
_LONGEST_URI = 1024
_FORMS = (
    "'s3://bucket/adapters/tenant.tar.gz' or the folder 's3://bucket/adapters/tenant/'"
)

ADAPTER_ARTIFACT = Rule(
    "LLM325",
    "an adapter's artifact is neither a tar.gz nor a folder with a slash at its end",
    "SageMaker developer guide, realtime-endpoints-adapt; SageMaker Python SDK",
)


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
        uri = f"{_SCHEME}{bucket.bucket_name}/{key}"
        return cls(uri, rank=rank, kms_key=bucket.encryption_key)

    @property
    def bucket_name(self) -> str:
        """
        The bucket's part of the URI.
        """
        return self.uri.removeprefix(_SCHEME).partition("/")[0]

    @property
    def key(self) -> str:
        """
        What follows the bucket.
        """
        return self.uri.removeprefix(_SCHEME).partition("/")[2]

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
        return self.key if self.key.endswith(_ARCHIVE) else f"{self.key}*"


def artifact_findings(adapter: LoraAdapter) -> Iterator[Finding]:
    """
    Check where an adapter is, as far as that is known at synth, and its rank.
    """
    yield from count_findings("rank", 1 if adapter.rank is None else adapter.rank, 1)
    uri, bucket, key = adapter.uri, adapter.bucket_name, adapter.key
    if is_unresolved(uri) and not (uri.startswith(_SCHEME) and key):
        yield ADAPTER_ARTIFACT.finding(
            "artifact is known only at deployment, and its bucket must be known apart "
            "from what is in it",
            "pass LoraAdapter.from_bucket(Bucket.from_bucket_name(...), key)",
        )
        return
    if not uri.startswith(_SCHEME) or not key.strip("/") or key.startswith("/"):
        yield ADAPTER_ARTIFACT.finding(f"artifact must be {_FORMS}, got {uri!r}")
        return
    fault = bucket_fault(bucket)
    if fault is not None:
        yield ADAPTER_ARTIFACT.finding(
            f"artifact must be {_FORMS}, whose bucket has {fault}, got {uri!r}"
        )
    # What ends in a placeholder may end as it should.
    is_known = not is_unresolved(key.rpartition("/")[2])
    if is_known and not uri.endswith(("/", _ARCHIVE)):
        yield ADAPTER_ARTIFACT.finding(
            f"artifact must be {_FORMS}, got {uri!r}",
            "name a folder with a slash at its end: without it the component comes "
            "into service, and cannot answer",
        )
    if not is_unresolved(uri) and len(uri) > _LONGEST_URI:
        yield ADAPTER_ARTIFACT.finding(
            f"artifact must have at most {_LONGEST_URI} characters, got {len(uri)}"
        )


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
        statements.append(
            Statement(
                sid="DecryptAdapters",
                actions=["kms:Decrypt"],
                resources=[adapter.kms_key.key_arn],
            )
        )
    return statements
