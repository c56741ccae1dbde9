"""
The service's rules for a model's environment: names, number and size of the variables.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from cdk_sagemaker_llm._tokens import is_unresolved
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.hosting.limits import IMPOSSIBLE_NAME
from cdk_sagemaker_llm.serving.rules import API, UNREADABLE

# CreateModel, ContainerDefinition$Environment (botocore 1.44.5).
_MOST_VARIABLES = 100
_LONGEST_NAME = 1024
_LONGEST_VALUE = 1024
_MOST_BYTES = 32 * 1024
_SHOWN = 30
_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*\Z")
# A process's variable ends at a NUL, and half of a surrogate pair is not in UTF-8.
_IN_NO_VARIABLE = re.compile(r"[\0\ud800-\udfff]")

LARGE_ENVIRONMENT = Rule(
    "LLM120", "the environment is larger than the service takes", API
)


def environment_findings(
    environment: Mapping[str, str], *, own: Mapping[str, str]
) -> list[Finding]:
    """
    Check all variables together: the service counts those of the backend as well.

    Args:
        environment: The user's variables.

        own: Those that the backend sets itself.
    """
    variables = {**own, **environment}
    return [
        *_name_findings(variables),
        *_number_findings(len(environment), len(variables)),
        *_size_findings(variables),
        *_length_findings(variables),
        *_text_findings(variables),
    ]


def _name_findings(variables: Mapping[str, str]) -> list[Finding]:
    return [finding for name in variables for finding in _findings_of_name(name)]


def _findings_of_name(name: str) -> list[Finding]:
    if is_unresolved(name):
        # CloudFormation takes functions as values only.
        return [
            IMPOSSIBLE_NAME.finding(
                "a name in environment must be known at synth, got a placeholder",
                "write the name itself; its value may be known only at deployment",
            )
        ]
    if len(name) > _LONGEST_NAME:
        return [
            IMPOSSIBLE_NAME.finding(
                f"a name in environment must be at most {_LONGEST_NAME} characters "
                f"long, got {len(name)}, beginning with {name[:_SHOWN]!r}"
            )
        ]
    if _NAME.match(name):
        return []
    return [
        IMPOSSIBLE_NAME.finding(
            "a name in environment must be letters, digits and underscores, with no "
            f"digit first, got {name!r}",
        )
    ]


def _number_findings(users: int, together: int) -> list[Finding]:
    if together <= _MOST_VARIABLES:
        return []
    shares = f", {together - users} of them the backend's"
    got = str(users) if users > _MOST_VARIABLES else f"{together}{shares}"
    return [
        LARGE_ENVIRONMENT.finding(
            f"environment must have at most {_MOST_VARIABLES} variables, got {got}",
        )
    ]


def _size_findings(variables: Mapping[str, str]) -> list[Finding]:
    size = sum(
        len(text.encode(errors="surrogatepass"))
        for pair in variables.items()
        for text in pair
        if not is_unresolved(text)
    )
    if size <= _MOST_BYTES:
        return []
    return [
        LARGE_ENVIRONMENT.finding(
            f"environment must have at most {_MOST_BYTES} bytes of names and values "
            f"together, the backend's included, got {size}",
        )
    ]


def _length_findings(variables: Mapping[str, str]) -> list[Finding]:
    return [
        LARGE_ENVIRONMENT.finding(
            f"{name} must be at most {_LONGEST_VALUE} characters long"
        )
        for name, value in variables.items()
        if not is_unresolved(value) and len(value) > _LONGEST_VALUE
    ]


def _text_findings(variables: Mapping[str, str]) -> list[Finding]:
    found = ((name, _IN_NO_VARIABLE.search(text)) for name, text in variables.items())
    return [
        UNREADABLE.finding(
            f"{name} has the character {character[0]!r}, which no variable can hold",
            "leave it out",
        )
        for name, character in found
        if character is not None
    ]
