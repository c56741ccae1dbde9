"""
What counting a configuration comes to.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Shape:
    """
    A model's sizes, as its class in ``transformers`` has them.

    Args:
        layer_weights: Weights of linear layers in all blocks: what is quantized.

        attention_weights: Those of them that are attention's.

        expert_weights: Those of them that are in experts of which a token passes some.

        other_parameters: Embeddings, heads, norms, biases and routers.

        idle_parameters: Parameters of experts that a token does not pass.

        kv_elements: Numbers in the cache for one token, over all layers.

        kv_heads: Heads that the cache can be split over; 1 for a latent vector.

        layers: Blocks.

        hidden: Width of the model.

        mlp: Width inside the MLP that a token passes.

        heads: Attention heads.

        head_dim: Width of a head.

        vocabulary: Entries of the embedding.

        context: Tokens that the model was made for.

        window: Tokens that windowed layers look back; ``None`` without.

        windowed_layers: How many layers have that window.

        state_elements: Numbers that a sequence keeps beside, however long it is.
    """

    layer_weights: int
    other_parameters: int
    kv_elements: int
    kv_heads: int
    layers: int
    hidden: int
    mlp: int
    heads: int
    head_dim: int
    vocabulary: int
    context: int
    attention_weights: int = 0
    expert_weights: int = 0
    idle_parameters: int = 0
    window: int | None = None
    windowed_layers: int = 0
    state_elements: int = 0

    def __post_init__(self) -> None:
        if self.head_dim < 1:
            raise ValueError(
                "hidden_size in config.json must be at least num_attention_heads, got "
                f"{self.hidden} and {self.heads}"
            )
        if self.heads % self.kv_heads:
            raise ValueError(
                f"num_key_value_heads in config.json must divide the {self.heads} "
                f"attention heads, got {self.kv_heads}"
            )
        if self.idle_parameters < 0:
            raise ValueError(
                "num_experts_per_tok in config.json must be at most the number of "
                "experts"
            )

    @property
    def parameters(self) -> int:
        """
        All parameters.
        """
        return self.layer_weights + self.other_parameters
