"""
The public check: whether a release of an engine loads a model on an instance type.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from cdk_sagemaker_llm.architectures import ModelArchitecture
from cdk_sagemaker_llm.arguments import held
from cdk_sagemaker_llm.catalog.engine_releases import ENGINES
from cdk_sagemaker_llm.catalog.instances import (
    InstanceType,
    accelerators_of,
    host_memory_of,
)
from cdk_sagemaker_llm.catalog.releases import is_between, known_releases, release_key
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.serving.support.check import support_findings
from cdk_sagemaker_llm.serving.support.checkpoint import checkpoint_of
from cdk_sagemaker_llm.serving.support.support_subject import Subject
from cdk_sagemaker_llm.text import any_of, nearest

# Between which releases an engine's limits were read in its source.
_READ: Mapping[str, tuple[str, str]] = {
    "vllm": ("0.2.0", "0.33.0"),
    "sglang": ("0.4.5", "0.5.23"),
    "tgi": ("0.8.0", "3.3.7"),
    "tei": ("1.2.0", "1.9.3"),
    # What none of the builds has that were read, no older one has either.
    "llama.cpp": ("b1", "b9522"),
}

UNKNOWN_RELEASE = Rule(
    "LLM880", "no catalogued image has the release of the engine that is asked about"
)


@held
def check_support(
    model: str | ModelArchitecture,
    *,
    engine: str,
    release: str,
    instance_type: str | InstanceType,
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

        instance_type: What it runs on: its API name, such as ``ml.g5.2xlarge``, or a
            description.

        arguments: The engine's own arguments, such as ``{"max_model_len": 131072}``, as
            its command line or its Python class has them.
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
    if isinstance(instance_type, InstanceType):
        accelerator = instance_type.accelerator_model
        count, memory = instance_type.accelerators, instance_type.memory_gib
    else:
        accelerator, count = accelerators_of(instance_type)
        memory = host_memory_of(instance_type)
    outside = _unknown_release_findings(engine, release)
    if outside and not _is_read(engine, release):
        return outside
    engine_arguments = {
        name.replace("-", "_"): value for name, value in (arguments or {}).items()
    }
    subject = Subject(
        engine=engine,
        release=release,
        checkpoint=checkpoint_of(model, config, engine_arguments),
        accelerator=accelerator,
        accelerators=count,
        memory_gib=memory,
        arguments=engine_arguments,
        environment=environment or {},
        network_isolation=network_isolation,
    )
    found = support_findings(subject)
    # Who asks of the model alone needs no tables of arguments.
    more = tuple(_argument_findings(subject, found)) if engine_arguments else ()
    return (*outside, *found, *more)


def _unknown_release_findings(engine: str, release: str) -> tuple[Finding, ...]:
    releases = known_releases(engine)
    if release_key(release) in map(release_key, releases):
        return ()
    near = [one for one in releases if release_key(one) <= release_key(release)]
    title = f"no catalogued image has {ENGINES[engine]} {release}"
    what = (
        "only what the releases around it have in common is known"
        if _is_read(engine, release)
        else "whether it loads the model is not known"
    )
    return (
        UNKNOWN_RELEASE.finding(
            f"{title}: {what}",
            f"the nearest is {(near or releases)[-1 if near else 0]}"
            if releases
            else "",
        ),
    )


def _is_read(engine: str, release: str) -> bool:
    """
    Whether a release is among those whose limits were read, be there an image or not.
    """
    first, last = _READ.get(engine, ("", ""))
    return bool(first) and is_between(release, first, last)


def _argument_findings(
    subject: Subject, found: tuple[Finding, ...]
) -> Iterator[Finding]:
    """
    Find what the release refuses of its arguments, beside what is found already.
    """
    if subject.engine in {"vllm", "sglang"}:
        from cdk_sagemaker_llm.serving.engines import asked_arguments  # noqa: PLC0415 - as above

        yield from asked_arguments.asked_findings(subject, found)
    elif subject.engine == "tei":
        from cdk_sagemaker_llm.serving.engines import asked_arguments  # noqa: PLC0415 - as above

        yield from asked_arguments.asked_of_tei_findings(subject)
    elif subject.engine == "tgi":
        from cdk_sagemaker_llm.serving.tgi import tgi_support  # noqa: PLC0415 - as above

        yield from tgi_support.asked_findings(subject, found)
