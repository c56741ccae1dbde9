"""
Counts for the families before Llama: plain MLPs, biases, learned positions.
"""

from __future__ import annotations

from cdk_sagemaker_llm.architectures.config import Config, Shape

_AFFINE = "layer_norm_elementwise_affine"


def count_falcon(config: Config) -> Shape:
    """
    Count Falcon: one key and value head (7B), groups (40B, 180B), or as many (RW).
    """
    hidden = config.number("hidden_size", "n_embed")
    layers = config.number("num_hidden_layers", "n_layer")
    heads = config.number("num_attention_heads", "n_head")
    width = hidden // heads
    # The first files of the 40B called its family RefinedWeb and left the switch out.
    first = config.word("model_type") == "RefinedWeb"
    grouped = config.flag("new_decoder_architecture", default=first)
    if grouped:
        kv_heads = config.number("num_kv_heads", "n_head_kv", default=heads)
    else:
        kv_heads = 1 if config.flag("multi_query", default=True) else heads
    mlp = config.number("ffn_hidden_size", default=4 * hidden)
    parallel = config.flag("parallel_attn", default=True)
    norms = config.number("num_ln_in_parallel_attn", default=2 if grouped else 1)
    norms = norms if parallel else 2
    qkv = (heads + 2 * kv_heads) * width
    bias = config.flag("bias", default=False)
    biases = qkv + hidden + mlp + hidden if bias else 0
    return _shape(
        config,
        hidden=hidden,
        layers=layers,
        heads=heads,
        kv_heads=kv_heads,
        mlp=mlp,
        qkv=qkv,
        others=norms * 2 * hidden + biases,
        outside=2 * hidden,
        tied=True,
        context=2048,
    )


def count_gpt_neox(config: Config) -> Shape:
    """
    Count GPT-NeoX: biases everywhere, embedding and head apart.
    """
    hidden = config.number("hidden_size")
    mlp = config.number("intermediate_size")
    bias = config.flag("attention_bias", default=True)
    return _shape(
        config,
        hidden=hidden,
        layers=config.number("num_hidden_layers"),
        heads=config.number("num_attention_heads"),
        mlp=mlp,
        others=4 * hidden + mlp + hidden + (4 * hidden if bias else 0),
        outside=2 * hidden,
        tied=False,
        context=2048,
    )


def count_gpt_bigcode(config: Config) -> Shape:
    """
    Count StarCoder: one key and value head, learned positions.
    """
    hidden = config.number("n_embd", "hidden_size")
    heads = config.number("n_head", "num_attention_heads")
    mlp = config.number("n_inner", default=4 * hidden)
    multi = config.flag("multi_query", default=True)
    kv_heads = 1 if multi else heads
    qkv = hidden + 2 * kv_heads * (hidden // heads)
    positions = config.number("n_positions", default=1024)
    return _shape(
        config,
        hidden=hidden,
        layers=config.number("n_layer", "num_hidden_layers"),
        heads=heads,
        kv_heads=kv_heads,
        mlp=mlp,
        qkv=qkv,
        others=qkv + hidden + mlp + hidden + 4 * hidden,
        outside=2 * hidden + positions * hidden,
        tied=True,
        context=positions,
    )


def count_mpt(config: Config) -> Shape:
    """
    Count MPT: no bias anywhere, not in its norms either.
    """
    hidden = config.number("d_model", "hidden_size")
    mlp = config.number("expansion_ratio", default=4) * hidden
    return _shape(
        config,
        hidden=hidden,
        layers=config.number("n_layers", "num_hidden_layers"),
        heads=config.number("n_heads", "num_attention_heads"),
        mlp=mlp,
        others=2 * hidden,
        outside=hidden,
        tied=True,
        context=config.number("max_seq_len", default=2048),
    )


def count_opt(config: Config) -> Shape:
    """
    Count OPT: biases, learned positions with two more than the context.
    """
    hidden = config.number("hidden_size")
    mlp = config.number("ffn_dim")
    layers = config.number("num_hidden_layers")
    inner = config.number("word_embed_proj_dim", default=hidden)
    context = config.number("max_position_embeddings", default=2048)
    projections = 2 * inner * hidden if inner != hidden else 0
    first = config.flag("do_layer_norm_before", default=True)
    removed = config.flag("_remove_final_layer_norm", default=False)
    norm = 2 * hidden if config.flag(_AFFINE, default=True) else 0
    tables = 1 if config.flag("tie_word_embeddings", default=True) else 2
    biases = 5 * hidden + mlp if config.flag("enable_bias", default=True) else 0
    vocabulary = config.number("vocab_size")
    return _shape(
        config,
        hidden=hidden,
        layers=layers,
        heads=config.number("num_attention_heads"),
        mlp=mlp,
        others=biases + 2 * norm,
        outside=(norm if first and not removed else 0)
        + projections
        + (context + 2) * hidden
        + tables * vocabulary * (inner - hidden),
        tied=True,
        context=context,
    )


def count_gpt_j(config: Config) -> Shape:
    """
    Count GPT-J: one norm a block, and a head with a bias.
    """
    hidden = config.number("n_embd", "hidden_size")
    mlp = config.number("n_inner", default=4 * hidden)
    return _shape(
        config,
        hidden=hidden,
        layers=config.number("n_layer", "num_hidden_layers"),
        heads=config.number("n_head", "num_attention_heads"),
        mlp=mlp,
        others=2 * hidden + mlp + hidden,
        outside=2 * hidden + config.number("vocab_size"),
        tied=False,
        context=config.number("n_positions", default=2048),
    )


def count_bloom(config: Config) -> Shape:
    """
    Count BLOOM: a norm after the embedding, no positions.
    """
    hidden = config.number("hidden_size", "n_embed")
    return _shape(
        config,
        hidden=hidden,
        layers=config.number("n_layer", "num_hidden_layers"),
        heads=config.number("n_head", "num_attention_heads"),
        mlp=4 * hidden,
        others=4 * hidden + 4 * hidden + 5 * hidden,
        outside=4 * hidden,
        tied=True,
        context=config.number("seq_length", default=2048),
    )


def _shape(
    config: Config,
    *,
    hidden: int,
    layers: int,
    heads: int,
    mlp: int,
    others: int,
    outside: int,
    tied: bool,
    context: int,
    kv_heads: int | None = None,
    qkv: int | None = None,
) -> Shape:
    """
    Put a shape together of a plain attention and MLP, what else a block has, and what
    is outside; without widths of their own, keys and values are as wide as queries.
    """
    weights = hidden * (qkv or 3 * hidden) + hidden * hidden + 2 * hidden * mlp
    vocabulary = config.number("vocab_size")
    tied = config.flag("tie_word_embeddings", default=tied)
    embeddings = vocabulary * hidden * (1 if tied else 2)
    shared = kv_heads if kv_heads is not None else heads
    return Shape(
        layer_weights=layers * weights,
        other_parameters=layers * others + embeddings + outside,
        kv_elements=2 * layers * shared * (hidden // heads),
        kv_heads=shared,
        layers=layers,
        hidden=hidden,
        mlp=mlp,
        heads=heads,
        head_dim=hidden // heads,
        vocabulary=vocabulary,
        context=config.number("max_position_embeddings", default=context),
    )
