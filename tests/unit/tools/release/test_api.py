"""
What a release promises, and what breaks it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.release.api import Break, findings, public_names

GONE = Break("Chat(voice=)", "Parameter was removed", ("Chat", "voice"))
TOLD = ["**Breaking: `Chat` takes no `voice` any more.**"]


def test_public_is_what_the_upper_packages_list(tmp_path: Path) -> None:
    """
    Not what is further down, has no list, or serves the library itself.
    """
    for room, text in {
        "": "__all__ = ['Chat']",
        "fit": "__all__ = ['plan']",
        "fit/inner": "__all__ = ['hidden']",
        "pages": "def page(): ...",
        "arguments": "__all__ = ['held']",
    }.items():
        folder = tmp_path / "constructs" / "cdk_sagemaker_llm" / room
        folder.mkdir(parents=True)
        (folder / "__init__.py").write_text(text)

    assert public_names(tmp_path) == {
        "cdk_sagemaker_llm": ["Chat"],
        "cdk_sagemaker_llm.fit": ["plan"],
    }


def test_the_library_promises_its_own_names(root: Path) -> None:
    """
    The constructs, the client and the test double are among them.
    """
    names = public_names(root)

    assert "LlmEndpoint" in names["cdk_sagemaker_llm"]
    assert "LlmClient" in names["cdk_sagemaker_llm.client"]
    assert "EmbeddedAws" in names["cdk_sagemaker_llm.local"]
    assert "cdk_sagemaker_llm.arguments" not in names


def test_a_break_that_is_told_is_no_finding() -> None:
    """
    A new minor version may break before 1.0, a new major version after it.
    """
    assert findings([GONE], TOLD, version="0.2.0", release="0.1.7") == []
    assert findings([GONE], TOLD, version="2.0.0", release="1.4.0") == []


def test_a_break_that_nobody_is_told_of_is_a_finding() -> None:
    """
    It has the line to write.
    """
    (found,) = findings([GONE], [], version="0.2.0", release="0.1.0")

    assert found == (
        "Chat(voice=): Parameter was removed, and no bold entry of CHANGELOG.md says "
        "so; keep it, or write: - **Breaking: ... `Chat` ... `voice` ...**"
    )


@pytest.mark.parametrize(
    ("version", "release", "part"),
    [("0.1.1", "0.1.0", "minor"), ("1.5.0", "1.4.0", "major")],
)
def test_a_version_that_may_not_break_is_a_finding(
    version: str, release: str, part: str
) -> None:
    """
    Also where the changelog tells it.
    """
    (found,) = findings([GONE], TOLD, version=version, release=release)

    assert found == (
        f"{version} breaks what {release} promised, which only a new {part} version "
        "may; raise the version in pyproject.toml, or keep what broke"
    )
    assert findings([], [], version=version, release=release) == []
