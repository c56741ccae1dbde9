"""
Reading a tarball that somebody else made.
"""

from __future__ import annotations

import gzip
import io
import tarfile
import tracemalloc
from pathlib import Path

import pytest

from cdk_sagemaker_llm.serving.lmi.artifact import (
    Artifact,
    ArtifactError,
    is_tarball,
    tarball_files,
)
from tests.unit.serving.lmi.artifacts import GIB, GOOD, MIB, packed

WAY_OUT = "; remove it, or put a file with the content there"


def member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    """
    Describe a member without content.
    """
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, link
    return info


def told(artifact: Artifact) -> list[str]:
    """
    Return what is said.
    """
    return [str(finding) for finding in artifact.findings]


def test_files_are_read_as_the_container_finds_them(tmp_path: Path) -> None:
    """
    However they are named: ``tar czf x.tar.gz .`` puts a dot before each.
    """
    path = packed(
        tmp_path / "x.tar.gz",
        {
            "./": member(".", tarfile.DIRTYPE),
            "./serving.properties": GOOD,
            "./code/größe.py": b"pass",
            f"./{'d' * 150}/{'f' * 150}": b"1",
            "./._serving.properties": b"x",
            "./__pycache__/x.pyc": b"x",
        },
    )

    long = f"{'d' * 150}/{'f' * 150}"
    files = {"code/größe.py": b"pass", long: b"1", "serving.properties": GOOD}
    assert tarball_files(path) == Artifact(
        files, {name: len(content) for name, content in files.items()}
    )


def test_of_two_members_of_one_name_the_last_is_read(tmp_path: Path) -> None:
    """
    It is unpacked over the first.
    """
    path = packed(tmp_path / "x.tar.gz", {"./a": b"first", "a": b"2"})

    assert tarball_files(path) == Artifact({"a": b"2"}, {"a": 1})


def test_links_inside_are_followed(tmp_path: Path) -> None:
    """
    Symbolic ones from where they are, hard ones from the top; to folders as well, and
    to what stays behind itself.
    """
    links = [
        member("in/up.py", tarfile.SYMTYPE, "../one.py"),
        member("hard.py", tarfile.LNKTYPE, "in/two.py"),
        member("in/hard.py", tarfile.LNKTYPE, "one.py"),
        member("again.py", tarfile.SYMTYPE, "in/up.py"),
        member("more", tarfile.SYMTYPE, "in"),
        member("shown.py", tarfile.SYMTYPE, ".hidden/x.py"),
        member(".old", tarfile.SYMTYPE, "gone"),
    ]
    path = packed(
        tmp_path / "x.tar.gz",
        {
            "one.py": b"1",
            "in/two.py": b"2",
            "inner.py": b"4",
            ".hidden/x.py": b"3",
            **{link.name: link for link in links},
        },
    )
    read = tarball_files(path)

    assert told(read) == []
    assert read.files == {
        "again.py": b"1",
        "hard.py": b"2",
        "in/hard.py": b"1",
        "in/two.py": b"2",
        "in/up.py": b"1",
        "inner.py": b"4",
        "more/hard.py": b"1",
        "more/two.py": b"2",
        "more/up.py": b"1",
        "one.py": b"1",
        "shown.py": b"3",
    }


@pytest.mark.parametrize(
    ("refused", "why"),
    [
        (member("/etc/x"), "is a path that leads out of the tarball"),
        (member("../x"), "is a path that leads out of the tarball"),
        (member("a/../../x"), "is a path that leads out of the tarball"),
        (member("..", tarfile.DIRTYPE), "is a path that leads out of the tarball"),
        (
            member("a", tarfile.SYMTYPE, "/etc/passwd"),
            "is a link that leads out of the tarball",
        ),
        (
            member("a/b", tarfile.SYMTYPE, "../../x"),
            "is a link that leads out of the tarball",
        ),
        (
            member("a/b", tarfile.LNKTYPE, "../x"),
            "is a link that leads out of the tarball",
        ),
        (member("a", tarfile.SYMTYPE, "gone"), "is a link to nothing"),
        (
            member("a", tarfile.SYMTYPE, "a"),
            "is a link that leads round in a circle",
        ),
        (member("a", tarfile.CHRTYPE), "is a device or a named pipe, no file"),
        (member("a", tarfile.BLKTYPE), "is a device or a named pipe, no file"),
        (member("a", tarfile.FIFOTYPE), "is a device or a named pipe, no file"),
    ],
    ids=lambda value: value.name if isinstance(value, tarfile.TarInfo) else "",
)
def test_what_leads_elsewhere_is_refused(
    refused: tarfile.TarInfo, why: str, tmp_path: Path
) -> None:
    """
    And named; everything else is read.
    """
    path = packed(
        tmp_path / "x.tar.gz", {refused.name: refused, "serving.properties": GOOD}
    )
    read = tarball_files(path)

    assert told(read) == [f"LLM185 {refused.name!r} {why}{WAY_OUT}"]
    assert read.files == {"serving.properties": GOOD}


def announced(path: Path, size: int, kind: bytes = tarfile.REGTYPE) -> Path:
    """
    Write a tarball whose last member says that it is larger than it is.
    """
    huge = member("weights.bin", kind)
    huge.size = size
    with gzip.open(path, "wb") as file:
        properties = member("serving.properties")
        properties.size = len(GOOD)
        file.write(properties.tobuf() + GOOD.ljust(512, b"\0"))
        file.write(huge.tobuf(tarfile.GNU_FORMAT))
        # Zeros compress to nothing: a mebibyte of them is a kilobyte here.
        for _ in range(0, min(size, 90 * MIB), MIB):
            file.write(bytes(MIB))
    return path


