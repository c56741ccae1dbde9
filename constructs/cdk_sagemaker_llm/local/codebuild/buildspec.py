"""
Reading a buildspec: the part of its version 0.2 that is played.

https://docs.aws.amazon.com/codebuild/latest/userguide/build-spec-ref.html
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from cdk_sagemaker_llm.local.untyped import Untyped

PHASES = ("install", "pre_build", "build", "post_build")
"""The phases that have commands, in their order."""

DEFAULT_FILE = "buildspec.yml"
_SHELLS = frozenset({"bash", "sh", "/bin/sh", "/bin/bash"})


class BuildspecError(Exception):
    """
    A buildspec that CodeBuild would not read, or that is beyond what is played.
    """


@dataclass(frozen=True, slots=True)
class Phase:
    """
    The commands of a phase, and those that run after them in any case.
    """

    commands: tuple[str, ...] = ()
    last: tuple[str, ...] = ()
    goes_on: bool = False


@dataclass(frozen=True, slots=True)
class Buildspec:
    """
    What a build does.

    Args:
        variables: Environment variables as they are.

        secrets: Environment variables that stand for secrets, as references.

        parameters: Environment variables that stand for parameters, by name.

        phases: The phases by name.
    """

    variables: Mapping[str, str] = field(default_factory=dict)
    secrets: Mapping[str, str] = field(default_factory=dict)
    parameters: Mapping[str, str] = field(default_factory=dict)
    phases: Mapping[str, Phase] = field(default_factory=dict)


def is_inline(text: str) -> bool:
    """
    Tell whether a project's buildspec is one itself, or else the name of a file.
    """
    try:
        return isinstance(yaml.safe_load(text), dict)
    except yaml.YAMLError:
        # What is no YAML is meant to be some, if it has lines.
        return "\n" in text


def parse(text: str) -> Buildspec:
    """
    Read a buildspec in YAML or JSON.

    Raises:
        BuildspecError: If it cannot be read.
    """
    try:
        given = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise BuildspecError(f"YAML location is not valid: {error}") from error
    spec = _mapping(given, "buildspec")
    if str(spec.get("version")) != "0.2":
        raise BuildspecError(
            f"invalid buildspec version {spec.get('version')!r}: only 0.2 is emulated"
        )
    environment = _mapping(spec.get("env"), "env")
    shell = environment.get("shell", "bash")
    if shell not in _SHELLS:
        raise BuildspecError(f"env/shell {shell} is not emulated; builds run in bash")
    phases = _mapping(spec.get("phases"), "phases")
    unknown = sorted(phases.keys() - {*PHASES})
    if unknown:
        raise BuildspecError(f"Unknown phase: {', '.join(map(str, unknown))}")
    if not phases:
        raise BuildspecError("Build phases not found: phases is required")
    return Buildspec(
        variables=_texts(environment, "variables"),
        secrets=_texts(environment, "secrets-manager"),
        parameters=_texts(environment, "parameter-store"),
        phases={name: _phase(name, phases[name]) for name in PHASES if name in phases},
    )


def _phase(name: str, given: Untyped) -> Phase:
    phase = _mapping(given, f"phases/{name}")
    failing = str(phase.get("on-failure", "ABORT")).upper()
    if failing not in {"ABORT", "CONTINUE"}:
        raise BuildspecError(f"phases/{name}/on-failure {failing} is not emulated")
    return Phase(
        commands=_commands(phase.get("commands"), f"phases/{name}/commands"),
        last=_commands(phase.get("finally"), f"phases/{name}/finally"),
        goes_on=failing == "CONTINUE",
    )


def _commands(given: Untyped, where: str) -> tuple[str, ...]:
    if given is None:
        return ()
    commands = [given] if isinstance(given, str) else given
    if not isinstance(commands, list):
        raise BuildspecError(f"Expected {where} to be a list of commands")
    for command in commands:
        if isinstance(command, dict | list) or command is None:
            # What CodeBuild says of a command with ": " in it that has no quotes.
            raise BuildspecError(
                f"Expected {where}[{commands.index(command)}] to be of string type: "
                f"found {command!r} instead"
            )
    return tuple(str(command) for command in commands)


def _texts(environment: Mapping[str, Any], name: str) -> dict[str, str]:
    given = _mapping(environment.get(name), f"env/{name}")
    return {str(key): _text(value) for key, value in given.items()}


def _text(value: Untyped) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _mapping(given: Untyped, where: str) -> dict[str, Any]:
    if given is None:
        return {}
    if not isinstance(given, dict):
        raise BuildspecError(f"Expected {where} to be a mapping, got {given!r}")
    return given
