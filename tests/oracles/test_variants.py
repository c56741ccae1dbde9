"""
Switches and left-out keys of each family, in small, against the real classes.
"""

from __future__ import annotations

from typing import Any

import pytest

from cdk_sagemaker_llm.architectures import ModelArchitecture
from cdk_sagemaker_llm.architectures.families import FAMILIES
from cdk_sagemaker_llm.catalog._data import load
from tests.oracles.real import real_count

transformers = pytest.importorskip("transformers", reason="run by make oracles")

DEFAULTS = load("config_defaults.json")["families"]
COMMON = {
    "hidden_size": 64,
    "intermediate_size": 99,
    "num_hidden_layers": 3,
    "num_attention_heads": 8,
    "vocab_size": 500,
}
EXPERTS = {"moe_intermediate_size": 24, "num_experts": 6, "num_experts_per_tok": 2}
LATENT = {
    "moe_intermediate_size": 24,
    "num_experts_per_tok": 2,
    "n_routed_experts": 8,
    "n_group": 2,
    "topk_group": 1,
    "kv_lora_rank": 16,
    "qk_rope_head_dim": 8,
    "qk_nope_head_dim": 12,
    "v_head_dim": 12,
}
GROUPED = {**COMMON, "num_key_value_heads": 2}
GLM = {
    **GROUPED,
    "moe_intermediate_size": 24,
    "n_routed_experts": 6,
    "num_experts_per_tok": 2,
}
LLAMA4 = {**GROUPED, "num_local_experts": 6, "intermediate_size_mlp": 77}
_FULL = ["full_attention"]
NEXT = {
    **GROUPED,
    **EXPERTS,
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 4,
    "linear_key_head_dim": 16,
    "linear_value_head_dim": 12,
    "linear_conv_kernel_dim": 3,
}
# The class takes a word beyond these 500 for padding.
MODERNBERT = {**COMMON, "pad_token_id": 0}
INDEXED = {
    "q_lora_rank": 20,
    "index_n_heads": 4,
    "index_head_dim": 16,
    "first_k_dense_replace": 1,
}
BIGCODE = {"n_embd": 64, "n_layer": 2, "n_head": 4, "vocab_size": 500}
OPT = {**COMMON, "ffn_dim": 99, "word_embed_proj_dim": 64}
VARIANTS: list[tuple[str, dict[str, Any]]] = [
    ("llama", COMMON),
    ("llama", {**COMMON, "attention_bias": True, "mlp_bias": True, "head_dim": 24}),
    ("mistral", COMMON),
    ("mixtral", COMMON),
    ("qwen2", {**COMMON, "num_key_value_heads": 2, "tie_word_embeddings": True}),
    ("qwen2_moe", {**COMMON, **EXPERTS, "num_key_value_heads": 2}),
    (
        "qwen2_moe",
        {
            **COMMON,
            **EXPERTS,
            "num_key_value_heads": 2,
            "qkv_bias": False,
            "decoder_sparse_step": 2,
            "mlp_only_layers": [1],
            "shared_expert_intermediate_size": 40,
        },
    ),
    ("qwen3", {**COMMON, "num_key_value_heads": 2, "attention_bias": True}),
    ("qwen3_moe", {**COMMON, **EXPERTS, "mlp_only_layers": [0]}),
    ("qwen3_moe", {**COMMON, **EXPERTS, "head_dim": 24, "attention_bias": True}),
    ("gemma", {**COMMON, "num_attention_heads": 16}),
    ("gemma2", COMMON),
    ("gemma3_text", {**COMMON, "attention_bias": True}),
    ("phi3", {**COMMON, "num_key_value_heads": 2, "pad_token_id": 0}),
    ("falcon", COMMON),
    ("falcon", {**COMMON, "new_decoder_architecture": True, "num_kv_heads": 2}),
    (
        "falcon",
        {**COMMON, "new_decoder_architecture": True, "num_ln_in_parallel_attn": 1},
    ),
    ("falcon", {**COMMON, "multi_query": False, "parallel_attn": False, "bias": True}),
    ("gpt_neox", {**COMMON, "attention_bias": False}),
    ("gpt_bigcode", BIGCODE),
    ("gpt_bigcode", {**BIGCODE, "multi_query": False, "n_inner": 99}),
    ("mpt", {"d_model": 64, "n_layers": 2, "n_heads": 4, "vocab_size": 500}),
    ("opt", OPT),
    ("opt", {**OPT, "word_embed_proj_dim": 32, "tie_word_embeddings": False}),
    ("opt", {**OPT, "do_layer_norm_before": False, "enable_bias": False}),
    ("opt", {**OPT, "layer_norm_elementwise_affine": False}),
    ("gptj", {**BIGCODE, "rotary_dim": 8}),
    ("gptj", {**BIGCODE, "rotary_dim": 8, "n_inner": 99}),
    ("bloom", {"hidden_size": 64, "n_layer": 2, "n_head": 4, "vocab_size": 500}),
    ("deepseek_v2", {**COMMON, **LATENT}),
    ("deepseek_v2", {**COMMON, **LATENT, "q_lora_rank": None}),
    ("deepseek_v2", {**COMMON, **LATENT, "attention_bias": True}),
    ("deepseek_v3", {**COMMON, **LATENT}),
    ("deepseek_v3", {**COMMON, **LATENT, "q_lora_rank": 20, "attention_bias": True}),
    ("deepseek_v3", {**COMMON, **LATENT, "first_k_dense_replace": 1}),
    ("deepseek_v32", {**COMMON, **LATENT, **INDEXED}),
    ("deepseek_v32", {**COMMON, **LATENT, **INDEXED, "attention_bias": True}),
    ("gpt_oss", {**GROUPED, "num_local_experts": 6}),
    ("gpt_oss", {**GROUPED, "num_local_experts": 6, "head_dim": 24}),
    ("glm4_moe", GLM),
    ("glm4_moe", {**GLM, "use_qk_norm": True, "head_dim": 24}),
    ("glm4_moe", {**GLM, "first_k_dense_replace": 0, "n_shared_experts": 2}),
    ("llama4_text", LLAMA4),
    ("llama4_text", {**LLAMA4, "interleave_moe_layer_step": 2}),
    ("llama4_text", {**LLAMA4, "moe_layers": [1], "head_dim": 24}),
    ("ministral3", GROUPED),
    ("qwen3_next", NEXT),
    ("qwen3_next", {**NEXT, "num_hidden_layers": 8, "head_dim": 24}),
    ("qwen3_next", {**NEXT, "num_hidden_layers": 8, "attention_bias": True}),
    ("qwen3_next", {**NEXT, "num_hidden_layers": 8, "mlp_only_layers": [0, 3]}),
    (
        "qwen3_next",
        {**NEXT, "layer_types": ["full_attention", "linear_attention", *_FULL]},
    ),
    ("bert", COMMON),
    ("bert", {**COMMON, "type_vocab_size": 3, "max_position_embeddings": 77}),
    ("roberta", COMMON),
    ("xlm-roberta", {**COMMON, "type_vocab_size": 1}),
    ("mpnet", COMMON),
    ("mpnet", {**COMMON, "relative_attention_num_buckets": 16}),
    ("modernbert", MODERNBERT),
    ("modernbert", {**MODERNBERT, "norm_bias": True}),
    (
        "modernbert",
        {**MODERNBERT, "attention_bias": True, "classifier_bias": True},
    ),
    ("nomic_bert", COMMON),
    ("nomic_bert", {**COMMON, "type_vocab_size": 0}),
    ("gte", COMMON),
    ("gte", {**COMMON, "type_vocab_size": 0}),
]
# Switches of some families, which the classes of the others pass over.
SWITCHES: list[dict[str, Any]] = [
    {"attention_bias": True},
    {"mlp_bias": True},
    {"qkv_bias": True},
    {"qkv_bias": False},
    {"shared_expert_intermediate_size": 40},
    {"bias": True},
    {"enable_bias": False},
    {"multi_query": False},
    {"n_inner": 99},
    {"num_key_value_heads": 1},
    {"tie_word_embeddings": True},
    {"tie_word_embeddings": False},
]
# No model of DeepSeek has a bias in its MLPs.
UNCOUNTED = [("deepseek_v2", {"mlp_bias": True})]
ENCODERS = {
    "bert": "Bert",
    "roberta": "Roberta",
    "xlm-roberta": "XLMRoberta",
    "mpnet": "MPNet",
    "modernbert": "ModernBert",
    "nomic_bert": "NomicBert",
    "gte": "Gte",
}
LABELS: list[dict[str, Any]] = [{}, {"id2label": {"0": "score"}}]
HEADS = [
    (family, values, ENCODERS[family] + head)
    for family, values in VARIANTS
    if family in ENCODERS
    for head in ("ForSequenceClassification", "ForMaskedLM")
    # Neither is published with these.
    if (family, head) != ("gte", "ForMaskedLM")
    if family != "nomic_bert"
]
# Of each family the first, which has none.
SMALLEST = dict(reversed(VARIANTS))
SWITCHED = [
    (family, {**values, **switch})
    for family, values in SMALLEST.items()
    for switch in SWITCHES
    if (family, switch) not in UNCOUNTED
]


