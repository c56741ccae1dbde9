"""
The argument tables against the engines' packages, from an index on this machine.
"""

from __future__ import annotations

import io
import json
import re
import sys
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tools.catalog import engines, tables, wheels

Served = tuple[Path, list[int]]
_RANGE = re.compile(r"bytes=(\d*)-(\d*)")
LARGE = 8_000_000
# A release as small as one can be: arguments written out.
SERVER = "sglang/srt/server_args.py"
CLASS = """
class ServerArgs:
    @staticmethod
    def add_cli_args(parser):
        parser.add_argument("--rank", type=int, default=0, help="The rank.")
        parser.add_argument("--mode", type=str, choices=["b", "a"])
"""
TABLE = {
    "about": "what",
    "date": "2026-01-01",
    "versions": ["1.0"],
    "args": {
        "mode": {
            "first": "1.0",
            "last": "1.0",
            "h": [
                {
                    "v": "1.0",
                    "choices": ["a", "b"],
                    "default": None,
                    "field": "mode",
                    "src": "server_args",
                    "type": "str",
                }
            ],
        },
        "rank": {
            "first": "1.0",
            "last": "1.0",
            "h": [
                {
                    "v": "1.0",
                    "default": 0,
                    "field": "rank",
                    "src": "server_args",
                    "type": "int",
                }
            ],
        },
    },
}


class Index(BaseHTTPRequestHandler):
    """
    A package index with the files of a folder, which answers ranges.
    """

    folder: Path
    sent: list[int]

    def do_HEAD(self) -> None:
        """
        Answer without a body.
        """
        self._answer(with_body=False)

    def do_GET(self) -> None:
        """
        Answer the page of a package, or a file or a part of it.
        """
        self._answer(with_body=True)

    def log_message(self, *_: object) -> None:
        """
        Say nothing.
        """

    def _answer(self, *, with_body: bool) -> None:
        path, is_part = self.folder / Path(self.path).name, False
        if path.is_file():
            body, is_part = self._part(path.read_bytes())
        else:
            links = [f'<a href="/{one.name}">{one.name}</a>' for one in self.wheels()]
            body = "\n".join(links).encode()
        self.send_response(206 if is_part else 200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Accept-Ranges", "bytes")
        self.end_headers()
        if with_body:
            self.sent.append(len(body))
            self.wfile.write(body)

    def _part(self, whole: bytes) -> tuple[bytes, bool]:
        asked = _RANGE.match(self.headers.get("Range", ""))
        if asked is None:
            return whole, False
        if not asked[1]:
            return whole[-int(asked[2]) :], True
        return whole[int(asked[1]) : int(asked[2]) + 1], True

    def wheels(self) -> list[Path]:
        """
        Return what there is of the package that is asked for.
        """
        name = self.path.strip("/").rpartition("/")[2]
        return sorted(self.folder.glob(f"{name}-*"))


@pytest.fixture(name="index")
def _index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    """
    Have pip ask an index of this test's own; return its folder, and what it sends.
    """
    sent: list[int] = []
    handler = type("Handler", (Index,), {"folder": tmp_path, "sent": sent})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}"
    monkeypatch.setenv("PIP_INDEX_URL", f"{address}/simple")
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    yield tmp_path, sent
    server.shutdown()
    server.server_close()


def publish(folder: Path, name: str, version: str, **files: str) -> None:
    """
    Put a wheel into the index, with something large that nobody asks for.
    """
    info = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as wheel:
        wheel.writestr("large.bin", bytes(LARGE))
        for path, text in files.items():
            wheel.writestr(path, text)
        head = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        wheel.writestr(f"{info}/METADATA", head)
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")


@pytest.fixture(name="table")
def _table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """
    Have the command keep a table of its own; return its path.
    """
    folder = tmp_path / "catalog"
    folder.mkdir()
    monkeypatch.setattr(engines, "CATALOG", folder)
    monkeypatch.setattr(engines, "PYTHON", sys.executable)
    path = folder / "sglang_args.json"
    path.write_text(tables.render(TABLE), "utf-8")
    return path


