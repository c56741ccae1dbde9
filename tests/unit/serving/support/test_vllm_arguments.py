"""
Arguments of vLLM against the checkpoint: each condition from both sides.
"""

from __future__ import annotations

import pytest

from tests.unit.serving.support.cases import Row, case, codes_of, table
from tests.unit.support_rule_examples import Example

LLAMA, GPT_OSS = "LlamaForCausalLM", "GptOssForCausalLM"
OWN = {"model_type": "own", "auto_map": {"AutoConfig": "a.B"}}

CODE: list[Row] = [
    *(
        (codes, case(f"vllm {release} A10G", LLAMA, config, trust_remote_code=value))
        for release, config, value, codes in (
            ("0.10.2", OWN, None, "LLM941"),
            ("0.10.2", OWN, False, "LLM941"),
            ("0.10.2", OWN, "false", "LLM941"),
            ("0.10.2", OWN, True, ""),
            ("0.10.2", OWN, "true", ""),
            ("0.10.2", OWN, "1", ""),
            ("0.10.2", OWN, "yes", ""),
            ("0.10.2", OWN, "y", ""),
            ("0.10.2", OWN, "on", ""),
            ("0.10.2", OWN, "t", ""),
            ("0.10.2", OWN, 1, ""),
            ("0.10.2", OWN, 0, "LLM941"),
            ("0.10.2", {**OWN, "model_type": "llama"}, None, ""),
            ("0.10.2", {**OWN, "auto_map": {"AutoModel": "a.B"}}, None, ""),
            ("0.10.2", {**OWN, "auto_map": None}, None, ""),
            ("0.10.2", {"auto_map": {"AutoConfig": "a.B"}}, None, ""),
            # vLLM brings some configurations along, from a release on.
            ("0.8.4", {**OWN, "model_type": "kimi_vl"}, None, ""),
            ("0.7.1", {**OWN, "model_type": "kimi_vl"}, None, "LLM941"),
            ("0.9.2", {**OWN, "model_type": "kimi_k2"}, None, "LLM880"),
            ("0.8.4", {**OWN, "model_type": "kimi_k2"}, None, "LLM941"),
            ("0.10.2", {**OWN, "model_type": "kimi_k2"}, None, ""),
        )
    ),
]


@pytest.mark.parametrize(("codes", "example"), CODE)
def test_trusts_code_that_the_configuration_needs(codes: str, example: Example) -> None:
    """
    Where a switch is on, however that is spelt.
    """
    assert codes_of(example) == codes


@pytest.mark.parametrize(
    ("kind", "release"),
    [
        ("chatglm", "0.2.7"),
        ("deepseek_vl_v2", "0.7.1"),
        ("deepseek_v32", "0.11.1"),
        ("kimi_linear", "0.11.1"),
        ("kimi_k25", "0.14.0"),
        ("RefinedWeb", "0.2.1.post1"),
        ("RefinedWebModel", "0.2.1.post1"),
        ("jais", "0.3.3"),
        ("ovis", "0.10.2"),
        ("ultravox", "0.6.2"),
        ("step3_vl", "0.10.2"),
        ("step3_text", "0.10.2"),
        ("step3p5", "0.15.1"),
        ("midashenglm", "0.10.2"),
        ("isaac", "0.13.0"),
        ("hyperclovax", "0.18.0"),
        ("bagel", "0.12.0"),
        ("axk1", "0.16.0"),
        ("dotsocr", "0.11.1"),
        ("dots_ocr", "0.11.1"),
        ("radio", "0.10.2"),
        ("mpt", "0.2.1.post1"),
        ("dbrx", "0.4.2"),
        ("nemotron", "0.5.3.post1"),
        ("qwen3_next", "0.10.2"),
        ("afmoe", "0.12.0"),
        ("hunyuan_vl", "0.12.0"),
        ("olmo_hybrid", "0.17.0"),
        ("qwen3_asr", "0.15.1"),
        ("lfm2_moe", "0.11.1"),
        ("hy_v3", "0.20.0"),
        ("minimax_m3_vl", "0.24.0"),
        ("flex_olmo", "0.11.1"),
        ("deepseek_v3", "0.7.1"),
        ("deepseek_v4", "0.20.0"),
    ],
)
def test_runs_no_code_for_a_configuration_that_vllm_brings(
    kind: str, release: str
) -> None:
    """
    From the release on that has it.
    """
    config = {**OWN, "model_type": kind}

    assert codes_of(case(f"vllm {release} H100", LLAMA, config)) == ""


