"""
Packed weights over devices, experts in 8 bits, prefixes by class, and what SGLang's
classes run with: each limit from both sides.
"""

from __future__ import annotations

from functools import partial

import pytest

from tests.unit.serving.support.cases import Row, case, codes_of
from tests.unit.support_rule_examples import Example

QWEN, MIXTRAL, GEMMA = "Qwen2ForCausalLM", "MixtralForCausalLM", "google/gemma-3-27b-it"
WIDE = {"intermediate_size": 29568, "num_attention_heads": 64}
AWQ = {"quantization_config": {"quant_method": "awq", "group_size": 128}}
SMALL = {"quantization_config": {"quant_method": "awq", "group_size": 32}}
EIGHT = {"quantization_config": {"quant_method": "fp8"}, "num_local_experts": 8}
FOUR = {"num_bits": 4, "type": "int", "strategy": "group", "group_size": 128}
GROUPS = {
    "quantization_config": {
        "quant_method": "compressed-tensors",
        "config_groups": {"group_0": {"weights": FOUR}},
    }
}
CHANNELS = {
    "quantization_config": {
        "quant_method": "compressed-tensors",
        "config_groups": {"group_0": {"weights": {**FOUR, "group_size": None}}},
    }
}
W8, W4 = "neuralmagic/Qwen2-72B-Instruct-quantized.w8a16", "a/b-quantized.w4a16"
GGUF, R1 = "a/DeepSeek-R1-0528-GGUF", "deepseek-ai/DeepSeek-R1-0528"
LLAMA_4, OLMO = "Llama4ForConditionalGeneration", "Olmo2ForCausalLM"
BLOCKS, NARROW_BLOCKS = "Qwen/Qwen3-235B-A22B-FP8", "Qwen/Qwen3-30B-A3B-FP8"
NEMOTRON, LFM = "NemotronHForCausalLM", "Lfm2ForCausalLM"

PACKED: list[Row] = [
    ("LLM947", case("vllm 0.5.3.post1 A100", W8, tensor_parallel_size=4)),
    ("", case("vllm 0.5.3.post1 A100", W8, tensor_parallel_size=1)),
    ("LLM947", case("vllm 0.7.1 A100", W8, tensor_parallel_size=4)),
    # Other kernels take whole channels from then on, and on Hopper before.
    ("", case("vllm 0.8.4 A100", W8, tensor_parallel_size=4)),
    ("", case("vllm 0.7.1 H100", W8, tensor_parallel_size=4)),
    (
        "LLM947",
        case("vllm 0.13.0 H100", QWEN, {**WIDE, **GROUPS}, tensor_parallel_size=4),
    ),
    ("", case("vllm 0.13.0 H100", QWEN, {**WIDE, **CHANNELS}, tensor_parallel_size=4)),
    ("", case("vllm 0.13.0 H100", QWEN, {**WIDE, **GROUPS}, tensor_parallel_size=1)),
    ("LLM947", case("sglang 0.5.9 A100", QWEN, {**WIDE, **AWQ}, tp_size=2)),
    ("", case("sglang 0.5.9 A100", QWEN, {**WIDE, **AWQ}, tp_size=1)),
    ("", case("sglang 0.5.9 A100", QWEN, {**WIDE, **SMALL}, tp_size=2)),
    (
        "",
        case("sglang 0.5.9 A100", QWEN, {**WIDE, **AWQ, "num_experts": 8}, tp_size=2),
    ),
    ("LLM919", case("vllm 0.6.3.post1 A10G", MIXTRAL, EIGHT)),
    ("LLM880 LLM919", case("vllm 0.8.5.post1 A100", MIXTRAL, EIGHT)),
    ("LLM880 LLM884", case("vllm 0.9.0 A100", MIXTRAL, EIGHT)),
    ("", case("vllm 0.6.3.post1 L4", MIXTRAL, EIGHT)),
    ("LLM925", case("vllm 0.8.4 H100", GGUF, quantization="gguf", hf_config_path=R1)),
    (
        "",
        case(
            "vllm 0.8.4 H100", GGUF, quantization="gguf", hf_config_path="Qwen/Qwen3-8B"
        ),
    ),
    ("LLM880 LLM915", case("vllm 0.2.5 A10G", "LlamaForCausalLM", quantization="gptq")),
    ("LLM880", case("vllm 0.2.6 A10G", "LlamaForCausalLM", quantization="gptq")),
    # Gemma 3 falls back to float32 there, which AWQ does not take.
    ("LLM921 LLM886", case("vllm 0.13.0 T4", f"{GEMMA}-awq")),
    ("", case("vllm 0.13.0 A10G", f"{GEMMA}-awq")),
]
KEPT: list[Row] = [
    *(
        (codes, case(f"vllm {release} H100", name, enable_prefix_caching=True))
        for release, name, codes in (
            ("0.6.0", "Qwen2VLForConditionalGeneration", "LLM880 LLM901"),
            ("0.6.3.post1", "Qwen2VLForConditionalGeneration", "LLM969"),
            ("0.7.1", "Qwen2VLForConditionalGeneration", ""),
            ("0.8.4", "JambaForCausalLM", "LLM969"),
            ("0.10.2", "JambaForCausalLM", ""),
            ("0.8.4", "MambaForCausalLM", "LLM969"),
            ("0.8.4", "BambaForCausalLM", "LLM969"),
            ("0.8.4", "LlamaForCausalLM", ""),
        )
    ),
    ("", case("vllm 0.8.4 H100", "JambaForCausalLM")),
]


