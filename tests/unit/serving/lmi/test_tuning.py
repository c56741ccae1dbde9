"""
RoPE scaling and SmoothQuant: what each writes for each engine.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping

import pytest

from cdk_sagemaker_llm import RopeScaling, SmoothQuant


def test_rope_scaling_is_two_options_of_tensorrt_llm() -> None:
    """
    The factor as a number with a point, as its reader wants it.
    """
    written = RopeScaling("linear", factor=3).as_tensorrt_llm()

    assert list(written.items()) == [
        ("option.rotary_scaling_type", "linear"),
        ("option.rotary_scaling_factor", 3.0),
    ]
    assert isinstance(written["option.rotary_scaling_factor"], float)


def test_rope_scaling_is_an_object_of_vllm() -> None:
    """
    As config.json has it.
    """
    assert RopeScaling("dynamic", 3).as_json() == '{"factor":3.0,"rope_type":"dynamic"}'


@pytest.mark.parametrize("factor", [1.01, 2, 8.5])
def test_a_factor_above_one_is_taken(factor: float) -> None:
    """
    However little.
    """
    assert RopeScaling("linear", factor).factor == factor


@pytest.mark.parametrize(
    ("factor", "got"), [(1, "1"), (0.99, "0.99"), (float("nan"), "nan")]
)
def test_fails_if_a_factor_is_not_above_one(factor: float, got: str) -> None:
    """
    With the value got.
    """
    with pytest.raises(ValueError, match=rf"^factor must be above 1, got {got}$"):
        RopeScaling("linear", factor)


@pytest.mark.parametrize(
    ("smoothquant", "deepspeed", "tensorrt_llm"),
    [
        (
            SmoothQuant(),
            {"option.quantize": "smoothquant"},
            {"option.quantize": "smoothquant"},
        ),
        (
            SmoothQuant(alpha=0),
            {"option.quantize": "smoothquant", "option.smoothquant_alpha": 0},
            {"option.quantize": "smoothquant", "option.smoothquant_alpha": 0},
        ),
        (
            SmoothQuant(per_token=True),
            {"option.quantize": "smoothquant"},
            {"option.quantize": "smoothquant", "option.smoothquant_per_token": True},
        ),
        (
            SmoothQuant(alpha=1, per_channel=True),
            {"option.quantize": "smoothquant", "option.smoothquant_alpha": 1},
            {
                "option.quantize": "smoothquant",
                "option.smoothquant_alpha": 1,
                "option.smoothquant_per_channel": True,
            },
        ),
    ],
    ids=["plain", "alpha", "per token", "per channel"],
)
def test_smoothquant_is_what_each_engine_reads_of_it(
    smoothquant: SmoothQuant,
    deepspeed: Mapping[str, object],
    tensorrt_llm: Mapping[str, object],
) -> None:
    """
    DeepSpeed has no scaling per token or channel.
    """
    assert smoothquant.as_deepspeed() == deepspeed
    assert smoothquant.as_tensorrt_llm() == tensorrt_llm


@pytest.mark.parametrize(("alpha", "got"), [(-0.1, "-0.1"), (1.1, "1.1")])
def test_fails_if_alpha_is_no_share(alpha: float, got: str) -> None:
    """
    With the value got.
    """
    with pytest.raises(ValueError, match=rf"^alpha must be from 0 to 1, got {got}$"):
        SmoothQuant(alpha=alpha)


def test_every_parameter_is_held_by_these_tests() -> None:
    """
    A new one comes with what it writes.
    """
    assert list(inspect.signature(RopeScaling).parameters) == ["type", "factor"]
    assert set(inspect.signature(SmoothQuant).parameters) == {
        "alpha",
        "per_token",
        "per_channel",
    }
