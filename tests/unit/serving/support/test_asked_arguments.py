"""
Arguments that somebody asks about, against what the release takes of them.
"""

from __future__ import annotations

from typing import Any

import pytest

from cdk_sagemaker_llm.serving import check_support
from tests.unit.serving.support.cases import case, table
from tests.unit.support_rule_examples import Example

LLAMA = "LlamaForCausalLM"
DRAFT = {"method": "ngram", "num_speculative_tokens": 3, "prompt_lookup_max": 4}
CACHE = {"kv_connector": "a", "kv_role": "kv_both"}
TAKEN = table(
    ("vllm 0.15.1", {"max_model_len": 4096.0}),
    ("vllm 0.15.1", {"max-model-len": "8k"}),
    ("vllm 0.15.1", {"no_enable_prefix_caching": True, "enforce_eager": False}),
    ("vllm 0.15.1", {"enable_prefix_caching": "false", "enforce_eager": "True"}),
    ("vllm 0.15.1", {"nobody_has_it": None, "nor_this": False}),
    ("vllm 0.15.1", {"chat_template": "./a.jinja", "served_model_name": ["a", "b"]}),
    ("vllm 0.15.1", {"served_model_name": "a", "response_role": "assistant"}),
    ("vllm 0.15.1", {"limit_mm_per_prompt": {"image": 2}}),
    ("vllm 0.15.1", {"limit_mm_per_prompt": '{"image": 2}'}),
    ("vllm 0.10.2", {"limit_mm_per_prompt": {"image": 2}}),
    ("vllm 0.15.1", {"limit_mm_per_prompt.image": 2, "tokenizer_config.a": "b"}),
    ("vllm 0.15.1", {"compilation_config": 3, "hf_overrides": {"a": 1}}),
    ("vllm 0.15.1", {"compilation_config": '{"mode": 3}'}),
    ("vllm 0.15.1", {"model_weights": "s3://a/b", "dtype": "BFLOAT16"}),
    ("vllm 0.15.1", {"quantization": "None", "load_format": "AUTO"}),
    ("vllm 0.15.1", {"tensor_parallel_size": 8, "nnodes": 2}),
    ("vllm 0.15.1", {"seed": 1, "attention_backend": "flash_attn"}),
    ("vllm 0.12.0", {"attention_backend": "FLASH_ATTN"}),
    ("vllm 0.15.1", {"cudagraph_capture_sizes": [1, 2, 4]}),
    ("vllm 0.15.1", {"allowed_origins": ["*"], "middleware": "a b"}),
    ("vllm 0.15.1", {"speculative_config": DRAFT}),
    (
        "vllm 0.15.1",
        {"kv_transfer_config": {"kv_connector": "a", "kv_role": "kv_both"}},
    ),
    ("vllm 0.15.1", {"swap_space": 4}),
    # What LMI reads by itself, in its own words, and what other programs read.
    ("vllm 0.15.1", {"rolling_batch": "vllm", "max_rolling_batch_size": 64}),
    ("vllm 0.15.1", {"model_id": "a/b", "async_mode": True, "adapters": "x"}),
    ("vllm 0.10.2", {"long_lora_scaling_factors": 4.0}),
    ("vllm 0.10.2", {"load_format": "sagemaker_fast_model_loader"}),
    ("vllm 0.7.1", {"task": "text-generation"}),
    ("vllm 0.15.1", {"nobody_has_it": True}),
    ("sglang 0.5.9", {"nobody_has_it": True}),
    ("vllm 0.5.3.post1", {"nobody_has_it": 1, "engine_use_ray": True}),
    ("vllm 0.6.2", {"num_scheduler_steps": 8}),
    ("vllm 0.4.2", {"enable_chunked_prefill": True}),
    # The releases beside it have it.
    ("vllm 0.23.1", {"kv_cache_dtype": "fp8"}),
    ("sglang 0.5.9", {"tp": 4, "mem_fraction_static": 0.8, "log_level": "info"}),
    ("sglang 0.5.14", {"stat_loggers": "a", "disable_radix_cache": True}),
    ("tgi 3.3.4", {"max_input_tokens": 10, "max_total_tokens": 20, "quantize": ""}),
    ("tei 1.8.2", {"auto_truncate": True, "dtype": "float16"}),
)
REFUSED = table(
    ("vllm 0.15.1", {"max_model_length": 4096}, "LLM551"),
    # What no table describes refuses what both beside it do.
    ("vllm 0.23.1", {"kv_cache_dtype": "nobody_has_it"}, "LLM504"),
    ("vllm 0.10.0", {"enable_reasoning": True}, "LLM880 LLM967"),
    ("vllm 0.9.2", {"enable_reasoning": True}, "LLM880"),
    ("vllm 0.23.1", {"gpu_memory_utilisation": 0.9}, "LLM551"),
    ("sglang 0.5.9", {"context_lenght": 4096}, "LLM551"),
    ("vllm 0.23.1", {"enable_reasoning": True}, "LLM967"),
    ("vllm 0.5.3.post1", {"enable_expert_parallel": True}, "LLM967"),
    ("vllm 0.5.3.post1", {"num_scheduler_steps": 8}, "LLM967"),
    ("vllm 0.3.3", {"enable_chunked_prefill": True}, "LLM967"),
    ("sglang 0.5.5", {"cuda_graph_config": {}}, "LLM967"),
    ("vllm 0.15.1", {"max_model_len": "long"}, "LLM504"),
    ("vllm 0.15.1", {"kv_cache_dtype": "fp9"}, "LLM504"),
    ("sglang 0.5.9", {"attention_backend": "foo"}, "LLM504"),
    ("vllm 0.15.1", {"kv_transfer_config": {"kv_connector": "a"}}, "LLM504"),
    ("vllm 0.15.1", {"kv_transfer_config.kv_connector": "a"}, "LLM504"),
    ("vllm 0.15.1", {"gpu_memory_utilization": 1.5}, "LLM507"),
    ("vllm 0.22.1", {"attention_backend": "XFORMERS"}, "LLM539"),
    ("vllm 0.15.1", {"speculative_config": {"nobody_has_it": 1}}, "LLM541"),
    ("vllm 0.15.1", {"tensor_parallel_size": 8}, "LLM516"),
    ("vllm 0.15.1", {"tensor_parallel_size": 2, "data_parallel_size": 4}, "LLM516"),
    ("sglang 0.5.9", {"tp_size": 8}, "LLM516"),
    ("sglang 0.5.9", {"log_level": "warn"}, "LLM537"),
    ("tgi 3.3.4", {"max_input_tokens": 20, "max_total_tokens": 20}, "LLM115"),
    ("tgi 3.3.4", {"max_input_tokens": "long"}, "LLM162"),
    ("tei 1.8.2", {"dtype": "bfloat17"}, "LLM527"),
)


