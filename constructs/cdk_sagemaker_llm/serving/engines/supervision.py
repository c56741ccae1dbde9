"""
What becomes of arguments where a supervisor starts the engine.

``standard-supervisor`` writes the command into a configuration of supervisord, which
reads it again: what either of them takes for something else is lost or stops both.
The very steps are taken here, with the parsers that those two use.
"""

from __future__ import annotations

import configparser
import io
import shlex
from collections.abc import Mapping, Sequence

_RECOVERY = "PROCESS_AUTO_RECOVERY"
_LEVELS = ("debug", "info", "warn", "error", "critical")
_SECTION = "program:app"
_KEY = "command"
# supervisord's own parser has these, as Python 2's had.
_COMMENTS = (";", "#")


class StartError(ValueError):
    """
    The container cannot start the engine; the message is what its log says.
    """


def recovers(environment: Mapping[str, str]) -> bool:
    """
    Whether the supervisor is on, as it is if nothing is said.
    """
    return environment.get(_RECOVERY, "true").lower() in {"true", "1"}


def supervised(
    arguments: Sequence[str], environment: Mapping[str, str], *, is_joined: bool
) -> list[str]:
    """
    Return the arguments that the engine gets from the supervisor.

    Args:
        arguments: What the supervisor is called with.

        environment: The container's variables.

        is_joined: Whether the supervisor puts nothing but blanks between them, as
            model-hosting-container-standards did up to 0.1.15.

    Raises:
        StartError: If the supervisor cannot start it.
    """
    level = environment.get("LOG_LEVEL", "info")
    if level.lower() not in _LEVELS:
        raise StartError(
            f"Invalid LOG_LEVEL: {level!r}; it must be one of {', '.join(_LEVELS)}"
        )
    join = " ".join if is_joined else shlex.join
    command = _read(_write(join(arguments)))
    expansions = {f"ENV_{name}": value for name, value in environment.items()}
    try:
        return shlex.split(command % expansions)
    except (KeyError, TypeError, ValueError) as fault:
        raise StartError(
            f"Error: Format string {command!r} for 'program:app.command' contains "
            f"names or quotes that cannot be read: {fault}"
        ) from fault


def _write(command: str) -> str:
    """
    Write the configuration.
    """
    written = configparser.ConfigParser()
    written.add_section(_SECTION)
    try:
        written.set(_SECTION, _KEY, command)
    except ValueError as fault:
        raise StartError(
            f"Failed to generate supervisord configuration: {fault}"
        ) from fault
    text = io.StringIO()
    written.write(text)
    return text.getvalue()


def _read(text: str) -> str:
    """
    Read it as supervisord does.
    """
    read = configparser.RawConfigParser(inline_comment_prefixes=_COMMENTS, strict=False)
    try:
        read.read_string(text)
    except configparser.Error as fault:
        raise StartError(f"supervisord cannot read the command: {fault}") from fault
    return read.get(_SECTION, _KEY)
