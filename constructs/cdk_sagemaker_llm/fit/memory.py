"""
What a copy of a model needs of each accelerator: weights, cache, and the rest.

Weights and cache are counted; the rest is a range of what releases of the engine were
seen to take, and ``Assumptions`` overrides each.
"""

from __future__ import annotations

from cdk_sagemaker_llm._records import dataclass
from cdk_sagemaker_llm.architectures import ModelArchitecture
from cdk_sagemaker_llm.catalog.instances import InstanceType
from cdk_sagemaker_llm.demand import Assumptions
from cdk_sagemaker_llm.fit.devices import GIB, are_linked, visible_bytes
from cdk_sagemaker_llm.fit.releases import Case, Range, Release

# vLLM keeps its cache in blocks of 16 tokens (CacheConfig.block_size).
BLOCK_TOKENS = 16
# From here on a GPU is large for vLLM's defaults (EngineArgs).
_LARGE_GPU = 70 * GIB
_LARGE_TOKENS, _SMALL_TOKENS = 8192, 2048
_LARGE_SEQS, _SMALL_SEQS = 1024, 256
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
_LATENT_BYTES = 256
# Logs of L4 with 32 layers: 0.38 to 0.64 GiB of graphs, where H100 takes 0.91.
_SMALL_GRAPHS = 2 / 3
# vLLM's kernels for MXFP4 pad the model's width to 256, and before Hopper, where they
# are Marlin's, an expert's to 128. Logs of gpt-oss: 13.72 GiB of 12.82 for 20B on A100;
# 65.97 (Marlin) and 64.38 (Triton) of 60.77 for 120B on H100.
_PADS_EXPERTS = frozenset({"A10G", "A100-40GB", "A100-80GB", "L4", "L40S"})
_EXPERT_WIDTH, _MODEL_WIDTH = 128, 256
# Only a model's size may be known: its graphs are then those of a large one.
_UNKNOWN_LAYERS = 80


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


@dataclass(frozen=True, kw_only=True, slots=True)
class Setting:
    """
    All that the memory of one accelerator follows from, but for luck.

    Args:
        architecture: The model.

        hardware: The instance type.

        degree: Over how many accelerators a copy is split.

        weight_bits: Bits of a weight; ``None`` for those of the published weights.

        context_length: Tokens of the one sequence whose cache is counted.

        assumptions: What is set.

        release: What the engine takes where nothing is set.
    """

    architecture: ModelArchitecture
    hardware: InstanceType
    degree: int
    weight_bits: int | None
    context_length: int
    assumptions: Assumptions
    release: Release

    @property
    def has_large_gpu(self) -> bool:
        """
        Whether vLLM has larger defaults for the GPU.
        """
        return visible_bytes(self.hardware) >= _LARGE_GPU

    @property
    def prefill_tokens(self) -> int:
        """
        The prompt tokens of one step.
        """
        given = self.assumptions.max_num_batched_tokens
        if self.release.grows_with_gpu:
            usual = _LARGE_TOKENS if self.has_large_gpu else _SMALL_TOKENS
            # An encoder reads a text at once, never in parts.
            least = 0 if self.architecture.keeps_cache else self.context_length
            return given or max(usual, least)
        return min(self.context_length, given or self.release.prefill_tokens)

    @property
    def sequences(self) -> int:
        """
        The sequences of one step.
        """
        grown = self.release.grows_with_gpu and self.has_large_gpu
        usual = _LARGE_SEQS if grown else _SMALL_SEQS
        return self.assumptions.max_num_seqs or usual

    @property
    def number_bytes(self) -> int:
        """
        The bytes of a number in the cache, which is kept as the model computes.
        """
        given = self.assumptions.kv_cache_dtype_bytes
        in_full = self.architecture.bits_of_a_weight(self.weight_bits) == 32  # noqa: PLR2004
        return given * 2 if in_full and given == 2 else given  # noqa: PLR2004

    def share(self, case: Case) -> float:
        """
        The part of the memory that the engine takes.
        """
        given = self.assumptions.gpu_memory_utilization
        return self.release.share.of(case) if given is None else given


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
    )


