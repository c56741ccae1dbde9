"""
Counts for the encoders behind embeddings and ranking: they keep no cache.

A file's class decides what stands behind the blocks: a pooler with ``...Model``, a
classifier with ``...ForSequenceClassification``, and what guesses words with
``...ForMaskedLM``.
"""

from __future__ import annotations

from typing import NamedTuple

from cdk_sagemaker_llm.architectures.config import Config, Shape

_CLASSIFIES, _GUESSES = "ForSequenceClassification", "ForMaskedLM"


class Kind(NamedTuple):
    """
    How a family differs from BERT.

    Args:
        has_types: Whether it tells kinds of tokens apart.

        first_position: The position of the first token, before which none is used.

        buckets: Distances that attention has biases for, shared by all blocks.
    """

    has_types: bool = True
    first_position: int = 0
    buckets: int = 0


BERT = Kind()
ROBERTA = Kind(first_position=2)
MPNET = Kind(has_types=False, first_position=2, buckets=32)


def count_bert(config: Config, kind: Kind) -> Shape:
    """
    Count BERT, RoBERTa and MPNet: biases everywhere, learned positions.
    """
    hidden, mlp = config.number("hidden_size"), config.number("intermediate_size")
    positions = config.number("max_position_embeddings", default=512)
    types = kind.has_types and config.number("type_vocab_size", default=2, least=0)
    buckets = kind.buckets and config.number(
        "relative_attention_num_buckets", default=kind.buckets
    )
    # One layer as wide as the model: the pooler, or the first of what guesses words,
    # which a norm follows, or RoBERTa's first of what classifies.
    behind = hidden * (hidden + 1) + (2 * hidden if _is(config, _GUESSES) else 0)
    return _shape(
        config,
        mlp=mlp,
        weights=4 * hidden * hidden + 2 * hidden * mlp,
        others=4 * hidden + mlp + hidden + 4 * hidden,
        outside=(positions + types + 2) * hidden
        + buckets * config.number("num_attention_heads")
        + behind,
        words=1,
        context=max(positions - kind.first_position, 1),
    )


def count_modernbert(config: Config) -> Shape:
    """
    Count ModernBERT: gated MLPs, and no norm before the first attention.
    """
    hidden, mlp = config.number("hidden_size"), config.number("intermediate_size")
    norm = hidden * (2 if config.flag("norm_bias", default=False) else 1)
    attention = config.flag("attention_bias", default=False)
    in_mlp = config.flag("mlp_bias", default=False)
    biases = (4 * hidden if attention else 0) + (2 * mlp + hidden if in_mlp else 0)
    has_bias = config.flag("classifier_bias", default=False)
    head = hidden * hidden + (hidden if has_bias else 0) + norm
    has_head = _is(config, _CLASSIFIES) or _is(config, _GUESSES)
    return _shape(
        config,
        mlp=mlp,
        weights=4 * hidden * hidden + 3 * hidden * mlp,
        others=2 * norm + biases,
        # One norm behind the embedding and one behind the blocks, none before the first
        # attention.
        outside=norm + (head if has_head else 0),
        words=1 if config.flag("decoder_bias", default=True) else 0,
        context=config.number("max_position_embeddings", default=8192),
    )


def count_nomic_bert(config: Config) -> Shape:
    """
    Count Nomic's text embeddings of version 1: gated MLPs, and no bias but the norms'.
    """
    if config.number("num_experts", default=0) > 1:
        raise ValueError("NomicBertModel with experts cannot be counted")
    hidden = config.number("hidden_size", "n_embd")
    mlp = config.number("intermediate_size", "n_inner")
    types = config.number("type_vocab_size", default=2, least=0)
    return _shape(
        config,
        mlp=mlp,
        weights=4 * hidden * hidden + 3 * hidden * mlp,
        others=4 * hidden,
        outside=(types + 2) * hidden,
        context=config.number("max_position_embeddings", "n_positions", default=2048),
    )


def count_gte(config: Config) -> Shape:
    """
    Count Alibaba's GTE of version 1.5: gated MLPs, biases but for what widens.
    """
    hidden, mlp = config.number("hidden_size"), config.number("intermediate_size")
    types = config.number("type_vocab_size", default=1, least=0)
    return _shape(
        config,
        mlp=mlp,
        weights=4 * hidden * hidden + 3 * hidden * mlp,
        others=4 * hidden + hidden + 4 * hidden,
        outside=(types + 2) * hidden
        + (hidden * (hidden + 1) if _is(config, _CLASSIFIES) else 0),
        context=config.number("max_position_embeddings", default=8192),
    )


def _is(config: Config, ending: str) -> bool:
    return (config.architecture or "").endswith(ending)


def _shape(
    config: Config,
    *,
    mlp: int,
    weights: int,
    others: int,
    outside: int,
    context: int,
    words: int = 0,
) -> Shape:
    """
    Put a shape together of what a block has, weights and others, and what is outside,
    with as many biases for each of the words that the model guesses.
    """
    hidden = config.number("hidden_size", "n_embd")
    layers = config.number("num_hidden_layers", "n_layer")
    heads = config.number("num_attention_heads", "n_head")
    vocabulary = config.number("vocab_size")
    labels = 0
    if _is(config, _CLASSIFIES):
        # A file lists what a classifier tells apart by name.
        names = config.mapping("id2label")
        labels = config.number("num_labels", default=len(names) if names else 2)
    guesses = vocabulary * words if _is(config, _GUESSES) else 0
    return Shape(
        layer_weights=layers * weights,
        attention_weights=layers * 4 * hidden * hidden,
        other_parameters=layers * others
        + vocabulary * hidden
        + outside
        + guesses
        + labels * (hidden + 1),
        kv_elements=0,
        kv_heads=heads,
        layers=layers,
        hidden=hidden,
        mlp=mlp,
        heads=heads,
        head_dim=hidden // heads,
        vocabulary=vocabulary,
        context=context,
    )
