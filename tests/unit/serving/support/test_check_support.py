"""
Whether a release of an engine loads a model: what is found, on both sides of a limit.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from cdk_sagemaker_llm.architectures import ModelArchitecture
from cdk_sagemaker_llm.catalog.instances import InstanceType
from cdk_sagemaker_llm.catalog.releases import known_releases
from cdk_sagemaker_llm.findings import Finding, Severity
from cdk_sagemaker_llm.serving import check_support
from tests.conftest import ROOT
from tests.unit.support_rule_examples import SUPPORT

VERDICTS = json.loads(
    (ROOT / "tests" / "data" / "support_verdicts.json").read_text(encoding="utf-8")
)["rows"]
LLAMA = "meta-llama/Llama-3.1-8B-Instruct"
# A report of one run, whose weights alone nearly fill the GPU, against the source,
# which has the GPU among those that it is built for: that is a warning.
ARGUED = {("microsoft/Fara-7B", "0.15.1")}
# Nobody read what is older than the first of each engine's releases.
UNREAD = {("sglang", "0.4.4.post1")}


def _cases(engine: str) -> list[Any]:
    return [
        pytest.param(row, release, id=f"{row['model']}-{release}-{number}")
        for number, row in enumerate(VERDICTS)
        if row["engine"] == engine and not row.get("doubt")
        for release in (row["release"], *row.get("also_at", ()))
        if (row["model"], release) not in ARGUED
    ]


def _verdict(found: tuple[Finding, ...]) -> str:
    severities = {one.severity for one in found}
    if Severity.ERROR in severities:
        return "refuses"
    return "falls_back" if severities else "loads"


def _judged(row: dict[str, Any], release: str) -> tuple[Finding, ...]:
    config: dict[str, Any] = dict(row.get("config", {}))
    if "architecture" in row:
        config["architectures"] = [row["architecture"]]
    if "quantization_config" in row:
        config["quantization_config"] = row["quantization_config"]
    return check_support(
        row["model"],
        engine=row["engine"],
        release=release,
        instance_type=row["instance_type"],
        arguments=row.get("arguments"),
        config=config or None,
        environment=row.get("environment"),
        network_isolation=row.get("network_isolation", False),
    )


@pytest.mark.parametrize(("row", "release"), _cases("vllm"))
def test_foretells_what_vllm_did(row: dict[str, Any], release: str) -> None:
    """
    What others ran, or read in the source, comes out as they saw it.
    """
    found = _judged(row, release)

    if release not in known_releases("vllm"):
        assert found[0].code == "LLM880"
        found = found[1:]
    if row["verdict"] == "loads":
        assert _verdict(found) != "refuses", found
    else:
        assert _verdict(found) == row["verdict"], found


@pytest.mark.parametrize("code", SUPPORT)
def test_finds_what_breaks_a_rule_and_nothing_beside_it(code: str) -> None:
    """
    Each rule has a limit, and holds on both sides of it.
    """
    broken, beside = SUPPORT[code]

    assert code in [one.code for one in broken()]
    assert code not in [one.code for one in beside()]


@pytest.mark.parametrize("model", ["a/b", "mistralai/Mistral-7B-v0.1", LLAMA])
@pytest.mark.parametrize("release", ["0.6.3.post1", "0.10.2", "0.28.0"])
def test_finds_nothing_of_what_is_plain_or_unknown(model: str, release: str) -> None:
    """
    What is not known is not refused.
    """
    found = check_support(
        model, engine="vllm", release=release, instance_type="ml.g5.2xlarge"
    )

    assert found == ()


def test_names_the_first_image_with_a_class() -> None:
    """
    Who has too old an image is told of one that serves.
    """
    [found] = check_support(
        "google/gemma-3-4b-it",
        engine="vllm",
        release="0.6.3.post1",
        instance_type="ml.g5.2xlarge",
    )

    assert str(found) == (
        "LLM901 vLLM 0.6.3.post1 does not load Gemma3ForConditionalGeneration; take an "
        "image with vllm 0.8.0 and newer, such as djl-lmi 0.33.0"
    )


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        pytest.param(
            {"engine": "vlm"},
            r"engine must be .*, got 'vlm'; did you mean vllm",
            id="engine",
        ),
        pytest.param(
            {"instance_type": "ml.g5.huge"},
            "unknown instance type 'ml.g5.huge'",
            id="type",
        ),
        pytest.param({"arguments": 3}, "arguments must be", id="arguments"),
    ],
)
def test_fails_if_an_argument_is_wrong(wrong: dict[str, Any], message: str) -> None:
    """
    A misspelt engine is a mistake of the caller's, and no finding.
    """
    right = {"engine": "vllm", "release": "0.10.2", "instance_type": "ml.g5.2xlarge"}

    with pytest.raises(ValueError, match=message):
        check_support(LLAMA, **{**right, **wrong})


@pytest.mark.parametrize(("model", "codes"), [("T4", ["LLM911"]), ("A10G", [])])
def test_takes_a_description_of_an_instance_type(model: str, codes: list[str]) -> None:
    """
    As of one that the catalogue does not have: its accelerators count, not its name.
    """
    described = InstanceType(
        name="ml.g99.xlarge",
        accelerators=2,
        accelerator_model=model,
        accelerator_memory_gib=24.0,
        vcpus=4,
        memory_gib=16.0,
    )

    found = check_support(
        LLAMA,
        engine="vllm",
        release="0.10.2",
        instance_type=described,
        arguments={"dtype": "bfloat16", "tensor_parallel_size": 2},
    )

    assert [one.code for one in found] == codes


def test_reads_a_whole_config_alone() -> None:
    """
    In a whole config.json a key that is left out is not there.
    """
    config = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": 4096,
        "num_attention_heads": 32,
        "max_position_embeddings": 2048,
    }

    found = check_support(
        LLAMA,
        engine="vllm",
        release="0.10.2",
        instance_type="ml.g5.2xlarge",
        arguments={"max_model_len": 2049, "quantization": "awq"},
        config=config,
    )

    assert [one.code for one in found] == ["LLM927", "LLM931"]


@pytest.mark.parametrize(("longest", "codes"), [(2047, ["LLM931"]), (2048, [])])
def test_takes_the_shortest_of_several_lengths(longest: int, codes: list[str]) -> None:
    """
    vLLM goes by the least of the keys, in whatever order they are read.
    """
    config = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": 4096,
        "num_attention_heads": 32,
        "max_position_embeddings": 4096,
        "seq_length": longest,
    }

    found = check_support(
        "a/b",
        engine="vllm",
        release="0.10.2",
        instance_type="ml.g5.2xlarge",
        arguments={"max_model_len": 2048},
        config=config,
    )

    assert [one.code for one in found] == codes


@pytest.mark.parametrize(
    ("kind", "longest"),
    [
        ("su", 4096),
        ("longrope", 4096),
        ("llama3", 4096),
        ("default", 4096),
        ("mrope", 4096),
        ("proportional", 4096),
        ("linear", 8192),
        ("dynamic", 8192),
        ("yarn", 2048),
        ("deepseek_yarn", 2048),
        ("deepseek_llama_scaling", 2048),
    ],
)
def test_scales_a_length_as_its_kind_says(kind: str, longest: int) -> None:
    """
    Some are as long as they say, some by a factor, and yarn from where it began.
    """
    config = {
        "architectures": ["LlamaForCausalLM"],
        "max_position_embeddings": 4096,
        "rope_scaling": {
            "rope_type": kind,
            "factor": 2.0,
            "original_max_position_embeddings": 1024,
        },
    }
    found = {
        length: check_support(
            "a/b",
            engine="vllm",
            release="0.10.2",
            instance_type="ml.g5.2xlarge",
            arguments={"max_model_len": length},
            config=config,
        )
        for length in (longest, longest + 1)
    }

    assert [[one.code for one in each] for each in found.values()] == [[], ["LLM931"]]


def test_refuses_no_parser_of_a_release_that_nobody_read() -> None:
    """
    The parsers are known from vLLM 0.6.2 on, which does not have this one; both do not
    have the argument either.
    """
    codes = [
        [
            one.code
            for one in check_support(
                "a/b",
                engine="vllm",
                release=release,
                instance_type="ml.g5.2xlarge",
                arguments={"reasoning_parser": "deepseek_r1"},
            )
        ]
        for release in ("0.5.3.post1", "0.6.2")
    ]

    assert codes == [["LLM967"], ["LLM961", "LLM967"]]


@pytest.mark.parametrize(
    ("model", "codes"),
    [("a/Mistral-7B-v0.1-AWQ", []), ("TheBloke/Mistral-7B-v0.1-AWQ", ["LLM921"])],
)
def test_knows_the_data_type_of_few_quantized_copies(
    model: str, codes: list[str]
) -> None:
    """
    Who quantizes may save another one than the original's bfloat16, unless known to
    keep it.
    """
    found = check_support(
        model,
        engine="vllm",
        release="0.8.4",
        instance_type="ml.g5.2xlarge",
        arguments={"quantization": "awq"},
    )

    assert [one.code for one in found] == codes


@pytest.mark.parametrize(
    ("release", "codes"), [("0.13.0", ["LLM919"]), ("0.14.0", ["LLM884"])]
)
def test_widens_weights_in_fp8_on_older_gpus(release: str, codes: list[str]) -> None:
    """
    From vLLM 0.14 on Turing has a way to hold them, which is slower.
    """
    found = check_support(
        "Qwen/Qwen3-8B-FP8",
        engine="vllm",
        release=release,
        instance_type="ml.g4dn.2xlarge",
        arguments={"dtype": "half"},
    )

    # That starts on a T4 were reported to fail is another rule's.
    assert [one.code for one in found if one.code != "LLM886"] == codes


def test_takes_a_quantized_copy_for_what_its_name_says() -> None:
    """
    Most copies are named by the model that they are of, and how they were quantized.
    """
    found = check_support(
        "TheBloke/Mistral-7B-v0.1-AWQ",
        engine="vllm",
        release="0.8.4",
        instance_type="ml.g5.2xlarge",
        arguments={"quantization": "gptq", "max_model_len": 32769},
    )

    assert [one.code for one in found] == ["LLM925", "LLM931"]


def test_reads_an_architecture_as_far_as_it_goes() -> None:
    """
    Of a model of one's own its class, its heads and its format are known.
    """
    config = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "vocab_size": 32000,
        "hidden_size": 4096,
        "intermediate_size": 11008,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "quantization_config": {"quant_method": "fbgemm_fp8"},
    }

    found = check_support(
        ModelArchitecture.from_config(config),
        engine="vllm",
        release="0.13.0",
        instance_type="ml.p5.48xlarge",
        arguments={"tensor_parallel_size": 3, "quantization": "awq"},
    )

    assert [one.code for one in found] == ["LLM925", "LLM945"]


@pytest.mark.parametrize(
    ("release", "codes"), [("0.15.1", ["LLM919"]), ("0.16.0", ["LLM884"])]
)
def test_what_is_refused_does_not_fall_back_too(release: str, codes: list[str]) -> None:
    """
    Weights of compressed-tensors in fp8 came to T4 later than others.
    """
    found = check_support(
        "RedHatAI/Meta-Llama-3.1-8B-Instruct-FP8",
        engine="vllm",
        release=release,
        instance_type="ml.g4dn.2xlarge",
        arguments={"dtype": "half"},
    )

    # All of them doubt T4 from 0.12 on.
    assert [one.code for one in found if one.code != "LLM886"] == codes


@pytest.mark.parametrize(
    ("value", "codes"),
    [
        ("1", ["LLM888"]),
        ("true", ["LLM888"]),
        ("True", ["LLM888"]),
        ("0", ["LLM931"]),
        ("", ["LLM931"]),
    ],
)
def test_forces_a_length_by_either_word(value: str, codes: list[str]) -> None:
    """
    vLLM reads 1 and true, however it is written.
    """
    found = check_support(
        LLAMA,
        engine="vllm",
        release="0.10.2",
        instance_type="ml.g5.2xlarge",
        arguments={"max_model_len": 131073},
        environment={"VLLM_ALLOW_LONG_MAX_MODEL_LEN": value},
    )

    assert [one.code for one in found] == codes


@pytest.mark.parametrize(
    ("arguments", "codes"),
    [
        ({}, ["LLM917"]),
        ({"allow_deprecated_quantization": False}, ["LLM917"]),
        ({"allow_deprecated_quantization": True}, []),
    ],
)
def test_takes_a_deprecated_method_that_is_allowed(
    arguments: dict[str, Any], codes: list[str]
) -> None:
    """
    The argument that the refusal names ends it.
    """
    found = check_support(
        "a/b",
        engine="vllm",
        release="0.16.0",
        instance_type="ml.p5.48xlarge",
        arguments=arguments,
        config={
            "architectures": ["LlamaForCausalLM"],
            "quantization_config": {"quant_method": "fbgemm_fp8"},
        },
    )

    assert [one.code for one in found] == codes


@pytest.mark.parametrize(
    ("group", "codes"),
    [(-1, []), (32, []), (64, []), (128, []), (16, ["LLM921"])],
)
def test_gives_marlin_the_groups_that_it_has(group: int, codes: list[str]) -> None:
    """
    One group for a whole row is written as -1; what Marlin lacks needs float16.
    """
    found = check_support(
        "a/b",
        engine="vllm",
        release="0.8.4",
        instance_type="ml.g5.2xlarge",
        config={
            "architectures": ["LlamaForCausalLM"],
            "torch_dtype": "bfloat16",
            "quantization_config": {
                "quant_method": "gptq",
                "bits": 4,
                "group_size": group,
                "sym": True,
            },
        },
    )

    assert [one.code for one in found] == codes


@pytest.mark.parametrize(
    ("config", "codes"),
    [
        ({"architectures": ["LlamaForCausalLM"]}, ["LLM945"]),
        ({"architectures": ["DeepseekV2ForCausalLM"], "kv_lora_rank": 512}, []),
    ],
)
def test_divides_no_keys_and_values_that_are_one_vector(
    config: dict[str, Any], codes: list[str]
) -> None:
    """
    Latent attention has no heads of keys and values to divide.
    """
    found = check_support(
        "a/b",
        engine="vllm",
        release="0.10.2",
        instance_type="ml.p5.48xlarge",
        arguments={"tensor_parallel_size": 8},
        config={**config, "num_attention_heads": 16, "num_key_value_heads": 6},
    )

    assert [one.code for one in found] == codes


@pytest.mark.parametrize(
    ("arguments", "codes"),
    [
        ({}, []),
        ({"enable_auto_tool_choice": False}, []),
        ({"enable_auto_tool_choice": True}, ["LLM896"]),
    ],
)
def test_judges_a_parser_of_tools_where_they_are_chosen(
    arguments: dict[str, Any], codes: list[str]
) -> None:
    """
    Without automatic choice the parser of tool calls is not used.
    """
    found = check_support(
        "Qwen/Qwen3-8B",
        engine="vllm",
        release="0.10.2",
        instance_type="ml.g5.2xlarge",
        arguments={**arguments, "tool_call_parser": "mistral"},
    )

    assert [one.code for one in found] == codes