TOKENIZERS: list[Row] = [
    *(
        (codes, case(f"vllm {release} A10G", LLAMA, config))
        for release, config, codes in (
            (
                "0.19.0",
                {"tokenizer_config.tokenizer_class": "TokenizersBackend"},
                "LLM943",
            ),
            (
                "0.19.1",
                {"tokenizer_config.tokenizer_class": "TokenizersBackend"},
                "LLM894",
            ),
            (
                "0.23.1",
                {"tokenizer_config.tokenizer_class": "TokenizersBackend"},
                "LLM894",
            ),
            (
                "0.24.0",
                {"tokenizer_config.tokenizer_class": "TokenizersBackend"},
                "",
            ),
            ("0.10.2", {"tokenizer.tokenizer_class": "TokenizersBackend"}, "LLM943"),
            (
                "0.10.2",
                {"tokenizer_config": {"tokenizer_class": "TokenizersBackend"}},
                "LLM943",
            ),
            ("0.10.2", {"tokenizer_config": None}, ""),
            ("0.5.3.post1", {"tokenizer.merges": "lists"}, "LLM943"),
            ("0.5.3.post1", {"tokenizer.merges": "list"}, "LLM943"),
            ("0.5.3.post1", {"tokenizer.merges": [["a", "b"]]}, "LLM943"),
            ("0.5.3.post1", {"tokenizer.model.merges": "lists"}, "LLM943"),
            ("0.5.3.post1", {"tokenizer.merges": "strings"}, ""),
            ("0.6.2", {"tokenizer.merges": "lists"}, ""),
            ("0.4.2", {"rope_scaling": {"rope_type": "llama3"}}, "LLM943"),
            ("0.5.3.post1", {"rope_scaling": {"rope_type": "llama3"}}, ""),
            ("0.4.2", {"rope_scaling": {"rope_type": "linear"}}, ""),
            ("0.4.2", {"rope_scaling": "llama3"}, ""),
            ("0.4.2", {"rope_scaling.rope_type": "llama3"}, "LLM943"),
            (
                "0.7.1",
                {"rope_scaling": {"type": "longrope"}, "partial_rotary_factor": 0.75},
                "LLM943",
            ),
            (
                "0.7.1",
                {
                    "rope_scaling": {"rope_type": "longrope"},
                    "partial_rotary_factor": 0.75,
                },
                "LLM943",
            ),
            (
                "0.8.4",
                {"rope_scaling": {"type": "longrope"}, "partial_rotary_factor": 0.75},
                "",
            ),
            (
                "0.7.1",
                {"rope_scaling": {"type": "longrope"}, "partial_rotary_factor": 1},
                "",
            ),
            (
                "0.7.1",
                {"rope_scaling": {"type": "longrope"}, "partial_rotary_factor": 1.0},
                "",
            ),
            ("0.7.1", {"rope_scaling": {"type": "longrope"}}, ""),
            (
                "0.7.1",
                {"rope_scaling": {"type": "linear"}, "partial_rotary_factor": 0.75},
                "",
            ),
            (
                "0.7.1",
                {"rope_scaling": {"type": "longrope"}, "partial_rotary_factor": "0.75"},
                "",
            ),
        )
    ),
    (
        "LLM943 LLM967",
        case("vllm 0.4.2 A10G", LLAMA, rope_scaling={"rope_type": "llama3"}),
    ),
    (
        "LLM943 LLM967",
        case("vllm 0.4.2 A10G", LLAMA, rope_scaling='{"rope_type": "llama3"}'),
    ),
    ("LLM967", case("vllm 0.4.2 A10G", LLAMA, rope_scaling='{"rope_type": ')),
    ("LLM967", case("vllm 0.4.2 A10G", LLAMA, rope_scaling='["llama3"]')),
    # By a dotted argument, or as a whole.
    (
        "LLM943",
        case(
            "vllm 0.6.2 A10G",
            LLAMA,
            **{"tokenizer_config.tokenizer_class": "TokenizersBackend"},
        ),
    ),
    (
        "LLM943",
        case(
            "vllm 0.10.2 A10G",
            LLAMA,
            hf_overrides={"tokenizer.tokenizer_class": "TokenizersBackend"},
        ),
    ),
]


