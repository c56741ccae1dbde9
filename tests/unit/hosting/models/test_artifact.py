"""
The model tarball.
"""

from __future__ import annotations

import gzip
import io
import json
import subprocess
import tarfile
from collections.abc import Mapping
from fnmatch import fnmatch
from pathlib import Path

import pytest
from aws_cdk import (
    App,
    CfnResource,
    LegacyStackSynthesizer,
    NestedStack,
    Stack,
    Stage,
)
from aws_cdk.assertions import Template

from cdk_sagemaker_llm import CustomContainer, Model, ServingArtifact
from cdk_sagemaker_llm.hosting.models.artifact import check_files, content_hash, tarball
from tests.unit.hosting.written import keywords_of, required_keywords_of

FILES = {"serving.properties": b"engine=MPI\n", "model.py": b"# empty\n"}
# sha256sum of the sorted paths and contents, each behind its length in eight bytes;
# its first twelve digits are those of the stack's place.
CONTENT = "532eaabd95740102a0d6fa365c3f92c84b1f17f90777a0c1d01c037823aa303d"


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


def test_a_long_path_needs_no_extended_header() -> None:
    """
    Every tar reads the form of 1988, which splits a path at a slash.
    """
    path = f"{'a' * 120}/{'b' * 90}"
    packed = gzip.decompress(tarball({path: b""}))

    assert packed[:90] == b"b" * 90
    assert packed[345:465] == b"a" * 120


@pytest.mark.parametrize(
    "path",
    ["a" * 101, f"{'a' * 160}/{'b' * 90}", f"a/{'ü' * 60}", f"{'a' * 150}/{'b' * 120}"],
    ids=["no slash", "a long folder", "letters of two bytes", "both parts"],
)
def test_a_path_that_cannot_be_split_travels_all_the_same(
    path: str, tmp_path: Path
) -> None:
    """
    By an extended header, without a time in it; both Python and tar unpack it, and the
    other members are as before.
    """
    packed = tarball({**FILES, path: b"1"})
    (tmp_path / "x.tar.gz").write_bytes(packed)
    subprocess.run(["tar", "xzf", "x.tar.gz"], cwd=tmp_path, check=True)
    with tarfile.open(fileobj=io.BytesIO(packed), mode="r:gz") as tar:
        headers = {member.name: dict(member.pax_headers) for member in tar}

    assert (tmp_path / path).read_bytes() == b"1"
    assert headers == {**{name: {} for name in FILES}, path: {"path": path}}
    assert tarball({**FILES, path: b"1"}) == packed


def test_a_path_of_other_letters_is_written_as_utf_8() -> None:
    """
    Whatever the machine's own encoding is.
    """
    assert (
        gzip.decompress(tarball({"größe.py": b""}))[:11] == "größe.py".encode() + b"\0"
    )


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


def test_the_asset_is_named_after_its_contents(app: App, stack: Stack) -> None:
    """
    Whole, so that no machine and no release of the library names it otherwise.
    """
    CfnResource(stack, "Resource", type="AWS::SNS::Topic")
    artifact = ServingArtifact(stack, "Artifact", files=FILES)
    bucket = "cdk-hnb659fds-assets-111111111111-us-east-1"
    app.synth()
    (manifest,) = Path(app.outdir).glob("*.assets.json")
    asset = json.loads(manifest.read_text())["files"][CONTENT]
    (destination,) = asset["destinations"].values()

    assert artifact.asset_hash == CONTENT
    assert artifact.bucket_name == bucket
    assert artifact.object_key == f"{CONTENT}.gz"
    assert artifact.s3_uri == f"s3://{bucket}/{CONTENT}.gz"
    assert list(artifact.files) == ["model.py", "serving.properties"]
    assert asset["displayName"] == "Test/Artifact model tarball"
    assert asset["source"] == {"path": f"asset.{CONTENT}.tar.gz", "packaging": "file"}
    assert destination["bucketName"] == bucket
    assert destination["objectKey"] == f"{CONTENT}.gz"
    assert sorted(path.name for path in Path(app.outdir).glob("asset.*")) == [
        f"asset.{CONTENT}.tar.gz"
    ]


