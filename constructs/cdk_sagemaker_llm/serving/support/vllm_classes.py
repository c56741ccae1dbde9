"""
Whether a release of vLLM has a model's class, or something that runs it, and what it
does with that class: adapters, and stages.
"""

from __future__ import annotations

from collections.abc import Iterator

from cdk_sagemaker_llm.catalog.engine_releases import ENGINES
from cdk_sagemaker_llm.catalog.model_classes import (
    class_alike,
    class_row,
    has_ability,
    too_new_for_transformers,
    transformers_inside,
)
from cdk_sagemaker_llm.catalog.releases import (
    first_of,
    image_within,
    is_between,
    last_of,
)
from cdk_sagemaker_llm.catalog.transformers import reads_gguf, runs_class
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.serving.support.support_subject import Subject

_REGISTRY = "vllm/model_executor/models/registry.py"
# When the Transformers backend came, and when it took what reads pictures.
_BACKEND_SINCE = "0.7.2"
_BACKEND_OF_PICTURES_SINCE = "0.10.0"
_PICTURES = "ForConditionalGeneration"
_WRITES = (_PICTURES, "ForCausalLM", "LMHeadModel")

# Which do too, by code of their own (issue 20463).
_SEEING = frozenset({"JinaEmbeddingsV4Model"})

# Those of LLaVA's own package.
_OF_PACKAGES = frozenset(
    {"LlavaLlamaForCausalLM", "LlavaMistralForCausalLM", "LlavaQwenForCausalLM"}
)

# Whose code was last changed before the Transformers backend came, and does not have
# what that asks for (vLLM issue 15046).
_OF_OLD_CODE = frozenset({"StableLMAlphaForCausalLM"})

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
NEW_TRANSFORMERS = Rule(
    "LLM918",
    "the transformers package in the image is too new for the class",
    "tests/models/registry.py of vLLM, max_transformers_version",
)
# Which do not work with transformers 5, and the first release that needs it.
_NOT_WITH_5 = frozenset(
    {
        *("Tarsier2ForConditionalGeneration", "OpenPanguVLForConditionalGeneration"),
        "FireRedLIDForConditionalGeneration",
    }
)
_NEEDS_5 = "0.24.0"
NO_HEAD = Rule(
    "LLM929",
    "a model is made to classify that has no weights for it",
    "vllm/model_executor/models/adapters.py",
)
BROKEN_CLASS = Rule(
    "LLM920",
    "the release has the model's class, and fails when it makes or runs it",
    "vllm/model_executor/models, and text_generation_server/models of TGI",
)
# Whose own code does not fit what the release calls it with: MLAModules of 0.12.0, and
# V0's attention of 0.8.3, which lacks use_irope.
_BROKEN = {"KimiLinearForCausalLM": ("0.12.0", "0.12.0")}
# The last release that was read and has no fourth version of a class
# (_SUPPORT_VERSION of minicpmv.py; 0.10.2 has it).
_VERSIONED, _NO_FOURTH = "MiniCPMV", "0.10.0"
_BROKEN_OF_V0 = {"Llama4ForConditionalGeneration": ("0.8.3", "0.8.3")}
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
    if not classes and "architectures" in subject.checkpoint.override_keys:
        yield UNKNOWN_CLASS.finding(
            f"config.json of {subject.checkpoint.name} names no class, which "
            f"{subject.title} asks for",
            "write architectures into hf_overrides",
        )
    if (
        not classes
        or _reads_params(subject)
        or any(_is_taken(subject, name) for name in classes)
    ):
        return
    name = classes[0]
    version = transformers_inside(subject.engine, subject.release)
    row = class_row(subject.engine, name)
    if subject.is_at(_BACKEND_SINCE):
        # Where the version is not known, what the newest one lacks is not refused.
        runs = runs_class(name, version or "999")
        has_pictures = name.endswith(_PICTURES) or (
            # The same without a head, as fine-tuning programs write it.
            name in _SEEING
            or (
                name.endswith("VLModel")
                and class_row(subject.engine, name.removesuffix("Model") + _PICTURES)
                is not None
            )
        )
        is_late = has_pictures and not subject.is_at(_BACKEND_OF_PICTURES_SINCE)
        if runs and not is_late:
            yield CLASS_BY_TRANSFORMERS.finding(
                f"{subject.title} has no {name} of its own, and falls back to the "
                "Transformers backend, which is slower",
                class_way_out(subject, name) if row else "",
            )
            return
        is_of_remote = subject.flag("trust_remote_code")
        is_of_remote = is_of_remote and not _lacks_code(subject, name)
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


def broken_class_findings(subject: Subject) -> Iterator[Finding]:
    """
    The release runs its own class.
    """
    name = subject.checkpoint.class_name or ""
    is_old = subject.environment.get("VLLM_USE_V1") == "0"
    span = _BROKEN.get(name) or (_BROKEN_OF_V0.get(name) if is_old else None)
    if span is not None and subject.is_at(*span):
        engine = " with VLLM_USE_V1=0" if name in _BROKEN_OF_V0 else ""
        yield BROKEN_CLASS.finding(
            f"{subject.title} fails when it makes {name}{engine}",
            "leave VLLM_USE_V1 out" if engine else "take an image with another release",
        )