@pytest.mark.parametrize(("codes", "example"), TOKENIZERS)
def test_reads_the_files_of_the_tokenizer(codes: str, example: Example) -> None:
    """
    By the packages that the release's images have.
    """
    assert codes_of(example) == codes


ARGUMENTS: list[Row] = [
    *(
        (codes, case(f"vllm {release} A10G", LLAMA, **{name: value}))
        for release, name, value, codes in (
            ("0.8.4", "enable_reasoning", True, "LLM963"),
            ("0.10.2", "enable_reasoning", True, "LLM967"),
            ("0.10.2", "enable-reasoning", True, "LLM967"),
            ("0.10.2", "enable_reasoning", False, ""),
            ("0.10.2", "enable_reasoning", None, ""),
            ("0.10.2", "enable_reasoning", 0, "LLM967"),
            ("0.10.2", "nobody_has_it", True, ""),
            ("0.10.2", "attention_backend", "FLASH_ATTN", ""),
        )
    ),
    *(
        (codes, case(f"vllm {release} H100", LLAMA, tokenizer_mode=mode))
        for release, mode, codes in (
            ("0.5.3.post1", "mistral", "LLM959"),
            ("0.5.3.post1", "MISTRAL", "LLM959"),
            ("0.6.2", "mistral", ""),
            ("0.7.1", "custom", "LLM959"),
            ("0.8.4", "custom", ""),
            ("0.11.1", "hf", "LLM959"),
            ("0.12.0", "hf", ""),
            ("0.12.0", "deepseek_v32", "LLM959"),
            ("0.13.0", "deepseek_v32", ""),
            ("0.19.1", "deepseek_v4", "LLM959"),
            ("0.20.0", "deepseek_v4", ""),
            ("0.20.0", "kimi_k3", "LLM959"),
            ("0.20.1", "kimi_k3", ""),
            ("0.20.0", "inkling", "LLM959"),
            ("0.20.1", "inkling", ""),
            ("0.5.3.post1", "auto", ""),
            ("0.5.3.post1", None, ""),
        )
    ),
    *(
        (codes, case(f"vllm {release} H100", name, **arguments))
        for release, name, arguments, codes in (
            (
                "0.8.4",
                "Mistral3ForConditionalGeneration",
                {"tokenizer_mode": "mistral"},
                "LLM959",
            ),
            (
                "0.8.4",
                "Mistral3ForConditionalGeneration",
                {"tokenizer_mode": "mistral", "config_format": "hf"},
                "LLM959",
            ),
            (
                "0.8.4",
                "Mistral3ForConditionalGeneration",
                {"tokenizer_mode": "mistral", "config_format": "mistral"},
                "",
            ),
            (
                "0.8.4",
                "Mistral3ForConditionalGeneration",
                {"tokenizer_mode": "auto"},
                "",
            ),
            ("0.8.4", "MistralForCausalLM", {"tokenizer_mode": "mistral"}, ""),
            (
                "0.10.2",
                "Mistral3ForConditionalGeneration",
                {"tokenizer_mode": "mistral"},
                "",
            ),
        )
    ),
    *(
        (
            codes,
            case(f"vllm {release} A10G", LLAMA, enable_lora=on, max_lora_rank=rank),
        )
        for release, rank, on, codes in (
            ("0.10.2", 24, True, "LLM957"),
            ("0.10.2", "24", True, "LLM957"),
            ("0.10.2", 24, "true", "LLM957"),
            ("0.10.2", 24, False, ""),
            ("0.10.2", 24, None, ""),
            ("0.10.2", None, True, ""),
            ("0.10.2", True, True, ""),
            ("0.10.2", "many", True, ""),
            *(
                ("0.10.2", rank, True, "")
                for rank in (1, 8, 16, 32, 64, 128, 256, 320, 512)
            ),
            ("0.3.3", 1, True, "LLM957"),
            ("0.4.2", 64, True, ""),
            *(("0.3.3", rank, True, "") for rank in (8, 16, 32, 64)),
            ("0.4.2", 128, True, "LLM957"),
            ("0.2.7", 1, True, "LLM905 LLM967 LLM967"),
            ("0.5.3.post1", 1, True, ""),
            ("0.6.2", 1, True, "LLM957"),
            *(("0.6.2", rank, True, "") for rank in (8, 16, 32, 64, 128, 256)),
            ("0.6.2", 320, True, "LLM957"),
            ("0.8.4", 512, True, "LLM957"),
        )
    ),
]


