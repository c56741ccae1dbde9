"""
Reading the SageMaker SDK's image lists out of its wheel, without installing it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.catalog.recorded import Listing, Pin

_FOLDER = "image_uri_config/"
# The SDK's own derivation (image_uris.retrieve): what stands in the tag for the
# kind of processor.
_IN_TAG = {"gpu": "gpu", "inf2": "neuronx"}


@dataclass(frozen=True, slots=True)
class Release:
    """
    One version of a family, as the SDK lists it.

    Args:
        repository: The ECR repository's name.

        tag: The image's tag, by the SDK's formula.

        accounts: The registry account of each region that lists it.

        aliases: Other names of the version.
    """

    repository: str
    tag: str
    accounts: Mapping[str, str]
    aliases: tuple[str, ...] = ()


def download(pin: Pin, folder: Path) -> Path:
    """
    Fetch the pinned wheel, and nothing that it depends on.
    """
    requirements = folder / "requirements.txt"
    requirements.write_text(pin.requirement() + "\n", encoding="utf-8")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    command += ["--only-binary", ":all:", "--require-hashes"]
    command += ["--requirement", str(requirements), "--dest", str(folder)]
    subprocess.run(command, check=True)
    return next(folder.glob("*.whl"))


def read_wheel(
    wheel: Path, families: Iterable[str], listings: Mapping[str, Listing] | None = None
) -> dict[str, dict[str, Release]]:
    """
    Read the releases of families, by family and version.
    """
    wanted = {f: (listings or {}).get(f, Listing(f)) for f in families}
    with zipfile.ZipFile(wheel) as archive:
        paths = {Path(n).stem: n for n in archive.namelist() if _FOLDER in n}
        missing = sorted({one.name for one in wanted.values()} - set(paths))
        if missing:
            raise ValueError(f"{wheel.name} lists no {', '.join(missing)}")
        return {
            family: read_list(json.loads(archive.read(paths[one.name])), one.processor)
            for family, one in wanted.items()
        }


def read_list(data: Mapping[str, Any], processor: str = "") -> dict[str, Release]:
    """
    Read one of the SDK's files, by version.

    Args:
        data: The file's content.

        processor: The kind of processor that images are wanted for; empty for the
            only one that is listed.
    """
    served = data.get("inference", data)
    aliases = (served.get("version_aliases") or {}).items()
    return {
        version: Release(
            repository=row["repository"],
            tag=_tag(row, processor),
            accounts=row["registries"],
            aliases=tuple(alias for alias, name in aliases if name == version),
        )
        for version, row in served["versions"].items()
    }


def _tag(row: Mapping[str, Any], processor: str) -> str:
    containers = row.get("container_version", {})
    if not containers:
        tag: str = row["tag_prefix"]
        return tag
    if not processor:
        (processor,) = containers
    named = row.get("processor_in_tag", True)
    parts = [
        row["tag_prefix"],
        *([_IN_TAG.get(processor, processor)] if named else []),
        *row.get("py_versions", [])[:1],
        *row.get("sdk_versions", [])[-1:],
        containers[processor],
    ]
    return "-".join(parts)
