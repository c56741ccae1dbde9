"""
Checks of a serving.properties against the LMI version that will read it.

What belongs here is a rule and the small function that finds it broken.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cdk_sagemaker_llm.arguments import held
from cdk_sagemaker_llm.arguments.kinds import shown
from cdk_sagemaker_llm.catalog.images import find_image
from cdk_sagemaker_llm.catalog.lmi import LmiVersion
from cdk_sagemaker_llm.findings import Finding
from cdk_sagemaker_llm.serving.checks import checks_of, device_findings
from cdk_sagemaker_llm.serving.lmi.checks import (
    combinations,
    launcher,
    models,
    neuron,
    options,
    parallelism,
    values,
    vllm,
)
from cdk_sagemaker_llm.serving.lmi.checks.files import (
    encoding_findings,
    is_wide,
    text_findings,
    without_mark,
)
from cdk_sagemaker_llm.serving.lmi.checks.subject import Architecture, Subject
from cdk_sagemaker_llm.serving.lmi.launch import BACKENDS, CONTAINERS, resolve
from cdk_sagemaker_llm.serving.lmi.model_types import model_type_of
from cdk_sagemaker_llm.serving.lmi.properties import PropertiesError, parse
from cdk_sagemaker_llm.serving.rules import UNKNOWN_IMAGE, UNREADABLE
from cdk_sagemaker_llm.text import any_of

_CHECKS = checks_of(
    launcher, models, options, values, combinations, neuron, vllm, parallelism
)

# What the front end reads itself, whatever code there is to read the rest.
_CHECKS_BESIDE_CODE = (launcher.check_engine, *checks_of(parallelism))


@held
def check_properties(
    text: str,
    *,
    container: str,
    version: str,
    accelerators: int | None,
    architecture: str | Architecture | Mapping[str, Any] | None = None,
    backend: str | None = None,
    strict: bool = False,
) -> list[Finding]:
    """
    Check the text of a serving.properties for the container that will read it.

    ``check_properties("engine=MPI\\noption.tensor_parallel_degree=3\\n",
    container="djl-tensorrtllm", version="0.26.0", accelerators=4)``

    Args:
        text: The file's text, decoded as ISO-8859-1 or ASCII.

        container: ``djl-tensorrtllm``, ``djl-lmi``, ``djl-deepspeed`` or
            ``djl-neuronx``.

        version: The LMI version, such as ``0.26.0`` or ``0.36.0-lmi27``.

        accelerators: Devices that each copy of the model has.
            ``None`` skips what depends on them.

        architecture:
            The model's class such as ``MistralForCausalLM``, its config.json as a
            mapping, or a ``ModelArchitecture``.
            If left out, what depends on it is not checked.

        backend:
            ``trtllm``, ``vllm``, ``lmi-dist``, ``deepspeed`` or ``neuronx``.
            If left out, any backend may come of the file.

        strict:
            Whether an option without effect is an error: no model.py is beside the
            file that could read it.
            If left out, it is a warning.

    Returns:
        What was found, errors and warnings, in the order of the checks.

    Raises:
        ValueError: If an argument is not of its kind.
    """
    misuse = [
        *_misuse(container, version, backend),
        *device_findings(accelerators),
    ]
    if misuse:
        return misuse
    parsed_version = LmiVersion.parse(version)
    read_twice = container == "djl-tensorrtllm" and parsed_version.before("0.33")
    found = list(encoding_findings(text))
    if is_wide(text):
        return found
    text = without_mark(text)
    found += text_findings(text, read_twice=read_twice)
    try:
        properties = parse(text)
    except PropertiesError as fault:
        return [*found, UNREADABLE.finding(str(fault))]
    return found + property_findings(
        properties,
        container=container,
        version=version,
        accelerators=accelerators,
        architecture=architecture,
        backend=backend,
        strict=strict,
    )


def property_findings(
    properties: Mapping[str, str],
    *,
    container: str,
    version: str,
    accelerators: int | None,
    architecture: str | Architecture | Mapping[str, Any] | None = None,
    backend: str | None = None,
    strict: bool = False,
    decided_elsewhere: bool = False,
) -> list[Finding]:
    """
    Check properties that have been read, or are yet to be written.

    Takes what ``check_properties`` takes, for an image that is known to exist; and
    ``decided_elsewhere``, where a plan or another file has a say in the degree that
    is left out.
    """
    parsed_version = LmiVersion.parse(version)
    if not parsed_version.rows:
        # Images before 0.25 have no tables here; they can be run, not checked.
        return []
    name, heads, model_type = _architecture(architecture)
    launch = resolve(
        properties,
        container=container,
        version=parsed_version,
        architecture=name,
        model_type=model_type,
    )
    subject = Subject(
        properties,
        launch,
        accelerators,
        name,
        heads,
        strict=strict,
        model_type=model_type,
        decided_elsewhere=decided_elsewhere,
    )
    found = launcher.own_engine_findings(launch.engine)
    if not found:
        checks = _CHECKS_BESIDE_CODE if subject.has_code_of_its_own() else _CHECKS
        found = [finding for check in checks for finding in check(subject)]
    if backend is not None:
        found += launcher.backend_findings(subject, backend)
    return found


def _misuse(container: str, version: str, backend: str | None) -> list[Finding]:
    found = []
    if container not in CONTAINERS:
        reason = f"container must be {any_of(CONTAINERS)}, got {container!r}"
        return [UNKNOWN_IMAGE.finding(reason)]
    if backend is not None and backend not in BACKENDS:
        reason = f"backend must be {any_of(BACKENDS)}, got {backend!r}"
        found.append(launcher.OTHER_BACKEND.finding(reason))
    try:
        LmiVersion.parse(find_image(container, version).version)
    except ValueError as fault:
        found.append(UNKNOWN_IMAGE.finding(str(fault)))
    return found


def heads_of(
    architecture: str | Architecture | Mapping[str, Any] | None,
) -> int | None:
    """
    Return a model's attention heads; ``None`` if they are not known.
    """
    return _architecture(architecture)[1]


def class_in(
    architecture: str | Architecture | Mapping[str, Any] | None,
) -> str | None:
    """
    Return a model's class; ``None`` if it is not known.
    """
    return _architecture(architecture)[0]


def _architecture(
    given: str | Architecture | Mapping[str, Any] | None,
) -> tuple[str | None, int | None, str | None]:
    """
    Return a model's class, its attention heads and its type.
    """
    if given is None or isinstance(given, str):
        return given, None, model_type_of(given)
    if isinstance(given, Mapping):
        names = given.get("architectures") or [None]
        heads, model_type = given.get("num_attention_heads"), given.get("model_type")
        known = model_type if isinstance(model_type, str) else model_type_of(names[0])
        return names[0], heads if isinstance(heads, int) else None, known
    if not hasattr(given, "architecture"):
        raise ValueError(
            "architecture must be a class such as 'MistralForCausalLM', a config.json "
            f"as a mapping, or a ModelArchitecture, got {shown(given)}"
        )
    name = given.architecture
    return name, given.num_attention_heads, model_type_of(name)
