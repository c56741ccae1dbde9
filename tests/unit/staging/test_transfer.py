"""
What the build's log says of files on their way.
"""

from __future__ import annotations

import errno
import re
import shutil
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from cdk_sagemaker_llm.staging import hub
from cdk_sagemaker_llm.staging.hub import HubFile
from cdk_sagemaker_llm.staging.order import Order
from cdk_sagemaker_llm.staging.signalling import StagingError
from cdk_sagemaker_llm.staging.storage import Storage
from cdk_sagemaker_llm.staging.transfer import Transfer

ORDER = Order(
    model_id="a/b",
    revision="c" * 40,
    bucket="bucket",
    prefix="models/",
    manifest="manifest.json",
    threads=1,
)


class Full(Storage):
    """
    A bucket that has all files but one.
    """

    def __init__(self, missing: str = "") -> None:
        self._missing = missing
        self.asked: list[str] = []

    def has(self, file: HubFile) -> bool:
        """
        Whether it is there; note the order of the questions.
        """
        self.asked.append(file.path)
        if file.path == self._missing:
            raise OSError(28, "No space left on device")
        return True


def test_what_is_there_is_counted(capsys: pytest.CaptureFixture[str]) -> None:
    """
    The largest first, with its share of the whole, and no time where nothing came.
    """
    files = [
        HubFile("small", 500_000_000, "git:0"),
        HubFile("large", 2_500_000_000, "git:1"),
        HubFile("empty", 0, "git:2"),
    ]
    storage = Full()
    Transfer(ORDER, storage, files).run()

    assert storage.asked == ["large", "small", "empty"]
    assert capsys.readouterr().out.splitlines() == [
        "[1/3] large 2.50 GB is there already, 83% of 3.00 GB",
        "[2/3] small 0.50 GB is there already, 100% of 3.00 GB",
        "[3/3] empty 0.00 GB is there already, 100% of 3.00 GB",
    ]


