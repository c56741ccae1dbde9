"""
Counting Llama and its kin: grouped-query attention and a gated MLP, dense or experts.
"""

from __future__ import annotations

from cdk_sagemaker_llm._records import dataclass
from cdk_sagemaker_llm.architectures.config import Config
from cdk_sagemaker_llm.architectures.shape import Shape


@dataclass(frozen=True, kw_only=True, slots=True)
class Traits:
    """
    How a family differs from Llama.

    Args:
        tied: Whether embedding and head are one, where the file does not say.

        qkv_bias: Whether query, key and value have biases, where it does not say.

        reads:
            The keys of other families that its class reads too. A class passes over
            the rest, so that a file which has them changes nothing.

        norms: Norms per block.

        head_norms: Whether query and key have norms of a head's width.

        head_dim: A head's width, where it is not the model's over the heads.

        window_every: Every how many layers one is without the window; 0 for none.

        context: The context length, where the file does not say.
    """

    tied: bool = False
    qkv_bias: bool = False
    reads: frozenset[str] = frozenset()
    norms: int = 2
    head_norms: bool = False
    head_dim: int | None = None
    window_every: int = 0
    context: int = 2048

    def switch(self, config: Config, name: str, *, default: bool) -> bool:
        """
        Return a switch, if the family's class reads it.
        """
        return config.flag(name, default=default) if name in self.reads else default


_BIAS = frozenset({"attention_bias"})
_SHARED = "shared_expert_intermediate_size"

LLAMA = Traits(reads=_BIAS | {"mlp_bias"})
MISTRAL = Traits(context=131072)
QWEN2 = Traits(qkv_bias=True, context=32768)
QWEN2_MOE = Traits(qkv_bias=True, reads=frozenset({"qkv_bias", _SHARED}), context=32768)
QWEN3 = Traits(head_norms=True, head_dim=128, reads=_BIAS, context=32768)
QWEN3_MOE = Traits(head_norms=True, reads=_BIAS, context=32768)
GEMMA = Traits(tied=True, head_dim=256, reads=_BIAS, context=8192)
GEMMA2 = Traits(
    tied=True, head_dim=256, reads=_BIAS, norms=4, window_every=2, context=8192
)
GEMMA3 = Traits(
    tied=True,
    head_dim=256,
    reads=_BIAS,
    norms=4,
    head_norms=True,
    window_every=6,
    context=131072,
)
PHI3 = Traits(context=4096)
GPT_OSS = Traits(reads=_BIAS, head_dim=64, window_every=2, context=131072)


def count_dense(config: Config, traits: Traits) -> Shape:
    """
    Count a model whose tokens all pass the same MLP.
    """
    hidden, mlp = config.number("hidden_size"), config.number("intermediate_size")
    layers = config.number("num_hidden_layers")
    weights = layers * 3 * hidden * mlp
    has_bias = traits.switch(config, "mlp_bias", default=False)
    biases = layers * (2 * mlp + hidden) if has_bias else 0
    return _shape(config, traits, mlp_weights=weights, mlp_others=biases, mlp=mlp)


def count_mixtral(config: Config, traits: Traits) -> Shape:
    """
    Count Mixtral: experts in every block, and a router.
    """
    hidden, mlp = config.number("hidden_size"), config.number("intermediate_size")
    layers = config.number("num_hidden_layers")
    experts = config.number("num_local_experts", default=8)
    chosen = config.number("num_experts_per_tok", default=2)
    expert = 3 * hidden * mlp
    return _shape(
        config,
        traits,
        mlp_weights=layers * experts * expert,
        mlp_others=layers * hidden * experts,
        idle=layers * (experts - chosen) * expert,
        mlp=mlp * chosen,
    )


def count_qwen_moe(config: Config, traits: Traits) -> Shape:
    """
    Count Qwen's mixtures: small experts, some blocks dense, perhaps a shared expert.
    """
    hidden = config.number("hidden_size")
    layers = config.number("num_hidden_layers")
    experts = config.number("num_experts", "num_local_experts")
    chosen = config.number("num_experts_per_tok")
    expert = 3 * hidden * config.number("moe_intermediate_size")
    shared = config.number(_SHARED, default=0) if _SHARED in traits.reads else 0
    sparse = _sparse_layers(config, layers)
    dense = (layers - sparse) * 3 * hidden * _dense_width(config, layers - sparse)
    # The shared expert has a gate of its own, one number wide.
    others = hidden * experts + (hidden if shared else 0)
    width = config.number("moe_intermediate_size") * chosen + shared
    return _shape(
        config,
        traits,
        mlp_weights=sparse * (experts * expert + 3 * hidden * shared) + dense,
        mlp_others=sparse * others,
        idle=sparse * (experts - chosen) * expert,
        mlp=width,
    )


def count_gpt_oss(config: Config, traits: Traits) -> Shape:
    """
    Count gpt-oss: experts and router with biases, and a sink for each head.
    """
    hidden, mlp = config.number("hidden_size"), config.number("intermediate_size")
    layers = config.number("num_hidden_layers")
    experts = config.number("num_local_experts", default=32)
    chosen = config.number("num_experts_per_tok", default=4)
    expert, biases = 3 * hidden * mlp, 2 * mlp + hidden
    router = experts * (hidden + 1)
    sinks = config.number("num_attention_heads")
    return _shape(
        config.filled({"attention_bias": True}),
        traits,
        mlp_weights=layers * experts * expert,
        mlp_others=layers * (experts * biases + router + sinks),
        idle=layers * (experts - chosen) * (expert + biases),
        mlp=mlp * chosen,
    )


def _sparse_layers(config: Config, layers: int) -> int:
    step = config.number("decoder_sparse_step", default=1)
    dense = set(config.numbers("mlp_only_layers"))
    spared = sum(0 <= i < layers and (i + 1) % step == 0 for i in dense)
    return layers // step - spared


def _dense_width(config: Config, dense_layers: int) -> int:
    return config.number("intermediate_size") if dense_layers else 1


def _shape(
    config: Config,
    traits: Traits,
    *,
    mlp_weights: int,
    mlp: int,
    mlp_others: int = 0,
    idle: int = 0,
) -> Shape:
    hidden, layers = config.number("hidden_size"), config.number("num_hidden_layers")
    heads = config.number("num_attention_heads")
    kv_heads = config.number("num_key_value_heads", default=heads)
    width = config.number("head_dim", default=traits.head_dim or hidden // heads)
    vocabulary = config.number("vocab_size")
    attention = hidden * width * (2 * heads + 2 * kv_heads)
    tied = config.flag("tie_word_embeddings", default=traits.tied)
    others = vocabulary * hidden * (1 if tied else 2) + hidden
    norms = traits.norms * hidden + (2 * width if traits.head_norms else 0)
    biases = _attention_biases(config, traits, heads, kv_heads, width)
    window, windowed = _windows(config, traits, layers)
    return Shape(
        layer_weights=layers * attention + mlp_weights,
        attention_weights=layers * attention,
        other_parameters=others + layers * (norms + biases) + mlp_others,
        idle_parameters=idle,
        kv_elements=2 * layers * kv_heads * width,
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


def _attention_biases(
    config: Config, traits: Traits, heads: int, kv_heads: int, width: int
) -> int:
    if traits.switch(config, "attention_bias", default=False):
        # Llama's switch covers the output projection too.
        return width * (heads + 2 * kv_heads) + config.number("hidden_size")
    has_bias = traits.switch(config, "qkv_bias", default=traits.qkv_bias)
    return width * (heads + 2 * kv_heads) if has_bias else 0


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
