"""
A model's weights: who may read them, how the Hub's token stays a reference in the
template, and what room they need.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from aws_cdk import CfnWaitCondition, SecretValue

from cdk_sagemaker_llm.catalog.images import ImageRelease
from cdk_sagemaker_llm.catalog.instances import InstanceType
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.hosting.common.elsewhere import FAR_SOURCE, Used
from cdk_sagemaker_llm.hosting.common.limits import gibibytes
from cdk_sagemaker_llm.hosting.common.scope import region_of, stack_of
from cdk_sagemaker_llm.hosting.roles.statements import Statement, read_statements
from cdk_sagemaker_llm.models import (
    HuggingFaceModel,
    ModelSource,
    S3Model,
)
from cdk_sagemaker_llm.serving.parameters import PLAIN_CREDENTIAL
from cdk_sagemaker_llm.tokens import is_unresolved

if TYPE_CHECKING:
    from aws_cdk import Size
    from constructs import Construct

# The size for a type without local NVMe storage, where none is chosen.
DEFAULT_VOLUME_GIB = 30
LARGEST_VOLUME_GIB = 512
# The weights as they are published, and as the engine splits or compiles them.
_COPIES_ON_DISK = 2
# Unwrapped once each: a call into Node (ADR 2), and checks and container ask the same.
_references: WeakKeyDictionary[SecretValue, str] = WeakKeyDictionary()
# What names the newest commit.
_MOVING = (None, "main")

VISIBLE_TOKEN = Rule("LLM202", "a token can be read by whoever may call DescribeModel")
SECURE_PARAMETER = Rule(
    "LLM707",
    "a token is a secure parameter, which CloudFormation does not resolve in a model",
    "CloudFormation user guide, dynamic-references-ssm-secure-strings",
)
SMALL_VOLUME = Rule(
    "LLM246",
    "a volume may be too small for the model's weights",
    "SageMaker developer guide, large-model-inference-hosting",
)
MOVING_REVISION = Rule(
    "LLM816",
    "copies that scaling starts download whatever commit the Hub has newest then",
    "https://github.com/huggingface/huggingface_hub/issues/3312",
)
USELESS_EULA = Rule(
    "LLM823",
    "a licence is accepted where SageMaker does not download the weights",
    "SageMaker API reference, S3ModelDataSource",
)


def weights_statements(model: ModelSource | None) -> list[Statement]:
    """
    Return the permissions that a role needs to read weights on S3.
    """
    if not isinstance(model, S3Model):
        return []
    return read_statements(
        "Weights",
        model.bucket_name,
        f"{model.prefix}*",
        why="a model is many files, listed under its prefix",
        key=model.kms_key,
    )


def accepts_eula(model: ModelSource | None) -> bool:
    """
    Return whether the licence of weights on S3 is accepted.
    """
    return isinstance(model, S3Model) and model.accept_eula


def moving_findings(model: ModelSource | None, most: int) -> list[Finding]:
    """
    Warn of copies that start at different times, each from the Hub's newest commit.
    """
    if not isinstance(model, HuggingFaceModel) or model.revision not in _MOVING:
        return []
    if not is_unresolved(most) and most <= 1:
        return []
    count = "as many copies as scaling starts"
    if not is_unresolved(most):
        count = f"up to {most} copies"
    return [
        MOVING_REVISION.finding(
            f"{count} download the newest commit of {model.model_id} whenever one "
            "starts: they may run different commits, and the Hub answers many "
            "downloads with 429",
            "pin revision= to a commit, or bring the weights into your bucket with "
            "StagedModel",
        )
    ]


def eula_findings(model: ModelSource | None, weights_uri: str | None) -> list[Finding]:
    """
    Check that an accepted licence reaches the template: only a model's data source can
    hold it.
    """
    if not accepts_eula(model) or weights_uri is not None:
        return []
    return [
        USELESS_EULA.finding(
            "accept_eula=True is written nowhere: the container downloads the weights "
            "by itself",
            "use a serving configuration that SageMaker downloads for, such as Vllm()",
        )
    ]


def token_reference(model: ModelSource | None) -> str | None:
    """
    Return the Hugging Face token as a dynamic reference; ``None`` without one.
    """
    if not isinstance(model, HuggingFaceModel) or model.token is None:
        return None
    value = (
        model.token
        if isinstance(model.token, SecretValue)
        else model.token.secret_value
    )
    if value not in _references:
        # A dynamic reference is the one safe form that reaches a container's
        # environment; the CDK refuses to render it without this word.
        _references[value] = value.unsafe_unwrap()
    return _references[value]


def token_reference_findings(reference: str | None) -> list[Finding]:
    """
    Check that the token is a reference, and warn of who can read it all the same.
    """
    if reference is None:
        return []
    if not is_unresolved(reference) and not reference.startswith("{{resolve:"):
        return [
            PLAIN_CREDENTIAL.finding(
                "token must refer to a secret, got its plain text",
                "use a Secret, or SecretValue.secrets_manager(...)",
            )
        ]
    return [
        VISIBLE_TOKEN.finding(
            "the Hugging Face token is no part of the template, but DescribeModel "
            "shows it to whoever may call it",
            "stage the weights on S3 and serve an S3Model without a token",
        )
    ]


def unwrapped_findings(
    scope: Construct, environment: Mapping[str, str]
) -> list[Finding]:
    """
    Warn of secrets that a caller unwraps into variables, as of a model's own token.
    """
    return [
        VISIBLE_TOKEN.finding(
            f"{name} in environment is a secret: its value is no part of the template, "
            "but DescribeModel shows it to whoever may call it",
            "let the container fetch it by the role, or pass a Hub's token as "
            "HuggingFaceModel(..., token=secret)",
        )
        for name, value in environment.items()
        if "{{resolve:secretsmanager:" in value
        or (is_unresolved(value) and _is_secret(scope, value))
    ]


def _is_secret(scope: Construct, value: str) -> bool:
    return "{{resolve:secretsmanager:" in str(stack_of(scope).resolve(value))


def secure_parameter_findings(
    scope: Construct, model: ModelSource | None
) -> list[Finding]:
    """
    Refuse a token that is a secure parameter: CloudFormation resolves these in a few
    properties, none of which is a model's.
    """
    if not isinstance(model, HuggingFaceModel):
        return []
    if not isinstance(model.token, SecretValue):
        return []
    # Who may read the reference sees its name alone.
    text = str(stack_of(scope).resolve(token_reference(model)))
    if "{{resolve:ssm-secure:" not in text:
        return []
    return [
        SECURE_PARAMETER.finding(
            "token is a secure parameter of Systems Manager, which CloudFormation "
            "resolves in no property of a model",
            "keep it in Secrets Manager: SecretValue.secrets_manager(...)",
        )
    ]


def volume_gib(hardware: InstanceType | None, weights: int | None) -> int | None:
    """
    Return the size of the volume that weights ask for; ``None`` where the default will
    do, storage is local, or the size is not known.
    """
    if weights is None or hardware is None or not hardware.volume_size_supported:
        return None
    needed = math.ceil(_COPIES_ON_DISK * weights / 2**30)
    return min(needed, LARGEST_VOLUME_GIB) if needed > DEFAULT_VOLUME_GIB else None


def volume_findings(
    hardware: InstanceType | None, volume_size: Size | None, weights: int | None
) -> list[Finding]:
    """
    Check that the hosts' volume holds a model.
    """
    if hardware is None or not hardware.volume_size_supported:
        return []
    has = DEFAULT_VOLUME_GIB
    if volume_size is not None:
        size = gibibytes(volume_size)
        if size is None or is_unresolved(size):
            return []
        has = round(size)
    if weights is None and volume_size is None:
        return [
            SMALL_VOLUME.finding(
                f"{hardware} has no local storage, and nothing is known of the model's "
                f"size: its volume has {has} GiB",
                "set volume_size to at least the weights' size, twice that where they "
                "are compiled or converted",
            )
        ]
    if weights is None or weights <= has * 2**30:
        return []
    return [
        SMALL_VOLUME.finding(
            f"the weights take {weights / 2**30:.0f} GiB, and the volume of {hardware} "
            f"has {has} GiB",
            "raise volume_size",
        )
    ]


def far_findings(
    region: str | None, image: ImageRelease, model: ModelSource | None
) -> list[Finding]:
    """
    Check that image and weights are in the model's own region, where both are known.
    """
    weights = _region_of(model.depends_on) if isinstance(model, S3Model) else None
    found = []
    for what, where, way_out in (
        ("the image", _region_of_image(image), "copy it there with MirroredImage"),
        ("the staged weights", weights, "stage them there"),
    ):
        if region is not None and where not in (None, region):
            found.append(
                FAR_SOURCE.finding(
                    f"{what} must be in the model's own region {region}, got {where}",
                    way_out,
                )
            )
    return found


def used_by_model(model: ModelSource | None) -> list[Used]:
    """
    Return what a model's weights need that is somewhere.
    """
    if isinstance(model, S3Model):
        return [
            Used("the bucket of the weights", model.bucket),
            Used("the key of the weights", model.kms_key),
        ]
    return [] if model is None else [Used("the token's secret", model.token)]


def _region_of_image(image: ImageRelease) -> str | None:
    registry = image.registry
    if registry is None:
        return None
    is_known = "$" not in registry.region and not is_unresolved(registry.region)
    return (registry.region if is_known else "") or _region_of(registry.depends_on)


def _region_of(ready: object) -> str | None:
    # A wait condition is a MirroredImage's, or a StagedModel's, which both work in
    # their own region. What else is waited for may write anywhere.
    return region_of(ready) if isinstance(ready, CfnWaitCondition) else None
