"""
How published weights are quantized.
"""

from __future__ import annotations

from typing import Any

import pytest

from cdk_sagemaker_llm import ModelArchitecture
from cdk_sagemaker_llm.catalog.architectures import known_config

# Of a layer of Llama 3.1 8B: query and output 4096 x 4096 each, key and value a quarter
# of that, and three of 4096 x 14336. The rest, in 16 bits: 1,050,939,392 parameters.
QUERY, KEY, MLP = 4096 * 4096, 4096 * 1024, 4096 * 14336
ATTENTION = 2 * QUERY + 2 * KEY
LAYER = ATTENTION + 3 * MLP
QUANTIZABLE, ALL = 32 * LAYER, 8_030_261_248


def of(**quantization: Any) -> ModelArchitecture:  # noqa: ANN401 - as in a file
    """
    Read Llama 3.1 8B, quantized.
    """
    config = known_config("meta-llama/Llama-3.1-8B")
    assert config is not None
    return ModelArchitecture.from_config(
        {**config, "quantization_config": quantization}
    )


def compressed(ignore: list[str] | None = None, **weights: object) -> dict[str, object]:
    """
    Write a quantization of compressed-tensors with one group.
    """
    return {
        "quant_method": "compressed-tensors",
        "config_groups": {"group_0": {"targets": ["Linear"], "weights": weights}},
        "ignore": ["lm_head"] if ignore is None else ignore,
    }


@pytest.mark.parametrize(
    ("quantization", "bits", "each"),
    [
        ({"quant_method": "fp8", "activation_scheme": "dynamic"}, 8, 8),
        ({"quant_method": "fp8", "weight_block_size": [128, 128]}, 8, 8 + 32 / 16384),
        ({"quant_method": "fbgemm_fp8"}, 8, 8),
        (
            {"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": True},
            4,
            4 + 20 / 128,
        ),
        ({"quant_method": "awq", "bits": 4, "group_size": 64}, 4, 4 + 20 / 64),
        ({"quant_method": "gptq", "bits": 4, "group_size": 128}, 4, 4 + 20 / 128),
        ({"quant_method": "gptq", "bits": 8, "group_size": 32}, 8, 8 + 24 / 32),
        # A group of -1 is a row.
        ({"quant_method": "gptq", "bits": 4, "group_size": -1}, 4, 4),
        ({"quant_method": "mxfp4"}, 4, 4.25),
        ({"quant_method": "bitsandbytes", "load_in_8bit": True}, 8, 8),
        ({"quant_method": "bitsandbytes", "load_in_4bit": True}, 4, 4.5),
        (
            {
                "quant_method": "bitsandbytes",
                "_load_in_4bit": True,
                "bnb_4bit_use_double_quant": True,
            },
            4,
            4 + 8 / 64 + 32 / 16384,
        ),
        (compressed(num_bits=8, type="float", strategy="channel"), 8, 8),
        (
            compressed(num_bits=4, type="int", group_size=128, symmetric=True),
            4,
            4 + 16 / 128,
        ),
        (
            compressed(num_bits=4, type="int", group_size=128, symmetric=False),
            4,
            4 + 20 / 128,
        ),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4"}, 4, 4.5),
        ({"quant_method": "modelopt", "quant_algo": "FP8"}, 8, 8),
        ({"quant_method": "hqq", "bits": 4, "group_size": 64}, 4, 4 + 20 / 64),
    ],
    ids=str,
)
def test_a_format_decides_the_bits(
    quantization: dict[str, object], bits: int, each: float
) -> None:
    """
    Of the linear layers, with scales and zero points; the rest stays in 16.
    """
    found = of(**quantization)

    assert found.bits_of_a_weight() == bits
    assert (
        found.weight_bytes()
        == (int(QUANTIZABLE * each) + (ALL - QUANTIZABLE) * 16) // 8
    )