def test_a_tarball_that_is_there_is_not_written_again(app: App, stack: Stack) -> None:
    """
    Its name says what is in it, and several constructs may share it.
    """
    CfnResource(stack, "Resource", type="AWS::SNS::Topic")
    for name in ("One", "Two"):
        ServingArtifact(stack, name, files=FILES)
    there = Path(app.outdir) / f"asset.{CONTENT}.tar.gz"
    there.write_bytes(b"there")
    app.synth()

    assert there.read_bytes() == b"there"


def test_the_tarball_says_nothing_of_when_and_where() -> None:
    """
    No time and no name in the gzip's head, and the oldest common form of tar inside.
    """
    packed = gzip.decompress(tarball(FILES))

    assert packed[257:265] == b"ustar\x0000"
    assert tarball(FILES)[:8] == b"\x1f\x8b\x08\x00\x00\x00\x00\x00"


def test_every_keyword_is_given_above() -> None:
    """
    A new keyword is tested, or this fails.
    """
    assert keywords_of(ServingArtifact.__init__) == {"files"}
    assert required_keywords_of(ServingArtifact.__init__) == {"files"}


def _readable(artifact: ServingArtifact) -> list[str]:
    read, find = (each.to_json() for each in artifact.read_statements())
    (prefix,) = find["Condition"]["StringLike"]["s3:prefix"]
    return [read["Resource"][0].rpartition("/")[2], prefix]


def test_a_role_reads_no_tarball_of_another_stack(app: App) -> None:
    """
    That of an earlier deployment it does: an update is rolled back to it.
    """
    stacks = [Stack(app, "One"), Stack(app, "Two")]
    nested = NestedStack(stacks[0], "Nested")
    first, second, inner = (
        ServingArtifact(each, "Artifact", files=FILES) for each in (*stacks, nested)
    )
    later = ServingArtifact(stacks[0], "Later", files={"model.py": b"# later"})

    assert first.object_key != second.object_key
    assert _readable(first) == _readable(later) == _readable(inner)
    pattern, listed = _readable(first)
    assert pattern == listed == f"{first.object_key[:12]}*.gz"
    assert fnmatch(later.object_key, pattern)
    assert not fnmatch(second.object_key, pattern)


def test_keys_that_a_synthesizer_makes_up_are_all_readable(app: App) -> None:
    """
    Nothing is known of them.
    """
    stack = Stack(app, "One", synthesizer=LegacyStackSynthesizer())
    artifact = ServingArtifact(stack, "Artifact", files=FILES)

    assert _readable(artifact) == ["*.gz", "*.gz"]


def test_the_role_may_read_tarballs_and_nothing_else(stack: Stack) -> None:
    """
    Of this stack: no write, no other bucket, no tarball of another stack; the key is
    listed before it is read.
    """
    artifact = ServingArtifact(stack, "Artifact", files=FILES)
    statements = [each.to_json() for each in artifact.read_statements()]
    bucket = [
        "",
        [
            "arn:",
            {"Ref": "AWS::Partition"},
            ":s3:::cdk-hnb659fds-assets-111111111111-us-east-1",
        ],
    ]

    assert stack.resolve(statements) == [
        {
            "Sid": "ReadTarball",
            "Effect": "Allow",
            "Action": ["s3:GetObject"],
            "Resource": [
                {
                    "Fn::Join": [
                        "",
                        [
                            "arn:",
                            {"Ref": "AWS::Partition"},
                            ":s3:::cdk-hnb659fds-assets-111111111111-us-east-1/532eaabd9574*.gz",
                        ],
                    ]
                }
            ],
        },
        {
            "Sid": "FindTarball",
            "Effect": "Allow",
            "Action": ["s3:ListBucket"],
            "Resource": [{"Fn::Join": bucket}],
            "Condition": {"StringLike": {"s3:prefix": ["532eaabd9574*.gz"]}},
        },
    ]


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "files must name at least one file"),
        ({"\udcff.py": b""}, "paths must be text in UTF-8, got '\\udcff.py'"),
        ({"/etc/x": b""}, "paths must stay inside the tarball, got /etc/x"),
        (
            {"../x": b"", "a/../../y": b"", "z": b""},
            "paths must stay inside the tarball, got ../x, a/../../y",
        ),
        (
            {"": b""},
            "paths must have parts of 1 to 255 bytes without NUL, got '.'",
        ),
        (
            {"a\0b": b""},
            "paths must have parts of 1 to 255 bytes without NUL, got 'a\\x00b'",
        ),
        (
            {"a" + "é" * 127 + "b": b""},
            (
                "paths must have parts of 1 to 255 bytes without NUL, got "
                f"{'a' + 'é' * 127 + 'b'!r}"
            ),
        ),
        (
            {"a/b/c": b"", "a/b": b""},
            "paths must be files or folders, and 'a/b' would be both",
        ),
    ],
    ids=["none", "no text", "absolute", "above", "empty", "NUL", "long", "both"],
)
def test_fails_if_files_are_none_or_outside(
    stack: Stack, files: dict[str, bytes], message: str
) -> None:
    """
    Nothing leaves the tarball's own folder; each path that would is named.
    """
    with pytest.raises(ValueError, match="files|paths") as raised:
        ServingArtifact(stack, "Artifact", files=files)

    assert str(raised.value) == message
    assert stack.node.children == []


