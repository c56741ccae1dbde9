"""
The families of images, what is inside each version, and the host images they need.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from cdk_sagemaker_llm.catalog.engine_releases import (
    EngineRelease,
    engine_families,
    find_engine_release,
    is_rolling,
)
from cdk_sagemaker_llm.catalog.host_images import Match, host_image_for, match
from cdk_sagemaker_llm.catalog.image_rows import accounts_of
from cdk_sagemaker_llm.catalog.images import (
    ImageRelease,
    find_image,
    image_versions,
    registry_accounts,
)
from cdk_sagemaker_llm.catalog.instances import (
    InstanceType,
    find_instance_type,
    instance_type_names,
)
from tools.engine_page.tables import code, codes, table

# What each family is, and what to write for its newest version.
DESCRIBED: Mapping[str, tuple[str, str]] = {
    "vllm-server": ("vLLM by AWS on Amazon Linux, the choice for new work", "Vllm()"),
    "vllm": ("vLLM by AWS on Ubuntu, over vLLM's own image", 'Vllm("{}")'),
    "huggingface-vllm": (
        "vLLM by Hugging Face, with newer transformers",
        'Vllm("{}", distribution="huggingface")',
    ),
    "sglang-server": ("SGLang by AWS on Amazon Linux", "Sglang()"),
    "sglang": ("SGLang by AWS on Ubuntu, over SGLang's own image", 'Sglang("{}")'),
    "huggingface-sglang": (
        "SGLang by Hugging Face",
        'Sglang("{}", distribution="huggingface")',
    ),
    "llama-cpp": ("llama.cpp by AWS on GPUs", "LlamaCpp()"),
    "llama-cpp-cpu": ("llama.cpp by AWS on CPUs", "LlamaCpp()"),
    "llama-cpp-arm64": ("llama.cpp by AWS on Graviton", "LlamaCpp()"),
    "huggingface-llamacpp": (
        "llama.cpp by Hugging Face on GPUs",
        'LlamaCpp(distribution="huggingface")',
    ),
    "huggingface-llamacpp-cpu": (
        "llama.cpp by Hugging Face on CPUs",
        'LlamaCpp(distribution="huggingface")',
    ),
    "tei": ("embeddings and ranking by Hugging Face on GPUs", "TextEmbeddings()"),
    "tei-cpu": ("embeddings and ranking by Hugging Face on CPUs", "TextEmbeddings()"),
    "vllm-omni": ("speech, images and video by AWS", "VllmOmni()"),
    "huggingface-vllm-omni": (
        "speech, images and video by Hugging Face",
        'VllmOmni("{}", distribution="huggingface")',
    ),
    "huggingface-vllm-neuronx": (
        "vLLM by Hugging Face on Inferentia and Trainium",
        "VllmNeuron()",
    ),
}
# Regions that are named together, by what their names begin with.
_GROUPS = {
    "China": ("cn-",),
    "GovCloud": ("us-gov-",),
    "the isolated regions": ("us-iso", "eu-iso"),
    "the European Sovereign Cloud": ("eusc-",),
}
_FAMILIES = """\
## Families

`regions` counts those that list the newest version, and after it stands where that \
version is not.
Other versions are listed elsewhere: the tables below have a count for each.
"""
_VERSIONS = """\
## Images by version

`engine` is the engine's release, without a build's own part.
`rule` is how the image reads variables; of two the day of its build decides, and what \
the classes write is read alike by both.
`route=` says whether a request may choose a path of the engine in its \
`CustomAttributes`.
`GPUs` are the compute capabilities that the image is built for, where that is known.
A tag that moves is refused in the classes, and warned of in templates: name a \
version that stays, or a digest.
"""
_HOSTS = """\
## Host images

The host image brings the driver, and the container's CUDA version decides which one \
it needs.
The constructs ask for the one below (`InferenceAmiVersion`) where the instance type's \
default will not do.
A container of CUDA 12.8 or 12.9 does not start on a host image of CUDA 13 that was \
asked for, and leaves no line in its log.
"""


def families() -> str:
    """
    Return the section that lists the families.
    """
    rows = (_family(name) for name in DESCRIBED)
    head = ("family", "what it is", "class", "newest", "regions", "not in", "registry")
    return f"{_FAMILIES}\n{table(head, rows)}"


def versions() -> str:
    """
    Return the section with the versions of each family.
    """
    parts = [f"### `{name}`\n\n{_table(name)}" for name in DESCRIBED]
    return "\n".join([_VERSIONS, *parts])


def newest(family: str) -> str:
    """
    Return the newest version of a family whose tag stays.
    """
    return [one for one in image_versions(family) if not is_rolling(family, one)][-1]


def absences(family: str, version: str) -> list[str]:
    """
    Name where a version is not listed, of all regions with a registry.
    """
    absent = set(registry_accounts()) - find_image(family, version).regions
    found: list[str] = []
    for group, starts in _GROUPS.items():
        names = {one for one in registry_accounts() if one.startswith(starts)}
        if names <= absent:
            found.append(group)
            absent -= names
    return [*found, *map(code, sorted(absent))]


def _family(name: str) -> tuple[str, ...]:
    what, call = DESCRIBED[name]
    version = newest(name)
    image = find_image(name, version)
    has_own = accounts_of(name) != registry_accounts()
    return (
        code(name),
        what,
        code(call.format(version)),
        version,
        str(len(image.regions)),
        ", ".join(absences(name, version)),
        f"{code(image.repository)}{', in accounts of its own' if has_own else ''}",
    )


def _table(family: str) -> str:
    found = [find_engine_release(family, one) for one in image_versions(family)]
    rows = [_cells(one) for one in reversed(found) if one is not None]
    head = "version", "tag", "engine", "CUDA", "system", "rule", "`route=`", "GPUs"
    return table((*head, "regions"), rows)


def _cells(release: EngineRelease) -> tuple[str, ...]:
    image = find_image(release.family, release.version)
    return (
        release.version + (", moves" if release.is_rolling else ""),
        code(image.tag),
        release.engine_version or "",
        release.cuda or "",
        release.os or "",
        codes(release.rules),
        "yes" if release.routes else "",
        ", ".join(release.gpu_architectures or ()),
        str(len(image.regions)),
    )


def undescribed() -> set[str]:
    """
    Return the families that the page says nothing of, or that are no more.
    """
    return set(DESCRIBED) ^ set(engine_families())


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
