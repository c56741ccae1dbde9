"""
Checks of what SGLang refuses once its parser has read all of it: its ``ServerArgs``,
its model's configuration, and uvicorn in front of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from cdk_sagemaker_llm.catalog.checkpoints import known_checkpoint
from cdk_sagemaker_llm.catalog.engine_arguments import is_release_between
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.serving.engines.checks.engine_models import named_model
from cdk_sagemaker_llm.serving.engines.checks.engine_subject import EngineSubject
from cdk_sagemaker_llm.text import any_of

# uvicorn 0.38, LOG_LEVELS, as far as Python's logging, which SGLang sets up, has them.
_LEVELS = ("critical", "error", "warning", "info", "debug")
_HTTP_LEVELS = (*_LEVELS, "trace")
_COLON_SINCE = "0.5.6"
_LONGER = "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN"
_ENABLED = ("1", "true", "yes", "y", "on", "t")

# What a release's table of refusals does not say itself (moe_runner_backend is set from
# the environment in between), of which both sides were read.
_EXPERTS_AT = ("0.5.6", "0.5.14")
_ALONE_AT = ("0.5.6", "0.5.18")
_NOT_CUTLASS = ("fp8", "awq", "gptq", "bitsandbytes", "w8a8_int8", "w8a8_fp8", "gguf")
_NOT_TRTLLM = ("awq", "gptq", "bitsandbytes", "w8a8_int8", "gguf")
_GPT_OSS = "GptOssForCausalLM"
_FORGETFUL_AT = ("0.5.5", "0.5.14")
_REPEATABLE = ("flashinfer", "fa3", "triton", "ascend", "fa4")
_LATENT = ("DeepseekV2ForCausalLM", "DeepseekV3ForCausalLM")
_KINDS = ("image", "video", "audio")
_KINDS_SINCE, _MULTIPLEXED_SINCE = "0.5.7", "0.5.7"
# Classes of which nothing else sets pages, chunks or the schedule.
_PLAIN = (
    "LlamaForCausalLM",
    "MistralForCausalLM",
    "MixtralForCausalLM",
    "Qwen2ForCausalLM",
    "Qwen3ForCausalLM",
    "Qwen3MoeForCausalLM",
)
_BRANCHED = ("EAGLE", "EAGLE3", "NEXTN", "STANDALONE")
_TRIES = 10
# Other pages some backends replace.
_PAGES = (16, 32, 64)
# With these there are no chunks, or other ones.
_UNCHUNKED = (
    *("dllm-algorithm", "enable-mis", "is-embedding", "multi-item-scoring-delimiter"),
    "prefill-only-disable-kv-cache",
)

REFUSED_AT_START = Rule(
    "LLM537",
    "SGLang's parser takes arguments that its start refuses",
    "check_server_args and _derive_context_length of SGLang 0.5.5 to 0.5.23; uvicorn",
)

# What a config.json says of scaled positions may lengthen it.
LONG_CONTEXT = Rule(
    "LLM644",
    "SGLang is given a longer context than the model is known to have",
    "_derive_context_length of SGLang 0.5.19",
)


def level_findings(subject: EngineSubject) -> Iterator[Finding]:
    """
    The level is one of uvicorn's, which looks it up once the model is loaded.
    """
    if subject.table != "sglang":
        return
    has_own = subject.has_argument("log-level-http")
    name = "log-level-http" if has_own else "log-level"
    levels = _HTTP_LEVELS if has_own else _LEVELS
    level = subject.value(name)
    if isinstance(level, str) and level and level.lower() not in levels:
        yield REFUSED_AT_START.finding(
            f"{subject.word_of(name)} must be {any_of(levels)}, got {level!r}: SGLang "
            "ends once the model is loaded",
            "write warning" if level.lower() == "warn" else "",
        )


def attention_findings(subject: EngineSubject) -> Iterator[Finding]:
    """
    The copies of the attention share the GPUs of tensor parallelism evenly.
    """
    if subject.table != "sglang" or subject.value("enable-dp-attention") is not True:
        return
    copies = subject.number("dp-size") or 1
    size = subject.number("tp-size") or 1
    is_known = subject.find("tp-size") or not subject.has_argument("tp-size")
    if is_known and copies > 1 and size % copies:
        names = ("tp-size", "dp-size", "enable-dp-attention")
        tensor, data, switch = map(subject.word_of, names)
        yield REFUSED_AT_START.finding(
            f"{tensor} must be a multiple of {data} with {switch}, got {size} and "
            f"{copies}"
        )


def lora_findings(subject: EngineSubject) -> Iterator[Finding]:
    """
    Without a first adapter SGLang is told how large adapters are.
    """
    if subject.table != "sglang" or subject.value("enable-lora") is not True:
        return
    names = ("max-lora-rank", "lora-target-modules")
    has_both = all(map(subject.has_argument, names))
    if not subject.has_argument("lora-paths") and not has_both:
        rank, modules = map(subject.word_of, names)
        switch, paths = map(subject.word_of, ("enable-lora", "lora-paths"))
        yield REFUSED_AT_START.finding(
            f"{switch} needs {paths}, or {rank} and {modules}: SGLang does not start",
            f"set {rank}, and {modules} such as all",
        )


def cache_findings(subject: EngineSubject) -> Iterator[Finding]:
    """
    The hierarchical cache is a radix cache.
    """
    names = ("enable-hierarchical-cache", "disable-radix-cache")
    if subject.table == "sglang" and all(subject.value(name) is True for name in names):
        first, second = map(subject.word_of, names)
        yield REFUSED_AT_START.finding(
            f"{first} and {second} exclude each other: SGLang does not start",
            "leave one of them out",
        )


def served_name_findings(subject: EngineSubject) -> Iterator[Finding]:
    """
    A colon stands between a model and its adapter.
    """
    name = subject.value("served-model-name")
    is_read = is_release_between(subject.release or "0", _COLON_SINCE)
    if subject.table != "sglang" or not is_read or not isinstance(name, str):
        return
    if ":" in name and "://" not in name:
        yield REFUSED_AT_START.finding(
            f"{subject.word_of('served-model-name')} must have no colon, which stands "
            f"between a model and its adapter, got {name!r}"
        )


def context_findings(subject: EngineSubject) -> Iterator[Finding]:
    """
    The context is no longer than the model's own, unless the process is told so.
    """
    length, longest = subject.number("context-length"), subject.context_length
    if subject.table != "sglang" or length is None or not longest:
        return
    named = named_model(subject)
    if named is not None and known_checkpoint(named[1]) is not None:
        # Its config.json is known, and says how positions are scaled.
        return
    is_allowed = (
        _LONGER in subject.hidden
        or subject.environment.get(_LONGER, "").lower() in _ENABLED
    )
    is_other = subject.has_argument("json-model-override-args")
    if length > longest and not is_allowed and not is_other:
        yield LONG_CONTEXT.finding(
            f"{subject.word_of('context-length')} should be at most {longest}, the "
            f"model's own, got {length}: SGLang does not start with more",
            f"leave it out, or set {_LONGER}=1",
        )


def expert_findings(subject: EngineSubject) -> Iterator[Finding]:
    """
    The kernel for experts takes the weights, and how experts are shared.
    """
    if subject.table != "sglang" or subject.has_argument("moe-a2a-backend"):
        return
    runner, method = map(subject.value, ("moe-runner-backend", "quantization"))
    parts, size = subject.number("ep-size") or 1, subject.number("tp-size") or 1
    is_told = subject.find("tp-size") or not subject.has_argument("tp-size")
    names = ("moe-runner-backend", "quantization", "ep-size")
    word, weights, experts = map(subject.word_of, names)
    unfit = {"flashinfer_cutlass": _NOT_CUTLASS, "flashinfer_trtllm": _NOT_TRTLLM}
    is_of_release = is_release_between(subject.release or "0", *_EXPERTS_AT)
    is_gpt_oss = subject.architecture == _GPT_OSS and runner == "triton_kernel"
    is_read = is_release_between(subject.release or "0", *_ALONE_AT)
    is_alone = is_gpt_oss or (
        is_read and runner == "cutlass" and method in {"fp8", "mxfp8"}
    )
    is_uneven = is_of_release and runner == "flashinfer_cutlass" and bool(is_told)
    is_uneven &= parts not in {1, size}
    if is_of_release and method in unfit.get(str(runner), ()):
        yield REFUSED_AT_START.finding(
            f"{word}={runner} does not take {weights}={method}: SGLang does not start",
            f"leave {word} out",
        )
    elif is_alone and parts > 1:
        yield REFUSED_AT_START.finding(
            f"{experts} must be 1 with {word}={runner}, got {parts}",
            f"leave {word} or {experts} out",
        )
    elif is_uneven:
        yield REFUSED_AT_START.finding(
            f"{experts} must be 1 or {size}, that of tensor parallelism, with "
            f"{word}={runner}, got {parts}"
        )


def page_findings(subject: EngineSubject) -> Iterator[Finding]:
    """
    Drafts with branches run on the backend and in its pages, and chunks are whole
    pages.
    """
    if subject.table != "sglang" or subject.value("speculative-adaptive") is True:
        return
    names = ("attention-backend", "page-size", "speculative-eagle-topk")
    word, paged, branched = map(subject.word_of, names)
    backend, kind = map(subject.value, ("attention-backend", "speculative-algorithm"))
    page = subject.number("page-size") or 1
    branches = (subject.number("speculative-eagle-topk") or 1) > 1
    has_branches = kind in _BRANCHED and branches
    backends = ("attention", "prefill-attention", "decode-attention")
    used = [subject.value(f"{one}-backend") for one in backends]
    suited = _paged_backends(subject.release) if has_branches else ("flashinfer",)
    tries = subject.number("speculative-ngram-max-bfs-breadth") or _TRIES
    is_paged = page > 1 and (has_branches or (kind == "NGRAM" and tries > 1))
    if has_branches and "trtllm_mha" in used:
        yield REFUSED_AT_START.finding(
            f"{branched} must be 1 with trtllm_mha, got "
            f"{subject.number('speculative-eagle-topk')}: SGLang does not start"
        )
    elif is_paged and isinstance(backend, str) and backend not in suited:
        yield REFUSED_AT_START.finding(
            f"{paged} must be 1 where drafts have branches with {word}={backend}, got "
            f"{page}: SGLang does not start",
            f"leave {paged} out, or write {word}={any_of(suited)}",
        )
    chunk = subject.number("chunked-prefill-size") or 0
    is_kept = subject.architecture in _PLAIN and page in _PAGES
    is_kept &= backend in {None, "flashinfer", "fa3", "triton"}
    elsewhere = (
        *("enable-dp-attention", "attn-dp-size", "disaggregation-mode"),
        *("enable-hierarchical-cache", *_UNCHUNKED),
    )
    is_kept &= not any(map(subject.has_argument, elsewhere))
    if is_kept and chunk > 0 and chunk % page:
        yield REFUSED_AT_START.finding(
            f"{subject.word_of('chunked-prefill-size')} must be a multiple of "
            f"{paged}={page}, got {chunk}: SGLang does not start"
        )


def _paged_backends(release: str) -> tuple[str, ...]:
    """
    Return the backends that take branches in pages.
    """
    if is_release_between(release or "0", "0.5.13"):
        return ("flashinfer", "fa3", "triton")
    is_first = release == "0.5.5"
    return ("flashinfer",) if is_first else ("flashinfer", "fa3")


def repeatable_findings(subject: EngineSubject) -> Iterator[Finding]:
    """
    Attention gives the same answers each time where that is asked for.
    """
    switch, word = "enable-deterministic-inference", "attention-backend"
    backend = subject.value(word)
    if (
        subject.table != "sglang"
        or subject.value(switch) is not True
        or backend is None
    ):
        return
    is_unfit = backend not in _REPEATABLE and is_release_between(
        subject.release or "0", *_FORGETFUL_AT
    )
    if is_unfit or (subject.architecture in _LATENT and backend == "flashinfer"):
        others = () if subject.architecture in _LATENT else ("flashinfer",)
        suited = (*others, "fa3", "triton")
        yield REFUSED_AT_START.finding(
            f"{subject.word_of(word)} must be {any_of(suited)} with "
            f"{subject.word_of(switch)}, got {backend}: SGLang does not start"
        )


def kind_findings(subject: EngineSubject) -> Iterator[Finding]:
    """
    The kinds that a request may have are those there are.
    """
    name = "limit-mm-data-per-request"
    limits = subject.value(name)
    is_read = is_release_between(subject.release or "0", _KINDS_SINCE)
    if subject.table != "sglang" or not is_read or not isinstance(limits, Mapping):
        return
    unknown = [str(kind) for kind in limits if kind not in _KINDS]
    if unknown:
        yield REFUSED_AT_START.finding(
            f"the keys of {subject.word_of(name)} must be {any_of(_KINDS)}, got "
            f"{unknown[0]}: SGLang does not start"
        )


def multiplexing_findings(subject: EngineSubject) -> Iterator[Finding]:
    """
    Prompts and answers share the GPU only without chunks and without overlap.
    """
    switch = "enable-pdmux"
    is_read = is_release_between(subject.release or "0", _MULTIPLEXED_SINCE)
    is_asked = subject.table == "sglang" and subject.value(switch) is True and is_read
    others = ("speculative-algorithm", "pp-size", *_UNCHUNKED)
    if not is_asked or subject.architecture not in _PLAIN:
        return
    needs = ("chunked-prefill-size", "disable-overlap-schedule")
    if any(map(subject.has_argument, others)) or all(map(subject.has_argument, needs)):
        return
    chunk, overlap = map(subject.word_of, needs)
    yield REFUSED_AT_START.finding(
        f"{subject.word_of(switch)} needs {chunk}=-1 and {overlap}: SGLang does not "
        "start",
        "set both",
    )
