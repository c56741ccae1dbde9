"""
What is known of a model's files: each name, and each key from both sides.
"""

from __future__ import annotations

from typing import Any

import pytest

from cdk_sagemaker_llm.architectures import ModelArchitecture
from cdk_sagemaker_llm.serving.support.checkpoint import (
    Checkpoint,
    checkpoint_for,
    checkpoint_of,
)

COMPRESSED = "compressed-tensors"


@pytest.mark.parametrize(
    ("model", "quantization"),
    [
        ("a/b-AWQ", {"quant_method": "awq", "bits": 4}),
        ("a/awq", {"quant_method": "awq", "bits": 4}),
        ("a/b.awq-4bit", {"quant_method": "awq", "bits": 4}),
        ("a/b_awq_v2", {"quant_method": "awq", "bits": 4}),
        ("a/hawq", {}),
        ("a/b-awqs", {}),
        ("a-awq/b", {}),
        ("a/b-GPTQ", {"quant_method": "gptq", "bits": 4}),
        ("a/b-GPTQ-Int4", {"quant_method": "gptq", "bits": 4}),
        ("a/b-GPTQ-Int8", {"quant_method": "gptq", "bits": 8}),
        ("a/b-gptq_int8", {"quant_method": "gptq", "bits": 8}),
        ("a/b-gptqint8", {"quant_method": "gptq", "bits": 8}),
        ("a/b-gptq-8bit", {"quant_method": "gptq", "bits": 8}),
        ("a/b-gptq_8bit", {"quant_method": "gptq", "bits": 8}),
        ("a/b-bnb-4bit", {"quant_method": "bitsandbytes"}),
        ("a/b-bnb_8bit", {"quant_method": "bitsandbytes"}),
        ("a/b-bnb", {}),
        ("a/b-GGUF", {"quant_method": "gguf"}),
        ("a/b-quantized.w4a16", {"quant_method": COMPRESSED, "scheme": "w4a16"}),
        ("a/b-W4A16", {"quant_method": COMPRESSED, "scheme": "w4a16"}),
        ("a/b-int4-AutoRound", {"quant_method": "auto-round", "bits": 4}),
        ("a/b-AutoRound", {}),
        ("cyankiwi/b-AWQ-INT4", {"quant_method": COMPRESSED}),
        ("a/b-AWQ-INT4", {"quant_method": "awq", "bits": 4}),
        ("RedHatAI/b-NVFP4A16", {"quant_method": COMPRESSED, "scheme": "nvfp4"}),
        ("a/b-quantized.w8a16", {"quant_method": COMPRESSED, "scheme": "w8a16"}),
        ("a/b-w8a16", {}),
        ("a/b-quantized.w8a8", {"quant_method": COMPRESSED, "scheme": "w8a8"}),
        ("a/b-w8a8", {"quant_method": COMPRESSED, "scheme": "w8a8"}),
        ("a/b-FP8-dynamic", {"quant_method": COMPRESSED, "scheme": "fp8"}),
        ("a/b-fp8_dynamic", {"quant_method": COMPRESSED, "scheme": "fp8"}),
        ("a/b-FP8", {}),
        ("nvidia/b-FP4", {"quant_method": "modelopt", "quant_algo": "NVFP4"}),
        ("nvidia/b-NVFP4", {"quant_method": "modelopt", "quant_algo": "NVFP4"}),
        ("nvidia/b-FP8", {"quant_method": "modelopt", "quant_algo": "FP8"}),
        ("nvidia/b-FP8-more", {}),
        ("meta-llama/Llama-4-b-FP8", {"quant_method": COMPRESSED, "scheme": "fp8"}),
        ("meta-llama/Llama-3.1-b-FP8", {}),
        *(
            (f"{owner}/b-NVFP4", {"quant_method": COMPRESSED, "scheme": "nvfp4"})
            for owner in ("RedHatAI", "neuralmagic", "nm-testing")
        ),
        ("RedHatAI/b-FP4", {"quant_method": COMPRESSED, "scheme": "nvfp4"}),
        ("neuralmagic/Meta-Llama-3-8B-FP8", {"quant_method": "fp8"}),
        ("neuralmagic/Qwen2-7B-FP8", {"quant_method": "fp8"}),
        *(
            (f"RedHatAI/{one}-FP8", {"quant_method": COMPRESSED, "scheme": "fp8"})
            for one in (
                "Meta-Llama-3.1-8B",
                "Llama-3.9-8B",
                "Llama-4-Scout",
                "Qwen2.5-7B",
                "Qwen3-8B",
                "gemma-3-4b",
                "phi-4",
                "DeepSeek-R1",
                "Mistral-Small-3.1",
                "granite-3.1-8b",
            )
        ),
        ("RedHatAI/Mistral-Nemo-FP8", {}),
        *(
            (
                f"{owner}/b-FP8",
                {"quant_method": "fp8", "weight_block_size": [128, 128]},
            )
            for owner in ("Qwen", "deepseek-ai")
        ),
    ],
)
def test_reads_how_a_model_was_quantized_from_its_name(
    model: str, quantization: dict[str, Any]
) -> None:
    """
    By its words, and by who publishes it.
    """
    assert (checkpoint_of(model).quantization or {}) == quantization


