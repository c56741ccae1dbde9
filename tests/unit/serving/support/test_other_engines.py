"""
Whether releases of engines other than vLLM load a model, on both sides of each limit.
"""

from __future__ import annotations

from typing import Any

import pytest

from cdk_sagemaker_llm.catalog.engine_releases import ENGINES
from cdk_sagemaker_llm.catalog.releases import known_releases
from cdk_sagemaker_llm.findings import errors_of
from cdk_sagemaker_llm.serving import check_support
from tests.unit.engine_support_rule_examples import INF2, OF_ENGINES, SHARED, of
from tests.unit.serving.support.test_check_support import (
    UNREAD,
    _cases,
    _judged,
    _verdict,
)
from tests.unit.support_rule_examples import A10G, Example

OTHERS = tuple(one for one in ENGINES if one != "vllm")


@pytest.mark.parametrize(
    ("row", "release"), [one for engine in OTHERS for one in _cases(engine)]
)
def test_foretells_what_the_engine_did(row: dict[str, Any], release: str) -> None:
    """
    What others ran, or read in the source, comes out as they saw it.
    """
    found = _judged(row, release)

    if release not in known_releases(row["engine"]):
        assert found[0].code == "LLM880"
        found = found[1:]
    if (row["engine"], release) in UNREAD:
        assert not found
    elif row["verdict"] == "loads":
        assert not errors_of(found), found
    else:
        assert _verdict(found) == row["verdict"], found


@pytest.mark.parametrize("code", OF_ENGINES)
def test_finds_what_breaks_a_rule_and_nothing_beside_it(code: str) -> None:
    """
    Each rule has a limit, and holds on both sides of it.
    """
    broken, beside = OF_ENGINES[code]

    assert code in [one.code for one in broken()]
    assert code not in [one.code for one in beside()]


@pytest.mark.parametrize(("code", "broken", "beside"), SHARED)
def test_holds_other_engines_to_rules_they_share(
    code: str, broken: Example, beside: Example
) -> None:
    """
    A rule that engines share has limits of its own at each of them.
    """
    assert code in [one.code for one in broken()]
    assert code not in [one.code for one in beside()]


def test_leaves_a_context_alone_whose_config_is_overridden() -> None:
    """
    What SGLang is told in the place of config.json may lengthen it.
    """
    longer = of(
        "sglang",
        "0.5.14",
        config={"max_position_embeddings": 4096},
        context_length=8192,
        json_model_override_args='{"max_position_embeddings": 8192}',
    )

    assert longer() == ()


@pytest.mark.parametrize("engine", OTHERS)
def test_refuses_nothing_of_a_model_that_is_not_known(engine: str) -> None:
    """
    What is not known is not refused, whatever the engine.
    """
    instance_type = INF2 if engine.endswith("neuron") else A10G
    for release in known_releases(engine):
        assert not errors_of(
            check_support(
                "a/b", engine=engine, release=release, instance_type=instance_type
            )
        )


def test_names_the_release_of_tgi_that_has_the_model() -> None:
    """
    Who has too old an image is told of one that serves.
    """
    [found] = of("tgi", "2.4.0", classes="Gemma3ForConditionalGeneration")()

    assert str(found) == (
        "LLM975 TGI 2.4.0 does not load models of type gemma3; take TGI 3.2.0 or "
        "newer, such as huggingface-llm 3.2.0"
    )


def test_names_the_optimum_neuron_that_has_the_model() -> None:
    """
    Qwen3-MoE came to Neuron with a later image.
    """
    [found] = of(
        "tgi-neuron", "0.3.0", "Qwen/Qwen3-30B-A3B", INF2, classes="Qwen3MoeForCausalLM"
    )()

    assert str(found) == (
        "LLM991 TGI on Neuron 0.3.0 does not compile models of type qwen3_moe: "
        "optimum-neuron 0.3.0 does not have it; take an image with optimum-neuron "
        "0.4.1 or newer"
    )