@pytest.mark.parametrize(
    ("names", "spared"),
    [
        ([], 0),
        (["lm_head", "model.embed_tokens", "model.norm"], 0),
        (["model.layers.0.input_layernorm", "model.layers.0.mlp.gate"], 0),
        (["model.layers.0.self_attn"], ATTENTION),
        (["model.layers.*.self_attn"], 32 * ATTENTION),
        (["re:.*self_attn.*"], 32 * ATTENTION),
        (["model.layers.31.mlp"], 3 * MLP),
        (["model.layers.3"], LAYER),
        (["model.layers.0.mlp.down_proj", "model.layers.0.mlp.down_proj"], MLP),
        (["model.layers.0.self_attn.q_proj", "model.layers.0.self_attn"], ATTENTION),
        (["model.layers.0.self_attn.k_proj"], KEY),
        (["o_proj"], 32 * QUERY),
        # There is no such layer.
        (["model.layers.32.mlp"], 0),
        (["mlp", "self_attn"], QUANTIZABLE),
    ],
    ids=str,
)
@pytest.mark.parametrize("key", ["modules_to_not_convert", "ignore"])
def test_what_is_named_stays_as_it_is(key: str, names: list[str], spared: int) -> None:
    """
    Each part of a layer once, whether by itself or with others.
    """
    found = of(**{"quant_method": "fp8", key: names})
    quantized = QUANTIZABLE - spared

    assert found.weight_format is not None
    assert found.weight_format.spared == spared
    assert found.weight_bytes() == quantized + (ALL - quantized) * 2


@pytest.mark.parametrize(
    "quantization",
    [
        {"quant_method": "none_of_these"},
        {"quant_method": None},
        {"quant_method": "compressed-tensors", "config_groups": {}},
        {"quant_method": "compressed-tensors"},
        {"quant_method": "compressed-tensors", "config_groups": {"a": {"weights": 1}}},
    ],
    ids=str,
)
def test_what_is_not_understood_is_counted_in_16_bits(
    quantization: dict[str, object],
) -> None:
    """
    As if nothing were said.
    """
    assert of(**quantization).weight_format is None


def test_what_is_asked_for_goes_before_what_is_published() -> None:
    """
    But for the same bits, whose groups are those of the file.
    """
    found = of(quant_method="awq", bits=4, group_size=32)

    assert found.weight_bytes(16) == ALL * 2
    assert found.weight_bytes(8) == QUANTIZABLE + (ALL - QUANTIZABLE) * 2
    assert found.weight_bytes(4) == found.weight_bytes()


@pytest.mark.parametrize(
    ("model", "gigabytes"),
    [
        # As many as the published files hold.
        ("openai/gpt-oss-20b", 13.76),
        ("openai/gpt-oss-120b", 65.25),
        ("Qwen/Qwen2.5-7B-Instruct-AWQ", 5.57),
        ("meta-llama/Llama-3.1-8B", 16.06),
        ("deepseek-ai/DeepSeek-R1", 673.15),
    ],
)
def test_the_catalogue_knows_what_is_published_quantized(
    model: str, gigabytes: float
) -> None:
    """
    By the bytes of the weights.
    """
    found = ModelArchitecture.of(model).weight_bytes() / 10**9

    assert found == pytest.approx(gigabytes, abs=0.005)


def test_what_stands_beside_the_experts_is_spared_alone() -> None:
    """
    Kimi K2.5: 384 experts of 3 x 7168 x 2048 in 60 layers have 4 bits and scales for
    32 weights, and all the rest has 16. Its relative K2 Thinking has 594 GB.
    """
    found = ModelArchitecture.of("moonshotai/Kimi-K2.5")
    experts = 60 * 384 * 3 * 7168 * 2048
    expected = experts * 4.5 / 8 + (found.parameter_count - experts) * 2

    assert found.weight_bytes() == pytest.approx(expected, rel=1e-6)
    assert 594.1e9 < found.weight_bytes() < 594.3e9


@pytest.mark.parametrize(
    ("name", "spared"),
    [
        # One of the three of a dense block, or the shared experts: 3 x 7168 x 18432
        # and 60 times 3 x 7168 x 2048, spread over the blocks.
        ("re:.*shared_experts.*", 3_038_773_248),
        ("re:.*mlp\\.(gate|up|gate_up|down)_proj.*", 3_038_773_248),
        ("re:.*mlp.gate$", 0),
        # All of it.
        ("re:.*mlp\\.experts.*", 1_017_724_796_928),
        ("re:.*mlp.*", 1_017_724_796_928),
    ],
)
def test_a_mixtures_module_is_known_by_its_name(name: str, spared: int) -> None:
    """
    Experts, what stands beside them, or both; a layer's share rounded down.
    """
    config = known_config("moonshotai/Kimi-K2-Base")
    assert config is not None
    quantization = compressed([name], num_bits=4, group_size=32)
    found = ModelArchitecture.from_config(
        {**config, "quantization_config": quantization}
    )

    assert found.weight_format is not None
    assert found.weight_format.spared == pytest.approx(spared, abs=200)
