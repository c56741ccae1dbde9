"""
Rules between variables of TGI: what its launcher exits on, and what has no effect.

The versions of each rule are those whose ``launcher/src/main.rs`` was read: 0.9.3,
1.0.3, 1.4.0, 2.0.0, 2.0.2, 2.2.0, 2.3.1, 2.4.0, 3.0.1 and 3.3.6. Up to 0.8.2 it
compares no lengths.
"""

from __future__ import annotations

from collections.abc import Iterator

from cdk_sagemaker_llm.findings import Finding, error, warning
from cdk_sagemaker_llm.serving.tgi.checks.subject import TgiSubject
from cdk_sagemaker_llm.serving.tgi.values import as_number

LENGTHS_SINCE = "0.9.3"
# From 2.0.0 lengths left out come from the model, and this is their upper limit.
MODEL_LENGTHS = ("2.0.0", "2.4.0")
LARGEST_DEFAULT = 4096
# The launcher adds it to the longest prompt where no size of a batch is set.
_PREFILL_MARGIN = 50
# The server's own exception to dtype with quantize (server/cli.py).
_QUANTIZE_BESIDE_DTYPE = ("bitsandbytes", "bitsandbytes-nf4", "bitsandbytes-fp4")


def check_prompt_below_total(subject: TgiSubject) -> Iterator[Finding]:
    """
    LLM115: MAX_INPUT_LENGTH < MAX_TOTAL_TOKENS, from 0.9.3 on.
    """
    prompt, total = _prompt(subject), _total(subject)
    if not subject.is_between(LENGTHS_SINCE) or prompt is None or total is None:
        return
    if prompt >= total:
        name, limit = prompt_variable(subject), "MAX_TOTAL_TOKENS"
        yield error(
            "LLM115",
            f"{subject.word(name)} must be below {subject.word(limit)}, got "
            f"{_got(subject, name, prompt)} and {_got(subject, limit, total)}",
        )


def check_total_within_batch(subject: TgiSubject) -> Iterator[Finding]:
    """
    LLM116: MAX_TOTAL_TOKENS <= MAX_BATCH_TOTAL_TOKENS, from 0.9.3 to 3.3.6.
    """
    if subject.is_between(LENGTHS_SINCE, "3.3.6"):
        yield from _at_least(
            subject,
            "LLM116",
            "MAX_BATCH_TOTAL_TOKENS",
            "MAX_TOTAL_TOKENS",
            subject.count_or_default("MAX_TOTAL_TOKENS"),
        )


def check_prefill_holds_prompt(subject: TgiSubject) -> Iterator[Finding]:
    """
    LLM164: MAX_BATCH_PREFILL_TOKENS >= MAX_INPUT_LENGTH, from 0.9.3 to 2.3.1.

    Up to 1.4.5 it is 4096 when left out: a longer prompt needs both variables.
    """
    if subject.is_between(LENGTHS_SINCE, "2.3.1"):
        name = prompt_variable(subject)
        yield from _at_least(
            subject, "LLM164", "MAX_BATCH_PREFILL_TOKENS", name, _prompt(subject)
        )


def check_prefill_within_batch(subject: TgiSubject) -> Iterator[Finding]:
    """
    LLM165: MAX_BATCH_PREFILL_TOKENS <= MAX_BATCH_TOTAL_TOKENS, from 0.9.3 to 2.3.1.
    """
    if subject.is_between(LENGTHS_SINCE, "2.3.1"):
        yield from _at_least(
            subject,
            "LLM165",
            "MAX_BATCH_TOTAL_TOKENS",
            "MAX_BATCH_PREFILL_TOKENS",
            _prefill(subject),
        )


def check_validation_workers(subject: TgiSubject) -> Iterator[Finding]:
    """
    LLM166: VALIDATION_WORKERS > 0.
    """
    if subject.count("VALIDATION_WORKERS") == 0:
        yield error(
            "LLM166",
            f"{subject.word('VALIDATION_WORKERS')} must be at least 1, got 0",
        )


def check_shards(subject: TgiSubject) -> Iterator[Finding]:
    """
    LLM167: NUM_SHARD >= 1.
    """
    if subject.count("NUM_SHARD") == 0:
        yield error("LLM167", f"{subject.word('NUM_SHARD')} must be at least 1, got 0")


def check_sharded(subject: TgiSubject) -> Iterator[Finding]:
    """
    LLM168: SHARDED=true needs more than one shard.
    """
    shards = subject.count("NUM_SHARD")
    if subject.is_left_out("NUM_SHARD"):
        shards = subject.accelerators
    # A count of 0 is another rule's.
    if subject.value("SHARDED") == "true" and shards == 1:
        yield error(
            "LLM168",
            f"SHARDED=true needs more than one GPU in {subject.word('NUM_SHARD')}, "
            "got 1",
            "leave SHARDED out",
        )


def check_exl2(subject: TgiSubject) -> Iterator[Finding]:
    """
    LLM169: exl2 runs on one GPU, from 2.2.0 on, which brought it.
    """
    shards = subject.count("NUM_SHARD")
    if subject.value("QUANTIZE") == "exl2" and shards is not None and shards > 1:
        yield error(
            "LLM169",
            f"{subject.word('QUANTIZE')}=exl2 runs on one GPU, got "
            f"{subject.word('NUM_SHARD')}={shards}",
        )


def check_dtype_with_quantize(subject: TgiSubject) -> Iterator[Finding]:
    """
    LLM170: DTYPE and QUANTIZE both decide the weights' type (server/cli.py).
    """
    dtype, quantize = subject.value("DTYPE"), subject.value("QUANTIZE")
    if dtype and quantize and quantize not in _QUANTIZE_BESIDE_DTYPE:
        yield error(
            "LLM170",
            f"{subject.word('DTYPE')} and {subject.word('QUANTIZE')} exclude each "
            f"other, got {dtype} and {quantize}",
            "leave one of them out",
        )


