"""
Checks of an artifact's files: which there are, what serving.properties among them says,
and what must not stand in any.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.serving.lmi.artifact import PROPERTIES, Artifact
from cdk_sagemaker_llm.serving.lmi.checks import UNREAD, text_findings
from cdk_sagemaker_llm.serving.lmi.properties import PropertiesError, parse
from cdk_sagemaker_llm.serving.parameters import (
    credential_findings,
    file_findings,
)

_REQUIREMENTS = "requirements.txt"
_ENGINE = re.compile(rb"^[^#\n]*\b(?:vllm|transformers|lmi-dist)\b", re.MULTILINE)

NO_PROPERTIES = Rule("LLM109", "the serving folder holds no serving.properties")
SEVERAL_MODELS = Rule(
    "LLM126",
    "several folders at the top would be several models",
    "djl-serving, ModelStore",
)


def read_findings(path: str, artifact: Artifact) -> list[Finding]:
    """
    Check what was read of a folder or a tarball, whatever image is to load it.
    """
    found = [*artifact.findings, *layout_findings(path, artifact.sizes)]
    read = properties_path(artifact.files)
    beside = dict(artifact.files)
    if read is not None:
        # Its properties are checked by their names: what is left are the comments.
        lines = beside[read].splitlines()
        comments = [one if one.lstrip()[:1] in (b"#", b"!") else b"" for one in lines]
        beside[read] = b"\n".join(comments)
    found += file_findings(beside)
    name = properties_path(artifact.sizes) or ""
    if not artifact.files.get(name, b"not read").strip():
        found.append(
            UNREAD.finding(
                f"{name} in {path!r} is empty",
                "write at least engine and option.model_id into it",
            )
        )
    return found


def artifact_findings(
    files: Mapping[str, bytes],
    *,
    container: str,
    version: str,
    accelerators: int | None,
    architecture: Mapping[str, object] | str | None = None,
    backend: str | None = None,
) -> list[Finding]:
    """
    Check the serving.properties among an artifact's files, and that it holds no
    credentials.
    """
    text = _properties_text(files)
    found = text_findings(
        text,
        container=container,
        version=version,
        accelerators=accelerators,
        architecture=architecture,
        backend=backend,
        # Python files beside it may read any option.
        strict=not any(name.endswith(".py") for name in files),
        brings_engine=_brings_engine(files),
    )
    try:
        return found + credential_findings(PROPERTIES, parse(text))
    except PropertiesError:
        return found


def _brings_engine(files: Mapping[str, bytes]) -> bool:
    """
    Whether requirements beside the file replace the engine, or what it reads models
    with: LMI installs them before it starts.
    """
    path = properties_path(files) or ""
    beside = f"{path.rpartition(PROPERTIES)[0]}{_REQUIREMENTS}"
    return _ENGINE.search(files.get(beside, b"")) is not None


def properties_path(files: Iterable[str]) -> str | None:
    """
    Find the serving.properties that the container reads: at the top, or in a folder
    that is all there is (ModelStore and Utils.getNestedModelDir of djl-serving).
    """
    names = list(files)
    if PROPERTIES in names:
        return PROPERTIES
    tops = {name.split("/", 1)[0] for name in names}
    nested = f"{min(tops, default='')}/{PROPERTIES}"
    return nested if len(tops) == 1 and nested in names else None


def file_of(files: Mapping[str, bytes]) -> dict[str, str] | None:
    """
    Return what the serving.properties among a container's files says; ``None`` where
    there are no files.
    """
    return _properties(files) if files else None


def layout_findings(path: str, files: Iterable[str]) -> list[Finding]:
    """
    Check which files there are: those of one model.
    """
    if properties_path(files) is not None:
        return []
    inner = sorted({n.split("/", 1)[0] for n in files if n.endswith(f"/{PROPERTIES}")})
    if not inner:
        return [NO_PROPERTIES.finding(f"{path!r} holds no serving.properties")]
    return [
        SEVERAL_MODELS.finding(
            f"{path!r} holds {', '.join(inner)} beside other entries: each folder at "
            "the top would be a model of its own",
            "put one model's files at the top, or into one folder",
        )
    ]


def _properties(files: Mapping[str, bytes]) -> dict[str, str]:
    try:
        return parse(_properties_text(files))
    except PropertiesError:
        # The check of the file says what is wrong with it.
        return {}


def _properties_text(files: Mapping[str, bytes]) -> str:
    # Java reads the file as ISO-8859-1, in which every byte is a character.
    return files.get(properties_path(files) or "", b"").decode("iso-8859-1")
