"""
Number formats against the GPU and the release: data types, quantization methods, the
KV cache, and what the engine was built for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from cdk_sagemaker_llm.catalog.gpu_formats import (
    MethodSupport,
    find_method,
    lacks_method,
    method_spans,
    scheme_capability,
)
from cdk_sagemaker_llm.catalog.releases import image_within
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.serving.support.checkpoint import has_experts
from cdk_sagemaker_llm.serving.support.quantization import (
    asked_method,
    is_gpt_oss,
    method_of,
    resolved_method,
    scheme_of,
)
from cdk_sagemaker_llm.serving.support.support_subject import Subject
from cdk_sagemaker_llm.text import any_of

TURING, AMPERE, ADA, HOPPER, BLACKWELL, RTX_BLACKWELL = 75, 80, 89, 90, 100, 120
VOLTA = 70
_DTYPES = {"half": "float16", "float": "float32", "fp16": "float16", "bf16": "bfloat16"}
# Since when there are experts in a scheme of compressed-tensors.
_EXPERTS_IN = {
    "CompressedTensorsW8A8Int8": "0.9.0",
    "CompressedTensorsW8A16Fp8": "0.6.3",
    "CompressedTensorsWNA16": "0.6.0",
}
# Of weights that NVIDIA publishes (vLLM issue 15784).
_NO_CACHE_SCALES = ("0.6.1", "0.7.3")
# PyTorch 2.7.0 with CUDA 12.8 (vLLM issue 19185).
_WITHOUT_VOLTA = ("0.9.0", "0.9.2")
# Marlin, which widens weights, came to experts with 0.9.0; Triton does not compile
# them.
_EXPERTS_IN_EIGHT = ("0.5.0", "0.8.5.post1")
# Their experts are joined by their plain weights, which packed ones do not have
# (pack_params of models/qwen2_moe.py and deepseek.py; issue 3900).
_UNPACKED_EXPERTS = {
    "Qwen2MoeForCausalLM": ("0.4.0", "0.4.3"),
    "DeepseekForCausalLM": ("0.3.3", "0.5.5"),
}
_PACKED = ("awq", "gptq", "squeezellm")
# Of these files of NVIDIA's some layers say that their weights alone are in it (vLLM
# issue 47749).
_ONLY_WEIGHTS = re.compile(r"nvidia/qwen3\.6-27b-nvfp4\Z", re.IGNORECASE)
# Their numbers overflow in float16 (vllm/config/model.py).
_NOT_IN_HALVES = ("gemma2", "gemma3", "gemma3_text", "plamo2", "glm4")
# Which the first release with quantized weights took.
_FIRST_QUANTIZED = ("LlamaForCausalLM", "LLaMAForCausalLM", "MistralForCausalLM")
_CONFIG = "vllm/config/model.py"
_LAYERS = "vllm/model_executor/layers/quantization"

LACKS_BFLOAT16 = Rule(
    "LLM911", "bfloat16 on a GPU that lacks it", "vllm/platforms/cuda.py"
)
DTYPE_FALLBACK = Rule(
    "LLM883", "a data type is replaced, for the GPU lacks it", _CONFIG
)
UNFIT_HALVES = Rule("LLM913", "float16 for a model that overflows in it", _CONFIG)
LACKS_METHOD = Rule(
    "LLM915", "the release does not have the quantization method", _LAYERS
)
DEPRECATED_METHOD = Rule(
    "LLM917", "a deprecated quantization method that is not allowed", _CONFIG
)
GPU_LACKS_METHOD = Rule(
    "LLM919", "the GPU is too old for the quantization method", _LAYERS
)
METHOD_DTYPE = Rule(
    "LLM921", "the quantization method does not take the data type", _LAYERS
)
WEIGHT_ONLY = Rule(
    "LLM884", "the GPU lacks a number format, and only weights are kept in it", _LAYERS
)
FORM_NOT_BUILT = Rule(
    "LLM923",
    "the release is not built for the GPU",
    "docker/Dockerfile of vLLM, torch_cuda_arch_list",
)
DOUBTED_GPU = Rule(
    "LLM886", "starts on the GPU were reported to fail", "microsoft/fara issue 57"
)


def asked_dtype(subject: Subject) -> str | None:
    """
    Return the data type that is asked for; ``None`` for ``auto``.
    """
    value = subject.text("dtype")
    if value in {None, "auto"}:
        return None
    value = str(value).removeprefix("torch.")
    return _DTYPES.get(value, value)


def resolved_dtype(subject: Subject) -> str | None:
    """
    Return the data type that the engine comes to; ``None`` where it is not known.
    """
    dtype = asked_dtype(subject)
    if dtype is not None:
        return dtype
    own = subject.checkpoint.dtype
    capability = subject.capability
    if own == "float32":
        return None if subject.is_at("0.9.0") else "float16"
    is_old = capability is not None and capability < AMPERE
    if is_old and _is_unfit_in_halves(subject):
        return "float32"
    if own == "bfloat16" and is_old:
        return "float16" if subject.is_at("0.9.0") else own
    return own


def dtype_findings(subject: Subject) -> Iterator[Finding]:
    """
    The GPU has the data type, and the model holds it.
    """
    dtype, own = asked_dtype(subject), subject.checkpoint.dtype
    capability, word = subject.capability, subject.word("dtype")
    model_type = subject.checkpoint.model_type or ""
    is_unfit = _is_unfit_in_halves(subject)
    if dtype == "float16" and is_unfit and subject.is_at("0.9.0"):
        yield UNFIT_HALVES.finding(
            f"{subject.title} refuses {word}={subject.text('dtype')} for {model_type}, "
            "whose numbers overflow in it",
            "write bfloat16, or float32 on a GPU without it",
        )
    if capability is None or capability >= AMPERE:
        return
    if dtype == "bfloat16":
        yield LACKS_BFLOAT16.finding(
            f"{word} must be float16 on {subject.gpu}, which has no bfloat16, got "
            f"{subject.text('dtype')}",
            "write float16, or take a GPU from A10G on",
        )
    elif dtype is None and own == "bfloat16":
        if not subject.is_at("0.9.0"):
            yield LACKS_BFLOAT16.finding(
                f"the weights are in bfloat16, which {subject.gpu} lacks, and "
                f"{subject.title} takes their data type",
                f"write {word}=float16",
            )
        else:
            instead = "float32, which takes twice the memory" if is_unfit else "float16"
            yield DTYPE_FALLBACK.finding(
                f"the weights are in bfloat16, which {subject.gpu} lacks: "
                f"{subject.title} falls back to {instead}",
                "" if is_unfit else f"write {word}=float16 if that is meant",
            )


def _is_unfit_in_halves(subject: Subject) -> bool:
    kind = subject.checkpoint.model_type
    if kind not in _NOT_IN_HALVES or not subject.is_at("0.9.0"):
        return False
    if kind == "plamo2":
        return subject.is_at("0.9.0", "0.26.0")
    return kind != "gemma3_text" or subject.is_at("0.10.2")


def method_findings(subject: Subject) -> Iterator[Finding]:
    """
    The release has the quantization method, and the GPU is new enough for it.
    """
    engine, release = subject.engine, subject.release
    method = resolved_method(subject)
    if not method:
        return
    own, choice = method_of(subject), asked_method(subject)
    name = subject.checkpoint.class_name
    is_left = name is not None and name not in _FIRST_QUANTIZED
    if choice is not None and is_left and subject.is_at("0.0", "0.2.1.post1"):
        yield LACKS_METHOD.finding(
            f"{subject.title} takes quantized weights of Llama and Mistral alone, got "
            f"{name}",
            "take an image with a newer release",
        )
        return
    named = choice or own or method
    is_lacking = all(lacks_method(engine, one, release) for one in (named, method))
    is_scaled = method == "modelopt" and subject.is_at(*_NO_CACHE_SCALES)
    if is_scaled and subject.checkpoint.name.lower().startswith("nvidia/"):
        yield LACKS_METHOD.finding(
            f"{subject.title} does not find where the scales of the KV cache go that "
            f"{subject.checkpoint.name} brings",
            "take an image with vLLM 0.8 or newer",
        )
        return
    # Before, the method was not read from the files.
    if is_lacking and (choice or subject.is_at("0.2.7")):
        spans = method_spans(engine, named)
        image = image_within(engine, spans)
        yield LACKS_METHOD.finding(
            f"{subject.title} does not have the quantization method {named}",
            f"take an image that has it, such as {image}" if image else "",
        )
        return
    support = find_method(engine, named, release) or find_method(
        engine, method, release
    )
    if support is None:
        return
    if support.is_deprecated and not subject.flag("allow_deprecated_quantization"):
        yield DEPRECATED_METHOD.finding(
            f"{subject.title} refuses the quantization method {named}, which is "
            "deprecated",
            "write allow_deprecated_quantization=true",
        )
    yield from _of_gpu(subject, method, find_method(engine, method, release) or support)


def packed_expert_findings(subject: Subject) -> Iterator[Finding]:
    """
    The class keeps its experts in weights that are packed into integers.
    """
    name = subject.checkpoint.class_name or ""
    is_packed = subject.checkpoint.method in _PACKED
    if (
        is_packed
        and name in _UNPACKED_EXPERTS
        and subject.is_at(*_UNPACKED_EXPERTS[name])
    ):
        yield LACKS_METHOD.finding(
            f"{subject.title} does not keep the experts of {name} in weights of "
            f"{subject.checkpoint.method}",
            "take an image with a newer release",
        )


def _of_gpu(subject: Subject, method: str, support: MethodSupport) -> Iterator[Finding]:
    capability = subject.capability
    # The table does not have the first releases'.
    is_first = method == "awq" and subject.is_at("0.0", "0.2.6")
    first = TURING if subject.is_at("0.2.1") else AMPERE
    least = first if is_first else support.capability
    if capability is not None and least is not None and capability < least:
        yield GPU_LACKS_METHOD.finding(
            f"{subject.title} needs a compute capability of {least / 10} for the "
            f"quantization method {method}, got {subject.gpu}",
            "take a newer GPU, or weights in another format",
        )
        return
    dtype = resolved_dtype(subject)
    if dtype and support.types and dtype not in support.types:
        choice = asked_dtype(subject)
        word = subject.word("dtype")
        where = f"{word}={choice}" if choice else f"the weights are in {dtype}, which"
        yield METHOD_DTYPE.finding(
            f"{where} is not taken by the quantization method {method} of "
            f"{subject.title}",
            f"write {word}={any_of(support.types)}",
        )


def scheme_findings(subject: Subject) -> Iterator[Finding]:
    """
    The GPU is new enough for the scheme inside compressed-tensors.
    """
    capability, scheme = subject.capability, scheme_of(subject.checkpoint)
    if capability is None or scheme is None or subject.is_at("0.0", "0.5.0"):
        return
    # The Transformers backend names its layers otherwise there (vLLM issue 30969).
    is_unmatched = subject.checkpoint.class_name == "SmolLM3ForCausalLM"
    if is_unmatched and subject.is_at("0.11.1", "0.11.2"):
        yield LACKS_METHOD.finding(
            f"{subject.title} does not find the layers of SmolLM3ForCausalLM in "
            "compressed-tensors",
            "take another release, or weights in another format",
        )
        return
    since = _EXPERTS_IN.get(scheme, "")
    if has_experts(subject.checkpoint) and since and not subject.is_at(since):
        yield LACKS_METHOD.finding(
            f"{subject.title} does not keep experts in these weights of "
            "compressed-tensors",
            f"take an image with vLLM {since} or newer",
        )
        return
    least = scheme_capability(subject.engine, scheme, subject.release)
    if least is not None and capability < least:
        yield GPU_LACKS_METHOD.finding(
            f"{subject.title} needs a compute capability of {least / 10} for these "
            f"weights of compressed-tensors, got {subject.gpu}",
            "take a newer GPU, or weights in another format",
        )


def eight_bit_findings(subject: Subject) -> Iterator[Finding]:
    """
    Weights in 8-bit and 4-bit floating point are computed with as such where the GPU
    can, and are else widened.
    """
    capability = subject.capability
    if capability is None:
        return
    method, scheme = resolved_method(subject), scheme_of(subject.checkpoint)
    values = subject.checkpoint.quantization or {}
    is_eight = method == "fp8" or scheme == "CompressedTensorsW8A16Fp8"
    is_blocked = bool(values.get("weight_block_size"))
    if is_eight and capability < ADA:
        if is_blocked and subject.is_at("0.7.1", "0.8.5"):
            yield GPU_LACKS_METHOD.finding(
                f"{subject.title} has no kernel for weights in blocks of fp8 on "
                f"{subject.gpu}",
                "take a GPU from L4 on, or an image with vLLM 0.9 or newer",
            )
        elif has_experts(subject.checkpoint) and subject.is_at(*_EXPERTS_IN_EIGHT):
            yield GPU_LACKS_METHOD.finding(
                f"{subject.title} has no kernel for experts in fp8 on {subject.gpu}",
                "take a GPU from L4 on, or an image with vLLM 0.9 or newer",
            )
        elif _is_widened(subject, scheme, capability):
            yield _weight_only(subject, "fp8")
    is_four = (
        method in {"modelopt_fp4", "nvfp4"} or scheme == "CompressedTensorsW4A16Fp4"
    )
    if is_four and AMPERE <= capability < BLACKWELL and subject.is_at("0.9.0"):
        yield _weight_only(subject, "fp4")
    elif is_four and _ONLY_WEIGHTS.match(subject.checkpoint.name):
        yield WEIGHT_ONLY.finding(
            f"some layers of {subject.checkpoint.name} keep only their weights in fp4: "
            f"{subject.title} falls back to Marlin for them, on {subject.gpu} too"
        )
    if is_gpt_oss(subject) and capability == RTX_BLACKWELL:
        yield WEIGHT_ONLY.finding(
            f"{subject.title} has no kernels of its own for gpt-oss on {subject.gpu}: "
            "it falls back to Marlin for the experts, and to Triton for attention"
        )


def _is_widened(subject: Subject, scheme: str | None, capability: int) -> bool:
    least = TURING if subject.is_at("0.14.0") else AMPERE
    if scheme is not None:
        own = scheme_capability(subject.engine, scheme, subject.release)
        least = max(least, own or least)
    return capability >= least and subject.is_at("0.5.3.post1")


def _weight_only(subject: Subject, name: str) -> Finding:
    return WEIGHT_ONLY.finding(
        f"{subject.gpu} does not compute in {name}: {subject.title} falls back to "
        "keeping only the weights in it, which is slower for long prompts"
    )


def built_findings(subject: Subject) -> Iterator[Finding]:
    """
    The release was built for the GPU.
    """
    capability = subject.capability
    if capability is None:
        return
    if capability < VOLTA:
        yield FORM_NOT_BUILT.finding(
            f"{subject.title} needs a compute capability of 7.0, got {subject.gpu}",
            "take a GPU from A10G on",
        )
    elif capability >= BLACKWELL and subject.is_at("0.0", "0.8.5.post1"):
        yield FORM_NOT_BUILT.finding(
            f"{subject.title} is built with a CUDA before 12.8, without kernels for "
            f"{subject.gpu}",
            "take an image with vLLM 0.9 or newer",
        )
    elif capability < TURING and subject.is_at(*_WITHOUT_VOLTA):
        yield FORM_NOT_BUILT.finding(
            f"{subject.title} brings a PyTorch that is built without {subject.gpu}",
            "take an image with another release, or a newer GPU",
        )
    elif _samples_by_flashinfer(subject, capability):
        yield FORM_NOT_BUILT.finding(
            f"{subject.title} chooses tokens by FlashInfer, which does not run on "
            f"{subject.gpu}",
            "set VLLM_USE_FLASHINFER_SAMPLER=0, or take a newer GPU",
        )
    elif _sees_by_flash(subject, capability):
        yield FORM_NOT_BUILT.finding(
            f"the part of {subject.checkpoint.class_name} that sees was reported to "
            f"fail on {subject.gpu} with {subject.title}",
            "take an image with a newer release",
        )
    elif capability < TURING and subject.is_at("0.20.0"):
        yield FORM_NOT_BUILT.finding(
            f"{subject.title} is built with CUDA 13, which has no kernels for "
            f"{subject.gpu}",
            "take an image with vLLM before 0.20, or a newer GPU",
        )
    elif capability < TURING and subject.is_at("0.11.0"):
        yield DOUBTED_GPU.finding(
            f"{subject.title} was reported not to start on {subject.gpu}, which its "
            "new engine is not made for",
            "take a GPU from A10G on",
        )
    elif capability == TURING and subject.is_at("0.12.0"):
        yield DOUBTED_GPU.finding(
            f"{subject.title} should start on {subject.gpu}, but two reports say that "
            "its kernels do not compile there",
            "take a GPU from A10G on",
        )


def _samples_by_flashinfer(subject: Subject, capability: int) -> bool:
    """
    Whether tokens are chosen by what the GPU lacks, which later releases leave off
    until it is asked for (vLLM issue 27729).
    """
    is_off = subject.environment.get("VLLM_USE_FLASHINFER_SAMPLER") == "0"
    return capability < TURING and subject.is_at("0.11.0", "0.11.0") and not is_off


def _sees_by_flash(subject: Subject, capability: int) -> bool:
    """
    Whether pictures are read by kernels that fail there (vLLM issue 24383, gpustack
    issue 2769).
    """
    is_hit = subject.checkpoint.class_name == "Qwen2_5_VLForConditionalGeneration"
    return (
        is_hit and capability == RTX_BLACKWELL and subject.is_at("0.10.1", "0.10.1.1")
    )


# When params.json of Mistral's format was read for fp8 alone
# (_remap_mistral_quantization_args of transformers_utils/configs/mistral.py).
_PARAMS_IN_FP8_ALONE = ("0.12.0", "0.16.0")


def params_findings(subject: Subject) -> Iterator[Finding]:
    """
    The release reads how params.json says that the weights are quantized.
    """
    method = subject.checkpoint.facts.get("params")
    is_read = subject.text("config_format") == "mistral"
    if method and is_read and subject.is_at(*_PARAMS_IN_FP8_ALONE):
        yield LACKS_METHOD.finding(
            f"{subject.title} does not read {method} in params.json of "
            f"{subject.checkpoint.name}",
            f"leave {subject.word('config_format')} and load_format out, or take an "
            "image with vLLM 0.17 or newer",
        )
