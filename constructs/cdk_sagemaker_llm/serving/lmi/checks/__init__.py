"""
Checks of a serving.properties against the LMI version that will read it. Its syntax is
checked here, its options in the modules beside.

What belongs here is a rule and the small function that finds it broken.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from cdk_sagemaker_llm.arguments import held
from cdk_sagemaker_llm.catalog.images import find_image
from cdk_sagemaker_llm.catalog.lmi import LmiVersion
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.serving.checks import (
    Architecture,
    checks_of,
    class_in,
    heads_of,
)
from cdk_sagemaker_llm.serving.lmi.checks import (
    backends,
    launcher,
    lmi_models,
    lmi_support,
    options,
    parallelism,
)
from cdk_sagemaker_llm.serving.lmi.launch import (
    BACKENDS,
    CONTAINERS,
    JAVA,
    Subject,
    model_type_of,
    resolve,
)
from cdk_sagemaker_llm.serving.lmi.properties import PropertiesError, pairs, parse
from cdk_sagemaker_llm.serving.parameters import (
    UNKNOWN_IMAGE,
    UNREADABLE,
    device_findings,
)
from cdk_sagemaker_llm.text import any_of

# The script ends on the first of them.
_MOST_LINES = 50
# As ISO-8859-1 shows them, and as a text that was decoded otherwise does.
_MARKS = ("\xef\xbb\xbf", "\ufeff")
_WIDE = ("\xff\xfe", "\xfe\xff", "\ufffe")
_SAVE = "save it as ASCII"


def passed_on_findings(subject: Subject) -> Iterator[Finding]:
    """
    What is handed on to vLLM is what it takes.
    """
    if subject.parser_release is None:
        return
    from cdk_sagemaker_llm.serving.lmi.checks.passed_arguments import (  # noqa: PLC0415 - reads tables
        parser_name_findings,
        passed_argument_findings,
    )

    yield from passed_argument_findings(subject)
    yield from parser_name_findings(subject)


# What the release of the engine in the image makes of the file.
_CHECKS_OF_ENGINE = (passed_on_findings, *checks_of(lmi_support))
_CHECKS = (
    *checks_of(launcher, lmi_models, options, backends, parallelism),
    *_CHECKS_OF_ENGINE,
)
# What the front end reads itself, whatever code there is to read the rest.
_CHECKS_BESIDE_CODE = (launcher.launcher_engine_findings, *checks_of(parallelism))


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
            If omitted, what depends on it is not checked.

        backend:
            ``trtllm``, ``vllm``, ``lmi-dist``, ``deepspeed`` or ``neuronx``.
            If omitted, any backend may come of the file.

        strict:
            Whether an option without effect is an error: no model.py is beside the
            file that could read it.
            If omitted, it is a warning.

    Returns:
        What was found, errors and warnings, in the order of the checks.

    Raises:
        ValueError: If an argument is not of its kind.
    """
    return text_findings(
        text,
        container=container,
        version=version,
        accelerators=accelerators,
        architecture=architecture,
        backend=backend,
        strict=strict,
    )


def text_findings(
    text: str,
    *,
    container: str,
    version: str,
    accelerators: int | None,
    architecture: str | Architecture | Mapping[str, Any] | None = None,
    backend: str | None = None,
    strict: bool = False,
    brings_engine: bool = False,
) -> list[Finding]:
    """
    Check the text of a file, beside which requirements may bring another engine than
    the image's.
    """
    if container not in CONTAINERS:
        reason = f"container must be {any_of(CONTAINERS)}, got {container!r}"
        return [UNKNOWN_IMAGE.finding(reason), *device_findings(accelerators)]
    misuse = []
    if backend is not None and backend not in BACKENDS:
        reason = f"backend must be {any_of(BACKENDS)}, got {backend!r}"
        misuse.append(launcher.OTHER_BACKEND.finding(reason))
    try:
        LmiVersion.parse(find_image(container, version).version)
    except ValueError as fault:
        misuse.append(UNKNOWN_IMAGE.finding(str(fault)))
    misuse += device_findings(accelerators)
    if misuse:
        return misuse
    parsed_version = LmiVersion.parse(version)
    read_twice = container == "djl-tensorrtllm" and parsed_version.before("0.33")
    found = list(encoding_findings(text))
    if is_wide(text):
        return found
    text = without_mark(text)
    if not text.isascii():
        found.append(
            NOT_ASCII.finding(
                "the file has characters outside ASCII, which Java reads as ISO-8859-1",
                r"write them as \uXXXX",
            )
        )
    found += _repetition_findings(text)
    if read_twice:
        found += itertools.islice(_partition_script_findings(text), _MOST_LINES)
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
        brings_engine=brings_engine,
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
    accelerator_model: str | None = None,
    variables: Mapping[str, str] = MappingProxyType({}),
    is_isolated: bool = False,
    brings_engine: bool = False,
) -> list[Finding]:
    """
    Check properties that have been read, or are yet to be written.

    Takes what ``check_properties`` takes, for an image that is known to exist; and
    ``decided_elsewhere``, where a plan or another file has a say in the degree that
    is left out, ``accelerator_model``, the GPU's name, the container's ``variables``,
    whether it ``is_isolated``, and whether something ``brings_engine``: requirements
    beside the file.
    """
    parsed_version = LmiVersion.parse(version)
    if not parsed_version.rows:
        # Images before 0.25 have no tables here; they can be run, not checked.
        return []
    subject = subject_of(
        properties,
        container=container,
        version=parsed_version,
        accelerators=accelerators,
        architecture=architecture,
        strict=strict,
        decided_elsewhere=decided_elsewhere,
        accelerator_model=accelerator_model,
        variables=variables,
        is_isolated=is_isolated,
    )
    found = list(launcher.own_engine_findings(subject.launch.engine))
    if not found:
        checks = _CHECKS_BESIDE_CODE if subject.has_code_of_its_own() else _CHECKS
        if brings_engine:
            checks = tuple(one for one in checks if one not in _CHECKS_OF_ENGINE)
        found = [finding for check in checks for finding in check(subject)]
    if backend is not None:
        found += launcher.backend_findings(subject, backend)
    return found


