"""
The files of a job's container, which are never on this machine's disk.
"""

from __future__ import annotations

import io
import tarfile
from pathlib import PurePosixPath

from cdk_sagemaker_llm.local.sagemaker.locations import Location
from cdk_sagemaker_llm.local.sagemaker.surroundings import Surroundings


class MissingInputError(Exception):
    """
    An input without any object.
    """


class MissingBucketError(Exception):
    """
    An output to a bucket that is not there.
    """


class Files:
    """
    What a container finds in its folders, and what it writes there.

    Args:
        around: The other services, of which S3 has the inputs.
    """

    def __init__(self, around: Surroundings) -> None:
        self._around = around
        self._inputs: dict[str, Location] = {}
        self._written: dict[str, bytes] = {}

    def mount(self, url: str, folder: str) -> None:
        """
        Lay what is under an address into a folder.

        Raises:
            MissingInputError: If there is nothing.
        """
        prefix = Location.of(url)
        if prefix is None:
            raise MissingInputError(url)
        # A key that ends so is a folder's, even where an object marks it.
        is_object = prefix.key and not prefix.key.endswith("/")
        if is_object and self._around.object_version(prefix) is not None:
            self._inputs[_in(folder, PurePosixPath(prefix.key).name)] = prefix
            return
        names = [n for n in self._around.objects_under(prefix) if not n.endswith("/")]
        if not names:
            raise MissingInputError(url)
        for name in names:
            self._inputs[_in(folder, name.lstrip("/"))] = prefix.child(name)

    def read(self, path: str) -> bytes | None:
        """
        Return a file's contents; ``None`` if it is not there.
        """
        place = _in(path)
        if place in self._written:
            return self._written[place]
        found = self._inputs.get(place)
        return None if found is None else self._around.read_object(found)

    def write(self, path: str, contents: bytes) -> None:
        """
        Write a file.
        """
        self._written[_in(path)] = contents

    def names(self, folder: str) -> list[str]:
        """
        Return what is in a folder and its own, by the paths inside it.
        """
        start = f"{_in(folder).rstrip('/')}/"
        every = {*self._inputs, *self._written}
        return sorted(p.removeprefix(start) for p in every if p.startswith(start))

    def upload(self, folder: str, url: str) -> None:
        """
        Copy a folder to an address in S3.

        Raises:
            MissingBucketError: If its bucket is not there.
        """
        for name in self.names(folder):
            contents = self.read(_in(folder, name)) or b""
            self.upload_file(contents, f"{url.rstrip('/')}/{name}")

    def upload_file(self, contents: bytes, url: str) -> None:
        """
        Write a file to an address in S3.

        Raises:
            MissingBucketError: If its bucket is not there.
        """
        target = Location.of(url)
        if target is None:
            raise MissingBucketError(url)
        self._around.write_object(target, contents)
        if self._around.object_version(target) is None:
            raise MissingBucketError(url)

    def packed(self, folder: str) -> bytes:
        """
        Return a folder as an archive.
        """
        written = io.BytesIO()
        with tarfile.open(fileobj=written, mode="w:gz") as archive:
            for name in self.names(folder):
                contents = self.read(_in(folder, name)) or b""
                member = tarfile.TarInfo(name)
                member.size = len(contents)
                archive.addfile(member, io.BytesIO(contents))
        return written.getvalue()


def _in(*parts: str) -> str:
    return str(PurePosixPath(*parts))