@pytest.mark.parametrize(("codes", "example"), ARGUMENTS)
def test_has_the_arguments_and_values_of_the_release(
    codes: str, example: Example
) -> None:
    """
    What is off is not asked for.
    """
    assert codes_of(example) == codes


QWEN = "Qwen/Qwen2.5-0.5B-Instruct"
OF_QWEN, OF_OTHER = {"vocab_size": 151936}, {"vocab_size": 152064}
MTP = {"method": "mtp", "model": "a/b", "num_speculative_tokens": 1}

OF_ONE = {"model": QWEN, "num_speculative_tokens": 3}
DRAFTS: list[Row] = [
    *(
        (
            codes,
            case(
                f"vllm {release} H100",
                LLAMA,
                config,
                speculative_config={"num_speculative_tokens": 3, **asked},
            ),
        )
        for release, config, asked, codes in table(
            ("0.10.2", OF_QWEN, {"model": QWEN}, "LLM953"),
            ("0.10.2", OF_QWEN, {"model": QWEN, "method": "draft_model"}, "LLM953"),
            ("0.10.2", OF_QWEN, {"model": "a/b", "method": "draft_model"}, "LLM953"),
            ("0.10.2", OF_QWEN, {"model": "a/b"}, ""),
            ("0.10.2", OF_QWEN, {"method": "draft_model"}, ""),
            ("0.10.2", OF_QWEN, {"model": QWEN, "method": "medusa"}, ""),
            ("0.10.2", OF_QWEN, {"method": "ngram"}, ""),
            ("0.14.0", OF_QWEN, {"model": QWEN}, "LLM953"),
            ("0.15.1", OF_QWEN, {"model": QWEN}, ""),
            ("0.15.1", OF_OTHER, {"model": QWEN}, "LLM951"),
            (
                "0.15.1",
                OF_OTHER,
                {"model": QWEN, "use_heterogeneous_vocab": True},
                "",
            ),
            (
                "0.15.1",
                OF_OTHER,
                {"model": QWEN, "use_heterogeneous_vocab": False},
                "LLM951",
            ),
            ("0.15.1", {}, {"model": QWEN}, ""),
            ("0.15.1", OF_OTHER, {"model": "a/b", "method": "draft_model"}, ""),
            ("0.8.4", OF_OTHER, {"model": QWEN}, "LLM951"),
            ("0.8.4", OF_QWEN, {"model": QWEN}, ""),
            # A name tells what its model is made for.
            *(
                ("0.10.2", OF_QWEN, {"model": f"a/{word}-draft"}, "")
                for word in (
                    "ngram",
                    "EAGLE",
                    "medusa",
                    "speculator",
                    "accelerator",
                    "mtp",
                )
            ),
            # An unknown family takes none of EAGLE-3 by name either.
            ("0.10.2", {"model_type": "own"}, {"model": "a/EAGLE3-draft"}, "LLM953"),
            ("0.10.2", {"model_type": "own"}, {"model": "a/EAGLE-draft"}, ""),
            # Over devices.
            (
                "0.10.2",
                {},
                {**MTP, "draft_tensor_parallel_size": 2},
                "LLM953",
            ),
            ("0.10.2", {}, {**MTP, "draft_tensor_parallel_size": 1}, ""),
            ("0.10.2", {}, MTP, ""),
        )
    ),
    *(
        (
            codes,
            case(
                f"vllm {release} H100",
                LLAMA,
                tensor_parallel_size=size,
                speculative_config={**MTP, "draft_tensor_parallel_size": of_draft},
            ),
        )
        for release, size, of_draft, codes in (
            ("0.10.2", 4, 4, ""),
            ("0.10.2", 4, 1, ""),
            ("0.10.2", 4, 2, "LLM953"),
            ("0.7.1", 4, 4, "LLM967"),
        )
    ),
    *(
        (
            codes,
            case(
                f"vllm {release} H100",
                LLAMA,
                tensor_parallel_size=4,
                speculative_draft_tensor_parallel_size=size,
            ),
        )
        for release, size, codes in (
            ("0.6.3.post1", 4, "LLM953"),
            ("0.6.3.post1", 1, ""),
            ("0.7.1", 4, ""),
            ("0.7.1", 2, "LLM953"),
        )
    ),
    # Which class drafts for which, and its stages.
    *(
        (
            codes,
            case(
                f"vllm {release} H100",
                name,
                pipeline_parallel_size=stages,
                trust_remote_code=True,
                speculative_config={"method": method, "num_speculative_tokens": 1},
            ),
        )
        for release, name, stages, method, codes in (
            ("0.23.0", "DeepseekV3ForCausalLM", 2, "mtp", "LLM953"),
            ("0.23.0", "DeepseekV3ForCausalLM", 2, "deepseek_mtp", "LLM953"),
            ("0.23.0", "DeepseekV3ForCausalLM", 1, "mtp", ""),
            ("0.23.0", "DeepseekV3ForCausalLM", None, "mtp", ""),
            ("0.23.0", "DeepseekV3ForCausalLM", 2, "ngram", ""),
            ("0.23.0", "NemotronHForCausalLM", 2, "mtp", ""),
            ("0.30.0", "DeepseekV3ForCausalLM", 2, "mtp", ""),
            ("0.23.0", "DeepseekV32ForCausalLM", 2, "mtp", "LLM953"),
            ("0.23.0", "GlmMoeDsaForCausalLM", 2, "mtp", "LLM953"),
            ("0.23.0", "DeepseekV4ForCausalLM", 2, "mtp", "LLM953"),
            ("0.23.0", "Glm4MoeForCausalLM", 2, "mtp", "LLM953"),
            ("0.23.0", "MiMoForCausalLM", 2, "mtp", "LLM953"),
            ("0.23.0", "Qwen3NextForCausalLM", 2, "mtp", "LLM953"),
            ("0.23.0", "Qwen3_5ForConditionalGeneration", 2, "mtp", "LLM953"),
            ("0.23.0", "Qwen3_5MoeForConditionalGeneration", 2, "mtp", "LLM953"),
        )
    ),
    # EAGLE-3 for some families, by their type, then by their class.
    *(
        (
            codes,
            case(
                f"vllm {release} H100",
                name,
                config,
                trust_remote_code=True,
                speculative_config={
                    "method": method,
                    "model": "a/draft",
                    "num_speculative_tokens": 3,
                },
            ),
        )
        for release, name, config, method, codes in (
            ("0.8.4", "GemmaForCausalLM", {}, "eagle3", ""),
            ("0.10.2", "GemmaForCausalLM", {}, "eagle3", "LLM953"),
            ("0.10.2", "GemmaForCausalLM", {}, "eagle", ""),
            ("0.10.2", LLAMA, {}, "eagle3", ""),
            ("0.10.2", "Qwen2ForCausalLM", {}, "eagle3", ""),
            ("0.10.2", "MiniCPMForCausalLM", {}, "eagle3", "LLM953"),
            ("0.11.1", "MiniCPMForCausalLM", {}, "eagle3", ""),
            ("0.10.2", GPT_OSS, {}, "eagle3", "LLM953"),
            ("0.11.1", GPT_OSS, {}, "eagle3", ""),
            ("0.15.1", "HunYuanDenseV1ForCausalLM", {}, "eagle3", "LLM953"),
            ("0.16.0", "HunYuanDenseV1ForCausalLM", {}, "eagle3", ""),
            ("0.15.1", "AfmoeForCausalLM", {}, "eagle3", "LLM953"),
            ("0.16.0", "AfmoeForCausalLM", {}, "eagle3", ""),
            ("0.16.0", "FooBarForCausalLM", {}, "eagle3", "LLM882"),
            (
                "0.14.0",
                "LlavaForConditionalGeneration",
                {"text_config": {"model_type": "llama"}},
                "eagle3",
                "",
            ),
            (
                "0.14.0",
                "LlavaForConditionalGeneration",
                {"text_config": {"model_type": "gemma"}},
                "eagle3",
                "LLM953",
            ),
            ("0.14.0", "LlavaForConditionalGeneration", {}, "eagle3", ""),
            ("0.14.0", "Gemma3ForConditionalGeneration", {}, "eagle3", "LLM953"),
            ("0.14.0", "Mistral3ForConditionalGeneration", {}, "eagle3", "LLM953"),
        )
    ),
]


