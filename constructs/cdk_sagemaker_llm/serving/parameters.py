"""
What the parameters of every backend have in common: rules that several of them can
break, bounds, names that are mistaken for others, and credentials in plain text.

A rule of one engine alone stands beside its check.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

from cdk_sagemaker_llm.architectures.families import class_doubt
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.models import (
    HuggingFaceModel,
    ModelSource,
    id_findings,
    revision_findings,
)
from cdk_sagemaker_llm.text import (
    any_of,
    credentials_in,
    kind_of,
    nearest,
    without_references,
)
from cdk_sagemaker_llm.tokens import is_unresolved

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

API = "SageMaker API, botocore 1.44.5"
_MODELS = "djl-serving, djl_python/properties_manager"
# The Hub's client reads the first; the router of TGI up to 2.0.2 the second alone, and
# hands the third on to it (the launcher's source).
HUB_TOKEN, ROUTER_TOKEN, FORWARDED_TOKEN = (
    "HF_TOKEN",
    "HUGGING_FACE_HUB_TOKEN",
    "HF_API_TOKEN",
)
# Those that a container is given, so that each part finds the one that it reads.
TOKEN_VARIABLES = (HUB_TOKEN, ROUTER_TOKEN)
# Organisations and families whose repositories ask for an accepted licence. The Hub
# alone knows which are gated today: this is a hint.
_GATED = (
    "meta-llama/",
    "mistralai/",
    "google/gemma",
    "google/codegemma",
    "google/paligemma",
    "CohereForAI/",
    "tiiuae/falcon-180B",
)
# As many choices are named as a sentence bears.
_NAMED = 3
# The ranks of adapters that vLLM takes (LoRAConfig).
VLLM_RANKS = (1, 8, 16, 32, 64, 128, 256, 320, 512)
_PAST = "pass another in unchecked_options"
# So like a known name that it can hardly mean something else.
_MISTYPED = 0.88
_OPTIONS = "OPTIONS_"
# As huggingface_hub and transformers read them, and where they look for a copy.
_OFFLINE = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")
_YES = ("1", "ON", "YES", "TRUE")
_CACHES = (
    "HF_HOME",
    "HF_HUB_CACHE",
    "HUGGINGFACE_HUB_CACHE",
    "TRANSFORMERS_CACHE",
    "WEIGHTS_CACHE_OVERRIDE",
    "XDG_CACHE_HOME",
)
_BY_REFERENCE = (
    "keep it in Secrets Manager and pass HuggingFaceModel(..., token=secret)"
)
_OUT_OF_FILES = "keep it in Secrets Manager"

UNKNOWN_IMAGE = Rule(
    "LLM102", "an image family or version does not exist", "SageMaker Python SDK"
)
PLAIN_CREDENTIAL = Rule(
    "LLM107", "a credential stands in plain text", "the issuers' published forms"
)
IMPOSSIBLE_NAME = Rule(
    "LLM106", "a name has characters or a length that the service refuses", API
)
OUTSIDE_RANGE = Rule("LLM111", "a number is outside the range that is accepted", API)
WRONG_KIND = Rule("LLM182", "an argument is not of the kind that it is declared to be")
NO_WEIGHTS = Rule("LLM112", "nothing names the model's weights")
REPEATED = Rule("LLM113", "an option or variable repeats what a parameter sets")
UNREADABLE = Rule(
    "LLM114",
    "a value cannot be written or read, or is known only at deployment",
    "java.util.Properties",
)
WRONG_CHOICE = Rule("LLM136", "a value is none of the option's choices", _MODELS)
OUTSIDE_OPTION_RANGE = Rule("LLM137", "a number is outside the option's range", _MODELS)
GATED_WITHOUT_TOKEN = Rule(
    "LLM214", "a gated model without a token", "a list of known families"
)
NEVER_ANSWERS = Rule(
    "LLM535",
    "a container that starts and is never healthy, or refuses every request",
    "SageMaker calls /ping and /invocations by HTTP on port 8080, without a credential "
    "of the server's own",
)
OFFLINE_HUB = Rule(
    "LLM640",
    "a model is on the Hub, and the Hub's client is told to stay offline",
    "huggingface_hub: HF_HUB_OFFLINE",
)
MISSPELT = Rule(
    "LLM228",
    "a variable that the container does not know, and what it is likely meant to be",
    "the names that each image reads",
)
DOUBTFUL_CLASS = Rule(
    "LLM232", "a model's class is none that is known, and likely mistaken"
)


def device_findings(accelerators: int | None) -> list[Finding]:
    """
    Find a number of devices that no copy can have; on a host without any it is 0.
    """
    if accelerators is None or is_unresolved(accelerators) or accelerators >= 0:
        return []
    return [
        OUTSIDE_RANGE.finding(f"accelerators must be at least 0, got {accelerators}")
    ]


def gated_findings(model_id: str, *, has_token: bool) -> list[Finding]:
    """
    A model that is known to be gated comes with a token.
    """
    if has_token or not model_id.startswith(_GATED):
        return []
    return [
        GATED_WITHOUT_TOKEN.finding(
            f"{model_id} has been gated on the Hugging Face Hub, and no token is set",
            "pass HuggingFaceModel(..., token=secret), or stage the weights on S3",
        )
    ]


def repository_findings(
    models: Mapping[str, str | None], revisions: Mapping[str, str | None]
) -> Iterator[Finding]:
    """
    What is neither a path in the image nor an address is what the Hub can have.
    """
    for word, model in models.items():
        name = model or ""
        # Of more than two parts it can be a path below where the engine starts.
        is_path = name.startswith(("/", ".")) or name.count("/") > 1
        if name and not is_path and "://" not in name:
            yield from id_findings(word, name)
    for word, revision in revisions.items():
        if revision:
            yield from revision_findings(word, revision)


def offline_hub_findings(
    environment: Mapping[str, str], variable: str, model: str
) -> Iterator[Finding]:
    """
    What is offline finds no model of the Hub, unless a cache is brought along.
    """
    switch = next((name for name in _OFFLINE if environment.get(name)), None)
    if switch is None or environment[switch].upper() not in _YES:
        return
    is_elsewhere = model.startswith(("/", ".")) or "://" in model
    has_cache = any(environment.get(name) for name in _CACHES)
    if is_elsewhere or has_cache or is_unresolved(model):
        return
    yield OFFLINE_HUB.finding(
        f"{switch}={environment[switch]} keeps the container from fetching {model}, "
        f"which {variable} names, and no variable says where a cache would be",
        f"leave {switch} out, or stage the weights on S3",
    )


@dataclass(frozen=True, slots=True)
class Bounds:
    """
    Which numbers or words an engine takes, whatever its version: from ``least`` or
    above ``above`` to ``most``, those in ``also`` beside them, and any word without
    ``choices``.
    """

    least: float | None = None
    above: float | None = None
    most: float | None = None
    choices: tuple[str, ...] = ()
    also: tuple[int, ...] = ()

    def fault(self, value: object) -> str | None:
        """
        Say what a value must be and is not; ``None`` if it is within the bounds.
        """
        if is_unresolved(value):
            return None
        if isinstance(value, str):
            wrong = self.choices and value not in self.choices
            return f"one such as {any_of(self.choices[:_NAMED])}" if wrong else None
        if not isinstance(value, int | float) or value in self.also:
            return None
        wrong = not (
            (self.least is None or value >= self.least)
            and (self.above is None or value > self.above)
            and (self.most is None or value <= self.most)
        )
        words = {"at least": self.least, "above": self.above, "at most": self.most}
        said = " and ".join(f"{w} {n:g}" for w, n in words.items() if n is not None)
        return ", or ".join([said, *map(str, self.also)]) if wrong else None


COUNT = Bounds(least=1)


SHARE = Bounds(above=0, most=1)


def option(name: str, bounds: Bounds | None = None) -> Any:  # noqa: ANN401 - stands for a field of any type
    """
    Declare a parameter that is written as ``option.<name>``, if it is given.
    """
    return field(default=None, metadata={"option": name, "bounds": bounds})


def bounds_findings(
    serving: DataclassInstance, options: Mapping[str, object]
) -> Iterator[Finding]:
    """
    Check each parameter against its bounds, and what is given as an option instead.
    """
    for one in fields(serving):
        bounds: Bounds | None = one.metadata.get("bounds")
        if bounds is None:
            continue
        yield from _bounds_findings(one.name, getattr(serving, one.name), bounds)
        # Newer releases of vLLM take a count of -1 for one that they choose, which a
        # parameter says by being left out: a count in options is the user's word.
        if bounds is not COUNT:
            key = f"option.{one.metadata['option']}"
            yield from _bounds_findings(key, options.get(key), bounds)


def _bounds_findings(name: str, value: object, bounds: Bounds) -> Iterator[Finding]:
    fault = bounds.fault(value)
    if fault is None:
        return
    if isinstance(value, str):
        near = nearest(value, bounds.choices, count=1)
        remedy = f"write {near[0]}, or {_PAST}" if near else _PAST
        yield WRONG_CHOICE.finding(f"{name} must be {fault}, got {value!r}", remedy)
    else:
        yield OUTSIDE_OPTION_RANGE.finding(f"{name} must be {fault}, got {value!r}")


def lora_rank_above(rank: int) -> int | None:
    """
    Return the least bound that vLLM takes and a rank is within; ``None`` for none.
    """
    return next((each for each in VLLM_RANKS if each >= rank), None)


def usual_mistake(name: str) -> str | None:
    """
    Return what a name is known to be mistaken for.
    """
    if name.startswith(_OPTIONS):
        return name.replace(_OPTIONS, "OPTION_", 1)
    from cdk_sagemaker_llm.catalog.engine_arguments import USUAL_NAMES  # noqa: PLC0415 - reads a table

    return USUAL_NAMES.get(name.upper())


def almost(name: str, choices: Iterable[str]) -> str | None:
    """
    Return the known name that differs in a letter or two; ``None`` for a known one.
    """
    names = tuple(choices)
    if name in names:
        return None
    import difflib  # noqa: PLC0415 - few names are wrong

    near = difflib.get_close_matches(name.upper(), names, 1, _MISTYPED)
    return near[0] if near else None


def with_class_named(
    found: Iterable[Finding], rule: Rule, architecture: object
) -> list[Finding]:
    """
    Return findings, in which a rule that a doubtful class breaks names that class.
    """
    doubts = class_findings(architecture)
    if not doubts:
        return list(found)
    (doubt,) = doubts
    way_out = f"{doubt.message}: {doubt.remedy}"
    return [
        replace(one, remedy=way_out) if one.code == rule.code else one for one in found
    ]


def class_findings(architecture: object) -> list[Finding]:
    """
    Warn of a class that is likely misspelt, or is none.
    """
    meant = class_doubt(architecture) if isinstance(architecture, str) else None
    if meant is None:
        return []
    return [
        DOUBTFUL_CLASS.finding(
            f"architecture {architecture!r} is no class that is known",
            f"did you mean {meant!r}?"
            if meant
            else "write the class in the model's config.json, under architectures",
        )
    ]


def credential_findings(where: str, values: Mapping[str, object]) -> list[Finding]:
    """
    Find values that look like a credential; the message never repeats them.

    Values may be nested: mappings, sequences and JSON text are looked into.
    """
    found = []
    for name, value in values.items():
        kind = next(_kinds(name, value), None)
        if kind:
            found.append(
                PLAIN_CREDENTIAL.finding(
                    f"{name} in {where} looks like {kind}", _BY_REFERENCE
                )
            )
    return found


def model_findings(model: ModelSource | None) -> list[Finding]:
    """
    Find a credential in what names the weights.
    """
    if model is None:
        return []
    if isinstance(model, HuggingFaceModel):
        named = {"model_id": model.model_id, "revision": model.revision or ""}
    else:
        named = {"uri": model.uri}
    return credential_findings(type(model).__name__, named)


def file_findings(files: Mapping[str, bytes]) -> list[Finding]:
    """
    Find credentials in the text files of an artifact, by their lines.
    """
    found = []
    for name in sorted(files):
        # Credentials are ASCII: whatever the file's encoding is, this finds them.
        text = files[name].decode("iso-8859-1")
        lines: dict[int, str] = {}
        for kind, start, _ in () if "\0" in text else credentials_in(text):
            lines.setdefault(text.count("\n", 0, start) + 1, kind)
        found += [
            PLAIN_CREDENTIAL.finding(
                f"line {line} of {name} looks like it holds {kind}", _OUT_OF_FILES
            )
            for line, kind in sorted(lines.items())
        ]
    return found


def _kinds(name: str, value: object) -> Iterator[str]:
    if kind := kind_of(name):
        yield kind
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _kinds(str(key), inner)
    elif isinstance(value, str):
        yield from _kinds_of_text(name, value)
    elif isinstance(value, Sequence):
        for inner in value:
            yield from _kinds("", inner)


def _kinds_of_text(name: str, value: str) -> Iterator[str]:
    if is_unresolved(value):
        return
    nested = None
    if value.lstrip()[:1] in ("{", "["):
        with suppress(ValueError, RecursionError):
            nested = json.loads(value)
    if nested is not None:
        yield from _kinds("", nested)
    is_token = name.upper() in (*TOKEN_VARIABLES, FORWARDED_TOKEN)
    if is_token and without_references(value):
        yield "a Hugging Face token"
    kind = kind_of(value) or kind_of(f"{name}={value}")
    if kind:
        yield kind
