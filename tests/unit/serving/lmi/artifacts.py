"""
Folders of every kind, and tarballs of what is in them.
"""

from __future__ import annotations

import io
import os
import socket
import tarfile
from collections.abc import Callable, Mapping
from pathlib import Path

GOOD = b"engine=MPI\noption.model_id=a/b\n"
MIB = 2**20
GIB = 2**30

Make = Callable[[Path], object]


def written(**files: bytes) -> Make:
    """
    Write files, whose dots are underscores here.
    """

    def make(folder: Path) -> None:
        for name, content in files.items():
            (folder / name.replace("_", ".")).write_bytes(content)

    return make


def sparse(name: str, size: int) -> Make:
    """
    Write a file that has a size and no content.
    """

    def make(folder: Path) -> None:
        with (folder / name).open("wb") as file:
            file.truncate(size)

    return make


def linked(name: str, target: str) -> Make:
    """
    Make a symbolic link.
    """

    def make(folder: Path) -> None:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).symlink_to(target)

    return make


def piped(name: str) -> Make:
    """
    Make a named pipe, which would be read for ever.
    """
    return lambda folder: os.mkfifo(folder / name)


def listening(name: str) -> Make:
    """
    Make a socket.
    """

    def make(folder: Path) -> None:
        before = Path.cwd()
        # The address of a socket is short: from within.
        os.chdir(folder)
        try:
            with socket.socket(socket.AF_UNIX) as server:
                server.bind(name)
        finally:
            os.chdir(before)

    return make


def made(folder: Path, *makes: Make) -> Path:
    """
    Make a folder of a good artifact, and what else is in it.
    """
    folder.mkdir()
    for make in (written(serving_properties=GOOD), *makes):
        make(folder)
    return folder


def packed(path: Path, members: Mapping[str, bytes | tarfile.TarInfo]) -> Path:
    """
    Write a gzipped tarball of contents by name, and of members as they are.
    """
    with tarfile.open(path, "w:gz") as tar:
        for name, content in members.items():
            if isinstance(content, tarfile.TarInfo):
                tar.addfile(content)
                continue
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return path
