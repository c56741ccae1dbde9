"""
Checks of a serving.properties against the LMI version that will read it.

What belongs here is a rule and the small function that finds it broken.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cdk_sagemaker_llm.arguments import held
from cdk_sagemaker_llm.catalog.images import find_image
from cdk_sagemaker_llm.catalog.lmi import LmiVersion
from cdk_sagemaker_llm.findings import Finding
from cdk_sagemaker_llm.serving.checks import (
    Architecture,
    Config,
    checks_of,
    class_in,
    heads_of,
)
from cdk_sagemaker_llm.serving.lmi.checks import (
    backends,
    launcher,
    lmi_models,
    options,
    parallelism,
    property_combinations,
    property_values,
)
from cdk_sagemaker_llm.serving.lmi.checks.files import (
    encoding_findings,
    is_wide,
    text_findings,
    without_mark,
)
from cdk_sagemaker_llm.serving.lmi.checks.property_subject import Subject
from cdk_sagemaker_llm.serving.lmi.launch import (
    BACKENDS,
    CONTAINERS,
    model_type_of,
    resolve,
)
from cdk_sagemaker_llm.serving.lmi.properties import PropertiesError, parse
from cdk_sagemaker_llm.serving.parameters import (
    UNKNOWN_IMAGE,
    UNREADABLE,
    device_findings,
)
from cdk_sagemaker_llm.text import any_of

_CHECKS = checks_of(
    launcher,
    lmi_models,
    options,
    property_values,
    property_combinations,
    backends,
    parallelism,
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
    name, heads, model_type = _described(architecture)
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


def _described(config: Config) -> tuple[str | None, int | None, str | None]:
    """
    Return a model's class, its attention heads and its type.
    """
    name, heads = class_in(config), heads_of(config)
    said = config.get("model_type") if isinstance(config, Mapping) else None
    return name, heads, said if isinstance(said, str) else model_type_of(name)
