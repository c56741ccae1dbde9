"""
Reading a synthesised app: the SageMaker resources in its cloud assembly.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cdk_sagemaker_llm.catalog.images import (
    ImageRelease,
    find_image,
    image_families,
    image_versions,
)
from cdk_sagemaker_llm.serving.lmi.artifact import Artifact
from cdk_sagemaker_llm.serving.lmi.read_tarball import tarball_files

MANIFEST = "manifest.json"
_HASH = re.compile(r"/([0-9a-f]{64})\.")
_IMAGE = re.compile(r"([\w.-]+(?:/[\w.-]+)*):([\w.-]+)\Z")


class AssemblyError(ValueError):
    """
    A folder is no cloud assembly, or not one that can be read.
    """


@dataclass(frozen=True, slots=True)
class Stack:
    """
    A stack's resources by logical id, and where its assets are.
    """

    name: str
    folder: Path
    resources: Mapping[str, Mapping[str, Any]]

    def of_type(self, kind: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """
        Return id and properties of every resource of ``AWS::SageMaker::<kind>``.
        """
        for name, resource in self.resources.items():
            if resource.get("Type") == f"AWS::SageMaker::{kind}":
                yield name, resource.get("Properties", {})


def is_assembly(path: Path) -> bool:
    """
    Whether a folder is what ``cdk synth`` writes.
    """
    return (path / MANIFEST).is_file()


def read_stacks(path: Path) -> list[Stack]:
    """
    Read every stack of a cloud assembly, those of its stages too.

    Raises:
        AssemblyError: If a file is missing or is no JSON.
    """
    manifest = _read_json(path / MANIFEST)
    stacks = []
    for name, artifact in manifest.get("artifacts", {}).items():
        details = artifact.get("properties", {})
        if artifact.get("type") == "aws:cloudformation:stack":
            template = _read_json(path / details["templateFile"])
            stacks.append(Stack(name, path, template.get("Resources", {})))
        elif artifact.get("type") == "cdk:cloud-assembly":
            stacks += read_stacks(path / details["directoryName"])
    return stacks


def text_of(value: object) -> str:
    """
    Write a template's value as text, with the references left as ``${...}``.
    """
    if not isinstance(value, Mapping):
        return str(value)
    if "Fn::Join" in value:
        separator, parts = value["Fn::Join"]
        return str(separator).join(map(text_of, parts))
    if "Fn::Sub" in value:
        sub = value["Fn::Sub"]
        return str(sub if isinstance(sub, str) else sub[0])
    return f"${{{target_of(value) or '...'}}}"


def target_of(value: object) -> str | None:
    """
    Return the logical id that a value refers to.
    """
    if not isinstance(value, Mapping):
        return None
    if "Ref" in value:
        return str(value["Ref"])
    target = value.get("Fn::GetAtt")
    if target is None:
        return None
    return str(target.split(".")[0] if isinstance(target, str) else target[0])


def image_of(container: Mapping[str, Any]) -> ImageRelease | None:
    """
    Recognise the image of a container definition; ``None`` for one of the user's.
    """
    match = _IMAGE.search(text_of(container.get("Image", "")))
    return (
        _known_images().get((match[1].rsplit("/", 1)[-1], match[2])) if match else None
    )


def artifact_files(stack: Stack, container: Mapping[str, Any]) -> Artifact:
    """
    Read the model tarball that travels with the assembly; empty without one.

    Raises:
        ArtifactError: If it cannot be read to its end.
    """
    match = _HASH.search(text_of(container.get("ModelDataUrl", "")))
    found = sorted(stack.folder.glob(f"asset.{match[1]}*")) if match else []
    if not found or not found[0].is_file():
        return Artifact({}, {})
    return tarball_files(found[0])


@functools.cache
def _known_images() -> Mapping[tuple[str, str], ImageRelease]:
    found: dict[tuple[str, str], ImageRelease] = {}
    for family in image_families():
        for version in image_versions(family):
            release = find_image(family, version)
            found.setdefault((release.repository, release.tag), release)
    return found


def _read_json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as fault:
        raise AssemblyError(f"{path} is missing") from fault
    except (UnicodeDecodeError, json.JSONDecodeError) as fault:
        raise AssemblyError(f"{path} is no JSON: {fault}") from fault
    if not isinstance(content, dict):
        raise AssemblyError(f"{path} holds no JSON object")
    return content
