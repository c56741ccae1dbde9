"""
LMI's other engines, Neuron and llama.cpp: each condition from both sides.
"""

from __future__ import annotations

from typing import Any

import pytest

from cdk_sagemaker_llm.serving.support.check import is_judged
from tests.unit.serving.support.cases import Row, case, codes_of
from tests.unit.support_rule_examples import Example

LLAMA, GEMMA_3 = "LlamaForCausalLM", "Gemma3ForConditionalGeneration"
OF_4096 = {"max_position_embeddings": 4096}
LLAMA_3 = {"rope_scaling": {"rope_type": "llama3"}}

LMI_DIST: list[Row] = [
    (codes, case(f"lmi-dist {where}", name, config, **arguments))
    for where, name, config, arguments, codes in (
        ("12.0.0 A10G", LLAMA, {}, {}, ""),
        ("12.0.0 A10G", "", {}, {}, ""),
        ("12.0.0 A10G", GEMMA_3, {}, {}, "LLM901"),
        ("8.0.0 A10G", GEMMA_3, {}, {}, ""),
        ("0.9.4 A10G", GEMMA_3, {}, {}, ""),
        ("9.0.0 A10G", "T5ForConditionalGeneration", {}, {}, ""),
        ("9.0.0 A10G", "DbrxForCausalLM", {}, {}, ""),
        ("12.0.0 A10G", "FooBarForCausalLM", {}, {}, "LLM901"),
        # Each is made of a vLLM of its own.
        ("9.0.0 A10G", "CommandRForCausalLM", {}, {}, "LLM901"),
        ("9.0.0 A10G", "CohereForCausalLM", {}, {}, "LLM901"),
        ("10.0.0 A10G", "CohereForCausalLM", {}, {}, ""),
        ("10.0.0 A10G", "Gemma2ForCausalLM", {}, {}, "LLM901"),
        ("11.0.0 A10G", "Gemma2ForCausalLM", {}, {}, ""),
        ("11.0.0 A10G", "MllamaForConditionalGeneration", {}, {}, "LLM901"),
        # What it shares with that.
        ("12.0.0 A10G", LLAMA, OF_4096, {"max_model_len": 4097}, "LLM931"),
        ("12.0.0 A10G", LLAMA, OF_4096, {"max_model_len": 4096}, ""),
        ("12.0.0 T4", LLAMA, {}, {"dtype": "bfloat16"}, "LLM911"),
        ("10.0.0 A10G", LLAMA, LLAMA_3, {}, "LLM943"),
        ("11.0.0 A10G", LLAMA, LLAMA_3, {}, ""),
        (
            "12.0.0 A10G",
            LLAMA,
            {"model_type": "own", "auto_map": {"AutoConfig": "a.B"}},
            {},
            "LLM941",
        ),
    )
]

OMNI: list[Row] = [
    (codes, case(f"vllm-omni 0.20.0 {gpu}", name, OF_4096, **arguments))
    for gpu, name, arguments, codes in (
        ("A10G", LLAMA, {"max_model_len": 4097}, "LLM931"),
        ("A10G", LLAMA, {"max_model_len": 4096}, ""),
        ("A10G", "FooBarForCausalLM", {"max_model_len": 4097}, ""),
        ("A10G", "", {"max_model_len": 4097}, ""),
        ("T4", LLAMA, {"dtype": "bfloat16"}, "LLM911"),
    )
]

TENSORRT: list[Row] = [
    (codes, case(f"tensorrt-llm {release} A10G", name, config, **arguments))
    for release, name, config, arguments, codes in (
        ("0.12.0", LLAMA, {}, {}, ""),
        ("0.12.0", "", {}, {}, ""),
        ("0.12.0", "BloomForCausalLM", {}, {}, "LLM864"),
        ("0.12.0", "FooBarForCausalLM", {}, {}, "LLM901"),
        ("0.12.0", "FooBarLMHeadModel", {}, {}, "LLM901"),
        ("0.12.0", "FooBarModel", {}, {}, "LLM864"),
        ("0.12.0", "GemmaForCausalLM", {}, {}, ""),
        ("0.9.0", LLAMA, LLAMA_3, {}, "LLM943"),
        ("0.11.0", LLAMA, LLAMA_3, {}, ""),
        ("0.9.0", LLAMA, {"rope_scaling": {"rope_type": "linear"}}, {}, ""),
        ("0.9.0", LLAMA, {"rope_scaling": "llama3"}, {}, ""),
    )
]

