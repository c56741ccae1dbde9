"""
Checks of what the TGI image is to serve, and whether it may download it.
"""

from __future__ import annotations

from collections.abc import Iterator

from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.serving.hub import (
    FORWARDED_TOKEN,
    HUB_TOKEN,
    ROUTER_TOKEN,
    TOKEN_VARIABLES,
    gated_findings,
)
from cdk_sagemaker_llm.serving.rules import NO_WEIGHTS
from cdk_sagemaker_llm.serving.tgi.checks.sources import ENTRY_POINT, MODELS
from cdk_sagemaker_llm.serving.tgi.checks.subject import TgiSubject
from cdk_sagemaker_llm.tokens import is_unresolved

_TOKENS = (*TOKEN_VARIABLES, FORWARDED_TOKEN)


def check_model_id(subject: TgiSubject) -> Iterator[Finding]:
    """
    HF_MODEL_ID is set; the entry point exits without it.
    """
    if not subject.environment.get("HF_MODEL_ID"):
        yield NO_WEIGHTS.finding("model is missing: TGI needs HF_MODEL_ID")


WEIGHTS_ON_S3 = Rule("LLM173", "TGI is given weights on S3 as its model", ENTRY_POINT)


def check_model_address(subject: TgiSubject) -> Iterator[Finding]:
    """
    HF_MODEL_ID is a Hub id or a local path (the launcher's help).
    """
    model = subject.raw("HF_MODEL_ID") or ""
    if model.startswith("s3://"):
        yield WEIGHTS_ON_S3.finding(
            f"HF_MODEL_ID must be a Hugging Face repository or a path, got {model!r}",
            "let SageMaker bring the weights: S3Model puts them into /opt/ml/model",
        )


UNEVEN_SHARDS = Rule(
    "LLM177", "TGI's shards do not divide the model's attention heads", MODELS
)


def check_heads(subject: TgiSubject) -> Iterator[Finding]:
    """
    The shards divide the attention heads (num_heads and num_shards in TGI's models).
    """
    heads, shards = subject.attention_heads, subject.count("NUM_SHARD")
    if subject.is_left_out("NUM_SHARD") and subject.value("SHARDED") != "false":
        # The launcher takes all that it sees.
        shards = subject.accelerators
    if not heads or not shards or heads % shards == 0:
        return
    fitting = [str(d) for d in (1, 2, 4, 8, 16) if heads % d == 0]
    yield UNEVEN_SHARDS.finding(
        f"{subject.word('NUM_SHARD')} must divide the {heads} attention heads, got "
        f"{shards}",
        f"use {', '.join(fitting)}",
    )


UNREAD_TOKEN = Rule(
    "LLM263",
    "the token stands where TGI up to 2.0.2 does not read it",
    "router/src/main.rs of TGI",
)


def check_token_name(subject: TgiSubject) -> Iterator[Finding]:
    """
    Up to 2.0.2 the router reads HUGGING_FACEHUB_TOKEN alone.
    """
    present = _present(subject)
    if subject.is_between("0.6.0", "2.0.2") and present == {HUB_TOKEN}:
        yield UNREAD_TOKEN.finding(
            f"the router of TGI {subject.version} does not read {HUB_TOKEN}: it "
            "cannot fetch the tokenizer of a gated model",
            f"set {ROUTER_TOKEN} as well",
        )


TWO_TOKENS = Rule(
    "LLM264",
    "two token variables of TGI hold different tokens",
    "launcher and router of TGI, which read one or the other",
)


def check_two_tokens(subject: TgiSubject) -> Iterator[Finding]:
    """
    Two token variables hold one token, for parts read different ones.
    """
    first, second = subject.raw(HUB_TOKEN), subject.raw(ROUTER_TOKEN)
    if first and second and first != second:
        yield TWO_TOKENS.finding(
            f"{HUB_TOKEN} and {ROUTER_TOKEN} differ, and parts of TGI read one or "
            "the other",
            "set both to the same token",
        )


def check_gated_model(subject: TgiSubject) -> Iterator[Finding]:
    """
    A model that is known to be gated comes with a token.
    """
    model = subject.raw("HF_MODEL_ID") or ""
    yield from gated_findings(model, has_token=bool(_present(subject)))


def _present(subject: TgiSubject) -> set[str]:
    values = {name: subject.environment.get(name) for name in _TOKENS}
    return {name for name, value in values.items() if value or is_unresolved(value)}
