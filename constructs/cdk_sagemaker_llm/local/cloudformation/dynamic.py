"""
Dynamic references: ``{{resolve:secretsmanager:...}}`` and ``{{resolve:ssm:...}}``.
"""

from __future__ import annotations

import json
import re

from moto.secretsmanager.models import secretsmanager_backends
from moto.ssm.models import ssm_backends

from cdk_sagemaker_llm.local.cloudformation.resource import ResourceError, Scope
from cdk_sagemaker_llm.local.untyped import Untyped

_REFERENCE = re.compile(r"\{\{resolve:(secretsmanager|ssm|ssm-secure):([^}]+)\}\}")
_SECRET = re.compile(
    r"(?P<id>arn:[^:]+:secretsmanager:[^:]+:\d+:secret:[^:]+|[^:]+)"
    r"(?::SecretString(?::(?P<key>[^:]*)(?::(?P<stage>[^:]*)(?::(?P<version>.*))?)?)?)?"
)


def reveal(value: Untyped, scope: Scope) -> Untyped:
    """
    Replace every dynamic reference in a value by what it stands for.

    Raises:
        ResourceError: If the secret, its key or the parameter is not there.
    """
    if isinstance(value, dict):
        return {key: reveal(item, scope) for key, item in value.items()}
    if isinstance(value, list):
        return [reveal(item, scope) for item in value]
    if isinstance(value, str):
        return _REFERENCE.sub(lambda match: _resolve(match, scope), value)
    return value


def _resolve(match: re.Match[str], scope: Scope) -> str:
    service, path = match.groups()
    if service == "secretsmanager":
        return _secret(path, scope)
    return _parameter(path, scope)


def _secret(path: str, scope: Scope) -> str:
    match = _SECRET.fullmatch(path)
    if match is None:
        raise ResourceError(f"Incorrect format is used in {path}")
    backend = secretsmanager_backends[scope.account][scope.region]
    try:
        found = backend.get_secret_value(
            match["id"], match["version"] or "", match["stage"] or ""
        )
    except Exception as error:
        raise ResourceError(
            f"Could not resolve {{{{resolve:secretsmanager:{path}}}}}: Secrets Manager "
            "can't find the specified secret."
        ) from error
    text = str(found["SecretString"])
    return _member(text, match["key"]) if match["key"] else text


def _member(text: str, key: str) -> str:
    try:
        return str(json.loads(text)[key])
    except (ValueError, KeyError, TypeError) as error:
        raise ResourceError(
            f"Could not find a value associated with JSONKey '{key}' in SecretString"
        ) from error


def _parameter(path: str, scope: Scope) -> str:
    found = ssm_backends[scope.account][scope.region].get_parameter(path)
    if found is None:
        raise ResourceError(
            f"Could not resolve {{{{resolve:ssm:{path}}}}}: Systems Manager has no "
            "such parameter."
        )
    return str(found.value)
