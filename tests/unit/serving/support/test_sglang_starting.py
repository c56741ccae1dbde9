"""
What SGLang and TGI stop at when they set to work.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.serving.support.cases import case, codes_of, table
from tests.unit.support_rule_examples import Example

LLAMA, DEEPSEEK = "LlamaForCausalLM", "DeepseekV3ForCausalLM"
QWEN, GGUF = "Qwen/Qwen2.5-7B-Instruct", "TheBloke/Llama-2-7B-Chat-GGUF"
MLX = "mlx-community/Qwen2.5-7B-Instruct-4bit"
BITS = {"quantization_config": {"quant_method": "bitsandbytes"}}
MOE_FP8 = "Qwen/Qwen3-30B-A3B-Instruct-2507-FP8"
EAGLE: dict[str, Any] = {"speculative_algorithm": "EAGLE3"}
PLAIN = {"torch_dtype": "bfloat16", "hidden_size": 4096}
W4A16 = "RedHatAI/Meta-Llama-3.1-8B-Instruct-quantized.w4a16"
LLAMA_2 = "meta-llama/Llama-2-7b-chat-hf"
AWQ_LLAMA = "TheBloke/Llama-2-7B-Chat-AWQ"
HALF: dict[str, Any] = {"dtype": "float16"}

STARTS = table(
    ("LLM937", case("sglang 0.5.9 A10G", LLAMA, attention_backend="aiter")),
    ("", case("sglang 0.5.9 A10G", LLAMA, attention_backend="triton")),
    ("LLM948", case("sglang 0.5.9 A10G", LLAMA, **EAGLE)),
    ("", case("sglang 0.5.9 A10G", LLAMA, **EAGLE, speculative_draft_model_path="a/b")),
    ("", case("sglang 0.5.9 H100", DEEPSEEK, **EAGLE)),
    ("LLM949", case("sglang 0.5.9 A100", LLAMA, BITS, tp_size=2)),
    ("", case("sglang 0.5.9 A100", LLAMA, BITS, tp_size=1)),
    ("LLM948", case("sglang 0.5.9 A10G", QWEN, load_format="sharded_state")),
    ("", case("sglang 0.5.9 A10G", LLAMA, load_format="sharded_state")),
    ("LLM948", case("sglang 0.5.9 A10G", GGUF, {"architectures": [LLAMA]})),
    ("LLM938", case("sglang 0.5.9 A10G", MLX, {"architectures": [LLAMA]})),
    ("LLM948", case("sglang 0.5.9 H100", MOE_FP8, tp_size=4, ep_size=3)),
    ("", case("sglang 0.5.9 H100", MOE_FP8, tp_size=4, ep_size=4)),
    ("LLM927", case("sglang 0.5.9 A10G", LLAMA, PLAIN, quantization="moe_wna16")),
    ("", case("sglang 0.5.9 L4", LLAMA, PLAIN, quantization="fp8")),
    ("LLM950", case("tgi 1.1.0 A10G", LLAMA_2, quantize="bitsandbytes", **HALF)),
    ("", case("tgi 2.4.0 A10G", LLAMA_2, quantize="bitsandbytes", **HALF)),
    ("LLM170", case("tgi 2.4.0 A10G", LLAMA_2, quantize="eetq", **HALF)),
    ("", case("tgi 2.4.0 A10G", LLAMA_2, quantize="eetq")),
    ("LLM950", case("tgi 1.4.5 A10G", AWQ_LLAMA)),
    *(
        ("", case("tgi 1.4.5 A10G", AWQ_LLAMA, environment={variable: "awq"}))
        for variable in ("QUANTIZE", "HF_MODEL_QUANTIZE")
    ),
    ("", case("tgi 1.4.5 A10G", AWQ_LLAMA, quantize="awq")),
    ("", case("tgi 2.0.2 A10G", AWQ_LLAMA)),
    ("LLM950", case("tgi 2.4.0 A10G", W4A16)),
    ("", case("tgi 3.3.6 A10G", W4A16)),
    ("", case("tgi 2.2.0 A10G", LLAMA_2, environment={"ATTENTION": "sdpa"})),
    ("LLM950", case("tgi 2.3.1 A10G", LLAMA_2, environment={"ATTENTION": "sdpa"})),
    ("", case("tgi 2.3.1 A10G", LLAMA_2, environment={"ATTENTION": "paged"})),
)


@pytest.mark.parametrize(("codes", "example"), STARTS)
def test_starts_with_what_is_asked_for(codes: str, example: Example) -> None:
    """
    By the release, on both sides.
    """
    assert codes_of(example) == codes
