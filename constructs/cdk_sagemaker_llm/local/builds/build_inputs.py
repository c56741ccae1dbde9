"""
What a build is given: its source, its buildspec and its variables.

What is played is what this library orders: an archive in S3, the commands of the phase
BUILD in the project's own buildspec, and variables as they are or of Secrets Manager.
"""

from __future__ import annotations

import io
import json
import os
import re
import sys
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from moto.secretsmanager.models import secretsmanager_backends

from cdk_sagemaker_llm.local.aws.surroundings import Location, Surroundings
from cdk_sagemaker_llm.local.aws.untyped import Untyped
from cdk_sagemaker_llm.local.builds.build_records import Build

_VERSION = "0.2"
# What of a buildspec is read; packages to install are not, and a log says so.
_KEYS = {"version", "phases"}
_PHASES = {"install": {"runtime-versions", "commands"}, "build": {"commands"}}
_MODE = 16  # Where a ZIP archive's attributes have the mode of Unix.
# An ARN or a name, then the key in JSON, the stage and the version.
_REFERENCE = re.compile(
    r"(?P<id>arn:[^:]+:secretsmanager:[^:]*:\d+:secret:[^:]+|[^:]+)"
    r"(?::(?P<key>[^:]*)(?::(?P<stage>[^:]*)(?::(?P<version>[^:]*))?)?)?"
)
# Of this machine only what a process needs: a container has nothing of its host, and
# above all none of its user's tokens and caches.
_OF_THE_HOST = (
    *("LANG", "LC_ALL", "LC_CTYPE", "TZ", "LD_LIBRARY_PATH"),
    *("PYTHONPATH", "VIRTUAL_ENV"),
    *("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"),
)