GEMMA_KIND = {"model_type": "gemma3"}
CODE = {"auto_map": {"AutoConfig": "a.B"}}
DEEPSPEED: list[Row] = [
    (codes, case("deepspeed 0.12.6 A10G", "", config, **arguments))
    for config, arguments, codes in (
        ({"model_type": "llama"}, {}, ""),
        ({}, {}, ""),
        (GEMMA_KIND, {}, "LLM903"),
        (GEMMA_KIND, {"trust_remote_code": False}, "LLM903"),
        (GEMMA_KIND, {"trust_remote_code": True}, "LLM864"),
        ({**GEMMA_KIND, **CODE}, {}, "LLM864"),
        ({"model_type": "mistral"}, {}, "LLM864"),
        ({"model_type": "t5"}, {}, "LLM864"),
    )
]

NEURON: list[Row] = [
    (codes, case(f"{where} Neuron", "", {"model_type": kind} if kind else {}))
    for where, kind, codes in (
        ("tgi-neuron 0.3.0", "llama", ""),
        ("tgi-neuron 0.3.0", "", ""),
        ("tgi-neuron 0.0.16", "mistral", "LLM991"),
        ("tgi-neuron 0.0.17", "mistral", ""),
        ("tgi-neuron 0.0.28", "mistral", ""),
        ("tgi-neuron 0.2.0", "mistral", "LLM991"),
        ("tgi-neuron 0.3.0", "bert", "LLM991"),
        ("tgi-neuron 0.3.0", "llama4", "LLM991"),
        ("vllm-neuron 0.10.2", "llama4", ""),
        ("vllm-neuron 0.11.0", "llama4", ""),
        ("vllm-neuron 0.10.2", "qwen3_moe", ""),
        ("vllm-neuron 0.10.2", "mistral", "LLM991"),
        ("vllm-neuron 0.11.0", "mistral", "LLM991"),
    )
]

LLAMA_CPP: list[Row] = [
    (codes, case("llama.cpp b9522 A10G", name, gguf_architecture=named))
    for name, named, codes in (
        ("", "llama", ""),
        ("", "LLAMA", ""),
        ("", "foobar", "LLM989"),
        ("", "kimi-k3", "LLM862"),
        (LLAMA, None, ""),
        ("FooBarForCausalLM", None, "LLM860"),
        ("DeepseekV4ForCausalLM", None, "LLM862"),
        # What the file names counts before the class.
        ("FooBarForCausalLM", "llama", ""),
        (LLAMA, "foobar", "LLM989"),
        (LLAMA, "", ""),
        ("", None, ""),
    )
]


@pytest.mark.parametrize(
    ("codes", "example"),
    [*LMI_DIST, *OMNI, *TENSORRT, *DEEPSPEED, *NEURON, *LLAMA_CPP],
)
def test_loads_what_the_engine_is_made_for(codes: str, example: Example) -> None:
    """
    By its own lists, or those of the vLLM that it is made of.
    """
    assert codes_of(example) == codes


@pytest.mark.parametrize(
    ("example", "told"),
    [
        (
            case("lmi-dist 12.0.0 A10G", GEMMA_3),
            (
                "LLM901 LMI-Dist 12.0.0 is made of vLLM 0.6.2 and does not load "
                "Gemma3ForConditionalGeneration, which came with vLLM 0.8.0; take a "
                "newer LMI version, which serves with vLLM"
            ),
        ),
        (
            case("lmi-dist 13.0.0 A10G", "FooBarForCausalLM"),
            (
                "LLM901 LMI-Dist 13.0.0 is made of vLLM 0.6.3.post1 and does not load "
                "FooBarForCausalLM; take a newer LMI version, which serves with vLLM"
            ),
        ),
        (
            case("lmi-dist 14.0.0 A10G", "FooBarForCausalLM"),
            (
                "LLM901 LMI-Dist 14.0.0 is made of vLLM 0.6.3.post1 and does not load "
                "FooBarForCausalLM; take a newer LMI version, which serves with vLLM"
            ),
        ),
        (
            case("tgi-neuron 0.2.0 Neuron", "", {"model_type": "mistral"}),
            (
                "LLM991 TGI on Neuron 0.2.0 does not compile models of type mistral: "
                "optimum-neuron 0.2.0 does not have it; serve it with "
                'TgiNeuron("0.0.28")'
            ),
        ),
        (
            case("tgi-neuron 0.3.0 Neuron", "", {"model_type": "bert"}),
            (
                "LLM991 TGI on Neuron 0.3.0 does not compile models of type bert: "
                "optimum-neuron 0.3.0 does not have it; serve it on GPUs; it knows "
                "granite, llama, mixtral, phi3, qwen2 or qwen3"
            ),
        ),
        (
            case("tgi-neuron 0.3.0 Neuron", "", {"model_type": "llama4"}),
            (
                "LLM991 TGI on Neuron 0.3.0 does not compile models of type "
                "llama4_text: optimum-neuron 0.3.0 does not have it; take an image "
                "with optimum-neuron 0.4.1 or newer"
            ),
        ),
        (
            case("llama.cpp b9522 A10G", "DeepseekV4ForCausalLM"),
            (
                "LLM862 newer builds of llama.cpp brought DeepseekV4ForCausalLM: "
                "llama.cpp b9522 may not have it; take the newest version of the image"
            ),
        ),
        (
            case("llama.cpp b9522 A10G", "", gguf_architecture="kimi-k3"),
            (
                "LLM862 newer builds of llama.cpp brought the architecture kimi-k3: "
                "llama.cpp b9522 may not have it; take the newest version of the image"
            ),
        ),
    ],
)
def test_tells_what_is_wrong_and_the_way_out(example: Example, told: str) -> None:
    """
    Which vLLM, optimum-neuron or build it is.
    """
    assert [str(found) for found in example()] == [told]


