"""
The environment variables of a build: its own, its project's, and CodeBuild's.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from moto.secretsmanager.models import secretsmanager_backends
from moto.ssm.models import ssm_backends

from cdk_sagemaker_llm.local.codebuild.buildspec import Buildspec
from cdk_sagemaker_llm.local.codebuild.records import Build

SECRET, PARAMETER = "SECRETS_MANAGER", "PARAMETER_STORE"

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


class VariableError(Exception):
    """
    A secret or parameter that a build cannot have.
    """


class Variables:
    """
    The variables of a build, with what is not to be shown in its log.

    Args:
        build: The build.

        spec: Its buildspec.

    Raises:
        VariableError: If a secret or a parameter is not there.
    """

    def __init__(self, build: Build, spec: Buildspec) -> None:
        self._region, self._account = build.arn.split(":")[3:5]
        self._hidden: list[str] = []
        self.given: dict[str, str] = {
            **spec.variables,
            **{name: self._parameter(path) for name, path in spec.parameters.items()},
            **{name: self._secret(told) for name, told in spec.secrets.items()},
            **{one["name"]: self._value(one) for one in build.variables},
        }

    def hide(self, line: str) -> str:
        """
        Return a line of the log without secrets, as CodeBuild writes it.
        """
        for secret in self._hidden:
            line = line.replace(secret, "***")
        return line

    def _value(self, variable: Mapping[str, str]) -> str:
        kind = variable.get("type", "PLAINTEXT")
        if kind == SECRET:
            return self._secret(variable["value"])
        if kind == PARAMETER:
            return self._parameter(variable["value"])
        return variable["value"]

    def _secret(self, reference: str) -> str:
        value = self._read_secret(reference)
        self._hide(value)
        return value

    def _read_secret(self, reference: str) -> str:
        found = _REFERENCE.fullmatch(reference)
        if found is None:
            raise VariableError(f"Secrets Manager: invalid reference {reference}")
        try:
            read = secretsmanager_backends[self._account][
                self._region
            ].get_secret_value(
                found["id"], found["version"] or "", found["stage"] or ""
            )
        except Exception as error:
            raise VariableError(
                "Secrets Manager Error Message: ResourceNotFoundException: Secrets "
                f"Manager can't find the specified secret: {found['id']}"
            ) from error
        text = str(read.get("SecretString", ""))
        return _member(text, found["key"], found["id"]) if found["key"] else text

    def _parameter(self, name: str) -> str:
        found = ssm_backends[self._account][self._region].get_parameter(name)
        if found is None:
            raise VariableError(f"Parameter Store: [ParameterNotFound: {name}]")
        is_secure = found.parameter_type == "SecureString"
        value = str(found.decrypt(found.value) if is_secure else found.value)
        self._hide(value)
        return value

    def _hide(self, value: str) -> None:
        # Each of its lines by itself: the log has lines. The longest first, so that
        # none is left of which another one is a part.
        self._hidden += [line for line in value.splitlines() if line.strip()]
        self._hidden.sort(key=len, reverse=True)


def _member(text: str, key: str, name: str) -> str:
    try:
        value = json.loads(text)[key]
    except (ValueError, KeyError, TypeError) as error:
        raise VariableError(
            f"Secrets Manager: the secret {name} has no key {key} in its JSON"
        ) from error
    return value if isinstance(value, str) else json.dumps(value)


def surroundings(build: Build, root: Path, source: Path) -> dict[str, str]:
    """
    Return the variables that CodeBuild sets, and this machine's that it needs.

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
    yield "CODEBUILD_BUILD_IMAGE", str(build.request["environment"].get("image", ""))
    yield "CODEBUILD_INITIATOR", build.initiator
    yield (
        "CODEBUILD_PROJECT_ARN",
        build.arn.rpartition(":build/")[0] + (f":project/{build.project_name}"),
    )
    yield "CODEBUILD_LOG_PATH", build.log_stream
    yield "CODEBUILD_SRC_DIR", str(source)
    yield "CODEBUILD_START_TIME", str(int(build.started * 1000))
    yield "CODEBUILD_SOURCE_REPO_URL", build.request["source"].get("location", "")


def _put_python(programs: Path) -> None:
    # A script, where a link would lose the virtual environment that it is in.
    for name in ("python3", "python"):
        program = programs / name
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
        program.chmod(0o755)
