"""
LoRA adapters that SageMaker hands to a container: where their files are, and whether a
base takes them.

What belongs here goes by what a base was read to do; each wing reads its own images.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from cdk_sagemaker_llm.catalog.images import ImageRelease
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.serving.parameters import lora_rank_above
from cdk_sagemaker_llm.text import bucket_fault
from cdk_sagemaker_llm.tokens import is_unresolved

SCHEME = "s3://"
ARCHIVE = ".tar.gz"
# botocore 1.44.5: InferenceComponentContainerSpecification$ArtifactUrl.
_LONGEST_URI = 1024
_FORMS = (
    "'s3://bucket/adapters/tenant.tar.gz' or the folder 's3://bucket/adapters/tenant/'"
)
TAKE_VLLM = "serve the base with Vllm(enable_lora=True)"

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
NO_ADAPTERS = Rule(
    "LLM326",
    "a base's backend takes no adapters",
    "DJL Serving, adapters; model-hosting-container-standards, of vLLM alone",
)
LORA_IS_OFF = Rule("LLM328", "a base says that it takes no LoRA adapters")
LARGE_RANK = Rule(
    "LLM329", "an adapter's rank is above what its base takes", "vLLM, PEFTHelper"
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


class AdapterHost(NamedTuple):
    """
    What a container does with adapters.

    Args:
        image: The catalogue's image that it is read as.

        is_on: Whether LoRA is on; ``None`` where nothing is said of it.

        largest_rank: ``None`` if deployment alone knows.

        switches: The variables that it lacks to take adapters.

        refusals: Why it takes none; empty for one that does.
    """

    image: ImageRelease
    is_on: bool | None = None
    largest_rank: int | None = None
    switches: Mapping[str, str] = {}
    refusals: tuple[Finding, ...] = ()


def without_adapters(image: ImageRelease, reason: str) -> AdapterHost:
    """
    Describe a base whose backend takes no adapters.
    """
    refusal = NO_ADAPTERS.finding(
        f"image {image.family} {image.version} takes no adapter components: {reason}",
        TAKE_VLLM,
    )
    return AdapterHost(image=image, refusals=(refusal,))


def adapter_findings(host: AdapterHost, rank: int | None) -> Iterator[Finding]:
    """
    Check that a container takes an adapter.
    """
    yield from host.refusals
    if host.is_on is False:
        yield LORA_IS_OFF.finding(
            "the base is served with enable_lora=False",
            "leave it out, or serve the base with enable_lora=True",
        )
    largest = host.largest_rank
    if rank is None or largest is None or is_unresolved(rank) or rank <= largest:
        return
    room = lora_rank_above(rank)
    yield LARGE_RANK.finding(
        f"the adapter's rank is {rank}, and its base takes ranks up to {largest}",
        f"serve the base with enable_lora=True and max_lora_rank={room}"
        if room
        else "train an adapter of a smaller rank: vLLM takes none of a larger one",
    )
