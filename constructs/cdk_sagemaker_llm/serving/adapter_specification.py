"""
What the specification of an adapter component may say: where its files are, and not
what its base alone has.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.text import bucket_fault
from cdk_sagemaker_llm.tokens import is_unresolved

SCHEME = "s3://"
ARCHIVE = ".tar.gz"
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
NOT_OF_ADAPTERS = Rule(
    "LLM330",
    "an adapter is asked for what its base alone has",
    "SageMaker developer guide, realtime-endpoints-adapt",
)


def address_findings(uri: str) -> Iterator[Finding]:
    """
    Check where an adapter's files are, as far as that is known at synth.
    """
    bucket, _, key = uri.removeprefix(SCHEME).partition("/")
    if not uri.startswith(SCHEME) or not key.strip("/") or key.startswith("/"):
        yield ADAPTER_ARTIFACT.finding(f"artifact must be {_FORMS}, got {uri!r}")
        return
    fault = bucket_fault(bucket)
    if fault is not None:
        yield ADAPTER_ARTIFACT.finding(
            f"artifact must be {_FORMS}, whose bucket has {fault}, got {uri!r}"
        )
    # What ends in a placeholder may end as it should.
    is_known = not is_unresolved(key.rpartition("/")[2])
    if is_known and not uri.endswith(("/", ARCHIVE)):
        yield ADAPTER_ARTIFACT.finding(
            f"artifact must be {_FORMS}, got {uri!r}",
            "name a folder with a slash at its end: without it the component comes "
            "into service, and cannot answer",
        )
    if not is_unresolved(uri) and len(uri) > _LONGEST_URI:
        yield ADAPTER_ARTIFACT.finding(
            f"artifact must have at most {_LONGEST_URI} characters, got {len(uri)}"
        )


def specification_findings(specification: Mapping[str, Any]) -> Iterator[Finding]:
    """
    Check what a template's specification of an adapter says beside its artifact.
    """
    if "ComputeResourceRequirements" in specification:
        yield NOT_OF_ADAPTERS.finding(
            "an adapter reserves nothing: it runs on what its base reserves",
            "leave ComputeResourceRequirements out",
        )
    if not specification.get("Container", {}).get("ArtifactUrl"):
        yield ADAPTER_ARTIFACT.finding(
            "an adapter needs the address of its files",
            "set ArtifactUrl of its Container",
        )
