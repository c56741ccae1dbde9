"""
Which host image a container needs, by its CUDA version and the instance's family.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from cdk_sagemaker_llm.catalog.engine_releases import (
    engine_families,
    find_engine_release,
)
from cdk_sagemaker_llm.catalog.host_images import Match, host_image_for, match
from cdk_sagemaker_llm.catalog.images import ImageRelease, find_image, image_versions
from cdk_sagemaker_llm.catalog.instances import (
    InstanceType,
    find_instance_type,
    instance_type_names,
)
from tools.engine_page.tables import code, table

_HOSTS = """\
## Host images

The host image brings the driver, and the container's CUDA version decides which one \
it needs.
The constructs ask for the one below (`InferenceAmiVersion`) where the instance type's \
default will not do.
A container of CUDA 12.8 or 12.9 does not start on a host image of CUDA 13 that was \
asked for, and leaves no line in its log.
"""


def host_images() -> str:
    """
    Return the section on host images.
    """
    images = images_by_cuda()
    head = ("instance types", "default", *(f"CUDA {one}" for one in images))
    return f"{_HOSTS}\n{table(head, _rows(images))}"


def images_by_cuda() -> dict[str, ImageRelease]:
    """
    Return an image of an engine for each CUDA version that they have.
    """
    found = {
        release.cuda: find_image(family, version)
        for family in engine_families()
        for version in image_versions(family)
        if (release := find_engine_release(family, version)) and release.cuda
    }
    return dict(sorted(found.items(), key=lambda item: float(item[0])))


def _rows(images: Mapping[str, ImageRelease]) -> Iterator[tuple[str, ...]]:
    alike: dict[tuple[str, ...], list[str]] = {}
    for name in instance_type_names():
        one = find_instance_type(name)
        has_gpus = not one.has_neuron_cores and one.compatible_inference_amis
        if has_gpus or one.default_inference_ami:
            needs = tuple(_need(one, image) for image in images.values())
            default = code(one.default_inference_ami or "") or "the oldest"
            families = alike.setdefault((default, *needs), [])
            if one.family not in families:
                families.append(one.family)
    for cells, families in alike.items():
        yield ", ".join(f"`ml.{one}`" for one in families), *cells


def _need(instance_type: InstanceType, image: ImageRelease) -> str:
    asked = host_image_for(instance_type, image.cuda_version)
    needed = "the default" if asked is None else code(asked)
    fate = match(instance_type, asked, image)
    return needed if fate is Match.RUNS else f"{needed}, {fate.value}"
