"""
What files say of how their weights were quantized, by release.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.serving.support.cases import case, codes_of, table
from tests.unit.support_rule_examples import Example

LLAMA = "LlamaForCausalLM"


def _in(method: str, **settings: Any) -> dict[str, Any]:  # noqa: ANN401 - as files have them
    return {"quantization_config": {"quant_method": method, **settings}}


GPTQ_2, GPTQ_5 = _in("gptq", bits=2, sym=True), _in("gptq", bits=5, sym=True)
UNEVEN = _in("gptq", bits=4, sym=False)
BLOCKS = {"weight_block_size": [128, 128]}
STATIC = _in("fp8", activation_scheme="static", **BLOCKS)
DYNAMIC = _in("fp8", activation_scheme="dynamic", **BLOCKS)
ROUNDED = "auto-round"
SPARSE = _in("compressed-tensors", sparsity_config={"format": "sparse-24-bitmask"})
KEPT = {"bnb_4bit_quant_storage": "bfloat16"}
ONLINE = {"quantization_config": {"global_scheme": "fp8_per_tensor"}}
PLAIN = {"torch_dtype": "bfloat16", "hidden_size": 4096}

SETTINGS = table(
    ("LLM938", case("vllm 0.20.0 A10G", LLAMA, _in("awq", bits=8))),
    ("", case("vllm 0.20.0 A10G", LLAMA, _in("awq", bits=4))),
    ("", case("vllm 0.8.4 A10G", LLAMA, _in("awq", bits=8), dtype="float16")),
    ("LLM938", case("vllm 0.10.2 A10G", LLAMA, _in("awq", bits=8))),
    ("LLM938", case("vllm 0.2.7 A10G", LLAMA, _in("gptq", bits=8))),
    ("", case("vllm 0.3.3 A10G", LLAMA, _in("gptq", bits=8))),
    ("LLM938", case("vllm 0.20.0 A10G", LLAMA, GPTQ_5)),
    ("", case("vllm 0.21.0 A10G", LLAMA, GPTQ_2)),
    ("LLM938", case("vllm 0.22.0 A10G", LLAMA, GPTQ_2)),
    ("", case("vllm 0.21.0 A10G", LLAMA, UNEVEN)),
    ("LLM938", case("vllm 0.22.0 A10G", LLAMA, UNEVEN)),
    ("LLM938", case("vllm 0.10.2 H100", LLAMA, STATIC)),
    ("", case("vllm 0.10.2 H100", LLAMA, DYNAMIC)),
    ("LLM938", case("vllm 0.16.0 H100", LLAMA, _in("modelopt", quant_algo="W4A8_AWQ"))),
    ("LLM938", case("vllm 0.15.1 H100", LLAMA, _in("modelopt", quant_algo="MXFP8"))),
    ("", case("vllm 0.16.0 H100", LLAMA, _in("modelopt", quant_algo="MXFP8"))),
    ("", case("vllm 0.10.2 H100", LLAMA, _in("modelopt", quant_algo="FP8"))),
    (
        "LLM938",
        case("vllm 0.13.0 H100", LLAMA, _in("modelopt", quant_algo="FP8_PB_WO")),
    ),
    ("", case("vllm 0.14.0 H100", LLAMA, _in("modelopt", quant_algo="FP8_PB_WO"))),
    ("LLM938", case("vllm 0.20.0 A10G", LLAMA, _in(ROUNDED, bits=5))),
    ("", case("vllm 0.20.0 A10G", LLAMA, _in(ROUNDED, bits=3))),
    ("LLM938", case("vllm 0.26.0 A10G", LLAMA, _in(ROUNDED, data_type="mx_fp"))),
    ("", case("vllm 0.27.1 A10G", LLAMA, _in(ROUNDED, data_type="mx_fp"))),
    (
        "LLM938",
        case(
            "vllm 0.26.0 A10G",
            LLAMA,
            _in(ROUNDED, packing_format="auto_round:llm_compressor"),
        ),
    ),
    ("", case("vllm 0.18.0 H100", LLAMA, SPARSE)),
    ("LLM938", case("vllm 0.19.0 H100", LLAMA, SPARSE)),
    ("LLM938", case("vllm 0.10.2 A10G", LLAMA, _in("bitsandbytes", **KEPT))),
    ("", case("vllm 0.10.2 A10G", LLAMA, _in("bitsandbytes"))),
    ("LLM967", case("vllm 0.19.0 L4", LLAMA, DYNAMIC, **ONLINE)),
    ("LLM938", case("vllm 0.20.0 L4", LLAMA, DYNAMIC, **ONLINE)),
    ("", case("vllm 0.20.0 L4", LLAMA, PLAIN, **ONLINE)),
    ("LLM927", case("vllm 0.10.2 H100", LLAMA, PLAIN, quantization="modelopt")),
    ("LLM927", case("vllm 0.20.0 A10G", LLAMA, PLAIN, quantization="inc")),
    ("LLM927", case("vllm 0.20.0 A10G", LLAMA, PLAIN, quantization="torchao")),
    (
        "",
        case(
            "vllm 0.20.0 A10G",
            LLAMA,
            PLAIN,
            quantization="torchao",
            hf_overrides={"quantization_config_file": "a.json"},
        ),
    ),
)


@pytest.mark.parametrize(("codes", "example"), SETTINGS)
def test_reads_what_the_files_say(codes: str, example: Example) -> None:
    """
    On both sides of each release at which that changed.
    """
    assert codes_of(example) == codes
