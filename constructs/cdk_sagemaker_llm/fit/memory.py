"""
What a copy of a model needs of each accelerator: weights, cache, and the rest.

Weights and cache are counted; the rest is a range of what releases of the engine were
seen to take, and ``Assumptions`` overrides each.
"""

from __future__ import annotations

from dataclasses import dataclass

from cdk_sagemaker_llm.architectures.weight_format import gguf_bytes
from cdk_sagemaker_llm.fit.cache import sequence_bytes
from cdk_sagemaker_llm.fit.releases import Case, Range
from cdk_sagemaker_llm.fit.setting import GIB, Setting, are_linked

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
# vLLM's 256 sequences, whose logits at least are alive at once.
_FEW_SEQS = 256


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


def _weights(setting: Setting, case: Case) -> int:
    counted = _share_of(_whole_weights(setting, case), setting)
    images = _IMAGES_GIB.of(case) if setting.architecture.reads_images else 0
    # llama.cpp reads images from a file of its own, which is named beside.
    images = 0 if setting.release.allocates_context else images
    beyond = int((_WEIGHTS_BEYOND_GIB.of(case) + images) * GIB)
    return counted + beyond + (0 if case is Case.BEST else _padding(setting))


def _whole_weights(setting: Setting, case: Case) -> int:
    model = setting.architecture
    if setting.gguf_type is None:
        return model.weight_bytes(setting.weight_bits)
    usual, most = gguf_bytes(
        setting.gguf_type, model.quantizable_parameter_count, model.parameter_count
    )
    return most if case is Case.CAUTIOUS else usual


def _share_of(weights: int, setting: Setting) -> int:
    """
    Return what is on one accelerator; of whole layers, the last of which is the head,
    the one with most of them.
    """
    if not setting.release.splits_layers or setting.degree == 1:
        return _share(weights, setting.degree)
    slices = setting.architecture.num_hidden_layers + 1
    return weights * _share(slices, setting.degree) // slices


def _padding(setting: Setting) -> int:
    """
    Return the bytes that padding adds to gpt-oss: its experts are as wide as it is.
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
    elif together is None:
        together = _collectives(setting).of(case)
    return int((alone + together) * GIB)


def _collectives(setting: Setting) -> Range:
    if not are_linked(setting.hardware):
        return _PCIE_GIB
    bits = setting.architecture.bits_of_a_weight(setting.weight_bits)
    latent_fp8 = setting.is_latent and bits == 8  # noqa: PLR2004
    return _LATENT_FP8_GIB if latent_fp8 else _NVLINK_GIB


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
    mlp = _share(3 * model.active_intermediate_size, setting.degree)
    prefill = setting.prefill_tokens * (6 * model.hidden_size + mlp)
    # An engine that keeps a cache bounds them well in 16 bits, even of a model in 32.
    kept = release.activation_bytes if release.keeps_cache else setting.computed_bytes
    prefill *= kept
    if setting.is_on_host and not setting.keeps_cache and case is Case.CAUTIOUS:
        prefill += _scores(setting)
    return logits + prefill if release.adds_prefill else max(logits, prefill)


def _scores(setting: Setting) -> int:
    """
    Return what attention has where it is computed as a whole: for each token of a step
    and each of its sequence, a number a head.
    """
    heads = setting.architecture.num_attention_heads or 1
    pairs = setting.prefill_tokens * setting.context_length
    return pairs * heads * setting.computed_bytes


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


def _share(whole: int, parts: int) -> int:
    return -(-whole // parts)
