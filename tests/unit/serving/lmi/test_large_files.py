"""
Odd files cost no more than their size: what is looked at, and told, is bounded.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from cdk_sagemaker_llm.findings import Finding
from cdk_sagemaker_llm.serving import check_properties
from cdk_sagemaker_llm.serving.lmi.artifact import (
    Artifact,
    folder_files,
    single_file,
    tarball_files,
)
from cdk_sagemaker_llm.serving.lmi.properties import parse
from cdk_sagemaker_llm.text import nearest
from tests.unit.serving.lmi.artifacts import packed

KIB = 1024


def found_in(text: str, *, strict: bool = False) -> list[Finding]:
    """
    Check a file for the newest image whose options are known.
    """
    return check_properties(
        text,
        container="djl-lmi",
        version="0.36.0-lmi27",
        accelerators=1,
        strict=strict,
    )


def unknown(count: int) -> str:
    """
    Return a file with options that nobody knows.
    """
    return "engine=Python\n" + "".join(f"option.zz{n}=1\n" for n in range(count))


@pytest.mark.parametrize(("strict", "code"), [(False, "LLM204"), (True, "LLM158")])
def test_fifty_unknown_options_are_told_one_by_one(*, strict: bool, code: str) -> None:
    """
    What is more is counted.
    """
    fifty = [one for one in found_in(unknown(50), strict=strict) if one.code == code]
    more = [one for one in found_in(unknown(5000), strict=strict) if one.code == code]

    assert len(fifty) == 50
    assert more[:-1] == fifty
    assert str(more[-1]) == (
        f"{code} 4950 more names are no options of vllm at LMI 0.36-lmi27: they are "
        "ignored; leave them out"
    )


def test_known_options_behind_many_unknown_ones_are_checked() -> None:
    """
    Only names that nobody knows are counted together.
    """
    found = found_in(unknown(60) + "option.smoothquant_alpha=0.5\n")

    assert any("option.smoothquant_alpha" in one.message for one in found)


def test_a_long_name_is_like_no_short_one() -> None:
    """
    As the measure itself says, which is not asked for it.
    """
    assert nearest("abc" + "x" * 4, ["abc"]) == ["abc"]
    assert nearest("abc" + "x" * 5, ["abc"]) == []
    assert nearest("x", []) == []


@pytest.mark.parametrize(
    ("line", "key", "value"),
    [
        ("a=b", "a", "b"),
        ("a\\=b=c", "a=b", "c"),
        ("a\\\\=b", "a\\", "b"),
        ("a\\ b : c", "a b", "c"),
        ("k" * 200_000 + "=1", "k" * 200_000, "1"),
    ],
    ids=["plain", "escaped", "backslash", "blank", "long"],
)
def test_a_key_ends_where_java_ends_it(line: str, key: str, value: str) -> None:
    """
    At the first separator that no backslash stands before.
    """
    assert parse(line) == {key: value}


def file_of(folder: Path) -> Artifact:
    """
    Read the file alone.
    """
    return single_file(folder / "serving.properties")


def tarball(folder: Path) -> Artifact:
    """
    Read the folder's tarball.
    """
    content = (folder / "serving.properties").read_bytes()
    return tarball_files(packed(folder / "it.tar.gz", {"serving.properties": content}))


@pytest.mark.parametrize("read", [file_of, folder_files, tarball])
def test_256_kib_are_read_and_one_byte_more_is_not(
    tmp_path: Path, read: Callable[[Path], Artifact]
) -> None:
    """
    Whatever it comes in.
    """
    file = tmp_path / "serving.properties"
    file.write_bytes(b"#" * 256 * KIB)
    at_bound = read(tmp_path)
    file.write_bytes(b"#" * (256 * KIB + 1))
    beside = read(tmp_path)

    assert len(at_bound.files["serving.properties"]) == 256 * KIB
    assert at_bound.findings == ()
    assert beside.files == {}
    assert [finding.code for finding in beside.findings] == ["LLM118"]
    assert "holds 257 KiB; a serving.properties holds at most 256 KiB" in str(
        beside.findings[0]
    )
