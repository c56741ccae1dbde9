"""
What ``check`` finds of a folder, and of the tarball made of it, is what a construct
finds.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from cdk_sagemaker_llm import ServingFolder
from cdk_sagemaker_llm.cli.commands.check import Target, reports_of
from cdk_sagemaker_llm.hosting.models.artifact import tarball
from cdk_sagemaker_llm.serving.lmi.artifact import folder_files
from tests.unit.serving.answers import findings_of
from tests.unit.serving.lmi.artifacts import (
    GIB,
    GOOD,
    MIB,
    Make,
    linked,
    made,
    piped,
    sparse,
    written,
)

TOKEN = b"hf" + b"_" + b"aB3" * 11
ENDED = "LLM201"
# What is in a folder beside a good serving.properties, and the codes of what is found.
FOLDERS: dict[str, tuple[list[Make], list[str]]] = {
    "good": ([written(model_py=b"pass", ___pyc=b"x")], []),
    "nothing in it": ([written(serving_properties=b"")], ["LLM186", "LLM215"]),
    "blanks": ([written(serving_properties=b" \n\n")], ["LLM186", "LLM215"]),
    "empty code": ([written(__init___py=b"")], []),
    "marked": ([written(serving_properties=b"\xef\xbb\xbf" + GOOD)], ["LLM186"]),
    "marked comment": (
        [written(serving_properties=b"\xef\xbb\xbf# x\n" + GOOD)],
        ["LLM235"],
    ),
    "utf-16": (
        [written(serving_properties=GOOD.decode().encode("utf-16"))],
        ["LLM186"],
    ),
    "utf-16 without a mark": (
        [written(serving_properties=GOOD.decode().encode("utf-16-be"))],
        ["LLM186"],
    ),
    "unknown option": (
        [written(serving_properties=GOOD + b"option.dtyp=fp16\n")],
        ["LLM158"],
    ),
    "token": ([written(serving_properties=GOOD + b"# " + TOKEN)], ["LLM107"]),
    "token in code": ([written(model_py=b"x = 1\ny = '" + TOKEN)], ["LLM107"]),
    "large": ([sparse("weights", 65 * MIB)], ["LLM118"]),
    "huge": ([sparse("weights", 40 * GIB)], ["LLM118"]),
    "huge properties": ([sparse("serving.properties", 40 * GIB)], ["LLM118"]),
    "link out": ([linked("x", "/etc/passwd")], ["LLM185"]),
    "link inside": ([linked("x.py", "serving.properties")], []),
    "link round": ([linked("x", ".")], ["LLM185"]),
    "pipe": ([piped("x")], ["LLM185"]),
    "several": (
        [piped("x"), linked("y", ".."), sparse("z", 65 * MIB)],
        ["LLM118", "LLM185", "LLM185"],
    ),
}
TARGET = Target(container="djl-tensorrtllm", version="0.26.0", accelerators=8)


@pytest.mark.parametrize(("makes", "codes"), FOLDERS.values(), ids=FOLDERS)
def test_a_folder_is_judged_alike(
    makes: list[Make], codes: list[str], tmp_path: Path
) -> None:
    """
    Word for word.
    """
    folder = made(tmp_path / "x", *makes)
    serving = ServingFolder(
        folder, container_family="djl-tensorrtllm", version="0.26.0"
    )
    found = findings_of(serving, None, 8)
    (report,) = reports_of(folder, TARGET)

    assert sorted(map(str, report.findings)) == sorted(map(str, found))
    assert sorted(f.code for f in found) == sorted([*codes, ENDED])


@pytest.mark.parametrize(
    "name", [name for name, (_, codes) in FOLDERS.items() if "LLM118" not in codes]
)
def test_a_tarball_is_judged_as_its_folder(name: str, tmp_path: Path) -> None:
    """
    The one that a construct would make of it, were it not refused.
    """
    folder = made(tmp_path / "x", *FOLDERS[name][0])
    (tmp_path / "x.tar.gz").write_bytes(_packed(folder))
    (of_folder,) = reports_of(folder, TARGET)
    (of_tarball,) = reports_of(tmp_path / "x.tar.gz", TARGET)

    told = [str(finding).replace(str(folder), "") for finding in of_folder.findings]
    again = [
        str(finding).replace(str(tmp_path / "x.tar.gz"), "")
        for finding in of_tarball.findings
    ]
    assert again == [line for line in told if not line.startswith("LLM185")]


def _packed(folder: Path) -> bytes:
    return tarball(folder_files(folder).files)