@pytest.mark.parametrize(("codes", "example"), DRAFTS)
def test_drafts_with_what_the_release_can(codes: str, example: Example) -> None:
    """
    By its method, its vocabulary, its devices and its stages.
    """
    assert codes_of(example) == codes


VOCABULARY: list[Row] = [
    (
        codes,
        case(
            f"vllm {release} H100",
            name,
            environment=environment,
            is_isolated=is_isolated,
        ),
    )
    for release, name, environment, is_isolated, codes in (
        ("0.10.2", GPT_OSS, None, True, "LLM955"),
        ("0.30.0", GPT_OSS, None, True, "LLM955"),
        ("0.10.2", GPT_OSS, None, False, ""),
        ("0.10.2", LLAMA, None, True, ""),
        ("0.10.2", GPT_OSS, {"TIKTOKEN_ENCODINGS_BASE": "/opt"}, True, ""),
        ("0.10.2", GPT_OSS, {"TIKTOKEN_RS_CACHE_DIR": "/opt"}, True, ""),
        ("0.10.2", GPT_OSS, {"TIKTOKEN_RS_CACHE_DIR": ""}, True, "LLM955"),
        ("0.10.2", GPT_OSS, {"OTHER": "/opt"}, True, "LLM955"),
    )
]


@pytest.mark.parametrize(("codes", "example"), VOCABULARY)
def test_has_the_vocabulary_at_hand_where_it_is_isolated(
    codes: str, example: Example
) -> None:
    """
    In the folder of either variable.
    """
    assert codes_of(example) == codes


