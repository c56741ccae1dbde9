"""
The container of a job: its files, what it is started with, and how it ends.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from cdk_sagemaker_llm.local.aws.surroundings import Location, Surroundings

_IMAGE = re.compile(r"/djl-inference:((\d+\.\d+\.\d+)-(tensorrtllm|neuronx)[^/]*)$")


class ExitError(Exception):
    """
    A container that has ended.
    """

    def __init__(self, code: int, *lines: str) -> None:
        super().__init__(code)
        self.code = code
        self.lines = lines


@dataclass(frozen=True, kw_only=True)
class Container:
    """
    A container that works once: its command is an entrypoint in place of the image's
    own, if there is one, and its arguments.
    """

    image: str
    command: Sequence[str]
    variables: Mapping[str, str]
    instance_type: str
    files: Files
    log: list[str] = field(default_factory=list)

    @property
    def version(self) -> tuple[int, ...]:
        """
        LMI's version.
        """
        found = _IMAGE.search(self.image)
        return tuple(map(int, found[2].split("."))) if found else (0, 0, 0)


def lmi_tag(image: str, backend: str) -> str | None:
    """
    Return the tag of an image of LMI with a backend, ``tensorrtllm`` or ``neuronx``;
    ``None`` of any other.
    """
    found = _IMAGE.search(image)
    return found[1] if found and found[3] == backend else None


def trace(last: str) -> ExitError:
    """
    Return the end of a program by an exception.
    """
    return ExitError(1, "Traceback (most recent call last):", last)


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
    What a container finds in its folders, to which S3 brings the inputs, and what it
    writes there.
    """

    def __init__(self, around: Surroundings) -> None:
        self._around = around
        self._inputs: dict[str, Location] = {}
        self._written: dict[str, bytes] = {}

    def mount(self, url: str, folder: str) -> None:
        """
        Lay what is under an address into a folder; raise a ``MissingInputError`` if
        there is nothing.
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
        Copy a folder to an address in S3; raise a ``MissingBucketError`` if its bucket
        is not there.
        """
        for name in self.names(folder):
            place = f"{url.rstrip('/')}/{name}"
            target = Location.of(place)
            if target is None:
                raise MissingBucketError(place)
            self._around.write_object(target, self.read(_in(folder, name)) or b"")
            if self._around.object_version(target) is None:
                raise MissingBucketError(place)


def _in(*parts: str) -> str:
    return str(PurePosixPath(*parts))
