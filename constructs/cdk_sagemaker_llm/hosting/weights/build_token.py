"""
Handing a build the Hub's token: by the secret's name, never by its value.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aws_cdk import Aws, SecretValue, Token
from constructs import Construct

from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.hosting.common.scope import stack_of
from cdk_sagemaker_llm.hosting.roles.statements import (
    Statement,
    arn_of,
    key_access,
    partition,
)

if TYPE_CHECKING:
    from aws_cdk import aws_secretsmanager as secretsmanager

    from cdk_sagemaker_llm.models import HuggingFaceModel

OTHER_TOKEN = Rule(
    "LLM767",
    "a token of a staged model is not in Secrets Manager",
    "CodeBuild API reference, EnvironmentVariable",
)
_REFERENCE = re.compile(
    r"\{\{resolve:secretsmanager:(?P<secret>arn:[^{}]*?:secret:[^:{}]+|[^:{}]+)"
    r"(?::SecretString:(?P<key>[^:{}]*):(?P<stage>[^:{}]*):(?P<version>[^:{}]*))?\}\}"
)

_ENDING = re.compile(r"-[A-Za-z0-9]{6}$")
# Stands for a reference while the text around it is read.
_HOLE = "\0"


@dataclass(frozen=True, kw_only=True, slots=True)
class BuildToken:
    """
    A token as a build is given it.

    Args:
        value: What a variable of the type SECRETS_MANAGER has: secret, key, stage and
            version, with colons between them.
    """

    value: str
    statements: tuple[Statement, ...]


def token_of(scope: Construct, model: HuggingFaceModel) -> BuildToken | None:
    """
    Return a model's token; ``None`` if it has none, or one that no build can read.
    """
    token = model.token
    if token is None:
        return None
    if isinstance(token, SecretValue):
        return _referred(scope, token)
    return BuildToken(value=token.secret_arn, statements=_statements(token))


def token_findings(scope: Construct, model: HuggingFaceModel) -> list[Finding]:
    """
    Check that a build can read a model's token.
    """
    if model.token is None or token_of(scope, model) is not None:
        return []
    return [
        OTHER_TOKEN.finding(
            "token must be a secret of Secrets Manager, whose name is known at synth",
            "pass a Secret, or SecretValue.secrets_manager('name')",
        )
    ]


def _referred(scope: Construct, token: SecretValue) -> BuildToken | None:
    written = stack_of(scope).resolve(token.unsafe_unwrap())
    if not isinstance(written, str):
        return _joined(written)
    found = _REFERENCE.fullmatch(written)
    if found is None:
        return None
    arn = secret = found["secret"]
    if not secret.startswith("arn:"):
        place = f"arn:{partition()}:secretsmanager:{Aws.REGION}:{Aws.ACCOUNT_ID}"
        arn = f"{place}:secret:{secret}-??????"
    elif not _ENDING.search(secret):
        arn = f"{secret}-??????"
    return BuildToken(value=_value(secret, found), statements=(_read(arn),))


def _value(secret: str, found: re.Match[str]) -> str:
    parts = [secret, *(found[name] or "" for name in ("key", "stage", "version"))]
    return ":".join(parts).rstrip(":")


def _joined(written: object) -> BuildToken | None:
    """
    Return a field of a secret that is itself a reference, such as
    ``secret.secret_value_from_json("token")``: CloudFormation joins the parts.
    """
    parts = written.get("Fn::Join", ["", []])[1] if isinstance(written, dict) else []
    # A reference stands for an ARN as a whole, or for a part of one.
    text = "".join(part if isinstance(part, str) else _HOLE for part in parts)
    found = _REFERENCE.fullmatch(text)
    if found is None:
        return None
    filled = iter([part for part in parts if not isinstance(part, str)])

    def fill(template: str) -> str:
        first, *others = template.split(_HOLE)
        return first + "".join(
            Token.as_string(next(filled)) + other for other in others
        )

    secret = fill(found["secret"])
    # The ARN of a secret that is looked up by its name lacks the characters at its end.
    is_whole = found["secret"] == _HOLE
    read = _read(secret if is_whole else f"{secret}-??????")
    return BuildToken(value=_value(secret, found), statements=(read,))


def _read(arn: str) -> Statement:
    return Statement(
        sid="ReadToken",
        actions=["secretsmanager:GetSecretValue"],
        resources=[arn],
        wildcard_reason="a secret's ARN ends with six characters that nobody chooses",
    )


def _statements(secret: secretsmanager.ISecret) -> tuple[Statement, ...]:
    # An imported secret may be known without the six characters that end its ARN.
    read = _read(secret.secret_full_arn or f"{secret.secret_arn}-??????")
    if secret.encryption_key is None:
        return (read,)
    keys = [arn_of(secret.encryption_key)]
    return (read, *key_access("DecryptToken", ["kms:Decrypt"], keys))
