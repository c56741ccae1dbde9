"""
What a container does with adapters, read from its image, files and variables.
"""

from __future__ import annotations

import pytest

from cdk_sagemaker_llm import (
    CustomContainer,
    HuggingFaceModel,
    LmiDist,
    LmiVllm,
    Tgi,
    Vllm,
)
from cdk_sagemaker_llm.catalog.images import find_image
from cdk_sagemaker_llm.serving.adapters import AdapterHost, adapter_findings
from cdk_sagemaker_llm.serving.base import Container, ServingConfiguration
from cdk_sagemaker_llm.serving.families import adapter_host
from cdk_sagemaker_llm.serving.lmi.lmi_family import SWITCHED_ON
from tests.unit.serving.lmi.checks.test_rules import LMI

MODEL = HuggingFaceModel("a/b")
PLACEHOLDER = "${Token[TOKEN.1]}"


def host_of(
    serving: ServingConfiguration, variables: dict[str, str] | None = None
) -> AdapterHost:
    """
    Read what a serving configuration prepares.
    """
    container = serving.prepare(MODEL, 1).container
    assert container is not None
    host = adapter_host(container, {**container.environment, **(variables or {})})
    assert host is not None
    return host


def by_variables(version: str, **variables: str) -> AdapterHost:
    """
    Read a container that nothing but variables configures.
    """
    given = {"HF_MODEL_ID": "a/b", **variables}
    container = Container(image=find_image(LMI, version), environment=given)
    host = adapter_host(container, given)
    assert host is not None
    return host


@pytest.mark.parametrize(
    ("serving", "variables", "is_on"),
    [
        (LmiVllm(), {}, None),
        (LmiVllm(enable_lora=True), {}, True),
        (LmiVllm(enable_lora=False), {}, False),
        (LmiVllm(), SWITCHED_ON, True),
        (LmiVllm(), {"OPTION_ENABLE_LORA": "false"}, False),
        (LmiVllm(), {"OPTION_ENABLE_LORA": PLACEHOLDER}, True),
        # The file wins.
        (LmiVllm(enable_lora=False), SWITCHED_ON, False),
    ],
)
def test_the_switch_is_read_where_it_is_written(
    serving: LmiVllm, variables: dict[str, str], *, is_on: bool | None
) -> None:
    """
    In the file or in a variable; what deployment decides is the user's own word.
    """
    assert host_of(serving, variables).is_on is is_on


@pytest.mark.parametrize(
    ("serving", "variables", "largest"),
    [
        (LmiVllm(), {}, 16),
        (LmiVllm(max_lora_rank=64), {}, 64),
        (LmiVllm(), {"OPTION_MAX_LORA_RANK": "32"}, 32),
        (LmiVllm(), {"OPTION_MAX_LORA_RANK": PLACEHOLDER}, None),
        (LmiDist("0.31.0", max_lora_rank=8), {}, 8),
    ],
)
def test_the_largest_rank_is_read_where_it_is_written(
    serving: ServingConfiguration, variables: dict[str, str], largest: int | None
) -> None:
    """
    It is 16 where nobody says it.
    """
    assert host_of(serving, variables).largest_rank == largest


@pytest.mark.parametrize(
    ("tag", "family"),
    [("djl-inference:0.36.0-lmi99.0.0-cu130", "djl-lmi"), ("vllm:0.23", None)],
)
def test_an_image_is_read_as_the_release_that_it_is_near(
    tag: str, family: str | None
) -> None:
    """
    And one that is near none is not read.
    """
    uri = f"111111111111.dkr.ecr.us-east-1.amazonaws.com/{tag}"
    found = adapter_host(Container(image=CustomContainer.from_uri(uri).image), {})

    assert (found and found.image.family) == family


@pytest.mark.parametrize(
    ("host", "codes"),
    [
        (host_of(LmiVllm()), []),
        (host_of(LmiVllm("0.31.0")), []),
        (host_of(LmiVllm("0.30.0")), ["LLM327"]),
        (host_of(LmiDist("0.31.0")), []),
        (host_of(LmiDist("0.30.0")), ["LLM327"]),
        (host_of(Tgi("3.3.6")), ["LLM326"]),
        (by_variables("0.36.0"), []),
        (by_variables("0.34.0", OPTION_ROLLING_BATCH="disable"), ["LLM326"]),
        (
            by_variables(
                "0.33.0",
                OPTION_ROLLING_BATCH="disable",
                OPTION_ENTRYPOINT="djl_python.lmi_vllm.vllm_async_service",
            ),
            ["LLM327"],
        ),
        (
            by_variables(
                "0.34.0",
                OPTION_ROLLING_BATCH="disable",
                OPTION_ENTRYPOINT="djl_python.lmi_vllm.vllm_async_service",
            ),
            [],
        ),
    ],
)
def test_a_container_takes_adapters_or_says_why_not(
    host: AdapterHost, codes: list[str]
) -> None:
    """
    By its engine, its version and its service.
    """
    assert [each.code for each in adapter_findings(host, None)] == codes


