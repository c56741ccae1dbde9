"""
A serving artifact, a folder or a tarball: which files travel, how much they may hold,
and what keeps them from being read.
"""

from __future__ import annotations

import errno
import gzip
import math
import os
import posixpath
import stat
import tarfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from cdk_sagemaker_llm.findings import Finding, Rule

PROPERTIES = "serving.properties"
# Configuration and code are kilobytes. What is larger is weights, which belong on
# S3: unpacking a tarball of them takes most of a start-up. Both bounds are this
# library's own; SageMaker itself would take gigabytes.
LARGEST_ARTIFACT = 64 * 1024 * 1024
MOST_FILES = 10_000
# A line each for some hundred options are 10 KiB.
LARGEST_PROPERTIES = 256 * 1024
_MIB = 2**20
_KIB = 2**10
_NO_FILES = {
    stat.S_IFIFO: "is a named pipe, no file",
    stat.S_IFSOCK: "is a socket, no file",
    stat.S_IFCHR: "is a device, no file",
    stat.S_IFBLK: "is a device, no file",
}
_CIRCLE = "is a link that leads round in a circle"
_BROKEN = {errno.ELOOP: _CIRCLE, errno.ENOENT: "is a link to nothing"}
_GROWN = "cannot be read: it has more content than its size says"
_GZIP = b"\x1f\x8b"
# Names and padding come on top of the contents: a member has at most a few blocks of
# 512 bytes, unless its header is made to fill the memory.
_MOST_UNPACKED = LARGEST_ARTIFACT + MOST_FILES * 4 * 512
_UNREADABLE = (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile)

TOO_LARGE = Rule("LLM118", "the serving folder holds more than configuration and code")
CANNOT_TRAVEL = Rule(
    "LLM185",
    "a file of a serving artifact cannot be read, or must not travel: a link out of "
    "it, a device, a path that leads elsewhere",
)


class ArtifactError(ValueError):
    """
    A file is no tarball that can be read to its end.
    """


@dataclass(frozen=True, slots=True)
class Artifact:
    """
    The files of a serving artifact that travel: contents by path, but of those that are
    too large for an artifact; the sizes of all in bytes; and what kept files from being
    read.
    """

    files: Mapping[str, bytes]
    sizes: Mapping[str, int]
    findings: tuple[Finding, ...] = ()


def is_left_behind(name: str) -> bool:
    """
    Whether a path stays at home: hidden files and folders (``.git``, ``.DS_Store``),
    bytecode, and what editors and file managers leave.
    """
    *folders, file = name.split("/")
    return (
        any(part.startswith(".") or part == "__pycache__" for part in (*folders, file))
        or file.endswith((".pyc", ".pyo", "~"))
        or file in ("Thumbs.db", "desktop.ini")
    )


def size_findings(path: str, sizes: Mapping[str, int]) -> list[Finding]:
    """
    Check that an artifact holds configuration and code, by its files' sizes.
    """
    total = sum(sizes.values())
    if total <= LARGEST_ARTIFACT:
        return [
            TOO_LARGE.finding(
                f"{name} in {path!r} holds {math.ceil(size / _KIB)} KiB; a "
                f"{PROPERTIES} holds at most {LARGEST_PROPERTIES // _KIB} KiB",
                "write options only; put other content into a file of its own",
            )
            for name, size in sizes.items()
            if not is_of_a_size(name, size)
        ]
    largest = max(sizes, key=lambda name: sizes[name])
    return [
        TOO_LARGE.finding(
            f"{path!r} holds {total // _MIB} MiB; an artifact holds configuration and "
            f"code only, and the largest file, {largest}, has "
            f"{sizes[largest] // _MIB} MiB",
            "put weights under an S3 prefix and name it as option.model_id",
        )
    ]


def too_many(path: str) -> Finding:
    """
    Say that an artifact holds more files than any of configuration and code.
    """
    return TOO_LARGE.finding(
        f"{path!r} holds more than {MOST_FILES} files; an artifact holds "
        "configuration and code only",
        "name the folder of serving.properties itself",
    )


def cannot_travel(name: str, why: str) -> Finding:
    """
    Say why one file of an artifact is refused.
    """
    return CANNOT_TRAVEL.finding(
        f"{name!r} {why}", "remove it, or put a file with the content there"
    )


def readable(sizes: Mapping[str, int]) -> Iterable[str]:
    """
    Return the files that are read, the smallest first, until the bound is reached.
    """
    read = 0
    for name in sorted(sizes, key=lambda name: (sizes[name], name)):
        read += sizes[name]
        if read > LARGEST_ARTIFACT:
            return
        if is_of_a_size(name, sizes[name]):
            yield name


def is_of_a_size(name: str, size: int) -> bool:
    """
    Whether a file is no larger than it is to be read: options are checked one by one.
    """
    is_options = name.rpartition("/")[2] == PROPERTIES
    return size <= LARGEST_PROPERTIES or not is_options


def leads_out(path: str) -> bool:
    """
    Whether a path, written with slashes, is not below where it starts.
    """
    return posixpath.isabs(path) or posixpath.normpath(path).split("/")[0] == ".."


