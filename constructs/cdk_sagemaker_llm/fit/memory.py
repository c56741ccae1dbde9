"""
What a copy of a model needs of each accelerator: weights, cache, and the rest; and what
room that leaves for the cache in each case.

Weights and cache are counted; the rest is a range of what releases of the engine were
seen to take, and ``Assumptions`` overrides each.
"""

from __future__ import annotations

from dataclasses import dataclass

from cdk_sagemaker_llm.architectures.weight_format import gguf_bytes
from cdk_sagemaker_llm.fit.cache import (
    BLOCK_TOKENS,
    ceil_div,
    frees_windows,
    sequence_bytes,
    state_bytes,
    token_bytes,
)
from cdk_sagemaker_llm.fit.releases import Case, Range
from cdk_sagemaker_llm.fit.setting import GIB, Setting, are_linked, visible_bytes

# What loading reports beyond the counted weights: 0 to 0.15 GiB in the logs.
_WEIGHTS_BEYOND_GIB = Range(0, 0.05, 0.15)
# Gemma 3 with what reads its images: 1.35 to 1.39 GiB more than its text.
_IMAGES_GIB = Range(0, 1.35, 1.4)
# Logs of two to eight GPUs, beside the runtime of one: 2.07 to 2.21 GiB in all with
# NVLink, 0.54 in 0.11; two of L4 leave 0.1 to 0.3 GiB for it.
_NVLINK_GIB = Range(0.3, 1.85, 2)
_PCIE_GIB = Range(0, 0.3, 0.6)
# DeepSeek R1 on eight H200: 7 GiB in all.
_LATENT_FP8_GIB = Range(0.3, 1.85, 6.5)
# Logs of L4 with 32 layers: 0.38 to 0.64 GiB of graphs, where H100 takes 0.91.
_SMALL_GRAPHS = 2 / 3
# vLLM's kernels for MXFP4 pad the model's width to 256, and before Hopper, where they
# are Marlin's, an expert's to 128. Logs of gpt-oss: 13.72 GiB of 12.82 for 20B on A100;
# 65.97 (Marlin) and 64.38 (Triton) of 60.77 for 120B on H100.
_PADS_EXPERTS = frozenset({"A10G", "A100-40GB", "A100-80GB", "L4", "L40S"})
_EXPERT_WIDTH, _MODEL_WIDTH = 128, 256
# Only a model's size may be known: its graphs are then those of a large one.
_UNKNOWN_LAYERS = 80
# MAMBA_CACHE_SIZE_MAX_RUNNING_REQUESTS_RATIO of SGLang: states of each request.
_STATES_OF_ONE = 3
# vLLM's 256 sequences, whose logits at least are alive at once.
_FEW_SEQS = 256


@dataclass(frozen=True, kw_only=True, slots=True)
class MemoryTerms:
    """
    What one accelerator holds, in bytes; the cache is that of one whole sequence, and
    the draft the weights of a model that drafts.

    Args:
        weights: The model's weights.

        runtime: What the process takes outside of PyTorch.

        activations: The largest step's intermediate results.

        cuda_graphs: Recorded CUDA graphs.

        kv_cache: The cache of keys and values.

        draft: The weights and the cache of a draft model.
    """

    weights: int
    runtime: int
    activations: int
    cuda_graphs: int
    kv_cache: int
    draft: int = 0

    @property
    def fixed(self) -> int:
        """
        What the engine's share holds before any of the cache.
        """
        return self.weights + self.draft + self.runtime + self.activations

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
            **({"draft": self.draft} if self.draft else {}),
            "runtime": self.runtime,
            "activations": self.activations,
            "cuda_graphs": self.cuda_graphs,
            "kv_cache": self.kv_cache,
        }


def memory_terms(setting: Setting, case: Case) -> MemoryTerms:
    """
    Add up what one of the accelerators of a copy holds.
    """
    return MemoryTerms(
        weights=_weights(setting, case),
        runtime=_runtime(setting, case),
        activations=_activations(setting, case),
        cuda_graphs=_cuda_graphs(setting, case),
        kv_cache=sequence_bytes(setting, case),
        draft=0 if setting.draft is None else _weights(setting.draft, case),
    )


