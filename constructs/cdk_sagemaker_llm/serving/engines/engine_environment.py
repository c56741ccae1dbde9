"""
Everything that is found of the environment of vLLM, SGLang, llama.cpp or TEI.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import TypeVar

from cdk_sagemaker_llm.architectures import find_architecture
from cdk_sagemaker_llm.catalog.engine_arguments import (
    Engine,
    engine_releases,
    find_omni_argument,
)
from cdk_sagemaker_llm.catalog.engine_releases import (
    EngineRelease,
    find_engine_release,
    pinned_version,
)
from cdk_sagemaker_llm.catalog.instances import InstanceType, find_instance_type
from cdk_sagemaker_llm.findings import Finding
from cdk_sagemaker_llm.serving.checks import Config, checks_of, class_in, heads_of
from cdk_sagemaker_llm.serving.engines.checks import (
    arrival,
    devices,
    engine_models,
    engine_values,
    known,
    lora,
    names,
    tei,
)
from cdk_sagemaker_llm.serving.engines.checks.arrival import MAY_BE_REFUSED, REFUSED
from cdk_sagemaker_llm.serving.engines.checks.engine_subject import (
    EngineSubject,
    settings_of,
)
from cdk_sagemaker_llm.serving.engines.entry_points import ENTRY_POINTS, EntryPoint
from cdk_sagemaker_llm.tokens import is_unresolved

_Said = TypeVar("_Said", str, int)

_CHECKS = checks_of(
    names,
    engine_values,
    arrival,
    engine_models,
    devices,
    lora,
    known,
    tei,
)
# What the engine's parser, or what starts it, refuses: they have the last word on it.
OF_THE_PARSER = (
    names.UNKNOWN_ARGUMENT,
    names.NOT_IN_THIS_RELEASE,
    names.AMBIGUOUS,
    engine_values.UNREADABLE_VALUE,
    engine_values.MISSING_VALUE,
    engine_values.STRAY_VALUES,
    arrival.LOST,
    arrival.NO_TOOL_PARSER,
)
# What only a release that is known for certain is known to refuse.
OF_THE_RELEASE = (engine_values.OUT_OF_BOUNDS,)
_TABLES: Mapping[str, Engine] = {
    "vllm": "vllm",
    "vllm-omni": "vllm",
    "sglang": "sglang",
}
# Paths that the upstream image of vLLM has where it starts.
_EXAMPLES = "examples/"


def engine_findings(
    environment: Mapping[str, str],
    *,
    family: str,
    version: str,
    accelerators: int | None,
    architecture: Config = None,
    instance_type: str | None = None,
    model_data: Collection[str] | None = None,
    network_isolation: bool = False,
    words: Mapping[str, str] | None = None,
    unchecked: Collection[str] = (),
) -> list[Finding]:
    """
    Check the environment of a container that runs one of the engines' own servers.

    Args:
        environment: The variables, as the container gets them.

        family: The image family, such as ``vllm-server``.

        version: The image's version.

        accelerators: Devices that each copy of the model has; ``None`` skips what
            depends on them.

        architecture: What is known of the model. If omitted, it is what the catalogue
            knows of the model that is named.

        instance_type: What it runs on. If omitted, its accelerators are not known.

        model_data: Paths of the files in ``/opt/ml/model``. If omitted, what is there
            is not known.

        network_isolation: Whether the container is cut off from the network.

        words: What the user calls a variable, where that is not its name.

        unchecked: Variables that the user wants no check of.

    Returns:
        What was found, errors and warnings, in the order of the checks; nothing of an
        image without such an engine.
    """
    image = find_engine_release(family, version)
    if image is None:
        return []
    kind = _kind(environment, architecture)
    described = everything = _checked_variables(environment, unchecked)
    if image.engine == "vllm-omni":
        described = dict(_without_own(described, image))
    hardware = _hardware(instance_type)
    base = EngineSubject(
        environment=described,
        image=image,
        hidden=frozenset(environment) - frozenset(described),
        accelerators=None if is_unresolved(accelerators) else accelerators,
        attention_heads=heads_of(kind),
        architecture=_class(kind),
        accelerator_model=hardware.accelerator_model if hardware else None,
        memory_gib=hardware.memory_gib if hardware else None,
        model_data=model_data,
        is_isolated=network_isolation,
        model_type=_said(kind, "model_type", str),
        context_length=_said(kind, "context_length", int),
        words=words or {},
        own={name: everything[name] for name in everything if name not in described},
    )
    subjects = [read_by(base, ENTRY_POINTS[rule]) for rule in image.rules] or [base]
    found = subject_findings(subjects[0])
    return found if subjects[0].table is None else _settled_findings(found, subjects)


def subject_findings(subject: EngineSubject) -> list[Finding]:
    """
    Run every check of an engine's environment, before the parser's word on it.
    """
    return [finding for check in _CHECKS for finding in check(subject)]


def read_by(base: EngineSubject, rule: EntryPoint) -> EngineSubject:
    """
    Return what an entry point makes of an environment.
    """
    image = base.image
    table = _TABLES.get(image.engine)
    if table is None:
        return replace(base, rule=rule, release=image.engine_version or "")
    release = _release(image) or engine_releases(table)[-1]
    settings = tuple(settings_of(base.environment, rule, table, release))
    return replace(base, rule=rule, table=table, release=release, settings=settings)


def _checked_variables(
    environment: Mapping[str, str], unchecked: Collection[str]
) -> dict[str, str]:
    return {
        name: value
        for name, value in environment.items()
        if name not in unchecked
        and not is_unresolved(value)
        and not _is_example(name, value)
    }


def _without_own(
    environment: Mapping[str, str], image: EngineRelease
) -> Iterator[tuple[str, str]]:
    """
    Yield the variables that vLLM's table can be asked about.
    """
    rule = ENTRY_POINTS[image.rule] if image.rule is not None else None
    for name, value in environment.items():
        is_argument = rule is not None and name.startswith(rule.prefix)
        flag = rule.flag(name).removeprefix("--") if rule is not None else ""
        own = find_omni_argument(flag, image.engine_version) or find_omni_argument(
            flag.removeprefix("no-"), image.engine_version
        )
        if not is_argument or own is None:
            yield name, value


def _is_example(name: str, value: str) -> bool:
    return name.endswith("_CHAT_TEMPLATE") and value.startswith(_EXAMPLES)


def _release(image: EngineRelease) -> str | None:
    """
    Return the engine's release, or what a tag that moves stands for today.
    """
    if image.engine_version is not None:
        return image.engine_version
    behind = find_engine_release(
        image.family, pinned_version(image.family, image.version)
    )
    return None if behind is None else behind.engine_version


def _settled_findings(
    found: list[Finding], subjects: list[EngineSubject]
) -> list[Finding]:
    """
    Let the engine's own parser have the last word.

    It is asked for each entry point that the image may have: what one of them starts
    is not refused, and neither is what a release that is not described would read.
    """
    refusals = [_refusal(subject) for subject in subjects]
    is_refused = all(refusals) and _is_described(subjects[0])
    settled = list(
        _parser_findings(found, is_refused=is_refused, is_doubted=any(refusals))
    )
    of_parser = {rule.code for rule in (*OF_THE_PARSER, REFUSED, MAY_BE_REFUSED)}
    if any(refusals) and not any(finding.code in of_parser for finding in settled):
        rule = REFUSED if is_refused else MAY_BE_REFUSED
        words = next(filter(None, refusals))
        settled.append(rule.finding(f"{subjects[0].title} does not start: {words}"))
    return _demoted_findings(settled, subjects[0])


def _parser_findings(
    found: list[Finding], *, is_refused: bool, is_doubted: bool
) -> Iterator[Finding]:
    codes = {rule.code for rule in OF_THE_PARSER}
    for finding in found:
        if finding.code not in codes or is_refused:
            yield finding
        elif is_doubted:
            yield _doubted(finding)


def _demoted_findings(found: list[Finding], subject: EngineSubject) -> list[Finding]:
    if _is_described(subject):
        return found
    codes = {rule.code for rule in OF_THE_RELEASE}
    return [_doubted(one) if one.code in codes else one for one in found]


def _doubted(finding: Finding) -> Finding:
    return MAY_BE_REFUSED.finding(
        f"{finding.message} (that depends on the image's build or release)",
        finding.remedy,
    )


def _refusal(subject: EngineSubject) -> str:
    if subject.rule is None or subject.table is None:
        return ""
    return arrival.refusal(
        subject.environment,
        subject.rule,
        subject.table,
        subject.release,
        is_whole=not subject.hidden and not subject.has_argument("config"),
    )


def _is_described(subject: EngineSubject) -> bool:
    """
    Whether the parser is known for certain: of a release that the tables describe, and
    of an engine that adds nothing to it.
    """
    image = subject.image
    return (
        subject.table == image.engine
        and subject.table is not None
        and image.engine_version in engine_releases(subject.table)
    )


def _kind(environment: Mapping[str, str], architecture: Config) -> Config:
    if architecture is not None:
        return architecture
    for name in ("SM_VLLM_MODEL", "SM_SGLANG_MODEL_PATH", engine_models.HUB):
        model = environment.get(name)
        if model:
            return find_architecture(model)
    return None


def _said(kind: Config, name: str, of: type[_Said]) -> _Said | None:
    """
    Return what a model's description says; ``None`` for one that does not.
    """
    found = kind if isinstance(kind, Mapping) else {name: getattr(kind, name, None)}
    value = found.get(name)
    return value if isinstance(value, of) else None


def _class(architecture: Config) -> str | None:
    return None if is_unresolved(architecture) else class_in(architecture)


def _hardware(instance_type: str | None) -> InstanceType | None:
    if instance_type is None or is_unresolved(instance_type):
        return None
    try:
        return find_instance_type(instance_type)
    except ValueError:
        return None
