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

from tools.catalog.recorded import Pin

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
    """

    repository: str
    tag: str
    accounts: Mapping[str, str]


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


def read_wheel(wheel: Path, families: Iterable[str]) -> dict[str, dict[str, Release]]:
    """
    Read the releases of families, by family and version.

    Raises:
        ValueError: If the package has no list of a family.
    """
    with zipfile.ZipFile(wheel) as archive:
        paths = {Path(n).stem: n for n in archive.namelist() if _FOLDER in n}
        missing = sorted(set(families) - set(paths))
        if missing:
            raise ValueError(f"{wheel.name} lists no {', '.join(missing)}")
        return {f: read_list(json.loads(archive.read(paths[f]))) for f in families}


def read_list(data: Mapping[str, Any]) -> dict[str, Release]:
    """
    Read one of the SDK's files, by version.
    """
    served = data.get("inference", data)
    return {version: _release(row) for version, row in served["versions"].items()}


def _release(row: Mapping[str, Any]) -> Release:
    return Release(
        repository=row["repository"], tag=_tag(row), accounts=row["registries"]
    )


def _tag(row: Mapping[str, Any]) -> str:
    parts = [row["tag_prefix"]]
    for processor, container in row.get("container_version", {}).items():
        kind = _IN_TAG.get(processor, processor)
        parts = [row["tag_prefix"], kind, *row.get("py_versions", [])[:1], container]
    return "-".join(parts)