def test_a_part_of_a_path_has_255_bytes_at_most(stack: Stack) -> None:
    """
    The whole may be longer.
    """
    name = "a" + "é" * 127

    ServingArtifact(stack, "Artifact", files={f"{name}/{name}": b"", "ab": b""})


def test_dots_in_a_name_are_no_way_out(stack: Stack) -> None:
    """
    Two dots are a folder above only where they stand alone.
    """
    files = {"a..b/..c.py": b"", ".hidden": b""}

    assert ServingArtifact(stack, "Artifact", files=files).files == {
        ".hidden": b"",
        "a..b/..c.py": b"",
    }


def test_an_artifact_that_left_the_tree_takes_no_other_with_it(app: App) -> None:
    """
    Whichever of a stage's artifacts is still there writes the others' tarballs too.
    """
    first, second = Stack(app, "First"), Stack(app, "Second")
    for stack in (first, second):
        CfnResource(stack, "It", type="AWS::SNS::Topic")
    ServingArtifact(first, "Tarball", files={"a": b"1"})
    kept = ServingArtifact(second, "Tarball", files={"a": b"2"})
    app.node.try_remove_child("First")

    written = Path(app.asset_outdir) / f"asset.{kept.asset_hash}.tar.gz"
    Template.from_stack(second)
    assert written.read_bytes() == tarball({"a": b"2"})


def test_a_model_with_a_file_outside_leaves_nothing_behind(stack: Stack) -> None:
    """
    It is refused before anything is made.
    """
    serving = CustomContainer.from_uri(
        "1" * 12 + ".dkr.ecr.eu-west-1.amazonaws.com/x:1", files={"../x": b""}
    )

    with pytest.raises(ValueError, match=r"inside the tarball, got \.\./x"):
        Model(stack, "It", serving=serving)

    assert stack.node.try_find_child("It") is None


def test_a_stack_may_have_any_name(app: App) -> None:
    """
    What writes the tarballs stands among an app's stacks, and takes no name of theirs.
    """
    ServingArtifact(Stack(app, "First"), "Tarball", files={"a": b"1"})

    assert Stack(app, "ServingArtifacts").stack_name == "ServingArtifacts"


def test_a_second_synthesis_writes_what_was_deleted(app: App) -> None:
    """
    An emptied folder is filled again.
    """
    stack = Stack(app, "Test")
    CfnResource(stack, "It", type="AWS::SNS::Topic")
    artifact = ServingArtifact(stack, "Tarball", files={"a": b"1"})
    written = Path(app.asset_outdir) / f"asset.{artifact.asset_hash}.tar.gz"
    app.synth()
    written.unlink()
    app.synth(force=True)

    assert written.read_bytes() == tarball({"a": b"1"})


@pytest.mark.parametrize("name", ["a/b", "b" * 255, "ab/a", "ä" * 127])
def test_a_path_that_a_host_takes_passes(name: str) -> None:
    """
    Beside one that only begins like it.
    """
    check_files({name: b"", "a.b": b""})
