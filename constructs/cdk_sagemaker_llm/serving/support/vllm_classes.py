"""
Whether a release of vLLM has a model's class, or something that runs it, and what it
does with that class: adapters, and stages.
"""

from __future__ import annotations

from collections.abc import Iterator

from cdk_sagemaker_llm.catalog.model_classes import (
    class_alike,
    class_row,
    has_ability,
    too_new_for_transformers,
    transformers_inside,
)
from cdk_sagemaker_llm.catalog.releases import first_of, image_within, last_of
from cdk_sagemaker_llm.catalog.transformers import runs_class
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.serving.support.support_subject import (
    TITLES,
    Subject,
)

_REGISTRY = "vllm/model_executor/models/registry.py"
# When the Transformers backend came, and when it took what reads pictures.
_BACKEND_SINCE = "0.7.2"
_BACKEND_OF_PICTURES_SINCE = "0.10.0"
_PICTURES = "ForConditionalGeneration"
_WRITES = (_PICTURES, "ForCausalLM", "LMHeadModel")

UNKNOWN_CLASS = Rule("LLM901", "the release does not have the model's class", _REGISTRY)
CLASS_BY_TRANSFORMERS = Rule(
    "LLM881", "a class runs on the Transformers backend, which is slower", _REGISTRY
)
REMOTE_CLASS = Rule(
    "LLM882", "whether the Transformers backend runs a class is not known", _REGISTRY
)
OLD_TRANSFORMERS = Rule(
    "LLM903",
    "the transformers package in the image does not know the model type",
    "tests/models/registry.py and requirements/common.txt of vLLM",
)
NO_ADAPTERS = Rule(
    "LLM905", "the model's class takes no LoRA adapters at the release", _REGISTRY
)
NO_STAGES = Rule(
    "LLM907",
    "the model's class cannot be split into pipeline stages at the release",
    _REGISTRY,
)


def class_findings(subject: Subject) -> Iterator[Finding]:
    """
    The release has one of the model's classes, or runs it otherwise.
    """
    classes = subject.checkpoint.classes
    if not classes or any(_is_taken(subject, name) for name in classes):
        return
    name = classes[0]
    version = transformers_inside(subject.engine, subject.release)
    row = class_row(subject.engine, name)
    if subject.is_at(_BACKEND_SINCE):
        # Where the version is not known, what the newest one lacks is not refused.
        runs = runs_class(name, version or "999")
        is_late = name.endswith(_PICTURES) and not subject.is_at(
            _BACKEND_OF_PICTURES_SINCE
        )
        if runs and not is_late:
            yield CLASS_BY_TRANSFORMERS.finding(
                f"{subject.title} has no {name} of its own, and falls back to the "
                "Transformers backend, which is slower",
                class_way_out(subject, name) if row else "",
            )
            return
        is_of_remote = subject.flag("trust_remote_code")
        # What reads texts alone the backend takes with transformers 5.
        is_encoder = version is None and not name.endswith(_WRITES)
        if row is None and not is_late and (is_of_remote or is_encoder):
            yield REMOTE_CLASS.finding(
                f"{subject.title} has no {name}: it runs only if the Transformers "
                "backend takes its code"
            )
            return
    until = (row or {}).get("until", "")
    dropped = f", which was dropped after {until}" if until else ""
    is_dropped = bool(until) and subject.is_at(until)
    yield UNKNOWN_CLASS.finding(
        f"{subject.title} does not load {name}{dropped if is_dropped else ''}",
        class_way_out(subject, name),
    )


def _is_taken(subject: Subject, name: str) -> bool:
    has = has_ability(subject.engine, name, subject.release)
    if has is None or has:
        return True
    return class_alike(subject.engine, name, subject.release) is not None


def class_way_out(subject: Subject, name: str) -> str:
    """
    Return which releases load a class, and an image with one of them.
    """
    row = class_row(subject.engine, name)
    if row is None:
        return (
            f"no release of {TITLES[subject.engine]} that is known loads it: correct "
            "architectures in config.json, or take another engine"
        )
    first, last = first_of(row["in"]), last_of(row["in"])
    span = f"{first} to {last}" if last else f"{first} and newer"
    image = image_within(subject.engine, row["in"])
    where = f", such as {image}" if image else ""
    return f"take an image with {subject.engine} {span}{where}"


def transformers_findings(subject: Subject) -> Iterator[Finding]:
    """
    The image's ``transformers`` knows the model type of a class that vLLM has.
    """
    name = subject.checkpoint.class_name
    if name is None or not has_ability(subject.engine, name, subject.release):
        return
    least = too_new_for_transformers(subject.engine, name, subject.release)
    if least is not None:
        model_type = subject.checkpoint.model_type
        of = f"the model type {model_type}" if model_type else name
        yield OLD_TRANSFORMERS.finding(
            f"{subject.title} has {name}, but the transformers package in its images "
            f"does not know {of}, which needs {least}",
            "take an image with a newer release",
        )


def adapter_findings(subject: Subject) -> Iterator[Finding]:
    """
    The class takes adapters where they are asked for.
    """
    name = subject.checkpoint.class_name
    if name is None or not subject.flag("enable_lora"):
        return
    if not has_ability(subject.engine, name, subject.release):
        return
    if has_ability(subject.engine, name, subject.release, "lora") is False:
        yield NO_ADAPTERS.finding(
            f"{subject.title} does not serve LoRA adapters on {name}, and "
            f"{subject.word('enable_lora')} asks for them",
            _since(subject, name, "lora"),
        )


def stage_findings(subject: Subject) -> Iterator[Finding]:
    """
    The class can be split into stages where it is.
    """
    name = subject.checkpoint.class_name
    stages = subject.number("pipeline_parallel_size")
    if name is None or stages is None or stages < 2:  # noqa: PLR2004 - one is none
        return
    if not has_ability(subject.engine, name, subject.release):
        return
    if has_ability(subject.engine, name, subject.release, "pp") is False:
        yield NO_STAGES.finding(
            f"{subject.title} cannot split {name} into pipeline stages, got "
            f"{subject.word('pipeline_parallel_size')}={stages}",
            _since(subject, name, "pp"),
        )


def _since(subject: Subject, name: str, ability: str) -> str:
    spans = (class_row(subject.engine, name) or {}).get(ability, "")
    first = first_of(spans)
    if not first or subject.is_at(first):
        return ""
    image = image_within(subject.engine, spans)
    where = f", such as {image}" if image else ""
    return f"take an image with {subject.engine} {first} or newer{where}"