def _codes(where: str, arguments: dict[str, Any]) -> str:
    engine, release = where.split()
    found = check_support(
        "BAAI/bge-base-en-v1.5" if engine == "tei" else "a/b",
        engine=engine,
        release=release,
        instance_type="ml.g6.12xlarge",
        arguments=arguments,
        config=None if engine == "tei" else {"architectures": [LLAMA]},
    )
    return " ".join(one.code for one in found)


MOE, OSS, V3 = "Qwen3MoeForCausalLM", "GptOssForCausalLM", "DeepseekV3ForCausalLM"
EIGHT = {"quantization": "fp8"}
CUTLASS, OWN = (
    {"moe_runner_backend": "flashinfer_cutlass"},
    {"moe_runner_backend": "cutlass"},
)
KERNELS = {"moe_runner_backend": "triton_kernel", "tp_size": 2}
TREE = {
    "speculative_algorithm": "EAGLE3",
    "speculative_num_steps": 3,
    "speculative_eagle_topk": 2,
    "speculative_draft_model_path": "a/eagle3",
}
CHAIN = {**TREE, "speculative_eagle_topk": 1}
GRAM = {"speculative_algorithm": "NGRAM", "page_size": 16}
SAME = {"enable_deterministic_inference": True}
SPLIT = {"chunked_prefill_size": -1, "disable_overlap_schedule": True}
STARTS = table(
    # Kernels for experts, by the weights and how experts are shared.
    ("0.5.9 H100", MOE, {**CUTLASS, **EIGHT}, "LLM537"),
    ("0.5.9 B200", MOE, {**CUTLASS, "quantization": "modelopt_fp4"}, ""),
    ("0.5.9 H100", MOE, CUTLASS, ""),
    ("0.5.9 H100", MOE, {**CUTLASS, "tp_size": 8, "ep_size": 2}, "LLM537"),
    ("0.5.9 H100", MOE, {**CUTLASS, "tp_size": 8, "ep_size": 8}, ""),
    ("0.5.9 H100", MOE, {**CUTLASS, "tp_size": 8}, ""),
    ("0.5.9 H100", MOE, {**OWN, **EIGHT, "tp_size": 4, "ep_size": 4}, "LLM537"),
    ("0.5.9 H100", MOE, {**OWN, **EIGHT, "tp_size": 4}, ""),
    ("0.5.9 H100", MOE, {**OWN, "tp_size": 4, "ep_size": 4}, ""),
    (
        "0.5.9 H100",
        MOE,
        {"moe_runner_backend": "flashinfer_trtllm", "quantization": "awq"},
        "LLM537",
    ),
    ("0.5.9 H100", MOE, {"moe_runner_backend": "flashinfer_trtllm", **EIGHT}, ""),
    ("0.5.9 H100", OSS, {**KERNELS, "ep_size": 2}, "LLM537"),
    ("0.5.20 H100", OSS, {**KERNELS, "ep_size": 2}, "LLM537"),
    ("0.5.9 H100", OSS, KERNELS, ""),
    ("0.5.9 H100", MOE, {**KERNELS, "ep_size": 2}, ""),
    # Drafts with branches, in pages.
    ("0.5.9 B200", LLAMA, {**TREE, "attention_backend": "trtllm_mha"}, "LLM537"),
    ("0.5.9 B200", LLAMA, {**CHAIN, "attention_backend": "trtllm_mha"}, ""),
    (
        "0.5.9 H100",
        LLAMA,
        {**TREE, "page_size": 16, "attention_backend": "triton"},
        "LLM537",
    ),
    (
        "0.5.14 H100",
        LLAMA,
        {**TREE, "page_size": 16, "attention_backend": "triton"},
        "",
    ),
    ("0.5.9 H100", LLAMA, {**TREE, "page_size": 16, "attention_backend": "fa3"}, ""),
    (
        "0.5.5 H100",
        LLAMA,
        {**TREE, "page_size": 16, "attention_backend": "fa3"},
        "LLM537",
    ),
    ("0.5.9 H100", LLAMA, {**TREE, "attention_backend": "triton"}, ""),
    ("0.5.9 H100", LLAMA, {**TREE, "page_size": 16}, ""),
    (
        "0.5.9 H100",
        LLAMA,
        {**CHAIN, "page_size": 16, "attention_backend": "triton"},
        "",
    ),
    ("0.5.9 H100", LLAMA, {**GRAM, "attention_backend": "fa3"}, "LLM537"),
    ("0.5.9 H100", LLAMA, {**GRAM, "attention_backend": "flashinfer"}, ""),
    (
        "0.5.9 H100",
        LLAMA,
        {
            **GRAM,
            "attention_backend": "fa3",
            "speculative_ngram_max_bfs_breadth": 1,
        },
        "",
    ),
    # Whole pages in a chunk.
    ("0.5.9 L4", LLAMA, {"chunked_prefill_size": 100, "page_size": 64}, "LLM537"),
    ("0.5.9 L4", LLAMA, {"chunked_prefill_size": 128, "page_size": 64}, ""),
    ("0.5.9 L4", LLAMA, {"chunked_prefill_size": -1, "page_size": 64}, ""),
    ("0.5.9 L4", V3, {"chunked_prefill_size": 100, "page_size": 64}, ""),
    # The same answer each time.
    ("0.5.9 H100", LLAMA, {**SAME, "attention_backend": "torch_native"}, "LLM537"),
    ("0.5.9 H100", LLAMA, {**SAME, "attention_backend": "flashinfer"}, ""),
    ("0.5.9 H100", LLAMA, {"attention_backend": "torch_native"}, ""),
    ("0.5.9 H100", V3, {**SAME, "attention_backend": "flashinfer"}, "LLM537"),
    ("0.5.9 H100", V3, {**SAME, "attention_backend": "triton"}, ""),
    # What a request may have.
    ("0.5.9 L4", LLAMA, {"limit_mm_data_per_request": {"picture": 1}}, "LLM537"),
    ("0.5.9 L4", LLAMA, {"limit_mm_data_per_request": {"image": 1}}, ""),
    # Prompts and answers beside each other on the GPU.
    ("0.5.9 L4", LLAMA, {"enable_pdmux": True}, "LLM537"),
    ("0.5.9 L4", LLAMA, {"enable_pdmux": True, **SPLIT}, ""),
    ("0.5.9 L4", V3, {"enable_pdmux": True}, ""),
)


