"""
Counts for Llama and its kin: grouped-query attention and a gated MLP.
"""

from __future__ import annotations

from typing import NamedTuple

from cdk_sagemaker_llm.architectures.config import Config, Shape


class Traits(NamedTuple):
    """
    How a family differs from Llama.

    Args:
        qkv_bias: Whether query, key and value have biases, where it does not say.

        reads:
            The keys of other families that its class reads too. A class passes over
            the rest, so that a file which has them changes nothing.

        norms: Norms per block.

        head_norms: Whether query and key have norms of a head's width.

        output_bias: Whether the bias of attention covers the output projection too.

        head_dim: A head's width, where it is not the model's over the heads.

        window_every: Every how many layers one is without the window; 0 for none.
    """

    tied: bool = False
    qkv_bias: bool = False
    reads: frozenset[str] = frozenset()
    norms: int = 2
    head_norms: bool = False
    output_bias: bool = True
    head_dim: int | None = None
    window_every: int = 0
    context: int = 2048

    def switch(self, config: Config, name: str, *, default: bool) -> bool:
        """
        Return a switch, if the family's class reads it.
        """
        return config.flag(name, default=default) if name in self.reads else default


_BIAS = frozenset({"attention_bias"})
# The width of what each token passes beside its experts.
SHARED = "shared_expert_intermediate_size"
_BOTH_WAYS = "use_bidirectional_attention"

LLAMA = Traits(reads=_BIAS | {"mlp_bias"})
MISTRAL = Traits(context=131072)
QWEN2 = Traits(qkv_bias=True, context=32768)
QWEN2_MOE = Traits(qkv_bias=True, reads=frozenset({"qkv_bias", SHARED}), context=32768)
QWEN3 = Traits(head_norms=True, head_dim=128, reads=_BIAS, context=32768)
QWEN3_MOE = Traits(head_norms=True, reads=_BIAS, context=32768)
QWEN3_NEXT = Traits(
    head_norms=True, head_dim=256, reads=_BIAS | {SHARED}, context=32768
)
GEMMA = Traits(tied=True, head_dim=256, reads=_BIAS, context=8192)
GEMMA2 = Traits(
    tied=True, head_dim=256, reads=_BIAS, norms=4, window_every=2, context=8192
)
GEMMA3 = Traits(
    tied=True,
    head_dim=256,
    reads=_BIAS | {_BOTH_WAYS},
    norms=4,
    head_norms=True,
    window_every=6,
    context=131072,
)
PHI3 = Traits(context=4096)
MINISTRAL3 = Traits(head_dim=128, context=262144)
GPT_OSS = Traits(reads=_BIAS, head_dim=64, window_every=2, context=131072)
LLAMA4 = Traits(reads=_BIAS, head_dim=128, context=131072)
GLM4_MOE = Traits(reads=_BIAS, output_bias=False, context=131072)


def count_dense(config: Config, traits: Traits) -> Shape:
    """
    Count a model whose tokens all pass the same MLP.
    """
    hidden, mlp = config.number("hidden_size"), config.number("intermediate_size")
    layers = config.number("num_hidden_layers")
    weights = layers * 3 * hidden * mlp
    has_bias = traits.switch(config, "mlp_bias", default=False)
    biases = layers * (2 * mlp + hidden) if has_bias else 0
    return shape_of(config, traits, mlp_weights=weights, mlp_others=biases, mlp=mlp)


def shape_of(
    config: Config,
    traits: Traits,
    *,
    mlp_weights: int,
    mlp: int,
    experts: int = 0,
    mlp_others: int = 0,
    idle: int = 0,
    windows: tuple[int | None, int] | None = None,
) -> Shape:
    """
    Count the rest of a model of which the MLPs have been counted.

    ``experts`` are those of the weights that are in experts, ``idle`` those that a
    token does not pass; ``windows`` are a window and how many layers have it, where
    they follow from other keys than usual.
    """
    hidden, layers = config.number("hidden_size"), config.number("num_hidden_layers")
    heads = config.number("num_attention_heads")
    kv_heads = config.number("num_key_value_heads", default=heads)
    width = config.number("head_dim", default=traits.head_dim or hidden // heads)
    vocabulary = config.number("vocab_size")
    attention = hidden * width * (2 * heads + 2 * kv_heads)
    tied = config.flag("tie_word_embeddings", default=traits.tied)
    others = vocabulary * hidden * (1 if tied else 2) + hidden
    norms = traits.norms * hidden + (2 * width if traits.head_norms else 0)
    biases = 0
    if traits.switch(config, "attention_bias", default=False):
        biases = width * (heads + 2 * kv_heads) + hidden * traits.output_bias
    elif traits.switch(config, "qkv_bias", default=traits.qkv_bias):
        biases = width * (heads + 2 * kv_heads)
    window, windowed = windows or _windows(config, traits, layers)
    # What reads in both directions reads a text once, and keeps nothing of it.
    is_encoder = traits.switch(config, _BOTH_WAYS, default=False)
    return Shape(
        layer_weights=layers * attention + mlp_weights,
        attention_weights=layers * attention,
        expert_weights=experts,
        other_parameters=others + layers * (norms + biases) + mlp_others,
        idle_parameters=idle,
        kv_elements=0 if is_encoder else 2 * layers * kv_heads * width,
        kv_heads=kv_heads,
        layers=layers,
        hidden=hidden,
        mlp=mlp,
        heads=heads,
        head_dim=width,
        vocabulary=vocabulary,
        context=config.number("max_position_embeddings", default=traits.context),
        window=window,
        windowed_layers=windowed,
    )


def _windows(config: Config, traits: Traits, layers: int) -> tuple[int | None, int]:
    window = config.number("sliding_window", default=0) or None
    if window is None or not config.flag("use_sliding_window", default=True):
        return None, 0
    listed = config.count_of("layer_types", "sliding_attention")
    if listed is not None:
        return window, min(listed, layers)
    every = config.number("sliding_window_pattern", default=traits.window_every or 0)
    if every:
        return window, layers - layers // every
    return window, max(layers - config.number("max_window_layers", default=0), 0)
