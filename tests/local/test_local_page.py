"""
The commands of the guide to the embedded AWS that run until Ctrl-C.
"""

from __future__ import annotations

import shlex
import signal
from pathlib import Path

import pytest

from tests.local.test_command import COMMAND, read_to, started
from tests.pages import ROOT, blocks

_HERE = Path(__file__).relative_to(ROOT).as_posix()
_GUIDE = (ROOT / "docs/local.md").read_text(encoding="utf-8")
_LOCAL = "sagemaker-llm local"
COMMANDS = [
    line.removeprefix("sagemaker-llm ")
    for block in blocks(_GUIDE)
    if block.holder == _HERE
    for line in block.body.splitlines()
    if line.startswith(_LOCAL)
]


def test_each_is_here() -> None:
    """
    Plainly, faster, with a fault, and with a server that answers.
    """
    assert [line.partition(" ")[2].partition(" ")[0] for line in COMMANDS] == [
        "",
        "--speed",
        "--fault",
        "--forward",
    ]


@pytest.mark.whole
@pytest.mark.parametrize("command", COMMANDS)
def test_it_runs_until_ctrl_c(command: str) -> None:
    """
    On any port, so that others may run beside it.
    """
    with started(COMMAND, *shlex.split(command), "--port", "0") as running:
        read_to(running, "Ctrl-C stops it")
        running.send_signal(signal.SIGINT)

        assert running.wait(timeout=30) == 0
