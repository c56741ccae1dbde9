"""
Images and weights that are in another region than the model that takes them.
"""

from __future__ import annotations

from aws_cdk import CfnWaitCondition

from cdk_sagemaker_llm._tokens import is_unresolved
from cdk_sagemaker_llm.catalog.images import ImageRelease
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.hosting.scope import region_of
from cdk_sagemaker_llm.models import ModelSource, S3Model

FAR_SOURCE = Rule(
    "LLM797",
    "a model's image, or its staged weights, are in another region",
    "SageMaker API reference, ContainerDefinition",
)


def far_findings(
    region: str | None, image: ImageRelease, model: ModelSource | None
) -> list[Finding]:
    """
    Check that image and weights are in the model's own region, where both are known.
    """
    found = []
    for what, where, way_out in (
        ("the image", _region_of_image(image), "copy it there with MirroredImage"),
        ("the staged weights", _region_of_weights(model), "stage them there"),
    ):
        if region is not None and where not in (None, region):
            found.append(
                FAR_SOURCE.finding(
                    f"{what} must be in the model's own region {region}, got {where}",
                    way_out,
                )
            )
    return found


def _region_of_image(image: ImageRelease) -> str | None:
    registry = image.registry
    if registry is None:
        return None
    is_known = "$" not in registry.region and not is_unresolved(registry.region)
    return (registry.region if is_known else "") or _region_of(registry.depends_on)


def _region_of_weights(model: ModelSource | None) -> str | None:
    return _region_of(model.depends_on) if isinstance(model, S3Model) else None


def _region_of(ready: object) -> str | None:
    # A wait condition is a MirroredImage's, or a StagedModel's, which both work in
    # their own region. What else is waited for may write anywhere.
    return region_of(ready) if isinstance(ready, CfnWaitCondition) else None
