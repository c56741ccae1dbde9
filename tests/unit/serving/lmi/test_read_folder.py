"""
Reading a folder: what travels, and what is refused before it is read.
"""

from __future__ import annotations

import json
import os
import tempfile
import tracemalloc
from pathlib import Path

import pytest

from cdk_sagemaker_llm.serving.lmi.artifact import Artifact, folder_files, single_file
from tests.unit.serving.lmi.artifacts import (
    GIB,
    GOOD,
    MIB,
    linked,
    listening,
    made,
    piped,
    sparse,
    written,
)

WAY_OUT = "; remove it, or put a file with the content there"


def told(artifact: Artifact) -> list[str]:
    """
    Return what is said.
    """
    return [str(finding) for finding in artifact.findings]


def test_files_are_read_with_their_sizes(tmp_path: Path) -> None:
    """
    At any depth, by their paths with slashes.
    """
    folder = made(tmp_path / "x", written(model_py=b"pass"))
    (folder / "code").mkdir()
    (folder / "code" / "größe.py").write_bytes(b"")

    assert folder_files(folder) == Artifact(
        {"code/größe.py": b"", "model.py": b"pass", "serving.properties": GOOD},
        {"code/größe.py": 0, "model.py": 4, "serving.properties": len(GOOD)},
    )


@pytest.mark.parametrize(
    "name",
    [
        ".DS_Store",
        ".git/config",
        "__pycache__/model.cpython-311.pyc",
        "code/model.pyc",
        "model.pyo",
        "model.py~",
        ".model.py.swp",
        "Thumbs.db",
        "desktop.ini",
    ],
)
def test_what_is_left_behind(name: str, tmp_path: Path) -> None:
    """
    Bytecode, hidden files, and what editors and file managers leave, whatever it is.
    """
    folder = made(tmp_path / "x")
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).symlink_to("/etc/passwd")

    assert folder_files(folder) == Artifact(
        {"serving.properties": GOOD}, {"serving.properties": len(GOOD)}
    )


@pytest.mark.parametrize(
    "name", ["model.py", "__init__.py", "a~b.py", "x.pycx", "pyc", "thumbs.db"]
)
def test_what_is_named_nearly_so_travels(name: str, tmp_path: Path) -> None:
    """
    An empty file as well.
    """
    folder = made(tmp_path / "x")
    (folder / name).touch()

    assert folder_files(folder).files == {name: b"", "serving.properties": GOOD}


def test_links_inside_are_followed(tmp_path: Path) -> None:
    """
    To files, to folders, to other links, and by a full path; also from a folder that
    is itself reached by a link.
    """
    folder = made(tmp_path / "x", written(one_py=b"1"))
    (folder / "code").mkdir()
    (folder / "code" / "two.py").write_bytes(b"2")
    for make in (
        linked("a.py", "one.py"),
        linked("b.py", "a.py"),
        linked("more", "code"),
        linked("code/up.py", "../one.py"),
        linked("full.py", str(folder / "one.py")),
    ):
        make(folder)
    (tmp_path / "other").symlink_to(folder)
    read = folder_files(tmp_path / "other")

    assert read.findings == ()
    assert read.files == {
        "a.py": b"1",
        "b.py": b"1",
        "code/two.py": b"2",
        "code/up.py": b"1",
        "full.py": b"1",
        "more/two.py": b"2",
        "more/up.py": b"1",
        "one.py": b"1",
        "serving.properties": GOOD,
    }


@pytest.mark.parametrize(
    ("name", "target", "why"),
    [
        ("a", "/etc/passwd", "leads out of the folder"),
        ("a", "/", "leads out of the folder"),
        ("a", "..", "leads out of the folder"),
        ("a", "../x-beside/f", "leads out of the folder"),
        ("in/a", "../../y", "leads out of the folder"),
        ("a", ".", "leads round in a circle"),
        ("in/a", "..", "leads round in a circle"),
        ("in/a", "../in", "leads round in a circle"),
        ("a", "a", "leads round in a circle"),
        ("a", "gone", "leads to nothing"),
    ],
)
def test_a_link_elsewhere_is_refused(
    name: str, target: str, why: str, tmp_path: Path
) -> None:
    """
    And named; everything else is read.
    """
    (tmp_path / "x-beside").mkdir()
    (tmp_path / "x-beside" / "f").write_bytes(b"secret")
    read = folder_files(made(tmp_path / "x", linked(name, target)))

    why = why.replace("leads to nothing", "to nothing").replace("leads", "that leads")
    assert told(read) == [f"LLM185 {name!r} is a link {why}{WAY_OUT}"]
    assert read.files == {"serving.properties": GOOD}


def test_two_links_to_each_other_are_refused(tmp_path: Path) -> None:
    """
    Each by its name.
    """
    read = folder_files(made(tmp_path / "x", linked("a", "b"), linked("b", "a")))

    assert told(read) == [
        f"LLM185 {name!r} is a link that leads round in a circle{WAY_OUT}"
        for name in "ab"
    ]


