"""
What SageMaker says of the endpoint under load: what serves, on what, and how many.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cdk_sagemaker_llm.catalog.instances import (
    find_instance_type,
    instance_type_names,
)
from cdk_sagemaker_llm.load.settings import LoadSettings

NOT_DESCRIBED = "unknown"
# Where containers of language models are told which.
_MODEL = ("HF_MODEL_ID", "OPTION_MODEL_ID", "SM_VLLM_MODEL")


def deployed(settings: LoadSettings) -> Deployed:
    """
    Ask SageMaker what serves; what it does not say stays unknown.

    An endpoint whose runtime's address was given is none that SageMaker knows of.
    """
    unknown = Deployed(model=settings.component or settings.endpoint)
    if settings.endpoint_url is not None:
        return unknown
    from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415 - what never asks starts without it

    try:
        sagemaker = settings.session().client("sagemaker")
        return _description(sagemaker, settings, unknown)
    except (BotoCoreError, ClientError):
        # Who may invoke may not always look; the figures are right all the same.
        return unknown


@dataclass(frozen=True, kw_only=True, slots=True)
class Deployed:
    """
    What serves.

    Args:
        model: Which model, by its name at its source, or at SageMaker.

        engine: The name of its image.
    """

    instance_type: str = NOT_DESCRIBED
    accelerators: int = 1
    model: str = NOT_DESCRIBED
    engine: str = NOT_DESCRIBED
    engine_version: str = NOT_DESCRIBED


def _description(
    sagemaker: Any,  # noqa: ANN401 - boto3's clients have no class
    settings: LoadSettings,
    unknown: Deployed,
) -> Deployed:
    name, specification = settings.variant, None
    if settings.component is not None:
        component = sagemaker.describe_inference_component(
            InferenceComponentName=settings.component
        )
        name = component.get("VariantName")
        specification = component.get("Specification", {})
    endpoint = sagemaker.describe_endpoint(EndpointName=settings.endpoint)
    variant = _named(endpoint["ProductionVariants"], name)
    config = sagemaker.describe_endpoint_config(
        EndpointConfigName=endpoint["EndpointConfigName"]
    )
    configured = _named(config["ProductionVariants"], variant["VariantName"])
    kind = configured.get("InstanceType", NOT_DESCRIBED)
    specification = configured if specification is None else specification
    model = specification.get("ModelName")
    container = specification.get("Container", {})
    if model is not None:
        described = sagemaker.describe_model(ModelName=model)
        container = described.get("PrimaryContainer", {})
    deployed_image = container.get("DeployedImage", {}).get("SpecifiedImage", "")
    image = container.get("Image") or deployed_image
    engine, _, tag = image.rpartition("/")[2].partition(":")
    needs = specification.get("ComputeResourceRequirements", {})
    count = needs.get("NumberOfAcceleratorDevicesRequired")
    if not count and kind in instance_type_names():
        count = find_instance_type(kind).accelerators
    variables = container.get("Environment", {})
    model_id = next((variables[key] for key in _MODEL if variables.get(key)), None)
    return Deployed(
        instance_type=kind,
        accelerators=max(int(count or 1), 1),
        model=model_id or model or unknown.model,
        engine=engine or NOT_DESCRIBED,
        engine_version=tag or NOT_DESCRIBED,
    )


def _named(variants: list[Any], name: str | None) -> Any:  # noqa: ANN401 - as boto3 has it
    return next((one for one in variants if one["VariantName"] == name), variants[0])


class Counting:
    """
    How many served while something was measured.
    """

    def __init__(self, settings: LoadSettings) -> None:
        self._settings = settings
        self._first, self._untold = self._count()

    def found(self) -> dict[str, Any]:
        """
        Count again: how many served since the beginning, or why that is not known.
        """
        if self._first is not None:
            count, self._untold = self._count()
            if not self._untold and count != self._first:
                self._untold = (
                    f"the copies changed from {self._first} to {count} while it was "
                    "measured; hold their number, with a minimum that is the maximum, "
                    "and measure again"
                )
        if self._untold:
            self._first = None
        return {"copies": self._first, "copies_untold": self._untold}

    def _count(self) -> tuple[int | None, str]:
        try:
            return copies_of(self._settings), ""
        except LookupError as reason:
            return None, str(reason)


def copies_of(settings: LoadSettings) -> int:
    """
    Look up how many copies of the component serve, or instances of the variant.
    """
    if settings.endpoint_url is not None:
        raise LookupError(
            "how many copies served is not looked up beside --endpoint-url; say it "
            "with --copies"
        )
    try:
        import boto3  # noqa: F401, PLC0415 - an extra
        from botocore.config import Config  # noqa: PLC0415 - an extra
        from botocore.exceptions import (  # noqa: PLC0415 - an extra
            BotoCoreError,
            ClientError,
        )
    except ImportError as error:
        raise _unknown("boto3 is missing") from error
    # Nobody waits long for what is a convenience.
    config = Config(connect_timeout=5, read_timeout=10, retries={"max_attempts": 2})
    try:
        client = settings.session().client("sagemaker", config=config)
        if settings.component is not None:
            found = client.describe_inference_component(
                InferenceComponentName=settings.component
            )
            count = found.get("RuntimeConfig", {}).get("CurrentCopyCount")
        else:
            found = client.describe_endpoint(EndpointName=settings.endpoint)
            count = _instances(found, settings.variant)
    except ClientError as error:
        raise _unknown(error.response["Error"]["Code"]) from error
    except BotoCoreError as error:
        raise _unknown(type(error).__name__) from error
    if not count:
        raise _unknown("none is named")
    return int(count)


def _unknown(why: str) -> LookupError:
    return LookupError(
        f"how many copies served could not be read ({why}); say it with --copies"
    )


def _instances(endpoint: Mapping[str, Any], variant: str | None) -> int | None:
    variants = [
        one
        for one in endpoint.get("ProductionVariants", [])
        if variant in {None, one["VariantName"]}
    ]
    if len(variants) > 1:
        raise LookupError("the endpoint has several variants; name one with --variant")
    return variants[0].get("CurrentInstanceCount") if variants else None
