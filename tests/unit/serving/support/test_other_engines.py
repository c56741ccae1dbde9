"""
Whether releases of engines other than vLLM load a model, on both sides of each limit.
"""

from __future__ import annotations

from typing import Any

import pytest

from cdk_sagemaker_llm.catalog.releases import ENGINES, known_releases
from cdk_sagemaker_llm.findings import errors_of
from cdk_sagemaker_llm.serving import check_support
from tests.unit.engine_support_rule_examples import INF2, OF_ENGINES, SHARED, of
from tests.unit.serving.support.test_check_support import _cases, _judged, _verdict
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
        assert [one.code for one in found] == ["LLM880"]
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
