"""
Encoders, counted by hand for models of three small blocks.

All have a width of 8, an MLP of 10 inside, four heads, and 20 words. BERT's block has

- attention: four of 8*8, 256, and biases of 8 each, 32
- MLP: 8*10 twice, 160, and biases 10 and 8
- two norms of 8 + 8: 32

so 498; beside the blocks 20*8 for the words, 64*8 for positions, 2*8 for kinds of
tokens, a norm of 16, and a pooler of 8*8 + 8: 776. MLPs with a gate have 240 weights.
"""

from __future__ import annotations

from typing import Any

import pytest

from cdk_sagemaker_llm import ModelArchitecture
from tests.unit.architectures.counting import LEFT_OUT, Config, count, differences

SMALL = {
    "hidden_size": 8,
    "intermediate_size": 10,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "vocab_size": 20,
    "max_position_embeddings": 64,
}
BERT = {**SMALL, "model_type": "bert"}
ROBERTA = {**SMALL, "model_type": "roberta"}
XLM = {**SMALL, "model_type": "xlm-roberta", "type_vocab_size": 1}
MPNET = {**SMALL, "model_type": "mpnet"}
MODERN = {**SMALL, "model_type": "modernbert"}
NOMIC = {**SMALL, "model_type": "nomic_bert"}
GTE = {**SMALL, "model_type": "gte"}
RANKS, GUESSES = "ForSequenceClassification", "ForMaskedLM"


def encoder(
    name: str, family: str, parameters: int, weights: int, context: int = 64
) -> ModelArchitecture:
    """
    Return a model that keeps no cache.
    """
    return ModelArchitecture(
        architecture=name,
        model_type=family,
        parameter_count=parameters,
        active_parameter_count=parameters,
        quantizable_parameter_count=weights,
        kv_elements_per_token=0,
        kv_cache_shards=4,
        num_hidden_layers=3,
        hidden_size=8,
        active_intermediate_size=10,
        num_attention_heads=4,
        num_key_value_heads=4,
        head_dim=2,
        vocab_size=20,
        context_length=context,
    )


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        (BERT, encoder("BertModel", "bert", 3 * 498 + 776, 3 * 416)),
        # The first of its positions stand before the text.
        (ROBERTA, encoder("RobertaModel", "roberta", 3 * 498 + 776, 3 * 416, 62)),
        (XLM, encoder("XLMRobertaModel", "xlm-roberta", 3 * 498 + 768, 3 * 416, 62)),
        # No kinds of tokens, and 32 distances for each head.
        (MPNET, encoder("MPNetModel", "mpnet", 3 * 498 + 760 + 128, 3 * 416, 62)),
        # 256 + 240 + two norms of 8 a block, one less in the first, one before, one
        # behind; positions are turned, not learned, as in all that follow.
        (MODERN, encoder("ModernBertModel", "modernbert", 3 * 512 + 168, 3 * 496)),
        # Norms of 16, two a block and one before; kinds of tokens 2*8.
        (NOMIC, encoder("NomicBertModel", "nomic_bert", 3 * 528 + 192, 3 * 496)),
        # Biases of 32 and 8 a block; one kind of tokens.
        (GTE, encoder("GteModel", "gte", 3 * 568 + 184, 3 * 496)),
    ],
    ids=lambda value: value["model_type"] if isinstance(value, dict) else "",
)
def test_an_encoder_is_counted(config: Config, expected: ModelArchitecture) -> None:
    """
    Everything that is said of it.
    """
    assert count(config) == expected