def no_file(path: Path) -> str | None:
    """
    Say what stands at a path in place of a file; ``None`` for a file, or for nothing.
    """
    if not os.path.lexists(path):
        return None
    try:
        mode = path.stat().st_mode
    except OSError as fault:
        if fault.errno not in _BROKEN:
            raise
        return _BROKEN[fault.errno]
    if stat.S_ISDIR(mode):
        return "is a folder, no file"
    return _NO_FILES.get(stat.S_IFMT(mode))


def folder_files(path: Path) -> Artifact:
    """
    Read what travels of a folder.

    Links that stay inside are followed: the tarball holds what they lead to.
    """
    walk = _Walk(path)
    sizes = dict(sorted(walk.files()))
    return _read(str(path), {name: path / name for name in sizes}, sizes, walk.findings)


def single_file(path: Path) -> Artifact:
    """
    Read a file as the only one of an artifact: its serving.properties.
    """
    return _read(str(path), {PROPERTIES: path}, {PROPERTIES: path.stat().st_size}, [])


def _read(
    subject: str,
    paths: Mapping[str, Path],
    sizes: Mapping[str, int],
    found: list[Finding],
) -> Artifact:
    faults = [*found, *size_findings(subject, sizes)]
    files = {}
    for name in readable(sizes):
        try:
            with paths[name].open("rb") as file:
                content = file.read(sizes[name] + 1)
            if len(content) > sizes[name]:
                faults.append(cannot_travel(name, _GROWN))
            else:
                files[name] = content
        except OSError as fault:
            faults.append(cannot_travel(name, f"cannot be read: {fault.strerror}"))
    return Artifact(dict(sorted(files.items())), sizes, tuple(faults))


class _Walk:
    """
    Every file below a folder that travels, with its size.
    """

    def __init__(self, top: Path) -> None:
        self.findings: list[Finding] = []
        self._top = top
        self._real_top = os.path.realpath(top)

    def files(self) -> Iterator[tuple[str, int]]:
        """
        Return the files' paths and sizes; what is refused becomes a finding.
        """
        # Each folder with where it and those around it really are: a link to one of
        # them would lead round for ever.
        waiting: list[tuple[str, tuple[str, ...]]] = [("", (self._real_top,))]
        seen = 0
        while waiting:
            folder, around = waiting.pop()
            for name in self._entries(folder):
                seen += 1
                if seen > MOST_FILES:
                    self.findings.append(too_many(str(self._top)))
                    return
                real, status = self._looked_at(name, around)
                if status is not None and stat.S_ISDIR(status.st_mode):
                    waiting.append((name, (*around, real)))
                elif status is not None:
                    yield name, status.st_size

    def _entries(self, folder: str) -> list[str]:
        try:
            names = sorted(one.name for one in (self._top / folder).iterdir())
        except OSError as fault:
            self._refuse(folder or str(self._top), f"cannot be read: {fault.strerror}")
            return []
        paths = [f"{folder}/{name}" if folder else name for name in names]
        return [path for path in paths if not is_left_behind(path)]

    def _looked_at(
        self, name: str, around: tuple[str, ...]
    ) -> tuple[str, os.stat_result | None]:
        """
        Return where a path really is, and what is there; ``None`` if it is refused.
        """
        real, why = f"{around[-1]}/{name.rpartition('/')[2]}", None
        try:
            name.encode()
            if Path(real).is_symlink():
                real = os.path.realpath(real)
                why = _CIRCLE if real in around else None
                if os.path.commonpath([real, self._real_top]) != self._real_top:
                    why = "is a link that leads out of the folder"
            status = Path(real).stat() if why is None else None
        except UnicodeEncodeError:
            why, status = "has a name that is not UTF-8", None
        except OSError as fault:
            reason = f"cannot be read: {fault.strerror}"
            why, status = _BROKEN.get(fault.errno or 0, reason), None
        if status is not None:
            why = _NO_FILES.get(stat.S_IFMT(status.st_mode))
        if why is not None:
            self._refuse(name, why)
            return real, None
        return real, status

    def _refuse(self, name: str, why: str) -> None:
        self.findings.append(cannot_travel(name, why))


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
        reading.findings.append(
            TOO_LARGE.finding(
                f"{str(path)!r} unpacks to more than {LARGEST_ARTIFACT // _MIB} "
                "MiB; an artifact holds configuration and code only",
                "pack configuration and code alone",
            )
        )
    except _UNREADABLE as fault:
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
        Return what travels, and in place of each link the files that it leads to.
        """
        for name in self._links:
            target, passed = name, set()
            while target in self._links and target not in passed:
                passed.add(target)
                target = self._links[target]
            is_circle, below = target in passed, f"{target}/"
            inner = [n for n in self._sizes if n == target or n.startswith(below)]
            if (is_circle or not inner) and not is_left_behind(name):
                why = _CIRCLE if is_circle else "is a link to nothing"
                self.findings.append(cannot_travel(name, why))
            for found in () if is_circle else inner:
                place = name + found.removeprefix(target)
                self._sizes[place] = self._sizes[found]
                if found in self._files:
                    self._files[place] = self._files[found]
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