def _weights(setting: Setting, case: Case) -> int:
    model, degree = setting.architecture, setting.degree
    if setting.gguf_type is None:
        whole = model.weight_bytes(setting.weight_bits)
    else:
        usual, most = gguf_bytes(
            setting.gguf_type, model.quantizable_parameter_count, model.parameter_count
        )
        whole = most if case is Case.CAUTIOUS else usual
    counted = ceil_div(whole, degree)
    if setting.release.splits_layers and degree > 1:
        # Whole layers, with the head as the last: that of the one with most of them.
        slices = model.num_hidden_layers + 1
        counted = whole * ceil_div(slices, degree) // slices
    # llama.cpp reads images from a file of its own, which is named beside.
    has_images = model.reads_images and not setting.release.allocates_context
    images = _IMAGES_GIB.of(case) if has_images else 0
    beyond = int((_WEIGHTS_BEYOND_GIB.of(case) + images) * GIB)
    return counted + beyond + (0 if case is Case.BEST else _padding(setting))


def _padding(setting: Setting) -> int:
    """
    Return the bytes that padding adds to gpt-oss: its experts are as wide as it is.
    """
    model, published = setting.architecture, setting.architecture.weight_format
    is_padded = setting.release.pads_experts and model.model_type == "gpt_oss"
    if not is_padded or setting.weight_bits or published is None:
        return 0
    width = ceil_div(model.hidden_size, setting.degree)
    grown = ceil_div(model.hidden_size, _MODEL_WIDTH) * _MODEL_WIDTH / model.hidden_size
    if setting.hardware.accelerator_model in _PADS_EXPERTS:
        grown *= ceil_div(width, _EXPERT_WIDTH) * _EXPERT_WIDTH / width
    experts = model.quantizable_parameter_count - published.spared
    bits = published.bits + published.scale_bits
    return int(experts * bits / 8 / setting.degree * (grown - 1))


def _runtime(setting: Setting, case: Case) -> int:
    taken = setting.assumptions
    alone = taken.runtime_gib
    if alone is None and setting.is_on_host:
        alone = setting.release.host_gib.of(case)
    elif alone is None:
        alone = setting.release.runtime_gib.of(case)
        alone += setting.release.large_gpu_gib.of(case) if setting.has_large_gpu else 0
    if setting.degree == 1:
        return int(alone * GIB)
    together = taken.collectives_gib
    if together is None and setting.release.splits_layers:
        # Layers hand one tensor on, and add nothing up.
        together = 0
    elif together is None and not are_linked(setting.hardware):
        together = _PCIE_GIB.of(case)
    elif together is None:
        bits = setting.architecture.bits_of_a_weight(setting.weight_bits)
        latent_fp8 = setting.is_latent and bits == 8  # noqa: PLR2004
        together = (_LATENT_FP8_GIB if latent_fp8 else _NVLINK_GIB).of(case)
    return int((alone + together) * GIB)


def _activations(setting: Setting, case: Case) -> int:
    """
    Bound the tensors that are alive at once: the logits, or the widest layer's.

    Of a prefill, per token: input, residual and norm, query, key and value, attention
    output and its projection, each as wide as the model, and the three tensors of a
    gated MLP, which are split. The best case is the logits alone, of which an encoder
    has none.
    """
    model, release = setting.architecture, setting.release
    vocabulary = model.vocab_size if setting.keeps_cache else 0
    if case is Case.BEST:
        least = min(setting.logit_rows, release.logit_rows or _FEW_SEQS) * vocabulary
        return int(least * release.logits_bytes.best)
    logits = int(setting.logit_rows * vocabulary * release.logits_bytes.of(case))
    mlp = ceil_div(3 * model.active_intermediate_size, setting.degree)
    prefill = setting.prefill_tokens * (6 * model.hidden_size + mlp)
    # An engine that keeps a cache bounds them well in 16 bits, even of a model in 32.
    kept = release.activation_bytes if release.keeps_cache else setting.computed_bytes
    prefill *= kept
    if setting.is_on_host and not setting.keeps_cache and case is Case.CAUTIOUS:
        # Attention is computed as a whole: for each token of a step and each of its
        # sequence, a number a head.
        pairs = setting.prefill_tokens * setting.context_length
        prefill += pairs * (model.num_attention_heads or 1) * setting.computed_bytes
    return logits + prefill if release.adds_prefill else max(logits, prefill)


