"""
Host images of GPU instances, and which of them a container's CUDA version needs.

Drivers and defaults are those of the SageMaker guide ("inference-gpu-drivers") as of
2026-10.
"""

from __future__ import annotations

import enum
import functools
from collections.abc import Sequence

from cdk_sagemaker_llm.catalog.images import ImageRelease
from cdk_sagemaker_llm.catalog.instances import InstanceType

Cuda = tuple[int, int]

_CUDA_OF_HOST: dict[str, Cuda] = {
    "al2-ami-sagemaker-inference-gpu-2": (12, 2),
    "al2-ami-sagemaker-inference-gpu-2-1": (12, 2),
    "al2-ami-sagemaker-inference-gpu-3-1": (12, 4),
    "al2023-ami-sagemaker-inference-gpu-4-1": (13, 0),
}
# The oldest host, which has no name: driver 470.
_CUDA_OF_OLDEST: Cuda = (11, 4)
# Families that have that one and no other.
_OLDEST_ALONE = frozenset({"p3"})
# LMI's images of CUDA 12.2 and TGI's of 12.1 are known to run on it, by their
# compatibility packages.
_OLDEST_HOST_RUNS: Cuda = (12, 2)
# From this driver on, an older image's own compatibility packages may hide it.
_FIRST_STRICT_DRIVER = 13
# With a driver of CUDA 13 these end in CannotStartContainerError, without a log line
# (deep-learning-containers PR 6187 and the tests of its CUDA 12.8 images).
_FAIL_ON_NEXT: frozenset[Cuda] = frozenset({(12, 8), (12, 9)})


class Match(enum.Enum):
    """
    Whether a container starts with a host's driver.
    """

    RUNS = "runs"
    DOUBTFUL = "may not start"
    FAILS = "does not start"


def host_image_for(instance_type: InstanceType, cuda_version: str | None) -> str | None:
    """
    Return the host image to ask for; ``None`` where the default one will do, or none
    is of that CUDA version.

    It is the newest of the container's own CUDA major version: containers of CUDA 12
    do not all start with a driver of CUDA 13.
    """
    needed = _parse(cuda_version)
    if needed is None or not _is_described(instance_type, None):
        return None
    default = _cuda_of(instance_type.default_inference_ami)
    if default[0] >= needed[0] or (
        default == _CUDA_OF_OLDEST and needed <= _OLDEST_HOST_RUNS
    ):
        return None
    same_major = [
        (_CUDA_OF_HOST[name], name)
        for name in instance_type.compatible_inference_amis
        if _CUDA_OF_HOST.get(name, (0, 0))[0] == needed[0]
    ]
    return max(same_major)[1] if same_major else None


def shared_host_image(
    instance_types: Sequence[InstanceType], cuda_version: str | None
) -> str | None:
    """
    Return the host image to ask for where instances are of several types; ``None``
    where their default ones will do.

    A variant asks for one host image, so that one type's need is all types'.
    """
    images = {host_image_for(one, cuda_version) for one in instance_types} - {None}
    defaults = {one.default_inference_ami for one in instance_types}
    if not images and (len(defaults) == 1 or _parse(cuda_version) is None):
        return None
    shared = functools.reduce(set.intersection, map(_images_of, instance_types))
    needed = _parse(cuda_version)
    fitting = [
        (_CUDA_OF_HOST[name], name)
        for name in shared & _CUDA_OF_HOST.keys()
        if needed is not None and _CUDA_OF_HOST[name][0] == needed[0]
    ]
    if fitting:
        return max(fitting)[1]
    if not images:
        return None
    raise ValueError(
        f"no host image with a driver for CUDA {cuda_version} is taken by all of "
        f"{', '.join(map(str, instance_types))}"
    )


def _images_of(instance_type: InstanceType) -> set[str]:
    default = instance_type.default_inference_ami
    own = {default} if default else set()
    return {*instance_type.compatible_inference_amis, *own}


def is_listed(instance_type: InstanceType, host_image: str) -> bool:
    """
    Whether a host image can be asked for on a type, as far as that is known.

    What nothing is known of may be; one with the default's driver is as good as it.
    All that AWS lists are for GPUs, Inferentia and Trainium.
    """
    if not instance_type.accelerators:
        return False
    listed = _images_of(instance_type)
    if not listed or host_image in listed:
        return True
    default = instance_type.default_inference_ami
    return default is not None and _CUDA_OF_HOST.get(host_image) == _cuda_of(default)


def has_host_of(instance_type: InstanceType, cuda_version: str) -> bool:
    """
    Whether a type has a host image for a CUDA version, or may have one where that is
    not known.
    """
    needed = _parse(cuda_version)
    if needed is None or not _is_described(instance_type, None):
        return True
    hosts = (
        instance_type.default_inference_ami,
        *instance_type.compatible_inference_amis,
    )
    newest = max(_CUDA_OF_HOST.get(name or "", _CUDA_OF_OLDEST) for name in hosts)
    return needed[0] <= newest[0]


def match(
    instance_type: InstanceType, host_image: str | None, image: ImageRelease
) -> Match:
    """
    Judge whether a container starts on a host image.

    What nothing is known of is taken to run. A container that cannot start is told
    from one that may not by what AWS documents, or somebody has measured.
    """
    needed = _parse(image.cuda_version)
    chosen = host_image or instance_type.default_inference_ami
    if needed is None or not _is_described(instance_type, chosen):
        return Match.RUNS
    driver = _cuda_of(chosen)
    if driver == _CUDA_OF_OLDEST:
        if needed <= _OLDEST_HOST_RUNS:
            return Match.RUNS
        # The guide: too old a driver ends in CannotStartContainerError; the
        # compatibility packages of CUDA 13 do not know this one.
        return Match.DOUBTFUL if needed[0] <= _OLDEST_HOST_RUNS[0] else Match.FAILS
    if needed[0] <= driver[0] < _FIRST_STRICT_DRIVER or driver[0] == needed[0]:
        # Within a major version any driver runs any container (minor version
        # compatibility, CUDA 11 and later), and drivers of CUDA 12 older ones too.
        return Match.RUNS
    if driver[0] < needed[0]:
        # LMI of CUDA 13 with driver 535: "the provided PTX was compiled with an
        # unsupported toolchain" (djl-serving issue 2987). With 550 AWS's own page on
        # vLLM shows such a pair, and Hugging Face's images switch to their
        # compatibility packages.
        fails = driver == (12, 2) and image.family.startswith("djl-")
    else:
        is_default = chosen == instance_type.default_inference_ami
        fails = needed in _FAIL_ON_NEXT and not is_default
    return Match.FAILS if fails else Match.DOUBTFUL


def _cuda_of(host_image: str | None) -> Cuda:
    return _CUDA_OF_OLDEST if host_image is None else _CUDA_OF_HOST[host_image]


def _is_described(instance_type: InstanceType, host_image: str | None) -> bool:
    chosen = host_image or instance_type.default_inference_ami
    if chosen is None and instance_type.family in _OLDEST_ALONE:
        return True
    if chosen is None:
        return not _CUDA_OF_HOST.keys().isdisjoint(
            instance_type.compatible_inference_amis
        )
    return chosen in _CUDA_OF_HOST


def _parse(version: str | None) -> Cuda | None:
    if version is None:
        return None
    major, _, minor = version.partition(".")
    return int(major), int(minor or 0)
