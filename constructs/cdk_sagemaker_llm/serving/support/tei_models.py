"""
Whether a release of Text Embeddings Inference has a program for a model's type, on the
processor or GPU, and in the number format asked for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from cdk_sagemaker_llm.catalog.model_classes import has_model_type, model_type_spans
from cdk_sagemaker_llm.catalog.releases import first_of, image_within
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.serving.support.attention import AMPERE, HOPPER, TURING
from cdk_sagemaker_llm.serving.support.support_subject import Subject

_CANDLE = "backends/candle/src/lib.rs of text-embeddings-inference, v1.2.3 to v1.9.3"
_ENTRY_POINT = "cuda-all-entrypoint.sh of text-embeddings-inference"
# On a processor ONNX Runtime is tried first, where the repository has such files.
_ONNX_SINCE = "1.6.0"
_EXPERTS = "1.7.1"
# Until then it has no head for the type, or looks for it where no checkpoint has it.
_HEADS = {"modernbert": "1.7.1", "new": "1.6.1", "gte": "1.6.1"}
_JINA, _HEAD_OF_JINA = "JinaBertForSequenceClassification", "1.7.1"
_BARE_DISTIL = "1.7.1"
_GPUS = ("mistral", "qwen2", "llama", "llama_bidirec")
_FLASH_2 = ("mistral", "llama", "llama_bidirec")
_FLASH_1 = ("qwen2",)
_FULL = ("gemma3_text", "bidirectional_pplx_qwen3")
_NO_CLASSES = (
    "distilbert",
    "nomic_bert",
    "mpnet",
    "mistral",
    "qwen2",
    "qwen3",
    "gemma3_text",
    "bidirectional_pplx_qwen3",
)
_CLASSIFIES = "Classification"
_NO_SPLADE = ("modernbert", "mpnet", "nomic_bert")

UNKNOWN_TO_TEI = Rule(
    "LLM983", "TEI of this release has no program for models of the type", _CANDLE
)
MAYBE_BY_ONNX = Rule(
    "LLM858", "TEI runs the model on a processor only if it has ONNX files", _CANDLE
)
TEI_LACKS_GPU = Rule("LLM985", "TEI has no binary for the GPU", _ENTRY_POINT)
TEI_NUMBERS = Rule(
    "LLM987", "TEI does not run models of the type in that number format", _CANDLE
)

# Whose config_sentence_transformers.json names no prompts.
_NO_PROMPTS = re.compile(r"baai/bge-(?:small|base|large)-en-v1\.5\Z", re.IGNORECASE)
_PROMPTS_SINCE = "1.4.0"
UNKNOWN_PROMPT = Rule(
    "LLM934",
    "TEI does not find the prompt that is asked for by name",
    "router/src/lib.rs of text-embeddings-inference, v1.4.0 to v1.9.3",
)

UNUSED_POOLING = Rule(
    "LLM876",
    "TEI ignores how vectors are to become one where the model classifies",
    "get_backend_model_type of router/src/lib.rs of text-embeddings-inference, "
    "v1.2.3 to v1.9.3",
)


def tei_type_findings(subject: Subject) -> Iterator[Finding]:
    """
    The release has a program for the model's type.
    """
    kind = _kind(subject)
    if kind is None or has_model_type("tei", kind, subject.release) is not False:
        return
    spans = model_type_spans("tei", kind)
    image = image_within("tei", spans) if spans else None
    since = f"take TEI {first_of(spans)} or newer" if spans else "serve it with Vllm"
    way = f"{since}, such as {image}" if image else since
    if _is_on_processor(subject) and subject.is_at(_ONNX_SINCE):
        yield MAYBE_BY_ONNX.finding(
            f"{subject.title} has no program for models of type {kind}: it runs them "
            "only from ONNX files",
            way,
        )
    else:
        yield UNKNOWN_TO_TEI.finding(
            f"{subject.title} does not load models of type {kind}", way
        )


def _kind(subject: Subject) -> str | None:
    # It reads names with and without a dash, by serde.
    kind = subject.checkpoint.model_type
    return "xlm-roberta" if kind == "xlm_roberta" else kind


def _is_on_processor(subject: Subject) -> bool:
    return subject.capability is None and subject.accelerators == 0


def tei_gpu_findings(subject: Subject) -> Iterator[Finding]:
    """
    The image has a binary for the GPU, or the model runs on a processor.
    """
    kind, capability = _kind(subject), subject.capability
    if capability is not None:
        newest = {100, 120} if subject.is_at("1.9.0") else set()
        is_built = capability == TURING or AMPERE <= capability <= HOPPER
        if not is_built and capability not in newest:
            yield TEI_LACKS_GPU.finding(
                f"the images of {subject.title} have no binary for {subject.gpu}",
                "take an instance type with T4, A10G, L4, L40S or H100",
            )
    elif (
        kind in _GPUS
        and _is_on_processor(subject)
        and has_model_type("tei", kind, subject.release)
    ):
        text = f"{subject.title} runs models of type {kind} on GPUs alone"
        if subject.is_at(_ONNX_SINCE):
            yield MAYBE_BY_ONNX.finding(
                f"{text}, unless the model has ONNX files",
                "take an instance type with a GPU",
            )
        else:
            yield UNKNOWN_TO_TEI.finding(text, "take an instance type with a GPU")


def tei_number_findings(subject: Subject) -> Iterator[Finding]:
    """
    The model's program runs in the number format that is asked for.
    """
    kind, capability = _kind(subject), subject.capability
    dtype = subject.text("dtype")
    word = subject.word("dtype")
    has_type = kind is not None and has_model_type("tei", kind, subject.release)
    if not has_type:
        return
    if kind in _FULL and (dtype == "float16" or (dtype is None and kind != _FULL[0])):
        yield TEI_NUMBERS.finding(
            f"{subject.title} runs models of type {kind} in float32 alone, got "
            f"{dtype or 'float16, which it takes where nothing is said'}",
            f"set {word}=float32",
        )
    if capability is None:
        return
    is_gte = kind in {"new", "gte"} and not subject.is_at("1.6.0")
    if kind not in (*_FLASH_1, *_FLASH_2) and not is_gte:
        return
    is_off = subject.environment.get("USE_FLASH_ATTENTION", "true").lower() != "true"
    if dtype == "float32" or (is_off and subject.is_at("1.8.2")):
        yield TEI_NUMBERS.finding(
            f"{subject.title} runs models of type {kind} in float16 with flash "
            f"attention alone, got {dtype or 'USE_FLASH_ATTENTION=false'}",
            f"leave {word} and USE_FLASH_ATTENTION out",
        )
    elif kind in _FLASH_2 and capability < AMPERE:
        yield TEI_NUMBERS.finding(
            f"{subject.title} runs models of type {kind} by flash attention 2 alone, "
            f"which {subject.gpu} does not have",
            "take an instance type with A10G or newer",
        )
    scaling = subject.checkpoint.config.get("rope_scaling")
    if kind in {"llama", "llama_bidirec"} and isinstance(scaling, Mapping):
        yield TEI_NUMBERS.finding(
            f"{subject.title} does not run models of type {kind} whose positions are "
            "scaled, got rope_scaling",
            "serve it with Vllm",
        )


def tei_expert_findings(subject: Subject) -> Iterator[Finding]:
    """
    The program of the model's type has experts where the model does.
    """
    has_experts = subject.checkpoint.number("num_experts") is not None
    if _kind(subject) == "nomic_bert" and has_experts and not subject.is_at(_EXPERTS):
        yield UNKNOWN_TO_TEI.finding(
            f"{subject.title} does not load models of type nomic_bert with experts",
            f"take TEI {_EXPERTS} or newer",
        )


def tei_class_findings(subject: Subject) -> Iterator[Finding]:
    """
    The model's program classifies where its class does.
    """
    kind, name = _kind(subject), subject.checkpoint.class_name or ""
    if not name.endswith(_CLASSIFIES):
        return
    since = _HEAD_OF_JINA if name == _JINA else _HEADS.get(kind or "")
    if since and not subject.is_at(since):
        yield UNKNOWN_TO_TEI.finding(
            f"{subject.title} does not find the head of {name}",
            f"take TEI {since} or newer",
        )
    elif kind in _NO_CLASSES and has_model_type("tei", kind, subject.release):
        yield UNKNOWN_TO_TEI.finding(
            f"{subject.title} makes embeddings with models of type {kind}, and does "
            f"not classify with {name}",
            "serve it with Vllm",
        )


def tei_tensor_findings(subject: Subject) -> Iterator[Finding]:
    """
    The program finds the tensors by the names that the checkpoint has them under.
    """
    kind, name = _kind(subject), subject.checkpoint.class_name or ""
    is_bare = kind == "distilbert" and name == "DistilBertModel"
    if is_bare and subject.capability is not None and not subject.is_at(_BARE_DISTIL):
        yield UNKNOWN_TO_TEI.finding(
            f"{subject.title} does not find the layers of {name}",
            f"take TEI {_BARE_DISTIL} or newer",
        )
    code = str(subject.checkpoint.config.get("auto_map"))
    if kind == "xlm-roberta" and "XLMRobertaFlash" in code:
        yield UNKNOWN_TO_TEI.finding(
            f"{subject.title} does not find the tensors of {subject.checkpoint.name}, "
            "whose code names them otherwise than XLM-RoBERTa",
            "serve it with Vllm",
        )


def tei_prompt_findings(subject: Subject) -> Iterator[Finding]:
    """
    The repository names the prompt that is put before each text.
    """
    is_bare = _NO_PROMPTS.match(subject.checkpoint.name) is not None
    prompt = subject.arguments.get("default_prompt_name")
    if prompt and is_bare and subject.is_at(_PROMPTS_SINCE):
        yield UNKNOWN_PROMPT.finding(
            f"{subject.word('default_prompt_name')} must name a prompt of the model, "
            f"and {subject.checkpoint.name} has none, got {prompt}",
            "write the words themselves as default_prompt",
        )


def tei_pooling_findings(subject: Subject) -> Iterator[Finding]:
    """
    Which pooling there is, is told or in the repository.
    """
    kind, name = _kind(subject) or "", subject.checkpoint.class_name or ""
    is_reranker = "rerank" in subject.checkpoint.name.lower()
    is_reranker = is_reranker and name.endswith("ForCausalLM") and "bert" not in kind
    if is_reranker and not subject.has("pooling"):
        yield UNKNOWN_TO_TEI.finding(
            f"{subject.title} finds neither a head nor a pooling configuration in "
            f"{subject.checkpoint.name}",
            "serve it with Vllm",
        )
    if subject.has("pooling") and name.endswith(_CLASSIFIES):
        yield UNUSED_POOLING.finding(
            f"{subject.title} ignores {subject.word('pooling')}="
            f"{subject.arguments['pooling']}, for {name} classifies",
            "leave it out",
        )
    is_sparse = subject.text("pooling") == "splade" and bool(name)
    is_sparse = is_sparse and not name.endswith(_CLASSIFIES)
    is_masked = name.endswith("MaskedLM")
    lacks_it = kind in _NO_SPLADE and subject.capability is not None
    if is_sparse and (lacks_it or not is_masked):
        yield UNKNOWN_TO_TEI.finding(
            f"{subject.title} makes sparse vectors with models for masked words alone, "
            f"of some types, got {subject.word('pooling')}=splade for {name}",
            "leave it out, or name a model such as naver/splade-v3",
        )
