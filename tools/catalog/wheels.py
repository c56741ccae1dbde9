"""
Fetching the modules of a published wheel without downloading the whole of it, and
single files of a source distribution, which has to be read from its beginning.

Where the wheel is, pip says, which asks the index that it is configured with.
"""

from __future__ import annotations

import io
import re
import subprocess
import sys
import tarfile
import urllib.request
import zipfile
from http.client import HTTPResponse
from pathlib import Path
from typing import Any

_PIP = (sys.executable, "-m", "pip")
# What pip says of each file that it could install, where it is asked to be verbose: a
# dry run of an installation would download the whole of it.
_LINK = r"Found link (\S+?{ending})(?:#\S*)? .*, version: (\S+)$"
_WHEEL, _SOURCE = r"\.whl", r"\.tar\.gz"
_WANTED = (".py", ".dist-info/METADATA")
_BUFFER = 1 << 20
_SECONDS = 60


class RemoteFile(io.RawIOBase):
    """
    A file behind an address, of which only what is read is fetched.

    Args:
        address: Where it is; its server must answer ranges.
    """

    def __init__(self, address: str) -> None:
        self._address = address
        self._position = 0
        with _ask(address, "HEAD") as answer:
            self._size = int(answer.headers["Content-Length"])

    def readable(self) -> bool:
        """
        Whether it can be read.
        """
        return True

    def seekable(self) -> bool:
        """
        Whether it can be read from anywhere.
        """
        return True

    def tell(self) -> int:
        """
        Return where the next read begins.
        """
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """
        Go somewhere else.
        """
        starts = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}
        self._position = starts[whence] + offset
        return self._position

    def readinto(self, buffer: Any) -> int:  # noqa: ANN401 - as the base has it
        """
        Fetch as much as there is room for.
        """
        count = min(len(buffer), self._size - self._position)
        if count <= 0:
            return 0
        wanted = f"bytes={self._position}-{self._position + count - 1}"
        with _ask(self._address, "GET", Range=wanted) as answer:
            data = answer.read()
        if len(data) != count:
            raise OSError(f"asked for {count} bytes of a wheel, got {len(data)}")
        buffer[:count] = data
        self._position += count
        return count


def published(package: str) -> list[str]:
    """
    Return the releases of a package that the index has, in its order; no previews.
    """
    return list(dict.fromkeys(release for _, release in _links(package, _WHEEL)))


def unpack(package: str, release: str, folder: Path) -> None:
    """
    Put the modules of a release into a folder, and what it says of itself; nothing else
    of its wheel is fetched.
    """
    address = _address(package, release, _WHEEL)
    archive = zipfile.ZipFile(io.BufferedReader(RemoteFile(address), _BUFFER))
    wanted = [one for one in archive.infolist() if one.filename.endswith(_WANTED)]
    for one in sorted(wanted, key=lambda one: one.header_offset):
        archive.extract(one, folder)


def unpack_source(
    package: str, release: str, folder: Path, within: tuple[str, ...]
) -> None:
    """
    Put files of a release's source distribution into a folder: those whose paths begin
    as named.
    """
    address = _address(package, release, _SOURCE)
    with (
        _ask(address, "GET") as answer,
        tarfile.open(fileobj=answer, mode="r|gz") as archive,
    ):
        for one in archive:
            # All of it is in a folder that is called as the release.
            one.name = one.name.partition("/")[2]
            if one.isfile() and one.name.startswith(within):
                archive.extract(one, folder, filter="data")


def _address(package: str, release: str, ending: str) -> str:
    links = _links(package, ending)
    address = next((link for link, of in links if of == release), None)
    if address is None:
        kind = "wheel" if ending == _WHEEL else "source distribution"
        raise ValueError(f"the index has no {kind} of {package} {release}")
    return address


def _ask(address: str, method: str, **headers: str) -> HTTPResponse:
    request = urllib.request.Request(address, headers=headers, method=method)  # noqa: S310 - pip says where
    answer: HTTPResponse = urllib.request.urlopen(request, timeout=_SECONDS)  # noqa: S310 - as above
    return answer


def _links(package: str, ending: str) -> list[tuple[str, str]]:
    """
    Return the addresses of the files that pip could install, with their releases.
    """
    kind = "--only-binary" if ending == _WHEEL else "--no-binary"
    asked = [*_PIP, "index", "versions", package, "-vv", kind, ":all:"]
    done = subprocess.run(asked, capture_output=True, text=True, check=True)
    return re.findall(_LINK.format(ending=ending), done.stdout, re.MULTILINE)
