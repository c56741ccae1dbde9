"""
What the engines' releases take.
"""

from __future__ import annotations

import pytest

from cdk_sagemaker_llm.fit.releases import Case, Range, release_of


def test_a_range_has_a_figure_for_each_case() -> None:
    """
    In the order of luck.
    """
    assert [Range(1, 2, 3).of(case) for case in Case] == [1, 2, 3]


@pytest.mark.parametrize(
    ("version", "logits", "share", "refuses"),
    [
        ("0.2.7", 39, 0.9, False),
        ("0.3.0", 39, 0.9, True),
        ("0.7.3", 39, 0.9, True),
        ("0.8.5.post1", 39, 0.9, True),
        ("0.16.0", 39, 0.9, True),
        ("v0.17.0", 16, 0.9, True),
        ("0.19.1", 16, 0.9, True),
        ("0.20.0", 16, 0.92, True),
        ("1.0.0", 16, 0.92, True),
        (None, 39, 0.9, False),
    ],
)
def test_a_release_of_vllm_is_known_by_its_version(
    version: str | None, logits: int, share: float, *, refuses: bool
) -> None:
    """
    One that is not known takes the most in the cautious case.
    """
    found = release_of("vllm", version)

    assert found.logits_bytes.cautious == logits
    assert found.share.cautious == share
    assert found.refuses_long_sequences == refuses


def test_graphs_are_counted_since_0_20_to_be_cautious() -> None:
    """
    One log counts them and two do not.
    """
    counted = release_of("vllm", "0.20.0").graphs_in_share

    assert counted == Range(0, 0, 1)
    assert release_of("vllm", "0.19.0").graphs_in_share == Range(0, 0, 0)


@pytest.mark.parametrize(
    ("engine", "adds"), [("vllm", False), ("tgi", True), ("tensorrt-llm", True)]
)
def test_who_keeps_a_prefill_beside_its_logits(engine: str, *, adds: bool) -> None:
    """
    Of the others nobody has shown that it is gone by then.
    """
    found = release_of(engine, "0.19.0")  # type: ignore[arg-type] # a parameter

    assert found.adds_prefill == adds


@pytest.mark.parametrize(("engine", "share"), [("tgi", 1), ("tensorrt-llm", 0.95)])
def test_other_engines_have_one_row(engine: str, share: float) -> None:
    """
    Whatever the version.
    """
    found = release_of(engine, "not a number")  # type: ignore[arg-type] # a parameter

    assert found.share == Range(share, share, share)


def test_fails_if_a_version_is_none() -> None:
    """
    Two numbers at least.
    """
    with pytest.raises(ValueError, match=r"such as '0\.10\.2', got 'nightly'"):
        release_of("vllm", "nightly")


@pytest.mark.parametrize(
    ("version", "cautious"),
    [("1.4.5", 0), ("2.0.0", 3), ("3.3.6", 3), (None, 3)],
)
def test_tgi_records_graphs_from_2_on(version: str | None, cautious: int) -> None:
    """
    Of a version that is not known it may.
    """
    assert release_of("tgi", version).graphs_gib.cautious == cautious


@pytest.mark.parametrize(
    ("version", "steps"), [("0.18.0", Range(1, 1, 1)), ("0.20.0", Range(1, 1, 2))]
)
def test_the_tokens_of_two_steps_may_be_kept_from_0_20_on(
    version: str, steps: Range
) -> None:
    """
    Beside a window, where one is planned while another runs.
    """
    assert release_of("vllm", version).in_flight == steps