def check_two_prompt_lengths(subject: TgiSubject) -> Iterator[Finding]:
    """
    LLM171: from 2.0.0 on MAX_INPUT_TOKENS is the new name of MAX_INPUT_LENGTH.
    """
    names = ("MAX_INPUT_LENGTH", "MAX_INPUT_TOKENS")
    if all(subject.value(name) is not None for name in names):
        yield error(
            "LLM171",
            f"{subject.word(names[0])} and {subject.word(names[1])} are one setting, "
            "got both",
            f"keep {subject.word(names[1])}",
        )


def check_accelerators(subject: TgiSubject) -> Iterator[Finding]:
    """
    LLM174: there are as many GPUs as shards: each takes one of its own.
    """
    shards, present = subject.count("NUM_SHARD"), subject.accelerators
    if shards is not None and present is not None and shards > present:
        yield error(
            "LLM174",
            f"{subject.word('NUM_SHARD')} must be at most the {present} accelerators "
            f"of each copy, got {shards}",
        )


def check_rope_scaling(subject: TgiSubject) -> Iterator[Finding]:
    """
    LLM266: ROPE_SCALING=linear without ROPE_FACTOR scales by 1.0 (the launcher's help).

    Dynamic scaling does not need one: it grows with the text.
    """
    linear = subject.value("ROPE_SCALING") == "linear"
    if linear and subject.is_left_out("ROPE_FACTOR"):
        yield warning(
            "LLM266",
            f"{subject.word('ROPE_SCALING')}=linear scales by 1.0, which changes "
            "nothing",
            f"set {subject.word('ROPE_FACTOR')} as well",
        )


def check_memory_fraction(subject: TgiSubject) -> Iterator[Finding]:
    """
    LLM267: CUDA_MEMORY_FRACTION is a share of the memory.

    The launcher takes any number; PyTorch takes what is within 0 and 1.
    """
    share = as_number(subject.value("CUDA_MEMORY_FRACTION"))
    if share is not None and not 0 < share <= 1:
        yield warning(
            "LLM267",
            f"{subject.word('CUDA_MEMORY_FRACTION')} should be above 0 and at most "
            f"1, got {share:g}",
        )


def check_total_of_long_models(subject: TgiSubject) -> Iterator[Finding]:
    """
    LLM268: from 2.0.0 to 2.4.0 a prompt length left out may exceed the total.
    """
    total = subject.count("MAX_TOTAL_TOKENS")
    if subject.is_between(*MODEL_LENGTHS) and total is not None:
        yield from _below_default(subject, "LLM268", "MAX_TOTAL_TOKENS", total - 1)


def check_prefill_of_long_models(subject: TgiSubject) -> Iterator[Finding]:
    """
    LLM269: from 2.0.0 to 2.3.1 a prompt length left out may exceed the prefill.
    """
    prefill = subject.count("MAX_BATCH_PREFILL_TOKENS")
    if subject.is_between(MODEL_LENGTHS[0], "2.3.1") and prefill is not None:
        yield from _below_default(
            subject, "LLM269", "MAX_BATCH_PREFILL_TOKENS", prefill
        )


def prompt_variable(subject: TgiSubject) -> str:
    """
    Return the variable that limits prompts: the one set, else the version's own.
    """
    for name in ("MAX_INPUT_TOKENS", "MAX_INPUT_LENGTH"):
        if subject.knows(name) and not subject.is_left_out(name):
            return name
    return "MAX_INPUT_TOKENS" if subject.is_between("2.0.0") else "MAX_INPUT_LENGTH"


def _prompt(subject: TgiSubject) -> int | None:
    return subject.count_or_default(prompt_variable(subject))


def _total(subject: TgiSubject) -> int | None:
    name = "MAX_TOTAL_TOKENS"
    if subject.is_between(*MODEL_LENGTHS) and subject.is_left_out(name):
        return LARGEST_DEFAULT
    return subject.count_or_default(name)


def _prefill(subject: TgiSubject) -> int | None:
    name, prompt = "MAX_BATCH_PREFILL_TOKENS", _prompt(subject)
    if not subject.is_left_out(name) or not subject.is_between("2.0.0"):
        return subject.count_or_default(name)
    if prompt is None:
        return None
    if subject.is_left_out("MAX_BATCH_SIZE"):
        return prompt + _PREFILL_MARGIN
    size = subject.count("MAX_BATCH_SIZE")
    return None if size is None else size * prompt


def _at_least(
    subject: TgiSubject, code: str, large: str, small: str, small_value: int | None
) -> Iterator[Finding]:
    large_value = subject.count_or_default(large)
    if large_value is None or small_value is None or large_value >= small_value:
        return
    yield error(
        code,
        f"{subject.word(large)} must be at least {subject.word(small)}, got "
        f"{_got(subject, large, large_value)} and {_got(subject, small, small_value)}",
    )


def _below_default(
    subject: TgiSubject, code: str, variable: str, longest: int
) -> Iterator[Finding]:
    name = prompt_variable(subject)
    if longest >= LARGEST_DEFAULT - 1 or not subject.is_left_out(name):
        return
    yield warning(
        code,
        f"{subject.word(variable)} is {subject.value(variable)}, and "
        f"{subject.word(name)} left out is up to {LARGEST_DEFAULT - 1} by the model: "
        "the launcher exits where it does not fit",
        f"set {subject.word(name)} to at most {longest}",
    )


def _got(subject: TgiSubject, variable: str, value: int) -> str:
    return f"the default {value}" if subject.is_left_out(variable) else str(value)
