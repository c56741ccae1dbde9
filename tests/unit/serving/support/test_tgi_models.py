"""
What TGI loads: each condition from both sides.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.serving.support.cases import OF_ARGUMENTS, Row, case, codes_of
from tests.unit.support_rule_examples import Example


def _of(kind: str, **more: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    return {"model_type": kind, **more}


def _quantized(method: str) -> dict[str, Any]:
    return {"quantization_config": {"quant_method": method}}


def _at(
    where: str,
    config: dict[str, Any],
    environment: dict[str, str] | None = None,
    **arguments: Any,  # noqa: ANN401 - the engine's own
) -> Example:
    return case(f"tgi {where}", "", config, environment=environment, **arguments)


CODE = {"auto_map": {"AutoModelForCausalLM": "a.B"}}
OWN_KIND = _of("own")
STABLE = _of("stablelm", architectures=["StableLmForCausalLM"])

GEMMA = _of("gemma", num_attention_heads=8, num_key_value_heads=1)

KINDS: list[Row] = [
    ("", _at("2.4.0 A10G", {})),
    ("", _at("2.4.0 A10G", _of("llama"))),
    ("LLM975", _at("2.4.0 A10G", OWN_KIND)),
    ("LLM854", _at("2.4.0 A10G", OWN_KIND, trust_remote_code=True)),
    ("LLM854", _at("2.4.0 A10G", OWN_KIND, trust_remote_code="true")),
    ("LLM975", _at("2.4.0 A10G", OWN_KIND, trust_remote_code=False)),
    ("LLM854", _at("2.4.0 A10G", {**OWN_KIND, **CODE}, trust_remote_code=True)),
    ("LLM975", _at("2.4.0 A10G", {**OWN_KIND, **CODE})),
    (
        "LLM975",
        _at(
            "2.4.0 A10G",
            {**OWN_KIND, "auto_map": {"AutoConfig": "a.B"}},
            trust_remote_code=True,
        ),
    ),
    (
        "LLM975",
        _at("2.4.0 A10G", {**OWN_KIND, "hidden_size": 64}, trust_remote_code=True),
    ),
    (
        "LLM854",
        _at(
            "2.4.0 A10G",
            {**OWN_KIND, **CODE, "hidden_size": 64},
            trust_remote_code=True,
        ),
    ),
    ("LLM854", _at("0.9.3 A10G", _of("falcon"))),
    ("LLM975", _at("0.9.3 A10G", _of("falcon"), trust_remote_code=False)),
    ("", _at("1.0.3 A10G", _of("falcon"))),
    # What transformers runs instead.
    ("LLM852", _at("2.4.0 A10G", STABLE)),
    ("LLM852", _at("2.4.0 A10G", STABLE, num_shard=1)),
    ("LLM977", _at("2.4.0 A10G", STABLE, num_shard=2)),
    ("LLM977", _at("2.4.0 A10G", STABLE, num_shard="2")),
    ("LLM852", _at("2.4.0 A10G", STABLE, num_shard=2, sharded="false")),
    ("LLM852", _at("2.4.0 A10G", STABLE, num_shard=2, sharded=False)),
    ("LLM977", _at("2.4.0 A10G", STABLE, num_shard=2, sharded="true")),
    ("LLM977", _at("2.4.0 A10G", STABLE, {"NUM_SHARD": "2"})),
    ("LLM977", _at("2.4.0 A10G", STABLE, {"SM_NUM_GPUS": "2"})),
    ("LLM977", _at("2.4.0 A10G", STABLE, {"NUM_SHARD": "2", "SM_NUM_GPUS": "1"})),
    ("LLM852", _at("2.4.0 A10G", STABLE, {"NUM_SHARD": "1", "SM_NUM_GPUS": "2"})),
    ("LLM977", _at("2.4.0 A10G", STABLE, {"NUM_SHARD": "x", "SM_NUM_GPUS": "2"})),
    ("LLM852", _at("2.4.0 A10G", STABLE, {"NUM_SHARD": "2"}, num_shard=1)),
    ("LLM977", _at("3.0.1 A10G", STABLE, num_shard=2)),
    ("LLM977", _at("3.3.4 A10G", STABLE, num_shard=2)),
    (
        "LLM852",
        _at(
            "3.3.4 A10G",
            _of("qwen3", architectures=["Qwen3ForCausalLM"]),
            num_shard=2,
        ),
    ),
    *(
        ("LLM981", _at("2.4.0 A10G", STABLE, quantize=method))
        for method in ("gptq", "awq", "eetq", "exl2")
    ),
    *(
        ("LLM981", _at("2.4.0 A10G", STABLE, quantize=method))
        for method in ("bitsandbytes-fp4", "bitsandbytes-nf4")
    ),
    ("LLM852", _at("2.4.0 A10G", STABLE, quantize="bitsandbytes")),
    ("LLM852", _at("2.4.0 A10G", STABLE, quantize="fp8")),
    ("LLM852", _at("2.4.0 A10G", STABLE, quantize="marlin")),
    ("LLM981", _at("2.4.0 A10G", {**STABLE, **_quantized("gptq")})),
    ("LLM981", _at("2.4.0 A10G", STABLE, quantize="gptq", num_shard=2)),
    (
        "LLM852",
        _at("2.4.0 A10G", {**STABLE, **_quantized("gptq")}, quantize="bitsandbytes"),
    ),
]

OFF = {"USE_FLASH_ATTENTION": "false"}
ATTENTION: list[Row] = [
    ("LLM923", _at("3.3.4 B200", _of("llama"))),
    ("LLM923", _at("3.3.4 RTX", {})),
    ("", _at("3.3.4 H100", _of("llama"))),
    ("", _at("3.3.4 CPU", _of("llama"))),
    ("", _at("3.3.4 T4", {})),
    ("", _at("3.3.4 A10G", _of("llama"))),
    ("LLM856", _at("3.3.4 A10G", _of("llama"), OFF)),
    ("LLM856", _at("3.3.4 A10G", _of("llama"), {"USE_FLASH_ATTENTION": "False"})),
    ("", _at("3.3.4 A10G", _of("llama"), {"USE_FLASH_ATTENTION": "true"})),
    ("LLM923", _at("3.3.4 B200", _of("llama"), OFF)),
    # The first Mistral needs flash attention.
    ("LLM979", _at("1.1.0 T4", _of("mistral"))),
    ("LLM979", _at("1.3.3 T4", _of("mistral"))),
    ("LLM979", _at("1.3.3 V100", _of("mixtral"))),
    ("LLM979", _at("1.3.3 A10G", _of("mistral"), OFF)),
    ("", _at("1.3.3 A10G", _of("mistral"))),
    ("", _at("1.4.0 T4", _of("mistral"))),
    # T4 has the first kind of it.
    ("", _at("0.9.3 T4", _of("llama"))),
    ("", _at("2.0.3 T4", _of("llama"))),
    ("", _at("0.8.2 T4", _of("llama"))),
    ("LLM856", _at("2.0.3 T4", _of("llama"), OFF)),
    ("LLM856", _at("2.0.3 V100", _of("llama"))),
    ("LLM979", _at("2.2.0 T4", _of("llama"))),
    ("LLM856", _at("2.2.0 V100", _of("llama"))),
    ("LLM856", _at("2.2.0 T4", _of("llama"), OFF)),
    ("LLM856", _at("2.3.1 T4", _of("llama"))),
    ("LLM856", _at("1.0.3 V100", _of("llama"))),
    ("", _at("0.9.3 V100", _of("llama"))),
    # What never runs without, and what does not over several GPUs.
    ("LLM979", _at("1.4.0 V100", _of("idefics"))),
    ("LLM979", _at("3.3.4 T4", _of("mllama"))),
    ("LLM979", _at("3.3.4 V100", _of("mllama"), num_shard=2)),
    ("LLM979", _at("1.4.0 V100", _of("llama"), num_shard=2)),
    ("LLM856", _at("1.4.0 V100", _of("llama"), num_shard=1)),
    ("LLM856", _at("1.4.0 V100", _of("gpt_neox"), num_shard=2)),
]

WINDOWED = {"sliding_window": 4096}
WINDOWS: list[Row] = [
    ("LLM975", _at("1.1.0 A10G", _of("mistral", sliding_window=None))),
    ("LLM975", _at("1.3.1 A10G", _of("mistral", sliding_window=None))),
    ("", _at("1.3.3 A10G", _of("mistral", sliding_window=None))),
    # Mixtral's files had one at first: whether yours have is yours to say.
    ("LLM975", _at("1.3.1 A10G", _of("mixtral", sliding_window=None))),
    ("", _at("1.3.1 A10G", _of("mixtral", sliding_window=4096))),
    ("", _at("1.3.1 A10G", _of("mixtral"))),
    ("", _at("1.3.3 A10G", _of("mixtral", sliding_window=None))),
    # One program was handed more than it takes.
    ("", _at("1.4.2 A10G", _of("opt"))),
    ("LLM880 LLM920", _at("1.4.3 A10G", _of("opt"))),
    ("LLM920", _at("1.4.5 A10G", _of("opt"))),
    ("LLM920", _at("2.0.3 A10G", _of("opt"))),
    ("", _at("2.2.0 A10G", _of("opt"))),
    ("", _at("1.2.0 A10G", _of("mistral", sliding_window=4096))),
    ("", _at("1.2.0 A10G", _of("mistral"))),
    ("", _at("1.2.0 A10G", _of("llama", sliding_window=None))),
    *(
        ("LLM981", _at("1.4.2 T4", _of(kind, **WINDOWED), quantize="awq"))
        for kind in ("mistral", "mixtral")
    ),
    ("LLM981", _at("2.0.3 T4", _of("starcoder2", **WINDOWED), quantize="awq")),
    ("LLM981", _at("2.0.3 T4", _of("qwen2", **WINDOWED), quantize="awq")),
    *(
        ("LLM981", _at("1.4.2 T4", _of("mistral", **WINDOWED), quantize=method))
        for method in ("gptq", "eetq")
    ),
    ("LLM981", _at("1.4.2 T4", {**_of("mistral", **WINDOWED), **_quantized("gptq")})),
    ("", _at("1.4.2 T4", _of("mistral", **WINDOWED), quantize="bitsandbytes")),
    # Left out, it is that of transformers.
    ("LLM981", _at("1.4.2 T4", _of("mistral"), quantize="awq")),
    ("", _at("1.4.2 T4", _of("mistral", sliding_window=None), quantize="awq")),
    ("", _at("1.4.2 T4", _of("llama", **WINDOWED), quantize="awq")),
    ("", _at("1.4.2 A10G", _of("mistral", **WINDOWED), quantize="awq")),
    ("LLM856", _at("1.4.2 V100", _of("mistral", **WINDOWED), quantize="awq")),
    ("LLM979", _at("1.4.2 T4", _of("mistral", **WINDOWED), num_shard=2)),
    ("", _at("1.4.2 T4", _of("mistral", **WINDOWED))),
    ("LLM979", _at("1.4.2 T4", _of("mistral"), num_shard=2)),
    ("LLM979", _at("2.2.0 T4", _of("mistral", **WINDOWED), quantize="awq")),
]

HEADS = {"num_attention_heads": 64, "num_key_value_heads": 8}
SHARED: list[Row] = [
    ("LLM975", _at("0.8.2 A10G", _of("llama", **HEADS))),
    ("", _at("0.9.3 A10G", _of("llama", **HEADS))),
    ("", _at("0.8.2 A10G", _of("llama", **{**HEADS, "num_key_value_heads": 64}))),
    ("", _at("0.8.2 A10G", _of("llama", num_attention_heads=64))),
    ("", _at("0.8.2 A10G", _of("gpt_neox", **HEADS))),
    # Over shards.
    ("LLM945", _at("2.4.0 A10G", _of("llama", num_attention_heads=28), num_shard=8)),
    ("", _at("2.4.0 A10G", _of("llama", num_attention_heads=28), num_shard=4)),
    ("LLM945", _at("2.4.0 A10G", _of("llama", n_head=27), num_shard=2)),
    # One key and value head is not copied.
    ("LLM945", _at("1.4.5 A10G", GEMMA, num_shard=2)),
    ("LLM945", _at("3.3.4 A10G", GEMMA, num_shard=2)),
    ("", _at("1.4.5 A10G", GEMMA, num_shard=1)),
    ("", _at("1.4.5 A10G", {**GEMMA, "num_key_value_heads": 2}, num_shard=2)),
    ("LLM945", _at("1.4.5 A10G", {**GEMMA, "num_key_value_heads": 2}, num_shard=4)),
    ("LLM945", _at("2.4.0 A10G", _of("llama", n_heads=27), num_shard=2)),
    ("", _at("2.4.0 A10G", _of("llama", num_attention_heads=27))),
    ("", _at("2.4.0 A10G", _of("llama"), num_shard=2)),
    ("", _at("2.4.0 A10G", _of("ssm", num_attention_heads=27), num_shard=2)),
    (
        "LLM945",
        _at("2.4.0 A10G", _of("llama", num_attention_heads=27), {"NUM_SHARD": "2"}),
    ),
]

CHOICES: list[Row] = [
    ("LLM915", _at("2.4.0 A10G", _of("llama"), quantize="foo")),
    ("", _at("2.4.0 A10G", _of("llama"), quantize="bitsandbytes")),
    ("", _at("2.4.0 A10G", _of("llama"), quantize="BITSANDBYTES")),
    ("", _at("2.4.0 A10G", _of("llama"), quantize=None)),
    ("", _at("2.4.0 A10G", _of("llama"), quantize="")),
    ("LLM915", _at("2.4.0 A10G", _of("llama"), dtype="float32")),
    ("", _at("2.4.0 A10G", _of("llama"), dtype="bfloat16")),
    ("LLM915", _at("2.4.0 A10G", _of("llama"), kv_cache_dtype="fp4")),
    ("LLM915", _at("2.4.0 A10G", _of("llama"), rope_scaling="yarn")),
    ("", _at("2.4.0 A10G", _of("llama"), rope_scaling="linear")),
]

WEIGHTS: list[Row] = [
    *(
        (
            codes,
            _at("2.4.0 A10G", _of("llama", hidden_size=64), quantize=asked),
        )
        for asked, codes in (
            ("awq", "LLM927"),
            ("gptq", "LLM927"),
            ("exl2", "LLM927"),
            ("marlin", "LLM927"),
            ("eetq", ""),
            ("fp8", ""),
        )
    ),
    ("", _at("2.4.0 A10G", _of("llama"), quantize="awq")),
    *(
        (codes, _at(f"{release} A10G", _of(kind, **_quantized("awq")), quantize="awq"))
        for release, kind, codes in (
            ("1.1.0", "falcon", "LLM915"),
            ("2.0.3", "RefinedWeb", "LLM915"),
            ("2.0.3", "gpt_neox", "LLM915"),
            ("2.0.3", "mpt", "LLM915"),
            ("2.0.3", "opt", "LLM920 LLM915"),
            ("2.0.3", "bloom", "LLM915"),
            ("2.0.3", "llama", ""),
            ("2.2.0", "falcon", ""),
        )
    ),
    ("", _at("2.0.3 A10G", _of("falcon", **_quantized("gptq")), quantize="gptq")),
    ("", _at("2.4.0 A10G", {**_of("llama"), **_quantized("awq")}, quantize="awq")),
    *(
        (codes, _at("2.4.0 A10G", {**_of("llama"), **_quantized(own)}, quantize=asked))
        for own, asked, codes in (
            ("fp8", "awq", "LLM925"),
            ("compressed-tensors", "awq", "LLM925"),
            ("bitsandbytes", "gptq", "LLM925"),
            ("mxfp4", "gptq", "LLM925"),
            ("gptq", "awq", ""),
            ("awq", "gptq", ""),
            ("fp8", "fp8", ""),
            ("fp8", "eetq", ""),
        )
    ),
    ("LLM977", _at("2.4.0 A10G", _of("llama"), quantize="exl2", num_shard=2)),
    ("LLM977", _at("2.2.0 A10G", _of("llama"), quantize="exl2", num_shard=2)),
    ("", _at("2.4.0 A10G", _of("llama"), quantize="exl2", num_shard=1)),
    ("", _at("2.4.0 A10G", _of("llama"), quantize="gptq", num_shard=2)),
    ("LLM977", _at("2.4.0 A10G", {**_of("llama"), **_quantized("exl2")}, num_shard=2)),
    ("LLM856 LLM919", _at("2.4.0 T4", _of("llama"), quantize="marlin")),
    ("LLM856 LLM919", _at("2.4.0 T4", {**_of("llama"), **_quantized("marlin")})),
    ("LLM856", _at("2.4.0 T4", _of("llama"), quantize="gptq")),
    ("", _at("2.4.0 A100", _of("llama"), quantize="marlin")),
    ("", _at("2.4.0 CPU", _of("llama"), quantize="marlin")),
]

ROPE: list[Row] = [
    ("LLM943", _at("2.0.3 A10G", _of("llama", rope_scaling={"rope_type": "llama3"}))),
    ("", _at("2.2.0 A10G", _of("llama", rope_scaling={"rope_type": "llama3"}))),
    ("", _at("2.0.3 A10G", _of("llama", rope_scaling={"rope_type": "linear"}))),
    ("", _at("2.0.3 A10G", _of("llama", rope_scaling="llama3"))),
    ("LLM943", _at("2.2.0 A10G", _of("llama", **{"tokenizer.merges": "lists"}))),
    ("", _at("2.3.1 A10G", _of("llama", **{"tokenizer.merges": "lists"}))),
    ("", _at("2.2.0 A10G", _of("llama", **{"tokenizer.merges": "strings"}))),
    (
        "LLM943",
        _at(
            "3.3.6 A10G",
            _of("llama", **{"tokenizer.tokenizer_class": "TokenizersBackend"}),
        ),
    ),
    (
        "",
        _at(
            "3.3.6 A10G",
            _of("llama", **{"tokenizer.tokenizer_class": "LlamaTokenizer"}),
        ),
    ),
]


@pytest.mark.parametrize(
    ("codes", "example"),
    [*KINDS, *ATTENTION, *WINDOWS, *SHARED, *CHOICES, *WEIGHTS, *ROPE],
)
def test_runs_what_the_release_has(codes: str, example: Example) -> None:
    """
    Types, attention, windows, heads, choices, weights, and positions.
    """
    assert codes_of(example) == codes


@pytest.mark.parametrize(
    ("example", "told"),
    [
        (
            _at("2.4.0 A10G", OWN_KIND),
            (
                "LLM975 TGI 2.4.0 does not load models of type own; serve it with Vllm "
                "or LmiVllm"
            ),
        ),
        (
            _at("2.4.0 A10G", STABLE, num_shard=2),
            (
                "LLM977 TGI 2.4.0 leaves models of type stablelm to transformers, "
                "which runs them on one GPU, got 2 shards; take one GPU, or serve it "
                "with Vllm"
            ),
        ),
        (
            _at("1.4.0 V100", _of("llama"), num_shard=2),
            (
                "LLM979 TGI 1.4.0 runs models of type llama over several GPUs by flash "
                "attention alone, which it does not have on V100 (compute capability "
                "7.0); take an instance type with A10G or newer"
            ),
        ),
        (
            _at("2.2.0 T4", _of("llama")),
            (
                "LLM979 TGI 2.2.0 runs models of type llama by flash attention alone, "
                "which it does not have on T4 (compute capability 7.5); take an "
                "instance type with A10G or newer"
            ),
        ),
        (
            _at("2.4.0 A10G", _of("llama"), dtype="float32"),
            (
                "LLM915 TGI 2.4.0 does not have dtype=float32, got dtype=float32; use "
                "float16 or bfloat16, or take a newer image"
            ),
        ),
        (
            _at("1.2.0 A10G", _of("mistral", sliding_window=None)),
            (
                "LLM975 TGI 1.2.0 does not load models of type mistral without a "
                "sliding window, got a/b; take TGI 1.3.3 or newer"
            ),
        ),
    ],
)
def test_tells_what_is_wrong_and_the_way_out(example: Example, told: str) -> None:
    """
    In the caller's words.
    """
    found = [one for one in example() if one.code not in OF_ARGUMENTS]
    assert [str(one) for one in found] == [told]