class PhaseError(Exception):
    """
    A phase that failed: CodeBuild's code and words.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


def bring_source(build: Build, around: Surroundings, folder: Path) -> None:
    source = build.request["source"]
    kind = source["type"]
    if kind == "NO_SOURCE":
        return
    if kind != "S3":
        raise _client_error(f"sources of type {kind} are not emulated: use S3")
    bucket, _, key = source["location"].removeprefix("arn:aws:s3:::").partition("/")
    archive = around.read_object(Location(bucket, key))
    if archive is None:
        raise _client_error(
            "NoSuchKey: The specified key does not exist. "
            f"status code: 404 for primary source s3://{bucket}/{key}"
        )
    try:
        _unpack(archive, folder)
    except (zipfile.BadZipFile, OSError) as error:
        raise _client_error(f"cannot unpack s3://{bucket}/{key}: {error}") from error


def _unpack(archive: bytes, folder: Path) -> None:
    with zipfile.ZipFile(io.BytesIO(archive)) as opened:
        for member in opened.infolist():
            path = Path(opened.extract(member, folder))
            mode = member.external_attr >> _MODE
            if mode and path.is_file():
                path.chmod(mode & 0o777)


@dataclass(frozen=True, slots=True)
class Buildspec:
    """
    The commands of a build; those that install something are not run.
    """

    install: tuple[str, ...]
    build: tuple[str, ...]


def read_buildspec(text: str) -> Buildspec:
    """
    Read a project's own buildspec, in YAML or JSON.

    https://docs.aws.amazon.com/codebuild/latest/userguide/build-spec-ref.html
    """
    try:
        read = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise _unreadable(f"YAML location is not valid: {error}") from error
    if not isinstance(read, dict):
        raise _unreadable(
            "not emulated: a buildspec in a file of the source; write it in the project"
        )
    if str(read.get("version")) != _VERSION:
        raise _unreadable(
            f"invalid buildspec version {read.get('version')!r}: only {_VERSION} is "
            "emulated"
        )
    phases = read.get("phases") or {}
    unknown = {
        *(read.keys() - _KEYS),
        *(f"phases/{p}" for p in phases.keys() - _PHASES),
    }
    for name in phases.keys() & _PHASES:
        keys = (phases[name] or {}).keys() - _PHASES[name]
        unknown |= {f"phases/{name}/{key}" for key in keys}
    if unknown:
        raise _unreadable(
            f"not emulated: {', '.join(sorted(unknown))} of a buildspec; builds run "
            "the commands of the phase build"
        )
    return Buildspec(_commands(phases, "install"), _commands(phases, "build"))


def _commands(phases: Mapping[str, Any], name: str) -> tuple[str, ...]:
    commands: Untyped = (phases.get(name) or {}).get("commands") or []
    where = f"phases/{name}/commands"
    if not isinstance(commands, list):
        raise _unreadable(f"Expected {where} to be a list of commands")
    for index, command in enumerate(commands):
        if not isinstance(command, str):
            # What CodeBuild says of a command with ": " in it that has no quotes.
            raise _unreadable(
                f"Expected {where}[{index}] to be of string type: found {command!r} "
                "instead"
            )
    return tuple(commands)


def _unreadable(message: str) -> PhaseError:
    return PhaseError("YAML_FILE_ERROR", message)


def _client_error(message: str) -> PhaseError:
    return PhaseError("CLIENT_ERROR", message)


class Variables:
    """
    The variables of a build, with what is not to be shown in its log.
    """

    def __init__(self, build: Build) -> None:
        self._region, self._account = build.arn.split(":")[3:5]
        self._hidden: list[str] = []
        self.values = {one["name"]: self._value(one) for one in build.variables}

    def hide(self, line: str) -> str:
        """
        Return a line of the log without secrets, as CodeBuild writes it.
        """
        for secret in self._hidden:
            line = line.replace(secret, "***")
        return line

    def _value(self, variable: Mapping[str, str]) -> str:
        kind = variable.get("type", "PLAINTEXT")
        if kind == "PLAINTEXT":
            return variable["value"]
        if kind != "SECRETS_MANAGER":
            raise _client_error(f"not emulated: variables of type {kind}")
        secret = self._secret(variable["value"])
        # Each of its lines by itself: the log has lines. The longest first, so that
        # none is left of which another one is a part.
        self._hidden += [line for line in secret.splitlines() if line.strip()]
        self._hidden.sort(key=len, reverse=True)
        return secret

    def _secret(self, reference: str) -> str:
        found = _REFERENCE.fullmatch(reference)
        if found is None:
            raise _client_error(f"Secrets Manager: invalid reference {reference}")
        backend = secretsmanager_backends[self._account][self._region]
        try:
            read = backend.get_secret_value(
                found["id"], found["version"] or "", found["stage"] or ""
            )
        except Exception as error:
            raise _client_error(
                "Secrets Manager Error Message: ResourceNotFoundException: Secrets "
                f"Manager can't find the specified secret: {found['id']}"
            ) from error
        text = str(read.get("SecretString", ""))
        return _member(text, found["key"], found["id"]) if found["key"] else text


def _member(text: str, key: str, name: str) -> str:
    try:
        value = json.loads(text)[key]
    except (ValueError, KeyError, TypeError) as error:
        raise _client_error(
            f"Secrets Manager: the secret {name} has no key {key} in its JSON"
        ) from error
    return value if isinstance(value, str) else json.dumps(value)


def surroundings(build: Build, root: Path, source: Path) -> dict[str, str]:
    """
    Return the variables that CodeBuild sets, and this machine's that a build needs.

    Args:
        build: The build.

        root: A folder of the build's own, which gets a home and a Python.

        source: Where its source is.
    """
    home, programs, temporary = root / "home", root / "bin", root / "tmp"
    for folder in (home, programs, temporary):
        folder.mkdir(exist_ok=True)
    _put_python(programs)
    beside = str(Path(sys.executable).parent)
    path = [str(programs), beside, os.environ.get("PATH", "/usr/bin:/bin")]
    return {
        **{name: os.environ[name] for name in _OF_THE_HOST if name in os.environ},
        **{k: v for k, v in os.environ.items() if k.startswith("AWS_")},
        "PATH": os.pathsep.join(path),
        "HOME": str(home),
        "TMPDIR": str(temporary),
        **dict(_of_codebuild(build, source)),
    }


def _of_codebuild(build: Build, source: Path) -> Iterator[tuple[str, str]]:
    region = build.arn.split(":")[3]
    yield "CI", "true"
    yield "AWS_REGION", region
    yield "AWS_DEFAULT_REGION", region
    yield "CODEBUILD_BUILD_ARN", build.arn
    yield "CODEBUILD_BUILD_ID", build.id
    yield "CODEBUILD_BUILD_NUMBER", str(build.number)
    yield "CODEBUILD_SRC_DIR", str(source)


def _put_python(programs: Path) -> None:
    # A script, where a link would lose the virtual environment that it is in.
    for name in ("python3", "python"):
        program = programs / name
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
        program.chmod(0o755)
