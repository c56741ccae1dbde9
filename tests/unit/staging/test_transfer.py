"""
What the build's log says of files on their way.
"""

from __future__ import annotations

import re

import pytest

from cdk_sagemaker_llm.staging.hub import HubFile
from cdk_sagemaker_llm.staging.order import Order
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