def test_a_release_that_is_as_the_table_says(
    index: Served, table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """
    Nothing is found, and the check passes.
    """
    publish(index[0], "sglang", "1.0", **{SERVER: CLASS})

    assert engines.main(["--check", "--engine", "sglang"]) == 0
    assert capsys.readouterr().out == "sglang 1.0: as the table says\n"
    assert table.read_text("utf-8") == tables.render(TABLE)


def test_a_release_that_is_not_as_the_table_says(
    index: Served, table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """
    Spellings, kinds and defaults are compared, nothing is written, the check fails.
    """
    changed = CLASS.replace("int, default=0", "float, default=0")
    publish(index[0], "sglang", "1.0", **{SERVER: changed})

    assert engines.main(["--release", "1.0", "--engine", "sglang"]) == 1
    said = 'sglang 1.0: --rank: type is "float", and the table has int\n'
    assert capsys.readouterr().out == said
    assert table.read_text("utf-8") == tables.render(TABLE)


def test_newer_releases_are_added(
    index: Served, table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """
    In their order, previews left out, and those that the table has not fetched again.
    """
    more = CLASS + '        parser.add_argument("--new-one", action="store_true")\n'
    publish(index[0], "sglang", "1.0", **{"sglang/elsewhere.py": ""})
    publish(index[0], "sglang", "1.10", **{SERVER: more})
    publish(index[0], "sglang", "1.9", **{SERVER: CLASS.replace('"b"', '"c"')})
    publish(index[0], "sglang", "2.0rc1", **{"sglang/elsewhere.py": ""})

    assert engines.main(["--engine", "sglang"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        'sglang 1.9: changes --mode: {"+choices": ["c"], "-choices": ["b"]}',
        "sglang_args.json has 1.9: review the change like code",
        'sglang 1.10: changes --mode: {"+choices": ["b"], "-choices": ["c"]}',
        "sglang 1.10: adds --new-one",
        "sglang_args.json has 1.10: review the change like code",
    ]
    written = json.loads(table.read_text("utf-8"))
    assert written["versions"] == ["1.0", "1.9", "1.10"]
    assert written["date"] > "2026-01-01"
    assert engines.main(["--engine", "sglang"]) == 0
    assert "has the newest release of sglang" in capsys.readouterr().out
    assert engines.main(["--engine", "sglang", "--release", "1.10"]) == 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "def rank(text): ..." + CLASS.replace("type=int", "type=rank"),
            "--rank wants a hand: known.json has no parser rank",
        ),
        (
            CLASS.replace("default=0", "default=object"),
            "--rank wants a hand: <class 'object'> is no value that a table keeps",
        ),
        (
            CLASS.replace("parser.add", "other.add"),
            "cannot be asked: NameError: name 'other' is not defined",
        ),
        ("", "cannot be asked: AttributeError: module 'sglang.srt.server_args' has no"),
    ],
    ids=["a kind", "a default", "a parser", "another place"],
)
@pytest.mark.whole  # A program each.
def test_what_cannot_be_asked_is_not_written(
    index: Served,
    table: Path,
    capsys: pytest.CaptureFixture[str],
    text: str,
    said: str,
) -> None:
    """
    The command reports it, and the table stays as it is.
    """
    publish(index[0], "sglang", "1.1", **{SERVER: text})

    assert engines.main(["--engine", "sglang"]) == 1
    assert said in capsys.readouterr().out
    assert table.read_text("utf-8") == tables.render(TABLE)


def test_only_modules_are_fetched(index: Served, tmp_path: Path) -> None:
    """
    By ranges, wherever they stand.
    """
    publish(index[0], "vllm", "0.99.0", **{"vllm/a.py": "x = 1"})

    wheels.unpack("vllm", "0.99.0", tmp_path / "modules")
    modules = tmp_path / "modules"
    files = {one for one in modules.rglob("*") if one.is_file()}
    said = modules / "vllm-0.99.0.dist-info/METADATA"
    assert files == {modules / "vllm/a.py", said}
    assert (modules / "vllm/a.py").read_text("utf-8") == "x = 1"
    assert sum(index[1]) < LARGE / 2
    with pytest.raises(ValueError, match=r"the index has no wheel of vllm 0\.1\.0"):
        wheels.unpack("vllm", "0.1.0", tmp_path)
    assert wheels.published("vllm") == ["0.99.0"]


def test_takes_named_files_out_of_a_source_distribution(
    index: Served, tmp_path: Path
) -> None:
    """
    They lie as they do within the release's own folder.
    """
    with tarfile.open(index[0] / "engine-1.0.tar.gz", "w:gz") as archive:
        for name in ("vendor/src/a.cpp", "vendor/other/b.cpp", "vendor/c.py"):
            row = tarfile.TarInfo(f"engine-1.0/{name}")
            row.size = 1
            archive.addfile(row, io.BytesIO(b"x"))
    wanted = ("vendor/src/", "vendor/c.py")

    wheels.unpack_source("engine", "1.0", tmp_path / "source", wanted)

    files = {one for one in (tmp_path / "source").rglob("*") if one.is_file()}
    assert files == {
        tmp_path / "source" / one for one in ("vendor/src/a.cpp", "vendor/c.py")
    }
    with pytest.raises(ValueError, match=r"no source distribution of engine 2\.0"):
        wheels.unpack_source("engine", "2.0", tmp_path, wanted)
