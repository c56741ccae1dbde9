"""
What SageMaker says of an endpoint: what serves, and on what.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cdk_sagemaker_llm.catalog.instances import find_instance_type
from cdk_sagemaker_llm.load.settings import LoadSettings

UNKNOWN = "unknown"
# Where containers of language models are told which.
_MODEL = ("HF_MODEL_ID", "OPTION_MODEL_ID", "SM_VLLM_MODEL")


@dataclass(frozen=True, kw_only=True, slots=True)
class Deployed:
    """
    What serves.

    Args:
        instance_type: On which instance type.

        accelerators: Over how many accelerators each is split.

        model: Which model, by its name at its source, or at SageMaker.

        engine: The name of its image.

        engine_version: The image's tag.
    """

    instance_type: str = UNKNOWN
    accelerators: int = 1
    model: str = UNKNOWN
    engine: str = UNKNOWN
    engine_version: str = UNKNOWN


def deployed(settings: LoadSettings) -> Deployed:
    """
    Ask SageMaker what serves; what it does not say is left as it is where nobody knows.

    An endpoint whose runtime's address was given is none that SageMaker knows of.
    """
    unknown = Deployed(model=settings.component or settings.endpoint)
    if settings.endpoint_url is not None:
        return unknown
    import boto3  # noqa: PLC0415 - what never asks starts without it
    from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415 - as above

    try:
        sagemaker = boto3.client("sagemaker", region_name=settings.region)
        return _asked(sagemaker, settings, unknown)
    except (BotoCoreError, ClientError):
        # Who may invoke may not always look; the figures are right all the same.
        return unknown


def _asked(
    sagemaker: Any,  # noqa: ANN401 - boto3's clients have no class
    settings: LoadSettings,
    unknown: Deployed,
) -> Deployed:
    name, component = settings.variant, None
    if settings.component is not None:
        component = sagemaker.describe_inference_component(
            InferenceComponentName=settings.component
        )
        name = component.get("VariantName")
    endpoint = sagemaker.describe_endpoint(EndpointName=settings.endpoint)
    variant = _named(endpoint["ProductionVariants"], name)
    configured = sagemaker.describe_endpoint_config(
        EndpointConfigName=endpoint["EndpointConfigName"]
    )
    kind = _named(configured["ProductionVariants"], variant["VariantName"]).get(
        "InstanceType", UNKNOWN
    )
    specification = component.get("Specification", {}) if component else {}
    model = specification.get("ModelName")
    if component is None:
        model = _named(configured["ProductionVariants"], variant["VariantName"]).get(
            "ModelName"
        )
    container: Mapping[str, Any] = specification.get("Container", {})
    if model is not None:
        described = sagemaker.describe_model(ModelName=model)
        container = described.get("PrimaryContainer", {})
    engine, version = _engine(container)
    return Deployed(
        instance_type=kind,
        accelerators=_accelerators(
            specification.get("ComputeResourceRequirements", {}), kind
        ),
        model=_model(container) or model or unknown.model,
        engine=engine,
        engine_version=version,
    )


def _named(variants: list[Any], name: str | None) -> Any:  # noqa: ANN401 - as boto3 has it
    return next((one for one in variants if one["VariantName"] == name), variants[0])


def _model(container: Mapping[str, Any]) -> str | None:
    variables = container.get("Environment", {})
    return next((variables[name] for name in _MODEL if variables.get(name)), None)


def _engine(container: Mapping[str, Any]) -> tuple[str, str]:
    image = container.get("Image") or container.get("DeployedImage", {}).get(
        "SpecifiedImage"
    )
    if not image:
        return UNKNOWN, UNKNOWN
    repository, _, tag = image.rpartition("/")[2].partition(":")
    return repository, tag or UNKNOWN


def _accelerators(needs: Mapping[str, Any], instance_type: str) -> int:
    given = needs.get("NumberOfAcceleratorDevicesRequired")
    if given:
        return max(int(given), 1)
    try:
        return find_instance_type(instance_type).accelerators or 1
    except ValueError:
        return 1
