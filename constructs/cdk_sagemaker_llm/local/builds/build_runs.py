"""
A build's life: its source, buildspec and variables, and its phases, run by a thread.

What is played is what this library orders: an archive in S3, the commands of the phase
BUILD in the project's own buildspec, and variables as they are or of Secrets Manager.
What fails, and what follows it, is CodeBuild's: https://docs.aws.amazon.com/codebuild/
latest/userguide/view-build-details-phases.html. Its words are those of its logs, as in
awslabs/aws-deployment-framework#471.
"""

from __future__ import annotations

import io
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import traceback
import zipfile
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path

import yaml
from moto.secretsmanager.models import secretsmanager_backends

from cdk_sagemaker_llm.local.aws.clock import CLOCK, now
from cdk_sagemaker_llm.local.aws.surroundings import Location, Surroundings
from cdk_sagemaker_llm.local.aws.untyped import Untyped
from cdk_sagemaker_llm.local.builds import guard
from cdk_sagemaker_llm.local.builds.build_records import (
    FAILED,
    FAULT,
    STOPPED,
    SUCCEEDED,
    TIMED_OUT,
    Build,
    Phase,
)

_VERSION = "0.2"
# What of a buildspec is read; packages to install are not, and a log says so.
_PHASES = ("install", "build")
_BUILDSPEC = frozenset(
    {
        *("version", "phases", "phases/install", "phases/build"),
        *("phases/install/runtime-versions", "phases/install/commands"),
        "phases/build/commands",
    }
)
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
_NOT_INSTALLED = (
    "The embedded AWS does not run the commands of the phase INSTALL: packages are "
    "those of the Python that it runs on itself"
)
# What the commands' exit status came from, if CodeBuild's own ending was not it.
_ENDINGS = {
    STOPPED: ("", "Build has been stopped."),
    TIMED_OUT: ("BUILD_TIMED_OUT", "Build has timed out. "),
}
_SILENT = frozenset({"SUBMITTED", "QUEUED", "PROVISIONING"})
_LATE = 1.0  # Seconds for lines that are on their way when a command ends.


class PhaseError(Exception):
    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


def _bring_source(build: Build, around: Surroundings, folder: Path) -> None:
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
        with zipfile.ZipFile(io.BytesIO(archive)) as opened:
            for member in opened.infolist():
                path = Path(opened.extract(member, folder))
                mode = member.external_attr >> _MODE
                if mode and path.is_file():
                    path.chmod(mode & 0o777)
    except (zipfile.BadZipFile, OSError) as error:
        raise _client_error(f"cannot unpack s3://{bucket}/{key}: {error}") from error


def _read_buildspec(text: str) -> dict[str, list[str]]:
    # https://docs.aws.amazon.com/codebuild/latest/userguide/build-spec-ref.html
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
    phases = _mapping(read.get("phases"), "phases")
    paths = {*read, *(f"phases/{name}" for name in phases)}
    for name in phases.keys() & {*_PHASES}:
        phase = _mapping(phases[name], f"phases/{name}")
        paths |= {f"phases/{name}/{key}" for key in phase}
    unknown = paths - _BUILDSPEC
    if unknown:
        raise _unreadable(
            f"not emulated: {', '.join(sorted(unknown))} of a buildspec; builds run "
            "the commands of the phase build"
        )
    return {name: _commands(phases, name) for name in _PHASES}


def _mapping(value: Untyped, where: str) -> dict[str, Untyped]:
    if not isinstance(value or {}, dict):
        raise _unreadable(f"Expected {where} to be a map, got {value!r}")
    return value or {}


def _commands(phases: Mapping[str, Untyped], name: str) -> list[str]:
    commands = (phases.get(name) or {}).get("commands") or []
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
    return commands


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
        try:
            return secret_text(self._account, self._region, found)
        except KeyError as error:
            raise _client_error(
                f"Secrets Manager: the secret {found['id']} has no key {found['key']} "
                "in its JSON"
            ) from error
        except LookupError as error:
            raise _client_error(
                "Secrets Manager Error Message: ResourceNotFoundException: Secrets "
                f"Manager can't find the specified secret: {found['id']}"
            ) from error