def _served(release: str, name: str, backend: str) -> Example:
    return case(f"sglang {release} H100", name, attention_backend=backend)


_drafted = partial(
    case, speculative_algorithm="EAGLE3", speculative_draft_model_path="a/draft"
)
SERVED: list[Row] = [
    ("LLM937", _served("0.5.5", LLAMA_4, "flashinfer")),
    ("LLM937", _served("0.5.20", LLAMA_4, "flashinfer")),
    ("", _served("0.5.9", LLAMA_4, "fa3")),
    ("", _served("0.5.9", LLAMA_4, "triton")),
    ("", case("sglang 0.5.9 H100", LLAMA_4, prefill_attention_backend="flashinfer")),
    ("", _served("0.5.8", OLMO, "flashinfer")),
    ("LLM937", _served("0.5.9", OLMO, "flashinfer")),
    ("", _served("0.5.9", OLMO, "triton")),
    ("LLM937", _served("0.5.12", NEMOTRON, "triton")),
    ("", _served("0.5.17", NEMOTRON, "triton")),
    ("LLM937", _served("0.5.20", LFM, "triton")),
    ("", _served("0.5.20", LFM, "flashinfer")),
    ("", _served("0.5.9", "LlamaForCausalLM", "torch_native")),
    ("LLM937", _served("0.5.9", "MllamaForConditionalGeneration", "triton")),
    ("", _served("0.5.9", "MllamaForConditionalGeneration", "flashinfer")),
    ("LLM937", case("sglang 0.5.9 B200", R1, attention_backend="trtllm_mha")),
    ("", case("sglang 0.5.9 B200", R1, attention_backend="trtllm_mla")),
    ("LLM907", case("sglang 0.5.9 H100", "Gemma3ForCausalLM", pp_size=2)),
    ("", case("sglang 0.5.9 H100", "Gemma3ForCausalLM", pp_size=1)),
    ("", case("sglang 0.5.9 H100", "LlamaForCausalLM", pp_size=2)),
    # 1536 over four devices are 384, and over eight 192.
    ("LLM947", case("sglang 0.5.9 H100", BLOCKS, tp_size=8)),
    ("", case("sglang 0.5.9 H100", BLOCKS, tp_size=8, ep_size=2)),
    ("", case("sglang 0.5.9 H100", BLOCKS, tp_size=8, ep_size=8)),
    ("LLM947", case("sglang 0.5.9 H100", NARROW_BLOCKS, tp_size=8, ep_size=2)),
    (
        "LLM937",
        _drafted(
            "sglang 0.5.9 H100", "LlamaForCausalLM", attention_backend="torch_native"
        ),
    ),
    ("", _drafted("sglang 0.5.5 H100", "LlamaForCausalLM")),
    (
        "LLM953",
        _drafted("sglang 0.5.5 H100", "LlamaForCausalLM", speculative_num_steps=3),
    ),
    (
        "",
        _drafted(
            "sglang 0.5.5 H100",
            "LlamaForCausalLM",
            speculative_num_steps=3,
            speculative_eagle_topk=1,
        ),
    ),
]


@pytest.mark.parametrize(("codes", "example"), PACKED)
def test_cuts_packed_weights_between_groups(codes: str, example: Example) -> None:
    """
    As the kernels of the release and the GPU take them.
    """
    assert codes_of(example) == codes


@pytest.mark.parametrize(("codes", "example"), KEPT)
def test_knows_which_classes_keep_no_prefixes(codes: str, example: Example) -> None:
    """
    In the releases whose classes said so themselves.
    """
    assert codes_of(example) == codes


@pytest.mark.parametrize(("codes", "example"), SERVED)
def test_knows_what_classes_of_sglang_run_with(codes: str, example: Example) -> None:
    """
    An attention backend, and how many branches a draft has.
    """
    assert codes_of(example) == codes


