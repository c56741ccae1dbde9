"""
Checks of TEI's variables, which its router reads by their own names: of images of TEI
alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from cdk_sagemaker_llm.catalog.engine_arguments import (
    TEI_CHOICES,
    TEI_LIMITS,
    TEI_NUMBERS,
    TEI_PAIRS,
    TEI_SINCE,
    TEI_SWITCHES,
    is_release_between,
)
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.serving.engines.checks.engine_models import HUB, names_gguf
from cdk_sagemaker_llm.serving.engines.checks.engine_subject import EngineSubject
from cdk_sagemaker_llm.serving.parameters import MISSPELT, almost
from cdk_sagemaker_llm.text import any_of

_ROUTER = "router/src of text-embeddings-inference, v1.2.3 to v1.9.3"
# As Rust reads a number without a sign: of ASCII digits, and no blanks around them.
# More digits than these no number of Rust's has.
_WHOLE = re.compile(r"\+?0*([0-9]{1,20})")
_LARGEST = {"PROMETHEUS_PORT": 2**16 - 1}
_LARGEST_OF_OTHERS = 2**64 - 1
_TRUTH = ("true", "false")
_SIMILARITY = "sentence-similarity"
_REFUSES_LONG_CONTEXTS_SINCE = "1.9.0"
_BATCH_TOKENS = 16384
# What models of the class of those that write, and made for vectors, are called.
_EMBEDS = re.compile(
    r"embed|rerank|retriev|search|(?<![a-z0-9])(e5|bge|gte|sfr|gritlm|jina|linq|stella)",
    re.IGNORECASE,
)

UNREAD_BY_TEI = Rule(
    "LLM626", "TEI is told what its release is not known to read", _ROUTER
)


def tei_name_findings(subject: EngineSubject) -> Iterator[Finding]:
    """
    TEI's variables are spelt so, and known to its release.
    """
    for name in subject.environment:
        meant = almost(name, TEI_SINCE)
        since = TEI_SINCE.get(name, "")
        if meant:
            yield MISSPELT.finding(
                f"{name} is no variable of {subject.image.family}: it is ignored",
                f"did you mean {meant}?",
            )
        elif not _is_since(subject, since):
            yield UNREAD_BY_TEI.finding(
                f"{subject.word(name)} came with TEI {since}: {_title(subject)} "
                "ignores it",
                "set HF_API_TOKEN" if name == "HF_TOKEN" else "take a newer version",
            )
    task = subject.environment.get("TASK", _SIMILARITY)
    if task != _SIMILARITY:
        yield UNREAD_BY_TEI.finding(
            f"TEI knows {subject.word('TASK')}={_SIMILARITY} alone, and ignores "
            f"{task!r}: what it does follows the model",
            "leave it out",
        )


REFUSED_BY_TEI = Rule(
    "LLM527", "TEI's router refuses a variable, and does not start", _ROUTER
)


def tei_value_findings(subject: EngineSubject) -> Iterator[Finding]:
    """
    TEI's variables hold what its router reads.
    """
    for name, value in subject.environment.items():
        expectation = ""
        if name in TEI_CHOICES:
            choices = [k for k, v in TEI_CHOICES[name].items() if _is_since(subject, v)]
            expectation = "" if value in choices else any_of(choices)
        elif _is_since(subject, TEI_SINCE.get(name, "")):
            if name in TEI_SWITCHES:
                expectation = "" if value in _TRUTH else any_of(_TRUTH)
            elif name in TEI_NUMBERS:
                number = _number(value)
                largest = _LARGEST.get(name, _LARGEST_OF_OTHERS)
                is_number = number is not None and number <= largest
                expectation = "" if is_number else "a whole number"
        if expectation:
            yield REFUSED_BY_TEI.finding(
                f"{subject.word(name)} must be {expectation}, got {value!r}: "
                f"{_title(subject)} does not start"
            )
    for pair in TEI_PAIRS:
        are_known = all(_is_since(subject, TEI_SINCE[name]) for name in pair)
        if are_known and all(name in subject.environment for name in pair):
            one, other = map(subject.word, pair)
            yield REFUSED_BY_TEI.finding(
                f"{one} and {other} exclude each other: TEI does not start with both",
                f"leave {other} out",
            )


ANSWERS_NOTHING = Rule(
    "LLM529", "TEI is set so that it answers no request of SageMaker's", _ROUTER
)


def tei_request_findings(subject: EngineSubject) -> Iterator[Finding]:
    """
    TEI lets requests in, as SageMaker sends them.
    """
    for name in TEI_LIMITS:
        value = subject.environment.get(name, "")
        if _number(value) == 0:
            yield ANSWERS_NOTHING.finding(
                f"{subject.word(name)} must be at least 1, got 0: TEI answers no "
                "request"
            )
    if "API_KEY" in subject.environment:
        yield ANSWERS_NOTHING.finding(
            "API_KEY makes TEI ask for an Authorization header, which SageMaker does "
            "not pass on: it refuses every request",
            "leave it out: who may invoke the endpoint, IAM decides",
        )


GGUF_IN_TEI = Rule(
    "LLM636",
    "TEI is given a repository of GGUF files, which it does not read",
    "core/src/download.rs and backends/src/lib.rs of text-embeddings-inference",
)


def tei_gguf_findings(subject: EngineSubject) -> Iterator[Finding]:
    """
    TEI reads safetensors, PyTorch's files or ONNX.
    """
    model = subject.environment.get(HUB, "")
    if names_gguf(model):
        yield GGUF_IN_TEI.finding(
            f"{model} says that it is of GGUF files, and TEI reads safetensors, "
            "PyTorch's files or ONNX",
            "name the repository that the GGUF files were made of, or serve them with "
            'LlamaCpp(distribution="huggingface", embeddings=True)',
        )


WRITES_TEXT = Rule(
    "LLM638",
    "TEI is given a model that writes text, as far as its name and class say",
    "router/src/lib.rs of text-embeddings-inference: such a model has no pooling",
)


def tei_task_findings(subject: EngineSubject) -> Iterator[Finding]:
    """
    TEI makes vectors and scores, and writes nothing.

    Some models of embeddings are of the class of those that write; their names, or how
    vectors are to become one, tell them apart.
    """
    model, kind = subject.environment.get(HUB, ""), subject.architecture or ""
    is_said = subject.is_set("POOLING") or _EMBEDS.search(model) is not None
    if is_said or not model or model.startswith("/"):
        return
    if kind.endswith("ForCausalLM"):
        yield WRITES_TEXT.finding(
            f"{model} is a {kind}, which writes text, and TEI makes vectors and scores "
            "alone",
            "serve it with Vllm, or name a model for embeddings; of one that is, say "
            "pooling",
        )


CUTS_NOTHING = Rule(
    "LLM635",
    "TEI may not start: it is not to shorten texts that are longer than a batch",
    _ROUTER,
)


def tei_length_findings(subject: EngineSubject) -> Iterator[Finding]:
    """
    A model's longest text goes into a batch, or may be shortened.

    How long a text may be the model's own sentence_bert_config.json can say as well.
    """
    shortens = subject.environment.get("AUTO_TRUNCATE", "true") != "false"
    length = subject.context_length
    tokens = _number(subject.environment.get("MAX_BATCH_TOKENS", str(_BATCH_TOKENS)))
    is_asked = _is_since(subject, _REFUSES_LONG_CONTEXTS_SINCE)
    is_hidden = "MAX_BATCH_TOKENS" in subject.hidden
    if shortens or is_hidden or not is_asked or length is None or tokens is None:
        return
    if length > tokens:
        yield CUTS_NOTHING.finding(
            f"the model takes {length} tokens, a batch has room for {tokens}, and "
            f"{subject.word('AUTO_TRUNCATE')} is off: TEI does not start so",
            f"set {subject.word('MAX_BATCH_TOKENS')} to {length}, or let it truncate",
        )


def _title(subject: EngineSubject) -> str:
    return f"TEI {subject.image.engine_version}"


def _is_since(subject: EngineSubject, since: str) -> bool:
    release = subject.image.engine_version
    return not since or release is None or is_release_between(release, since)


def _number(value: str) -> int | None:
    found = _WHOLE.fullmatch(value)
    return int(found[1]) if found else None