@pytest.mark.parametrize(("where", "name", "arguments", "codes"), STARTS)
def test_starts_with_what_goes_together(
    where: str, name: str, arguments: dict[str, Any], codes: str
) -> None:
    """
    By SGLang's release and the model's class.
    """
    found = case(f"sglang {where}", name, **arguments)()

    assert " ".join(one.code for one in found) == codes


@pytest.mark.parametrize(("where", "arguments"), TAKEN)
def test_takes_what_python_or_the_command_line_takes(
    where: str, arguments: dict[str, Any]
) -> None:
    """
    In the words of either, and of what no table describes.
    """
    assert _codes(where, arguments) == ""


@pytest.mark.parametrize(("where", "arguments", "code"), REFUSED)
def test_refuses_what_the_release_refuses(
    where: str, arguments: dict[str, Any], code: str
) -> None:
    """
    Names, values, bounds, and what goes together.
    """
    assert _codes(where, arguments) == code


@pytest.mark.parametrize(
    ("example", "told"),
    [
        (
            case("vllm 0.15.1 L4", LLAMA, max_model_length=4),
            (
                "LLM551 vLLM 0.15.1 does not have the argument max_model_length, and "
                "no other release has; did you mean max_model_len?"
            ),
        ),
        (
            case("vllm 0.15.1 L4", LLAMA, enable_lora=True, max_lora_rank=7),
            (
                "LLM957 max_lora_rank must be 1, 8, 16, 32, 64, 128, 256, 320 or 512, "
                "got 7"
            ),
        ),
        (
            case("vllm 0.15.1 L4", LLAMA, tensor_parallel_size=2),
            (
                "LLM516 tensor_parallel_size=2 needs 2 accelerators, and there is 1; "
                "write tensor_parallel_size=1"
            ),
        ),
        (
            case("vllm 0.15.1 L4", LLAMA, reasoning_parser="qwen4"),
            (
                "LLM961 vLLM 0.15.1 has no reasoning parser named qwen4, got "
                "reasoning_parser=qwen4; use qwen3"
            ),
        ),
    ],
)
def test_tells_of_each_argument_once(example: Example, told: str) -> None:
    """
    In the caller's words, and none of variables.
    """
    assert [str(found) for found in example()] == [told]