@pytest.mark.parametrize(("family", "values"), [*VARIANTS, *SWITCHED])
def test_the_count_of_a_variant_is_that_of_the_real_class(
    family: str, values: dict[str, Any]
) -> None:
    """
    To the parameter.
    """
    name = f"{ENCODERS[family]}Model" if family in ENCODERS else None
    counted = ModelArchitecture.from_config({"model_type": family, **values})

    assert counted.parameter_count == real_count(family, values, name)


@pytest.mark.parametrize(("family", "values", "name"), HEADS)
@pytest.mark.parametrize("labels", LABELS, ids=["two labels", "one label"])
def test_the_count_of_an_encoder_is_that_of_its_class(
    family: str, values: dict[str, Any], name: str, labels: dict[str, Any]
) -> None:
    """
    With what ranks or guesses words behind it.
    """
    whole = {**values, **labels}
    counted = ModelArchitecture.from_config(
        {"architectures": [name], "model_type": family, **whole}
    )

    assert counted.parameter_count == real_count(family, whole, name)


@pytest.mark.parametrize("family", sorted(DEFAULTS))
def test_defaults_are_those_of_the_real_class(family: str) -> None:
    """
    The value that the class itself has for each key.
    """
    real = transformers.AutoConfig.for_model(family)

    assert {key: getattr(real, key) for key in DEFAULTS[family]} == DEFAULTS[family]


def test_every_family_has_a_variant() -> None:
    """
    So that none is only held against the sizes of one model.
    """
    assert {family for family, _ in VARIANTS} == set(FAMILIES)
