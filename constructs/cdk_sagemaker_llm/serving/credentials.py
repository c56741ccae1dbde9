"""
Credentials that stand as plain text where a reference should.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from cdk_sagemaker_llm.findings import Finding
from cdk_sagemaker_llm.models import HuggingFaceModel, ModelSource
from cdk_sagemaker_llm.serving.hub import FORWARDED_TOKEN, TOKEN_VARIABLES
from cdk_sagemaker_llm.serving.rules import PLAIN_CREDENTIAL
from cdk_sagemaker_llm.text import credentials_in, kind_of, without_references
from cdk_sagemaker_llm.tokens import is_unresolved

_REMEDY = "keep it in Secrets Manager and pass HuggingFaceModel(..., token=secret)"
_KEEP = "keep it in Secrets Manager"


def credential_findings(where: str, values: Mapping[str, object]) -> list[Finding]:
    """
    Find values that look like a credential; the message never repeats them.

    Values may be nested: mappings, sequences and JSON text are looked into.
    """
    found = []
    for name, value in values.items():
        kind = next(_kinds(name, value), None)
        if kind:
            found.append(
                PLAIN_CREDENTIAL.finding(
                    f"{name} in {where} looks like {kind}", _REMEDY
                )
            )
    return found


def model_findings(model: ModelSource | None) -> list[Finding]:
    """
    Find a credential in what names the weights.
    """
    if model is None:
        return []
    if isinstance(model, HuggingFaceModel):
        named = {"model_id": model.model_id, "revision": model.revision or ""}
    else:
        named = {"uri": model.uri}
    return credential_findings(type(model).__name__, named)


def file_findings(files: Mapping[str, bytes]) -> list[Finding]:
    """
    Find credentials in the text files of an artifact, by their lines.
    """
    return [finding for name in sorted(files) for finding in _of(name, files[name])]


def _of(name: str, content: bytes) -> Iterator[Finding]:
    # Credentials are ASCII: whatever the file's encoding is, this finds them.
    text = content.decode("iso-8859-1")
    if "\0" in text:
        return
    lines: dict[int, str] = {}
    for kind, start, _ in credentials_in(text):
        lines.setdefault(text.count("\n", 0, start) + 1, kind)
    for line, kind in sorted(lines.items()):
        yield PLAIN_CREDENTIAL.finding(
            f"line {line} of {name} looks like it holds {kind}", _KEEP
        )


def _kinds(name: str, value: object) -> Iterator[str]:
    """
    Return the kinds of credential in a value and in all that is nested in it.
    """
    if kind := kind_of(name):
        yield kind
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _kinds(str(key), inner)
    elif isinstance(value, str):
        yield from _kinds_of_text(name, value)
    elif isinstance(value, Sequence):
        for inner in value:
            yield from _kinds("", inner)


def _kinds_of_text(name: str, value: str) -> Iterator[str]:
    if is_unresolved(value):
        return
    if value.lstrip()[:1] in ("{", "[") and isinstance(
        nested := _from_json(value), Mapping | list
    ):
        yield from _kinds("", nested)
    if name.upper() in (*TOKEN_VARIABLES, FORWARDED_TOKEN) and without_references(
        value
    ):
        yield "a Hugging Face token"
    kind = kind_of(value) or kind_of(f"{name}={value}")
    if kind:
        yield kind


def _from_json(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
