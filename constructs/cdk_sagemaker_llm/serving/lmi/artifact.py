"""
What was read of a serving artifact, a folder or a tarball, and what kept it from
being read.

What belongs here holds for both: which files travel, how much they may hold, and the
rules that they break.
"""

from __future__ import annotations

import math
import posixpath
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from cdk_sagemaker_llm.findings import Finding, Rule

PROPERTIES = "serving.properties"
# Configuration and code are kilobytes. What is larger is weights, which belong on
# S3: unpacking a tarball of them takes most of a start-up. Both bounds are this
# library's own; SageMaker itself would take gigabytes.
LARGEST_ARTIFACT = 64 * 1024 * 1024
MOST_FILES = 10_000
# A line each for some hundred options are 10 KiB.
LARGEST_PROPERTIES = 256 * 1024

TOO_LARGE = Rule("LLM118", "the serving folder holds more than configuration and code")
CANNOT_TRAVEL = Rule(
    "LLM185",
    "a file of a serving artifact cannot be read, or must not travel: a link out of "
    "it, a device, a path that leads elsewhere",
)

_MIB = 2**20
_KIB = 2**10


class ArtifactError(ValueError):
    """
    A file is no tarball that can be read to its end.
    """


@dataclass(frozen=True, slots=True)
class Artifact:
    """
    The files of a serving artifact that travel.

    Args:
        files: Contents by path; those that are too large for an artifact are not read.

        sizes: Bytes by path, of those that were not read too.

        findings: What kept files from being read.
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


def unpacks_to_more(path: str) -> Finding:
    """
    Say that a tarball unpacks to more than its members are said to hold.
    """
    return TOO_LARGE.finding(
        f"{path!r} unpacks to more than {LARGEST_ARTIFACT // _MIB} MiB; an artifact "
        "holds configuration and code only",
        "pack configuration and code alone",
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