def test_files_without_contents_are_the_whole(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """
    Nothing is divided by nothing.
    """
    Transfer(ORDER, Full(), [HubFile("empty", 0, "git:0")]).run()

    assert capsys.readouterr().out == (
        "[1/1] empty 0.00 GB is there already, 100% of 0.00 GB\n"
    )


def test_a_fault_ends_all_and_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    """
    What was not begun is not begun any more.
    """
    files = [HubFile(f"{i}", 9 - i, "git:0") for i in range(4)]
    with pytest.raises(OSError, match="No space left"):
        Transfer(ORDER, Full("1"), files).run()

    assert re.findall(r"\] (\d)", capsys.readouterr().out)[0] == "0"


class Slow(Storage):
    """
    A bucket that takes its time, and fails at the first file.
    """

    def __init__(self) -> None:
        self.asked: list[str] = []

    def has(self, file: HubFile) -> bool:
        """
        Fail at once, or be there after a while.
        """
        self.asked.append(file.path)
        if file.path == "0":
            raise OSError(28, "No space left on device")
        time.sleep(0.02)
        return True


def test_few_files_are_begun_after_a_fault() -> None:
    """
    Those that a thread took before it was known.
    """
    storage = Slow()
    files = [HubFile(f"{i}", 200 - i, "git:0") for i in range(100)]
    with pytest.raises(OSError, match="No space left"):
        Transfer(ORDER, storage, files).run()

    assert storage.asked[0] == "0"
    assert len(storage.asked) < 50


class Meeting(Storage):
    """
    A bucket that answers when as many ask as it was told.
    """

    def __init__(self, many: int) -> None:
        self._barrier = threading.Barrier(many, timeout=20)

    def has(self, file: HubFile) -> bool:  # noqa: ARG002 - whichever it is
        """
        Wait for the others.
        """
        self._barrier.wait()
        return True


def test_as_many_files_go_at_once_as_the_order_says() -> None:
    """
    Three that wait for one another.
    """
    files = [HubFile(f"{i}", 1, "git:0") for i in range(3)]

    Transfer(replace(ORDER, threads=3), Meeting(3), files).run()


class Coming(Storage):
    """
    A bucket that has some files, and takes the others in.
    """

    def __init__(self, *there: str) -> None:
        self._files = there
        self.taken: dict[str, bytes] = {}

    def has(self, file: HubFile) -> bool:
        """
        Whether it is there.
        """
        return file.path in self._files

    def put(self, local: Path, file: HubFile) -> None:
        """
        Take it in.
        """
        self.taken[file.path] = local.read_bytes()


class Bringing:
    """
    A Hub whose files come in a time of their own.
    """

    def __init__(self, *seconds: float) -> None:
        self._seconds = list(seconds)
        self._now = 1000.0
        self.folders: list[Path] = []

    def monotonic(self) -> float:
        """
        Return what the clock shows.
        """
        return self._now

    def fetch(self, order: Order, file: HubFile, folder: Path) -> Path:
        """
        Lay a file down, later.
        """
        assert order is ORDER
        self._now += self._seconds.pop(0)
        self.folders.append(folder)
        local = folder / file.path
        local.write_bytes(file.path.encode())
        return local


def bringing(monkeypatch: pytest.MonkeyPatch, *seconds: float) -> Bringing:
    """
    Have files come by a clock of their own.
    """
    found = Bringing(*seconds)
    monkeypatch.setattr(hub, "fetch", found.fetch)
    clock = SimpleNamespace(monotonic=found.monotonic)
    monkeypatch.setattr("cdk_sagemaker_llm.staging.transfer.time", clock)
    return found


def staged(storage: Storage, *sizes: tuple[str, int]) -> None:
    """
    Stage files of these sizes.
    """
    files: Sequence[HubFile] = [HubFile(name, size, "git:0") for name, size in sizes]
    Transfer(ORDER, storage, files).run()


def test_what_comes_is_timed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """
    Each file's own pace, and what is left by the pace of what came, not of what was
    there; nothing stays on the disk.
    """
    coming = bringing(monkeypatch, 600, 100)
    storage = Coming("there")
    staged(
        storage, ("there", 5_000_000_000), ("a", 3_000_000_000), ("b", 1_000_000_000)
    )

    assert capsys.readouterr().out.splitlines() == [
        "[1/3] there 5.00 GB is there already, 56% of 9.00 GB",
        "[2/3] a 3.00 GB in 600 s (5 MB/s), 89% of 9.00 GB, about 3 min left",
        "[3/3] b 1.00 GB in 100 s (10 MB/s), 100% of 9.00 GB",
    ]
    assert storage.taken == {"a": b"a", "b": b"b"}
    assert [folder.exists() for folder in coming.folders] == [False, False]


def test_what_comes_in_no_time_has_a_pace(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """
    Of a thousandth of a second; and of an empty file nothing is foretold.
    """
    bringing(monkeypatch, 0, 0)
    staged(Coming(), ("a", 1_000_000), ("empty", 0))

    assert capsys.readouterr().out.splitlines() == [
        "[1/2] a 0.00 GB in 0 s (1000 MB/s), 100% of 0.00 GB",
        "[2/2] empty 0.00 GB in 0 s (0 MB/s), 100% of 0.00 GB",
    ]


class Troubled(Coming):
    """
    A bucket before which the disk is full, or something else is the matter.
    """

    def __init__(self, code: int) -> None:
        super().__init__()
        self._code = code

    def put(self, local: Path, file: HubFile) -> None:  # noqa: ARG002 - as it is called
        """
        Fail.
        """
        raise OSError(self._code, "so it is")


def test_fails_if_the_disk_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    With the room that is left, and the way out.
    """
    bringing(monkeypatch, 1)
    left = SimpleNamespace(free=1_250_000_000)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: left)
    with pytest.raises(StagingError) as caught:
        staged(Troubled(errno.ENOSPC), ("it", 2_500_000_000))

    assert str(caught.value) == (
        "the disk is full: it is of 2.50 GB, and 1.25 GB are free; choose a larger "
        "compute_type"
    )


def test_another_fault_of_the_disk_is_raised_as_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """
    A larger one would not help.
    """
    bringing(monkeypatch, 1)
    with pytest.raises(OSError, match="so it is") as caught:
        staged(Troubled(errno.EIO), ("it", 5))

    assert caught.value.errno == errno.EIO
