"""
What was found refused in a draw of public reports that nobody had seen: each rule from
both sides.
"""

from __future__ import annotations

from typing import Any

import pytest

from cdk_sagemaker_llm.serving import check_support
from tests.unit.serving.support.cases import case, codes_of, table
from tests.unit.support_rule_examples import Example

LLAMA, QWEN_MOE = "LlamaForCausalLM", "Qwen3MoeForCausalLM"
MILLION = "Qwen/Qwen2.5-14B-Instruct-1M"
IN_CHUNKS = {"VLLM_ATTENTION_BACKEND": "DUAL_CHUNK_FLASH_ATTN"}
EAGLE_3 = {
    "speculative_config": {
        "method": "eagle3",
        "model": "a/eagle3",
        "num_speculative_tokens": 2,
    }
}
BITS = {"quantization_config": {"quant_method": "bitsandbytes"}}
BY_BITS = {"quantization": "bitsandbytes", "load_format": "bitsandbytes"}
GGUF = {"quantization_config": {"quant_method": "gguf"}}
AWQ = {"quantization_config": {"quant_method": "awq"}}
STAGED = {"pipeline_parallel_size": 2}
EAGLE = {
    "speculative_algorithm": "EAGLE3",
    "speculative_draft_model_path": "a/eagle3",
}
NGRAM = {"method": "ngram", "num_speculative_tokens": 2}


def _drafted(least: int) -> dict[str, Any]:
    return {"speculative_config": {**NGRAM, "prompt_lookup_max": least}}


REFUSALS = table(
    ("LLM880 LLM935", case("vllm 0.9.2 H100", MILLION)),
    ("", case("vllm 0.8.4 H100", MILLION)),
    ("LLM935", case("vllm 0.10.2 H100", MILLION, environment=IN_CHUNKS)),
    (
        "",
        case("vllm 0.10.2 H100", MILLION, environment=IN_CHUNKS, enforce_eager=True),
    ),
    ("", case("vllm 0.10.2 H100", "Qwen/Qwen2.5-14B-Instruct")),
    ("LLM937", case("sglang 0.5.9 H100", MILLION, attention_backend="fa3")),
    ("", case("sglang 0.5.9 H100", MILLION)),
    ("LLM953", case("vllm 0.10.2 L40S", QWEN_MOE, **EAGLE_3)),
    ("", case("vllm 0.11.1 L40S", QWEN_MOE, **EAGLE_3)),
    ("", case("vllm 0.10.2 L40S", LLAMA, **EAGLE_3)),
    ("LLM880 LLM953", case("vllm 0.10.0 L40S", "Qwen3ForCausalLM", **EAGLE_3)),
    ("", case("vllm 0.10.2 L40S", "Qwen3ForCausalLM", **EAGLE_3)),
    ("LLM953", case("vllm 0.10.2 L40S", LLAMA, **_drafted(0))),
    ("", case("vllm 0.10.2 L40S", LLAMA, **_drafted(1))),
    ("LLM953", case("sglang 0.5.9 A100", LLAMA, **STAGED, **EAGLE)),
    ("LLM953", case("sglang 0.5.20 A100", LLAMA, **STAGED, **EAGLE)),
    ("LLM880", case("sglang 0.5.21 A100", LLAMA, **STAGED, **EAGLE)),
    ("", case("sglang 0.5.9 A100", LLAMA, **STAGED)),
    ("LLM907", case("sglang 0.5.10 A100", LLAMA, **STAGED, enable_mixed_chunk=True)),
    ("", case("sglang 0.5.11 A100", LLAMA, **STAGED, enable_mixed_chunk=True)),
    (
        "LLM953",
        case("sglang 0.5.9 A100", LLAMA, attention_backend="flex_attention", **EAGLE),
    ),
    ("LLM914", case("vllm 0.7.1 A10G", LLAMA, BITS)),
    ("", case("vllm 0.7.1 A10G", LLAMA, BITS, **BY_BITS)),
    ("", case("vllm 0.8.4 A10G", LLAMA, BITS)),
    ("LLM983", case("tei 1.7.0 A10G", "BertModel", pooling="splade")),
    ("", case("tei 1.7.0 A10G", "BertForMaskedLM", pooling="splade")),
    ("", case("tei 1.7.0 A10G", "BertModel", pooling="mean")),
    (
        "LLM876",
        case("tei 1.7.0 A10G", "BertForSequenceClassification", pooling="splade"),
    ),
    (
        "LLM983",
        case(
            "tei 1.7.0 A10G",
            "ModernBertForMaskedLM",
            {"model_type": "modernbert"},
            pooling="splade",
        ),
    ),
    ("LLM915", case("tgi 3.1.1 A10G", LLAMA, BITS)),
    ("", case("tgi 3.1.1 A10G", LLAMA, quantize="bitsandbytes-nf4")),
    ("LLM915", case("tgi 3.1.1 A10G", LLAMA, GGUF)),
    ("LLM915", case("tgi 3.0.1 A100", "Qwen2VLForConditionalGeneration", AWQ)),
    ("", case("tgi 3.1.1 A100", "Qwen2VLForConditionalGeneration", AWQ)),
    ("LLM959", case("vllm 0.8.4 H100", "mistralai/Devstral-Small-2505")),
    ("LLM870", case("vllm 0.10.2 H100", "mistralai/Devstral-Small-2505")),
    ("", case("vllm 0.8.4 H100", "mistralai/Mistral-Nemo-Instruct-2407")),
    (
        "LLM925",
        case("vllm 0.19.1 L40S", "cyankiwi/Qwen3-4B-AWQ-4bit", quantization="awq"),
    ),
    (
        "",
        case(
            "vllm 0.19.1 L40S",
            "cyankiwi/Qwen3-4B-AWQ-4bit",
            quantization="compressed-tensors",
        ),
    ),
)


@pytest.mark.parametrize(("codes", "example"), REFUSALS)
def test_foretells_what_was_reported(codes: str, example: Example) -> None:
    """
    At the release where it ends, too.
    """
    assert codes_of(example) == codes


@pytest.mark.parametrize(
    ("instance_type", "is_built"), [("ml.p2.xlarge", False), ("ml.p3.2xlarge", True)]
)
def test_is_built_from_volta_on(instance_type: str, *, is_built: bool) -> None:
    """
    Older GPUs never had kernels.
    """
    found = check_support(
        "facebook/opt-125m",
        engine="vllm",
        release="0.6.3.post1",
        instance_type=instance_type,
    )
    assert ("LLM923" in [one.code for one in found]) != is_built


@pytest.mark.parametrize(
    ("name", "codes"), [("mllama", ["LLM880", "LLM989"]), ("llama", ["LLM880"])]
)
def test_knows_what_no_build_of_llama_cpp_has(name: str, codes: list[str]) -> None:
    """
    Whatever the build: what the newest does not load, no older one does.
    """
    found = check_support(
        "a/b",
        engine="llama.cpp",
        release="b6019",
        instance_type="ml.g5.xlarge",
        arguments={"gguf_architecture": name},
    )
    assert [one.code for one in found] == codes
