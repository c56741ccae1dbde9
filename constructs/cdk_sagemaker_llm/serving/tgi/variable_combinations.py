"""
Rules between variables of TGI: what its launcher exits on, and what has no effect.

The versions of each rule are those whose ``launcher/src/main.rs`` was read: 0.9.3,
1.0.3, 1.4.0, 2.0.0, 2.0.2, 2.2.0, 2.3.1, 2.4.0, 3.0.1 and 3.3.6. Up to 0.8.2 it
compares no lengths.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator

from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.serving.parameters import (
    MISSPELT,
    NEVER_ANSWERS,
    offline_hub_findings,
)
from cdk_sagemaker_llm.serving.tgi.tgi_variables import (
    LAUNCHER,
    OPTIONS,
    UNREADABLE_VALUE,
    TgiSubject,
    as_number,
)
from cdk_sagemaker_llm.text import any_of, counted

LENGTHS_SINCE = "0.9.3"
# From 2.0.0 lengths left out come from the model, and this is their upper limit.
MODEL_LENGTHS = ("2.0.0", "2.4.0")
LARGEST_DEFAULT = 4096
# The launcher adds it to the longest prompt where no size of a batch is set.
_PREFILL_MARGIN = 50
_ADAPTER = re.compile(r"^([^=@]+)(?:=([^@]+))?(?:@(.+))?$")
_ATTENTION = ("paged", "flashdecoding", "flashinfer")
# The server's own exception to dtype with quantize (server/cli.py).
_QUANTIZE_BESIDE_DTYPE = ("bitsandbytes", "bitsandbytes-nf4", "bitsandbytes-fp4")

TWO_PROMPT_LENGTHS = Rule(
    "LLM171", "TGI is given its longest prompt under two names, from 2.0.0 on", LAUNCHER
)


def two_prompt_lengths_findings(subject: TgiSubject) -> Iterator[Finding]:
    """
    From 2.0.0 on MAX_INPUT_TOKENS is the new name of MAX_INPUT_LENGTH.
    """
    names = ("MAX_INPUT_LENGTH", "MAX_INPUT_TOKENS")
    if all(subject.value(name) is not None for name in names):
        yield TWO_PROMPT_LENGTHS.finding(
            f"{subject.word(names[0])} and {subject.word(names[1])} are one setting, "
            "got both",
            f"keep {subject.word(names[1])}",
        )


PROMPT_NOT_BELOW_TOTAL = Rule(
    "LLM115",
    "TGI's longest prompt is not below its total of prompt and answer, from 0.9.3 on",
    LAUNCHER,
)


def prompt_length_findings(subject: TgiSubject) -> Iterator[Finding]:
    """
    MAX_INPUT_LENGTH < MAX_TOTAL_TOKENS, from 0.9.3 on.
    """
    name, limit = prompt_variable(subject), "MAX_TOTAL_TOKENS"
    prompt, total = _prompt(subject), subject.count_or_default(limit)
    if subject.is_between(*MODEL_LENGTHS) and subject.is_left_out(limit):
        total = LARGEST_DEFAULT
    if not subject.is_between(LENGTHS_SINCE) or prompt is None or total is None:
        return
    if prompt >= total:
        yield PROMPT_NOT_BELOW_TOTAL.finding(
            f"{subject.word(name)} must be below {subject.word(limit)}, got "
            f"{_got(subject, name, prompt)} and {_got(subject, limit, total)}",
        )


TOTAL_ABOVE_BATCH = Rule(
    "LLM116",
    "TGI's longest request does not fit into a batch, from 0.9.3 to 3.3.6",
    LAUNCHER,
)
PROMPT_ABOVE_PREFILL = Rule(
    "LLM164",
    "TGI's longest prompt does not fit into a prefill step, from 0.9.3 to 2.3.1",
    LAUNCHER,
)
PREFILL_ABOVE_BATCH = Rule(
    "LLM165",
    "a prefill step of TGI does not fit into a batch, from 0.9.3 to 2.3.1",
    LAUNCHER,
)


def batch_limit_findings(subject: TgiSubject) -> Iterator[Finding]:
    """
    From 0.9.3 on a request fits into a batch, up to 3.3.6; and up to 2.3.1 a prompt
    fits into a prefill step, which fits into a batch.

    Up to 1.4.5 MAX_BATCH_PREFILL_TOKENS is 4096 when left out: a longer prompt needs
    both variables.
    """
    total, batch = "MAX_TOTAL_TOKENS", "MAX_BATCH_TOTAL_TOKENS"
    step, prompt = "MAX_BATCH_PREFILL_TOKENS", prompt_variable(subject)
    for rule, last, large, small, least in (
        (TOTAL_ABOVE_BATCH, "3.3.6", batch, total, subject.count_or_default(total)),
        (PROMPT_ABOVE_PREFILL, "2.3.1", step, prompt, _prompt(subject)),
        (PREFILL_ABOVE_BATCH, "2.3.1", batch, step, _prefill(subject)),
    ):
        most = subject.count_or_default(large)
        if least is None or most is None or most >= least:
            continue
        if subject.is_between(LENGTHS_SINCE, last):
            yield rule.finding(
                f"{subject.word(large)} must be at least {subject.word(small)}, got "
                f"{_got(subject, large, most)} and {_got(subject, small, least)}",
            )


TOTAL_OF_LONG_MODELS = Rule(
    "LLM268",
    "TGI's total may be below the longest prompt it takes from the model, from 2.0.0 "
    "to 2.4.0",
    LAUNCHER,
)
PREFILL_OF_LONG_MODELS = Rule(
    "LLM269",
    "TGI's prefill step may be below the longest prompt it takes from the model, from "
    "2.0.0 to 2.3.1",
    LAUNCHER,
)


def long_model_findings(subject: TgiSubject) -> Iterator[Finding]:
    """
    From 2.0.0 on a prompt length left out may exceed the total, up to 2.4.0, and the
    prefill step, up to 2.3.1.
    """
    name = prompt_variable(subject)
    for rule, last, variable, answer in (
        (TOTAL_OF_LONG_MODELS, "2.4.0", "MAX_TOTAL_TOKENS", 1),
        (PREFILL_OF_LONG_MODELS, "2.3.1", "MAX_BATCH_PREFILL_TOKENS", 0),
    ):
        most = subject.count(variable)
        if most is None or most - answer >= LARGEST_DEFAULT - 1:
            continue
        if subject.is_between("2.0.0", last) and subject.is_left_out(name):
            yield rule.finding(
                f"{subject.word(variable)} is {subject.value(variable)}, and "
                f"{subject.word(name)} left out is up to {LARGEST_DEFAULT - 1} by the "
                "model: the launcher exits where it does not fit",
                f"set {subject.word(name)} to at most {most - answer}",
            )


NO_VALIDATION_WORKER = Rule("LLM166", "TGI has no validation worker", LAUNCHER)
NO_SHARD = Rule("LLM167", "TGI has no shard", LAUNCHER)


def worker_findings(subject: TgiSubject) -> Iterator[Finding]:
    """
    There is a validation worker, and a shard.
    """
    for rule, name in (
        (NO_VALIDATION_WORKER, "VALIDATION_WORKERS"),
        (NO_SHARD, "NUM_SHARD"),
    ):
        if subject.count(name) == 0:
            yield rule.finding(f"{subject.word(name)} must be at least 1, got 0")


SHARDED_OVER_ONE = Rule(
    "LLM168", "TGI is sharded over one GPU", f"find_num_shards, {LAUNCHER}"
)


def sharded_findings(subject: TgiSubject) -> Iterator[Finding]:
    """
    SHARDED=true needs more than one shard.
    """
    shards = subject.count("NUM_SHARD")
    if subject.is_left_out("NUM_SHARD"):
        shards = subject.accelerators
    # A count of 0 is another rule's.
    if subject.value("SHARDED") == "true" and shards == 1:
        yield SHARDED_OVER_ONE.finding(
            f"SHARDED=true needs more than one GPU in {subject.word('NUM_SHARD')}, "
            "got 1",
            "leave SHARDED out",
        )


MORE_SHARDS_THAN_GPUS = Rule(
    "LLM174", "TGI has more shards than a copy has GPUs", "each shard takes one"
)


def accelerator_findings(subject: TgiSubject) -> Iterator[Finding]:
    """
    There are as many GPUs as shards: each takes one of its own.
    """
    shards, present = subject.count("NUM_SHARD"), subject.accelerators
    if shards is not None and present is not None and shards > present:
        yield MORE_SHARDS_THAN_GPUS.finding(
            f"{subject.word('NUM_SHARD')} must be at most the "
            f"{counted(present, 'accelerator')} of each copy, got {shards}",
        )


SHARDED_EXL2 = Rule(
    "LLM169", "TGI shards a model quantized with exl2, from 2.2.0 on", LAUNCHER
)


def exl2_findings(subject: TgiSubject) -> Iterator[Finding]:
    """
    What is quantized with exl2 runs on one GPU, from 2.2.0 on, which brought it.
    """
    shards = subject.count("NUM_SHARD")
    if subject.value("QUANTIZE") == "exl2" and shards is not None and shards > 1:
        yield SHARDED_EXL2.finding(
            f"{subject.word('QUANTIZE')}=exl2 runs on one GPU, got "
            f"{subject.word('NUM_SHARD')}={shards}",
        )


DTYPE_WITH_QUANTIZE = Rule(
    "LLM170",
    "TGI is given a type together with a quantization that decides it",
    "server/text_generation_server/cli.py of TGI",
)


def dtype_with_quantize_findings(subject: TgiSubject) -> Iterator[Finding]:
    """
    DTYPE and QUANTIZE both decide the weights' type (server/cli.py).
    """
    dtype, quantize = subject.value("DTYPE"), subject.value("QUANTIZE")
    if dtype and quantize and quantize not in _QUANTIZE_BESIDE_DTYPE:
        yield DTYPE_WITH_QUANTIZE.finding(
            f"{subject.word('DTYPE')} and {subject.word('QUANTIZE')} exclude each "
            f"other, got {dtype} and {quantize}",
            "leave one of them out",
        )


ROPE_WITHOUT_FACTOR = Rule(
    "LLM266", "TGI is given a linear RoPE scaling without a factor", OPTIONS
)


def rope_scaling_findings(subject: TgiSubject) -> Iterator[Finding]:
    """
    ROPE_SCALING=linear without ROPE_FACTOR scales by 1.0 (the launcher's help).

    Dynamic scaling does not need one: it grows with the text.
    """
    linear = subject.value("ROPE_SCALING") == "linear"
    if linear and subject.is_left_out("ROPE_FACTOR"):
        yield ROPE_WITHOUT_FACTOR.finding(
            f"{subject.word('ROPE_SCALING')}=linear scales by 1.0, which changes "
            "nothing",
            f"set {subject.word('ROPE_FACTOR')} as well",
        )


NO_SHARE_OF_MEMORY = Rule(
    "LLM267",
    "TGI is given a share of GPU memory that is none",
    "torch.cuda.set_per_process_memory_fraction",
)


def memory_fraction_findings(subject: TgiSubject) -> Iterator[Finding]:
    """
    CUDA_MEMORY_FRACTION is a share of the memory.

    The launcher takes any number; PyTorch takes what is within 0 and 1.
    """
    share = as_number(subject.value("CUDA_MEMORY_FRACTION"))
    if share is not None and not 0 < share <= 1:
        yield NO_SHARE_OF_MEMORY.finding(
            f"{subject.word('CUDA_MEMORY_FRACTION')} should be above 0 and at most "
            f"1, got {share:g}",
        )


def key_findings(subject: TgiSubject) -> Iterator[Finding]:
    """
    The router asks for its key on /invocations, and SageMaker sends none.
    """
    if subject.knows("API_KEY") and subject.environment.get("API_KEY"):
        yield NEVER_ANSWERS.finding(
            f"{subject.word('API_KEY')} has TGI answer /invocations with 401, for "
            "SageMaker sends no key",
            "leave it out: IAM says who may invoke the endpoint",
        )


def host_findings(subject: TgiSubject) -> Iterator[Finding]:
    """
    The router listens on the address that HOSTNAME is, and on all where it is a name.
    """
    host = subject.value("HOSTNAME")
    try:
        address = ipaddress.ip_address(host or "0.0.0.0")  # noqa: S104 - the launcher's default
    except ValueError:
        return
    if not address.is_unspecified:
        yield NEVER_ANSWERS.finding(
            f"{subject.word('HOSTNAME')}={host} has TGI listen where SageMaker does "
            "not call it",
            "leave it out",
        )


def tunnel_findings(subject: TgiSubject) -> Iterator[Finding]:
    """
    With a tunnel of ngrok the router listens there, and on no port.
    """
    if subject.value("NGROK") == "true":
        yield NEVER_ANSWERS.finding(
            f"{subject.word('NGROK')}=true has TGI listen behind a tunnel of ngrok, "
            "which SageMaker does not call",
            "leave it out",
        )


_OF_LMI = "OPTION_"
_INSTEAD_OF = {
    "TENSOR_PARALLEL_DEGREE": "SM_NUM_GPUS",
    "QUANTIZE": "HF_MODEL_QUANTIZE",
    "MODEL_ID": "HF_MODEL_ID",
    "MAX_MODEL_LEN": "MAX_TOTAL_TOKENS",
    "TRUST_REMOTE_CODE": "HF_MODEL_TRUST_REMOTE_CODE",
    "REVISION": "HF_MODEL_REVISION",
}


def prefix_findings(subject: TgiSubject) -> Iterator[Finding]:
    """
    Variables of LMI have a prefix that TGI does not look for.
    """
    for name in subject.environment:
        if name.startswith(_OF_LMI) and name not in subject.unchecked:
            meant = _INSTEAD_OF.get(name.removeprefix(_OF_LMI))
            yield MISSPELT.finding(
                f"{name} is for LMI: TGI ignores it",
                f"write {meant}" if meant else "leave it out",
            )


def adapter_findings(subject: TgiSubject) -> Iterator[Finding]:
    """
    Each adapter is an id, with its path and revision where they are said
    (``parse_lora_adapters`` of TGI's server, since 2.3.1).
    """
    value = subject.value("LORA_ADAPTERS")
    if not value or not subject.is_between("2.3.1"):
        return
    for adapter in value.split(","):
        parts = adapter.strip()
        is_one = _ADAPTER.match(parts) and max(map(parts.count, "=@")) <= 1
        if not is_one:
            yield UNREADABLE_VALUE.finding(
                f"{subject.word('LORA_ADAPTERS')} must be ids of adapters joined by "
                f"commas, each with =path and @revision at most once, got {value!r}",
                "write it as in org/adapter,mine=/opt/ml/model/mine",
            )
            return


def attention_findings(subject: TgiSubject) -> Iterator[Finding]:
    """
    The server knows some kinds of attention (``models/globals.py``, since 2.3.1).
    """
    kind = subject.raw("ATTENTION")
    if kind is not None and subject.is_between("2.3.1") and kind not in _ATTENTION:
        yield UNREADABLE_VALUE.finding(
            f"ATTENTION must be {any_of(_ATTENTION)}, got {kind!r}: no shard starts"
        )


def offline_findings(subject: TgiSubject) -> Iterator[Finding]:
    """
    What is offline has its model in the container.
    """
    model = subject.raw("HF_MODEL_ID")
    if model:
        yield from offline_hub_findings(subject.environment, "HF_MODEL_ID", model)


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


def _got(subject: TgiSubject, variable: str, value: int) -> str:
    return f"the default {value}" if subject.is_left_out(variable) else str(value)