@pytest.mark.parametrize(
    ("example", "told"),
    [
        (
            case("vllm 0.10.2 A10G", LLAMA, OWN),
            (
                "LLM941 the configuration of a/b is read by code in its repository, "
                "which vLLM 0.10.2 does not run by itself; read that code, and write "
                "trust_remote_code=true"
            ),
        ),
        (
            case("vllm 0.10.2 H100", LLAMA, OF_QWEN, speculative_config=OF_ONE),
            (
                "LLM953 vLLM 0.10.2 does not draft with a model such as "
                "Qwen/Qwen2.5-0.5B-Instruct; use ngram, or EAGLE or multi-token "
                "prediction made for the model"
            ),
        ),
        (
            case("vllm 0.15.1 H100", LLAMA, OF_OTHER, speculative_config=OF_ONE),
            (
                "LLM951 the draft model Qwen/Qwen2.5-0.5B-Instruct has a vocabulary of "
                "151936, and a/b one of 152064: vLLM 0.15.1 needs them to be the same; "
                "take a draft model of the same vocabulary"
            ),
        ),
        (
            case(
                "vllm 0.11.1 H100",
                LLAMA,
                tensor_parallel_size=4,
                speculative_config={**MTP, "draft_tensor_parallel_size": 2},
            ),
            (
                "LLM953 draft_tensor_parallel_size must be 1 or 4 at vLLM 0.11.1, "
                "got 2; leave it out"
            ),
        ),
        (
            case(
                "vllm 0.6.3.post1 H100",
                LLAMA,
                tensor_parallel_size=4,
                speculative_draft_tensor_parallel_size=4,
            ),
            (
                "LLM953 speculative_draft_tensor_parallel_size must be 1 at vLLM "
                "0.6.3.post1, got 4; leave it out"
            ),
        ),
        (
            case("vllm 0.4.2 A10G", LLAMA, enable_lora=True, max_lora_rank=128),
            "LLM957 max_lora_rank must be 8, 16, 32 or 64, got 128",
        ),
        (
            case("vllm 0.7.1 A10G", LLAMA, tokenizer_mode="custom"),
            (
                "LLM959 tokenizer_mode must be one that vLLM 0.7.1 has, got custom; "
                "take an image with vLLM after 0.7.3"
            ),
        ),
        (
            case("vllm 0.10.2 A10G", LLAMA, enable_reasoning=True),
            (
                "LLM967 vLLM 0.10.2 does not have the argument enable_reasoning, which "
                "other releases have: it was last known in 0.9.2; leave it out: the "
                "reasoning parser alone switches it on"
            ),
        ),
    ],
)
def test_tells_what_is_wrong_and_the_way_out(example: Example, told: str) -> None:
    """
    In the caller's words.
    """
    assert [str(found) for found in example()] == [told]