def secret_text(account: str, region: str, reference: re.Match[str]) -> str:
    """
    Return a secret's text, or that of the key in its JSON that a reference names.

    Raises:
        KeyError: If it has no such key.

        LookupError: If there is no such secret.
    """
    version, stage = reference["version"] or "", reference["stage"] or ""
    backend = secretsmanager_backends[account][region]
    try:
        found = backend.get_secret_value(reference["id"], version, stage)
    except Exception as error:
        raise LookupError(reference["id"]) from error
    text, key = str(found.get("SecretString", "")), reference["key"]
    if not key:
        return text
    try:
        value = json.loads(text)[key]
    except (ValueError, TypeError) as error:
        raise KeyError(key) from error
    return value if isinstance(value, str) else json.dumps(value)


def _surroundings(build: Build, root: Path, source: Path) -> dict[str, str]:
    # The root is a folder of the build's own, which gets a home and a Python.
    home, programs, temporary = root / "home", root / "bin", root / "tmp"
    for folder in (home, programs, temporary):
        folder.mkdir()
    # A script, where a link would lose the virtual environment that it is in.
    for name in ("python3", "python"):
        program = programs / name
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
        program.chmod(0o755)
    beside = str(Path(sys.executable).parent)
    path = [str(programs), beside, os.environ.get("PATH", "/usr/bin:/bin")]
    region = build.arn.split(":")[3]
    return {
        **{name: os.environ[name] for name in _OF_THE_HOST if name in os.environ},
        **{k: v for k, v in os.environ.items() if k.startswith("AWS_")},
        "PATH": os.pathsep.join(path),
        "HOME": str(home),
        "TMPDIR": str(temporary),
        "CI": "true",
        "AWS_REGION": region,
        "AWS_DEFAULT_REGION": region,
        "CODEBUILD_BUILD_ARN": build.arn,
        "CODEBUILD_BUILD_ID": build.id,
        "CODEBUILD_BUILD_NUMBER": str(build.number),
        "CODEBUILD_SRC_DIR": str(source),
    }