def subject_of(
    properties: Mapping[str, str],
    *,
    container: str,
    version: LmiVersion,
    accelerators: int | None,
    architecture: str | Architecture | Mapping[str, Any] | None,
    strict: bool = False,
    decided_elsewhere: bool = False,
    accelerator_model: str | None = None,
    variables: Mapping[str, str] = MappingProxyType({}),
    is_isolated: bool = False,
) -> Subject:
    """
    Return what the checks look at: properties, and what the container makes of them.
    """
    name = class_in(architecture)
    model_type = model_type_of(name)
    if isinstance(architecture, Mapping):
        named = architecture.get("model_type")
        model_type = named if isinstance(named, str) else model_type
    launch = resolve(
        properties,
        container=container,
        version=version,
        architecture=name,
        model_type=model_type,
    )
    return Subject(
        properties,
        launch,
        accelerators,
        name,
        heads_of(architecture),
        strict=strict,
        model_type=model_type,
        decided_elsewhere=decided_elsewhere,
        kind=architecture,
        accelerator_model=accelerator_model,
        variables=variables,
        is_isolated=is_isolated,
    )


UNREAD = Rule(
    "LLM186",
    "a serving.properties is empty, or in an encoding of which Java reads nothing",
    JAVA,
)
NOT_ASCII = Rule("LLM217", "characters that Java reads otherwise", JAVA)
MARKED = Rule("LLM235", "a byte order mark at the beginning of a file", JAVA)


def encoding_findings(text: str) -> Iterator[Finding]:
    """
    Java takes a byte order mark for letters of the first line, and knows no UTF-16.
    """
    if is_wide(text):
        yield UNREAD.finding(
            "the file is in UTF-16, of which Java, reading ISO-8859-1, knows no "
            "property",
            _SAVE,
        )
    elif text.startswith(_MARKS):
        first = without_mark(text).split("\n", 1)[0].strip()
        name = re.split(r"[=:\s]", first, maxsplit=1)[0]
        if not name or name[0] in "#!":
            yield MARKED.finding(
                "the file begins with a byte order mark (BOM), which Java takes for "
                "the letters of a property",
                f"{_SAVE}, without the mark",
            )
        else:
            yield UNREAD.finding(
                "the file begins with a byte order mark (BOM), which Java takes for "
                f"letters of the first property: {name} is not read",
                f"{_SAVE}, without the mark",
            )


def is_wide(text: str) -> bool:
    """
    Whether a file is written with two bytes a letter.
    """
    return text.startswith(_WIDE) or "\0" in text


def without_mark(text: str) -> str:
    """
    Return a file's text behind its byte order mark.
    """
    for mark in _MARKS:
        text = text.removeprefix(mark)
    return text


WRITTEN_TWICE = Rule("LLM218", "a property is written twice", JAVA)


def _repetition_findings(text: str) -> Iterator[Finding]:
    """
    Of two values of one property the last wins.
    """
    seen: dict[str, str] = {}
    try:
        found = list(pairs(text))
    except PropertiesError:
        return
    for key, value in found:
        if seen.setdefault(key, value) != value:
            yield WRITTEN_TWICE.finding(f"{key} is written twice: the last value wins")


UNREADABLE_LINE = Rule(
    "LLM157",
    "a line that the TensorRT-LLM partition script cannot read",
    "partition/trt_llm_partition.py",
)


def _partition_script_findings(text: str) -> Iterator[Finding]:
    """
    Up to LMI 0.32 a second reader splits every line at its equals sign.

    The script (``partition/trt_llm_partition.py``) knows no escapes and no other
    separators, and ends on a line without an equals sign.
    """
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if not stripped or stripped.startswith("#") or "=" in stripped:
            continue
        yield UNREADABLE_LINE.finding(
            f"line {number} has no equals sign, on which the TensorRT-LLM partition "
            "script ends",
            "write key=value",
        )
