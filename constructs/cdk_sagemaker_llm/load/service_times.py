"""
From a benchmark to a file of service times, which simulations read, with what SageMaker
says of the endpoint: what serves, and on what.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from cdk_sagemaker_llm.catalog.instances import find_instance_type
from cdk_sagemaker_llm.load.benchmark import Benchmark, Row
from cdk_sagemaker_llm.load.fitting import Fitted, fit_service_times
from cdk_sagemaker_llm.load.settings import LoadSettings
from cdk_sagemaker_llm.simulation.service.measurement import (
    Measurement,
    write_service_times,
)

NOT_DESCRIBED = "unknown"
# Where containers of language models are told which.
_MODEL = ("HF_MODEL_ID", "OPTION_MODEL_ID", "SM_VLLM_MODEL")


def save_service_times(
    path: Path, benchmark: Benchmark, probe: Probe, served: Deployed
) -> Fitted:
    """
    Fit the service times of one copy and write them down; return how they were found.

    Args:
        path: Where to.

        benchmark: The sweep.

        probe: What else was measured or is known.

        served: What served.

    Raises:
        ValueError: If the sweep has too little in it.
    """
    copies = f"{probe.copies} {'copy' if probe.copies == 1 else 'copies'}"
    users = ", ".join(str(row.users) for row in benchmark.rows)
    fitted = fit_service_times(
        benchmark.rows,
        probe.copies,
        alone=probe.alone,
        max_sequences=probe.max_sequences,
        source=f"benchmark of {benchmark.endpoint}, {copies}, with {users} users",
    )
    write_service_times(
        path,
        Measurement(
            times=fitted.times,
            instance_type=served.instance_type,
            model=served.model,
            engine=served.engine,
            engine_version=served.engine_version,
            date=datetime.fromisoformat(benchmark.began).date(),
            accelerators=served.accelerators,
            prompt_tokens=fitted.prompt_tokens,
            output_tokens=fitted.output_tokens,
            requests=fitted.requests,
            notes="; ".join((*fitted.found, *fitted.warnings)),
        ),
    )
    return fitted


@dataclass(frozen=True, kw_only=True, slots=True)
class Probe:
    """
    What service times need besides the sweep.

    Args:
        copies: How many copies shared the requests.

        alone: What a single user met with, with short prompts and with whole ones.
            If omitted, nobody asked alone.

        max_sequences: How many sequences a copy writes at once, at most.
            If omitted, it is told from the sweep.
    """

    copies: int
    alone: tuple[Row, ...] = ()
    max_sequences: int | None = None


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
        return _description(sagemaker, settings, unknown)
    except (BotoCoreError, ClientError):
        # Who may invoke may not always look; the figures are right all the same.
        return unknown


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
        "InstanceType", NOT_DESCRIBED
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


def _engine(container: Mapping[str, Any]) -> tuple[str, str]:
    image = container.get("Image") or container.get("DeployedImage", {}).get(
        "SpecifiedImage"
    )
    if not image:
        return NOT_DESCRIBED, NOT_DESCRIBED
    repository, _, tag = image.rpartition("/")[2].partition(":")
    return repository, tag or NOT_DESCRIBED


def _accelerators(needs: Mapping[str, Any], instance_type: str) -> int:
    count = needs.get("NumberOfAcceleratorDevicesRequired")
    if count:
        return max(int(count), 1)
    try:
        return find_instance_type(instance_type).accelerators or 1
    except ValueError:
        return 1


def _model(container: Mapping[str, Any]) -> str | None:
    variables = container.get("Environment", {})
    return next((variables[name] for name in _MODEL if variables.get(name)), None)