def token_bytes(setting: Setting) -> int:
    """
    Return the cache of one token on each accelerator.

    Key and value heads are split as far as there are any, and copied beyond; the one
    latent vector of multi-head latent attention is on every accelerator.
    """
    model = setting.architecture
    whole = model.kv_cache_bytes_per_token(setting.number_bytes)
    layers = model.num_hidden_layers
    if setting.release.groups_windows:
        whole = whole * _grouped_layers(model) // layers
    if setting.release.pads_latent and _is_latent(model):
        whole = layers * _share(whole // layers, _LATENT_BYTES) * _LATENT_BYTES
    return _share(whole, min(setting.degree, model.kv_cache_shards))


def sequence_bytes(setting: Setting, case: Case) -> int:
    """
    Return the cache of a sequence on each accelerator, in whole blocks.

    Sliding windows are deducted in the best case alone: not every engine forgets what
    left the window.
    """
    blocks = _share(setting.context_length, BLOCK_TOKENS)
    tokens = blocks * BLOCK_TOKENS
    if case is not Case.BEST:
        return tokens * token_bytes(setting) + state_bytes(setting)
    model = setting.architecture
    state = model.state_bytes(setting.number_bytes)
    kept = model.kv_cache_bytes(tokens, setting.number_bytes) - state
    shards = min(setting.degree, model.kv_cache_shards)
    return _share(kept, shards) + state_bytes(setting)


def state_bytes(setting: Setting) -> int:
    """
    Return what a sequence keeps on each accelerator however long it is: of layers with
    linear attention, of which the heads are split.
    """
    whole = setting.architecture.state_bytes(setting.number_bytes)
    return _share(whole, setting.degree)


def _weights(setting: Setting, case: Case) -> int:
    model = setting.architecture
    counted = _share(model.weight_bytes(setting.weight_bits), setting.degree)
    images = _IMAGES_GIB.of(case) if model.reads_images else 0
    beyond = int((_WEIGHTS_BEYOND_GIB.of(case) + images) * GIB)
    return counted + beyond + (0 if case is Case.BEST else _padding(setting))


def _padding(setting: Setting) -> int:
    """
    Return what padding adds to gpt-oss, whose experts are as wide as the model.
    """
    model, published = setting.architecture, setting.architecture.weight_format
    is_padded = setting.release.pads_experts and model.model_type == "gpt_oss"
    if not is_padded or setting.weight_bits or published is None:
        return 0
    width = _share(model.hidden_size, setting.degree)
    grown = _share(model.hidden_size, _MODEL_WIDTH) * _MODEL_WIDTH / model.hidden_size
    if setting.hardware.accelerator_model in _PADS_EXPERTS:
        grown *= _share(width, _EXPERT_WIDTH) * _EXPERT_WIDTH / width
    experts = model.quantizable_parameter_count - published.spared
    bits = published.bits + published.scale_bits
    return int(experts * bits / 8 / setting.degree * (grown - 1))


def _runtime(setting: Setting, case: Case) -> int:
    taken = setting.assumptions
    alone = taken.runtime_gib
    if alone is None:
        alone = setting.release.runtime_gib.of(case)
        alone += setting.release.large_gpu_gib.of(case) if setting.has_large_gpu else 0
    if setting.degree == 1:
        return int(alone * GIB)
    together = taken.collectives_gib
    if together is None:
        together = _collectives(setting).of(case)
    return int((alone + together) * GIB)


def _collectives(setting: Setting) -> Range:
    if not are_linked(setting.hardware):
        return _PCIE_GIB
    bits = setting.architecture.bits_of_a_weight(setting.weight_bits)
    latent_fp8 = _is_latent(setting.architecture) and bits == 8  # noqa: PLR2004
    return _LATENT_FP8_GIB if latent_fp8 else _NVLINK_GIB


def _activations(setting: Setting, case: Case) -> int:
    """
    Bound the tensors that are alive at once: the logits, or the widest layer's.

    Of a prefill, per token: input, residual and norm, query, key and value, attention
    output and its projection, each as wide as the model, and the three tensors of a
    gated MLP, which are split; in 16 bits. The best case is the logits alone, of which
    an encoder has none.
    """
    model, release = setting.architecture, setting.release
    vocabulary = model.vocab_size if model.keeps_cache else 0
    entries = setting.sequences * vocabulary
    if case is Case.BEST:
        least = min(setting.sequences, _SMALL_SEQS) * vocabulary
        return int(least * release.logits_bytes.best)
    logits = int(entries * release.logits_bytes.of(case))
    mlp = _share(3 * model.active_intermediate_size, setting.degree)
    prefill = setting.prefill_tokens * (6 * model.hidden_size + mlp) * 2
    return logits + prefill if release.adds_prefill else max(logits, prefill)


def _cuda_graphs(setting: Setting, case: Case) -> int:
    given = setting.assumptions.cuda_graphs_gib
    if given is not None:
        return int(given * GIB)
    model, release = setting.architecture, setting.release
    layers = model.num_hidden_layers
    layers = _UNKNOWN_LAYERS if model.model_type == "custom" else layers
    by_layers = layers * release.graph_gib_per_layer.of(case)
    by_layers *= 1 if setting.has_large_gpu else _SMALL_GRAPHS
    return int(max(by_layers, release.graphs_gib.of(case)) * GIB)


def _grouped_layers(model: ModelArchitecture) -> int:
    """
    Return how many layers the cache has room for, with layers of two kinds.

    vLLM lays them out in groups as large as the smaller kind, and fills the last
    group of each (kv_cache_utils.py); Gemma 3 4B has 35 instead of 34.
    """
    kinds = sorted(
        (model.windowed_layers, model.num_hidden_layers - model.windowed_layers)
    )
    few, many = kinds
    if not few:
        return many
    size = many if many < few * 1.25 else few
    return sum(_share(layers, size) * size for layers in kinds)


def _is_latent(model: ModelArchitecture) -> bool:
    return model.kv_cache_shards == 1 and model.model_type.startswith("deepseek")


def _share(whole: int, parts: int) -> int:
    return -(-whole // parts)
