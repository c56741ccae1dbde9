"""
Files and tarballs that ``check`` is given, whoever made them.
"""

from __future__ import annotations

import gzip
import json
import tarfile
from pathlib import Path

import pytest

from cdk_sagemaker_llm.cli.commands.check import Target, reports_of
from tests.unit.cli.commands.test_check import run
from tests.unit.serving.lmi.artifacts import GIB, GOOD, packed, sparse

HASH = "ab" * 32
Members = dict[str, bytes | tarfile.TarInfo]
IMAGE = (
    "111111111111.dkr.ecr.us-east-1.amazonaws.com/djl-inference:"
    "0.26.0-tensorrtllm0.7.1-cu122"
)


def link(target: str) -> tarfile.TarInfo:
    """
    Describe a symbolic link.
    """
    info = tarfile.TarInfo("link")
    info.type, info.linkname = tarfile.SYMTYPE, target
    return info


def test_a_clean_tarball_ends_with_0(tmp_path: Path) -> None:
    """
    As its folder would, with the images that take it.
    """
    path = packed(tmp_path / "model.tar.gz", {"./serving.properties": GOOD})
    done = run(path)

    assert done.returncode == 0
    assert f"{path}: taken by djl-tensorrtllm 0.25.0 to" in done.stdout


def test_a_tarball_with_a_way_out_ends_with_1(tmp_path: Path) -> None:
    """
    And no image takes it.
    """
    members: Members = {"serving.properties": GOOD, "link": link("/etc/passwd")}
    done = run(packed(tmp_path / "model.tar.gz", members))

    assert done.returncode == 1
    assert "error LLM185 'link' is a link that leads out of the tarball" in done.stdout
    assert "taken by" not in done.stdout


@pytest.mark.parametrize(
    "content",
    [b"", b"PK\x03\x04", gzip.compress(b"x" * 600)[:-8]],
    ids=["empty", "zip", "cut off"],
)
def test_what_is_no_tarball_ends_with_2(content: bytes, tmp_path: Path) -> None:
    """
    In one line.
    """
    path = tmp_path / "model.tar.gz"
    path.write_bytes(content)
    done = run(path)

    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith(
        f"sagemaker-llm check: {path} is no gzipped tarball that can be read to its end"
    )
    assert done.stderr.count("\n") == 1


def test_a_file_of_forty_gigabytes_ends_with_1(tmp_path: Path) -> None:
    """
    It is not read.
    """
    sparse("serving.properties", 40 * GIB)(tmp_path)
    of_file = run(tmp_path / "serving.properties")
    of_folder = run(tmp_path)

    assert (of_file.returncode, of_folder.returncode) == (1, 1)
    assert "error LLM118" in of_file.stdout
    assert "error LLM118" in of_folder.stdout
    assert "40960 MiB" in of_folder.stdout


def test_a_tarball_of_an_app_is_judged_alike(tmp_path: Path) -> None:
    """
    Whatever put it into the cloud assembly.
    """
    members: Members = {
        "serving.properties": b"",
        "link": link(".."),
        "model.py": b"x = '" + b"hf" + b"_" + b"a1" * 17,
    }
    packed(tmp_path / f"asset.{HASH}.tar.gz", members)
    container = {"Image": IMAGE, "ModelDataUrl": f"s3://b/{HASH}.gz"}
    model = {
        "Type": "AWS::SageMaker::Model",
        "Properties": {"PrimaryContainer": container},
    }
    artifact = {
        "type": "aws:cloudformation:stack",
        "properties": {"templateFile": "t.json"},
    }
    (tmp_path / "t.json").write_text(json.dumps({"Resources": {"It": model}}))
    (tmp_path / "manifest.json").write_text(json.dumps({"artifacts": {"S": artifact}}))
    (report,) = reports_of(tmp_path, Target())

    codes = [finding.code for finding in report.findings]
    assert codes[:4] == ["LLM201", "LLM185", "LLM107", "LLM186"]
    assert report.is_checked
    assert report.left_out == ()
