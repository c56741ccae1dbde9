"""
Bringing a build's source into its folder.
"""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

from cdk_sagemaker_llm.local.codebuild.buildspec import (
    DEFAULT_FILE,
    Buildspec,
    BuildspecError,
    is_inline,
    parse,
)
from cdk_sagemaker_llm.local.codebuild.records import Build
from cdk_sagemaker_llm.local.sagemaker.locations import Location
from cdk_sagemaker_llm.local.sagemaker.surroundings import Surroundings

_MODE = 16  # Where a ZIP archive's attributes have the mode of Unix.


class SourceError(Exception):
    """
    A source that is not there, or cannot be brought here.
    """


def bring(build: Build, around: Surroundings, folder: Path) -> None:
    """
    Put a build's source into a folder.

    Raises:
        SourceError: If there is none.
    """
    source = build.request["source"]
    kind = source["type"]
    if kind == "NO_SOURCE":
        return
    if kind != "S3":
        raise SourceError(f"sources of type {kind} are not emulated: use S3")
    bucket, _, key = source["location"].removeprefix("arn:aws:s3:::").partition("/")
    if key.endswith("/"):
        _copy(Location(bucket, key), around, folder)
        return
    archive = around.read_object(Location(bucket, key))
    if archive is None:
        raise SourceError(
            "NoSuchKey: The specified key does not exist. "
            f"status code: 404 for primary source s3://{bucket}/{key}"
        )
    try:
        _unpack(archive, folder)
    except (zipfile.BadZipFile, OSError) as error:
        raise SourceError(f"cannot unpack s3://{bucket}/{key}: {error}") from error


def spec(build: Build, folder: Path) -> Buildspec:
    """
    Return a build's buildspec, from its project or a file in its source.

    Raises:
        BuildspecError: If it cannot be read.
    """
    text = str(build.request["source"].get("buildspec") or DEFAULT_FILE)
    if is_inline(text):
        return parse(text)
    try:
        return parse((folder / text).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise BuildspecError(
            f"stat {text}: no such file or directory: YAML file does not exist"
        ) from error


def _copy(prefix: Location, around: Surroundings, folder: Path) -> None:
    names = around.objects_under(prefix)
    if not names:
        raise SourceError(f"NoSuchKey: there is nothing under s3://{prefix.bucket}/")
    for name in names:
        target = folder / name
        if name.endswith("/") or folder not in target.resolve().parents:
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(around.read_object(prefix.child(name)) or b"")


def _unpack(archive: bytes, folder: Path) -> None:
    with zipfile.ZipFile(io.BytesIO(archive)) as opened:
        for member in opened.infolist():
            path = Path(opened.extract(member, folder))
            mode = member.external_attr >> _MODE
            if mode and path.is_file():
                path.chmod(mode & 0o777)