def class_version_findings(subject: Subject) -> Iterator[Finding]:
    """
    The release has the version of the class that config.json says.
    """
    name, version = (
        subject.checkpoint.class_name,
        subject.checkpoint.config.get("version"),
    )
    is_fourth = isinstance(version, int | float) and version >= 4  # noqa: PLR2004
    if name == _VERSIONED and is_fourth and subject.is_at("0.0", _NO_FOURTH):
        yield UNKNOWN_CLASS.finding(
            f"{subject.title} does not load version {version} of {name}",
            "take an image with vLLM 0.10.2 or newer",
        )


def _lacks_code(subject: Subject, name: str) -> bool:
    """
    Whether a class's code is in a package of its own, and never beside the weights, or
    is too old for the Transformers backend.
    """
    if name in _OF_OLD_CODE:
        return True
    return name in _OF_PACKAGES and "auto_map" not in subject.checkpoint.config


def _reads_params(subject: Subject) -> bool:
    """
    Whether vLLM reads Mistral's params.json, and makes a class of its own of that.
    """
    # Voxtral's has one name in both files.
    is_same = subject.checkpoint.class_name == "VoxtralForConditionalGeneration"
    return subject.text("config_format") == "mistral" and not is_same


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
            f"no release of {ENGINES[subject.engine]} that is known loads it: correct "
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
    if _reads_params(subject):
        return
    inside = transformers_inside(subject.engine, subject.release)
    is_part = subject.checkpoint.config.get("model_type") in _PARTS
    least: str | None = None
    if is_part and inside is not None and not is_between(inside, "5.0.0"):
        least = "5.2.0"
    elif name is not None and has_ability(subject.engine, name, subject.release):
        least = too_new_for_transformers(subject.engine, name, subject.release)
    if name in _NOT_WITH_5 and subject.is_at(_NEEDS_5):
        yield NEW_TRANSFORMERS.finding(
            f"{name} does not work with transformers 5, which {subject.title} needs",
            f"take an image with vLLM before {_NEEDS_5}",
        )
    if least is not None:
        model_type = subject.checkpoint.model_type
        of = f"the model type {model_type}" if model_type else name
        yield OLD_TRANSFORMERS.finding(
            f"{subject.title} has {name}, but the transformers package in its images "
            f"does not know {of}, which needs {least}",
            "take an image with a newer release",
        )


def gguf_findings(subject: Subject) -> Iterator[Finding]:
    """
    The image's ``transformers`` reads the configuration out of the GGUF file.
    """
    version = transformers_inside(subject.engine, subject.release)
    kind, is_gguf = subject.checkpoint.model_type, subject.checkpoint.method == "gguf"
    # Of a repository with a colon, and of a path, another file is read.
    is_beside = subject.is_at("0.12.0") and ":" in subject.checkpoint.name
    is_read = subject.is_at("0.5.4", "0.23.0") and not is_beside
    is_read = is_read and not subject.has("hf_config_path")
    if not is_gguf or not is_read or version is None or kind is None:
        return
    if reads_gguf(kind, version) is not False:
        return
    yield OLD_TRANSFORMERS.finding(
        f"transformers {version} in the images with {subject.title} does not read a "
        f"GGUF file of {kind}",
        "serve it with LlamaCpp, or take other weights",
    )


def head_findings(subject: Subject) -> Iterator[Finding]:
    """
    A model that is made to classify has weights for it, or is told how to make them.
    """
    name = subject.checkpoint.class_name or ""
    is_asked = "classify" in {subject.text("convert"), subject.text("task")}
    keys = ("classifier_from_token", "is_original_qwen3_reranker", "method")
    has_way = any(key in subject.checkpoint.config for key in keys)
    if is_asked and name.endswith("ForCausalLM") and not has_way:
        yield NO_HEAD.finding(
            f"{subject.title} classifies with weights for it, and {name} of "
            f"{subject.checkpoint.name} has none",
            "name a model that was trained to classify, or write "
            "classifier_from_token into hf_overrides",
        )
    tokens = subject.checkpoint.config.get("classifier_from_token")
    is_original = subject.checkpoint.config.get("is_original_qwen3_reranker")
    is_head = name.endswith("ForSequenceClassification")
    if is_original and is_head and not tokens and subject.is_at("0.9.2"):
        yield NO_HEAD.finding(
            f"{subject.title} makes the head of an original Qwen3 Reranker from two "
            "tokens, and classifier_from_token is not in hf_overrides",
            'add "classifier_from_token": ["no", "yes"]',
        )


# What vLLM knows as parts of a whole alone.
_PARTS = ("qwen3_5_text", "qwen3_5_moe_text")


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