@pytest.mark.parametrize(
    ("model", "engine", "release", "instance_type", "arguments"),
    [
        # AWS's tests of its SGLang images; vLLM calls its method by another name.
        (
            "deepseek-ai/DeepSeek-V4-Flash",
            "sglang",
            "0.5.17",
            "ml.p5.48xlarge",
            {"tp": 8, "trust_remote_code": True, "moe_runner_backend": "marlin"},
        ),
        (
            "deepseek-ai/DeepSeek-V4-Flash",
            "vllm",
            "0.20.1",
            "ml.p5.48xlarge",
            {"tensor_parallel_size": 8},
        ),
        # JumpStart with LMI 0.28, whose build of vLLM has it before vLLM's release.
        (
            "Snowflake/snowflake-arctic-instruct",
            "vllm",
            "0.4.2",
            "ml.p5.48xlarge",
            {"quantization": "deepspeedfp", "trust_remote_code": True},
        ),
        # JumpStart, whose copy of the files has a window.
        (
            "mistralai/Mixtral-8x7B-Instruct-v0.1",
            "tgi",
            "1.3.1",
            "ml.g5.48xlarge",
            {"num_shard": 8},
        ),
        # A notebook, of the days when code in the repository was its class.
        ("tiiuae/falcon-7b", "deepspeed", "0.9.5", "ml.g5.12xlarge", {}),
        # JumpStart with LMI 0.27, whose guide names the class.
        ("databricks/dbrx-base", "lmi-dist", "9.0.0", "ml.p4d.24xlarge", {}),
    ],
)
def test_refuses_nothing_that_others_deploy(
    model: str, engine: str, release: str, instance_type: str, arguments: dict[str, Any]
) -> None:
    """
    Each of these was refused once.
    """
    found = check_support(
        model,
        engine=engine,
        release=release,
        instance_type=instance_type,
        arguments=arguments,
    )

    assert not errors_of(found)


@pytest.mark.parametrize(
    ("release", "kind", "instance_type", "codes"),
    [
        # By its name of today, which newer releases take beside the older ones.
        ("2.2.0", "falcon", "ml.g5.12xlarge", []),
        ("3.3.6", "falcon", "ml.g5.12xlarge", []),
        # It is split without flash attention too.
        ("1.4.0", "gpt_neox", "ml.p3.8xlarge", ["LLM856"]),
        ("1.4.0", "llama", "ml.p3.8xlarge", ["LLM979"]),
        # The patch of transformers 4.51 in the image brought it.
        ("3.3.4", "glm4", "ml.g5.12xlarge", ["LLM852"]),
        ("3.2.3", "glm4", "ml.g5.12xlarge", ["LLM975"]),
        # Whole or split, it never ran without flash attention.
        ("1.4.0", "idefics", "ml.p3.8xlarge", ["LLM979"]),
    ],
)
def test_judges_a_type_by_the_branches_of_a_release_of_tgi(
    release: str, kind: str, instance_type: str, codes: list[str]
) -> None:
    """
    As its source branches, which is read anew when the catalogue is rebuilt.
    """
    found = check_support(
        "someone/theirs",
        engine="tgi",
        release=release,
        instance_type=instance_type,
        arguments={"num_shard": 4},
        config={"model_type": kind, "num_attention_heads": 64},
    )

    assert [one.code for one in found] == codes


@pytest.mark.parametrize(
    "name", ["LlamaForCausalLM", "T5ForConditionalGeneration", "Olmo3ForCausalLM"]
)
def test_knows_each_class_that_a_converter_of_llama_cpp_registers(name: str) -> None:
    """
    Alone, with others, and over several lines or decorators.
    """
    found = check_support(
        "someone/theirs",
        engine="llama.cpp",
        release="b9522",
        instance_type=A10G,
        config={"architectures": [name]},
    )

    assert not found


@pytest.mark.parametrize(("release", "codes"), [("1.8.0", []), ("1.8.2", ["LLM987"])])
def test_tells_of_flash_attention_that_is_off_from_a_release_on(
    release: str, codes: list[str]
) -> None:
    """
    Of an earlier one nothing is said.
    """
    found = check_support(
        "a/b",
        engine="tei",
        release=release,
        instance_type="ml.g5.xlarge",
        config={"model_type": "mistral", "architectures": ["MistralModel"]},
        environment={"USE_FLASH_ATTENTION": "false"},
    )

    assert [one.code for one in found] == codes


@pytest.mark.parametrize(("value", "codes"), [("true", []), ("false", ["LLM856"])])
def test_tells_of_flash_attention_that_is_off_on_t4(
    value: str, codes: list[str]
) -> None:
    """
    TGI 1.4 has flash attention of the first kind there, unless it is turned off.
    """
    found = check_support(
        "tiiuae/falcon-7b",
        engine="tgi",
        release="1.4.0",
        instance_type="ml.g4dn.12xlarge",
        environment={"USE_FLASH_ATTENTION": value},
    )

    assert [one.code for one in found] == codes
