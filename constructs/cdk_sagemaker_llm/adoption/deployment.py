"""
A deployment as the requests that would make it, whoever made it and however it is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from cdk_sagemaker_llm.text import kind_of, without_references

Shape = Mapping[str, Any]

_SECRET_NAME = re.compile(
    r"(?:TOKEN|KEY|SECRET|PASSWORD|PASSWD|CREDENTIALS?)\Z", re.IGNORECASE
)
# Switches and special tokens, such as ``<pad>``, are no secrets whatever their name.
_PLAIN = re.compile(r"[\d.]*\Z|(?:true|false|none|null)\Z|<[^>]*>\Z", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Open:
    """
    A value that what was read does not hold, in the place of the value: the app takes
    it as an argument.

    Args:
        name: What the argument is called, in Python's spelling: ``role_arn``.

        why: Why it is not known: ``sagemaker.get_execution_role() is known when the
            notebook runs``.
    """

    name: str
    why: str


@dataclass(frozen=True, slots=True)
class Hidden:
    """
    A credential, in the place of its value, which nobody keeps: the app reads it from
    a secret.

    Args:
        name: The variable that holds it, such as ``HF_TOKEN``.

        kind: What it looks like, such as ``a Hugging Face token``.
    """

    name: str
    kind: str


@dataclass(frozen=True, slots=True)
class Remark:
    """
    Something that the reader of the app has to know.

    Args:
        where: What it is about: a resource, or ``line 12`` or ``cell 3, line 4``.

        what: What is to be known.
    """

    where: str
    what: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """
    One request that makes a part of the deployment.

    Args:
        operation: Its name in the API, such as ``CreateModel``.

        parameters: What it says, in the API's spelling, with ``Tags`` among them; a
            value in it may be ``Open`` or ``Hidden``.

        arn: The ARN of what exists; empty where nothing does yet.

        where: Where it was read: ``line 12``; empty of an account.

        files: What a model's tarball holds, by path, where that is known.
    """

    operation: str
    parameters: Shape
    arn: str = ""
    where: str = ""
    files: Mapping[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class Deployment:
    """
    Everything that is read of one app's endpoints; no credential stays in it.

    Args:
        requests: What makes them, models first, in an order that works.

        region: Where it is; empty if it is not known.

        account: Whose it is; empty if it is not known.

        remarks: What could not be read, or not converted, and why.

        subnets: The ``vpc`` and the ``zone`` of each subnet, as far as they are known.
    """

    requests: Sequence[Request]
    region: str = ""
    account: str = ""
    remarks: Sequence[Remark] = ()
    subnets: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        hidden = tuple(
            replace(one, parameters=_without_credentials(one.parameters))
            for one in self.requests
        )
        object.__setattr__(self, "requests", hidden)

    def of(self, operation: str) -> Iterator[Request]:
        """
        Return the requests of one operation.
        """
        return (one for one in self.requests if one.operation == operation)


def _without_credentials(value: Any, name: str = "") -> Any:  # noqa: ANN401 - JSON
    """
    Return a request without credentials: by their form anywhere, by its name only what
    a user named.
    """
    if isinstance(value, str):
        return _hidden(name, value)
    if isinstance(value, Mapping):
        if set(value) == {"Key", "Value"}:
            tag = str(value["Key"])
            return {**value, "Value": _without_credentials(value["Value"], tag)}
        return {
            key: {n: _without_credentials(v, n) for n, v in one.items()}
            if key == "Environment" and isinstance(one, Mapping)
            else _without_credentials(one)
            for key, one in value.items()
        }
    if isinstance(value, list | tuple):
        return [_without_credentials(one) for one in value]
    return value


def is_secret_name(name: str) -> bool:
    """
    Whether a variable is a secret by its name, such as ``HF_TOKEN``.
    """
    return _SECRET_NAME.search(name) is not None


def _hidden(name: str, value: str) -> str | Hidden:
    if not without_references(value).strip():
        return value
    kind = kind_of(value) or kind_of(f"{name}={value}")
    if kind is None and is_secret_name(name) and not _PLAIN.match(value):
        kind = "a secret by its name"
    return value if kind is None else Hidden(name or "SECRET", kind)