def _of(**config: Any) -> Checkpoint:  # noqa: ANN401 - JSON
    return Checkpoint(name="a/b", config=config)


@pytest.mark.parametrize(
    ("checkpoint", "method"),
    [
        (_of(), None),
        (Checkpoint(name="a/b", is_whole=True), ""),
        (_of(quantization_config={}), ""),
        (_of(quantization_config=None), None),
        (_of(quantization_config={"quant_method": "AWQ"}), "awq"),
        (_of(compression_config={"quant_method": "awq"}), "awq"),
        (_of(text_config={"quantization_config": {"quant_method": "awq"}}), "awq"),
        (_of(text_config={"compression_config": {"quant_method": "awq"}}), "awq"),
        (_of(text_config=3), None),
        (_of(quantization_config={"bits": 4}), None),
        (_of(quantization_config={"quant_method": "compressed_tensors"}), COMPRESSED),
        (_of(quantization_config={"quant_method": "modelopt"}), "modelopt"),
        (
            _of(
                quantization_config={"quant_method": "modelopt", "quant_algo": "nvfp4"}
            ),
            "modelopt_fp4",
        ),
        (
            _of(quantization_config={"quant_method": "modelopt", "quant_algo": "FP8"}),
            "modelopt",
        ),
        (_of(quantization_config={"quant_method": "fp8", "quant_algo": "FP4"}), "fp8"),
    ],
)
def test_reads_the_method_of_the_weights(
    checkpoint: Checkpoint, method: str | None
) -> None:
    """
    Empty for none, and nothing where it is not known.
    """
    assert checkpoint.method == method


@pytest.mark.parametrize(
    ("checkpoint", "dtype"),
    [
        (_of(), None),
        (_of(torch_dtype="bfloat16"), "bfloat16"),
        (_of(dtype="bfloat16"), "bfloat16"),
        (_of(torch_dtype="torch.Float16"), "float16"),
        (_of(torch_dtype=None, dtype="float32"), "float32"),
        (_of(torch_dtype="float16", text_config={"dtype": "bfloat16"}), "float16"),
        (
            _of(torch_dtype="float16", text_config={"torch_dtype": "bfloat16"}),
            "bfloat16",
        ),
    ],
)
def test_reads_the_data_type(checkpoint: Checkpoint, dtype: str | None) -> None:
    """
    By either key, that of the text part first.
    """
    assert checkpoint.dtype == dtype


def test_reads_classes_types_and_numbers() -> None:
    """
    What is not of its kind is not known.
    """
    assert _of(architectures=["A", "B"]).classes == ("A", "B")
    assert _of(architectures=("A",)).class_name == "A"
    assert _of(architectures="A").classes == ()
    assert _of().class_name is None
    assert _of().model_type is None
    assert _of(model_type="own", architectures=["LlamaForCausalLM"]).model_type == "own"
    assert _of(architectures=["LlamaForCausalLM"]).model_type == "llama"
    assert _of(model_type=3).model_type is None
    assert _of(a=1, text_config={"a": 2}).number("a") == 2
    assert _of(b=3, text_config={"a": 2}).number("b") == 3
    assert _of(a=None, b=3).number("a", "b") == 3
    assert _of(a=True).number("a") is None
    assert _of(a="1").number("a") is None


@pytest.mark.parametrize(
    "key", ["hidden_size", "d_model", "n_embd", "text_config", "transformers_version"]
)
def test_takes_a_config_with_its_sizes_for_a_whole_one(key: str) -> None:
    """
    And another for single keys of it.
    """
    model = "meta-llama/Llama-3.1-8B-Instruct"

    assert checkpoint_of("a/b", {key: {}}).is_whole
    assert not checkpoint_of("a/b", {"model_type": "llama"}).is_whole
    assert checkpoint_of(model, {key: {}}).class_name is None
    beside = checkpoint_of(model, {"model_type": "other"})
    assert beside.is_whole
    assert (beside.class_name, beside.model_type) == ("LlamaForCausalLM", "other")


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("unsloth/Llama-3.2-3B-Instruct", "LlamaForCausalLM"),
        ("someone/Llama-3.2-3B-Instruct", None),
        ("someone/Llama-3.2-3B-Instruct-AWQ", "LlamaForCausalLM"),
        ("NousResearch/Llama-3.2-3B-Instruct", "LlamaForCausalLM"),
        ("alpindale/Llama-3.2-3B-Instruct", "LlamaForCausalLM"),
        ("LLM-Research/Llama-3.2-3B-Instruct", "LlamaForCausalLM"),
    ],
)
def test_takes_a_copy_for_its_original(model: str, name: str | None) -> None:
    """
    Of who publishes models as they are, or quantized.
    """
    assert checkpoint_of(model).class_name == name


