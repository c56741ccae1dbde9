"""
Versions of LMI images, and how they compare.
"""

from __future__ import annotations

import pytest

from cdk_sagemaker_llm.catalog.lmi import LmiVersion, row_versions


def test_the_tables_describe_these_versions() -> None:
    """
    Oldest first.
    """
    assert row_versions() == (
        "0.25",
        "0.26",
        "0.27",
        "0.28",
        "0.29",
        "0.30",
        "0.31",
        "0.32",
        "0.33",
        "0.34",
        "0.35",
        "0.36",
        "0.36-lmi27",
    )


@pytest.mark.parametrize(
    ("text", "parsed", "shown", "rows"),
    [
        ("0.25.0", LmiVersion(25), "0.25", ("0.25",)),
        ("0.26", LmiVersion(26), "0.26", ("0.26",)),
        ("0.35.0", LmiVersion(35), "0.35", ("0.35",)),
        # The SDK's 0.36.0 is the 27th release.
        ("0.36.0", LmiVersion(36, 27), "0.36-lmi27", ("0.36-lmi27",)),
        ("0.36", LmiVersion(36), "0.36", ("0.36",)),
        ("0.36.0-lmi18", LmiVersion(36, 18), "0.36-lmi18", ("0.36",)),
        ("0.36.0-lmi19", LmiVersion(36, 19), "0.36-lmi19", ("0.36", "0.36-lmi27")),
        ("0.36.0-lmi26", LmiVersion(36, 26), "0.36-lmi26", ("0.36", "0.36-lmi27")),
        ("0.36.0-lmi27", LmiVersion(36, 27), "0.36-lmi27", ("0.36-lmi27",)),
        ("0.36.0-lmi28.0.1", LmiVersion(36, 28), "0.36-lmi28", ("0.36-lmi27",)),
        ("0.35.0-lmi17", LmiVersion(35, 17), "0.35-lmi17", ("0.35",)),
        ("0.37.0", LmiVersion(37), "0.37", ("0.36-lmi27",)),
        ("0.38.0", LmiVersion(38), "0.38", ("0.36-lmi27",)),
        ("0.24.0", LmiVersion(24), "0.24", ()),
    ],
)
def test_a_version_is_read(
    text: str, parsed: LmiVersion, shown: str, rows: tuple[str, ...]
) -> None:
    """
    And which of the tables describe it: of the series' middle both ends.
    """
    found = LmiVersion.parse(text)

    assert (found, str(found), found.rows) == (parsed, shown, rows)


@pytest.mark.parametrize(
    "text", ["", "latest", "0", "0.x", "1.26.0", "0.26.0.1", "0.26.0-lmi", "0.26.0\n"]
)
def test_fails_if_it_is_no_version(text: str) -> None:
    """
    With the form of those that are.
    """
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - compared below
        LmiVersion.parse(text)

    assert str(caught.value) == (
        "version must be an LMI version such as '0.26.0' or '0.36.0-lmi27', got "
        f"{text!r}"
    )


@pytest.mark.parametrize(
    ("text", "than", "at_least"),
    [
        ("0.27.0", "0.28", False),
        ("0.28.0", "0.28", True),
        ("0.29.0", "0.28", True),
        ("0.36.0-lmi18", "0.36", True),
    ],
)
def test_a_version_is_at_least_another_or_before_it(
    text: str, than: str, *, at_least: bool
) -> None:
    """
    By its minor number.
    """
    version = LmiVersion.parse(text)

    assert version.at_least(than) is at_least
    assert version.before(than) is not at_least


def test_versions_are_ordered() -> None:
    """
    By the number, then by the release.
    """
    texts = ["0.36.0-lmi18", "0.25.0", "0.36.0", "0.35.0"]

    assert [str(version) for version in sorted(map(LmiVersion.parse, texts))] == [
        "0.25",
        "0.35",
        "0.36-lmi18",
        "0.36-lmi27",
    ]


@pytest.mark.parametrize(
    ("version", "described"),
    [("0.24.0", True), ("0.36.0", True), ("0.36.0-lmi28", True), ("0.37.0", False)],
)
def test_the_tables_reach_as_far_as_a_version(version: str, *, described: bool) -> None:
    """
    A later one is read by the last of them.
    """
    assert LmiVersion.parse(version).is_described is described


@pytest.mark.parametrize(
    ("version", "vllm"),
    [
        ("0.25.0", "0.2.1.post1"),
        ("0.26.0", "0.2.7"),
        ("0.30.0", "0.6.2"),
        ("0.34.0", "0.10.2"),
        ("0.36.0-lmi22", "0.17.0"),
        ("0.36.0", "0.23.1"),
        ("0.36.0-lmi28", "0.26.0"),
        ("0.36.0-lmi99", "0.26.0"),
        ("0.38.0", "0.28.0"),
    ],
)
def test_each_release_has_a_vllm_inside(version: str, vllm: str | None) -> None:
    """
    That of the newest one that is listed, where it is not listed itself.
    """
    assert LmiVersion.parse(version).vllm == vllm


@pytest.mark.parametrize(
    ("version", "lmi_dist"),
    [("0.25.0", "0.9.4"), ("0.32.0", "14.0.0"), ("0.33.0", None), ("0.24.0", None)],
)
def test_lmi_dist_was_inside_until_0_32(version: str, lmi_dist: str | None) -> None:
    """
    Beside vLLM, which stayed.
    """
    assert LmiVersion.parse(version).lmi_dist == lmi_dist