SEES, PIXTRAL = (
    "Qwen2_5_VLForConditionalGeneration",
    "Mistral3ForConditionalGeneration",
)
SAMPLER = {"VLLM_USE_FLASHINFER_SAMPLER": "0"}
INTS = {
    "quant_method": "compressed-tensors",
    "config_groups": {
        "group_0": {
            "weights": {"num_bits": 8, "type": "int"},
            "input_activations": {"num_bits": 8, "type": "int"},
        }
    },
}
EXPERTS = {"quantization_config": INTS, "num_experts": 8}
BNB = {"quantization": "bitsandbytes", "load_format": "bitsandbytes"}
MISTRAL = {**BNB, "config_format": "mistral", "tokenizer_mode": "mistral"}
NEW_ENGINE = {"VLLM_USE_V1": "1"}
EIGHT_BITS = {"kv_cache_dtype": "fp8", "trust_remote_code": True}
HALF = {"dtype": "half"}
NARROW: list[Row] = [
    ("LLM880 LLM923 LLM892", case("vllm 0.9.0 V100", QWEN, **HALF)),
    ("LLM880 LLM892", case("vllm 0.10.0 V100", QWEN, **HALF)),
    ("LLM880", case("vllm 0.9.0 A10G", QWEN, **HALF)),
    ("LLM880 LLM923", case("vllm 0.11.0 V100", QWEN, **HALF)),
    (
        "LLM880 LLM886",
        case("vllm 0.11.0 V100", QWEN, **HALF, environment=SAMPLER),
    ),
    ("LLM886", case("vllm 0.11.1 V100", QWEN, **HALF)),
    ("LLM915", case("vllm 0.7.1 H100", "nvidia/Llama-3.1-8B-Instruct-FP8")),
    ("", case("vllm 0.8.4 H100", "nvidia/Llama-3.1-8B-Instruct-FP8")),
    # 71 heads are not divided, whatever the type is called.
    ("LLM854 LLM945", case("tgi 0.8.2 A100", "tiiuae/falcon-7b", num_shard=4)),
    ("LLM854", case("tgi 0.8.2 A100", "tiiuae/falcon-7b")),
    ("LLM880 LLM923", case("vllm 0.10.1 RTX", SEES)),
    ("", case("vllm 0.11.1 RTX", SEES)),
    ("LLM880", case("vllm 0.10.1 L40S", SEES)),
    ("LLM880 LLM915", case("vllm 0.6.0 A100", "Qwen2MoeForCausalLM", EXPERTS)),
    ("LLM915", case("vllm 0.8.4 A100", "Qwen2MoeForCausalLM", EXPERTS)),
    ("", case("vllm 0.10.2 A100", "Qwen2MoeForCausalLM", EXPERTS)),
    ("", case("vllm 0.8.4 A100", QWEN, {"quantization_config": INTS})),
    ("LLM915", case("vllm 0.8.4 L40S", PIXTRAL, **MISTRAL)),
    ("", case("vllm 0.8.4 L40S", PIXTRAL, **BNB)),
    ("LLM915", case("vllm 0.20.0 L40S", "Zamba2ForCausalLM", **BNB)),
    ("", case("vllm 0.20.0 L40S", "Qwen3ForCausalLM", **BNB)),
    (
        "LLM880 LLM949",
        case("vllm 0.6.1 A100", "LlamaForCausalLM", **BNB, tensor_parallel_size=2),
    ),
    ("", case("vllm 0.6.2 A100", "LlamaForCausalLM", **BNB, tensor_parallel_size=2)),
    (
        "LLM933",
        case("vllm 0.8.4 H200", R1, **EIGHT_BITS, environment=NEW_ENGINE),
    ),
    (
        "",
        case(
            "vllm 0.8.4 H200",
            "LlamaForCausalLM",
            kv_cache_dtype="fp8",
            environment=NEW_ENGINE,
        ),
    ),
    # Fine-tuning programs write the class without its head.
    ("LLM880 LLM901", case("vllm 0.8.1 L40S", "Qwen2_5_VLModel")),
    ("LLM965", case("vllm 0.22.1 L40S", GEMMA, reasoning_parser="gemma4")),
    ("LLM896", case("vllm 0.20.0 L40S", GEMMA, reasoning_parser="gemma4")),
    ("LLM965", case("vllm 0.28.0 L40S", GEMMA, reasoning_parser="qwen3")),
    ("LLM896", case("vllm 0.28.0 L40S", GEMMA, reasoning_parser="granite")),
]


@pytest.mark.parametrize(("codes", "example"), NARROW)
def test_knows_what_single_releases_lack(codes: str, example: Example) -> None:
    """
    On a GPU, of a class, or beside a format.
    """
    assert codes_of(example) == codes
