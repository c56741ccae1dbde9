"""
Fetching the modules of a published wheel without downloading the whole of it.

Where the wheel is, pip says, which asks the index that it is configured with.
"""

from __future__ import annotations

import io
import re
import subprocess
import sys
import urllib.request
import zipfile
from http.client import HTTPResponse
from pathlib import Path
from typing import Any

_PIP = (sys.executable, "-m", "pip")
# What pip says of each file that it could install, where it is asked to be verbose: a
# dry run of an installation would download the whole of it.
_LINK = re.compile(r"Found link (\S+?\.whl)(?:#\S*)? .*, version: (\S+)$", re.MULTILINE)
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
    return list(dict.fromkeys(release for _, release in _links(package)))


def unpack(package: str, release: str, folder: Path) -> None:
    """
    Put the modules of a release into a folder; nothing else of its wheel is fetched.
    """
    address = next((link for link, of in _links(package) if of == release), None)
    if address is None:
        raise ValueError(f"the index has no wheel of {package} {release}")
    archive = zipfile.ZipFile(io.BufferedReader(RemoteFile(address), _BUFFER))
    modules = [one for one in archive.infolist() if one.filename.endswith(".py")]
    for one in sorted(modules, key=lambda one: one.header_offset):
        archive.extract(one, folder)


def _ask(address: str, method: str, **headers: str) -> HTTPResponse:
    request = urllib.request.Request(address, headers=headers, method=method)  # noqa: S310 - pip says where
    answer: HTTPResponse = urllib.request.urlopen(request, timeout=_SECONDS)  # noqa: S310 - as above
    return answer


def _links(package: str) -> list[tuple[str, str]]:
    """
    Return the addresses of the wheels that pip could install, with their releases.
    """
    asked = [*_PIP, "index", "versions", package, "-vv", "--only-binary", ":all:"]
    done = subprocess.run(asked, capture_output=True, text=True, check=True)
    return _LINK.findall(done.stdout)
