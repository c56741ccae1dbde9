"""
Reading a folder on this machine as a serving artifact.

Nothing is read before its size is known, and nothing that lies outside the folder.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from cdk_sagemaker_llm.findings import Finding
from cdk_sagemaker_llm.serving.lmi.artifact import (
    MOST_FILES,
    PROPERTIES,
    Artifact,
    cannot_travel,
    is_left_behind,
    readable,
    size_findings,
    too_many,
)

_NO_FILES = {
    stat.S_IFIFO: "is a named pipe, no file",
    stat.S_IFSOCK: "is a socket, no file",
    stat.S_IFCHR: "is a device, no file",
    stat.S_IFBLK: "is a device, no file",
}
_CIRCLE = "is a link that leads round in a circle"
_BROKEN = {errno.ELOOP: _CIRCLE, errno.ENOENT: "is a link to nothing"}


def no_file(path: Path) -> str | None:
    """
    Say what stands at a path in place of a file; ``None`` for a file, or for nothing.

    Raises:
        OSError: If the system does not tell.
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

    Raises:
        OSError: If it is not there.
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
            files[name] = _content(paths[name], sizes[name])
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
                why = self._fault_of_link(real, around)
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

    def _fault_of_link(self, real: str, around: tuple[str, ...]) -> str | None:
        if os.path.commonpath([real, self._real_top]) != self._real_top:
            return "is a link that leads out of the folder"
        return _CIRCLE if real in around else None

    def _refuse(self, name: str, why: str) -> None:
        self.findings.append(cannot_travel(name, why))


def _content(path: Path, size: int) -> bytes:
    """
    Return a file's content, of the size that it was found to have.
    """
    with path.open("rb") as file:
        content = file.read(size + 1)
    if len(content) > size:
        raise OSError(errno.EFBIG, "it has more content than its size says")
    return content
