"""
The container of a job: what it is started with, and how it ends.
"""

from __future__ import annotations

import argparse
import io
import re
from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr
from dataclasses import dataclass, field
from typing import NoReturn

from cdk_sagemaker_llm.local.sagemaker.jobs.files import Files

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
    A container that works once.

    Args:
        image: Its image.

        entrypoint: What is run in place of the image's own. If empty, that is run.

        arguments: What it is given.

        variables: Its environment.

        instance_type: What it runs on.

        files: Its files.
    """

    image: str
    entrypoint: Sequence[str]
    arguments: Sequence[str]
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
    Return the tag of an image of LMI with a backend; ``None`` of any other.

    Args:
        image: The image's address.

        backend: ``tensorrtllm`` or ``neuronx``.
    """
    found = _IMAGE.search(image)
    return found[1] if found and found[3] == backend else None


class Parser(argparse.ArgumentParser):
    """
    A parser that ends the container in place of this process.
    """

    def error(self, message: str) -> NoReturn:
        """
        End as argparse does.
        """
        told = [*self.format_usage().splitlines(), f"{self.prog}: error: {message}"]
        raise ExitError(2, *told)

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        """
        End, with the help that was asked for.
        """
        raise ExitError(status, *(message or self.format_help()).splitlines())

    def print_help(self, file: object = None) -> None:
        """
        Print nothing: the end of it does.
        """

    def read(self, arguments: Sequence[str]) -> argparse.Namespace:
        """
        Parse, and print nothing.
        """
        with redirect_stderr(io.StringIO()):
            return self.parse_args(list(arguments))


def properties_in(container: Container, folder: str) -> dict[str, str]:
    """
    Read serving.properties as the scripts do, which is not as Java does.
    """
    text = container.files.read(f"{folder}/serving.properties") or b""
    found = {}
    for line in text.decode(errors="replace").splitlines():
        if line.startswith("#") or not line.strip():
            continue
        key, separator, value = line.strip().partition("=")
        if not separator:
            raise trace("ValueError: not enough values to unpack (expected 2, got 1)")
        found[key.strip()] = value.strip()
    return found


def trace(last: str) -> ExitError:
    """
    Return the end of a program by an exception.
    """
    return ExitError(1, "Traceback (most recent call last):", last)
