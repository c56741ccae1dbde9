"""
The rows of images.json, the names that they go by, and what the form of a tag says.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from cdk_sagemaker_llm.catalog._data import load
from cdk_sagemaker_llm.text import any_of, nearest

# The version that a tag names: LMI's own number where the version alone has several
# images, TGI's and TEI's after PyTorch's, optimum's on Neuron, llama.cpp's build, that
# of AWS's images on Amazon Linux, and a minor release that moves from patch to patch.
_NAMED = (
    re.compile(r"-tgi(\d+(?:\.\d+)+)"),
    re.compile(r"-tei(\d+(?:\.\d+)+)"),
    re.compile(r"-optimum(\d+(?:\.\d+)+)"),
    re.compile(r"\A(0\.36\.\d+-lmi\d+)"),
    re.compile(r"\A(0\.\d+\.\d+)-"),
    re.compile(r"\A(b\d+)-[cg]pu-"),
    re.compile(r"\A(?:server|omni|serve-ml)-sagemaker-c(?:uda|pu)-v(\d+(?:\.\d+)*)\Z"),
    re.compile(r"\A(0\.\d+)-gpu-"),
)
_NEWEST = re.compile(r"\A(?:server|omni|serve-ml)-sagemaker-c(?:uda|pu)\Z")
_ROLLING = re.compile(
    r"\A(?:server|omni|serve-ml)-sagemaker-c(?:uda|pu)(?:-v\d+)?\Z|\A0\.\d+-gpu-"
)
# What AWS puts behind a tag whose image has an index for pulling it lazily.
_INDEXED = "-soci"
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}\Z")
_CPU = re.compile(r"(?:\A|-)cpu(?:-|\Z)")
_CUDA = re.compile(r"-cu(\d+)(\d)(?:-|$)")


def family_row(name: str) -> Mapping[str, Any]:
    """
    Return the row of a container family.
    """
    families = load("images.json")["families"]
    if name not in families:
        near = nearest(name, families) or sorted(families)
        raise ValueError(f"unknown container family {name!r}; use {any_of(near)}")
    family: Mapping[str, Any] = families[name]
    return family


def full_version(family: str, version: str) -> str:
    """
    Return the version behind another name of it, such as ``0.30`` or ``latest``; else
    itself.
    """
    row: Mapping[str, Any] = load("images.json")["families"].get(family, {})
    name: str = row.get("aliases", {}).get(version, version)
    return name


def region_set(name: str) -> frozenset[str]:
    """
    Return the regions of a set that versions are listed in.
    """
    return frozenset(load("images.json")["region_sets"][name])


def accounts_of(family: str) -> Mapping[str, str]:
    """
    Return the registry account of each region that a family may be in: TEI's own, or
    for one that is not listed, where nearly all are.
    """
    data = load("images.json")
    name = data["families"].get(family, {}).get("accounts")
    accounts: Mapping[str, str] = (
        data["accounts"] if name is None else data["other_accounts"][name]
    )
    return accounts


def all_accounts() -> frozenset[str]:
    """
    Return every account that a catalogued image is in.
    """
    data = load("images.json")
    others = (
        account for row in data["other_accounts"].values() for account in row.values()
    )
    return frozenset({*data["accounts"].values(), *others})


def version_in(tag: str) -> str | None:
    """
    Return the version that a tag names, ``latest`` where it follows all releases of its
    family; ``None`` where it names none.
    """
    base = base_tag(tag)
    if _NEWEST.match(base):
        return "latest"
    found = (form.search(base) for form in _NAMED)
    return next((match[1] for match in found if match), None)


def cuda_in(tag: str) -> str | None:
    """
    Return the CUDA version that a tag names, such as ``12.2``; ``None`` without one.
    """
    match = _CUDA.search(tag)
    return f"{match[1]}.{match[2]}" if match else None


def is_of_cpu(tag: str) -> bool:
    """
    Whether a tag says that its image is for CPUs.
    """
    return _CPU.search(tag) is not None


def moves(tag: str) -> bool:
    """
    Whether AWS moves a tag of this form from one release to the next.
    """
    return _ROLLING.match(base_tag(tag)) is not None


def base_tag(tag: str) -> str:
    """
    Return the tag of the same image without an index for pulling it lazily (SOCI).
    """
    return tag.removesuffix(_INDEXED)


def is_digest(text: str) -> bool:
    """
    Whether a text is the digest of an image.
    """
    return _DIGEST.match(text) is not None
