"""
The argument tables against the engines' packages, from an index on this machine.
"""

from __future__ import annotations

import re
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tools.catalog import engines, wheels

Served = tuple[Path, list[int]]
_RANGE = re.compile(r"bytes=(\d*)-(\d*)")
LARGE = 8_000_000
VLLM = """
class EngineArgs:
    def add_cli_args(parser):
        group = parser.add_argument_group(title="Model")
        group.add_argument("--model", **kwargs["model"])
        group.add_argument("--quantization", "-q", type=str)
        parser.add_argument("positional")

class BaseFrontendArgs:
    lora_modules: list[str] | None = None
    kept: ClassVar[int] = 1

class Other:
    not_an_option: int = 1
"""
SGLANG = """
class Parallel:
    tp_size: A[int, Arg(help="size", aliases=["--tensor-parallel-size"])] = 1
    node_rank: A[int, "The rank."] = 0
    hidden: A[int, Arg(help="", no_cli=True)] = 0
    shown: A[int, Arg(help="", cli_name="--other-name")] = 0
    rank: A[int, Derived(doc="")]
    plain: int = 0
"""


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
        return sorted(self.folder.glob(f"{name}-*.whl"))


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


def test_options_of_vllm() -> None:
    """
    What is added by name, and the fields of the frontend's class.
    """
    expected = {"--model", "--quantization", "-q", "--lora-modules"}

    assert engines.options_in([VLLM]) == expected


def test_options_of_sglang() -> None:
    """
    Each declared field but those that say otherwise, with its other spellings.
    """
    expected = {"--tp-size", "--tensor-parallel-size", "--node-rank", "--other-name"}

    assert engines.options_in([SGLANG]) == expected


def test_a_release_that_is_as_the_table_says(
    index: Served, capsys: pytest.CaptureFixture[str]
) -> None:
    """
    Nothing is found, and the check passes.
    """
    known = sorted(engines.described("vllm", "0.33.0"))
    text = "\n".join(f"parser.add_argument({one!r})" for one in known)
    publish(index[0], "vllm", "0.33.0", **{"vllm/engine/arg_utils.py": text})

    status = engines.main(["--check", "--engine", "vllm", "--release", "0.33.0"])
    assert status == 0
    assert capsys.readouterr().out == "vllm 0.33.0: as the table says\n"


def test_a_newer_release(index: Served, capsys: pytest.CaptureFixture[str]) -> None:
    """
    What it adds and drops is told; only a check fails of it.
    """
    known = sorted(engines.described("sglang", "0.5.23") - {"--node-rank"})
    text = "\n".join(f"parser.add_argument({one!r})" for one in [*known, "--new-one"])
    path = "sglang/srt/arg_groups/fields/all.py"
    for version in ("0.5.22", "0.5.23", "0.5.24", "0.6.0rc1"):
        publish(index[0], "sglang", version, **{path: text})

    assert engines.main(["--engine", "sglang"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "sglang 0.5.24: has --new-one, which the table has not",
        "sglang 0.5.24: has no --node-rank, which the table has",
    ]
    options = ["--engine", "sglang", "--release", "0.5.24"]
    assert engines.main([*options, "--check"]) == 1


def test_a_wheel_without_those_files(index: Served) -> None:
    """
    Nothing is guessed of a release that keeps its arguments elsewhere.
    """
    publish(index[0], "vllm", "0.99.0", **{"vllm/elsewhere.py": VLLM})

    with pytest.raises(ValueError, match=r"the wheel of vllm 0\.99\.0 has no vllm/"):
        list(engines.differences("vllm", "0.99.0"))


def test_only_what_is_read_is_fetched(index: Served) -> None:
    """
    By ranges, wherever it stands.
    """
    publish(index[0], "vllm", "0.99.0", **{"vllm/a.py": "x = 1"})

    assert wheels.sources("vllm", "0.99.0", r"vllm/\w+\.py") == {"vllm/a.py": "x = 1"}
    assert sum(index[1]) < LARGE / 2
    with pytest.raises(ValueError, match=r"the index has no wheel of vllm 0\.1\.0"):
        wheels.sources("vllm", "0.1.0", "x")
    assert wheels.published("vllm") == ["0.99.0"]