@pytest.mark.parametrize(
    ("engine", "release", "name", "is_known"),
    [
        ("vllm", "0.10.2", LLAMA, True),
        ("vllm", "0.10.2", "FooBarForCausalLM", True),
        ("vllm", "0.10.2", None, False),
        ("nobody", "0.10.2", LLAMA, False),
        ("sglang", "0.5.14", LLAMA, True),
        ("tgi", "2.4.0", LLAMA, True),
        ("tgi", "2.4.0", "FooBarForCausalLM", True),
        ("vllm-omni", "0.20.0", LLAMA, True),
        ("vllm-omni", "0.20.0", "FooBarForCausalLM", False),
        ("lmi-dist", "12.0.0", LLAMA, True),
        ("lmi-dist", "8.0.0", LLAMA, False),
    ],
)
def test_knows_of_what_it_can_judge(
    engine: str, release: str, name: str | None, *, is_known: bool
) -> None:
    """
    A class, and what the release does with it.
    """
    config = {"architectures": [name]} if name else None

    assert is_judged("a/b", engine=engine, release=release, config=config) is is_known


@pytest.mark.parametrize(
    ("release", "told"),
    [
        (
            "0.6.5",
            (
                "LLM880 no catalogued image has vLLM 0.6.5: only what the releases "
                "around it have in common is known; the nearest is 0.6.3.post1"
            ),
        ),
        (
            "0.1.0",
            (
                "LLM880 no catalogued image has vLLM 0.1.0: whether it loads the model "
                "is not known; the nearest is 0.2.1.post1"
            ),
        ),
        (
            "99.0.0",
            (
                "LLM880 no catalogued image has vLLM 99.0.0: whether it loads the "
                "model is not known; the nearest is 0.30.0"
            ),
        ),
    ],
)
def test_names_the_nearest_release_that_is_known(release: str, told: str) -> None:
    """
    The newest that is not newer, or the oldest of all.
    """
    [found] = case(f"vllm {release} A10G", LLAMA)()

    assert str(found) == told


R1 = "bartowski/DeepSeek-R1-Distill-Qwen-7B-GGUF"


@pytest.mark.parametrize(
    ("build", "name", "arguments", "codes"),
    [
        ("b4591", "", {"gguf_architecture": "qwen3"}, "LLM880 LLM926"),
        ("b4000", "", {"gguf_architecture": "qwen3"}, "LLM880 LLM926"),
        ("b4592", "", {"gguf_architecture": "qwen3"}, "LLM880"),
        ("b4591", "", {"gguf_architecture": "llama"}, "LLM880"),
        ("b6000", "", {"gguf_architecture": "hunyuan-dense"}, "LLM880 LLM926"),
        ("b6001", "", {"gguf_architecture": "hunyuan-dense"}, "LLM880"),
        ("b3258", "", {"gguf_architecture": "gemma2"}, "LLM880 LLM926"),
        ("b3259", "", {"gguf_architecture": "gemma2"}, "LLM880"),
        ("b4513", R1, {}, "LLM880 LLM926"),
        ("b4514", R1, {}, "LLM880"),
        ("b4513", R1, {"tokenizer_config.pre": "qwen2"}, "LLM880"),
        ("b3400", "", {"tokenizer_config.pre": "gpt-4o"}, "LLM880 LLM926"),
        ("b3401", "", {"tokenizer_config.pre": "gpt-4o"}, "LLM880"),
        ("b3411", "bartowski/Llama-3.2-3B-Instruct-GGUF", {}, "LLM880 LLM926"),
        ("b3412", "bartowski/Llama-3.2-3B-Instruct-GGUF", {}, "LLM880"),
        ("b3411", "bartowski/Meta-Llama-3-8B-Instruct-GGUF", {}, "LLM880"),
        ("b9522", R1, {}, ""),
    ],
)
def test_knows_what_builds_of_llama_cpp_were_seen_to_lack(
    build: str, name: str, arguments: dict[str, Any], codes: str
) -> None:
    """
    And those before them.
    """
    assert codes_of(case(f"llama.cpp {build} A10G", name, **arguments)) == codes
