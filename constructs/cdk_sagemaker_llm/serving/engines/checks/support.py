"""
Checks of what the engine's release loads: the model's class, its length and formats,
and what is asked for, against the checkpoint.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from cdk_sagemaker_llm.findings import Finding
from cdk_sagemaker_llm.models import hub_name
from cdk_sagemaker_llm.serving.engines.checks.engine_models import (
    named_model,
    names_gguf,
)
from cdk_sagemaker_llm.serving.engines.checks.engine_subject import EngineSubject

_ENGINES = ("vllm", "sglang")
# What variables say of a model in engines whose arguments no table describes: only
# what the rules of those engines ask for.
_VARIABLES: Mapping[str, Mapping[str, str]] = {
    "tei": {"DTYPE": "dtype", "POOLING": "pooling"},
    "vllm-neuron": {},
    "llama.cpp": {},
}
# Code that is trusted or not by deployment is nobody's mistake.
_DECIDED_LATER = ("trust-remote-code",)


def model_support_findings(subject: EngineSubject) -> Iterator[Finding]:
    """
    The release loads the model as it is asked to, on the GPU where that is known.
    """
    if subject.image.engine in _VARIABLES:
        yield from _undescribed_findings(subject)
    if subject.image.engine not in _ENGINES or subject.table is None:
        return
    named = named_model(subject)
    name = named[1] if named is not None else None
    if name is not None and names_gguf(name):
        return
    # Few models are known, and only they need the rules and tables.
    if subject.kind is None and name is None:
        return
    from cdk_sagemaker_llm.serving.support.wiring import wired_findings  # noqa: PLC0415

    arguments: dict[str, object] = {}
    words: dict[str, str] = {}
    for setting in subject.settings:
        argument = setting.option.argument
        if argument is not None:
            key = argument.name.replace("-", "_")
            arguments[key] = subject.value(argument.name)
            words[key] = subject.word_of(argument.name)
    for argument_name in _DECIDED_LATER:
        key = argument_name.replace("-", "_")
        words.setdefault(key, subject.word_of(argument_name))
        if subject.has_argument(argument_name) and arguments.get(key) is None:
            arguments[key] = True
    yield from wired_findings(
        engine=subject.image.engine,
        release=subject.release,
        name=hub_name(name),
        kind=subject.kind,
        accelerator=subject.accelerator_model,
        accelerators=subject.accelerators,
        arguments=arguments,
        environment=subject.environment,
        network_isolation=subject.is_isolated,
        words=words,
    )


def _undescribed_findings(subject: EngineSubject) -> Iterator[Finding]:
    """
    Find what an engine without a table of arguments does with the model.
    """
    release = subject.image.engine_version
    named = named_model(subject)
    name = named[1] if named is not None else None
    is_file = name is not None and names_gguf(name)
    if release is None or is_file or (name is None and subject.kind is None):
        return
    from cdk_sagemaker_llm.serving.support.wiring import wired_findings  # noqa: PLC0415 - as above

    names = _VARIABLES[subject.image.engine]
    is_of_processors = subject.image.family.endswith("-cpu")
    yield from wired_findings(
        engine=subject.image.engine,
        release=release,
        name=hub_name(name),
        kind=subject.kind,
        accelerator=subject.accelerator_model,
        accelerators=0 if is_of_processors else subject.accelerators,
        arguments={
            argument: subject.environment[variable]
            for variable, argument in names.items()
            if variable in subject.environment
        },
        environment=subject.environment,
        network_isolation=subject.is_isolated,
        words={name: subject.word(variable) for variable, name in names.items()},
    )
