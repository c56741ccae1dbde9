"""
The environment of vLLM, SGLang, llama.cpp or TEI: everything that is found of it, what
it says of adapters, and what the registry knows of these images.

All images of vLLM in the catalogue have vLLM 0.13.0 or later, whose server has the
route by which SageMaker loads adapters; it is there if the engine takes LoRA and may be
given adapters while it runs (model-hosting-container-standards, and vllm/entrypoints of
0.13.0).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Literal, TypeVar

from cdk_sagemaker_llm.architectures import ModelArchitecture, find_architecture
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
from cdk_sagemaker_llm.catalog.images import find_image
from cdk_sagemaker_llm.catalog.instances import (
    find_instance_type,
    instance_type_names,
)
from cdk_sagemaker_llm.findings import Finding
from cdk_sagemaker_llm.serving.adapters import AdapterHost, without_adapters
from cdk_sagemaker_llm.serving.base import Container
from cdk_sagemaker_llm.serving.checks import (
    Config,
    Dialect,
    Environment,
    Family,
    checks_of,
    class_in,
    heads_of,
)
from cdk_sagemaker_llm.serving.engines.checks import (
    configuration,
    devices,
    engine_models,
    engine_values,
    health,
    names,
    process,
    refusals,
    sglang_start,
    support,
    tei,
)
from cdk_sagemaker_llm.serving.engines.checks.engine_subject import (
    EngineSubject,
    settings_of,
)
from cdk_sagemaker_llm.serving.engines.checks.engine_values import (
    MAY_BE_REFUSED,
    REFUSED,
)
from cdk_sagemaker_llm.serving.engines.checks.process import UPDATES, is_switched_on
from cdk_sagemaker_llm.serving.engines.entry_points import ENTRY_POINTS, EntryPoint
from cdk_sagemaker_llm.tokens import is_unresolved

_Said = TypeVar("_Said", str, int)

_CHECKS = checks_of(
    names,
    engine_values,
    configuration,
    refusals,
    engine_models,
    devices,
    process,
    health,
    sglang_start,
    support,
)
_CHECKS_OF_TEI = checks_of(tei)
# What the engine's parser, or what starts it, refuses: they have the last word on it.
OF_THE_PARSER = (
    names.UNKNOWN_ARGUMENT,
    names.NOT_IN_THIS_RELEASE,
    names.AMBIGUOUS,
    engine_values.UNREADABLE_VALUE,
    engine_values.MISSING_VALUE,
    engine_values.STRAY_VALUES,
    engine_values.LOST,
    engine_values.NO_TOOL_PARSER,
)
# What only a release that is known for certain is known to refuse.
OF_THE_RELEASE = (
    configuration.NO_CONFIGURATION,
    configuration.OUT_OF_BOUNDS,
    refusals.REFUSED_TOGETHER,
    sglang_start.REFUSED_AT_START,
)
_TABLES: Mapping[str, Engine] = {
    "vllm": "vllm",
    "vllm-omni": "vllm",
    "sglang": "sglang",
}
# Paths that the upstream image of vLLM has where it starts.
_EXAMPLES = "examples/"
_SWITCH = "enable-lora"
_LARGEST = "max-lora-rank"
# LoRAConfig of all releases.
_DEFAULT_LARGEST = 16


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
    Check the environment of a container that runs one of the engines' own servers;
    nothing is found of an image without such an engine.

    What is omitted is not known, but for the model: that is looked up by its name.
    ``words`` are what the user calls a variable, and ``unchecked`` the variables that
    no check is wanted of.
    """
    base = _base_subject(
        environment,
        find_engine_release(family, version),
        architecture=architecture,
        instance_type=instance_type,
        accelerators=accelerators,
        model_data=model_data,
        is_isolated=network_isolation,
        words=words or {},
        unchecked=unchecked,
    )
    if base is None:
        return []
    image = base.image
    subjects = [read_by(base, ENTRY_POINTS[rule]) for rule in image.rules] or [base]
    found = subject_findings(subjects[0])
    return found if subjects[0].table is None else _settled_findings(found, subjects)