class Run:
    """
    The running of one build.
    """

    def __init__(
        self, build: Build, around: Surroundings, tell: Callable[[Build], None]
    ) -> None:
        self._build = build
        self._around = around
        self._tell = tell
        self._group: guard.Group | None = None
        self._readers: list[threading.Thread] = []
        self._ending: str | None = None
        self._hide: Callable[[str], str] = lambda line: line

    def start(self) -> None:
        for kind in ("SUBMITTED", "QUEUED", "PROVISIONING"):
            self._build.phases.append(Phase(kind))
            self._close_phase(SUCCEEDED)
        self._build.phases.append(Phase("DOWNLOAD_SOURCE"))
        self._tell(self._build)
        threading.Thread(target=self._live, daemon=True).start()

    def stop(self) -> None:
        self._end_as(STOPPED)

    def _end_as(self, status: str) -> None:
        with CLOCK.lock:
            if self._build.is_over or self._ending is not None:
                return
            self._ending = status
            if self._group is not None:
                self._group.kill()

    def _live(self) -> None:
        speed = CLOCK.speed or 1.0
        seconds, ending = self._build.timeout / speed, TIMED_OUT
        limit = threading.Timer(seconds, self._end_as, [ending])
        limit.daemon = True
        limit.start()
        status = FAULT
        try:
            with tempfile.TemporaryDirectory(
                prefix="embedded-build-", ignore_cleanup_errors=True
            ) as folder:
                status = self._work(Path(folder).resolve())
        except Exception:  # noqa: BLE001 - a fault of the service's own
            traceback.print_exc()
        finally:
            limit.cancel()
            self._finish(status)

    def _work(self, root: Path) -> str:
        group = guard.Group()
        with CLOCK.lock:
            self._group = group
            if self._ending is not None:
                group.kill()
        try:
            return self._run_phases(root)
        except PhaseError as error:
            status = self._ending or FAILED
            self._close_phase(status, error.code, error.message)
            return FAILED
        finally:
            with CLOCK.lock:
                self._group = None
                group.kill()
            for reader in self._readers:
                reader.join(_LATE)

    def _run_phases(self, root: Path) -> str:
        folder = root / "src"
        folder.mkdir()
        _bring_source(self._build, self._around, folder)
        source = self._build.request["source"]
        spec = _read_buildspec(str(source.get("buildspec") or ""))
        variables = Variables(self._build)
        self._hide = variables.hide
        self._close_phase(SUCCEEDED)
        self._open_phase("INSTALL")
        if spec["install"]:
            self._say(_NOT_INSTALLED)
        for command in spec["install"]:
            self._say(f"Not run: {command}")
        self._close_phase(SUCCEEDED)
        self._pass("PRE_BUILD")
        self._open_phase("BUILD")
        environment = {**_surroundings(self._build, root, folder), **variables.values}
        try:
            for command in spec["build"]:
                self._run(command, folder, environment)
        except PhaseError as error:
            if self._ending is not None:
                raise
            self._close_phase(FAILED, error.code, error.message)
            self._pass("POST_BUILD")
            return FAILED
        self._close_phase(SUCCEEDED)
        self._pass("POST_BUILD")
        self._pass("UPLOAD_ARTIFACTS")
        return SUCCEEDED

    def _run(self, command: str, folder: Path, environment: dict[str, str]) -> None:
        self._say(f"Running command {command}")
        try:
            reason = self._reason(command, folder, environment)
        except (OSError, ValueError) as error:
            # The second of variables that no process can have.
            reason = str(error)
        if self._ending is not None:
            raise PhaseError(*_ENDINGS[self._ending])
        if reason:
            self._say(f"Command did not exit successfully {command} {reason}")
            raise PhaseError(
                "COMMAND_EXECUTION_ERROR",
                f"Error while executing command: {command}. Reason: {reason}",
            )

    def _reason(self, command: str, folder: Path, environment: dict[str, str]) -> str:
        """
        Run a command and return why it failed; nothing if it did not.
        """
        with CLOCK.lock:
            if self._ending is not None or self._group is None:
                return ""
            shell = ["bash", "--noprofile", "--norc", "-c", command]
            process = self._group.start(shell, folder, environment)
        reader = threading.Thread(target=self._read, args=(process,), daemon=True)
        self._readers.append(reader)
        reader.start()
        code = process.wait()
        # What it has started in the background may keep the output open.
        reader.join(_LATE)
        if code < 0:
            # As Go has them, in which CodeBuild's agent is written.
            name = signal.strsignal(-code) or str(-code)
            return f"signal: {'killed' if -code == signal.SIGKILL else name.lower()}"
        return f"exit status {code}" if code else ""

    def _read(self, process: subprocess.Popen[bytes]) -> None:
        if process.stdout is None:
            return
        with process.stdout:
            for line in process.stdout:
                self._print([line.rstrip(b"\r\n").decode(errors="replace")])

    def _open_phase(self, kind: str) -> None:
        self._say(f"Entering phase {kind}")
        with CLOCK.lock:
            self._build.phases.append(Phase(kind))

    def _pass(self, kind: str) -> None:
        self._open_phase(kind)
        self._close_phase(SUCCEEDED)

    def _close_phase(self, status: str, code: str = "", message: str = "") -> None:
        with CLOCK.lock:
            phase = self._build.phases[-1]
            phase.end = max(now(), phase.start)
            phase.status = status
            phase.code, phase.message = self._hide(code), self._hide(message)
        if phase.type in _SILENT:
            return
        self._say(f"Phase complete: {phase.type} State: {status}")
        self._say(f"Phase context status code: {code} Message: {message}")

    def _finish(self, status: str) -> None:
        with CLOCK.lock:
            build = self._build
            ending = self._ending or status
            last = Phase("FINALIZING")
            last.end, last.status = now(), SUCCEEDED
            build.phases += [last, Phase("COMPLETED")]
            build.status = ending
            build.ended = max(now(), build.started)
            self._tell(build)
            CLOCK.lock.notify_all()

    def _say(self, words: str) -> None:
        stamp = datetime.fromtimestamp(CLOCK.now, UTC).strftime("%Y/%m/%d %H:%M:%S.%f")
        self._print(f"[Container] {stamp} {words}".split("\n"))

    def _print(self, lines: list[str]) -> None:
        with CLOCK.lock:
            self._around.write_log(
                self._build.log_group,
                self._build.log_stream,
                [self._hide(line) for line in lines],
                CLOCK.now,
            )
