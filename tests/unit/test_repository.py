"""
What may stand in no file of this repository.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from cdk_sagemaker_llm.text import credentials_in

# What tools make, and what is installed.
_MADE = {"build", "cdk.out", "dist", "mutants", "node_modules", "__pycache__"}
# Public keys of packages' hashes, and pictures, have no words to look at.
_LOOKED_AT = {
    *(".cfg", ".css", ".csv", ".html", ".in", ".ini", ".js", ".json", ".md"),
    *(".properties", ".py", ".sh", ".toml", ".txt", ".yaml", ".yml", ""),
}


def files(root: Path) -> Iterator[Path]:
    """
    Return the repository's files that have words.
    """
    for path in sorted(root.iterdir()):
        if path.name in _MADE or (path.is_dir() and path.name.startswith(".")):
            continue
        if path.is_dir():
            yield from files(path)
        elif path.suffix in _LOOKED_AT:
            yield path


def told(root: Path) -> list[str]:
    """
    Name the credentials in a folder, by their files and lines.
    """
    found = []
    for path in files(root):
        text = path.read_text(encoding="utf-8")
        for kind, begin, _ in credentials_in(text):
            line = text.count("\n", 0, begin) + 1
            found.append(f"{path.relative_to(root)}:{line} has {kind}")
    return found


def test_no_file_has_a_credential(root: Path) -> None:
    """
    Tests build theirs from parts.
    """
    assert len(list(files(root))) > 1000
    assert told(root) == []


@pytest.mark.parametrize(
    "credential",
    ["_".join(["hf", "aB3" * 11]), "AKIA" + "ABCD" * 4],
)
def test_a_credential_would_be_found(tmp_path: Path, credential: str) -> None:
    """
    Its file and line are named, and what it is.
    """
    (tmp_path / "some.py").write_text(f"one = 1\ntoken = '{credential}'\n")
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "node_modules" / "other.py").write_text(credential)

    (found,) = told(tmp_path)

    assert found in {
        "some.py:2 has a Hugging Face token",
        "some.py:2 has an AWS access key",
    }