def test_a_copy_of_another_class_is_none() -> None:
    """
    What is told of it counts alone.
    """
    model, key = "unsloth/Llama-3.2-3B-Instruct", "num_attention_heads"
    same = checkpoint_of(model, {"architectures": ["LlamaForCausalLM"]})
    other = checkpoint_of(model, {"architectures": ["LlamaModel"]})

    assert same.number(key) == 24
    assert other.number(key) is None
    assert other.class_name == "LlamaModel"


@pytest.mark.parametrize(
    ("arguments", "config"),
    [
        ({"hf_overrides": {"a": 1}}, {"a": 1}),
        ({"hf_overrides": '{"a": 1}'}, {"a": 1}),
        ({"hf_overrides": "{"}, {}),
        ({"hf_overrides": "[1]"}, {}),
        ({"hf_overrides": None}, {}),
        ({"hf_overrides": {"a": {"b": 1}}}, {"a": {"b": 1}}),
        ({"hf_overrides": {"a.b": 1}}, {"a": {"b": 1}}),
        ({"a.b": 1, "c": 2}, {"a": {"b": 1}}),
        ({"hf_overrides": {"a": {"c": 2}}, "a.b": 1}, {"a": {"c": 2, "b": 1}}),
        ({"hf_overrides": {"a": 3}, "a.b": 1}, {"a": {"b": 1}}),
        ({"rope_scaling": {"type": "yarn"}}, {"rope_scaling": {"type": "yarn"}}),
        ({"rope_scaling": '{"type": "yarn"}'}, {"rope_scaling": {"type": "yarn"}}),
        ({"rope_scaling": {}}, {}),
    ],
)
def test_reads_what_arguments_override(
    arguments: dict[str, Any], config: dict[str, Any]
) -> None:
    """
    By a mapping, its JSON, or a dotted name.
    """
    assert checkpoint_of("a/b", None, arguments).config == config


def test_reads_what_is_told_of_the_tokenizer() -> None:
    """
    Beside config.json, by either name.
    """
    told = (
        {"tokenizer_config.merges": "lists"},
        {"tokenizer.merges": "lists"},
        {"tokenizer_config": {"merges": "lists"}},
        {"tokenizer": {"merges": "lists"}},
    )

    for given in told:
        checkpoint = checkpoint_of("a/b", given)
        assert checkpoint.tokenizer == {"merges": "lists"}
        assert checkpoint.config == {}


LLAMA = "meta-llama/Llama-3.1-8B-Instruct"
GEMMA = ModelArchitecture.from_config(
    {
        "model_type": "gemma",
        "architectures": ["GemmaForCausalLM"],
        "vocab_size": 32000,
        "hidden_size": 4096,
        "intermediate_size": 11008,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "head_dim": 128,
    }
)


@pytest.mark.parametrize(
    ("name", "kind", "expected"),
    [
        (None, None, None),
        (None, {}, None),
        (None, {"architectures": []}, None),
        (None, {"architectures": [None]}, None),
        (None, {"architectures": None}, None),
        (None, "LlamaForCausalLM", ("the model", "LlamaForCausalLM")),
        ("a/b", None, ("a/b", None)),
        ("a/b", "LlamaForCausalLM", ("a/b", "LlamaForCausalLM")),
        ("a/b", {"architectures": ["GemmaModel"]}, ("a/b", "GemmaModel")),
        (LLAMA, {"architectures": []}, (LLAMA, "LlamaForCausalLM")),
        (LLAMA, {"architectures": [None]}, (LLAMA, "LlamaForCausalLM")),
        (LLAMA, {"architectures": None}, (LLAMA, "LlamaForCausalLM")),
        (None, GEMMA, ("GemmaForCausalLM", "GemmaForCausalLM")),
        ("a/b", GEMMA, ("GemmaForCausalLM", "GemmaForCausalLM")),
        (LLAMA, GEMMA, (LLAMA, "GemmaForCausalLM")),
    ],
)
def test_gathers_what_a_definition_says(
    name: str | None, kind: object, expected: tuple[str, str | None] | None
) -> None:
    """
    Nothing where neither a name nor a class is known.
    """
    found = checkpoint_for(name, kind)

    assert (found and (found.name, found.class_name)) == expected


def test_reads_an_architecture() -> None:
    """
    Its class, its heads and its vocabulary.
    """
    config = checkpoint_of(GEMMA).config

    assert config["num_attention_heads"] == 32
    assert config["num_key_value_heads"] == 8
    assert config["head_dim"] == 128
    assert config["vocab_size"] == 32000
    assert "quantization_config" not in config
