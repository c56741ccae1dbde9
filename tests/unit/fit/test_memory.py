"""
What a copy needs of each accelerator.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdk_sagemaker_llm import ModelArchitecture
from cdk_sagemaker_llm.catalog.architectures import model_names
from cdk_sagemaker_llm.catalog.instances import InstanceType, find_instance_type
from cdk_sagemaker_llm.fit import Assumptions, plan
from cdk_sagemaker_llm.fit.cache import BLOCK_TOKENS, sequence_bytes, token_bytes
from cdk_sagemaker_llm.fit.memory import MemoryTerms, memory_terms
from cdk_sagemaker_llm.fit.releases import Case, release_of
from cdk_sagemaker_llm.fit.setting import GIB, Setting, visible_bytes

USUAL = Assumptions()
LLAMA = ModelArchitecture.of("meta-llama/Llama-2-70b-hf")
LLAMA_8B = ModelArchitecture.of("meta-llama/Llama-3.1-8B")
DEEPSEEK = ModelArchitecture.of("deepseek-ai/DeepSeek-V3")
FALCON = ModelArchitecture.of("tiiuae/falcon-7b")


def setting_of(
    model: ModelArchitecture = LLAMA,
    degree: int = 8,
    context: int = 4096,
    taken: Assumptions = USUAL,
    *,
    version: str | None = "0.19.0",
    hardware: str = "ml.p5.48xlarge",
    weight_bits: int | None = None,
) -> Setting:
    """
    Set what is usual.
    """
    return Setting(
        architecture=model,
        hardware=find_instance_type(hardware),
        degree=degree,
        weight_bits=weight_bits,
        context_length=context,
        assumptions=taken,
        release=release_of("vllm", version),
    )


def terms_of(setting: Setting, case: Case = Case.CAUTIOUS) -> MemoryTerms:
    """
    Count the cautious case, if no other is named.
    """
    return memory_terms(setting, case)


def test_weights_and_heads_are_split() -> None:
    """
    Llama 2 70B on eight: an eighth of the weights, one of eight heads.
    """
    found = terms_of(setting_of(), Case.BEST)

    assert found.weights == 68_976_648_192 * 2 // 8
    assert found.kv_cache == 4096 * 2 * 80 * 128 * 2


@pytest.mark.parametrize(
    ("model", "degree", "share"),
    [(LLAMA, 8, 8), (LLAMA, 16, 8), (FALCON, 4, 1), (DEEPSEEK, 8, 1)],
)
def test_heads_are_copied_beyond_their_number(
    model: ModelArchitecture, degree: int, share: int
) -> None:
    """
    One head, or a latent vector, is on every accelerator.
    """
    whole = model.kv_cache_bytes_per_token()

    assert token_bytes(setting_of(model, degree)) == whole // share


def test_a_cache_is_kept_in_whole_blocks() -> None:
    """
    One token more takes a block more.
    """
    block = BLOCK_TOKENS * token_bytes(setting_of())

    for tokens, blocks in ((1, 1), (16, 1), (17, 2)):
        setting = setting_of(context=tokens)
        assert sequence_bytes(setting, Case.CAUTIOUS) == blocks * block


@pytest.mark.parametrize("version", ["0.8.5", None])
def test_a_window_is_deducted_in_the_best_case_alone(version: str | None) -> None:
    """
    Not every release forgets what left it: Mistral keeps 4096 of 32768 tokens.
    """
    mistral = ModelArchitecture.of("mistralai/Mistral-7B-v0.1")
    setting = setting_of(mistral, 1, 32768, version=version)
    one = mistral.kv_cache_bytes_per_token()

    assert sequence_bytes(setting, Case.CAUTIOUS) == 32768 * one
    assert sequence_bytes(setting, Case.EXPECTED) == 32768 * one
    assert sequence_bytes(setting, Case.BEST) == 4096 * one


@pytest.mark.parametrize(
    ("model", "version", "layers"),
    [
        # 29 layers with a window and 5 without: six groups of five, and one.
        ("google/gemma-3-4b-it", "0.19.0", 35),
        # 40 and 8; 52 and 10; 21 and 21.
        ("google/gemma-3-12b-it", "0.19.0", 48),
        ("google/gemma-3-27b-it", "0.19.0", 70),
        ("google/gemma-2-9b-it", "0.19.0", 42),
        # All of one kind, and a release before there were groups.
        ("mistralai/Mistral-7B-v0.1", "0.19.0", 32),
        ("google/gemma-3-4b-it", "0.7.3", 34),
    ],
)
def test_layers_of_two_kinds_are_kept_in_equal_groups(
    model: str, version: str, layers: int
) -> None:
    """
    The last group of each kind is filled up.
    """
    known = ModelArchitecture.of(model)
    one = known.kv_cache_bytes_per_token() // known.num_hidden_layers

    assert token_bytes(setting_of(known, 1, version=version)) == one * layers


def test_only_a_latent_vector_is_padded() -> None:
    """
    A model of the same makers that keeps keys and values has nothing to pad.
    """
    plain = replace(LLAMA_8B, model_type="deepseek_v2", kv_elements_per_token=32 * 1000)

    assert (plain.num_hidden_layers, plain.kv_cache_shards) == (32, 8)
    assert token_bytes(setting_of(plain, 1, version="0.7.3")) == 32 * 2000


@pytest.mark.parametrize(
    ("gib", "tokens", "sequences"), [(69, 2048, 256), (70, 8192, 1024)]
)
def test_a_gpu_is_large_from_70_gib_on(gib: int, tokens: int, sequences: int) -> None:
    """
    As CUDA shows it, which is 0.98 of what is stated.
    """
    hardware = InstanceType.of(
        "ml.p9.huge",
        accelerators=8,
        vcpus=8,
        memory_gib=64,
        accelerator_memory_gib=gib / 0.98,
    )
    setting = replace(setting_of(), hardware=hardware)

    assert visible_bytes(hardware) == gib * GIB
    assert (setting.prefill_tokens, setting.sequences) == (tokens, sequences)


@pytest.mark.parametrize(
    ("name", "tokens", "sequences"),
    [("ml.p4de.24xlarge", 2048, 256), ("ml.p5.48xlarge", 8192, 1024)],
)
def test_an_a100_is_not_large_however_much_it_has(
    name: str, tokens: int, sequences: int
) -> None:
    """
    vLLM leaves it out by its name: both have 80 GiB.
    """
    setting = setting_of(hardware=name)

    assert (setting.prefill_tokens, setting.sequences) == (tokens, sequences)


def test_a_share_of_nothing_is_one_that_was_given() -> None:
    """
    And not left out.
    """
    setting = setting_of(taken=Assumptions(gpu_memory_utilization=0))

    assert setting.share(Case.EXPECTED) == 0


@pytest.mark.parametrize(("version", "numbers"), [("0.7.3", 640), ("0.8.5", 576)])
def test_a_latent_vector_was_padded_once(version: str, numbers: int) -> None:
    """
    1152 bytes a layer to the next 256, in vLLM 0.7.
    """
    assert token_bytes(setting_of(DEEPSEEK, version=version)) == 61 * numbers * 2


@pytest.mark.parametrize(
    ("weight_bits", "cache", "numbers"), [(16, 2, 2), (32, 2, 4), (32, 1, 1)]
)
def test_the_cache_is_kept_as_the_model_computes(
    weight_bits: int, cache: int, numbers: int
) -> None:
    """
    In 32 bits, where the model does, unless it is quantized.
    """
    taken = Assumptions(kv_cache_dtype_bytes=cache)
    setting = setting_of(LLAMA_8B, 1, taken=taken, weight_bits=weight_bits)

    assert token_bytes(setting) == 2 * 32 * 8 * 128 * numbers


@pytest.mark.parametrize(
    ("hardware", "cautious"), [("ml.p5.48xlarge", 2.5), ("ml.g6.12xlarge", 1.1)]
)
def test_only_a_split_copy_pays_for_collectives(hardware: str, cautious: float) -> None:
    """
    One accelerator has nobody to talk to; over PCIe less is kept for it.
    """
    alone = terms_of(setting_of(LLAMA_8B, 1, hardware=hardware)).runtime
    split = terms_of(setting_of(LLAMA_8B, 2, hardware=hardware)).runtime

    assert alone == GIB // 2
    assert split == int(cautious * GIB)


def test_a_large_mixture_in_fp8_keeps_more_for_them() -> None:
    """
    DeepSeek R1 on eight H200: 7 GiB.
    """
    large = setting_of(DEEPSEEK, hardware="ml.p5en.48xlarge")
    unquantized = replace(large, weight_bits=16)

    assert terms_of(large).runtime == 7 * GIB
    assert terms_of(unquantized).runtime == int(2.5 * GIB)


@pytest.mark.parametrize(
    ("version", "per_logit"), [("0.11.0", 39), ("0.16.0", 39), ("0.17.0", 16)]
)
def test_activations_follow_the_logits(version: str, per_logit: int) -> None:
    """
    1,024 sequences on a GPU from 70 GiB on, whatever the context.
    """
    for context in (100, 131_072):
        setting = setting_of(LLAMA_8B, 1, context, version=version)
        assert terms_of(setting).activations == 1024 * 128_256 * per_logit


def test_an_encoder_chooses_no_word() -> None:
    """
    It has no logits, and reads a whole text in one step: 8192 tokens of 6 tensors of
    1024 numbers and of 3 of 4096, in 16 bits.
    """
    encoder = ModelArchitecture.of("BAAI/bge-m3")
    found = setting_of(encoder, 1, 8192, hardware="ml.g5.xlarge")

    assert found.prefill_tokens == 8192
    assert terms_of(found).activations == 8192 * (6 * 1024 + 3 * 4096) * 2
    assert terms_of(found, Case.BEST).activations == 0
    # Texts that are shorter than a usual step are read several at once.
    assert setting_of(encoder, 1, 512, hardware="ml.g5.xlarge").prefill_tokens == 2048


def test_a_state_is_split_and_kept_beside_the_cache() -> None:
    """
    39.5 MB over eight, and two key and value heads over two.
    """
    model = ModelArchitecture.of("Qwen/Qwen3-Next-80B-A3B-Instruct")
    found = setting_of(model, 8, version="0.8.5")
    state = 36 * (3 * 8192 + 32 * 128 * 128) * 2 // 8

    for case in Case:
        assert sequence_bytes(found, case) == 4096 * 24576 // 2 + state
    assert token_bytes(found) == 24576 // 2


def test_smaller_gpus_take_smaller_steps() -> None:
    """
    256 sequences and 2,048 tokens, unless told otherwise.
    """
    small = setting_of(LLAMA_8B, 1, hardware="ml.g6.xlarge")
    told = replace(
        small, assumptions=Assumptions(max_num_seqs=8, max_num_batched_tokens=512)
    )

    assert (small.sequences, small.prefill_tokens) == (256, 2048)
    assert (told.sequences, told.prefill_tokens) == (8, 512)
    assert terms_of(small).activations == 256 * 128_256 * 16
    # The widest layer of a prefill, where the logits are few.
    assert terms_of(told).activations == 512 * (6 * 4096 + 3 * 14336) * 2


def test_a_prefill_of_older_releases_is_as_long_as_a_sequence() -> None:
    """
    Up to what one step takes; the logits are more, unless there are few of them.
    """
    few = Assumptions(max_num_seqs=8)
    found = [
        terms_of(setting_of(LLAMA_8B, 1, context, few, version="0.6.3")).activations
        for context in (100, 4096, 8192, 131_072)
    ]
    token = (6 * 4096 + 3 * 14336) * 2

    assert found == [8 * 128_256 * 39, 4096 * token, 8192 * token, 8192 * token]


def test_graphs_grow_with_the_layers() -> None:
    """
    0.03 GiB each, on smaller GPUs 0.02; of a model of which only the size is known, as
    for 80 layers.
    """
    unknown = ModelArchitecture.custom(parameters=10**9, kv_bytes_per_token=1000)

    assert terms_of(setting_of(LLAMA_8B, 1)).cuda_graphs == int(0.96 * GIB)
    small = setting_of(LLAMA_8B, 1, hardware="ml.g6.xlarge")
    assert terms_of(small).cuda_graphs == int(0.64 * GIB)
    assert terms_of(setting_of(unknown, 1)).cuda_graphs == int(2.4 * GIB)


def test_what_reads_images_is_loaded_too() -> None:
    """
    1.4 GiB beyond the text of Gemma 3, and 0.15 for any model.
    """
    gemma = ModelArchitecture.of("google/gemma-3-4b-it")
    found = terms_of(setting_of(gemma, 1)).weights

    assert found == gemma.weight_bytes() + int(1.55 * GIB)
    assert terms_of(setting_of(gemma, 1), Case.BEST).weights == gemma.weight_bytes()


models = st.sampled_from(model_names()).map(ModelArchitecture.of)
degrees = st.sampled_from([1, 2, 4, 8])
versions = st.sampled_from([None, "0.2.5", "0.7.3", "0.11.0", "0.17.0", "0.23.1"])


@given(models, degrees, st.integers(1, 2048), st.integers(0, 2048))
def test_no_term_shrinks_with_the_context(
    model: ModelArchitecture, degree: int, context: int, more: int
) -> None:
    """
    A longer sequence never takes less of anything.
    """
    short = terms_of(setting_of(model, degree, context)).items()
    long = terms_of(setting_of(model, degree, context + more)).items()

    assert all(short[name] <= long[name] for name in short)


@given(models, degrees, versions, st.integers(1, 4096))
def test_luck_never_takes_more(
    model: ModelArchitecture, degree: int, version: str | None, context: int
) -> None:
    """
    From the best over the expected to the cautious case no term shrinks.
    """
    setting = setting_of(model, degree, context, version=version)
    best, expected, cautious = (terms_of(setting, case).items() for case in Case)

    assert all(best[name] <= expected[name] <= cautious[name] for name in best)


@given(models, degrees, st.integers(1, 4096))
def test_the_terms_are_the_total(
    model: ModelArchitecture, degree: int, context: int
) -> None:
    """
    Nothing is counted that is not shown.
    """
    found = terms_of(setting_of(model, degree, context))

    assert sum(found.items().values()) == found.total
    assert found.total == found.fixed + found.cuda_graphs + found.kv_cache


@given(models, st.floats(0, 16), st.floats(0, 16), st.sampled_from(Case))
def test_an_override_is_what_is_counted(
    model: ModelArchitecture, runtime: float, graphs: float, case: Case
) -> None:
    """
    In GiB of one accelerator, in each case.
    """
    taken = Assumptions(runtime_gib=runtime, cuda_graphs_gib=graphs)
    found = terms_of(setting_of(model, degree=1, taken=taken), case)

    assert found.runtime == int(runtime * GIB)
    assert found.cuda_graphs == int(graphs * GIB)


@pytest.mark.parametrize(
    ("model", "hardware", "loaded"),
    [
        # myoceane.fr, "vLLM ... A100": 13.72 GiB in 0.19.0.
        ("openai/gpt-oss-20b", "ml.p4de.24xlarge", 13.72),
        # vllm-project/vllm, issue 33155: 64.38 GiB with Triton's kernels in 0.14.1.
        ("openai/gpt-oss-120b", "ml.p5.48xlarge", 64.38),
    ],
)
def test_experts_in_mxfp4_are_loaded_with_their_padding(
    model: str, hardware: str, loaded: float
) -> None:
    """
    As logs say, within 0.25 GiB; the best case counts what is published.
    """
    found = plan(model, hardware, tensor_parallel_degree=1, engine_version="0.19.0")

    expected = found.expected.terms.weights / GIB
    assert expected == pytest.approx(loaded, abs=0.25)
    assert found.best.terms.weights / GIB < loaded - 0.5
    assert found.cautious.terms.weights / GIB >= loaded


def test_other_engines_and_other_weights_are_not_padded() -> None:
    """
    The padding is that of vLLM's kernels for MXFP4.
    """
    name, hardware = "openai/gpt-oss-20b", "ml.p4de.24xlarge"
    plain = plan(name, hardware, weight_bits=16, engine_version="0.19.0")
    other = plan(name, hardware, engine="tgi", tensor_parallel_degree=1)

    beyond = [
        each.expected.terms.weights - each.best.terms.weights for each in (plain, other)
    ]
    assert max(beyond) <= 0.05 * GIB
