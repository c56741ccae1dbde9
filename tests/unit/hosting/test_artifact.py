"""
The model tarball.
"""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from aws_cdk import App, CfnResource, Stack, Stage

from cdk_sagemaker_llm import ServingArtifact
from cdk_sagemaker_llm.hosting.artifact import content_hash, tarball

FILES = {"serving.properties": b"engine=MPI\n", "model.py": b"# empty\n"}


def test_the_tarball_unpacks_to_the_files() -> None:
    """
    Contents, modes and owners are what SageMaker unpacks.
    """
    with tarfile.open(fileobj=io.BytesIO(tarball(FILES)), mode="r:gz") as tar:
        members = tar.getmembers()
        content = {m.name: (f := tar.extractfile(m)) and f.read() for m in members}

    assert content == FILES
    assert [m.name for m in members] == sorted(FILES)
    assert {(m.mtime, m.uid, m.gid, m.mode) for m in members} == {(0, 0, 0, 0o644)}


def test_order_does_not_change_the_bytes() -> None:
    """
    The same files in another order are the same tarball.
    """
    backwards = dict(reversed(FILES.items()))

    assert tarball(backwards) == tarball(FILES)
    assert content_hash(backwards) == content_hash(FILES)


@pytest.mark.parametrize(
    "other",
    [
        {**FILES, "model.py": b"# other\n"},
        {"serving.properties": b"engine=MPI\n", "model.py#": b" empty\n"},
        {"serving.properties": b"engine=MPI\n"},
    ],
    ids=["content", "boundary", "fewer"],
)
def test_any_difference_changes_the_hash(other: Mapping[str, bytes]) -> None:
    """
    A changed artifact is always uploaded, and replaces the Model.
    """
    assert content_hash(other) != content_hash(FILES)


def test_it_is_written_when_the_app_is_synthesised(app: App, stack: Stack) -> None:
    """
    A definition that fails later leaves no file behind.
    """
    CfnResource(stack, "Resource", type="AWS::SNS::Topic")
    ServingArtifact(stack, "Artifact", files=FILES)
    before = list(Path(app.outdir).glob("asset.*"))

    app.synth()
    (written,) = Path(app.outdir).glob("asset.*")

    assert before == []
    assert written.read_bytes() == tarball(FILES)


def test_a_stage_of_its_own_finds_the_tarball(app: App) -> None:
    """
    The path in a nested assembly's manifest leads to the file.
    """
    stage = Stage(app, "Prod")
    stack = Stack(stage, "Stack")
    CfnResource(stack, "Resource", type="AWS::SNS::Topic")
    artifact = ServingArtifact(stack, "Artifact", files=FILES)

    assembly = app.synth()
    (manifest,) = Path(app.outdir, "assembly-Prod").glob("*.assets.json")
    files = json.loads(manifest.read_text())["files"]
    path = manifest.parent / files[artifact.asset_hash]["source"]["path"]

    assert assembly.directory == app.outdir
    assert path.read_bytes() == tarball(FILES)


def test_the_role_may_read_tarballs_and_nothing_else(stack: Stack) -> None:
    """
    No write, no other asset.
    """
    read, find = ServingArtifact(stack, "Artifact", files=FILES).read_statements()

    assert (read.actions, find.actions) == (["s3:GetObject"], ["s3:ListBucket"])
    assert read.resources[0].endswith("/*.gz")
    assert read.wildcard_reason
    assert find.conditions == {"StringLike": {"s3:prefix": ["*.gz"]}}


@pytest.mark.parametrize("files", [{}, {"/etc/x": b""}, {"../x": b""}], ids=str)
def test_fails_if_files_are_none_or_outside(
    stack: Stack, files: dict[str, bytes]
) -> None:
    """
    Nothing leaves the tarball's own folder.
    """
    with pytest.raises(ValueError, match="files must name|stay inside"):
        ServingArtifact(stack, "Artifact", files=files)

    assert stack.node.children == []
