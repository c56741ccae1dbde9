"""
What of the command line would come to nothing, refused before anything is computed.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from cdk_sagemaker_llm.cli.simulating import parsing
from cdk_sagemaker_llm.cli.simulating.traffics import SHAPES

# Which traffic heeds what; a file of requests and users heed none of these.
_HEEDED: Mapping[str, tuple[str, ...]] = {
    "--rate": SHAPES,
    "--peak": ("ramp", "spike", "day"),
    "--begin": ("constant", "ramp", "spike"),
    "--lasting": ("constant", "ramp", "spike"),
    "--busiest": ("day",),
    "--time-zone": ("day",),
}


def refuse_unheeded(
    traffic: str | None, users: int | None, given: Collection[str]
) -> None:
    """
    Refuse options of another traffic than the one that is asked for.

    Args:
        traffic: The shape or the file; ``None`` where none was named.

        users: How many users there are; ``None`` where there is a rate.

        given: The options that were given.

    Raises:
        ValueError: If there are any; one line for each.
    """
    faults = list(_faults(traffic, users, given))
    if faults:
        raise ValueError("\n".join(faults))


def _faults(
    traffic: str | None, users: int | None, given: Collection[str]
) -> Iterator[str]:
    shape = traffic or "spike"
    if users is not None and traffic is not None:
        yield f"--users come instead of a traffic, got --traffic {traffic} besides"
    elif users is None and "--think" in given:
        yield "--think is how long users think; say how many there are with --users"
    for flag, shapes in _HEEDED.items():
        if flag in given and users is not None:
            yield f"{flag} has no effect on --users; leave one of the two out"
        elif flag in given and shape not in shapes:
            known = ", ".join(shapes)
            yield f"{flag} has no effect on --traffic {shape}; it shapes {known}"


def refuse_late(begin: str | None, duration: str) -> None:
    """
    Refuse what would begin after the end.

    Raises:
        ValueError: If it would.
    """
    if begin is None:
        return
    if parsing.seconds("--begin", begin) >= parsing.seconds("--duration", duration):
        raise ValueError(
            f"--begin must be before the end, got {begin} of --duration {duration}"
        )


def refuse_unused(available: Collection[str], known: Collection[str]) -> None:
    """
    Refuse instance types that are limited and that nothing uses.

    Raises:
        ValueError: If there are any.
    """
    for name in available:
        if name not in known:
            raise ValueError(
                f"--available must be of an instance type that the app uses, got "
                f"{name}; it uses {', '.join(sorted(known))}"
            )


def refuse_unwritable(files: Mapping[str, Path | None]) -> None:
    """
    Refuse files that cannot be written, by their options.

    Raises:
        ValueError: If there are any; one line for each.
    """
    faults = [
        f"{flag} {path} cannot be written: {why}"
        for flag, path in files.items()
        if path is not None and (why := _unwritable(path))
    ]
    if faults:
        raise ValueError("\n".join(faults))


def _unwritable(path: Path) -> str:
    if path.is_dir():
        return "it is a folder"
    if path.exists():
        return "" if os.access(path, os.W_OK) else "permission denied"
    if not path.parent.is_dir():
        return f"there is no folder {path.parent}"
    return "" if os.access(path.parent, os.W_OK) else "permission denied"
