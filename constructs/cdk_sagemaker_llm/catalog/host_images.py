"""
Host images of GPU instances, and which of them a container's CUDA version needs.

Drivers and defaults are those of the SageMaker guide ("inference-gpu-drivers") as of
2026-10. A driver runs containers of its own CUDA major version and older ones; the
images' compatibility packages stretch that, but not without limit.
"""

from __future__ import annotations

from cdk_sagemaker_llm.catalog.instances import InstanceType

Cuda = tuple[int, int]

_CUDA_OF_HOST: dict[str, Cuda] = {
    "al2-ami-sagemaker-inference-gpu-2": (12, 2),
    "al2-ami-sagemaker-inference-gpu-2-1": (12, 2),
    "al2-ami-sagemaker-inference-gpu-3-1": (12, 4),
    "al2023-ami-sagemaker-inference-gpu-4-1": (13, 0),
}
# The oldest host (driver 470) is of CUDA 11.4; LMI's image of CUDA 12.2 and TGI's of
# 12.1 are known to run on it, by their compatibility packages.
_OLDEST_HOST_RUNS: Cuda = (12, 2)


def host_image_for(instance_type: InstanceType, cuda_version: str | None) -> str | None:
    """
    Return the host image to ask for; ``None`` where the default one will do.

    Args:
        instance_type: The type that the container runs on.

        cuda_version: The container's, such as ``13.0``; ``None`` if it has none.
    """
    needed = _parse(cuda_version)
    if needed is None or runs_on(instance_type, None, cuda_version):
        return None
    newer = [
        (_CUDA_OF_HOST[name], name)
        for name in instance_type.compatible_inference_amis
        if _CUDA_OF_HOST.get(name, (0, 0)) >= needed
    ]
    return min(newer)[1] if newer else None


def runs_on(
    instance_type: InstanceType, host_image: str | None, cuda_version: str | None
) -> bool:
    """
    Whether a container of a CUDA version runs on a host image, as far as is known.

    Args:
        instance_type: The type that the container runs on.

        host_image: The host image asked for; ``None`` for the type's default.

        cuda_version: The container's, such as ``13.0``.
    """
    needed = _parse(cuda_version)
    chosen = host_image or instance_type.default_inference_ami
    if needed is None or not _is_described(instance_type, chosen):
        return True
    if chosen is None:
        return needed <= _OLDEST_HOST_RUNS
    # Within a major version any driver runs any container (minor version
    # compatibility, CUDA 11 and later).
    return needed[0] <= _CUDA_OF_HOST[chosen][0]


def _is_described(instance_type: InstanceType, host_image: str | None) -> bool:
    if host_image is None:
        return not _CUDA_OF_HOST.keys().isdisjoint(
            instance_type.compatible_inference_amis
        )
    return host_image in _CUDA_OF_HOST


def _parse(version: str | None) -> Cuda | None:
    if version is None:
        return None
    major, _, minor = version.partition(".")
    return int(major), int(minor or 0)
