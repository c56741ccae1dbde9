"""
Whether an image can start on an instance: its processors, devices, kernels and driver.
"""

from __future__ import annotations

from cdk_sagemaker_llm.catalog.engine_releases import find_engine_release
from cdk_sagemaker_llm.catalog.host_images import Match, host_image_for, match
from cdk_sagemaker_llm.catalog.images import ImageRelease, image_families
from cdk_sagemaker_llm.catalog.instances import InstanceType
from cdk_sagemaker_llm.catalog.known_images import of_catalogue
from cdk_sagemaker_llm.findings import Finding, Rule, errors_of
from cdk_sagemaker_llm.tokens import is_unresolved

# torch-neuronx, which it is built on, is not for the first Inferentia.
_NEURONX_ONLY = frozenset({"huggingface-vllm-neuronx"})

OTHER_DEVICES = Rule("LLM127", "a GPU image on Neuron chips, or the other way round")
NO_ACCELERATORS = Rule(
    "LLM521",
    "an image for accelerators on an instance type that has none",
    "the images' own build files; EC2 instance types",
)
OTHER_PROCESSOR = Rule(
    "LLM523",
    "an image that is built for other processors than the instance type's",
    "EC2 instance types; aws/deep-learning-containers, llama-cpp-arm64",
)
OTHER_DRIVER = Rule(
    "LLM198",
    "a container's CUDA version does not start with the host's driver",
    "SageMaker developer guide; djl-serving issue 2987; "
    "deep-learning-containers PR 6187",
)
DOUBTFUL_DRIVER = Rule(
    "LLM221",
    "a container's CUDA version may not start with the host's driver",
    "SageMaker developer guide",
)


def host_findings(
    hardware: InstanceType | None,
    image: ImageRelease,
    host_image: str | None,
    *,
    hosts_components: bool,
) -> list[Finding]:
    """
    Check that an instance has the devices and the driver that an image needs.

    Args:
        hardware: The instance type; ``None`` if it is not known.

        image: The image that is to run.

        host_image: The host image; ``None`` for the type's default.

        hosts_components: Whether the hosts are shared by inference components.
    """
    found = instance_findings(hardware, image)
    image = of_catalogue(image)
    if hardware is None or image.registry is not None or is_unresolved(host_image):
        return found
    if errors_of(found):
        return found
    return found + _driver_findings(
        hardware, image, host_image, hosts_components=hosts_components
    )


def instance_findings(
    hardware: InstanceType | None, image: ImageRelease
) -> list[Finding]:
    """
    Check that an instance has the processors and devices that an image is built for.

    Args:
        hardware: The instance type; ``None`` if it is not known.

        image: The image that is to run.
    """
    image = of_catalogue(image)
    if hardware is None or image.registry is not None:
        return []
    if image.is_for_cpu:
        return _processor_findings(hardware, image)
    if hardware.accelerators == 0:
        return [
            NO_ACCELERATORS.finding(
                f"image {image.family} {image.version} runs on accelerators, and "
                f"{hardware} has none",
                _without_accelerators(image),
            )
        ]
    wanted = _wanted_devices(hardware, image)
    if wanted:
        return [
            OTHER_DEVICES.finding(
                f"image {image.family} {image.version} runs on {wanted}, and "
                f"{hardware} has {hardware.accelerator_model}",
                "choose another image or another instance type",
            )
        ]
    return _kernel_findings(hardware, image)


def _driver_findings(
    hardware: InstanceType,
    image: ImageRelease,
    host_image: str | None,
    *,
    hosts_components: bool,
) -> list[Finding]:
    found = match(hardware, host_image, image)
    if found is Match.RUNS:
        return []
    rule = OTHER_DRIVER if found is Match.FAILS else DOUBTFUL_DRIVER
    return [
        rule.finding(
            f"image {image.family} {image.version} of CUDA {image.cuda_version} "
            f"{found.value} with {_driver(hardware, host_image)} of {hardware}",
            _remedy(hardware, image, host_image, hosts_components=hosts_components),
        ),
    ]


def _wanted_devices(hardware: InstanceType, image: ImageRelease) -> str:
    """
    Return what devices an image needs in place of an instance's; empty for none other.
    """
    if image.family in _NEURONX_ONLY and hardware.accelerator_model == "Inferentia":
        return "Inferentia2 or Trainium"
    if image.is_for_neuron == hardware.has_neuron_cores:
        return ""
    return "Inferentia or Trainium" if image.is_for_neuron else "NVIDIA GPUs"


def _processor_findings(hardware: InstanceType, image: ImageRelease) -> list[Finding]:
    if image.processor in {None, hardware.processor}:
        return []
    return [
        OTHER_PROCESSOR.finding(
            f"image {image.family} {image.version} is built for {image.processor}, and "
            f"the processors of {hardware} are {hardware.processor}",
            f"choose an instance type of {image.processor}"
            + _for_processor(hardware, image),
        )
    ]


def _for_processor(hardware: InstanceType, image: ImageRelease) -> str:
    """
    Say how to get the image for other processors, where there is one.
    """
    if not image.family.startswith("llama-cpp"):
        return ""
    return (
        f", or the image for {hardware.processor}, such as with "
        f'LlamaCpp(processor="{hardware.processor}")'
    )


def _without_accelerators(image: ImageRelease) -> str:
    """
    Say what runs on a type without accelerators, or else where the image does.
    """
    if f"{image.family}-cpu" in image_families():
        return (
            f"take {image.family}-cpu, which a model that is defined with "
            "accelerators=0 gets, or another instance type"
        )
    return (
        "choose an instance type with accelerators, or serve a GGUF file with "
        "LlamaCpp, or embeddings with TextEmbeddings, which run on processors"
    )


def _kernel_findings(hardware: InstanceType, image: ImageRelease) -> list[Finding]:
    release = find_engine_release(image.family, image.version)
    if release is None or release.gpu_architectures is None:
        return []
    # Which GPU has which kernels, only images of these engines ask.
    from cdk_sagemaker_llm.serving.engines.kernels import (  # noqa: PLC0415
        gpu_findings,
    )

    return gpu_findings(release, hardware.accelerator_model)


def _driver(hardware: InstanceType, host_image: str | None) -> str:
    if host_image is not None:
        return f"the driver of {host_image}"
    default = hardware.default_inference_ami
    return f"the default driver{f' ({default})' if default else ''}"


def _remedy(
    hardware: InstanceType,
    image: ImageRelease,
    host_image: str | None,
    *,
    hosts_components: bool,
) -> str:
    right = host_image_for(hardware, image.cuda_version)
    if match(hardware, right, image) is not Match.RUNS:
        return "choose another image or another instance type"
    if hosts_components:
        return (
            f"define the host with cuda_version={image.cuda_version!r}, or serve the "
            "model from a host of its own"
        )
    if host_image is None:
        # Nothing was asked for: by a template, or of types that share no host image.
        return (
            f"ask for the host image {right}, which all types of the variant must "
            "have, or choose another image"
        )
    return "leave inference_ami_version out" + (
        f": it is {right} then" if right else ""
    )
