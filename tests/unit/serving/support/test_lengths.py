"""
The longest sequence of vLLM: each key, kind and condition from both sides.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.serving.support.cases import Row, case, codes_of
from tests.unit.support_rule_examples import Example

LLAMA = "LlamaForCausalLM"
OF_4096 = {"max_position_embeddings": 4096}
FORCED = "VLLM_ALLOW_LONG_MAX_MODEL_LEN"


def _longest(
    config: dict[str, Any],
    release: str = "0.10.2",
    name: str = LLAMA,
    **arguments: Any,  # noqa: ANN401 - the engine's own
) -> int | None:
    """
    Return the length that a refusal names; ``None`` where nothing is refused.
    """
    found = case(
        f"vllm {release} A10G", name, config, max_model_len=10**8, **arguments
    )()
    told = [one.message for one in found if one.code == "LLM931"]
    return int(told[0].split("at most ")[1].split(",")[0]) if told else None


@pytest.mark.parametrize(
    "key",
    [
        "max_position_embeddings",
        "n_positions",
        "max_seq_len",
        "seq_length",
        "model_max_length",
        "max_sequence_length",
        "max_seq_length",
        "seq_len",
        "max_target_positions",
    ],
)
def test_reads_a_length_by_any_of_its_names(key: str) -> None:
    """
    As vLLM does.
    """
    assert _longest({key: 2048}) == 2048
    assert _longest({key: "2048"}) is None
    assert _longest({key: True}) is None


def _rope(**values: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    return {**OF_4096, "rope_scaling": values}


@pytest.mark.parametrize(
    ("config", "longest"),
    [
        ({}, None),
        (OF_4096, 4096),
        ({"text_config": OF_4096}, 4096),
        ({**OF_4096, "rope_scaling": None}, 4096),
        (_rope(), 4096),
        (_rope(factor=2), 4096),
        (_rope(type="linear", factor=2), 8192),
        (_rope(rope_type="linear", type="su", factor=2), 8192),
        (_rope(rope_type="linear"), 4096),
        (_rope(rope_type="linear", factor=2.5), 10240),
        (_rope(rope_type="linear", factor="2"), None),
        (_rope(rope_type="default", factor=2), 4096),
        (_rope(rope_type="yarn", factor=2), 8192),
        (
            _rope(rope_type="yarn", factor=2, original_max_position_embeddings=1024),
            2048,
        ),
        (
            _rope(rope_type="linear", factor=2, original_max_position_embeddings=1024),
            8192,
        ),
        (
            _rope(
                rope_type="deepseek_yarn",
                factor=2,
                original_max_position_embeddings=1024,
            ),
            2048,
        ),
        (
            {**OF_4096, "rope_parameters": {"rope_type": "linear", "factor": 2}},
            8192,
        ),
        (
            {
                **OF_4096,
                "rope_parameters": {"full": {"rope_type": "linear", "factor": 2}},
            },
            4096,
        ),
        # A larger one beside it lifts it.
        ({**OF_4096, "model_max_length": 8192}, 8192),
        ({**OF_4096, "model_max_length": 2048}, 2048),
        ({**OF_4096, "model_max_length": "8192"}, 4096),
        # A window caps it where it is off alone.
        ({**OF_4096, "sliding_window": 1024}, 4096),
        # Gemma 3 says nothing, or what is not scaled.
        ({"model_type": "gemma3"}, None),
        ({"model_type": "gemma3", **OF_4096}, 4096),
        (
            {
                "model_type": "gemma3_text",
                **_rope(rope_type="linear", factor=8),
            },
            4096,
        ),
    ],
)
def test_derives_the_longest_sequence(
    config: dict[str, Any], longest: int | None
) -> None:
    """
    From the length and how its positions are scaled.
    """
    assert _longest(config) == longest


@pytest.mark.parametrize(("release", "longest"), [("0.29.0", 2048), ("0.30.0", None)])
@pytest.mark.parametrize("kind", ["yarn", "deepseek_yarn", "deepseek_llama_scaling"])
def test_leaves_yarn_alone_from_a_release_on(
    kind: str, release: str, longest: int | None
) -> None:
    """
    For its documentation and its source say different things.
    """
    config = _rope(rope_type=kind, factor=2, original_max_position_embeddings=1024)

    assert _longest(config, release) == longest


@pytest.mark.parametrize(
    ("value", "longest"),
    [(True, 1024), ("true", 1024), (1, 1024), (False, 4096), (None, 4096)],
)
def test_caps_a_length_by_a_window_that_is_off(value: object, longest: int) -> None:
    """
    With it no layer looks further.
    """
    config = {**OF_4096, "sliding_window": 1024}

    assert _longest(config, disable_sliding_window=value) == longest
    assert _longest(OF_4096, disable_sliding_window=value) == 4096
    wide = {**OF_4096, "sliding_window": 8192}
    assert _longest(wide, disable_sliding_window=value) == 4096


@pytest.mark.parametrize(
    ("release", "kind", "longest"),
    [
        ("0.4.2", "gemma2", 4096),
        ("0.5.3.post1", "gemma2", 1024),
        ("0.6.3.post1", "gemma2", 1024),
        ("0.7.1", "gemma2", 4096),
        ("0.6.3.post1", "llama", 4096),
    ],
)
def test_caps_gemma_2_by_its_window_for_some_releases(
    release: str, kind: str, longest: int
) -> None:
    """
    Which look at all of what only some layers look at.
    """
    config = {**OF_4096, "sliding_window": 1024, "model_type": kind}

    assert _longest(config, release) == longest


ASKED: list[Row] = [
    (codes, case("vllm 0.10.2 A10G", LLAMA, OF_4096, max_model_len=value))
    for value, codes in (
        (4096, ""),
        (4097, "LLM931"),
        ("4096", ""),
        ("4097", "LLM931"),
        (" 4097 ", "LLM931"),
        ("4k", ""),
        ("4K", ""),
        ("4.5k", "LLM931"),
        ("5k", "LLM931"),
        ("4.09k", ""),
        ("1m", "LLM931"),
        ("1M", "LLM931"),
        ("1g", "LLM931"),
        ("1G", "LLM931"),
        ("auto", ""),
        ("-1", ""),
        (-1, ""),
        (None, ""),
        (True, ""),
    )
]


@pytest.mark.parametrize(("codes", "example"), ASKED)
def test_reads_a_length_as_vllm_does(codes: str, example: Example) -> None:
    """
    With its letters, and none where vLLM decides.
    """
    assert codes_of(example) == codes


@pytest.mark.parametrize(
    ("value", "asked"),
    [
        ("5k", 5000),
        ("5K", 5120),
        ("1m", 1000000),
        ("1M", 1048576),
        ("1g", 1000000000),
        ("1G", 1073741824),
        ("4.5k", 4500),
    ],
)
def test_tells_a_length_in_numbers(value: str, asked: int) -> None:
    """
    Small letters are thousands, and large ones powers of two.
    """
    [found] = case("vllm 0.10.2 A10G", LLAMA, OF_4096, max_model_len=value)()

    assert found.message.endswith(f", got {asked}")


@pytest.mark.parametrize(
    ("release", "value", "told"),
    [
        (
            "0.10.2",
            None,
            (
                "LLM931 max_model_len must be at most 4096, which a/b was made for, "
                "got 4097; write 4096, or leave it out, or set "
                "VLLM_ALLOW_LONG_MAX_MODEL_LEN=1 if the model is known to take it"
            ),
        ),
        (
            "0.5.3.post1",
            "1",
            (
                "LLM931 max_model_len must be at most 4096, which a/b was made for, "
                "got 4097; write 4096, or leave it out"
            ),
        ),
        (
            "0.6.2",
            "TRUE",
            (
                "LLM888 max_model_len must be at most 4096, which a/b was made for, "
                "got 4097; VLLM_ALLOW_LONG_MAX_MODEL_LEN lets vLLM 0.6.2 start all the "
                "same, and what is beyond may be wrong"
            ),
        ),
        (
            "0.6.2",
            "yes",
            (
                "LLM931 max_model_len must be at most 4096, which a/b was made for, "
                "got 4097; write 4096, or leave it out, or set "
                "VLLM_ALLOW_LONG_MAX_MODEL_LEN=1 if the model is known to take it"
            ),
        ),
    ],
)
def test_tells_how_a_length_can_be_forced(
    release: str, value: str | None, told: str
) -> None:
    """
    From 0.5.4 on by a variable.
    """
    [found] = case(
        f"vllm {release} A10G",
        LLAMA,
        OF_4096,
        environment={FORCED: value} if value else None,
        max_model_len=4097,
    )()

    assert str(found) == told