PREDICTED = {"method": "mtp", "num_speculative_tokens": 1}


@pytest.mark.parametrize(
    ("release", "name", "asked", "is_refused"),
    [
        ("0.7.1", "Qwen3ForCausalLM", PREDICTED, False),
        ("0.8.4", "LlamaForCausalLM", PREDICTED, True),
        ("0.20.0", "Qwen3ForCausalLM", PREDICTED, True),
        ("0.20.0", "Qwen3ForCausalLM", {**PREDICTED, "method": "deepseek_mtp"}, True),
        ("0.20.0", "Qwen3ForCausalLM", {**PREDICTED, "model": "a/b"}, False),
        ("0.20.0", "Qwen3ForCausalLM", {**PREDICTED, "method": "ngram"}, False),
        ("0.20.0", "Qwen3NextForCausalLM", PREDICTED, False),
    ],
)
def test_predicts_several_tokens_with_a_model_that_does(
    release: str, name: str, asked: dict[str, object], *, is_refused: bool
) -> None:
    """
    And not with one that was made for one token at a time.
    """
    told = [
        str(one)
        for one in case(f"vllm {release} H100", name, speculative_config=asked)()
        if "one token at a time" in str(one)
    ]

    assert bool(told) == is_refused
    assert all(one.startswith("LLM953 ") for one in told)
