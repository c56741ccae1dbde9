"""
The table of the TGI launcher's options.
"""

from __future__ import annotations

import pytest

from cdk_sagemaker_llm.catalog.images import image_versions
from cdk_sagemaker_llm.catalog.tgi import (
    described_version,
    find_tgi_option,
    is_between,
    tgi_aliases,
    tgi_flags,
    tgi_option_names,
    tgi_option_span,
    tgi_versions,
)


def test_every_image_has_a_column() -> None:
    """
    And 3.3.7 has one too, which SageMaker has no image of; 2.0.3 has its neighbour's.
    """
    images, columns = set(image_versions("huggingface-llm")), set(tgi_versions())

    assert columns - images == {"3.3.7"}
    assert images - columns == {"2.0.3"}
    assert described_version("2.0.3") == "2.0.2"


def test_all_options_of_the_launcher_are_there() -> None:
    """
    60 of the launcher, one of which no variable sets, and one of the router.
    """
    assert len(tgi_option_names()) + len(tgi_flags()) == 61
    assert tgi_flags() == ("--env",)
    assert set(tgi_aliases().values()) <= set(tgi_option_names())


@pytest.mark.parametrize(
    ("name", "version", "kind", "default"),
    [
        ("MAX_INPUT_LENGTH", "0.8.2", "usize", "1000"),
        ("MAX_INPUT_LENGTH", "1.4.5", "usize", "1024"),
        ("MAX_INPUT_LENGTH", "3.3.6", "usize", None),
        ("MAX_BATCH_TOTAL_TOKENS", "0.9.3", "u32", "16000"),
        ("QUANTIZE", "0.6.0", "bool", None),
        ("QUANTIZE", "1.4.5", "choice", None),
        ("CUDA_GRAPHS", "2.0.0", "usize-list", None),
        ("MESSAGES_API_ENABLED", "1.4.0", "bool", "false"),
    ],
)
def test_a_variable_is_read_as_its_version_does(
    name: str, version: str, kind: str, default: str | None
) -> None:
    """
    Types and defaults changed over the years.
    """
    option = find_tgi_option(name, version)

    assert option is not None
    assert (option.kind, option.default) == (kind, default)


@pytest.mark.parametrize(
    ("version", "count"),
    [
        ("0.8.2", 2),
        ("0.9.3", 2),
        ("1.0.3", 4),
        ("1.4.5", 6),
        ("2.0.0", 7),
        ("3.3.6", 10),
    ],
)
def test_quantizations_were_added_one_after_the_other(version: str, count: int) -> None:
    """
    Each version has the choices of its own launcher.
    """
    option = find_tgi_option("QUANTIZE", version)

    assert option is not None
    assert len(option.choices) == count


@pytest.mark.parametrize("version", tgi_versions())
def test_a_variable_is_known_within_its_span_alone(version: str) -> None:
    """
    All 60 variables at all 24 versions.
    """
    names = tgi_option_names()
    known = {name for name in names if find_tgi_option(name, version)}

    assert known == {n for n in names if is_between(version, *tgi_option_span(n))}


@pytest.mark.parametrize(
    ("version", "described_by"),
    [
        ("1.4.5", "1.4.5"),
        ("1.4.4", "1.4.2"),
        ("3.4.0", "3.3.7"),
        ("0.5.0", "0.6.0"),
        ("latest", "0.6.0"),
    ],
)
def test_a_version_without_a_column_is_read_by_the_one_before(
    version: str, described_by: str
) -> None:
    """
    A newer release is most like the last one known.
    """
    assert described_version(version) == described_by
