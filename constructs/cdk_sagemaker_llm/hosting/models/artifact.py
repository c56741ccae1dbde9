"""
The model tarball: configuration and code as a deterministic S3 asset.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import tarfile
import tempfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Literal
from weakref import WeakKeyDictionary

import jsii
from aws_cdk import (
    Aspects,
    AssetHashType,
    FileAssetPackaging,
    IAspect,
    NestedStack,
    Stage,
)
from constructs import Construct, IConstruct

from cdk_sagemaker_llm.hosting.common.reporting import checked
from cdk_sagemaker_llm.hosting.common.scope import (
    belongs,
    folders_of,
    stack_of,
    stage_of,
)
from cdk_sagemaker_llm.hosting.roles.statements import Statement, read_statements

_UNBOUND = "StackSynthesizerBoundStackFirst"
# It stands among the app's own stacks: no user's id is like this one.
_WRITERS_ID = "cdk-sagemaker-llm:ServingArtifacts"
# Of a hash's 64 digits: few enough that the contents' are told apart as ever.
_OWNER_LENGTH = 12
# Of file systems on Linux.
_LONGEST_PART = 255


class ServingArtifact(Construct):
    """
    Files that SageMaker unpacks to ``/opt/ml/model``, as a tarball on S3.

    The same files of a stack give the same tarball name on every machine and every
    day: the name is a hash of paths and contents, not of compressed bytes. It begins
    with one of the stack's place in its stage, so that a role may be let read this
    stack's tarballs alone.

    Args:
        files:
            Contents by path inside the tarball.
            Configuration and code only: weights belong under an S3 prefix.

    Raises:
        ValueError: If there are no files, or a path leaves the tarball.
    """

    @checked
    def __init__(
        self, scope: Construct, id: str, *, files: Mapping[str, bytes]
    ) -> None:
        check_files(files)
        super().__init__(scope, id)
        belongs(self, scope)
        self.files = dict(sorted(files.items()))
        self._owner = _owner(self)
        contents = content_hash(self.files)
        self.asset_hash = self._owner + contents[len(self._owner) :]
        """The hash of the contents behind one of the stack's place; in a stack it
        changes when, and only when, they do."""
        self.bucket_name, self.object_key = self._register()
        """The bucket that ``cdk bootstrap`` made for assets, and the key in it."""
        self.s3_uri = f"s3://{self.bucket_name}/{self.object_key}"
        """What ``ModelDataUrl`` takes."""

    def _register(self) -> tuple[str, str]:
        folders = folders_of(self)
        target = folders.assets / f"asset.{self.asset_hash}.tar.gz"
        try:
            location = stack_of(self).synthesizer.add_file_asset(
                source_hash=self.asset_hash,
                file_name=os.path.relpath(target, folders.templates),
                packaging=FileAssetPackaging.FILE,
                display_name=f"{self.to_string()} model tarball",
            )
        except RuntimeError as fault:
            # A synthesizer of the app's own comes back through jsii as it was before
            # the stack bound its copy (aws-cdk-lib 2.275.0, reusableBind).
            if _UNBOUND not in str(fault):
                raise
            return self._stage()
        stage = stage_of(self)
        if stage not in _writers:
            _writers[stage] = _Writer()
            Aspects.of(Construct(stage, _WRITERS_ID)).add(_writers[stage])
        _writers[stage].tarballs[target] = self.files
        return location.bucket_name, location.object_key

    def _stage(self) -> tuple[str, str]:
        """
        Let the CDK copy the tarball now, and find the bound synthesizer by itself.
        """
        from aws_cdk import aws_s3_assets as s3_assets  # noqa: PLC0415 - loads S3

        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.tar.gz"
            path.write_bytes(tarball(self.files))
            asset = s3_assets.Asset(
                self,
                "Asset",
                path=str(path),
                asset_hash=self.asset_hash,
                asset_hash_type=AssetHashType.CUSTOM,
                display_name=f"{self.to_string()} model tarball",
            )
        return asset.s3_bucket_name, asset.s3_object_key

    def read_statements(self) -> list[Statement]:
        """
        Return the permissions that a role needs to read this tarball, and those of
        earlier deployments of the stack.
        """
        # Of a synthesizer that makes up its own keys, nothing is known.
        folder, is_ours, _ = self.object_key.partition(self.asset_hash)
        # SageMaker lists the key before it reads it.
        return read_statements(
            "Tarball",
            self.bucket_name,
            f"{folder}{self._owner}*.gz" if is_ours else "*.gz",
            why=(
                "while an update is rolled out, and when it is rolled back, instances "
                "still start with the tarball before"
            ),
            listing="Find",
        )


def _owner(scope: Construct) -> str:
    """
    Return what the keys of a stack's tarballs begin with, nested stacks' too.

    Stages write the same: what is tried in one is what the next one deploys.
    """
    stack = stack_of(scope)
    # Others have no parent, and asking for it is a call into Node.
    while isinstance(stack, NestedStack) and (parent := stack.nested_stack_parent):
        stack = parent
    # A construct's text is its path: one call into Node where its node takes two.
    place = stack.to_string().removeprefix(folders_of(scope).stage)
    digest = hashlib.sha256(place.strip("/").encode())
    return digest.hexdigest()[:_OWNER_LENGTH]


def content_hash(files: Mapping[str, bytes]) -> str:
    """
    Hash paths and contents, each with its length so that no two lists look alike.
    """
    digest = hashlib.sha256()
    for name, content in sorted(files.items()):
        for part in (name.encode(), content):
            digest.update(len(part).to_bytes(8, "big"))
            digest.update(part)
    return digest.hexdigest()


def tarball(files: Mapping[str, bytes]) -> bytes:
    """
    Pack files with sorted members, fixed times, owners and modes.
    """
    buffer = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=buffer, mode="wb", filename="", mtime=0) as zipped,
        tarfile.open(fileobj=zipped, mode="w", encoding="utf-8") as tar,
    ):
        for name, content in sorted(files.items()):
            member = tarfile.TarInfo(name)
            member.size = len(content)
            member.mode = 0o644
            tar.format = _format_of(member)
            tar.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def _format_of(member: tarfile.TarInfo) -> Literal[0, 2]:
    """
    Return the oldest form of tar that holds a member.

    The form of 1988 wherever it does: every tar reads it. A path that it cannot split
    goes into an extended header of 2001 (POSIX pax), for that member alone.
    """
    try:
        member.tobuf(tarfile.USTAR_FORMAT, "utf-8")
    except ValueError:
        return 2  # tarfile.PAX_FORMAT, whose type is no literal
    return 0  # tarfile.USTAR_FORMAT


@jsii.implements(IAspect)
class _Writer:
    """
    Write tarballs when the app is synthesised.

    Not when it is defined: a fault elsewhere in the app then leaves nothing behind.
    """

    def __init__(self) -> None:
        self.tarballs: dict[Path, Mapping[str, bytes]] = {}

    def visit(self, node: IConstruct) -> None:  # noqa: ARG002 - the aspect's interface
        """
        Write what is not there beside the templates.
        """
        for target, files in self.tarballs.items():
            if not target.exists():
                partial = target.with_suffix(".partial")
                partial.write_bytes(tarball(files))
                partial.replace(target)


# The tarballs of a stage share a writer, on a node of its own: an aspect on each
# artifact costs calls into Node (ADR 2), and on one of them it could leave the tree.
_writers: WeakKeyDictionary[Stage, _Writer] = WeakKeyDictionary()


def check_files(files: Mapping[str, bytes]) -> None:
    """
    Check that files make a tarball.
    """
    if not files:
        raise ValueError("files must name at least one file")
    garbled = [n for n in files if n != n.encode(errors="replace").decode()]
    if garbled:
        raise ValueError(f"paths must be text in UTF-8, got {garbled[0]!r}")
    outside = [n for n in files if n.startswith("/") or ".." in Path(n).parts]
    if outside:
        raise ValueError(
            f"paths must stay inside the tarball, got {', '.join(outside)}"
        )
    # A folder must be able to hold them when the tarball is unpacked.
    paths = [PurePosixPath(name) for name in files]
    odd = [path for path in paths if not path.parts or not _may_be_made(path)]
    if odd:
        raise ValueError(
            f"paths must have parts of 1 to {_LONGEST_PART} bytes without NUL, got "
            f"{str(odd[0])[:_LONGEST_PART]!r}"
        )
    folders = {folder for path in paths for folder in path.parents}
    both = [str(path) for path in paths if path in folders]
    if both:
        raise ValueError(
            f"paths must be files or folders, and {both[0]!r} would be both"
        )


def _may_be_made(path: PurePosixPath) -> bool:
    parts = (part.encode() for part in path.parts)
    return all(len(part) <= _LONGEST_PART and b"\0" not in part for part in parts)
