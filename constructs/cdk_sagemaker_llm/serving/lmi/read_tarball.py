"""
Reading a tarball as a serving artifact, without unpacking it.

Whoever made it is not trusted: what it says of itself is bounded before it is
believed, and no member is written anywhere.
"""

from __future__ import annotations

import gzip
import posixpath
import tarfile
import zlib
from pathlib import Path
from typing import BinaryIO, cast

from cdk_sagemaker_llm.findings import Finding
from cdk_sagemaker_llm.serving.lmi.artifact import (
    LARGEST_ARTIFACT,
    MOST_FILES,
    Artifact,
    ArtifactError,
    cannot_travel,
    is_left_behind,
    is_of_a_size,
    leads_out,
    size_findings,
    too_many,
    unpacks_to_more,
)

_GZIP = b"\x1f\x8b"
# Names and padding come on top of the contents: a member has at most a few blocks of
# 512 bytes, unless its header is made to fill the memory.
_MOST_UNPACKED = LARGEST_ARTIFACT + MOST_FILES * 4 * 512
_BROKEN = (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile)


def is_tarball(path: Path) -> bool:
    """
    Whether a file is a tarball by its name, or gzipped by its first bytes.
    """
    if path.name.endswith((".tar.gz", ".tgz", ".tar")):
        return True
    with path.open("rb") as file:
        return file.read(2) == _GZIP


def tarball_files(path: Path) -> Artifact:
    """
    Read what is in a tarball, as far as its size allows.

    Raises:
        ArtifactError: If it is no gzipped tarball, or ends too early.
        OSError: If it cannot be read.
    """
    reading = _Reading(str(path))
    try:
        with (
            gzip.open(path) as unzipped,
            tarfile.open(  # type: ignore[call-overload]  # a stream is only read
                fileobj=_Bounded(cast("BinaryIO", unzipped)), mode="r|"
            ) as tar,
        ):
            reading.read(tar)
    except _TooMuchError:
        reading.findings.append(unpacks_to_more(str(path)))
    except _BROKEN as fault:
        raise ArtifactError(
            f"{path} is no gzipped tarball that can be read to its end: {fault}"
        ) from fault
    return reading.artifact()


class _TooMuchError(Exception):
    """
    A tarball holds more than an artifact's bytes.
    """


class _Bounded:
    """
    A stream that ends in an error where no artifact goes on.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._left = _MOST_UNPACKED

    def read(self, size: int) -> bytes:
        """
        Return the next bytes.
        """
        part = self._stream.read(size)
        self._left -= len(part)
        if self._left < 0:
            raise _TooMuchError
        return part


class _Reading:
    """
    What has been read of a tarball so far.
    """

    def __init__(self, path: str) -> None:
        self.findings: list[Finding] = []
        self._path = path
        self._files: dict[str, bytes] = {}
        self._sizes: dict[str, int] = {}
        self._links: dict[str, str] = {}

    def read(self, tar: tarfile.TarFile) -> None:
        """
        Read the members in order, until they are too many or too large.
        """
        total = 0
        for number, member in enumerate(tar, 1):
            total += member.size
            if number > MOST_FILES:
                self.findings.append(too_many(self._path))
                return
            why = self._take(tar, member, within=total <= LARGEST_ARTIFACT)
            if why is not None:
                self.findings.append(cannot_travel(member.name, why))
            # Before the next header: what is too large is never unpacked.
            if total > LARGEST_ARTIFACT:
                return

    def artifact(self) -> Artifact:
        """
        Return what travels, and in place of each link what it leads to.
        """
        for name in self._links:
            self._follow(name)
            if len(self._sizes) > MOST_FILES:
                self.findings.append(too_many(self._path))
                break
        self.findings += size_findings(self._path, self._sizes)
        travelling = sorted(n for n in self._sizes if not is_left_behind(n))
        return Artifact(
            {
                name: self._files[name]
                for name in travelling
                if name in self._files and is_of_a_size(name, self._sizes[name])
            },
            {name: self._sizes[name] for name in travelling},
            tuple(self.findings),
        )

    def _take(
        self, tar: tarfile.TarFile, member: tarfile.TarInfo, *, within: bool
    ) -> str | None:
        """
        Read a member, if it is ``within`` the bound; return why it is refused.
        """
        name = posixpath.normpath(member.name)
        if leads_out(member.name):
            return "is a path that leads out of the tarball"
        if member.isfile():
            self._sizes[name] = member.size
            file = tar.extractfile(member) if within else None
            if file is not None:
                self._files[name] = file.read()
            return None
        if member.issym() or member.islnk():
            start = posixpath.dirname(name) if member.issym() else ""
            target = posixpath.join(start, member.linkname)
            if leads_out(target):
                return "is a link that leads out of the tarball"
            self._links[name] = posixpath.normpath(target)
            return None
        return None if member.isdir() else "is a device or a named pipe, no file"

    def _follow(self, name: str) -> None:
        """
        Put the files that a link leads to in its place.
        """
        target, passed = name, set()
        while target in self._links and target not in passed:
            passed.add(target)
            target = self._links[target]
        if target in passed:
            self._refuse_link(name, "is a link that leads round in a circle")
            return
        inner = [n for n in self._sizes if n == target or n.startswith(f"{target}/")]
        if not inner:
            self._refuse_link(name, "is a link to nothing")
        for found in inner:
            place = name + found.removeprefix(target)
            self._sizes[place] = self._sizes[found]
            if found in self._files:
                self._files[place] = self._files[found]

    def _refuse_link(self, name: str, why: str) -> None:
        if not is_left_behind(name):
            self.findings.append(cannot_travel(name, why))