def test_special_files_are_refused(tmp_path: Path) -> None:
    """
    A pipe would be read for ever.
    """
    folder = made(tmp_path / "x", piped("pipe"), listening("socket"))

    assert told(folder_files(folder)) == [
        f"LLM185 'pipe' is a named pipe, no file{WAY_OUT}",
        f"LLM185 'socket' is a socket, no file{WAY_OUT}",
    ]


def test_a_device_is_refused() -> None:
    """
    It has no end.
    """
    assert f"LLM185 'null' is a device, no file{WAY_OUT}" in told(
        folder_files(Path("/dev"))
    )


def test_a_name_that_is_no_text_is_refused(tmp_path: Path) -> None:
    """
    No tarball holds it the same way everywhere.
    """
    folder = made(tmp_path / "x")
    (folder / os.fsdecode(b"\xff.py")).touch()

    assert told(folder_files(folder)) == [
        f"LLM185 '\\udcff.py' has a name that is not UTF-8{WAY_OUT}"
    ]


def test_what_may_not_be_read_is_named(tmp_path: Path) -> None:
    """
    A file and a folder, by a user who is not root.
    """
    folder = made(tmp_path / "x", written(model_py=b"pass"))
    (folder / "code").mkdir()
    (folder / "code").chmod(0)
    (folder / "model.py").chmod(0)
    shared = Path(tempfile.gettempdir()).resolve()
    above = tmp_path.resolve()
    while above not in {shared, above.parent}:
        above.chmod(0o755)
        above = above.parent

    assert _read_as_nobody(folder) == [
        f"LLM185 'code' cannot be read: Permission denied{WAY_OUT}",
        f"LLM185 'model.py' cannot be read: Permission denied{WAY_OUT}",
    ]


def _read_as_nobody(folder: Path) -> list[str]:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:  # No exception may leave the copy of this process.
        try:
            if os.geteuid() == 0:
                os.seteuid(65534)
            os.write(writing, json.dumps(told(folder_files(folder))).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as answer:
        found: list[str] = json.loads(answer.read())
    os.waitpid(child, 0)
    return found


def test_a_file_of_forty_gigabytes_is_not_read(tmp_path: Path) -> None:
    """
    Its size says enough, and names it; the rest is read.
    """
    folder = made(tmp_path / "x", sparse("weights.bin", 40 * GIB))
    tracemalloc.start()
    read = folder_files(folder)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert told(read) == [
        (
            f"LLM118 {str(folder)!r} holds 40960 MiB; an artifact holds configuration "
            "and code only, and the largest file, weights.bin, has 40960 MiB; put "
            "weights under an S3 prefix and name it as option.model_id"
        )
    ]
    assert read.files == {"serving.properties": GOOD}
    assert peak < MIB


@pytest.mark.parametrize(("more", "codes"), [(0, []), (1, ["LLM118"])])
def test_64_mib_are_the_bound(more: int, codes: list[str], tmp_path: Path) -> None:
    """
    Of all the files together.
    """
    rest = 64 * MIB - len(GOOD) - 32 * MIB
    folder = made(tmp_path / "x", sparse("a", 32 * MIB), sparse("b", rest + more))
    read = folder_files(folder)

    assert [finding.code for finding in read.findings] == codes
    assert sum(read.sizes.values()) == 64 * MIB + more


@pytest.mark.parametrize(("count", "codes"), [(9_999, []), (10_000, ["LLM118"])])
def test_10000_files_are_the_bound(
    count: int, codes: list[str], tmp_path: Path
) -> None:
    """
    With serving.properties: more is some other folder, such as a home.
    """
    folder = made(tmp_path / "x")
    for number in range(count):
        (folder / f"{number}.py").touch()

    assert [finding.code for finding in folder_files(folder).findings] == codes


def test_links_that_multiply_end_at_the_bound(tmp_path: Path) -> None:
    """
    Twenty folders with two links each would be a million.
    """
    folder = made(tmp_path / "x")
    for depth in range(20):
        (folder / f"d{depth:02}").mkdir()
        for name in "ab":
            (folder / f"d{depth:02}" / name).symlink_to(f"../d{depth + 1:02}")
    (folder / "d20").mkdir()

    assert [f.code for f in folder_files(folder).findings] == ["LLM118"]


def test_a_single_file_is_its_artifacts_serving_properties(tmp_path: Path) -> None:
    """
    Whatever its name is; and its size is looked at as well.
    """
    path = tmp_path / "x.properties"
    path.write_bytes(GOOD)
    small = single_file(path)
    sparse("x.properties", 40 * GIB)(tmp_path)
    large = single_file(path)

    assert small == Artifact(
        {"serving.properties": GOOD}, {"serving.properties": len(GOOD)}
    )
    assert [finding.code for finding in large.findings] == ["LLM118"]
    assert large.files == {}


def test_a_file_without_a_true_size_is_refused() -> None:
    """
    It may go on for ever.
    """
    assert told(single_file(Path("/proc/self/status"))) == [
        (
            "LLM185 'serving.properties' cannot be read: it has more content than its "
            f"size says{WAY_OUT}"
        )
    ]
