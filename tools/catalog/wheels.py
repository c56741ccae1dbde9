"""
Reading a few files out of a published wheel without downloading the whole of it.

Where the wheel is, pip says, which asks the index that it is configured with.
"""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
import urllib.request
import zipfile
from typing import Any

_PIP = (sys.executable, "-m", "pip")
_RESOLVE = (
    *("install", "--quiet", "--dry-run", "--no-deps", "--ignore-installed"),
    *("--use-feature=fast-deps", "--only-binary", ":all:", "--report", "-"),
)
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
        request = urllib.request.Request(address, method="HEAD")
        with urllib.request.urlopen(request, timeout=_SECONDS) as answer:
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

        Raises:
            OSError: If the server answers with anything but that range.
        """
        count = min(len(buffer), self._size - self._position)
        if count <= 0:
            return 0
        wanted = f"bytes={self._position}-{self._position + count - 1}"
        request = urllib.request.Request(self._address, headers={"Range": wanted})
        with urllib.request.urlopen(request, timeout=_SECONDS) as answer:
            data = answer.read()
        if len(data) != count:
            raise OSError(f"asked for {count} bytes of a wheel, got {len(data)}")
        buffer[:count] = data
        self._position += count
        return count


def published(package: str) -> list[str]:
    """
    Return the releases of a package that the index has, oldest first; no previews.
    """
    told = _pip("index", "versions", package)
    listed = re.search(r"Available versions: (.+)", told)
    if listed is None:
        raise ValueError(f"pip names no versions of {package}")
    return list(reversed(listed[1].split(", ")))


def sources(package: str, release: str, wanted: str) -> dict[str, str]:
    """
    Return texts from a release's wheel by their paths in it.

    Args:
        package: The package's name.

        release: Its version.

        wanted: A pattern of the paths.

    Raises:
        ValueError: If the wheel has none of them.
    """
    report = json.loads(_pip(*_RESOLVE, f"{package}=={release}"))
    address = report["install"][0]["download_info"]["url"]
    remote = io.BufferedReader(RemoteFile(address), _BUFFER)
    with zipfile.ZipFile(remote) as archive:
        names = [name for name in archive.namelist() if re.fullmatch(wanted, name)]
        if not names:
            raise ValueError(f"the wheel of {package} {release} has no {wanted}")
        return {name: archive.read(name).decode() for name in names}


def _pip(*arguments: str) -> str:
    done = subprocess.run(
        [*_PIP, *arguments], capture_output=True, text=True, check=True
    )
    return done.stdout