def test_a_bomb_is_not_unpacked(tmp_path: Path) -> None:
    """
    Its header says enough.
    """
    path = announced(tmp_path / "x.tar.gz", 40 * GIB)
    tracemalloc.start()
    read = tarball_files(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert told(read) == [
        (
            f"LLM118 {str(path)!r} holds 40960 MiB; an artifact holds configuration "
            "and code only, and the largest file, weights.bin, has 40960 MiB; put "
            "weights under an S3 prefix and name it as option.model_id"
        )
    ]
    assert read.files == {"serving.properties": GOOD}
    assert peak < 2 * MIB


@pytest.mark.parametrize("kind", [tarfile.GNUTYPE_LONGNAME, tarfile.XHDTYPE])
def test_a_bomb_in_a_header_is_not_unpacked(kind: bytes, tmp_path: Path) -> None:
    """
    A name or an extended header is read whole before anything can be said of it.
    """
    path = announced(tmp_path / "x.tar.gz", 40 * GIB, kind)

    assert told(tarball_files(path)) == [
        (
            f"LLM118 {str(path)!r} unpacks to more than 64 MiB; an artifact holds "
            "configuration and code only; pack configuration and code alone"
        )
    ]


@pytest.mark.parametrize(("count", "codes"), [(10_000, []), (10_001, ["LLM118"])])
def test_10000_members_are_the_bound(
    count: int, codes: list[str], tmp_path: Path
) -> None:
    """
    Folders count as well.
    """
    members = {
        str(number): member(str(number), tarfile.DIRTYPE) for number in range(count)
    }
    path = packed(tmp_path / "x.tar.gz", members)

    assert [finding.code for finding in tarball_files(path).findings] == codes


@pytest.mark.parametrize(("more", "codes"), [(0, []), (1, ["LLM118"])])
def test_64_mib_are_the_bound(more: int, codes: list[str], tmp_path: Path) -> None:
    """
    As of a folder.
    """
    half = bytes(32 * MIB)
    path = packed(tmp_path / "x.tar.gz", {"a": half, "b": half + bytes(more)})
    read = tarball_files(path)

    assert [finding.code for finding in read.findings] == codes
    assert ("b" in read.files) is not bool(more)


def test_a_link_into_a_circle_leads_round_as_well(tmp_path: Path) -> None:
    """
    Though it is no part of it.
    """
    links = {
        name: member(name, tarfile.SYMTYPE, target)
        for name, target in (("a", "b"), ("b", "c"), ("c", "b"))
    }
    read = tarball_files(packed(tmp_path / "x.tar.gz", links))

    assert told(read) == [
        f"LLM185 {name!r} is a link that leads round in a circle{WAY_OUT}"
        for name in ("a", "b", "c")
    ]


def test_what_follows_the_last_byte_is_still_read(tmp_path: Path) -> None:
    """
    An empty file takes none.
    """
    half = bytes(32 * MIB)
    path = packed(tmp_path / "x.tar.gz", {"a": half, "b": half, "c": b""})

    assert list(tarball_files(path).files) == ["a", "b", "c"]


def test_links_that_multiply_end_at_the_bound(tmp_path: Path) -> None:
    """
    Each link to a folder stands for all that is in it.
    """
    files: dict[str, bytes | tarfile.TarInfo] = {f"d0/{n}": b"" for n in range(100)}
    for number in range(200):
        files[f"l{number}"] = member(f"l{number}", tarfile.SYMTYPE, "d0")
    read = tarball_files(packed(tmp_path / "x.tar.gz", files))

    assert [finding.code for finding in read.findings] == ["LLM118"]
    assert len(read.sizes) == 10_100


def _tarball() -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name in ("a", "b"):
            info = member(name)
            info.size = 100_000
            tar.addfile(info, io.BytesIO(bytes(range(250)) * 400))
    return buffer.getvalue()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"engine=MPI\n",
        _tarball(),
        gzip.compress(b""),
        gzip.compress(b"engine=MPI\n"),
        gzip.compress(_tarball())[:-3000],
        gzip.compress(_tarball()[:150_000]),
        gzip.compress(_tarball())[:200] + b"\xff" * 100,
    ],
    ids=[
        "nothing",
        "text",
        "not gzipped",
        "nothing gzipped",
        "text gzipped",
        "gzip cut off",
        "tar cut off",
        "garbled",
    ],
)
def test_fails_if_it_is_no_tarball(content: bytes, tmp_path: Path) -> None:
    """
    In one message, with the path.
    """
    path = tmp_path / "x.tar.gz"
    path.write_bytes(content)

    with pytest.raises(ArtifactError, match="x.tar.gz is no gzipped tarball that can"):
        tarball_files(path)


def test_fails_if_it_is_not_there(tmp_path: Path) -> None:
    """
    As any file.
    """
    with pytest.raises(FileNotFoundError):
        tarball_files(tmp_path / "x.tar.gz")


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("model.tar.gz", b"", True),
        ("model.tgz", b"", True),
        ("model.tar", b"", True),
        ("asset", b"\x1f\x8b\x08", True),
        ("serving.properties", GOOD, False),
        ("empty", b"", False),
        ("tar.gz.properties", b"\x1f", False),
    ],
)
def test_tarballs_are_known_by_name_or_content(
    name: str, content: bytes, *, expected: bool, tmp_path: Path
) -> None:
    """
    Everything else is a serving.properties.
    """
    (tmp_path / name).write_bytes(content)

    assert is_tarball(tmp_path / name) is expected