@pytest.mark.parametrize(
    ("config", "name", "changed", "more"),
    [
        # Two numbers for a text, of 8 and a bias each, behind the pooler.
        (BERT, "Bert" + RANKS, {}, 18),
        (BERT, "Bert" + RANKS, {"id2label": {"0": "score"}}, 9),
        (BERT, "Bert" + RANKS, {"num_labels": 3}, 27),
        # In place of the pooler a layer as large.
        (XLM, "XLMRoberta" + RANKS, {"id2label": {"0": "score"}}, 9),
        (MPNET, "MPNet" + RANKS, {}, 18),
        # In its place one as large too, a norm, and a bias for each word.
        (BERT, "Bert" + GUESSES, {}, 16 + 20),
        (XLM, "XLMRoberta" + GUESSES, {}, 16 + 20),
        (MPNET, "MPNet" + GUESSES, {}, 16 + 20),
        (BERT, "BertModel", {"id2label": {"0": "score"}}, 0),
        # No pooler: a layer of 64 and a norm of 8.
        (MODERN, "ModernBert" + RANKS, {}, 72 + 18),
        (MODERN, "ModernBert" + RANKS, {"classifier_bias": True}, 72 + 8 + 18),
        (MODERN, "ModernBert" + GUESSES, {}, 72 + 20),
        (MODERN, "ModernBert" + GUESSES, {"decoder_bias": False}, 72),
        (GTE, "New" + RANKS, {"id2label": {"0": "score"}}, 72 + 9),
    ],
)
def test_the_class_decides_what_stands_behind_the_blocks(
    config: Config, name: str, changed: dict[str, Any], more: int
) -> None:
    """
    A pooler, a classifier, or what guesses words.
    """
    plain, found = count(config), count(config, architectures=[name], **changed)

    assert found.architecture == name
    assert found.parameter_count == plain.parameter_count + more
    assert found.quantizable_parameter_count == plain.quantizable_parameter_count


def both(parameters: int) -> dict[str, object]:
    """
    Return what is all passed.
    """
    return {"parameter_count": parameters, "active_parameter_count": parameters}


@pytest.mark.parametrize(
    ("config", "changed", "expected"),
    [
        (BERT, {"type_vocab_size": 3}, both(2270 + 8)),
        (
            BERT,
            {"max_position_embeddings": 65},
            {**both(2270 + 8), "context_length": 65},
        ),
        (
            BERT,
            {"max_position_embeddings": LEFT_OUT},
            {**both(2270 + 448 * 8), "context_length": 512},
        ),
        # The words are the same matrix where it guesses them, said or not.
        (BERT, {"tie_word_embeddings": False}, {}),
        (MPNET, {"type_vocab_size": 3}, {}),
        (MPNET, {"relative_attention_num_buckets": 16}, both(2382 - 64)),
        (MODERN, {"norm_bias": True}, both(1704 + 7 * 8)),
        (MODERN, {"attention_bias": True}, both(1704 + 3 * 32)),
        (MODERN, {"mlp_bias": True}, both(1704 + 3 * 28)),
        (MODERN, {"classifier_bias": True}, {}),
        (MODERN, {"max_position_embeddings": LEFT_OUT}, {"context_length": 8192}),
        (NOMIC, {"type_vocab_size": 0}, both(1776 - 16)),
        (NOMIC, {"max_position_embeddings": LEFT_OUT}, {"context_length": 2048}),
        (NOMIC, {"num_experts": 1}, {}),
        (
            NOMIC,
            {
                **dict.fromkeys(SMALL, LEFT_OUT),
                "n_embd": 8,
                "n_inner": 10,
                "n_layer": 3,
                "n_head": 4,
                "n_positions": 64,
                "vocab_size": 20,
            },
            {},
        ),
        (GTE, {"type_vocab_size": 0}, both(1888 - 8)),
        (GTE, {"max_position_embeddings": LEFT_OUT}, {"context_length": 8192}),
    ],
)
def test_a_key_changes_what_it_changes_and_nothing_else(
    config: Config, changed: dict[str, Any], expected: dict[str, object]
) -> None:
    """
    Biases, kinds of tokens, positions, and the older names of keys.
    """
    assert differences(count(config), count(config, **changed)) == expected


def test_the_shortest_of_robertas_still_reads_a_token() -> None:
    """
    Two of its positions are never used.
    """
    assert count(ROBERTA, max_position_embeddings=3).context_length == 1
    assert count(ROBERTA, max_position_embeddings=1).context_length == 1


def test_fails_for_nomics_experts() -> None:
    """
    Version 2 is another model by the same name.
    """
    with pytest.raises(ValueError, match="NomicBertModel with experts cannot be"):
        count(NOMIC, num_experts=8)
