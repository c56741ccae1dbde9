"""
Whether a model's container can start on a host: its devices, driver and time-outs.
"""

from __future__ import annotations

from cdk_sagemaker_llm._tokens import is_unresolved
from cdk_sagemaker_llm.catalog.host_images import host_image_for, runs_on
from cdk_sagemaker_llm.catalog.images import ImageRelease
from cdk_sagemaker_llm.catalog.instances import InstanceType
from cdk_sagemaker_llm.findings import Finding, Rule

OTHER_DEVICES = Rule("LLM127", "a GPU image on Neuron chips, or the other way round")
CONTRADICTING_TIMEOUTS = Rule(
    "LLM213", "the container's and SageMaker's time-outs contradict each other"
)
OLD_DRIVER = Rule(
    "LLM221",
    "the host's driver may be too old for the image's CUDA",
    "SageMaker developer guide",
)


def host_findings(
    hardware: InstanceType | None, image: ImageRelease, host_image: str | None
) -> list[Finding]:
    """
    Check that an instance has the devices and the driver that an image needs.

    Args:
        hardware: The instance type; ``None`` if it is not known.

        image: The image that is to run.

        host_image: The host image asked for.
            ``None`` if one is derived, or the type's default is used.
    """
    if hardware is None or image.registry is not None:
        return []
    if image.is_for_neuron != hardware.has_neuron_cores:
        wanted = "Inferentia or Trainium" if image.is_for_neuron else "NVIDIA GPUs"
        return [
            OTHER_DEVICES.finding(
                f"image {image.family} {image.version} runs on {wanted}, and "
                f"{hardware} has {hardware.accelerator_model}",
                "choose another image or another instance type",
            )
        ]
    chosen = host_image or host_image_for(hardware, image.cuda_version)
    if runs_on(hardware, chosen, image.cuda_version):
        return []
    return [
        OLD_DRIVER.finding(
            f"the driver of {chosen or 'the host'} on {hardware} may be too old for "
            f"CUDA {image.cuda_version} of image {image.family} {image.version}",
            "set inference_ami_version to a newer one, or leave it out",
        )
    ]


def timeout_contradictions(
    limit: int | None, health_check_seconds: float, *, was_chosen: bool
) -> list[Finding]:
    """
    Compare how long the container and SageMaker wait for a model to load.

    Args:
        limit: When the container gives up; ``None`` if it never does.

        health_check_seconds: When SageMaker gives up.

        was_chosen: Whether that is the user's figure rather than the default.
    """
    if limit is None or is_unresolved((limit, health_check_seconds)):
        return []
    if limit > health_check_seconds:
        message = (
            f"the container lets the model load for {limit} s, and SageMaker gives up "
            f"after {health_check_seconds:g} s"
        )
        remedy = "raise container_startup_health_check_timeout, 3600 s at most"
    elif was_chosen and limit < health_check_seconds:
        message = (
            f"SageMaker waits {health_check_seconds:g} s for the model, and the "
            f"container gives up loading after {limit} s"
        )
        remedy = "raise model_loading_timeout"
    else:
        return []
    return [CONTRADICTING_TIMEOUTS.finding(message, remedy)]
