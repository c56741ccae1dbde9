"""
What a copy of a model needs of each accelerator: weights, cache, and the rest.

Every constant is an upper bound of what its source gives, so that a plan refuses too
early rather than too late; ``Assumptions`` overrides each.
"""

from __future__ import annotations

from dataclasses import dataclass

from cdk_sagemaker_llm.architectures import ModelArchitecture
from cdk_sagemaker_llm.demand import Assumptions

GIB = 2**30
# vLLM keeps its cache in blocks of 16 tokens (CacheConfig.block_size).
BLOCK_TOKENS = 16


@dataclass(frozen=True, kw_only=True, slots=True)
class MemoryTerms:
    """
    What one accelerator holds, in bytes; the cache is that of one whole sequence.
    """

    weights: int
    runtime: int
    activations: int
    cuda_graphs: int
    kv_cache: int

    @property
    def fixed(self) -> int:
        """
        What the engine's share holds before any of the cache.
        """
        return self.weights + self.runtime + self.activations

    @property
    def total(self) -> int:
        """
        The sum of all terms.
        """
        return self.fixed + self.cuda_graphs + self.kv_cache

    def items(self) -> dict[str, int]:
        """
        Return the terms by name, in the order in which they are taken.
        """
        return {
            "weights": self.weights,
            "runtime": self.runtime,
            "activations": self.activations,
            "cuda_graphs": self.cuda_graphs,
            "kv_cache": self.kv_cache,
        }


def memory_terms(
    architecture: ModelArchitecture,
    *,
    tensor_parallel_degree: int,
    weight_bits: int,
    context_length: int,
    assumptions: Assumptions,
) -> MemoryTerms:
    """
    Add up what one of the accelerators of a copy holds.

    Args:
        architecture: The model.

        tensor_parallel_degree: Over how many accelerators a copy is split.

        weight_bits: Bits of a weight: 4, 8, 16 or 32.

        context_length: Tokens of the one sequence whose cache is counted.

        assumptions: What is taken for granted of the engine.
    """
    degree = tensor_parallel_degree
    collectives = assumptions.collectives_gib if degree > 1 else 0.0
    return MemoryTerms(
        weights=_share(architecture.weight_bytes(weight_bits), degree),
        runtime=int((assumptions.runtime_gib + collectives) * GIB),
        activations=_activations(architecture, degree, context_length, assumptions),
        cuda_graphs=int(assumptions.cuda_graphs_gib * GIB),
        kv_cache=sequence_bytes(architecture, degree, context_length, assumptions),
    )


def token_bytes(
    architecture: ModelArchitecture, degree: int, assumptions: Assumptions
) -> int:
    """
    Return the cache of one token on each accelerator.

    Key and value heads are split as far as there are any, and copied beyond; the one
    latent vector of multi-head latent attention is on every accelerator.
    """
    whole = architecture.kv_cache_bytes_per_token(assumptions.kv_cache_dtype_bytes)
    return _share(whole, min(degree, architecture.kv_cache_shards))


def sequence_bytes(
    architecture: ModelArchitecture,
    degree: int,
    tokens: int,
    assumptions: Assumptions,
) -> int:
    """
    Return the cache of a sequence on each accelerator, in whole blocks.

    Sliding windows are not deducted: not every engine forgets what left the window.
    """
    blocks = _share(tokens, BLOCK_TOKENS)
    return blocks * BLOCK_TOKENS * token_bytes(architecture, degree, assumptions)


def _activations(
    architecture: ModelArchitecture,
    degree: int,
    context_length: int,
    assumptions: Assumptions,
) -> int:
    """
    Bound the tensors that are alive at once in the widest layer of a prefill.

    Per token: input, residual and norm, query, key and value, attention output and
    its projection, each as wide as the model, and the three tensors of a gated MLP,
    which are split; in 16 bits. Then the logits of every sequence in 32 bits, twice.
    """
    tokens = min(context_length, assumptions.max_num_batched_tokens)
    width = 6 * architecture.hidden_size
    mlp = _share(3 * architecture.active_intermediate_size, degree)
    logits = assumptions.max_num_seqs * architecture.vocab_size * 4 * 2
    return tokens * (width + mlp) * 2 + logits


def _share(whole: int, parts: int) -> int:
    return -(-whole // parts)