def _cuda_graphs(setting: Setting, case: Case) -> int:
    fixed = setting.assumptions.cuda_graphs_gib
    if fixed is not None:
        return int(fixed * GIB)
    model, release = setting.architecture, setting.release
    layers = model.num_hidden_layers
    layers = _UNKNOWN_LAYERS if model.model_type == "custom" else layers
    by_layers = layers * release.graph_gib_per_layer.of(case)
    by_layers *= 1 if setting.has_large_gpu else _SMALL_GRAPHS
    return int(max(by_layers, release.graphs_gib.of(case)) * GIB)


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """
    One accelerator in the best, the expected or the cautious case.

    Args:
        terms: What it holds, in bytes.

        kv_cache_room: The bytes that are left for the cache; negative if short.

        kv_cache_tokens: How many tokens of all sequences together the cache holds; of
            an encoder, which keeps none, those of the sequences of a step.

        step_sequences: The sequences of a step.

        shares_context: Whether the sequences of a step share one context.

        most_sequences: How many sequences there can be for another reason than the
            cache's room; ``None`` without one.
    """

    terms: MemoryTerms
    kv_cache_room: int
    kv_cache_tokens: int
    step_sequences: int
    shares_context: bool = False
    most_sequences: int | None = None

    @property
    def loads(self) -> bool:
        """
        Whether the engine starts: the cache has room for something.
        """
        return self.kv_cache_tokens > 0

    @property
    def fits(self) -> bool:
        """
        Whether it starts and holds at least one whole sequence.
        """
        return self.loads and self.kv_cache_room >= self.terms.kv_cache

    @property
    def sequences(self) -> int:
        """
        How many whole sequences it holds at the same time.
        """
        if not self.fits:
            return 0
        if not self.terms.kv_cache or self.shares_context:
            return self.step_sequences
        found = self.kv_cache_room // self.terms.kv_cache
        return found if self.most_sequences is None else min(found, self.most_sequences)


def outcome_of(setting: Setting, case: Case) -> Outcome:
    """
    Compute what comes of a setting in a case.
    """
    terms = memory_terms(setting, case)
    room, states = _room(setting, case, terms), None
    pool, state = setting.release.state_pool, state_bytes(setting)
    if pool and state:
        # Another pool has the states of so many sequences.
        cache = int(room / (1 + pool))
        room, states = cache, max(room - cache, 0) // state // _STATES_OF_ONE
    return Outcome(
        terms=terms,
        kv_cache_room=room,
        kv_cache_tokens=_tokens(setting, max(room, 0)),
        step_sequences=setting.sequences,
        shares_context=setting.release.allocates_context,
        most_sequences=states,
    )


def longest_sequence(setting: Setting, case: Case, outcome: Outcome) -> int:
    """
    Return the longest sequence that there is room for, up to the model's own length. It
    is searched for: what is kept of a window does not grow with a sequence.
    """
    most = setting.architecture.context_length
    if not setting.keeps_cache or not frees_windows(setting):
        return min(outcome.kv_cache_tokens, most)
    shortest, longest = 0, most
    while shortest < longest:
        middle = (shortest + longest + 1) // 2
        if sequence_bytes(setting, case, middle) <= outcome.kv_cache_room:
            shortest = middle
        else:
            longest = middle - 1
    return shortest


def _tokens(setting: Setting, room: int) -> int:
    if setting.keeps_cache:
        # One sequence at least keeps its state.
        kept = 0 if setting.release.state_pool else state_bytes(setting)
        room = max(room - kept, 0)
        return room // (token_bytes(setting) * BLOCK_TOKENS) * BLOCK_TOKENS
    return setting.sequences * setting.context_length if room else 0


def _room(setting: Setting, case: Case, terms: MemoryTerms) -> int:
    # What the share leaves, and no more than what the graphs leave beyond it. A share
    # that is weights and cache alone is of what is free before loading.
    capacity = visible_bytes(setting.hardware)
    left = capacity - terms.cuda_graphs - terms.fixed
    # What asks for more than all is refused elsewhere.
    share = min(setting.share(case), 1)
    if setting.release.reserve is not None:
        pool = int((capacity - terms.runtime) * share) - terms.weights
        return min(pool, left)
    taken = int(capacity * share)
    if setting.release.graphs_in_share.of(case):
        return taken - terms.cuda_graphs - terms.fixed
    return min(taken - terms.fixed, left)