@pytest.mark.parametrize(("rank", "codes"), [(16, []), (17, ["LLM329"]), (None, [])])
def test_a_rank_is_held_against_the_largest(rank: int | None, codes: list[str]) -> None:
    """
    The largest itself is taken.
    """
    assert [f.code for f in adapter_findings(host_of(LmiVllm()), rank)] == codes


LORA_ON = {"SM_VLLM_ENABLE_LORA": "true"}
UPDATES_ON = {"VLLM_ALLOW_RUNTIME_LORA_UPDATING": "true"}


@pytest.mark.parametrize(
    ("serving", "variables", "is_on", "switches"),
    [
        (Vllm(), {}, None, {**LORA_ON, **UPDATES_ON}),
        (Vllm(enable_lora=True), {}, None, UPDATES_ON),
        (Vllm(enable_lora=True), UPDATES_ON, True, {}),
        (Vllm(), UPDATES_ON, None, LORA_ON),
        (Vllm(), {**LORA_ON, **UPDATES_ON}, True, {}),
        (Vllm(), {"SM_VLLM_ENABLE_LORA": "false"}, False, UPDATES_ON),
        (Vllm(), {"VLLM_ALLOW_RUNTIME_LORA_UPDATING": "0"}, False, LORA_ON),
        (Vllm(enable_lora=False), {}, False, UPDATES_ON),
        (Vllm(), {"SM_VLLM_ENABLE_LORA": PLACEHOLDER}, None, UPDATES_ON),
        (
            Vllm(enable_lora=True),
            {"VLLM_ALLOW_RUNTIME_LORA_UPDATING": PLACEHOLDER},
            True,
            {},
        ),
        # This image's entry point passes `true` on as a value.
        (Vllm("0.13.0"), {}, None, {"SM_VLLM_ENABLE_LORA": "", **UPDATES_ON}),
        (Vllm("0.29.0", distribution="huggingface"), {}, None, LORA_ON | UPDATES_ON),
    ],
)
def test_vllms_own_image_has_two_switches(
    serving: Vllm,
    variables: dict[str, str],
    switches: dict[str, str],
    *,
    is_on: bool | None,
) -> None:
    """
    What is not said is switched on; what is said stays.
    """
    host = host_of(serving, variables)

    assert host.is_on is is_on
    assert host.switches == switches
    codes = [each.code for each in adapter_findings(host, None)]
    assert codes == (["LLM328"] if is_on is False else [])


@pytest.mark.parametrize(
    ("serving", "rank", "codes"),
    [
        (Vllm(), 16, []),
        (Vllm(), 17, ["LLM329"]),
        (Vllm(max_lora_rank=32), 32, []),
        (Vllm(max_lora_rank=32), 33, ["LLM329"]),
        (Vllm(), None, []),
    ],
)
def test_vllms_own_image_takes_ranks_up_to_the_largest(
    serving: Vllm, rank: int | None, codes: list[str]
) -> None:
    """
    vLLM's default is 16.
    """
    assert [each.code for each in adapter_findings(host_of(serving), rank)] == codes


def test_a_largest_rank_that_deployment_decides_is_held_against_nothing() -> None:
    """
    It may be any.
    """
    host = host_of(Vllm(), {"SM_VLLM_MAX_LORA_RANK": PLACEHOLDER})

    assert host.largest_rank is None
    assert list(adapter_findings(host, 512)) == []


@pytest.mark.parametrize(
    ("family", "version"),
    [
        ("sglang-server", "1.4"),
        ("sglang", "0.5.20"),
        ("llama-cpp", "1.0.1"),
        ("huggingface-llamacpp", "b9522"),
        ("tei", "1.8.2"),
    ],
)
def test_other_engines_take_no_adapter_components(family: str, version: str) -> None:
    """
    They have no route by which SageMaker loads any.
    """
    host = adapter_host(Container(image=find_image(family, version)), {})

    assert host is not None
    (found,) = adapter_findings(host, None)
    assert str(found) == (
        f"LLM326 image {family} {version} takes no adapter components: of the engines' "
        "own images those of vLLM do; serve the base with Vllm(enable_lora=True)"
    )


@pytest.mark.parametrize(
    ("family", "version"), [("vllm-omni", "1.8"), ("huggingface-vllm-neuronx", "0.4.5")]
)
def test_of_further_engines_nothing_is_known(family: str, version: str) -> None:
    """
    So that nothing is refused.
    """
    assert adapter_host(Container(image=find_image(family, version)), {}) is None
