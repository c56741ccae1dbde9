"""
What the registry knows of the engines' own images: their checks, their adapters, and
how they want requests.

All images of vLLM in the catalogue have vLLM 0.13.0 or later, whose server has the
route by which SageMaker loads adapters; it is there if the engine takes LoRA and may be
given adapters while it runs (model-hosting-container-standards, and vllm/entrypoints of
0.13.0).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Literal

from cdk_sagemaker_llm.architectures import ModelArchitecture
from cdk_sagemaker_llm.catalog.engine_releases import find_engine_release
from cdk_sagemaker_llm.catalog.images import find_image
from cdk_sagemaker_llm.findings import Finding
from cdk_sagemaker_llm.serving.adapters import AdapterHost, without_adapters
from cdk_sagemaker_llm.serving.base import Container
from cdk_sagemaker_llm.serving.checks import Dialect, Environment, Family
from cdk_sagemaker_llm.serving.engines.checks.engine_subject import EngineSubject
from cdk_sagemaker_llm.serving.engines.checks.lora import UPDATES, is_switched_on
from cdk_sagemaker_llm.serving.engines.engine_environment import (
    engine_findings,
    read_by,
)
from cdk_sagemaker_llm.serving.engines.entry_points import ENTRY_POINTS
from cdk_sagemaker_llm.tokens import is_unresolved

_SWITCH = "enable-lora"
_LARGEST = "max-lora-rank"
# LoRAConfig of all releases.
_DEFAULT_LARGEST = 16


def engine_family(
    schema: Literal["openai", "chat"] | None, *, takes_adapters: bool | None
) -> Family:
    """
    Describe the images of an engine.

    Args:
        schema: How they want a prompt; ``None`` where they take none.

        takes_adapters: Whether they take adapters as vLLM does; ``None`` if that is not
            known.
    """

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

    adapters = {True: _adapter_host, False: _no_adapters, None: _unknown_adapters}
    return Family(
        findings=_environment_findings,
        adapters=adapters[takes_adapters],
        dialect=dialect,
        has_own_server=True,
    )


def _environment_findings(environment: Environment) -> list[Finding]:
    return engine_findings(
        environment.variables,
        family=environment.family,
        version=environment.version,
        accelerators=environment.accelerators,
        architecture=environment.architecture,
        instance_type=environment.instance_type,
        model_data=_model_data(environment),
        network_isolation=environment.network_isolation,
    )


def _model_data(environment: Environment) -> Collection[str] | None:
    """
    Return the files in ``/opt/ml/model``; ``None`` where they are not all known.
    """
    if environment.has_model_data is False:
        return ()
    container = environment.container
    if container is None or not container.files or container.weights_uri is not None:
        return None
    return tuple(container.files)


def _adapter_host(
    container: Container,
    variables: Mapping[str, str],
    architecture: str | None,  # noqa: ARG001 - what every family is asked with
) -> AdapterHost | None:
    return adapter_settings(variables, container.image.family, container.image.version)


def _no_adapters(
    container: Container,
    variables: Mapping[str, str],  # noqa: ARG001 - what every family is asked with
    architecture: str | None,  # noqa: ARG001 - as above
) -> AdapterHost:
    return without_adapters(
        container.image, "of the engines' own images those of vLLM do"
    )


def _unknown_adapters(
    container: Container,  # noqa: ARG001 - what every family is asked with
    variables: Mapping[str, str],  # noqa: ARG001 - as above
    architecture: str | None,  # noqa: ARG001 - as above
) -> None:
    return None


def adapter_settings(
    variables: Mapping[str, str], family: str, version: str
) -> AdapterHost | None:
    """
    Read what vLLM is told of adapters; ``None`` for an image that is not known.

    Args:
        variables: All variables of the container.

        family: The image family, such as ``vllm-server``.

        version: The image's version.
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
    states = {
        named: _is_lora_on(subject, named),
        UPDATES: True if UPDATES in hidden else _is_allowed(settled.get(UPDATES)),
    }
    # Without the rule of truth a flag stands alone.
    values = {named: "true" if rule.reads_truth else "", UPDATES: "true"}
    is_on = False if False in states.values() else all(states.values()) or None
    return AdapterHost(
        image=find_image(family, version),
        is_on=is_on,
        largest_rank=_largest_rank(subject),
        switches={k: values[k] for k, is_set in states.items() if is_set is None},
    )


def _is_lora_on(subject: EngineSubject, variable: str) -> bool | None:
    value = subject.value(_SWITCH)
    if isinstance(value, bool):
        return value
    if subject.has_argument(_SWITCH):
        # What deployment decides is taken for on: it is the user's own word.
        return True
    # The entry point drops it.
    return False if variable in subject.environment else None


def _is_allowed(value: str | None) -> bool | None:
    return None if value is None else is_switched_on(value)


def _largest_rank(subject: EngineSubject) -> int | None:
    if not subject.has_argument(_LARGEST):
        return _DEFAULT_LARGEST
    return subject.number(_LARGEST)
