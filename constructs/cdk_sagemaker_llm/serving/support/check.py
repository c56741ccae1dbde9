"""
The public check: whether a release of an engine loads a model on an instance type.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Mapping
from typing import Any

from cdk_sagemaker_llm.architectures import ModelArchitecture
from cdk_sagemaker_llm.arguments import held
from cdk_sagemaker_llm.catalog.instances import InstanceType, accelerators_of
from cdk_sagemaker_llm.catalog.model_classes import has_ability
from cdk_sagemaker_llm.catalog.releases import ENGINES, known_releases, release_key
from cdk_sagemaker_llm.findings import Finding, Rule, errors_of
from cdk_sagemaker_llm.serving.checks import Check, checks_of
from cdk_sagemaker_llm.serving.support.checkpoint import checkpoint_of
from cdk_sagemaker_llm.serving.support.support_subject import TITLES, Subject
from cdk_sagemaker_llm.text import any_of, nearest

UNKNOWN_RELEASE = Rule(
    "LLM880", "no catalogued image has the release of the engine that is asked about"
)

# The modules with each engine's rules, in this room; loaded when it is asked about. The
# first says whether the release has the class: where not, the others are not asked.
_RULES: Mapping[str, tuple[str, ...]] = {
    "vllm": (
        "vllm_classes",
        "quantization",
        "number_formats",
        "lengths",
        "attention",
        "splits",
        "vllm_arguments",
        "vllm_parsers",
    ),
    "sglang": ("sglang_models", "sglang_formats"),
    "tgi": ("tgi_models",),
    "tei": ("tei_models",),
    "llama.cpp": ("llama_cpp_models",),
    "tgi-neuron": ("neuron_models",),
    "vllm-neuron": ("neuron_models",),
    "vllm-omni": ("omni_models",),
    "lmi-dist": ("lmi_models",),
    "tensorrt-llm": ("lmi_models",),
    "deepspeed": ("lmi_models",),
}
# Those whose classes are listed by release.
_LISTED = ("vllm", "sglang")


@held
def check_support(
    model: str | ModelArchitecture,
    *,
    engine: str,
    release: str,
    instance_type: str,
    arguments: Mapping[str, Any] | None = None,
    config: Mapping[str, Any] | None = None,
    environment: Mapping[str, str] | None = None,
    network_isolation: bool = False,
) -> tuple[Finding, ...]:
    """
    Check whether an engine loads a model on an instance type, before anything runs.

    ``check_support("mistralai/Mistral-7B-v0.1", engine="vllm", release="0.10.2",
    instance_type="ml.g5.2xlarge", arguments={"max_model_len": 131072})``

    Args:
        model: The model's name on the Hugging Face Hub, or its architecture.

        engine: ``vllm``, ``sglang``, ``tgi``, ``tei``, ``tensorrt-llm``, ``lmi-dist``,
            ``deepspeed``, ``vllm-neuron``, ``vllm-omni``, ``tgi-neuron`` or
            ``llama.cpp``.

        release: The engine's own release, such as ``0.10.2``.

        instance_type: What it runs on, such as ``ml.g5.2xlarge``.

        arguments: The engine's own arguments, such as ``{"max_model_len": 131072}``.
            If omitted, the engine has its defaults.

        config: What is known of the model's config.json, at least ``architectures``.
            If omitted, it is what the catalogue knows of the model.

        environment: The container's variables. If omitted, it has none of its own.

        network_isolation: Whether the container is cut off from the network.
            If omitted, it is not.

    Returns:
        What was found: an error where the engine refuses to start, a warning where it
        falls back to something else, or where nobody saw it run. Nothing is found of
        what is not known.

    Raises:
        ValueError: If there is no such engine or instance type, or an argument is not
            of its kind.
    """
    if engine not in ENGINES:
        near = nearest(engine, ENGINES, count=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise ValueError(f"engine must be {any_of(ENGINES)}, got {engine!r}{hint}")
    accelerator, count = accelerators_of(instance_type)
    known = known_releases(engine)
    if release_key(release) not in map(release_key, known):
        near = [one for one in known if release_key(one) <= release_key(release)]
        return (
            UNKNOWN_RELEASE.finding(
                f"no catalogued image has {TITLES[engine]} {release}: whether it loads "
                "the model is not known",
                f"the nearest is {(near or known)[-1 if near else 0]}" if known else "",
            ),
        )
    asked = {name.replace("-", "_"): value for name, value in (arguments or {}).items()}
    return support_findings(
        Subject(
            engine=engine,
            release=release,
            checkpoint=checkpoint_of(model, config, asked),
            accelerator=accelerator,
            accelerators=count,
            instance_type=instance_type,
            arguments=asked,
            environment=environment or {},
            network_isolation=network_isolation,
        )
    )


def support_on(
    hardware: InstanceType,
    model: str | ModelArchitecture,
    *,
    engine: str,
    release: str,
    arguments: Mapping[str, Any] | None = None,
) -> tuple[Finding, ...]:
    """
    Return what an engine's rules find of a model on hardware, which may be of a type
    that the catalogue does not have.
    """
    asked = arguments or {}
    return support_findings(
        Subject(
            engine=engine,
            release=release,
            checkpoint=checkpoint_of(model, None, asked),
            accelerator=hardware.accelerator_model,
            accelerators=hardware.accelerators,
            instance_type=hardware.name,
            arguments=asked,
        )
    )


def is_judged(
    model: str | ModelArchitecture,
    *,
    engine: str,
    release: str,
    config: Mapping[str, Any] | None = None,
) -> bool:
    """
    Whether enough is known of a model and a release to say that it loads: its class,
    and what the release does with it.
    """
    name = checkpoint_of(model, config).class_name
    if name is None or engine not in _RULES:
        return False
    return engine not in _LISTED or has_ability(engine, name, release) is not None


def support_findings(subject: Subject) -> tuple[Finding, ...]:
    """
    Return what an engine's rules find.

    Of a model whose class it does not load nothing else is told.
    """
    found: list[Finding] = []
    for checks in _checks(subject.engine):
        found += [finding for check in checks for finding in check(subject)]
        if checks is _checks(subject.engine)[0] and errors_of(found):
            break
    return tuple(found)


@functools.cache
def _checks(engine: str) -> tuple[tuple[Check, ...], ...]:
    room = __name__.rpartition(".")[0]
    names = _RULES.get(engine, ())
    return tuple(checks_of(importlib.import_module(f"{room}.{one}")) for one in names)