def host_findings(environment: Environment) -> list[Finding]:
    """
    Find what a GPU has against the model that an environment asks for.
    """
    base = _base_subject(
        environment.variables,
        find_engine_release(environment.family, environment.version),
        architecture=environment.architecture,
        instance_type=environment.instance_type,
        accelerators=environment.accelerators,
        model_data=None,
        is_isolated=environment.network_isolation,
    )
    if base is None or base.image.rule is None:
        return []
    subject = read_by(base, ENTRY_POINTS[base.image.rule])
    return [*support.model_support_findings(subject)]


def _base_subject(
    environment: Mapping[str, str],
    image: EngineRelease | None,
    *,
    architecture: Config,
    instance_type: str | None,
    accelerators: int | None,
    model_data: Collection[str] | None,
    is_isolated: bool,
    words: Mapping[str, str] = MappingProxyType({}),
    unchecked: Collection[str] = (),
) -> EngineSubject | None:
    if image is None:
        return None
    kind = _kind(environment, architecture)
    described = everything = {
        name: value
        for name, value in environment.items()
        if name not in unchecked
        and not is_unresolved(value)
        and not (name.endswith("_CHAT_TEMPLATE") and value.startswith(_EXAMPLES))
    }
    if image.engine == "vllm-omni":
        described = dict(_without_own(described, image))
    hardware = None
    if instance_type is not None and instance_type in instance_type_names():
        hardware = find_instance_type(instance_type)
    return EngineSubject(
        environment=described,
        image=image,
        hidden=frozenset(environment) - frozenset(described),
        accelerators=None if is_unresolved(accelerators) else accelerators,
        attention_heads=heads_of(kind),
        architecture=None if is_unresolved(kind) else class_in(kind),
        accelerator_model=hardware.accelerator_model if hardware else None,
        memory_gib=hardware.memory_gib if hardware else None,
        model_data=model_data,
        is_isolated=is_isolated,
        model_type=_said(kind, "model_type", str),
        context_length=_said(kind, "context_length", int),
        words=words,
        kind=None if is_unresolved(kind) else kind,
        own={name: everything[name] for name in everything if name not in described},
    )


def subject_findings(subject: EngineSubject) -> list[Finding]:
    """
    Run every check of an engine's environment, before the parser's word on it.
    """
    more = _CHECKS_OF_TEI if subject.image.engine == "tei" else ()
    return [finding for check in (*_CHECKS, *more) for finding in check(subject)]


def read_by(base: EngineSubject, rule: EntryPoint) -> EngineSubject:
    """
    Return what an entry point makes of an environment.
    """
    image = base.image
    table = _TABLES.get(image.engine)
    if table is None:
        return replace(base, rule=rule, release=image.engine_version or "")
    # Of a tag that moves it is what the tag stands for today.
    pinned = pinned_version(image.family, image.version)
    behind = (
        image if image.engine_version else find_engine_release(image.family, pinned)
    )
    release = (behind and behind.engine_version) or engine_releases(table)[-1]
    settings = tuple(settings_of(base.environment, rule, table, release))
    return replace(base, rule=rule, table=table, release=release, settings=settings)


def _without_own(
    environment: Mapping[str, str], image: EngineRelease
) -> Iterator[tuple[str, str]]:
    rule = ENTRY_POINTS[image.rule] if image.rule is not None else None
    for name, value in environment.items():
        is_argument = rule is not None and name.startswith(rule.prefix)
        flag = rule.flag(name).removeprefix("--") if rule is not None else ""
        own = find_omni_argument(flag, image.engine_version) or find_omni_argument(
            flag.removeprefix("no-"), image.engine_version
        )
        if not is_argument or own is None:
            yield name, value


def _settled_findings(
    found: list[Finding], subjects: list[EngineSubject]
) -> list[Finding]:
    """
    Let the engine's own parser have the last word.

    It is asked for each entry point that the image may have: what one of them starts
    is not refused, and neither is what a release that is not described would read.
    """
    refusals = [
        ""
        if subject.rule is None or subject.table is None
        else engine_values.refusal(
            subject.environment,
            subject.rule,
            subject.table,
            subject.release,
            is_whole=not subject.hidden and not subject.has_argument("config"),
        )
        for subject in subjects
    ]
    is_described = _is_described(subjects[0])
    is_refused = all(refusals) and is_described
    last_words = {rule.code for rule in OF_THE_PARSER}
    settled = []
    for finding in found:
        if finding.code not in last_words or is_refused:
            settled.append(finding)
        elif any(refusals):
            settled.append(_doubted(finding))
    last_words |= {REFUSED.code, MAY_BE_REFUSED.code}
    if any(refusals) and not any(finding.code in last_words for finding in settled):
        rule = REFUSED if is_refused else MAY_BE_REFUSED
        words = next(filter(None, refusals))
        settled.append(rule.finding(f"{subjects[0].title} does not start: {words}"))
    if is_described:
        return settled
    of_the_release = {rule.code for rule in OF_THE_RELEASE}
    of_the_release |= configuration.NOT_FOUND_CODES
    return [_doubted(one) if one.code in of_the_release else one for one in settled]


def _doubted(finding: Finding) -> Finding:
    return MAY_BE_REFUSED.finding(
        f"{finding.message} (that depends on the image's build or release)",
        finding.remedy,
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
    found = kind if isinstance(kind, Mapping) else {name: getattr(kind, name, None)}
    value = found.get(name)
    return value if isinstance(value, of) else None


def engine_family(
    schema: Literal["openai", "chat"] | None, *, takes_adapters: bool | None
) -> Family:
    """
    Describe the images of an engine: how they want a prompt, ``None`` where they take
    none, and whether they take adapters as vLLM does, ``None`` if that is not known.
    """

    def findings(environment: Environment) -> list[Finding]:
        container = environment.container
        model_data: Collection[str] | None = None
        if environment.has_model_data is False:
            model_data = ()
        elif container and container.files and container.weights_uri is None:
            model_data = tuple(container.files)
        return engine_findings(
            environment.variables,
            family=environment.family,
            version=environment.version,
            accelerators=environment.accelerators,
            architecture=environment.architecture,
            instance_type=environment.instance_type,
            model_data=model_data,
            network_isolation=environment.network_isolation,
        )

    def adapters(
        container: Container, variables: Mapping[str, str], _architecture: str | None
    ) -> AdapterHost | None:
        image = container.image
        if takes_adapters:
            return adapter_settings(variables, image.family, image.version)
        if takes_adapters is None:
            return None
        return without_adapters(image, "of the engines' own images those of vLLM do")

    def dialect(
        _container: Container,
        _variables: Mapping[str, str],
        architecture: ModelArchitecture | str | None,
    ) -> Dialect:
        if schema is None:
            return Dialect()
        # What keeps no cache embeds or ranks, and writes nothing.
        if schema == "openai" and isinstance(architecture, ModelArchitecture):
            return Dialect(schema, takes_chats=architecture.keeps_cache)
        return Dialect(schema, takes_chats=True)

    return Family(
        findings=findings,
        adapters=adapters,
        dialect=dialect,
        has_own_server=True,
        on_host=host_findings,
    )


def adapter_settings(
    variables: Mapping[str, str], family: str, version: str
) -> AdapterHost | None:
    """
    Read what vLLM is told of adapters; ``None`` for an image that is not known.
    """
    image = find_engine_release(family, version)
    if image is None or image.rule is None:
        return None
    rule = ENTRY_POINTS[image.rule]
    settled = {k: v for k, v in variables.items() if not is_unresolved(v)}
    hidden = variables.keys() - settled.keys()
    subject = EngineSubject(environment=settled, image=image, hidden=hidden)
    subject = read_by(subject, rule)
    named = rule.variable(_SWITCH)
    # What deployment decides is taken for on: it is the user's own word.
    states: dict[str, bool | None] = {named: True, UPDATES: True}
    value = subject.value(_SWITCH)
    if isinstance(value, bool):
        states[named] = value
    elif not subject.has_argument(_SWITCH):
        # What the entry point drops is off.
        states[named] = False if named in settled else None
    if UPDATES not in hidden:
        updates = settled.get(UPDATES)
        states[UPDATES] = None if updates is None else is_switched_on(updates)
    # Without the rule of truth a flag stands alone.
    values = {named: "true" if rule.reads_truth else "", UPDATES: "true"}
    is_on = False if False in states.values() else all(states.values()) or None
    has_largest = subject.has_argument(_LARGEST)
    return AdapterHost(
        image=find_image(family, version),
        is_on=is_on,
        largest_rank=subject.number(_LARGEST) if has_largest else _DEFAULT_LARGEST,
        switches={k: values[k] for k, is_set in states.items() if is_set is None},
    )
